//! What compiled code and this crate's own code share: the context of a worker, rules as code reads them, verdicts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use brimful_frame::Headers;
use brimful_pipeline::{CounterCell, FlowEntry};

use crate::bitmap::MOST_OCTETS;
use crate::shape::MOST_NUMBERS;

/// Compiled code of a table, or what stands in for it.
pub(crate) type TableFunction = unsafe extern "C" fn(*mut Context) -> u64;

/// The worker's side of compiled code. The first part is read and written by it, the last one by helpers only.
#[repr(C)]
pub(crate) struct Context {
    /// The first byte of the frame.
    pub(crate) data: *mut u8,
    pub(crate) len: u64,
    pub(crate) in_port: u64,
    pub(crate) in_phy_port: u64,
    pub(crate) metadata: u64,
    pub(crate) tunnel_id: u64,
    /// 1 while the frame has an action set.
    pub(crate) has_action_set: u64,
    /// The cells of this worker, by counter.
    pub(crate) counters: *const CounterCell,
    /// Rules by counter.
    pub(crate) rules: *const AtomicPtr<CodeRule>,
    /// What `parse` found.
    pub(crate) headers: Headers,
    /// What a bitmap is asked for.
    pub(crate) rows: [u16; MOST_OCTETS],
    /// The worker's other half, while a frame is on its way.
    pub(crate) passenger: *mut (),
    /// Does what compiled code does not; gives the verdict. The second argument is the rule's value.
    pub(crate) interpret: unsafe extern "C" fn(*mut Context, u64) -> u64,
}

/// A rule as compiled code reads it.
#[repr(C)]
pub(crate) struct CodeRule {
    /// The number of its shape: compiled code compares it, as the value that led here may be older or newer.
    pub(crate) shape: u64,
    pub(crate) numbers: [u64; MOST_NUMBERS],
    pub(crate) rank: u64,
    pub(crate) value: u64,
    pub(crate) entry: Arc<FlowEntry>,
    /// It has been taken out of its table.
    pub(crate) is_gone: AtomicBool,
}

impl Context {
    /// The frame.
    ///
    /// # Safety
    /// A frame is on its way: `data` and `len` are those of its bytes, which have no other user meanwhile.
    pub(crate) unsafe fn frame(&self) -> &[u8] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(self.data, self.len as usize) }
    }

    /// The frame, to be changed.
    ///
    /// # Safety
    /// As for [`Self::frame`].
    pub(crate) unsafe fn frame_mut(&mut self) -> &mut [u8] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len as usize) }
    }

    /// The rule with a counter.
    ///
    /// # Safety
    /// `rules` is the array of the worker's tables, the counter is that of a rule, and the worker is in a burst: a rule is
    /// kept until no worker is in the one in which it was replaced.
    pub(crate) unsafe fn rule(&self, counter: u32) -> Option<&CodeRule> {
        // SAFETY: the caller's.
        unsafe { (*self.rules.add(counter as usize)).load(Ordering::Acquire).as_ref() }
    }
}

/// A rule in one word: the number of its shape, its counter, and the port if it ends with one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct RuleValue {
    pub(crate) shape: u8,
    pub(crate) counter: u32,
    pub(crate) port: u32,
}

/// Shapes have numbers below: the highest bit of a value is for [`crate::prefix`].
pub(crate) const MOST_SHAPES: usize = 126;
/// The number of what only the interpreter does.
pub(crate) const INTERPRETED: u8 = 127;

impl RuleValue {
    pub(crate) const SHAPE_SHIFT: u32 = 56;
    pub(crate) const COUNTER_SHIFT: u32 = 32;
    pub(crate) const COUNTER_MASK: u64 = 0xff_ffff;

    pub(crate) fn pack(self) -> u64 {
        u64::from(self.shape) << Self::SHAPE_SHIFT
            | u64::from(self.counter) << Self::COUNTER_SHIFT
            | u64::from(self.port)
    }

    pub(crate) fn counter_of(value: u64) -> u32 {
        (value >> Self::COUNTER_SHIFT & Self::COUNTER_MASK) as u32
    }
}

/// What became of a frame in a table, in one word: a kind above, a number below.
pub(crate) mod verdict {
    /// Nothing more is done with it.
    pub(crate) const DROP: u64 = 0;
    /// It leaves by the port below.
    pub(crate) const OUTPUT: u64 = 1 << 32;
    /// It goes on with the table below.
    pub(crate) const GOTO: u64 = 2 << 32;
    /// It met no rule.
    pub(crate) const MISS: u64 = 3 << 32;
    /// All that was to be done has been done.
    pub(crate) const DONE: u64 = 4 << 32;

    /// The kind.
    pub(crate) fn kind(verdict: u64) -> u64 {
        verdict & !0xffff_ffff
    }
}

/// A value that compiled code reads and the control thread changes.
pub(crate) type ValueCell = AtomicU64;
