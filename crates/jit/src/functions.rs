//! What workers read without locks: the code of every table, and every rule.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use brimful_pipeline::CounterId;

use crate::context::CodeRule;
use crate::overlay::OverlayCell;

/// One for all workers.
pub(crate) struct Functions {
    /// Addresses of functions; 0 where a table has not been compiled.
    pub(crate) tables: Vec<AtomicUsize>,
    /// What a table is until then.
    pub(crate) uncompiled: Vec<Uncompiled>,
    /// By counter; null where none ever was.
    pub(crate) rules: Box<[AtomicPtr<CodeRule>]>,
}

/// A table without code: all of its rules are in the overlay.
pub(crate) struct Uncompiled {
    pub(crate) lookups: CounterId,
    pub(crate) matches: CounterId,
    pub(crate) overlay: Arc<OverlayCell>,
}

/// A rule that was taken out or replaced, until nobody reads it any more.
pub(crate) struct OldRule {
    functions: Arc<Functions>,
    rule: *mut CodeRule,
}

// SAFETY: whoever drops it is the only one left that knows of the rule.
unsafe impl Send for OldRule {}

impl OldRule {
    /// Of a rule that came from `Box::into_raw`, and that nobody else takes.
    pub(crate) fn new(functions: &Arc<Functions>, rule: *mut CodeRule) -> Self {
        let functions = Arc::clone(functions);
        Self { functions, rule }
    }
}

impl Drop for OldRule {
    fn drop(&mut self) {
        // SAFETY: see `new`.
        let rule = unsafe { Box::from_raw(self.rule) };
        // Unless another one has its counter by now.
        let place = &self.functions.rules[rule.entry.counter.0 as usize];
        let _ = place.compare_exchange(self.rule, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }
}
