//! Longest prefixes of 32 bits: the upper half of an address leads to a value, or to the intervals of its lower half.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::reclaim::Garbage;

const HALF: usize = 1 << 16;
/// An entry of the root is the address of a block and not a value.
const IS_BLOCK: u64 = 1 << 63;

/// A prefix: its address and how many bits of it count.
pub(crate) type Prefix = (u32, u8);

/// What readers look addresses up in.
pub(crate) struct Root(Box<[AtomicU64]>);

/// Values by longest prefix, changed by one thread while others look addresses up in the [`Root`].
pub(crate) struct Prefixes {
    root: Arc<Root>,
    rules: BTreeMap<Prefix, u64>,
    /// Upper halves below which something has changed since the last [`Prefixes::publish`].
    changed: BTreeSet<u16>,
}

/// Intervals that lie in one cache line with their bounds.
const FEW: usize = 5;

/// The intervals of one upper half: from `bounds[i]` up to the next bound lies `values[i]`. Most have few, in one cache
/// line.
#[repr(align(64))]
struct Block {
    bounds: [u16; FEW],
    len: u16,
    values: [u64; FEW],
    many: Option<Box<Intervals>>,
}

/// Any number of intervals.
struct Intervals {
    bounds: Box<[u16]>,
    values: Box<[u64]>,
}

impl Prefixes {
    pub(crate) fn new() -> Self {
        let mut root = Vec::new();
        root.resize_with(HALF, AtomicU64::default);
        Self {
            root: Arc::new(Root(root.into_boxed_slice())),
            rules: BTreeMap::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Sets or removes the value of a prefix; readers see it after [`Self::publish`].
    pub(crate) fn set(&mut self, prefix: Prefix, value: Option<u64>) {
        match value {
            Some(value) => self.rules.insert(prefix, value),
            None => self.rules.remove(&prefix),
        };
        let first = prefix.0 >> 16;
        let last = (prefix.0 | !mask(prefix.1)) >> 16;
        self.changed.extend((first..=last).map(|half| half as u16));
    }

    pub(crate) fn contains(&self, prefix: Prefix) -> bool {
        self.rules.contains_key(&prefix)
    }

    /// Shows readers what has been set, and hands over what they may still be reading.
    pub(crate) fn publish(&mut self, garbage: &mut Garbage) {
        for half in std::mem::take(&mut self.changed) {
            let entry = self.entry(half);
            let old = self.root.0[usize::from(half)].swap(entry, Ordering::AcqRel);
            if let Some(block) = take_block(old) {
                garbage.keep(block);
            }
        }
    }

    /// What the root says of an upper half.
    fn entry(&self, half: u16) -> u64 {
        let base = u32::from(half) << 16;
        let cover = (1..=16).rev().find_map(|len| self.rules.get(&(base & mask(len), len)));
        let cover = cover.copied().unwrap_or(0);
        let below: Vec<(Prefix, u64)> = self
            .rules
            .range((base, 0)..=(base | 0xffff, 32))
            .filter(|((_, len), _)| *len > 16)
            .map(|(prefix, value)| (*prefix, *value))
            .collect();
        if below.is_empty() {
            return cover;
        }
        let block = Box::new(Block::new(cover, &below));
        IS_BLOCK | Box::into_raw(block) as u64
    }

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.root
    }
}

impl Root {
    /// The value of the longest prefix of an address; 0 where there is none.
    pub(crate) fn find(&self, address: u32) -> u64 {
        let entry = self.0[(address >> 16) as usize].load(Ordering::Acquire);
        if entry & IS_BLOCK == 0 {
            return entry;
        }
        // SAFETY: the address comes from `Box::into_raw`; a block that was replaced is kept until no reader is left.
        let block = unsafe { &*((entry & !IS_BLOCK) as *const Block) };
        block.find(address as u16)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        for entry in &self.0 {
            drop(take_block(entry.load(Ordering::Relaxed)));
        }
    }
}

impl Block {
    /// From prefixes longer than 16 bits in the order of their addresses, shorter ones first.
    fn new(cover: u64, prefixes: &[(Prefix, u64)]) -> Self {
        let mut intervals: Vec<(u16, u64)> = vec![(0, cover)];
        // Prefixes nest: those that the last one lies in, with the last address of each.
        let mut around: Vec<(u32, u64)> = vec![(0xffff, cover)];
        for &((address, len), value) in prefixes {
            let first = address & 0xffff;
            close(&mut intervals, &mut around, first);
            set(&mut intervals, first, value);
            around.push((first | !mask(len) & 0xffff, value));
        }
        close(&mut intervals, &mut around, 0x1_0000);
        let mut block = Self {
            bounds: [0; FEW],
            len: intervals.len() as u16,
            values: [0; FEW],
            many: None,
        };
        for (index, (bound, value)) in intervals.iter().enumerate().take(FEW) {
            (block.bounds[index], block.values[index]) = (*bound, *value);
        }
        if intervals.len() > FEW {
            let (bounds, values): (Vec<u16>, Vec<u64>) = intervals.into_iter().unzip();
            block.many = Some(Box::new(Intervals {
                bounds: bounds.into(),
                values: values.into(),
            }));
        }
        block
    }

    fn find(&self, low: u16) -> u64 {
        if let Some(many) = &self.many {
            let behind = many.bounds.partition_point(|&bound| bound <= low);
            return many.values[behind - 1];
        }
        let begins = |index: usize| index < usize::from(self.len) && self.bounds[index] <= low;
        let index: usize = (1..FEW).map(|index| usize::from(begins(index))).sum();
        self.values[index]
    }
}

/// Ends the prefixes that end before `next`: behind each, what is around it goes on.
fn close(intervals: &mut Vec<(u16, u64)>, around: &mut Vec<(u32, u64)>, next: u32) {
    while let Some(&(last, _)) = around.last()
        && last < next
    {
        around.pop();
        if let Some(&(_, value)) = around.last()
            && last < 0xffff
        {
            set(intervals, last + 1, value);
        }
    }
}

fn set(intervals: &mut Vec<(u16, u64)>, from: u32, value: u64) {
    match intervals.last_mut() {
        Some(last) if u32::from(last.0) == from => last.1 = value,
        _ => intervals.push((from as u16, value)),
    }
}

fn mask(len: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)
}

fn take_block(entry: u64) -> Option<Box<Block>> {
    // SAFETY: a marked entry is the address that `Box::into_raw` gave, and it has just been replaced or is being
    // dropped: it is taken once.
    (entry & IS_BLOCK != 0).then(|| unsafe { Box::from_raw((entry & !IS_BLOCK) as *mut Block) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(rules: &BTreeMap<Prefix, u64>, address: u32) -> u64 {
        let matching = rules.iter().filter(|((base, len), _)| address & mask(*len) == *base);
        matching.max_by_key(|((_, len), _)| *len).map_or(0, |(_, value)| *value)
    }

    proptest! {
        #[test]
        fn the_longest_prefix_wins(
            steps in prop::collection::vec((any::<u32>(), 1..=32_u8, any::<bool>(), any::<bool>()), 1..60),
            probes in prop::collection::vec(any::<u32>(), 20),
        ) {
            let mut prefixes = Prefixes::new();
            let mut garbage = Garbage::default();
            let mut model = BTreeMap::new();
            for (index, (address, len, is_near, removes)) in steps.into_iter().enumerate() {
                // Many prefixes of few upper halves, so that they nest.
                let address = if is_near { address & 0x0001_fff3 } else { address };
                let prefix = (address & mask(len), len);
                let value = (!removes).then_some(index as u64 + 2);
                prefixes.set(prefix, value);
                match value {
                    Some(value) => model.insert(prefix, value),
                    None => model.remove(&prefix),
                };
                prefixes.publish(&mut garbage);
                let edges = model.keys().flat_map(|&(base, len)| [base, base.wrapping_sub(1), (base | !mask(len)), (base | !mask(len)).wrapping_add(1)]);
                for probe in edges.chain(probes.iter().copied()) {
                    prop_assert_eq!(prefixes.root().find(probe), naive(&model, probe), "{:#x}", probe);
                }
            }
        }
    }
}
