//! When nobody can be reading any more what was replaced.
//!
//! Every reader says at each burst which epoch it has seen, or that it reads nothing. What was replaced in one epoch is
//! dropped once every reader has seen a later one.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A reader that reads nothing.
const IDLE: u64 = u64::MAX;

/// What was replaced and may still be read.
#[derive(Default)]
pub(crate) struct Garbage(Vec<Box<dyn Any + Send>>);

impl Garbage {
    pub(crate) fn keep<T: Send + 'static>(&mut self, replaced: T) {
        self.0.push(Box::new(replaced));
    }
}

/// The epochs of all readers.
#[derive(Default)]
pub(crate) struct Epochs {
    now: Arc<AtomicU64>,
    readers: Vec<Arc<AtomicU64>>,
    waiting: VecDeque<(u64, Garbage)>,
    /// Forms of tables, which take long to drop.
    forms: VecDeque<(u64, Box<dyn Any + Send>)>,
}

/// One reader's side.
pub(crate) struct Reader {
    now: Arc<AtomicU64>,
    seen: Arc<AtomicU64>,
}

impl Epochs {
    pub(crate) fn reader(&mut self) -> Reader {
        let seen = Arc::new(AtomicU64::new(IDLE));
        self.readers.push(Arc::clone(&seen));
        Reader {
            now: Arc::clone(&self.now),
            seen,
        }
    }

    /// Takes what was replaced up to now, and drops what nobody reads any more.
    pub(crate) fn retire(&mut self, garbage: &mut Garbage) {
        if !garbage.0.is_empty() {
            let epoch = self.now.fetch_add(1, Ordering::SeqCst);
            self.waiting.push_back((epoch, std::mem::take(garbage)));
        }
        let oldest = self.oldest();
        while self.waiting.front().is_some_and(|(epoch, _)| *epoch < oldest) {
            self.waiting.pop_front();
        }
    }

    /// Takes a form that was replaced; it is dropped by whoever asks for [`Self::take_unread_forms`].
    pub(crate) fn retire_form<T: Send + 'static>(&mut self, replaced: T) {
        let epoch = self.now.fetch_add(1, Ordering::SeqCst);
        self.forms.push_back((epoch, Box::new(replaced)));
    }

    /// Whether some have not been taken.
    pub(crate) fn has_forms(&self) -> bool {
        !self.forms.is_empty()
    }

    /// Forms that nobody reads any more.
    pub(crate) fn take_unread_forms(&mut self) -> Vec<Box<dyn Any + Send>> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let oldest = self.oldest();
        let mut unread = Vec::new();
        while let Some((_, form)) = self.forms.pop_front_if(|(epoch, _)| *epoch < oldest) {
            unread.push(form);
        }
        unread
    }

    /// The oldest epoch that a reader is in.
    fn oldest(&mut self) -> u64 {
        fence(Ordering::SeqCst);
        self.readers
            .retain(|reader| Arc::strong_count(reader) > 1 || reader.load(Ordering::SeqCst) != IDLE);
        let oldest = self.readers.iter().map(|reader| reader.load(Ordering::SeqCst)).min();
        oldest.unwrap_or(IDLE)
    }

    /// A moment from which on every reader that passes it sees all that was changed before.
    pub(crate) fn mark(&self) -> Moment {
        let epoch = self.now.fetch_add(1, Ordering::SeqCst);
        Moment {
            epoch,
            readers: self.readers.clone(),
        }
    }
}

/// A moment that all readers are to pass.
pub struct Moment {
    epoch: u64,
    readers: Vec<Arc<AtomicU64>>,
}

impl Moment {
    /// Whether every reader has begun a burst since, or reads nothing.
    pub fn has_passed(&self) -> bool {
        self.readers
            .iter()
            .all(|reader| reader.load(Ordering::SeqCst) > self.epoch)
    }
}

impl Reader {
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
