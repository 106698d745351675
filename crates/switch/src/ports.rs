//! Ports: what they are called, what they count, and how frames leave by them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use brimful_frame::{EtherType, Merged};
use brimful_netdev::{AnyPort, MAX_BURST, MergedFrame, MonotonicTime, Receiver, Segments, Sender};
use brimful_openflow::port;
use brimful_pipeline::{Floods, Normal};
use rustix::io::Errno;

use crate::batch::Batch;
use crate::counts::{PortCounts, Reason, Way};
use crate::learned::{Learned, is_for_bridges};
use crate::queues::{QueueSettings, Queues, Waiting};

const ETHERNET_ADDRESSES_LEN: usize = 12;
/// Bytes of a VLAN tag, which an interface takes on top of its longest frame.
pub(crate) const TAG_LEN: usize = 4;
/// Between attempts to open an interface that has come back.
const REOPEN_NS: u64 = 500_000_000;
/// Attempts to hand a burst over to an interface that has no room, before its frames are dropped.
const ATTEMPTS: usize = 3;

/// Bits of a port's configuration (OF 1.3.5 section 7.2.1).
pub mod port_config {
    /// The port is out of operation.
    pub const DOWN: u32 = 1;
    /// Drop what arrives.
    pub const NO_RECEIVE: u32 = 1 << 2;
    /// Drop what is to leave.
    pub const NO_FORWARD: u32 = 1 << 5;
    /// Send the controller no packet that misses.
    pub const NO_PACKET_IN: u32 = 1 << 6;
}

/// A port of a logical switch.
#[derive(Debug)]
pub struct SwitchPort {
    /// Its number.
    pub number: u32,
    /// The name of its interface.
    pub name: String,
    /// What it has counted.
    pub counts: PortCounts,
    /// Nanoseconds of the switch's clock.
    pub made_at: u64,
    /// The rates of its queues.
    pub queue_rates: Vec<QueueSettings>,
    longest: usize,
    /// The longest frame that the interface takes without a tag.
    longest_untagged: AtomicUsize,
    /// Its hardware address, as an integer.
    address: AtomicU64,
    config: AtomicU32,
    has_link: AtomicBool,
    /// One for each thread that sends, as far as the interface has several; one where there are queues.
    ways_out: Vec<Mutex<WayOut>>,
    reopening: Option<Reopening>,
}

/// Opens the interface that has the name of a port's by now.
pub type Open = Box<dyn Fn() -> Result<Vec<AnyPort>, String> + Send + Sync>;

/// How a port follows the name of its interface.
struct Reopening {
    open: Open,
    ports: usize,
    state: Mutex<Reopened>,
}

#[derive(Default)]
struct Reopened {
    /// What is to be received from now on, for each input of the port that has not taken it yet.
    receivers: BTreeMap<usize, Box<dyn Receiver>>,
    /// Nanoseconds of the switch's clock: not to be tried before.
    due: u64,
    /// What it failed with, which is said once.
    obstacle: String,
}

struct WayOut {
    sender: Box<dyn Sender>,
    queues: Option<Queues>,
}

/// What is to be received of a port, by one thread.
pub struct Input {
    /// The port.
    pub port: Arc<SwitchPort>,
    /// Its receiving half, or one of its queues.
    pub receiver: Box<dyn Receiver>,
    /// Its place among the inputs of its port.
    place: usize,
    /// Losses of the receiver that the port has counted.
    lost: u64,
}

/// The ports of a switch, by number.
#[derive(Debug)]
pub struct Ports {
    by_number: BTreeMap<u32, Arc<SwitchPort>>,
    view: RwLock<Arc<PortView>>,
    generation: AtomicU64,
    drops_fragments: AtomicBool,
}

/// Which ports are alive and where floods go, at one moment.
#[derive(Debug, Default)]
pub struct PortView {
    /// Ports that are up and linked.
    pub live: Vec<u32>,
    /// Whether fragments of IP that arrive are dropped (`OFPC_FRAG_DROP`).
    pub drops_fragments: bool,
    floods: BTreeMap<u32, Vec<u32>>,
    learned: Arc<Learned>,
}

impl std::fmt::Debug for WayOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("WayOut")
            .field("sender", &self.sender.name())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Reopening {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reopening").finish_non_exhaustive()
    }
}

impl SwitchPort {
    /// A port with its sending half; frames wait in `queues` where there are any.
    pub fn new(number: u32, address: [u8; 6], sender: Box<dyn Sender>, queues: Option<Queues>) -> Self {
        let longest = sender.capabilities().max_frame_len;
        Self {
            number,
            name: sender.name().to_owned(),
            counts: PortCounts::default(),
            made_at: MonotonicTime::now().0,
            queue_rates: Vec::new(),
            longest,
            longest_untagged: AtomicUsize::new(sender.longest_untagged().unwrap_or(usize::MAX)),
            address: AtomicU64::new(address_number(address)),
            config: AtomicU32::new(0),
            has_link: AtomicBool::new(true),
            ways_out: vec![Mutex::new(WayOut { sender, queues })],
            reopening: None,
        }
    }

    /// The same, following the name of its interface: `open` opens the one that has it by now, as so many ports.
    #[must_use]
    pub fn with_reopening(self, open: Open, ports: usize) -> Self {
        let reopening = Some(Reopening {
            open,
            ports,
            state: Mutex::default(),
        });
        Self { reopening, ..self }
    }

    /// The same, for frames up to a length: longer ones, such as those with headers pushed, are dropped and counted.
    #[must_use]
    pub fn with_longest(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// The same, its queues having these rates.
    #[must_use]
    pub fn with_queue_rates(self, queue_rates: Vec<QueueSettings>) -> Self {
        Self { queue_rates, ..self }
    }

    /// The same with further sending halves of its interface, so that threads need not wait for one another. Where frames
    /// wait in queues, all leave by the first half.
    #[must_use]
    pub fn with_more_senders(mut self, senders: impl IntoIterator<Item = Box<dyn Sender>>) -> Self {
        if !self.has_queues() {
            let ways = senders
                .into_iter()
                .map(|sender| Mutex::new(WayOut { sender, queues: None }));
            self.ways_out.extend(ways);
        }
        self
    }

    /// Its hardware address.
    pub fn address(&self) -> [u8; 6] {
        let [_, _, address @ ..] = self.address.load(Relaxed).to_be_bytes();
        address
    }

    /// Of [`port_config`].
    pub fn config(&self) -> u32 {
        self.config.load(Relaxed)
    }

    /// Whether something is at the other end.
    pub fn has_link(&self) -> bool {
        self.has_link.load(Relaxed)
    }

    /// Whether frames can leave by it.
    pub fn is_live(&self) -> bool {
        self.has_link() && self.config() & port_config::DOWN == 0
    }

    /// Whether frames that arrive are taken.
    pub(crate) fn takes_frames(&self) -> bool {
        self.config() & (port_config::DOWN | port_config::NO_RECEIVE) == 0
    }

    fn way_out(&self, thread: usize) -> std::sync::MutexGuard<'_, WayOut> {
        let way = &self.ways_out[thread % self.ways_out.len()];
        way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the interface; tells whether the answer has changed.
    pub(crate) fn look_at_link(&self) -> bool {
        let is_replaced = self.way_out(0).sender.is_replaced();
        let is_another = is_replaced && self.reopen();
        let has_link = (!is_replaced || is_another) && self.look_at_interface();
        self.has_link.swap(has_link, Relaxed) != has_link || is_another
    }

    /// What of the interface may change; gives whether it has a link.
    fn look_at_interface(&self) -> bool {
        let mut way_out = self.way_out(0);
        let longest = way_out.sender.longest_untagged().unwrap_or(usize::MAX);
        self.longest_untagged.store(longest, Relaxed);
        if let Some(address) = way_out.sender.hardware_address() {
            self.address.store(address_number(address), Relaxed);
        }
        way_out.sender.link_is_up().unwrap_or(false)
    }

    /// Opens the interface that has taken the name of the one that is gone; gives whether that could be done.
    fn reopen(&self) -> bool {
        let Some(Reopening { open, ports, state }) = &self.reopening else {
            return false;
        };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = MonotonicTime::now().0;
        if now < state.due {
            return false;
        }
        let opened = open().and_then(|opened| {
            if opened.len() == *ports {
                return Ok(opened);
            }
            let now = opened.len();
            Err(format!(
                "it had {ports} receive queues and has {now}: start the switch again"
            ))
        });
        let ports = match opened {
            Ok(ports) => ports,
            Err(obstacle) => {
                state.due = now + REOPEN_NS;
                if state.obstacle != obstacle {
                    eprintln!("brimful-switchd: {} has come back: {obstacle}", self.name);
                    state.obstacle = obstacle;
                }
                return false;
            }
        };
        let (senders, receivers): (Vec<_>, Vec<_>) = ports.into_iter().map(|port| (port.sender, port.receiver)).unzip();
        for (thread, sender) in senders.into_iter().take(self.ways_out.len()).enumerate() {
            self.way_out(thread).sender = sender;
        }
        state.receivers = receivers.into_iter().enumerate().collect();
        state.obstacle.clear();
        true
    }

    /// Sends frames, the first first, and empties the batch. What finds no room is dropped and counted.
    pub(crate) fn send(&self, batch: &mut Batch, now: u64) {
        self.send_from(0, batch, now);
    }

    /// The same for a data-plane thread.
    pub(crate) fn send_from(&self, thread: usize, batch: &mut Batch, now: u64) {
        if self.config() & (port_config::DOWN | port_config::NO_FORWARD) != 0 {
            self.counts.drop(Way::Out, Reason::Configured, batch.len() as u64);
            return batch.clear();
        }
        let mut way_out = self.way_out(thread);
        let WayOut { sender, queues } = &mut *way_out;
        match queues {
            None => self.hand_over(sender.as_mut(), batch),
            Some(queues) => {
                let dropped = queues.enter(batch.iter());
                self.counts.drop(Way::Out, Reason::NoRoom, dropped);
                self.serve(sender.as_mut(), queues, now);
            }
        }
        batch.clear();
    }

    /// Sends a merged frame behind a batch: whole where the interface takes it, else as its segments.
    pub(crate) fn send_merged(
        &self,
        thread: usize,
        batch: &mut Batch,
        (frame, queue): (&[u8], u32),
        merged: Merged,
        now: u64,
    ) {
        let Some(merged) = merged.within(frame.len(), self.longest_like(frame)) else {
            return self.counts.drop(Way::Out, Reason::TooLong, 1);
        };
        if !batch.is_empty() {
            self.send_from(thread, batch, now);
        }
        let may_leave = self.config() & (port_config::DOWN | port_config::NO_FORWARD) == 0;
        if may_leave && merged.is_plain(frame) {
            let mut way_out = self.way_out(thread);
            if way_out.queues.is_none() && way_out.sender.takes_merged() {
                return self.hand_over_merged(way_out.sender.as_mut(), frame, merged);
            }
        }
        for index in 0..merged.segments() {
            batch.push_with(queue, |bytes| merged.cut(frame, index, bytes));
            if batch.is_full() {
                self.send_from(thread, batch, now);
            }
        }
    }

    fn hand_over_merged(&self, sender: &mut dyn Sender, frame: &[u8], merged: Merged) {
        let sum = merged.partial_sum(frame);
        let how = MergedFrame {
            segments: match (merged.is_tcp(), merged.is_v6()) {
                (true, false) => Segments::TcpV4,
                (true, true) => Segments::TcpV6,
                (false, _) => Segments::Udp,
            },
            size: merged.size() as u16,
            headers_len: merged.headers_len(frame.len()) as u16,
            checksum_start: sum.start as u16,
            checksum_offset: sum.offset as u16,
            partial_sum: sum.value,
        };
        for _ in 0..ATTEMPTS {
            match sender.send_merged(frame, &how) {
                Ok(true) => {
                    self.counts.sent_frames.add(1);
                    self.counts.sent_bytes.add(frame.len() as u64);
                    return;
                }
                Ok(false) => {}
                Err(error) => return self.counts.drop(Way::Out, reason_of(&error), 1),
            }
        }
        self.counts.drop(Way::Out, Reason::NoRoom, 1);
    }

    /// The longest frame with the tag that this one has, or without.
    fn longest_like(&self, frame: &[u8]) -> usize {
        let tag = if is_tagged(frame) { TAG_LEN } else { 0 };
        self.longest
            .min(self.longest_untagged.load(Relaxed).saturating_add(tag))
    }

    /// Sends what waits in queues and may leave by now, and pushes out what the interface still holds.
    pub(crate) fn tend(&self, now: u64) -> usize {
        if let WayOut {
            sender,
            queues: Some(queues),
        } = &mut *self.way_out(0)
        {
            self.serve(sender.as_mut(), queues, now);
        }
        let held: usize = (0..self.ways_out.len()).map(|thread| self.flush_from(thread)).sum();
        held + self.way_out(0).queues.as_ref().map_or(0, Queues::len)
    }

    /// Pushes out what the interface still holds of a thread.
    pub(crate) fn flush_from(&self, thread: usize) -> usize {
        self.way_out(thread).sender.flush().unwrap_or(0)
    }

    /// Whether frames may wait in it.
    pub fn has_queues(&self) -> bool {
        self.way_out(0).queues.is_some()
    }

    /// What each queue has counted.
    pub fn queue_counts(&self) -> Vec<crate::queues::QueueCounts> {
        self.way_out(0).queues.as_ref().map(Queues::counts).unwrap_or_default()
    }

    fn serve(&self, sender: &mut dyn Sender, queues: &mut Queues, now: u64) {
        let mut ready = Batch::default();
        while let Some(Waiting { frame, queue }) = queues.leave(now) {
            ready.push(&frame, queue);
            if ready.is_full() {
                self.hand_over(sender, &mut ready);
                ready.clear();
            }
        }
        self.hand_over(sender, &mut ready);
    }

    fn hand_over(&self, sender: &mut dyn Sender, batch: &mut Batch) {
        let shortest_limit = self.longest.min(self.longest_untagged.load(Relaxed));
        let fits = |frame: &[u8]| frame.len() <= shortest_limit || frame.len() <= self.longest_like(frame);
        self.counts
            .drop(Way::Out, Reason::TooLong, batch.drop_unless(fits) as u64);
        let (mut first, mut attempts) = (0, 0);
        let (mut sent_frames, mut sent_bytes) = (0, 0);
        while first < batch.len() && attempts < ATTEMPTS {
            let count = (batch.len() - first).min(MAX_BURST);
            let sent = sender.send_burst(count, &mut |index, buffer| fill(buffer, batch.frame(first + index)));
            let sent = match sent {
                Ok(sent) => sent,
                Err(error) => {
                    let reason = reason_of(&error);
                    // Others may still be taken, unless the interface is gone.
                    let count = if reason == Reason::Down { batch.len() - first } else { 1 };
                    self.counts.drop(Way::Out, reason, count as u64);
                    first += count;
                    continue;
                }
            };
            sent_bytes += (first..first + sent)
                .map(|index| batch.frame(index).len())
                .sum::<usize>();
            sent_frames += sent;
            attempts = if sent == 0 { attempts + 1 } else { 0 };
            first += sent;
        }
        self.counts.sent_frames.add(sent_frames as u64);
        self.counts.sent_bytes.add(sent_bytes as u64);
        self.counts.drop(Way::Out, Reason::NoRoom, (batch.len() - first) as u64);
    }
}

/// Whether a frame has a tag that interfaces know.
pub(crate) fn is_tagged(frame: &[u8]) -> bool {
    let ether_type = frame.get(ETHERNET_ADDRESSES_LEN..ETHERNET_ADDRESSES_LEN + 2);
    ether_type.is_some_and(|bytes| bytes == EtherType::VLAN.0.to_be_bytes())
}

/// Why an interface has not taken a frame.
fn reason_of(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NetworkDown | io::ErrorKind::NotFound => Reason::Down,
        _ => match Errno::from_io_error(error) {
            // What the kernel says of interfaces that are gone: packet sockets and `AF_XDP`, and taps.
            Some(Errno::NXIO | Errno::NODEV | Errno::BADFD) => Reason::Down,
            Some(Errno::MSGSIZE) => Reason::TooLong,
            _ => Reason::Refused,
        },
    }
}

fn address_number([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Writes a frame into a buffer; an empty one where it is too long for it.
fn fill(buffer: &mut [u8], frame: &[u8]) -> usize {
    let Some(place) = buffer.get_mut(..frame.len()) else {
        return 0;
    };
    place.copy_from_slice(frame);
    frame.len()
}

impl Ports {
    /// Of one switch.
    pub fn new(ports: impl IntoIterator<Item = Arc<SwitchPort>>) -> Self {
        let by_number: BTreeMap<_, _> = ports.into_iter().map(|port| (port.number, port)).collect();
        let view = RwLock::new(Arc::new(PortView::of(&by_number, Arc::default())));
        Self {
            by_number,
            view,
            generation: AtomicU64::new(0),
            drops_fragments: AtomicBool::new(false),
        }
    }

    /// Whether fragments of IP that arrive are dropped from now on.
    pub fn drop_fragments(&self, drops: bool) {
        self.drops_fragments.store(drops, Relaxed);
        self.renew();
    }

    /// All, by number.
    pub fn all(&self) -> impl Iterator<Item = &Arc<SwitchPort>> {
        self.by_number.values()
    }

    /// One of them.
    pub fn get(&self, number: u32) -> Option<&Arc<SwitchPort>> {
        self.by_number.get(&number)
    }

    /// Gives bits of [`port_config`] to a port; false where there is none.
    pub fn configure(&self, number: u32, config: u32, mask: u32) -> bool {
        let Some(port) = self.get(number) else {
            return false;
        };
        port.config.store(port.config() & !mask | config & mask, Relaxed);
        self.renew();
        true
    }

    /// Asks the interfaces for their links; gives the ports whose link has changed.
    pub(crate) fn look_at_links(&self) -> Vec<u32> {
        let changed: Vec<u32> = self
            .all()
            .filter(|port| port.look_at_link())
            .map(|port| port.number)
            .collect();
        if !changed.is_empty() {
            self.renew();
        }
        changed
    }

    /// Changes whenever [`Self::view`] does.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// As they are now.
    pub fn view(&self) -> Arc<PortView> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn renew(&self) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        let learned = Arc::clone(&view.learned);
        *view = Arc::new(PortView {
            drops_fragments: self.drops_fragments.load(Relaxed),
            ..PortView::of(&self.by_number, learned)
        });
        drop(view);
        self.generation.fetch_add(1, Relaxed);
    }
}

impl PortView {
    fn of(ports: &BTreeMap<u32, Arc<SwitchPort>>, learned: Arc<Learned>) -> Self {
        let live = ports.values().filter(|port| port.is_live()).map(|port| port.number);
        let open = |port: &SwitchPort| port.is_live() && port.config() & port_config::NO_FORWARD == 0;
        let open: Vec<u32> = ports
            .values()
            .filter(|port| open(port))
            .map(|port| port.number)
            .collect();
        let but = |number: u32| open.iter().copied().filter(|&other| other != number).collect();
        // One entry for frames of no port of ours: those of a controller.
        let floods = ports
            .keys()
            .map(|&number| (number, but(number)))
            .chain([(u32::MAX, open.clone())]);
        let floods = floods.collect();
        Self {
            live: live.collect(),
            drops_fragments: false,
            floods,
            learned,
        }
    }
}

impl Floods for PortView {
    fn ports(&self, in_port: u32, _all: bool) -> &[u32] {
        let found = self.floods.get(&in_port).or_else(|| self.floods.get(&u32::MAX));
        found.map_or(&[], Vec::as_slice)
    }

    fn normal(&self, frame: &[u8], in_port: u32, now: u64) -> Normal {
        if is_for_bridges(frame) {
            return Normal::Nowhere;
        }
        if in_port <= port::MAX {
            self.learned.learn(frame, in_port, now);
        }
        match self.learned.find(frame, now) {
            Some(port) if port == in_port => Normal::Nowhere,
            Some(port) if self.live.contains(&port) => Normal::Port(port),
            _ => Normal::Flood,
        }
    }
}

impl Input {
    /// What a receiving half of a port receives.
    pub fn new(port: Arc<SwitchPort>, receiver: Box<dyn Receiver>) -> Self {
        Self {
            port,
            receiver,
            place: 0,
            lost: 0,
        }
    }

    /// The same, in its place among the inputs of its port.
    #[must_use]
    pub fn in_place(self, place: usize) -> Self {
        Self { place, ..self }
    }

    /// Receives from the interface that has taken the name of the one before, if there is such a one.
    pub(crate) fn follow(&mut self) {
        let Some(reopening) = &self.port.reopening else {
            return;
        };
        let mut state = reopening.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(receiver) = state.receivers.remove(&self.place) {
            self.receiver = receiver;
            self.lost = 0;
        }
    }

    /// Frames that arrived and found no room.
    pub(crate) fn count_losses(&mut self) -> io::Result<()> {
        let dropped = self.receiver.statistics()?.receive_dropped;
        let more = dropped - std::mem::replace(&mut self.lost, dropped);
        self.port.counts.drop(Way::In, Reason::NoRoom, more);
        Ok(())
    }
}
