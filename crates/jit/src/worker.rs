use std::sync::Arc;
use std::sync::atomic::Ordering;

use brimful_frame::Headers;
use brimful_pipeline::{CounterBlock, CounterId, Environment, Next, Outputs, Passage, finish, run_instructions};

use crate::bitmap::MOST_OCTETS;
use crate::compile::SMALLEST_FRAME;
use crate::context::{Context, RuleValue, TableFunction, verdict};
use crate::functions::{Functions, Uncompiled};
use crate::reclaim::Reader;
use crate::tuple::{EMPTY, TOMBSTONE};

/// One data-plane thread's way through the compiled tables.
pub struct Worker {
    reader: Reader,
    functions: Arc<Functions>,
    counters: Arc<CounterBlock>,
    context: Box<Context>,
    /// Whether a burst has begun: without one, nothing that is read would be kept.
    is_in_burst: bool,
}

// SAFETY: the pointers in the context are set anew for each frame, by the thread that has the worker.
unsafe impl Send for Worker {}

/// What the interpreter needs, while a frame is on its way.
struct Passenger<'p, 'b> {
    passage: &'p mut Passage<'b>,
    environment: &'p dyn Environment,
    outputs: &'p mut dyn Outputs,
}

impl Worker {
    pub(crate) fn new(reader: Reader, functions: Arc<Functions>, counters: Arc<CounterBlock>) -> Self {
        let context = Context {
            data: std::ptr::null_mut(),
            len: 0,
            in_port: 0,
            in_phy_port: 0,
            metadata: 0,
            tunnel_id: 0,
            has_action_set: 0,
            counters: counters.as_ptr(),
            rules: functions.rules.as_ptr(),
            headers: Headers::default(),
            rows: [0; MOST_OCTETS],
            passenger: std::ptr::null_mut(),
            interpret,
        };
        Self {
            reader,
            functions,
            counters,
            context: Box::new(context),
            is_in_burst: false,
        }
    }

    /// Begins a burst: what has been applied before holds for its frames.
    #[inline]
    pub fn begin(&mut self) {
        self.reader.enter();
        self.is_in_burst = true;
    }

    /// Says that there are no frames for now, so that no other thread waits for this one.
    pub fn rest(&mut self) {
        self.is_in_burst = false;
        self.reader.leave();
    }

    /// Sends a frame through the tables, within a burst: one begins where none has. Frames shorter than an Ethernet
    /// header are dropped.
    #[inline]
    pub fn process(&mut self, passage: &mut Passage<'_>, environment: &dyn Environment, outputs: &mut dyn Outputs) {
        if (passage.packet.len() as u64) < SMALLEST_FRAME {
            return;
        }
        if !self.is_in_burst {
            self.begin();
        }
        let context = &mut *self.context;
        context.data = passage.packet.as_mut_ptr();
        context.len = passage.packet.len() as u64;
        context.in_port = passage.in_port.into();
        context.in_phy_port = passage.in_phy_port.into();
        context.metadata = passage.metadata;
        context.tunnel_id = passage.tunnel_id;
        context.has_action_set = u64::from(!passage.action_set.is_empty());
        let mut passenger = Passenger {
            passage,
            environment,
            outputs,
        };
        context.passenger = (&raw mut passenger).cast();
        let mut table = 0_usize;
        let verdict = loop {
            let function = self.functions.tables[table].load(Ordering::Acquire);
            let verdict = if function.is_null() {
                // SAFETY: the context is whole, its frame is on its way, and a burst has begun.
                unsafe { run_uncompiled(&self.functions.uncompiled[table], context, &self.counters) }
            } else {
                // SAFETY: the address is that of a table's function, whose code is kept until no worker is in the burst
                // in which it was replaced, or until the last worker is gone; the context is whole and lives for the call.
                unsafe { std::mem::transmute::<*mut (), TableFunction>(function)(context) }
            };
            if verdict::kind(verdict) != verdict::GOTO {
                break verdict;
            }
            table = verdict as u8 as usize;
        };
        let has_action_set = context.has_action_set == 1;
        let Passenger {
            passage,
            environment,
            outputs,
        } = passenger;
        passage.metadata = context.metadata;
        passage.tunnel_id = context.tunnel_id;
        match verdict::kind(verdict) {
            verdict::MISS => return,
            verdict::OUTPUT => outputs.output(&passage.packet, verdict as u32, passage.queue),
            _ => {}
        }
        if has_action_set {
            finish(passage, environment, outputs);
        }
    }
}

/// What the code of a table that has none yet would do.
///
/// # Safety
/// As for compiled code: the context is that of a worker with a frame on its way, within a burst.
#[cold]
unsafe fn run_uncompiled(table: &Uncompiled, context: &mut Context, counters: &CounterBlock) -> u64 {
    counters.count(table.lookups, context.len);
    let overlay = table.overlay.load(Ordering::Acquire);
    // SAFETY: an overlay that was replaced is kept until no worker is in the burst that read it.
    let Some(overlay) = (unsafe { overlay.as_ref() }) else {
        return verdict::MISS;
    };
    // SAFETY: the caller's.
    let value = unsafe { overlay.better(context, EMPTY) };
    if value <= TOMBSTONE {
        return verdict::MISS;
    }
    counters.count(table.matches, context.len);
    counters.count(CounterId(RuleValue::counter_of(value)), context.len);
    // SAFETY: the caller's: `process` has set the passenger.
    unsafe { interpret(context, value) }
}

/// Does the instructions of the rule with a value as the interpreter does. A panic ends the process here: there is no way
/// through the frames of compiled code.
///
/// # Safety
/// As for compiled code, which calls it.
unsafe extern "C" fn interpret(context: *mut Context, value: u64) -> u64 {
    // SAFETY: compiled code passes on the context that `process` called it with, which set the passenger.
    let context = unsafe { &mut *context };
    // SAFETY: as above; no other code has the passenger while this code runs.
    let passenger = unsafe { &mut *context.passenger.cast::<Passenger<'_, '_>>() };
    // SAFETY: as above; the value is that of a rule.
    let Some(rule) = (unsafe { context.rule(RuleValue::counter_of(value)) }) else {
        return verdict::MISS;
    };
    let passage = &mut *passenger.passage;
    passage.metadata = context.metadata;
    passage.tunnel_id = context.tunnel_id;
    let next = run_instructions(&rule.entry, passage, passenger.environment, passenger.outputs);
    context.metadata = passage.metadata;
    context.tunnel_id = passage.tunnel_id;
    context.has_action_set = u64::from(!passage.action_set.is_empty());
    context.data = passage.packet.as_mut_ptr();
    context.len = passage.packet.len() as u64;
    match next {
        Next::Table(table) => verdict::GOTO | u64::from(table),
        Next::Done => verdict::DONE,
        Next::Dropped => verdict::MISS,
    }
}
