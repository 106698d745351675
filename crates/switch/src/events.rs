//! What controllers are sent without having asked.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError, RwLock};

use brimful_netdev::MonotonicTime;
use brimful_pipeline::{Count, FlowEntry, PacketIn, Reason, Removal};

/// Nanoseconds of its rate that packets for controllers may come at once.
const BURST_NS: u64 = 200_000_000;
const NANOSECONDS: u64 = 1_000_000_000;
/// Packets a second for each kind of reason, unless something else is set.
pub const DEFAULT_PACKET_IN_RATE: u64 = 10_000;

/// The listeners to packets for controllers. Threads of the data plane send these without the control thread, so that a
/// packet is with its controller at once. There is a limit for each kind of reason, so that a storm costs the data
/// plane little and does not keep packets of other kinds from their controllers.
#[derive(Clone, Debug)]
pub struct PacketListeners(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    listeners: RwLock<Vec<SyncSender<PacketInEvent>>>,
    /// Nanoseconds between packets of a kind; 0 for no limit.
    interval_ns: AtomicU64,
    /// For each kind the moment at which all that have passed would have passed at exactly the rate.
    due: [AtomicU64; 3],
    dropped: AtomicU64,
}

impl Default for PacketListeners {
    fn default() -> Self {
        Self(Arc::new(Inner {
            listeners: RwLock::default(),
            interval_ns: AtomicU64::new(NANOSECONDS / DEFAULT_PACKET_IN_RATE),
            due: Default::default(),
            dropped: AtomicU64::new(0),
        }))
    }
}

impl PacketListeners {
    /// One more.
    pub(crate) fn add(&self, listener: SyncSender<PacketInEvent>) {
        let mut listeners = self.0.listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.push(listener);
    }

    /// The most packets a second of each kind; 0 for no limit.
    pub fn limit(&self, packets_per_s: u64) {
        let interval = NANOSECONDS.checked_div(packets_per_s).unwrap_or(0);
        self.0.interval_ns.store(interval, Relaxed);
    }

    /// Packets that were above the limit, or that a listener did not take.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Relaxed)
    }

    /// Reports a packet of the data plane, unless it is above the limit.
    pub(crate) fn tell(&self, packet: &PacketIn<'_>) {
        let kind = match packet.reason {
            Reason::NoMatch => 0,
            Reason::InvalidTtl => 1,
            Reason::Action | Reason::ActionSet | Reason::Group | Reason::PacketOut => 2,
        };
        if self.admits(kind, MonotonicTime::now().0) {
            self.publish(PacketInEvent::of(packet));
        } else {
            self.0.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Reports to all; one that does not follow misses it.
    pub(crate) fn publish(&self, packet: PacketInEvent) {
        let listeners = self.0.listeners.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((last, others)) = listeners.split_last() {
            let sent = others.iter().all(|listener| listener.try_send(packet.clone()).is_ok());
            if !(last.try_send(packet).is_ok() && sent) {
                self.0.dropped.fetch_add(1, Relaxed);
            }
        }
    }

    fn admits(&self, kind: usize, now: u64) -> bool {
        let interval = self.0.interval_ns.load(Relaxed);
        let take = |due: u64| {
            let next = due.max(now) + interval;
            (next <= now + BURST_NS.max(interval)).then_some(next)
        };
        self.0.due[kind].fetch_update(Relaxed, Relaxed, take).is_ok()
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn packet(reason: Reason) -> PacketIn<'static> {
        PacketIn {
            frame: &[0; 60],
            reason,
            table: 0,
            cookie: 0,
            max_len: 0,
            in_port: 1,
            in_phy_port: 1,
            metadata: 0,
            tunnel_id: 0,
        }
    }

    #[test]
    fn a_storm_of_one_kind_leaves_room_for_others() {
        let (listeners, (sender, heard)) = (PacketListeners::default(), sync_channel(1 << 16));
        listeners.add(sender);
        listeners.limit(10);
        for _ in 0..1000 {
            listeners.tell(&packet(Reason::NoMatch));
        }
        let passed = heard.try_iter().count() as u64;
        assert!((1..100).contains(&passed), "{passed}");
        assert_eq!(listeners.dropped(), 1000 - passed);
        listeners.tell(&packet(Reason::Action));
        assert_eq!(heard.try_iter().count(), 1);
        listeners.limit(0);
        for _ in 0..1000 {
            listeners.tell(&packet(Reason::NoMatch));
        }
        assert_eq!(heard.try_iter().count(), 1000);
    }

    #[test]
    fn a_listener_that_does_not_follow_misses_packets() {
        let (listeners, (sender, heard)) = (PacketListeners::default(), sync_channel(2));
        listeners.add(sender);
        for _ in 0..5 {
            listeners.tell(&packet(Reason::Action));
        }
        assert_eq!((heard.try_iter().count(), listeners.dropped()), (2, 3));
    }
}
