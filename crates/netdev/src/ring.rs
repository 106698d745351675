//! The two ends of a ring that one side fills and the other empties, without locks.
//!
//! Positions count up and wrap at 2^32; a ring has a power of two of entries, so that a position's low bits are its
//! slot. The producer writes entries and then publishes its position; the consumer reads entries and then releases
//! them. `AF_XDP` has the kernel at the other end; the wire in memory has another thread.

use std::sync::atomic::{AtomicU32, Ordering};

/// What both ends share: two positions, and slots between them.
pub(crate) trait RingMemory {
    /// What counts entries.
    type Position: Position;

    /// The position up to which entries have been written.
    fn produced(&self) -> &Self::Position;

    /// The position up to which entries have been taken.
    fn consumed(&self) -> &Self::Position;
}

/// A ring whose slots hold plain values.
pub(crate) trait Entries: RingMemory {
    /// What a slot holds.
    type Entry: Copy;

    /// Reads a slot; the caller owns it, and `slot` is below the ring's size.
    fn get(&self, slot: u32) -> Self::Entry;

    /// Writes a slot; the caller owns it, and `slot` is below the ring's size.
    fn put(&mut self, slot: u32, entry: Self::Entry);
}

/// A position that one end moves and the other reads.
pub(crate) trait Position {
    /// Reads it; all that was done before it was moved there is seen from now on.
    fn acquire(&self) -> u32;

    /// Moves it; its reader sees all that was done before.
    fn release(&self, position: u32);
}

impl Position for AtomicU32 {
    fn acquire(&self) -> u32 {
        self.load(Ordering::Acquire)
    }

    fn release(&self, position: u32) {
        self.store(position, Ordering::Release);
    }
}

#[cfg(all(feature = "loom", test))]
impl Position for loom::sync::atomic::AtomicU32 {
    fn acquire(&self) -> u32 {
        self.load(Ordering::Acquire)
    }

    fn release(&self, position: u32) {
        self.store(position, Ordering::Release);
    }
}

/// The end that fills.
#[derive(Debug)]
pub(crate) struct Producer<M> {
    memory: M,
    size: u32,
    produced: u32,
    /// As last seen: the other end may be further.
    consumed: u32,
}

/// The end that empties.
#[derive(Debug)]
pub(crate) struct Consumer<M> {
    memory: M,
    size: u32,
    consumed: u32,
    /// As last seen: the other end may be further.
    produced: u32,
}

impl<M: RingMemory> Producer<M> {
    /// Takes the filling end of an empty ring; `size` is a power of two.
    pub(crate) fn new(memory: M, size: u32) -> Self {
        assert!(size.is_power_of_two());
        Self {
            memory,
            size,
            produced: 0,
            consumed: 0,
        }
    }

    /// How many entries may be written, `wanted` at most.
    pub(crate) fn free(&mut self, wanted: u32) -> u32 {
        if self.size - self.waiting_as_seen() < wanted {
            // The side that released the entries has finished reading them.
            self.consumed = self.memory.consumed().acquire();
        }
        wanted.min(self.size - self.waiting_as_seen())
    }

    /// The slot of the entry `ahead` of the position; the producer's if below what [`Self::free`] gave.
    pub(crate) fn slot(&self, ahead: u32) -> u32 {
        self.produced.wrapping_add(ahead) & (self.size - 1)
    }

    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// Hands the next `count` entries to the other end.
    pub(crate) fn publish(&mut self, count: u32) {
        self.produced = self.produced.wrapping_add(count);
        self.memory.produced().release(self.produced);
    }

    /// How many entries the other end has not taken yet.
    pub(crate) fn waiting(&mut self) -> u32 {
        self.consumed = self.memory.consumed().acquire();
        self.waiting_as_seen()
    }

    fn waiting_as_seen(&self) -> u32 {
        self.produced.wrapping_sub(self.consumed)
    }
}

impl<M: Entries> Producer<M> {
    /// Writes the entry `ahead` of the position; below what [`Self::free`] gave.
    pub(crate) fn put(&mut self, ahead: u32, entry: M::Entry) {
        let slot = self.slot(ahead);
        self.memory.put(slot, entry);
    }
}

impl<M: RingMemory> Consumer<M> {
    /// Takes the emptying end of an empty ring; `size` is a power of two.
    pub(crate) fn new(memory: M, size: u32) -> Self {
        assert!(size.is_power_of_two());
        Self {
            memory,
            size,
            consumed: 0,
            produced: 0,
        }
    }

    /// How many entries are there to read, `wanted` at most.
    pub(crate) fn ready(&mut self, wanted: u32) -> u32 {
        if self.ready_as_seen() < wanted {
            // What is read behind the position was written before it.
            self.produced = self.memory.produced().acquire();
        }
        wanted.min(self.ready_as_seen())
    }

    /// The slot of the entry `ahead` of the position; the consumer's if below what [`Self::ready`] gave.
    pub(crate) fn slot(&self, ahead: u32) -> u32 {
        self.consumed.wrapping_add(ahead) & (self.size - 1)
    }

    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// Gives the next `count` entries back to the other end.
    pub(crate) fn release(&mut self, count: u32) {
        self.consumed = self.consumed.wrapping_add(count);
        self.memory.consumed().release(self.consumed);
    }

    fn ready_as_seen(&self) -> u32 {
        self.produced.wrapping_sub(self.consumed)
    }
}

impl<M: Entries> Consumer<M> {
    /// Reads the entry `ahead` of the position; below what [`Self::ready`] gave.
    pub(crate) fn get(&self, ahead: u32) -> M::Entry {
        self.memory.get(self.slot(ahead))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Consumer, Entries, Ordering, Producer, RingMemory};
    use crate::sync::AtomicU32;

    /// Entries are relaxed, so that only the positions can keep both ends apart.
    #[derive(Debug)]
    struct Shared {
        produced: AtomicU32,
        consumed: AtomicU32,
        entries: Vec<AtomicU32>,
    }

    impl RingMemory for Arc<Shared> {
        type Position = AtomicU32;

        fn produced(&self) -> &AtomicU32 {
            &self.produced
        }

        fn consumed(&self) -> &AtomicU32 {
            &self.consumed
        }
    }

    impl Entries for Arc<Shared> {
        type Entry = u32;

        fn get(&self, slot: u32) -> u32 {
            self.entries[slot as usize].load(Ordering::Relaxed)
        }

        fn put(&mut self, slot: u32, entry: u32) {
            self.entries[slot as usize].store(entry, Ordering::Relaxed);
        }
    }

    fn ring(size: u32, start: u32) -> (Producer<Arc<Shared>>, Consumer<Arc<Shared>>) {
        let shared = Arc::new(Shared {
            produced: AtomicU32::new(start),
            consumed: AtomicU32::new(start),
            entries: (0..size).map(|_| AtomicU32::new(0)).collect(),
        });
        let mut ends = (Producer::new(Arc::clone(&shared), size), Consumer::new(shared, size));
        (ends.0.produced, ends.0.consumed) = (start, start);
        (ends.1.produced, ends.1.consumed) = (start, start);
        ends
    }

    #[cfg(not(feature = "loom"))]
    mod model {
        use std::cell::Cell;
        use std::collections::VecDeque;

        use proptest::prelude::*;

        use super::ring;

        proptest! {
        #[test]
        fn a_ring_is_a_bounded_queue(
            start in prop_oneof![Just(0), Just(u32::MAX - 3), any::<u32>()],
            size in prop_oneof![Just(1u32), Just(2), Just(8)],
            steps in prop::collection::vec((any::<bool>(), 0u32..12), 0..60),
        ) {
            let (mut producer, mut consumer) = ring(size, start);
            let mut model = VecDeque::new();
            let next = Cell::new(0);
            for (fills, wanted) in steps {
                if fills {
                    let count = producer.free(wanted);
                    prop_assert_eq!(count, wanted.min(size - model.len() as u32));
                    for ahead in 0..count {
                        producer.put(ahead, next.get());
                        model.push_back(next.get());
                        next.set(next.get() + 1);
                    }
                    producer.publish(count);
                } else {
                    let count = consumer.ready(wanted);
                    prop_assert_eq!(count, wanted.min(model.len() as u32));
                    for ahead in 0..count {
                        prop_assert_eq!(Some(consumer.get(ahead)), model.pop_front());
                    }
                    consumer.release(count);
                }
                prop_assert_eq!(producer.waiting(), model.len() as u32);
            }
        }
        }
    }

    /// Every order in which two threads can touch the ring, with the feature `loom`.
    #[cfg(feature = "loom")]
    #[test]
    fn entries_cross_threads_whole_and_in_order() {
        loom::model(|| {
            let (mut producer, mut consumer) = ring(2, u32::MAX);
            let filling = loom::thread::spawn(move || {
                let mut next = 1;
                while next <= 3 {
                    if producer.free(1) == 0 {
                        loom::thread::yield_now();
                        continue;
                    }
                    producer.put(0, next);
                    producer.publish(1);
                    next += 1;
                }
            });
            let mut expected = 1;
            while expected <= 3 {
                let count = consumer.ready(2);
                if count == 0 {
                    loom::thread::yield_now();
                    continue;
                }
                for ahead in 0..count {
                    assert_eq!(consumer.get(ahead), expected);
                    expected += 1;
                }
                consumer.release(count);
            }
            filling.join().unwrap();
        });
    }
}
