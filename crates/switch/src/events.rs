//! What controllers are told without having asked.

use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError, RwLock};

use brimful_pipeline::{Count, FlowEntry, PacketIn, Reason, Removal};

/// What controllers want to know.
#[derive(Clone, Debug)]
pub enum Event {
    /// A packet for them.
    PacketIn(PacketInEvent),
    /// An entry went.
    Removed(RemovedEvent),
    /// The link of a port has changed.
    Port(u32),
}

/// Who is told of events. Threads of the data plane tell them without the control thread, so that a packet is with its
/// controller at once.
#[derive(Clone, Debug, Default)]
pub struct Listeners(Arc<RwLock<Vec<SyncSender<Event>>>>);

impl Listeners {
    /// One more.
    pub(crate) fn add(&self, listener: SyncSender<Event>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Tells all; one that does not follow misses events.
    pub(crate) fn publish(&self, event: impl Fn() -> Event) {
        for listener in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = listener.try_send(event());
        }
    }
}

/// An entry that went.
#[derive(Clone, Debug)]
pub struct RemovedEvent {
    /// It.
    pub entry: Arc<FlowEntry>,
    /// Why.
    pub reason: Removal,
    /// What it had counted.
    pub count: Count,
    /// How long it was there, in nanoseconds.
    pub age_ns: u64,
}

/// A packet for controllers.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "as in PacketIn")]
pub struct PacketInEvent {
    pub frame: Vec<u8>,
    pub reason: Reason,
    pub table: u8,
    pub cookie: u64,
    pub max_len: u16,
    pub in_port: u32,
    pub in_phy_port: u32,
    pub metadata: u64,
    pub tunnel_id: u64,
}

impl PacketInEvent {
    pub(crate) fn of(packet: &PacketIn<'_>) -> Self {
        Self {
            frame: packet.frame.to_vec(),
            reason: packet.reason,
            table: packet.table,
            cookie: packet.cookie,
            max_len: packet.max_len,
            in_port: packet.in_port,
            in_phy_port: packet.in_phy_port,
            metadata: packet.metadata,
            tunnel_id: packet.tunnel_id,
        }
    }
}
