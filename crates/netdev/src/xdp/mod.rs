//! A kernel interface through `AF_XDP`: frames lie in memory shared with the kernel, and one system call sends a whole
//! burst. Where its driver can, the card reads and writes that memory itself (zero copy); elsewhere the kernel copies.
//!
//! Three habits of the kernel shape the code. A kick sends no more than a budget of frames. A completion ring that is
//! not emptied stops sending without an error, so that it is emptied before every burst. And a frame has left only when
//! it was completed, not when it was put on the ring: what counts as sent are completions.
//!
//! On veth, large bursts leave without the socket (`live`).

mod bpf;
mod forward;
mod live;
mod memory;
mod parts;
mod program;
mod queue;
mod socket;
#[cfg(all(test, not(feature = "loom")))]
mod tests;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::xdp::{XdpDesc, XdpDescOptions};

use crate::interface::Interface;
use crate::offload::MergedSocket;
use crate::promiscuity::Promiscuity;
use crate::ring::{Consumer, Producer};
use crate::tags::TagsInFrames;
use crate::{
    Arrived, Capabilities, HEADROOM, InterfaceCounters, MAX_BURST, MergedFrame, MonotonicTime, OpenError,
    PacketPortOptions, Port, ReceiveStatistics, Receiver, SendStatistics, Sender, Take,
};
use live::LiveFrames;
use memory::{Frames, Ring};
use parts::{Parts, Whole};
use program::Program;
use queue::{Queue, Room, SEND_FRAMES};
use socket::{Started, XdpSocket};

pub use bpf::Attachment;
pub use forward::{Forwarded, XdpForwarder};

/// Before an arrived frame in its chunk: `XDP_PACKET_HEADROOM`.
const XDP_HEADROOM: usize = 256;
const CHUNK_LENS: [usize; 2] = [2048, 4096];

/// A receive queue of a kernel interface.
pub type XdpPort = Port<XdpSender, XdpReceiver>;

/// The sending half of an [`XdpPort`].
#[derive(Debug)]
pub struct XdpSender {
    send: Producer<Ring<XdpDesc>>,
    completion: Consumer<Ring<u64>>,
    /// Chunks that hold no frame.
    free: Vec<u64>,
    started: Started,
    /// Where it can be done, how bursts are sent.
    live: Option<LiveFrames>,
    /// Where frames arrive as hosts hand them over, what sends those that are merged: `AF_XDP` cannot.
    merged: Option<MergedSocket>,
    statistics: SendStatistics,
    socket: Arc<XdpSocket>,
    shared: Arc<Shared>,
    frames: Frames,
}

/// The receiving half of an [`XdpPort`].
#[derive(Debug)]
pub struct XdpReceiver {
    receive: Consumer<Ring<XdpDesc>>,
    fill: Producer<Ring<u64>>,
    /// Losses are counted for all queues together: one of them reports them.
    tells_losses: bool,
    whole: Whole,
    statistics: ReceiveStatistics,
    socket: Arc<XdpSocket>,
    shared: Arc<Shared>,
    frames: Frames,
}

impl XdpPort {
    /// Opens an interface of this network namespace that has one receive queue.
    ///
    /// # Errors
    /// When there is none, privilege is missing, another program is attached, it has several queues, or it cannot carry
    /// the frames.
    pub fn open(name: &str, options: PacketPortOptions, attachment: Attachment) -> Result<Self, OpenError> {
        let mut ports = Self::open_queues(name, options, attachment)?;
        match (ports.pop(), ports.len()) {
            (Some(port), 0) => Ok(port),
            (_, others) => Err(OpenError::SeveralQueues {
                name: name.to_owned(),
                queues: others as u32 + 1,
            }),
        }
    }

    /// Opens an interface as one port for each of its receive queues. Frames of a flow come by one of them, in their order,
    /// as far as the interface deals frames out by flow.
    ///
    /// # Errors
    /// As [`Self::open`], but for the number of queues.
    pub fn open_queues(name: &str, options: PacketPortOptions, attachment: Attachment) -> Result<Vec<Self>, OpenError> {
        let interface = Interface::find(name).ok_or_else(|| OpenError::NoSuchInterface(name.to_owned()))?;
        let system = |step| move |source| OpenError::system(name, step, source);
        let chunk_len = CHUNK_LENS
            .into_iter()
            .find(|len| options.max_frame_len <= len - XDP_HEADROOM)
            .ok_or_else(|| OpenError::FrameTooLong {
                name: name.to_owned(),
                most: CHUNK_LENS[CHUNK_LENS.len() - 1] - XDP_HEADROOM,
            })?;
        let takes_parts = options.takes_offloads && attachment == Attachment::Generic;
        let (chunks, chunk_len) = if takes_parts {
            (Parts::Several, CHUNK_LENS[CHUNK_LENS.len() - 1])
        } else {
            (Parts::One, chunk_len)
        };
        let room = Room {
            chunk_len,
            receive_frames: 1 << (options.ring_bytes / chunk_len).max(1).ilog2(),
        };
        let sockets = (0..interface.receive_queues()).map(|_| XdpSocket::new());
        let sockets: Vec<XdpSocket> = sockets
            .collect::<Result<_, _>>()
            .map_err(system("open an XDP socket"))?;
        interface.check_mtu(options.untagged_len())?;
        let driver = interface.driver().unwrap_or_default();
        // The kernel hands frames to a socket only where both are of one interface, and these are of a port of the bond.
        if driver == "bonding" && attachment == Attachment::Native {
            return Err(OpenError::Bond(name.to_owned()));
        }
        let tags = options.has_vlan_tag.then(|| TagsInFrames::of(&interface)).transpose()?;
        let is_veth = driver == "veth";
        let queues: Vec<Queue> = (0..)
            .zip(sockets)
            .map(|(queue, socket)| Queue::start(&interface, queue, socket, (attachment, chunks), room))
            .collect::<Result<_, _>>()?;
        // Which queue of the peer a live frame comes to depends on the processor, and would not be that of its flow.
        let wants_live_frames = is_veth
            && queues.len() == 1
            && attachment == Attachment::Native
            && options.max_frame_len <= live::MAX_FRAME_LEN;
        let (program, mut live) = Program::attach(
            interface.index(),
            queues.len() as u32,
            attachment,
            chunks,
            wants_live_frames,
        )
        .map_err(|source| OpenError::attaching(name, attachment, source))?;
        for (number, queue) in (0..).zip(&queues) {
            program
                .redirect_to(number, &*queue.socket)
                .map_err(system("redirect its frames to the socket"))?;
        }
        let promiscuity = Promiscuity::of(interface.index()).map_err(system("have it take frames to all addresses"))?;
        let counters = interface.counters().map_err(system("read its counters"))?;
        let sockets: Vec<_> = queues.iter().map(|queue| Arc::clone(&queue.socket)).collect();
        let shared = Arc::new(Shared {
            interface,
            capabilities: Capabilities {
                max_frame_len: options.max_frame_len,
                headroom: HEADROOM,
                can_wait: true,
                notes_arrival: true,
            },
            sockets,
            is_veth,
            before: counters,
            completed: AtomicU64::new(0),
            program,
            tags: Mutex::new(tags),
            _promiscuity: promiscuity,
        });
        let ports = queues.into_iter().enumerate();
        let mut ports: Vec<Self> = ports
            .map(|(number, queue)| queue.into_port(number, &shared, live.take()))
            .collect();
        if options.takes_offloads {
            for port in &mut ports {
                port.receiver.whole.longest_untagged = shared.interface.longest_untagged();
                let merged = MergedSocket::open(shared.interface.index());
                port.sender.merged = Some(merged.map_err(system("open a packet socket"))?);
            }
        }
        Ok(ports)
    }
}

/// What all queues of an interface use together.
#[derive(Debug)]
struct Shared {
    interface: Interface,
    capabilities: Capabilities,
    sockets: Vec<Arc<XdpSocket>>,
    is_veth: bool,
    /// Its counters when it was opened.
    before: InterfaceCounters,
    /// Frames that all queues together have sent without copies.
    completed: AtomicU64,
    program: Program,
    tags: Mutex<Option<TagsInFrames>>,
    _promiscuity: Promiscuity,
}

impl Shared {
    /// Frames that arrived and found no room.
    fn receive_dropped(&self) -> io::Result<u64> {
        // The queue before a native program is the interface's; it counts what the sockets dropped as well.
        let dropped = self.interface.counters()?.receive_dropped;
        let by_interface = dropped.saturating_sub(self.before.receive_dropped);
        let by_sockets: io::Result<u64> = self.sockets.iter().map(|socket| socket.receive_dropped()).sum();
        Ok(by_sockets?.max(by_interface))
    }
}

impl Queue {
    fn into_port(self, number: usize, shared: &Arc<Shared>, live: Option<LiveFrames>) -> XdpPort {
        Port {
            sender: XdpSender {
                send: self.send,
                completion: self.completion,
                free: self.frames_to_send.addresses().collect(),
                started: self.started,
                live,
                merged: None,
                statistics: SendStatistics::default(),
                socket: Arc::clone(&self.socket),
                shared: Arc::clone(shared),
                frames: self.frames_to_send,
            },
            receiver: XdpReceiver {
                receive: self.receive,
                fill: self.fill,
                tells_losses: number == 0,
                whole: Whole::default(),
                statistics: ReceiveStatistics::default(),
                socket: self.socket,
                shared: Arc::clone(shared),
                frames: self.frames,
            },
        }
    }
}

impl XdpSender {
    /// Takes back the chunks of frames that have left.
    fn reap(&mut self) {
        let count = self.completion.ready(SEND_FRAMES);
        for ahead in 0..count {
            self.free.push(self.completion.get(ahead));
        }
        self.completion.release(count);
        self.statistics.sent += u64::from(count);
        if self.started.is_zero_copy {
            self.shared.completed.fetch_add(u64::from(count), Ordering::Relaxed);
        }
    }

    /// Whether all frames on the ring have left, so that none is overtaken.
    fn is_idle(&self) -> bool {
        self.free.len() == SEND_FRAMES as usize
    }

    fn live_frames_are_accepted(&mut self) -> io::Result<bool> {
        let (shared, sent) = (&self.shared, self.statistics.sent);
        self.live
            .as_mut()
            .map_or(Ok(false), |live| live.are_accepted(&shared.interface, sent))
    }

    fn send_live(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let Some(live) = &mut self.live else { return Ok(0) };
        // The kernel throws live frames away without a word where the interface is down.
        if !self.shared.interface.is_up()? {
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

    /// How often to ask for what is on the ring.
    fn kicks(&mut self) -> u32 {
        let kicks = self.send.waiting().div_ceil(self.started.budget);
        if self.started.is_zero_copy { kicks.min(1) } else { kicks }
    }

    /// Makes the kernel send what is on the ring, where it does not do so by itself.
    fn kick(&mut self) -> io::Result<()> {
        if !self.send.memory().needs_wakeup() {
            return Ok(());
        }
        let mut kicks = self.kicks();
        while kicks > 0 {
            match self.socket.kick() {
                // One frame was thrown away by the other end of a veth pair; the rest is still on the ring.
                Err(Errno::BUSY) if self.shared.is_veth => {
                    self.statistics.sent_into_full_queue += 1;
                    kicks = self.kicks();
                }
                Ok(()) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => kicks -= 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Sender for XdpSender {
    fn name(&self) -> &str {
        self.shared.interface.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities
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
            let frame = XdpDesc {
                addr: address,
                len,
                options: XdpDescOptions::empty(),
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
        Ok(SEND_FRAMES as usize - self.free.len())
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        self.reap();
        if self.live.is_some() {
            // What the other end of a veth pair refused of live frames is not reported, but counted.
            let dropped = self.shared.interface.counters()?.send_dropped;
            let by_interface = dropped.saturating_sub(self.shared.before.send_dropped);
            self.statistics.sent_into_full_queue = self.statistics.sent_into_full_queue.max(by_interface);
        }
        Ok(self.statistics)
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        let mut counters = self.shared.interface.counters()?;
        if self.started.is_zero_copy {
            // Not all drivers count what their card fetches by itself (virtio_net), but what is completed has left.
            self.reap();
            let completed = self.shared.completed.load(Ordering::Relaxed);
            counters.sent = counters.sent.max(self.shared.before.sent + completed);
        }
        Ok(Some(counters))
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.shared.interface.is_up()
    }

    fn is_zero_copy(&self) -> bool {
        self.started.is_zero_copy
    }

    fn is_replaced(&self) -> bool {
        let has_left = || self.socket.kick() == Err(Errno::NXIO);
        self.shared.interface.is_replaced(has_left)
    }

    fn let_go(&self) {
        self.shared.program.detach();
        // Its successor finds it as it was before.
        let mut tags = self.shared.tags.lock().unwrap_or_else(PoisonError::into_inner);
        drop(tags.take());
    }

    fn hardware_address(&self) -> Option<[u8; 6]> {
        self.shared.interface.hardware_address().ok()
    }

    fn longest_untagged(&self) -> Option<usize> {
        self.shared.interface.longest_untagged()
    }

    fn takes_merged(&self) -> bool {
        self.merged.is_some()
    }

    fn send_merged(&mut self, frame: &[u8], how: &MergedFrame) -> io::Result<bool> {
        // What is on the ring leaves first.
        self.kick()?;
        let socket = self.merged.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let is_sent = socket.send(frame, how)?;
        self.statistics.sent += u64::from(is_sent);
        Ok(is_sent)
    }
}

impl Receiver for XdpReceiver {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let count = self.receive.ready(limit as u32);
        let mut received = 0;
        for ahead in 0..count {
            let frame = self.receive.get(ahead);
            // The fill ring is as large as the receive ring, so that there is always room for what came from there.
            self.fill.put(ahead, frame.addr);
            if self.whole.is_begun_by(frame) {
                let (chunk, at) = self.frames.frame_mut(frame.addr, frame.len);
                received += self.whole.take_part(&chunk[at..], frame, take);
                continue;
            }
            let time = self.frames.take_stamp(frame.addr).map(MonotonicTime);
            let (chunk, at) = self.frames.frame_mut(frame.addr, frame.len);
            let offload = self.whole.offload_of(&chunk[at..]);
            take(Arrived::new(chunk, at, time).with_offload(offload));
            received += 1;
        }
        self.receive.release(count);
        self.fill.publish(count);
        if self.fill.memory().needs_wakeup() {
            self.socket.wake_receiving();
        }
        self.statistics.received += u64::from(received);
        Ok(received as usize)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        if self.tells_losses {
            self.statistics.receive_dropped = self.shared.receive_dropped()?;
        }
        Ok(self.statistics)
    }
}
