use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{CounterId, FlowEntry};

/// Entries that go by themselves, and when each was last seen to be used. Use is seen by its packet count, so that the
/// data plane has nothing to do for it.
#[derive(Debug, Default)]
pub(crate) struct Timeouts(pub(crate) BTreeMap<CounterId, Watched>);

#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) entry: Arc<FlowEntry>,
    pub(crate) packets: u64,
    pub(crate) used_at: u64,
}

impl Timeouts {
    /// Watches an entry that has had this number of packets, if it goes by itself.
    pub(crate) fn watch(&mut self, entry: &Arc<FlowEntry>, packets: impl FnOnce() -> u64, now: u64) {
        if entry.idle_timeout_s == 0 && entry.hard_timeout_s == 0 {
            self.0.remove(&entry.counter);
            return;
        }
        let watched = Watched {
            entry: Arc::clone(entry),
            packets: packets(),
            used_at: now,
        };
        self.0.insert(entry.counter, watched);
    }

    pub(crate) fn forget(&mut self, entry: &FlowEntry) {
        self.0.remove(&entry.counter);
    }
}
