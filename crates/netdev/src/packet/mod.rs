//! A kernel interface through `AF_PACKET`: a receive ring, and `sendmmsg` past the queueing discipline.
//!
//! `sendmmsg` rather than a transmit ring: it was as fast as or faster than the ring, it says of each frame whether the
//! driver took it before the call returns, and a ring retries a frame that a veth peer has thrown away, which would
//! make a full device look like a slow tester.

mod blocks;
mod ring;
mod socket;
mod tag;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::interface::Interface;
use crate::offload::MergedSocket;
use crate::system::is_unbound;
use crate::{
    Capabilities, HEADROOM, InterfaceCounters, MAX_BURST, MergedFrame, OpenError, Port, ReceiveStatistics, Receiver,
    SendStatistics, Sender, Take,
};
use blocks::ReceiveBlocks;
use ring::ReceiveRing;
use socket::{Burst, PacketSocket};

/// Bytes of an 802.1Q tag.
const VLAN_TAG_LEN: usize = 4;
/// Memory of a receive ring: at 64-byte frames it rides out a stall of 0.1 s at 600 000 frames/s, and of 27 ms where
/// frames come by XDP.
const DEFAULT_RING_BYTES: usize = 32 << 20;

/// What a port must be able to carry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PacketPortOptions {
    /// The longest frame, without frame check sequence, 802.1Q tag included.
    pub max_frame_len: usize,
    /// Whether those frames are tagged: a tag does not count against the MTU.
    pub has_vlan_tag: bool,
    /// Memory for arrived frames.
    pub ring_bytes: usize,
    /// Whether frames of hosts arrive as these hand them over, with [`crate::Offload`]; else the receiver makes its own
    /// frames, and knows.
    pub takes_offloads: bool,
}

impl PacketPortOptions {
    /// Ports for untagged frames up to this length, without frame check sequence.
    pub fn new(max_frame_len: usize) -> Self {
        Self {
            max_frame_len,
            has_vlan_tag: false,
            ring_bytes: DEFAULT_RING_BYTES,
            takes_offloads: false,
        }
    }

    /// What counts against the MTU, Ethernet header included: drivers allow a tag on top.
    pub(crate) fn untagged_len(&self) -> usize {
        let tag = if self.has_vlan_tag { VLAN_TAG_LEN } else { 0 };
        self.max_frame_len.saturating_sub(tag)
    }
}

/// How arrived frames are shared with the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PacketRing {
    /// A slot a frame (`TPACKET_V2`): frames are there at once.
    Slots,
    /// Blocks of frames (`TPACKET_V3`): fewer are dropped in a rush, but they come up to some milliseconds late.
    Blocks,
}

/// A kernel interface, promiscuous while it is open.
pub type PacketPort = Port<PacketSender, PacketReceiver>;

/// The sending half of a [`PacketPort`].
#[derive(Debug)]
pub struct PacketSender {
    interface: Interface,
    socket: Arc<PacketSocket>,
    /// Where frames arrive as hosts hand them over, what sends those that are merged.
    merged: Option<MergedSocket>,
    burst: Burst,
    /// Whether a frame that the driver refuses was thrown away by the other end of a veth pair, whose queue belongs to
    /// the receiver, and not by a transmit queue of our own.
    refusal_is_at_the_peer: bool,
    capabilities: Capabilities,
    statistics: SendStatistics,
}

/// The receiving half of a [`PacketPort`].
#[derive(Debug)]
pub struct PacketReceiver {
    socket: Arc<PacketSocket>,
    arrived: Arrived,
    statistics: ReceiveStatistics,
}

#[derive(Debug)]
enum Arrived {
    Slots(ReceiveRing),
    Blocks(ReceiveBlocks),
}

impl PacketPort {
    /// Opens an interface of this network namespace: all that arrives.
    ///
    /// # Errors
    /// When there is none, privilege is missing, or it cannot carry the frames.
    pub fn open(name: &str, options: PacketPortOptions, ring: PacketRing) -> Result<Self, OpenError> {
        let port = Self::closed(name, options, ring)?;
        port.let_frames_in()?;
        Ok(port)
    }

    /// Opens an interface as several ports, each of which has some of its receive queues: at most as many as it has
    /// queues, and `most`. Frames of one queue come by one port, in their order.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_queues(
        name: &str,
        options: PacketPortOptions,
        ring: PacketRing,
        most: usize,
    ) -> Result<Vec<Self>, OpenError> {
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        let count = most.clamp(1, interface.receive_queues() as usize);
        if count == 1 {
            return Ok(vec![Self::open(name, options, ring)?]);
        }
        let ports: Vec<Self> = (0..count)
            .map(|_| Self::closed(name, options, ring))
            .collect::<Result<_, _>>()?;
        let sockets = ports.iter().map(|port| &*port.receiver.socket);
        socket::share_queues(sockets).map_err(|source| OpenError::system(name, "share its queues", source))?;
        ports.iter().try_for_each(Self::let_frames_in)?;
        Ok(ports)
    }

    fn let_frames_in(&self) -> Result<(), OpenError> {
        let failed = |source| OpenError::system(self.sender.name(), "let frames in", source);
        self.receiver.socket.let_frames_in().map_err(failed)
    }

    /// Nothing is received yet.
    fn closed(name: &str, options: PacketPortOptions, ring: PacketRing) -> Result<Self, OpenError> {
        let system = |step| move |source| OpenError::system(name, step, source);
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        let socket = PacketSocket::new().map_err(system("open a packet socket"))?;
        interface.check_mtu(options.untagged_len())?;
        if options.takes_offloads {
            socket.tell_of_offloads().map_err(system("have it tell of offloads"))?;
        }
        let arrived = match ring {
            PacketRing::Slots => ReceiveRing::new(&socket, options).map(Arrived::Slots),
            PacketRing::Blocks => ReceiveBlocks::new(&socket, options).map(Arrived::Blocks),
        }
        .map_err(system("set up the receive ring"))?;
        socket.start(interface.index()).map_err(system("bind to it"))?;
        let socket = Arc::new(socket);
        let (sending, merged) = if options.takes_offloads {
            // A socket that reports offloads wants them described as well, of every frame: plain ones have their own.
            let sending = PacketSocket::new().map_err(system("open a packet socket"))?;
            sending.start_sending(interface.index()).map_err(system("bind to it"))?;
            let merged = MergedSocket::open(interface.index()).map_err(system("open a packet socket"))?;
            (Arc::new(sending), Some(merged))
        } else {
            (Arc::clone(&socket), None)
        };
        Ok(Self {
            sender: PacketSender::new(interface, sending, merged, options),
            receiver: PacketReceiver {
                socket,
                arrived,
                statistics: ReceiveStatistics::default(),
            },
        })
    }
}

impl PacketSender {
    /// Opens an interface of this network namespace to send alone, beside its port and other senders: each may be used by
    /// a thread of its own.
    ///
    /// # Errors
    /// As [`PacketPort::open`].
    pub fn open(name: &str, options: PacketPortOptions) -> Result<Self, OpenError> {
        let system = |step| move |source| OpenError::system(name, step, source);
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        let socket = PacketSocket::new().map_err(system("open a packet socket"))?;
        interface.check_mtu(options.untagged_len())?;
        socket.start_sending(interface.index()).map_err(system("bind to it"))?;
        Ok(Self::new(interface, Arc::new(socket), None, options))
    }

    fn new(
        interface: Interface,
        socket: Arc<PacketSocket>,
        merged: Option<MergedSocket>,
        options: PacketPortOptions,
    ) -> Self {
        Self {
            refusal_is_at_the_peer: interface.driver().is_ok_and(|name| name == "veth"),
            interface,
            socket,
            merged,
            burst: Burst::new(options.max_frame_len),
            capabilities: Capabilities {
                max_frame_len: options.max_frame_len,
                headroom: HEADROOM,
                can_wait: true,
                notes_arrival: false,
            },
            statistics: SendStatistics::default(),
        }
    }
}

impl Sender for PacketSender {
    fn name(&self) -> &str {
        self.interface.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(MAX_BURST);
        self.burst.prepare(count, fill);
        let mut taken = 0;
        while taken < count {
            match self.burst.send(&self.socket, taken, count) {
                Ok(sent) => taken += sent,
                Err(error) => match error.raw_os_error() {
                    Some(libc::ENOBUFS) if self.refusal_is_at_the_peer => {
                        self.statistics.sent_into_full_queue += 1;
                        taken += 1;
                    }
                    Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => break,
                    // Reported by the next call, to which the frame comes first.
                    _ if taken > 0 => break,
                    _ => return Err(error),
                },
            }
        }
        self.statistics.sent += taken as u64;
        Ok(taken)
    }

    /// Nothing to do: `sendmmsg` returns when the driver has the frames.
    fn flush(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        Ok(self.statistics)
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        self.interface.counters().map(Some)
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.interface.is_up()
    }

    fn is_replaced(&self) -> bool {
        self.interface.is_replaced(|| is_unbound(&self.socket))
    }

    fn hardware_address(&self) -> Option<[u8; 6]> {
        self.interface.hardware_address().ok()
    }

    fn longest_untagged(&self) -> Option<usize> {
        self.interface.longest_untagged()
    }

    fn takes_merged(&self) -> bool {
        self.merged.is_some()
    }

    fn send_merged(&mut self, frame: &[u8], how: &MergedFrame) -> io::Result<bool> {
        let socket = self.merged.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let is_sent = socket.send(frame, how)?;
        self.statistics.sent += u64::from(is_sent);
        Ok(is_sent)
    }
}

impl Receiver for PacketReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let received = match &mut self.arrived {
            Arrived::Slots(ring) => ring.receive(&self.socket, limit, take),
            Arrived::Blocks(blocks) => blocks.receive(limit, take),
        };
        self.statistics.received += received as u64;
        Ok(received)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        let unfit = match &mut self.arrived {
            Arrived::Slots(ring) => ring.take_unfit(),
            Arrived::Blocks(blocks) => blocks.take_unfit(),
        };
        self.statistics.receive_dropped += u64::from(self.socket.take_drops()?) + unfit;
        Ok(self.statistics)
    }
}
