//! Ports: what they are called, what they count, and how frames leave by them.

mod reopening;
mod sending;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use brimful_netdev::{MonotonicTime, Receiver, Sender};
use brimful_openflow::port;
use brimful_pipeline::{Floods, Normal};

use crate::counts::{PortCounts, Reason, Way};
use crate::learned::{Learned, is_for_bridges};
use crate::queues::{QueueSettings, Queues};
use reopening::Reopening;

pub use reopening::Open;
pub(crate) use sending::{TAG_LEN, is_tagged};

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
    /// Whether merged frames leave whole.
    takes_merged: bool,
    /// Its hardware address, as an integer.
    address: AtomicU64,
    config: AtomicU32,
    has_link: AtomicBool,
    /// One for each thread that sends, as far as the interface has several; one where there are queues.
    ways_out: Vec<Mutex<WayOut>>,
    reopening: Option<Reopening>,
}

struct WayOut {
    sender: Box<dyn Sender>,
    queues: Option<Queues>,
    /// Frames that the other end had no room for, as far as the port has counted them.
    refused: u64,
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
            takes_merged: queues.is_none() && sender.takes_merged(),
            address: AtomicU64::new(address_number(address)),
            config: AtomicU32::new(0),
            has_link: AtomicBool::new(true),
            ways_out: vec![Mutex::new(WayOut {
                sender,
                queues,
                refused: 0,
            })],
            reopening: None,
        }
    }

    /// The same, following the name of its interface: `open` opens the one that has it by now, as the given number of
    /// ports.
    #[must_use]
    pub fn with_reopening(self, open: Open, ports: usize) -> Self {
        Self {
            reopening: Some(Reopening::new(open, ports)),
            ..self
        }
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
            let ways = senders.into_iter().map(|sender| {
                Mutex::new(WayOut {
                    sender,
                    queues: None,
                    refused: 0,
                })
            });
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

    /// Whether merged frames leave whole, so that it is worth putting segments together.
    pub(crate) fn takes_merged(&self) -> bool {
        self.takes_merged
    }

    /// Whether frames that arrive are taken.
    pub(crate) fn takes_frames(&self) -> bool {
        self.config() & (port_config::DOWN | port_config::NO_RECEIVE) == 0
    }

    fn way_out(&self, thread: usize) -> std::sync::MutexGuard<'_, WayOut> {
        let way = &self.ways_out[thread % self.ways_out.len()];
        way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether frames may wait in it.
    pub fn has_queues(&self) -> bool {
        self.way_out(0).queues.is_some()
    }

    /// What each queue has counted.
    pub fn queue_counts(&self) -> Vec<crate::queues::QueueCounts> {
        self.way_out(0).queues.as_ref().map(Queues::counts).unwrap_or_default()
    }
}

fn address_number(address: [u8; 6]) -> u64 {
    let mut bytes = [0; 8];
    bytes[2..].copy_from_slice(&address);
    u64::from_be_bytes(bytes)
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

    /// Their numbers by the names of their interfaces.
    pub fn names(&self) -> BTreeMap<String, u32> {
        let named = self.all().map(|port| (port.name.clone(), port.number));
        named.collect()
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
        if in_port <= port::MAX && !is_for_bridges(frame) {
            self.learned.learn(frame, in_port, now);
        }
        self.find(frame, in_port, now)
    }
}

impl PortView {
    /// Where a frame goes by what has been learnt, without learning of it.
    pub(crate) fn find(&self, frame: &[u8], in_port: u32, now: u64) -> Normal {
        if is_for_bridges(frame) {
            return Normal::Nowhere;
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
        let reopening = self.port.reopening.as_ref();
        if let Some(receiver) = reopening.and_then(|reopening| reopening.take_receiver(self.place)) {
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
