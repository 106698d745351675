use std::sync::Arc;

use crate::{Change, Pipeline, Removal};

const SECOND: u64 = 1_000_000_000;

impl Pipeline {
    /// Takes out the entries whose time has come. Call it some times a second: an entry may stay as much longer as the
    /// calls are apart.
    pub fn expire(&mut self, now: u64) -> Vec<Change> {
        let counters = &self.counters;
        let mut gone = Vec::new();
        for watched in self.timeouts.0.values_mut() {
            let packets = counters.read(watched.entry.counter).packets;
            if packets != watched.packets {
                watched.packets = packets;
                watched.used_at = now;
            }
            let entry = &watched.entry;
            let has_passed = |timeout_s: u16, since: u64| {
                timeout_s > 0 && now.saturating_sub(since) >= u64::from(timeout_s) * SECOND
            };
            if has_passed(entry.hard_timeout_s, entry.installed_at) {
                gone.push((Arc::clone(entry), Removal::HardTimeout));
            } else if has_passed(entry.idle_timeout_s, watched.used_at) {
                gone.push((Arc::clone(entry), Removal::IdleTimeout));
            }
        }
        gone.sort_by_key(|(entry, _)| (entry.table, entry.order));
        let gone = gone.into_iter();
        gone.filter_map(|(entry, reason)| {
            // A modification has put another entry in its place.
            let current = self.tables[usize::from(entry.table)]
                .by_rank
                .get(&entry.rank())
                .cloned()?;
            Some(self.remove(&current, reason))
        })
        .collect()
    }
}
