//! Ports: what they are called, what they count, and how frames leave by them.

mod input;
mod members;
mod reopening;
mod sending;
mod view;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brimful_netdev::{MonotonicTime, Sender};

use crate::counts::PortCounts;
use crate::queues::{QueueSettings, Queues};
use crate::tap::Tap;
use reopening::Reopening;

pub use input::Input;
pub(crate) use input::receive;
pub use members::Ports;
pub use reopening::Open;
pub(crate) use sending::{TAG_LEN, is_tagged};
pub use view::PortView;

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
    queue_rates: Mutex<Vec<QueueSettings>>,
    longest: usize,
    /// The longest frame that the interface takes without a tag.
    longest_untagged: AtomicUsize,
    /// Whether its interface sends merged frames.
    takes_merged: bool,
    has_queues: AtomicBool,
    /// Its hardware address, as an integer.
    address: AtomicU64,
    config: AtomicU32,
    has_link: AtomicBool,
    /// One for each thread that sends, as far as the interface has several; where there are queues, all use the first.
    ways_out: Vec<Mutex<WayOut>>,
    /// Who captures its frames.
    taps: Mutex<Vec<Arc<Tap>>>,
    reopening: Option<Reopening>,
}

struct WayOut {
    exit: Exit,
    queues: Option<Queues>,
    /// Frames that the other end had no room for, as far as the port has counted them.
    refused: u64,
}

/// Where frames leave, and who captures those that do.
struct Exit {
    sender: Box<dyn Sender>,
    taps: Vec<Arc<Tap>>,
}

impl WayOut {
    fn new(sender: Box<dyn Sender>, queues: Option<Queues>) -> Self {
        Self {
            exit: Exit {
                sender,
                taps: Vec::new(),
            },
            queues,
            refused: 0,
        }
    }
}

impl std::fmt::Debug for WayOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("WayOut")
            .field("sender", &self.exit.sender.name())
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
            queue_rates: Mutex::default(),
            longest,
            longest_untagged: AtomicUsize::new(sender.longest_untagged().unwrap_or(usize::MAX)),
            takes_merged: sender.takes_merged(),
            has_queues: AtomicBool::new(queues.is_some()),
            address: AtomicU64::new(address_number(address)),
            config: AtomicU32::new(0),
            has_link: AtomicBool::new(true),
            ways_out: vec![Mutex::new(WayOut::new(sender, queues))],
            taps: Mutex::default(),
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

    /// The same with further sending halves of its interface, so that threads need not wait for one another.
    #[must_use]
    pub fn with_more_senders(mut self, senders: impl IntoIterator<Item = Box<dyn Sender>>) -> Self {
        let ways = senders.into_iter().map(|sender| Mutex::new(WayOut::new(sender, None)));
        self.ways_out.extend(ways);
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
        self.takes_merged && !self.has_queues()
    }

    /// Whether frames that arrive are taken.
    pub(crate) fn takes_frames(&self) -> bool {
        self.config() & (port_config::DOWN | port_config::NO_RECEIVE) == 0
    }

    fn way_out(&self, thread: usize) -> MutexGuard<'_, WayOut> {
        let place = if self.has_queues() { 0 } else { thread };
        self.way(place % self.ways_out.len())
    }

    fn way(&self, place: usize) -> MutexGuard<'_, WayOut> {
        self.ways_out[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether frames may wait in it.
    pub fn has_queues(&self) -> bool {
        self.has_queues.load(Relaxed)
    }

    /// What each queue has counted.
    pub fn queue_counts(&self) -> Vec<crate::queues::QueueCounts> {
        self.way(0).queues.as_ref().map(Queues::counts).unwrap_or_default()
    }

    /// The rates of its queues.
    pub fn queue_rates(&self) -> Vec<QueueSettings> {
        self.rates().clone()
    }

    fn rates(&self) -> MutexGuard<'_, Vec<QueueSettings>> {
        self.queue_rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who captures its frames.
    pub(crate) fn taps(&self) -> MutexGuard<'_, Vec<Arc<Tap>>> {
        self.taps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has others capture its frames; data-plane threads see so for what they receive once they look again.
    pub(crate) fn set_taps(&self, taps: Vec<Arc<Tap>>) {
        for place in 0..self.ways_out.len() {
            self.way(place).exit.taps.clone_from(&taps);
        }
        *self.taps() = taps;
    }
}

fn address_number(address: [u8; 6]) -> u64 {
    let mut bytes = [0; 8];
    bytes[2..].copy_from_slice(&address);
    u64::from_be_bytes(bytes)
}
