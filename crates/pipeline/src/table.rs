//! One flow table: entries by rank, which a frame asks for, and by key, which changes ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashTable;

use crate::entry::overlap;
use crate::{CounterId, Demands, FlowEntry};

/// Parts of a table's keys.
const KEY_PARTS: usize = 256;

/// One flow table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Ranks of entries, by the hash of priority and demands, which stands before each. Each part grows on its own, so
    /// that no insertion moves everything.
    pub(crate) by_key: Vec<HashTable<(u64, u64)>>,
    pub(crate) by_rank: BTreeMap<u64, Arc<FlowEntry>>,
    pub(crate) lookups: CounterId,
    pub(crate) matches: CounterId,
    /// Whether entries make room for others when it is full (1.4).
    pub(crate) evicts: bool,
}

impl Table {
    /// The entry with a priority and these demands.
    pub(crate) fn find(&self, key_hash: u64, priority: u16, demands: &Demands) -> Option<&Arc<FlowEntry>> {
        let is_it = |(other, rank): &(u64, u64)| {
            let entry = (*other == key_hash).then(|| self.by_rank.get(rank)).flatten();
            entry.is_some_and(|entry| entry.priority == priority && entry.demands == *demands)
        };
        let (_, rank) = self.by_key.get(part_of(key_hash))?.find(key_hash, is_it)?;
        self.by_rank.get(rank)
    }

    /// Has an entry found by its key.
    pub(crate) fn index(&mut self, entry: &FlowEntry) {
        let (hash, key) = (entry.key_hash, (entry.key_hash, entry.rank()));
        self.by_key.resize_with(KEY_PARTS, HashTable::new);
        self.by_key[part_of(hash)].insert_unique(hash, key, |(hash, _)| *hash);
    }

    /// Has it found no more.
    pub(crate) fn forget(&mut self, entry: &FlowEntry) {
        let (hash, rank) = (entry.key_hash, entry.rank());
        let part = self.by_key.get_mut(part_of(hash));
        if let Some(Ok(found)) = part.map(|part| part.find_entry(hash, |(_, other)| *other == rank)) {
            found.remove();
        }
    }

    /// OF 1.3.5 section 6.4: two entries overlap if a packet may match both and their priority is the same. So an entry
    /// with the same match is one that overlaps.
    pub(crate) fn overlapping(&self, priority: u16, demands: &Demands) -> Option<&Arc<FlowEntry>> {
        let (first, last) = (u64::from(priority) << 48, u64::from(priority) << 48 | 0xffff_ffff_ffff);
        let mut same = self.by_rank.range(first..=last).map(|(_, entry)| entry);
        same.find(|entry| overlap(&entry.demands, demands))
    }
}

/// Bits that the hash of a part does not look at for its places.
fn part_of(hash: u64) -> usize {
    (hash >> 40) as usize % KEY_PARTS
}
