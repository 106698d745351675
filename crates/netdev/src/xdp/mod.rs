//! A kernel interface through `AF_XDP`, in copy mode: frames lie in memory shared with the kernel, and one system
//! call sends a whole burst.
//!
//! Three habits of the kernel shape the code. A kick sends no more than a budget of frames. A completion ring that
//! nobody empties stops sending without an error, so that it is emptied before every burst. And a frame has left only
//! when it was completed, not when it was put on the ring: what counts as sent are completions.
//!
//! On veth, large bursts leave without the socket (`live`).

mod bpf;
mod forward;
mod live;
mod memory;
mod program;
mod socket;
#[cfg(all(test, not(loom)))]
mod tests;

use std::io;
use std::sync::Arc;

use crate::interface::Interface;
use crate::promiscuity::Promiscuity;
use crate::ring::{Consumer, Producer};
use crate::{
    InterfaceCounters, MAX_BURST, MonotonicTime, OpenError, PacketPortOptions, Port, ReceiveStatistics, Receiver,
    SendStatistics, Sender, Take,
};
use live::LiveFrames;
use memory::{Frames, Ring};
use program::Program;
use socket::{Sizes, XdpSocket};

pub use bpf::Attachment;
pub use forward::{Forwarded, XdpForwarder};

/// At 64-byte frames the receive ring rides out a stall of 27 ms at 600 000 frames/s.
const SIZES: Sizes = Sizes {
    receive: 16 * 1024,
    send: 2048,
};
/// Before an arrived frame in its chunk: `XDP_PACKET_HEADROOM`.
const HEADROOM: usize = 256;
const CHUNK_LENS: [usize; 2] = [2048, 4096];

/// A kernel interface with one receive queue.
pub type XdpPort = Port<XdpSender, XdpReceiver>;

/// The sending half of an [`XdpPort`].
#[derive(Debug)]
pub struct XdpSender {
    interface: Arc<Interface>,
    send: Producer<Ring<libc::xdp_desc>>,
    completion: Consumer<Ring<u64>>,
    /// Chunks that hold no frame.
    free: Vec<u64>,
    /// Frames that the kernel sends for one kick.
    budget: u32,
    /// Where it can be done, how bursts are sent.
    live: Option<LiveFrames>,
    is_veth: bool,
    statistics: SendStatistics,
    interface_dropped_before: u64,
    socket: Arc<XdpSocket>,
    frames: Frames,
}

/// The receiving half of an [`XdpPort`].
#[derive(Debug)]
pub struct XdpReceiver {
    interface: Arc<Interface>,
    receive: Consumer<Ring<libc::xdp_desc>>,
    fill: Producer<Ring<u64>>,
    statistics: ReceiveStatistics,
    interface_dropped_before: u64,
    _program: Program,
    _promiscuity: Promiscuity,
    socket: Arc<XdpSocket>,
    frames: Frames,
}

impl XdpPort {
    /// Opens an interface of this network namespace.
    ///
    /// # Errors
    /// When there is none, privilege is missing, another program is attached, or it cannot carry the frames.
    pub fn open(name: &str, options: PacketPortOptions, attachment: Attachment) -> Result<Self, OpenError> {
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        let system = |step| move |source| OpenError::system(name, step, source);
        let chunk_len = CHUNK_LENS
            .into_iter()
            .find(|len| options.max_frame_len <= len - HEADROOM)
            .ok_or_else(|| OpenError::FrameTooLong {
                name: name.to_owned(),
                most: CHUNK_LENS[CHUNK_LENS.len() - 1] - HEADROOM,
            })?;
        let socket = XdpSocket::new().map_err(system("open an XDP socket"))?;
        let queues = interface.receive_queues();
        if queues > 1 {
            return Err(OpenError::SeveralQueues {
                name: name.to_owned(),
                queues,
            });
        }
        interface.check_mtu(options.untagged_len())?;
        let is_veth = interface.driver().is_ok_and(|name| name == "veth");
        let mut frames = Frames::new(SIZES.receive + SIZES.send, chunk_len).map_err(system("allocate frames"))?;
        let rings = socket
            .make_rings(&frames, SIZES)
            .map_err(system("set up the XDP rings"))?;
        let budget =
            socket
                .start(interface.index(), MAX_BURST as u32)
                .map_err(|source| match source.raw_os_error() {
                    Some(libc::EBUSY) => OpenError::XdpInUse(name.to_owned()),
                    _ => OpenError::system(name, "bind an XDP socket to it", source),
                })?;
        let wants_live_frames =
            is_veth && attachment == Attachment::Native && options.max_frame_len <= live::MAX_FRAME_LEN;
        let (program, live) = Program::attach(interface.index(), attachment, wants_live_frames)
            .map_err(|source| OpenError::attaching(name, attachment, source))?;
        program
            .redirect_to(&socket)
            .map_err(system("redirect its frames to the socket"))?;
        let promiscuity = Promiscuity::of(interface.index()).map_err(system("have it take frames to all addresses"))?;
        let counters = interface.counters().map_err(system("read its counters"))?;
        let (interface, socket) = (Arc::new(interface), Arc::new(socket));
        let frames_to_send = frames.split_off(SIZES.receive);
        let mut fill = Producer::new(rings.fill, SIZES.receive);
        for (chunk, address) in (0..).zip(frames.addresses()) {
            fill.put(chunk, address);
        }
        fill.publish(SIZES.receive);
        Ok(Self {
            sender: XdpSender {
                interface: Arc::clone(&interface),
                send: Producer::new(rings.send, SIZES.send),
                completion: Consumer::new(rings.completion, SIZES.send),
                free: frames_to_send.addresses().collect(),
                budget,
                live,
                is_veth,
                statistics: SendStatistics::default(),
                interface_dropped_before: counters.send_dropped,
                socket: Arc::clone(&socket),
                frames: frames_to_send,
            },
            receiver: XdpReceiver {
                interface,
                receive: Consumer::new(rings.receive, SIZES.receive),
                fill,
                statistics: ReceiveStatistics::default(),
                interface_dropped_before: counters.receive_dropped,
                _program: program,
                _promiscuity: promiscuity,
                socket,
                frames,
            },
        })
    }
}

impl XdpSender {
    /// Takes back the chunks of frames that have left.
    fn reap(&mut self) {
        let count = self.completion.ready(SIZES.send);
        for ahead in 0..count {
            self.free.push(self.completion.get(ahead));
        }
        self.completion.release(count);
        self.statistics.sent += u64::from(count);
    }

    /// Whether all frames on the ring have left, so that none is overtaken.
    fn is_idle(&self) -> bool {
        self.free.len() == SIZES.send as usize
    }

    fn live_frames_are_accepted(&mut self) -> io::Result<bool> {
        let (interface, sent) = (&self.interface, self.statistics.sent);
        self.live
            .as_mut()
            .map_or(Ok(false), |live| live.are_accepted(interface, sent))
    }

    fn send_live(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let Some(live) = &mut self.live else { return Ok(0) };
        // The kernel throws live frames away without a word where the interface is down.
        if !self.interface.is_up()? {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        match live.send(count, fill) {
            Ok(()) => {
                self.statistics.sent += count as u64;
                Ok(count)
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Makes the kernel send what is on the ring, once for each budget of frames, where it does not do so by itself.
    fn kick(&mut self) -> io::Result<()> {
        if !self.send.memory().needs_wakeup() {
            return Ok(());
        }
        let mut kicks = self.send.waiting().div_ceil(self.budget);
        while kicks > 0 {
            match self.socket.kick() {
                Ok(()) => kicks -= 1,
                Err(error) => match error.raw_os_error() {
                    // One frame was thrown away by the other end of a veth pair; the rest is still on the ring.
                    Some(libc::EBUSY) if self.is_veth => {
                        self.statistics.sent_into_full_queue += 1;
                        kicks = self.send.waiting().div_ceil(self.budget);
                    }
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => kicks -= 1,
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }
}

impl Sender for XdpSender {
    fn name(&self) -> &str {
        self.interface.name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        self.reap();
        let count = count.min(MAX_BURST);
        if count >= live::LEAST_BURST && self.is_idle() && self.live_frames_are_accepted()? {
            return self.send_live(count, fill);
        }
        let count = count.min(self.free.len()) as u32;
        let count = self.send.free(count);
        for ahead in 0..count {
            let Some(address) = self.free.pop() else { break };
            let chunk = self.frames.chunk_mut(address);
            let len = fill(ahead as usize, chunk).min(chunk.len()) as u32;
            let frame = libc::xdp_desc {
                addr: address,
                len,
                options: 0,
            };
            self.send.put(ahead, frame);
        }
        self.send.publish(count);
        self.kick()?;
        Ok(count as usize)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.kick()?;
        self.reap();
        Ok(SIZES.send as usize - self.free.len())
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        self.reap();
        if self.live.is_some() {
            // Nobody is told what the other end of a veth pair refused of live frames, but it is counted.
            let dropped = self.interface.counters()?.send_dropped;
            let by_interface = dropped.saturating_sub(self.interface_dropped_before);
            self.statistics.sent_into_full_queue = self.statistics.sent_into_full_queue.max(by_interface);
        }
        Ok(self.statistics)
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        self.interface.counters().map(Some)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.interface.is_up()
    }
}

impl Receiver for XdpReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let count = self.receive.ready(limit as u32);
        for ahead in 0..count {
            let frame = self.receive.get(ahead);
            let arrived = self.frames.take_stamp(frame.addr).map(MonotonicTime);
            take(self.frames.frame(frame.addr, frame.len), arrived);
            // The fill ring is as large as the receive ring, so that there is always room for what came from there.
            self.fill.put(ahead, frame.addr);
        }
        self.receive.release(count);
        self.fill.publish(count);
        if self.fill.memory().needs_wakeup() {
            self.socket.wake_receiving();
        }
        self.statistics.received += u64::from(count);
        Ok(count as usize)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        // The queue before a native program is the interface's; it counts what the socket dropped as well.
        let dropped = self.interface.counters()?.receive_dropped;
        let by_interface = dropped.saturating_sub(self.interface_dropped_before);
        self.statistics.receive_dropped = self.socket.receive_dropped()?.max(by_interface);
        Ok(self.statistics)
    }
}
