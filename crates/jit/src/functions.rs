//! What workers read without locks: the code of every table, and every rule.

use std::any::Any;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use brimful_pipeline::CounterId;

use crate::context::CodeRule;
use crate::overlay::OverlayCell;

/// Rules by counter; null where none ever was.
pub(crate) type Rules = Box<[AtomicPtr<CodeRule>]>;

/// One for all workers.
pub(crate) struct Functions {
    /// Addresses of functions; null where a table has not been compiled.
    pub(crate) tables: Vec<AtomicPtr<()>>,
    /// What a table is until then.
    pub(crate) uncompiled: Vec<Uncompiled>,
    /// Every rule.
    pub(crate) rules: Arc<Rules>,
    remains: Mutex<Option<Remains>>,
}

/// A table without code: all of its rules are in the overlay.
pub(crate) struct Uncompiled {
    pub(crate) lookups: CounterId,
    pub(crate) matches: CounterId,
    pub(crate) overlay: Arc<OverlayCell>,
}

/// What an engine leaves that has ended: workers may still be in its code.
pub(crate) struct Remains {
    /// Tables with their code, and what was replaced.
    pub(crate) things: Vec<Box<dyn Any + Send>>,
    /// No rule has ever had a counter from here on.
    pub(crate) end: u32,
}

/// A rule that was taken out or replaced, until it has no reader any more.
pub(crate) struct OldRule {
    rules: Arc<Rules>,
    rule: *mut CodeRule,
}

// SAFETY: the one that drops it is the only one left that knows of the rule.
unsafe impl Send for OldRule {}

impl Functions {
    /// Of tables that have neither code nor rules yet.
    pub(crate) fn new(uncompiled: Vec<Uncompiled>, rules: Rules) -> Self {
        Self {
            tables: uncompiled.iter().map(|_| AtomicPtr::default()).collect(),
            uncompiled,
            rules: Arc::new(rules),
            remains: Mutex::new(None),
        }
    }

    /// Keeps what an engine leaves until the last worker is gone, too.
    pub(crate) fn keep(&self, remains: Remains) {
        *self.remains.lock().unwrap_or_else(PoisonError::into_inner) = Some(remains);
    }
}

impl Drop for Functions {
    fn drop(&mut self) {
        let remains = self.remains.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(Remains { things, end }) = remains.take() else {
            return;
        };
        // Old rules leave their places with this; those that are left belong to entries.
        drop(things);
        for place in &self.rules[..end as usize] {
            let rule = place.swap(ptr::null_mut(), Ordering::AcqRel);
            if !rule.is_null() {
                // SAFETY: it came from `Box::into_raw`. Neither the engine nor a worker is left, and no old rule that
                // is still to be dropped is in its place.
                drop(unsafe { Box::from_raw(rule) });
            }
        }
    }
}

impl OldRule {
    /// Of a rule that is to be dropped.
    ///
    /// # Safety
    /// The rule came from `Box::into_raw`, and has no other taker. What is made of it is dropped once no reader is left
    /// that entered before.
    pub(crate) unsafe fn new(rules: &Arc<Rules>, rule: *mut CodeRule) -> Self {
        let rules = Arc::clone(rules);
        Self { rules, rule }
    }
}

impl Drop for OldRule {
    fn drop(&mut self) {
        // SAFETY: see `new`.
        let rule = unsafe { Box::from_raw(self.rule) };
        // Unless another one has its counter by now.
        let place = &self.rules[rule.entry.counter.0 as usize];
        let _ = place.compare_exchange(self.rule, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }
}
