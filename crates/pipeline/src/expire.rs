use std::sync::Arc;

use crate::{Change, CounterId, Pipeline, Removal};

const SECOND: u64 = 1_000_000_000;
/// Entries that are looked at together.
const AT_ONCE: usize = 256;

impl Pipeline {
    /// Takes out the entries whose time has come, of those with the lowest counters from one on; gives the counter to
    /// go on from, so that a caller with more entries can do other things meanwhile. Go through all some times a
    /// second: an entry may stay as much longer as that is apart.
    pub fn expire(&mut self, first: CounterId, now: u64) -> (Vec<Change>, Option<CounterId>) {
        let counters = &self.counters;
        let (mut gone, mut next) = (Vec::new(), None);
        for (looked_at, (counter, watched)) in self.timeouts.0.range_mut(first..).enumerate() {
            if looked_at == AT_ONCE {
                next = Some(*counter);
                break;
            }
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
        let changes = gone.filter_map(|(entry, reason)| {
            // A modification has put another entry in its place.
            let current = self.tables[usize::from(entry.table)]
                .by_rank
                .get(&entry.rank())
                .cloned()?;
            Some(self.remove(&current, reason))
        });
        (changes.collect(), next)
    }
}
