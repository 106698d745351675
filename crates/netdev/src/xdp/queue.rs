//! A receive queue of an interface that is about to become a port.

use std::sync::Arc;

use rustix::net::xdp::XdpDesc;

use super::bpf::Attachment;
use super::memory::{Frames, Ring};
use super::parts::Parts;
use super::socket::{Sizes, Started, XdpSocket};
use crate::interface::Interface;
use crate::ring::{Consumer, Producer};
use crate::{MAX_BURST, OpenError};

/// Frames on their way out at a time.
pub(super) const SEND_FRAMES: u32 = 2048;

/// Memory for frames that arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// A power of two.
    pub(super) chunk_len: usize,
    /// A power of two.
    pub(super) receive_frames: u32,
}

/// A socket at a queue, with its memory; frames to be received have been asked for.
pub(super) struct Queue {
    pub(super) socket: Arc<XdpSocket>,
    pub(super) frames: Frames,
    pub(super) frames_to_send: Frames,
    pub(super) receive: Consumer<Ring<XdpDesc>>,
    pub(super) fill: Producer<Ring<u64>>,
    pub(super) send: Producer<Ring<XdpDesc>>,
    pub(super) completion: Consumer<Ring<u64>>,
    pub(super) started: Started,
}

impl Queue {
    pub(super) fn start(
        interface: &Interface,
        number: u32,
        socket: XdpSocket,
        how: (Attachment, Parts),
        room: Room,
    ) -> Result<Self, OpenError> {
        let name = interface.name();
        let system = |step| move |source| OpenError::system(name, step, source);
        let sizes = Sizes {
            receive: room.receive_frames,
            send: SEND_FRAMES,
        };
        let frames = Frames::new(sizes.receive + sizes.send, room.chunk_len);
        let mut frames = frames.map_err(system("allocate frames"))?;
        let rings = socket
            .make_rings(&frames, sizes)
            .map_err(system("set up the XDP rings"))?;
        let started = socket.start(interface.index(), number, how, MAX_BURST as u32);
        let started = started.map_err(|source| match source.raw_os_error() {
            Some(libc::EBUSY) => OpenError::XdpInUse(name.to_owned()),
            _ => OpenError::system(name, "bind an XDP socket to it", source),
        })?;
        let frames_to_send = frames.split_off(sizes.receive);
        let mut fill = Producer::new(rings.fill, sizes.receive);
        for (chunk, address) in (0..).zip(frames.addresses()) {
            fill.put(chunk, address);
        }
        fill.publish(sizes.receive);
        Ok(Self {
            socket: Arc::new(socket),
            frames,
            frames_to_send,
            receive: Consumer::new(rings.receive, sizes.receive),
            fill,
            send: Producer::new(rings.send, sizes.send),
            completion: Consumer::new(rings.completion, sizes.send),
            started,
        })
    }
}
