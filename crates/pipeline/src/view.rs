use crate::{CounterBlock, CounterId, Environment, GroupEntry, MeterEntry, Normal, Shared};

/// The switch as one data-plane thread sees it at one moment.
#[derive(Clone, Copy, Debug)]
pub struct View<'v> {
    /// Groups and meters.
    pub shared: &'v Shared,
    /// Ports that are there, up and linked.
    pub live_ports: &'v [u32],
    /// Nanoseconds of the switch's clock.
    pub now: u64,
    /// The thread's cells.
    pub counters: &'v CounterBlock,
    /// The ports that frames are flooded to, their own left out, all and those that floods may use.
    pub floods: &'v dyn Floods,
}

/// Where floods go.
pub trait Floods: std::fmt::Debug + Sync {
    /// The ports that a frame from `in_port` is flooded to; with `all`, also those that are closed for floods.
    fn ports(&self, in_port: u32, all: bool) -> &[u32];
    /// Where a frame goes by what has been learnt of its receiver; learns of its sender. Nothing has been learnt unless
    /// this says so.
    fn normal(&self, _frame: &[u8], _in_port: u32, _now: u64) -> Normal {
        Normal::Flood
    }
}

impl Environment for View<'_> {
    fn group(&self, group: u32) -> Option<&GroupEntry> {
        self.shared.groups.get(&group).map(AsRef::as_ref)
    }

    fn meter(&self, meter: u32) -> Option<&MeterEntry> {
        self.shared.meters.get(&meter).map(AsRef::as_ref)
    }

    fn is_live(&self, port: u32) -> bool {
        self.live_ports.contains(&port)
    }

    fn flood_ports(&self, in_port: u32, all: bool) -> &[u32] {
        self.floods.ports(in_port, all)
    }

    fn normal(&self, frame: &[u8], in_port: u32) -> Normal {
        self.floods.normal(frame, in_port, self.now)
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn count(&self, counter: CounterId, bytes: u64) {
        self.counters.count(counter, bytes);
    }
}
