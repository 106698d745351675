//! Longest prefixes of 32 bits: the upper half of an address leads to a value, or to the intervals of its lower half.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::reclaim::Garbage;

const HALF: usize = 1 << 16;
/// An entry of the root is the address of a block and not a value.
const IS_BLOCK: u64 = 1 << 63;
/// The shortest prefix: one of fewer bits would change too many entries of the root at once.
pub(crate) const SHORTEST: u8 = 8;
/// Intervals of a block that is built anew for one more prefix.
const MOST_INTERVALS: usize = 1024;

/// A prefix: its address and how many bits of it count.
pub(crate) type Prefix = (u32, u8);

/// What readers look addresses up in.
pub(crate) struct Root(Box<[AtomicU64]>);

/// Values by longest prefix, changed by one thread while others look addresses up in the [`Root`].
pub(crate) struct Prefixes {
    root: Arc<Root>,
    rules: BTreeMap<Prefix, u64>,
    /// The length of the longest prefix of 16 bits at most that each upper half lies in; 0 where there is none.
    covers: Box<[u8]>,
    /// Upper halves below which there is another prefix since the last [`Prefixes::publish`].
    changed: BTreeSet<u16>,
}

/// Intervals that lie in one cache line with their bounds.
const FEW: usize = 4;

/// The intervals of one upper half: from `bounds[i]` up to the next bound lies `values[i]`, or the cover where that is
/// 0. Most have few, in one cache line.
#[repr(align(64))]
struct Block {
    bounds: [u16; FEW],
    len: u16,
    values: [AtomicU64; FEW],
    /// The value of the longest prefix that all of the half lies in.
    cover: AtomicU64,
    many: Option<Box<Intervals>>,
}

/// Any number of intervals.
struct Intervals {
    bounds: Box<[u16]>,
    values: Box<[AtomicU64]>,
}

impl Prefixes {
    pub(crate) fn new() -> Self {
        let mut root = Vec::new();
        root.resize_with(HALF, AtomicU64::default);
        Self {
            root: Arc::new(Root(root.into_boxed_slice())),
            rules: BTreeMap::new(),
            covers: vec![0; HALF].into_boxed_slice(),
            changed: BTreeSet::new(),
        }
    }

    /// Sets or removes the value of a prefix; readers see it after [`Self::publish`] at the latest.
    pub(crate) fn set(&mut self, prefix: Prefix, value: Option<u64>) {
        let old = match value {
            Some(value) => self.rules.insert(prefix, value),
            None => self.rules.remove(&prefix),
        };
        let half = (prefix.0 >> 16) as u16;
        if prefix.1 <= 16 {
            self.cover(prefix, value);
        } else if let Some(old) = old.filter(|_| !self.changed.contains(&half)) {
            let value = value.unwrap_or_else(|| self.around(prefix));
            let entry = self.root.0[usize::from(half)].load(Ordering::Relaxed);
            // SAFETY: it is in the root, from which only this thread takes blocks.
            if let Some(block) = unsafe { block_of(entry) } {
                block.exchange(old, value);
            }
        } else {
            self.changed.insert(half);
        }
    }

    pub(crate) fn contains(&self, prefix: Prefix) -> bool {
        self.rules.contains_key(&prefix)
    }

    /// Whether one more prefix takes long, as there are many about it.
    pub(crate) fn is_crowded(&self, prefix: Prefix) -> bool {
        let entry = self.root.0[(prefix.0 >> 16) as usize].load(Ordering::Relaxed);
        // SAFETY: it is in the root, from which only this thread takes blocks.
        let many = unsafe { block_of(entry) }.and_then(|block| block.many.as_ref());
        prefix.1 > 16 && many.is_some_and(|many| many.bounds.len() > MOST_INTERVALS)
    }

    /// Shows readers what has been set, and hands over what they may still be reading.
    pub(crate) fn publish(&mut self, garbage: &mut Garbage) {
        for half in std::mem::take(&mut self.changed) {
            let entry = self.entry(half);
            let old = self.root.0[usize::from(half)].swap(entry, Ordering::AcqRel);
            // SAFETY: it was in the root until now.
            if let Some(block) = unsafe { take_block(old) } {
                garbage.keep(block);
            }
        }
    }

    /// Writes `value` to each upper half that no longer prefix covers; `None` restores the value of the next shorter
    /// prefix.
    fn cover(&mut self, prefix: Prefix, value: Option<u64>) {
        let shorter = || {
            let mut shorter = (SHORTEST..prefix.1).rev();
            shorter.find_map(|len| Some((len, *self.rules.get(&(prefix.0 & mask(len), len))?)))
        };
        let (len, value) = value.map_or_else(|| shorter().unwrap_or((0, 0)), |value| (prefix.1, value));
        let first = (prefix.0 >> 16) as usize;
        let last = ((prefix.0 | !mask(prefix.1)) >> 16) as usize;
        for half in first..=last {
            if self.covers[half] > prefix.1 {
                continue;
            }
            self.covers[half] = len;
            let entry = &self.root.0[half];
            // SAFETY: it is in the root, from which only this thread takes blocks.
            match unsafe { block_of(entry.load(Ordering::Relaxed)) } {
                Some(block) => block.cover.store(value, Ordering::Release),
                None => entry.store(value, Ordering::Release),
            }
        }
    }

    /// The value of the longest prefix of more than 16 bits that a prefix lies in; 0 where there is none.
    fn around(&self, prefix: Prefix) -> u64 {
        let mut shorter = (17..prefix.1).rev();
        let around = shorter.find_map(|len| self.rules.get(&(prefix.0 & mask(len), len)));
        around.copied().unwrap_or(0)
    }

    /// What the root says of an upper half.
    fn entry(&self, half: u16) -> u64 {
        let base = u32::from(half) << 16;
        let len = self.covers[usize::from(half)];
        let cover = self.rules.get(&(base & mask(len), len)).copied().unwrap_or(0);
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
        // SAFETY: a block that was replaced is kept until no reader is left that may have seen it in the root.
        unsafe { block_of(entry) }.map_or(entry, |block| block.find(address as u16))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        for entry in &self.0 {
            // SAFETY: the root has no reader any more, and each block is in one place.
            drop(unsafe { take_block(entry.load(Ordering::Relaxed)) });
        }
    }
}

impl Block {
    /// From prefixes longer than 16 bits in the order of their addresses, shorter ones first.
    fn new(cover: u64, prefixes: &[(Prefix, u64)]) -> Self {
        let mut intervals: Vec<(u16, u64)> = vec![(0, 0)];
        // Prefixes nest: those that the last one lies in, with the last address of each.
        let mut around: Vec<(u32, u64)> = vec![(0xffff, 0)];
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
            values: Default::default(),
            cover: AtomicU64::new(cover),
            many: None,
        };
        for (index, (bound, value)) in intervals.iter().enumerate().take(FEW) {
            (block.bounds[index], block.values[index]) = (*bound, AtomicU64::new(*value));
        }
        if intervals.len() > FEW {
            let values = intervals.iter().map(|(_, value)| AtomicU64::new(*value)).collect();
            block.many = Some(Box::new(Intervals {
                bounds: intervals.into_iter().map(|(bound, _)| bound).collect(),
                values,
            }));
        }
        block
    }

    fn find(&self, low: u16) -> u64 {
        let place = if let Some(many) = &self.many {
            let behind = many.bounds.partition_point(|&bound| bound <= low);
            &many.values[behind - 1]
        } else {
            let begins = |index: usize| index < usize::from(self.len) && self.bounds[index] <= low;
            let index: usize = (1..FEW).map(|index| usize::from(begins(index))).sum();
            &self.values[index]
        };
        match place.load(Ordering::Acquire) {
            0 => self.cover.load(Ordering::Acquire),
            value => value,
        }
    }

    /// Puts a value wherever another one is.
    fn exchange(&self, old: u64, new: u64) {
        let many = self.many.iter().flat_map(|many| many.values.iter());
        for place in self.values.iter().chain(many) {
            if place.load(Ordering::Relaxed) == old {
                place.store(new, Ordering::Release);
            }
        }
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

/// The block that an entry of a root names.
///
/// # Safety
/// The entry comes from a root, and its block is not dropped while the caller has it.
unsafe fn block_of<'b>(entry: u64) -> Option<&'b Block> {
    // SAFETY: a marked entry is the address that `Box::into_raw` gave; the rest is the caller's.
    (entry & IS_BLOCK != 0).then(|| unsafe { &*((entry & !IS_BLOCK) as *const Block) })
}

/// The block that an entry of a root named.
///
/// # Safety
/// The entry was taken out of a root, or the root is being dropped; its block is taken once.
unsafe fn take_block(entry: u64) -> Option<Box<Block>> {
    // SAFETY: a marked entry is the address that `Box::into_raw` gave; the rest is the caller's.
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
            steps in prop::collection::vec((any::<u32>(), SHORTEST..=32_u8, any::<bool>(), any::<bool>()), 1..60),
            probes in prop::collection::vec(any::<u32>(), 20),
        ) {
            let mut prefixes = Prefixes::new();
            let mut garbage = Garbage::default();
            let mut model = BTreeMap::new();
            for (index, (address, len, is_near, removes)) in steps.into_iter().enumerate() {
                // Many prefixes of few upper halves, so that they nest; what is removed is often there.
                let address = if is_near { address & 0x0001_fff3 } else { address };
                let drawn = (address & mask(len), len);
                let prefix = if removes { model.keys().nth(index % 4).copied().unwrap_or(drawn) } else { drawn };
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
