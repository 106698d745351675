//! One hash of rules with the same masks, changed by one thread while others look keys up.
//!
//! A slot is `value, rank, key...`. The writer fills the key and the rank of a slot and then stores its value; from
//! then on the key never changes. A removed slot keeps its key and has the value [`TOMBSTONE`]; it is used again only
//! in a new [`Memory`], which replaces the old one whole. So a reader that has loaded a value finds the key it belongs
//! to, without locks.

use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, Ordering::Relaxed};

use crate::key::{KeyLayout, MaskShape, hash};

/// No rule has ever been in the slot.
pub(crate) const EMPTY: u64 = 0;
/// A rule was in the slot.
pub(crate) const TOMBSTONE: u64 = 1;
/// Words of a slot in front of its key.
pub(crate) const SLOT_HEAD: usize = 2;
const SMALLEST: usize = 8;

/// Slots and their number, as compiled code reads them.
#[repr(C, align(64))]
pub(crate) struct Memory {
    /// The number of slots less one: they are a power of two.
    pub(crate) index_mask: u64,
    /// The first slot.
    pub(crate) slots: *const AtomicU64,
    /// Keeps them.
    owned: Vec<Line>,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

// SAFETY: `slots` points into `owned`, which lives as long and is read and written as atomics only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// What compiled code knows of a tuple by its address, which stays.
#[repr(C)]
pub(crate) struct TupleCell {
    pub(crate) memory: AtomicPtr<Memory>,
}

/// Rules with the same masks, no two of which have the same key. One thread at a time changes it.
pub(crate) struct Tuple {
    pub(crate) shape: MaskShape,
    pub(crate) layout: KeyLayout,
    pub(crate) cell: TupleCell,
    /// Multiplies in the hash: chosen at random, so that nobody can send keys that collide.
    pub(crate) factor: u64,
    /// Rules in it.
    len: AtomicUsize,
    /// Slots that a rule is or was in.
    used: AtomicUsize,
}

impl Memory {
    #[allow(clippy::unnecessary_box_returns, reason = "readers know it by its address")]
    fn new(slots: usize, stride: usize) -> Box<Self> {
        let mut owned = Vec::new();
        owned.resize_with((slots * stride).div_ceil(8), Line::default);
        let first = owned.as_ptr().cast();
        Box::new(Self {
            index_mask: slots as u64 - 1,
            slots: first,
            owned,
        })
    }

    fn word(&self, slot: usize, stride: usize, word: usize) -> &AtomicU64 {
        let index = slot * stride + word;
        &self.owned[index / 8].0[index % 8]
    }

    fn slots(&self) -> usize {
        self.index_mask as usize + 1
    }
}

impl Tuple {
    pub(crate) fn new(shape: MaskShape, factor: u64) -> Self {
        let layout = KeyLayout::of(&shape);
        let memory = Memory::new(SMALLEST, stride(layout.words));
        Self {
            shape,
            cell: TupleCell {
                memory: AtomicPtr::new(Box::into_raw(memory)),
            },
            layout,
            factor: factor | 1,
            len: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
        }
    }

    /// Words of a slot.
    pub(crate) fn stride(&self) -> usize {
        stride(self.layout.words)
    }

    /// How many rules are in it.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    fn memory(&self) -> &Memory {
        // SAFETY: the pointer comes from `Box::into_raw` and is replaced by the one writer only, which is the caller or
        // has been; what it replaced is kept until no reader is left.
        unsafe { &*self.cell.memory.load(Ordering::Acquire) }
    }

    /// The value and rank of a key.
    pub(crate) fn find(&self, key: &[u64]) -> Option<(u64, u64)> {
        let memory = self.memory();
        let (slot, value) = self.locate(memory, key)?;
        Some((value, memory.word(slot, self.stride(), 1).load(Ordering::Relaxed)))
    }

    fn locate(&self, memory: &Memory, key: &[u64]) -> Option<(usize, u64)> {
        let stride = self.stride();
        let mut slot = hash(key, self.factor) as usize & memory.index_mask as usize;
        loop {
            let value = memory.word(slot, stride, 0).load(Ordering::Acquire);
            let is_key = |(index, word): (usize, &u64)| {
                memory.word(slot, stride, SLOT_HEAD + index).load(Ordering::Relaxed) == *word
            };
            match value {
                EMPTY => return None,
                TOMBSTONE => {}
                _ if key.iter().enumerate().all(is_key) => return Some((slot, value)),
                _ => {}
            }
            slot = (slot + 1) & memory.index_mask as usize;
        }
    }

    /// Gives a key that is there another value.
    pub(crate) fn replace(&self, key: &[u64], value: u64) -> bool {
        let memory = self.memory();
        let Some((slot, _)) = self.locate(memory, key) else {
            return false;
        };
        memory.word(slot, self.stride(), 0).store(value, Ordering::Release);
        true
    }

    /// Takes a key out.
    pub(crate) fn remove(&self, key: &[u64]) -> bool {
        let is_there = self.replace(key, TOMBSTONE);
        self.len.fetch_sub(usize::from(is_there), Relaxed);
        is_there
    }

    /// Puts in a key that is not there. What this replaces is for the caller to keep until no reader is left.
    #[must_use]
    pub(crate) fn insert(&self, key: &[u64], value: u64, rank: u64) -> Option<Box<Memory>> {
        let old = self.make_room();
        self.used.fetch_add(1, Relaxed);
        let stride = self.stride();
        put(self.memory(), stride, key, hash(key, self.factor), value, rank);
        self.len.fetch_add(1, Relaxed);
        old
    }

    /// Half of the slots stay empty, so that a look-up ends soon.
    fn make_room(&self) -> Option<Box<Memory>> {
        let memory = self.memory();
        if (self.used.load(Relaxed) + 1) * 2 <= memory.slots() {
            return None;
        }
        let stride = self.stride();
        let larger = Memory::new(((self.len() + 1) * 3).next_power_of_two().max(SMALLEST), stride);
        for slot in 0..memory.slots() {
            let value = memory.word(slot, stride, 0).load(Ordering::Relaxed);
            if value != EMPTY && value != TOMBSTONE {
                let word = |index| memory.word(slot, stride, index).load(Ordering::Relaxed);
                let key: Vec<u64> = (0..self.layout.words).map(|index| word(SLOT_HEAD + index)).collect();
                put(&larger, stride, &key, hash(&key, self.factor), value, word(1));
            }
        }
        self.used.store(self.len(), Relaxed);
        let old = self.cell.memory.swap(Box::into_raw(larger), Ordering::AcqRel);
        // SAFETY: it came from `Box::into_raw`, and no one else takes it back.
        Some(unsafe { Box::from_raw(old) })
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        // SAFETY: it came from `Box::into_raw`; a tuple is dropped when no reader is left.
        drop(unsafe { Box::from_raw(self.cell.memory.load(Ordering::Relaxed)) });
    }
}

fn stride(words: usize) -> usize {
    (words + SLOT_HEAD).next_power_of_two().max(4)
}

fn put(memory: &Memory, stride: usize, key: &[u64], hash: u64, value: u64, rank: u64) {
    let mask = memory.index_mask as usize;
    let mut slot = hash as usize & mask;
    while memory.word(slot, stride, 0).load(Ordering::Relaxed) != EMPTY {
        slot = (slot + 1) & mask;
    }
    for (index, word) in key.iter().enumerate() {
        memory
            .word(slot, stride, SLOT_HEAD + index)
            .store(*word, Ordering::Relaxed);
    }
    memory.word(slot, stride, 1).store(rank, Ordering::Relaxed);
    memory.word(slot, stride, 0).store(value, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use brimful_openflow::MatchField;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tuple_is_a_map(steps in prop::collection::vec((0..40_u64, 0..3_u8), 0..300)) {
            let tuple = Tuple::new(vec![(MatchField::EthDst, 0xffff_ffff_ffff)], 0x9e37_79b9_7f4a_7c15);
            let mut model = HashMap::new();
            let mut kept = Vec::new();
            for (index, (key, step)) in steps.into_iter().enumerate() {
                let value = index as u64 + 2;
                match (step, model.contains_key(&key)) {
                    (0, false) => {
                        kept.extend(tuple.insert(&[key], value, 7));
                        model.insert(key, value);
                    }
                    (1, _) => prop_assert_eq!(tuple.remove(&[key]), model.remove(&key).is_some()),
                    (_, true) => {
                        prop_assert!(tuple.replace(&[key], value));
                        model.insert(key, value);
                    }
                    _ => {}
                }
                for key in 0..40 {
                    prop_assert_eq!(tuple.find(&[key]).map(|(value, _)| value), model.get(&key).copied());
                }
                prop_assert_eq!(tuple.len(), model.len());
            }
        }
    }
}
