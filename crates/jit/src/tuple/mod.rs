//! One hash of rules with the same masks, changed by one thread while others look keys up.
//!
//! A slot is `value, rank, key...`. The writer fills the key and the rank of a slot and then stores its value; from
//! then on the key never changes. A removed slot keeps its key and has the value [`TOMBSTONE`]. So a reader that has
//! loaded a value finds the key it belongs to, without locks. Another key gets a slot of a new [`Memory`], which
//! replaces the old one whole.
//!
//! The same key takes its slot again, as where a controller fills a table anew, if its rank is not higher than before.
//! A reader may have loaded the value of the rule before and then load this rank. If that rule still wins, it did so
//! with its own rank, too; if another one wins, it does so with the rule that has come again, too. So the reader meets
//! the table before or after this change, whichever of the other changes it meets.
//!
//! The new memory is filled bit by bit, by each insertion a few slots of the old one, so that none takes long. Until it
//! is published, readers look into the old one, and the writer keeps both alike.

#[cfg(test)]
#[cfg(feature = "loom")]
mod models;
#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests;

use std::sync::atomic::{Ordering, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use crate::key::{Key, KeyLayout, MaskShape, hash};
use crate::memory::Memory;
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize};

/// No rule has ever been in the slot.
pub(crate) const EMPTY: u64 = 0;
/// A rule was in the slot.
pub(crate) const TOMBSTONE: u64 = 1;
/// Words of a slot in front of its key.
pub(crate) const SLOT_HEAD: usize = 2;
const SMALLEST: usize = 8;
/// Slots that an insertion carries over into the memory that follows: half of the slots are used when that begins, so
/// it ends long before all of them are.
const CARRIED_AT_ONCE: usize = 16;

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
    /// Multiplies in the hash: chosen at random, so that a sender cannot make keys collide.
    pub(crate) factor: u64,
    /// Rules in it.
    len: AtomicUsize,
    /// Slots that a rule is or was in.
    used: AtomicUsize,
    /// The writer's.
    growth: Mutex<Option<Growth>>,
    /// Whether there is a growth, for the writer, which asks each time.
    is_growing: AtomicBool,
}

/// The memory that is to follow.
struct Growth {
    memory: Box<Memory>,
    /// Slots of it that a rule is or was in.
    used: usize,
    /// The first slot of the old memory that has not been carried over.
    next: usize,
}

impl Tuple {
    /// With room for this number of rules at first.
    pub(crate) fn with_room(shape: MaskShape, factor: u64, rules: usize) -> Self {
        let layout = KeyLayout::of(&shape);
        let memory = Memory::new(slots_for(rules), stride(layout.words));
        Self {
            shape,
            cell: TupleCell {
                memory: AtomicPtr::new(Box::into_raw(memory)),
            },
            layout,
            factor: factor | 1,
            len: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            growth: Mutex::new(None),
            is_growing: AtomicBool::new(false),
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

    fn growth(&self) -> MutexGuard<'_, Option<Growth>> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value and rank of a key.
    pub(crate) fn find(&self, key: &[u64]) -> Option<(u64, u64)> {
        let memory = self.memory();
        let (slot, value) = self.locate(memory, key)?;
        Some((value, memory.word(slot * self.stride() + 1).load(Relaxed)))
    }

    /// Has the processor fetch where a key is or comes to.
    pub(crate) fn prefetch(&self, key: &[u64]) {
        self.prefetch_in(self.memory(), key);
        if self.is_growing.load(Relaxed)
            && let Some(growth) = &*self.growth()
        {
            self.prefetch_in(&growth.memory, key);
        }
    }

    fn prefetch_in(&self, memory: &Memory, key: &[u64]) {
        let slot = hash(key, self.factor) as usize & memory.index_mask as usize;
        memory.prefetch(slot * self.stride());
    }

    fn locate(&self, memory: &Memory, key: &[u64]) -> Option<(usize, u64)> {
        let stride = self.stride();
        let mut slot = hash(key, self.factor) as usize & memory.index_mask as usize;
        loop {
            let value = memory.word(slot * stride).load(Ordering::Acquire);
            let is_key =
                |(index, word): (usize, &u64)| memory.word(slot * stride + SLOT_HEAD + index).load(Relaxed) == *word;
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
        let is_there = self.replace_in(self.memory(), key, value);
        if is_there
            && self.is_growing.load(Relaxed)
            && let Some(growth) = &*self.growth()
        {
            // What has not been carried over yet is so with its new value.
            self.replace_in(&growth.memory, key, value);
        }
        is_there
    }

    fn replace_in(&self, memory: &Memory, key: &[u64], value: u64) -> bool {
        let Some((slot, _)) = self.locate(memory, key) else {
            return false;
        };
        memory.word(slot * self.stride()).store(value, Ordering::Release);
        true
    }

    /// Takes a key out.
    pub(crate) fn remove(&self, key: &[u64]) -> bool {
        let is_there = self.replace(key, TOMBSTONE);
        self.len.store(self.len() - usize::from(is_there), Relaxed);
        is_there
    }

    /// Puts in a key that is not there. What this replaces is for the caller to keep until no reader is left.
    #[must_use]
    pub(crate) fn insert(&self, key: &[u64], value: u64, rank: u64) -> Option<Box<Memory>> {
        let memory = self.memory();
        // Only the one writer changes these.
        self.len.store(self.len() + 1, Relaxed);
        let used = self.used.load(Relaxed) + usize::from(self.put(memory, key, value, rank));
        self.used.store(used, Relaxed);
        // Half of the slots stay empty, so that a look-up ends soon.
        let is_full = used * 2 > memory.slots();
        if !is_full && !self.is_growing.load(Relaxed) {
            return None;
        }
        let mut growth = self.growth();
        if growth.is_none() {
            self.is_growing.store(true, Relaxed);
            // Each key that comes until all have been carried over takes a slot, too, even if it goes again meanwhile.
            let to_come = memory.slots() / CARRIED_AT_ONCE;
            *growth = Some(Growth {
                // Fourfold, as tables are filled by many changes: so rules are carried over less often.
                memory: Memory::new(slots_for(self.len() * 2 + to_come), self.stride()),
                used: 0,
                next: 0,
            });
        }
        let growing = growth.as_mut()?;
        self.carry_over(memory, growing);
        if self.locate(&growing.memory, key).is_none() {
            growing.used += usize::from(self.put(&growing.memory, key, value, rank));
        }
        if growing.next < memory.slots() {
            return None;
        }
        let grown = growth.take()?;
        self.is_growing.store(false, Relaxed);
        self.used.store(grown.used, Relaxed);
        let old = self.cell.memory.swap(Box::into_raw(grown.memory), Ordering::AcqRel);
        // SAFETY: it came from `Box::into_raw`, and no one else takes it back.
        Some(unsafe { Box::from_raw(old) })
    }

    /// Carries over what is in some more slots of the old memory.
    fn carry_over(&self, memory: &Memory, growth: &mut Growth) {
        let stride = self.stride();
        let last = (growth.next + CARRIED_AT_ONCE).min(memory.slots());
        let word = |slot: usize, index: usize| memory.word(slot * stride + index).load(Relaxed);
        let kept = (growth.next..last).filter(|&slot| word(slot, 0) > TOMBSTONE);
        let key = |slot| {
            (0..self.layout.words)
                .map(|index| word(slot, SLOT_HEAD + index))
                .collect()
        };
        let kept: SmallVec<[(usize, Key); CARRIED_AT_ONCE]> = kept.map(|slot| (slot, key(slot))).collect();
        for (_, key) in &kept {
            self.prefetch_in(&growth.memory, key);
        }
        for (slot, key) in &kept {
            if self.locate(&growth.memory, key).is_none() {
                growth.used += usize::from(self.put(&growth.memory, key, word(*slot, 0), word(*slot, 1)));
            }
        }
        growth.next = last;
    }

    /// Gives a key that is not there a slot. Whether no rule was in that before.
    fn put(&self, memory: &Memory, key: &[u64], value: u64, rank: u64) -> bool {
        let (stride, mask) = (self.stride(), memory.index_mask as usize);
        let mut slot = hash(key, self.factor) as usize & mask;
        let is_new = loop {
            let word = |index: usize| memory.word(slot * stride + index).load(Relaxed);
            let is_key = |(index, part): (usize, &u64)| word(SLOT_HEAD + index) == *part;
            match word(0) {
                EMPTY => break true,
                TOMBSTONE if rank <= word(1) && key.iter().enumerate().all(is_key) => break false,
                _ => slot = (slot + 1) & mask,
            }
        };
        let place = slot * stride;
        if is_new {
            for (index, part) in key.iter().enumerate() {
                memory.word(place + SLOT_HEAD + index).store(*part, Relaxed);
            }
        }
        memory.word(place + 1).store(rank, Relaxed);
        memory.word(place).store(value, Ordering::Release);
        is_new
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        // SAFETY: it came from `Box::into_raw`; a tuple is dropped when no reader is left.
        drop(unsafe { Box::from_raw(self.cell.memory.load(Relaxed)) });
    }
}

fn stride(words: usize) -> usize {
    (words + SLOT_HEAD).next_power_of_two().max(4)
}

fn slots_for(rules: usize) -> usize {
    ((rules + 1) * 3).next_power_of_two().max(SMALLEST)
}
