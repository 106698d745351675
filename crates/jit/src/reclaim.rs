//! When what was replaced cannot have a reader any more.
//!
//! Every reader says at each burst which epoch it has seen, or that it reads nothing. What was replaced in one epoch is
//! dropped once every reader has seen a later one.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::sync::{AtomicU64, fence};

/// A reader that reads nothing.
const IDLE: u64 = u64::MAX;

/// What was replaced and may still be read.
#[derive(Default)]
pub(crate) struct Garbage {
    things: Vec<Box<dyn Any + Send>>,
    is_large: bool,
}

impl Garbage {
    pub(crate) fn keep<T: Send + 'static>(&mut self, replaced: T) {
        self.things.push(Box::new(replaced));
    }

    /// The same for what takes long to drop.
    pub(crate) fn keep_large<T: Send + 'static>(&mut self, replaced: T) {
        self.keep(replaced);
        self.is_large = true;
    }

    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether something takes long to drop.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large
    }

    fn add(&mut self, other: Self) {
        self.things.extend(other.things);
        self.is_large |= other.is_large;
    }
}

/// The epochs of all readers.
#[derive(Default)]
pub(crate) struct Epochs {
    now: Arc<AtomicU64>,
    /// Data-plane threads, whose bursts a [`Moment`] waits for.
    workers: Vec<Arc<AtomicU64>>,
    /// Who else reads what is shared.
    observers: Vec<Arc<AtomicU64>>,
    waiting: VecDeque<(u64, Garbage)>,
}

/// One reader's side.
pub(crate) struct Reader {
    now: Arc<AtomicU64>,
    seen: Arc<AtomicU64>,
}

impl Epochs {
    /// One more data-plane thread.
    pub(crate) fn worker(&mut self) -> Reader {
        self.workers.retain(is_in_use);
        let reader = Reader::new(&self.now);
        self.workers.push(Arc::clone(&reader.seen));
        reader
    }

    /// One more reader that no moment waits for.
    pub(crate) fn observer(&mut self) -> Reader {
        let reader = Reader::new(&self.now);
        self.observers.push(Arc::clone(&reader.seen));
        reader
    }

    /// Takes what was replaced up to now.
    pub(crate) fn retire(&mut self, garbage: &mut Garbage) {
        if !garbage.things.is_empty() {
            let epoch = self.now.fetch_add(1, Ordering::SeqCst);
            self.waiting.push_back((epoch, std::mem::take(garbage)));
        }
    }

    /// Moves what has no reader any more.
    pub(crate) fn take_unread(&mut self, unread: &mut Garbage) {
        if self.waiting.is_empty() {
            return;
        }
        let oldest = self.oldest();
        while let Some((_, garbage)) = self.waiting.pop_front_if(|(epoch, _)| *epoch < oldest) {
            unread.add(garbage);
        }
    }

    /// The oldest epoch that a reader is in.
    fn oldest(&self) -> u64 {
        fence(Ordering::SeqCst);
        let readers = self.workers.iter().chain(&self.observers);
        let oldest = readers.map(|reader| reader.load(Ordering::SeqCst)).min();
        oldest.unwrap_or(IDLE)
    }

    /// Everything that waits, read or not: for an engine that ends.
    pub(crate) fn end(&mut self) -> Vec<Box<dyn Any + Send>> {
        self.waiting.drain(..).flat_map(|(_, garbage)| garbage.things).collect()
    }

    /// A moment from which on every data-plane thread that passes it sees all that was changed before.
    pub(crate) fn mark(&self) -> Moment {
        let epoch = self.now.fetch_add(1, Ordering::SeqCst);
        Moment {
            epoch,
            workers: self.workers.clone(),
        }
    }
}

fn is_in_use(reader: &Arc<AtomicU64>) -> bool {
    Arc::strong_count(reader) > 1 || reader.load(Ordering::SeqCst) != IDLE
}

/// A moment that all data-plane threads are to pass.
pub struct Moment {
    epoch: u64,
    workers: Vec<Arc<AtomicU64>>,
}

impl Moment {
    /// Whether every thread has begun a burst since, or reads nothing.
    pub fn has_passed(&self) -> bool {
        // Pairs with that of `Reader::enter`, as in `Epochs::oldest`.
        fence(Ordering::SeqCst);
        self.workers
            .iter()
            .all(|reader| reader.load(Ordering::SeqCst) > self.epoch)
    }
}

impl Reader {
    fn new(now: &Arc<AtomicU64>) -> Self {
        Self {
            now: Arc::clone(now),
            seen: Arc::new(AtomicU64::new(IDLE)),
        }
    }

    /// Begins a burst: sees everything that was published before.
    pub(crate) fn enter(&self) {
        let now = self.now.load(Ordering::Acquire);
        if self.seen.load(Ordering::Relaxed) != now {
            self.seen.store(now, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }

    /// Reads nothing until the next burst.
    pub(crate) fn leave(&self) {
        self.seen.store(IDLE, Ordering::Release);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Every order in which two readers can meet what is replaced; `tools/test all` runs it with the feature `loom`.
#[cfg(all(feature = "loom", test))]
mod models {
    use loom::thread;

    use super::*;
    use crate::sync::AtomicBool;

    const OLD: u64 = 1;
    const NEW: u64 = 2;

    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn nothing_is_dropped_that_somebody_reads() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let (place, dropped) = (Arc::new(AtomicU64::new(OLD)), Arc::new(AtomicBool::new(false)));
            let mut epochs = Epochs::default();
            let readers = [epochs.worker(), epochs.observer()].map(|reader| {
                let (place, dropped) = (Arc::clone(&place), Arc::clone(&dropped));
                thread::spawn(move || {
                    reader.enter();
                    if place.load(Ordering::Acquire) == OLD {
                        assert!(!dropped.load(Ordering::Relaxed), "read after it was dropped");
                    }
                    reader.leave();
                })
            });
            place.store(NEW, Ordering::Release);
            let (mut garbage, mut unread) = (Garbage::default(), Garbage::default());
            garbage.keep(Dropped(dropped));
            epochs.retire(&mut garbage);
            epochs.take_unread(&mut unread);
            drop(unread);
            for reader in readers {
                reader.join().unwrap();
            }
        });
    }

    #[test]
    fn a_moment_has_passed_only_for_readers_that_see_what_was_changed_before() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let place = Arc::new(AtomicU64::new(OLD));
            let mut epochs = Epochs::default();
            let reader = epochs.worker();
            let (read, has_begun) = (Arc::clone(&place), Arc::new(AtomicBool::new(false)));
            let saw_old = Arc::clone(&has_begun);
            let reading = thread::spawn(move || {
                reader.enter();
                if read.load(Ordering::Acquire) == OLD {
                    saw_old.store(true, Ordering::SeqCst);
                }
                reader
            });
            place.store(NEW, Ordering::Release);
            let passed_at_once = epochs.mark().has_passed();
            let reader = reading.join().unwrap();
            // It read the old one in a burst that the moment had to wait for, if it had begun.
            if passed_at_once && has_begun.load(Ordering::SeqCst) {
                panic!("passed, and the old one was read");
            }
            drop(reader);
        });
    }
}
