//! All tables and their code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use brimful_pipeline::{Change, CounterBlock, CounterId, FlowEntry, MOST_COUNTERS, Pipeline};

use crate::compile::{Code, Compiler, Source};
use crate::context::{CodeRule, Functions, INTERPRETED, MOST_SHAPES, RuleValue};
use crate::explain;
use crate::journal::{NotedRule, Since, next_random};
use crate::reclaim::{Epochs, Garbage, Moment};
use crate::shape::{Shape, Shaped, shape_of};
use crate::version::{NewRule, Version};
use crate::worker::Worker;

/// Tables at most.
const MOST_TABLES: usize = 255;

/// Flow tables as machine code, kept in step with a [`Pipeline`] by its changes.
pub struct Engine {
    shared: Arc<Shared>,
    compiling: Option<JoinHandle<()>>,
}

pub(crate) struct Shared {
    pub(crate) functions: Arc<Functions>,
    state: Mutex<State>,
    pub(crate) changed: Condvar,
    /// Changes that wait for the lock.
    urgent: AtomicUsize,
}

pub(crate) type Locked<'s> = MutexGuard<'s, State>;

pub(crate) struct State {
    pub(crate) compiler: Arc<Compiler>,
    pub(crate) tables: Vec<Table>,
    pub(crate) owned: BTreeMap<u32, OwnedRule>,
    pub(crate) epochs: Epochs,
    garbage: Garbage,
    pub(crate) waiting: BTreeSet<usize>,
    pub(crate) is_compiling: bool,
    pub(crate) ends: bool,
    pub(crate) random: u64,
}

pub(crate) struct OwnedRule {
    pub(crate) entry: Arc<FlowEntry>,
    pub(crate) value: u64,
    code_rule: *mut CodeRule,
}

// SAFETY: the pointer is the owner's; whoever reads through it does so by `Functions`.
unsafe impl Send for OwnedRule {}

pub(crate) struct Table {
    lookups: u32,
    matches: u32,
    pub(crate) rules: BTreeSet<u32>,
    pub(crate) shapes: Vec<Shape>,
    current: Version,
    /// Laid out, and being compiled.
    pub(crate) next: Option<Version>,
    /// What has changed since a layout began.
    pub(crate) journal: Option<Vec<Since>>,
    code: Option<Code>,
}

impl Engine {
    /// For the tables of a pipeline, which may have entries already. `seed` makes the hashes of this engine its own.
    ///
    /// # Errors
    /// When code cannot be written for this processor.
    pub fn new(pipeline: &Pipeline, seed: u64) -> Result<Self, String> {
        let compiler = Arc::new(Compiler::new()?);
        let functions = Arc::new(Functions {
            tables: (0..MOST_TABLES).map(|_| AtomicUsize::new(0)).collect(),
            lookups: (0..MOST_TABLES).map(|_| AtomicU32::new(0)).collect(),
            rules: bytemuck::allocation::zeroed_slice_box(MOST_COUNTERS),
        });
        let mut state = State {
            compiler,
            tables: Vec::new(),
            owned: BTreeMap::new(),
            epochs: Epochs::default(),
            garbage: Garbage::default(),
            waiting: BTreeSet::new(),
            is_compiling: false,
            ends: false,
            random: seed | 1,
        };
        state.tables = (0..pipeline.limits().tables)
            .map(|number| Table::new(pipeline.table_counters(number)))
            .collect();
        for (number, table) in state.tables.iter().enumerate() {
            functions.lookups[number].store(table.lookups, Ordering::Release);
        }
        let shared = Arc::new(Shared {
            functions,
            state: Mutex::new(state),
            changed: Condvar::new(),
            urgent: AtomicUsize::new(0),
        });
        let own = Arc::clone(&shared);
        let compiling = std::thread::Builder::new()
            .name("compiler".into())
            .spawn(move || own.compile_for_ever());
        let engine = Self {
            shared,
            compiling: Some(compiling.map_err(|error| format!("no thread for the compiler: {error}"))?),
        };
        let entries = (0..pipeline.limits().tables).flat_map(|table| pipeline.entries(table));
        let changes: Vec<Change> = entries.map(|entry| Change::Installed(Arc::clone(entry))).collect();
        engine.apply(&changes);
        Ok(engine)
    }

    /// One more worker, which counts in a block of its own.
    pub fn worker(&self, counters: Arc<CounterBlock>) -> Worker {
        let reader = self.shared.lock().epochs.reader();
        Worker::new(reader, Arc::clone(&self.shared.functions), counters)
    }

    /// Takes over changes. Frames that come after it returns meet the new rules, by code or until there is some by
    /// other means; bursts that are on their way may still meet the old ones: see [`Self::mark`].
    pub fn apply(&self, changes: &[Change]) {
        let mut state = self.shared.lock_for_changes();
        for change in changes {
            state.change(&self.shared.functions, change);
        }
        state.retire();
        if !state.waiting.is_empty() {
            self.shared.changed.notify_all();
        }
    }

    /// A moment that every worker passes with its next burst: from then on it runs all that has been applied.
    pub fn mark(&self) -> Moment {
        self.shared.lock_for_changes().epochs.mark()
    }

    /// Waits until code has been compiled for all that has been applied.
    pub fn settle(&self) {
        let mut state = self.shared.lock();
        while state.is_compiling || !state.waiting.is_empty() {
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Which form a table has, and why, for people.
    pub fn explain(&self, table: u8) -> String {
        let state = self.shared.lock();
        let table = &state.tables[usize::from(table)];
        let byte_len = table.code.as_ref().map_or(0, |code| code.byte_len);
        explain::describe(&table.current, table.rules.len(), byte_len)
    }

    /// The code of a table, in the assembler's words.
    ///
    /// # Errors
    /// When there is no memory for the code.
    pub fn disassemble(&self, table: u8) -> Result<String, String> {
        let state = self.shared.lock();
        let table = &state.tables[usize::from(table)];
        let source = table.source(&table.current);
        state.compiler.disassemble(&source)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.lock().ends = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.compiling.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> Locked<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, after the changes that wait for it.
    pub(crate) fn lock_after_changes(&self) -> Locked<'_> {
        while self.urgent.load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
        self.lock()
    }

    /// The same for changes.
    fn lock_for_changes(&self) -> Locked<'_> {
        self.urgent.fetch_add(1, Ordering::AcqRel);
        let state = self.lock();
        self.urgent.fetch_sub(1, Ordering::AcqRel);
        state
    }
}

impl State {
    /// Code that knows no rules, so that the first ones of a table are found at once.
    fn begin(&mut self, functions: &Functions, index: usize) {
        let table = &mut self.tables[index];
        if table.code.is_none()
            && let Ok(code) = self.compiler.compile(&table.source(&table.current))
        {
            functions.tables[index].store(code.function as usize, Ordering::Release);
            table.code = Some(code);
        }
    }

    fn change(&mut self, functions: &Functions, change: &Change) {
        match change {
            Change::Installed(entry) | Change::Replaced { new: entry, .. } => self.install(functions, entry),
            Change::Removed { entry, .. } => self.remove(entry),
            Change::Shared(_) => {}
        }
    }

    fn install(&mut self, functions: &Functions, entry: &Arc<FlowEntry>) {
        let index = usize::from(entry.table);
        let counter = entry.counter.0;
        self.begin(functions, index);
        let shaped = shape_of(&entry.instructions);
        let (value, is_new_shape) = self.tables[index].value_of(counter, shaped.as_ref());
        let code_rule = Box::into_raw(Box::new(CodeRule {
            shape: value >> RuleValue::SHAPE_SHIFT,
            numbers: shaped.map_or([0; _], |shaped| shaped.numbers),
            rank: entry.rank(),
            entry: Arc::clone(entry),
        }));
        // Before the value: whoever sees the value finds the rule.
        functions.rules[counter as usize].store(code_rule, Ordering::Release);
        let owned = OwnedRule {
            entry: Arc::clone(entry),
            value,
            code_rule,
        };
        let old = self.owned.insert(counter, owned);
        let is_there = self.tables[index].rules.contains(&counter);
        let Self {
            tables,
            garbage,
            random,
            ..
        } = self;
        let table = &mut tables[index];
        let rule = NewRule {
            counter,
            rank: entry.rank(),
            demands: &entry.demands,
            value,
        };
        for version in std::iter::once(&mut table.current).chain(&mut table.next) {
            if is_there {
                version.replace(counter, value, garbage);
            } else {
                version.insert(&rule, &mut || next_random(random), garbage);
            }
        }
        if let Some(journal) = &mut table.journal {
            journal.push(Since::Installed(NotedRule {
                counter,
                value,
                entry: Arc::clone(entry),
            }));
        }
        table.rules.insert(counter);
        if is_new_shape || table.is_behind() {
            self.waiting.insert(index);
        }
        if let Some(old) = old {
            self.keep(&old);
        }
    }

    fn remove(&mut self, entry: &FlowEntry) {
        let (index, counter) = (usize::from(entry.table), entry.counter.0);
        let table = &mut self.tables[index];
        if !table.rules.remove(&counter) {
            return;
        }
        for version in std::iter::once(&mut table.current).chain(&mut table.next) {
            version.remove(counter, &mut self.garbage);
        }
        if let Some(journal) = &mut table.journal {
            journal.push(Since::Removed(counter));
        }
        if let Some(old) = self.owned.remove(&counter) {
            self.keep(&old);
        }
    }

    fn keep(&mut self, old: &OwnedRule) {
        // SAFETY: it came from `Box::into_raw` and has just been replaced by its owner.
        self.garbage.keep(unsafe { Box::from_raw(old.code_rule) });
    }

    pub(crate) fn publish(&mut self, functions: &Functions, index: usize, code: Code) {
        let table = &mut self.tables[index];
        let Some(next) = table.next.take() else {
            return;
        };
        functions.tables[index].store(code.function as usize, Ordering::Release);
        let old = (std::mem::replace(&mut table.current, next), table.code.replace(code));
        if table.is_behind() {
            self.waiting.insert(index);
        }
        self.epochs.retire_form(old);
        self.retire();
    }

    fn retire(&mut self) {
        self.epochs.retire(&mut self.garbage);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        for (_, rule) in std::mem::take(&mut self.owned) {
            self.keep(&rule);
        }
    }
}

impl Table {
    fn new((lookups, matches): (CounterId, CounterId)) -> Self {
        Self {
            lookups: lookups.0,
            matches: matches.0,
            rules: BTreeSet::new(),
            shapes: Vec::new(),
            current: Version::empty(),
            next: None,
            journal: None,
            code: None,
        }
    }

    /// Whether some rules are found by other means than code.
    fn is_behind(&self) -> bool {
        self.current.has_overlay() || self.current.shapes < self.shapes.len()
    }

    /// A rule in one word, and whether its shape is the first of its kind.
    fn value_of(&mut self, counter: u32, shaped: Option<&Shaped>) -> (u64, bool) {
        let known = shaped.and_then(|shaped| self.shapes.iter().position(|shape| *shape == shaped.shape));
        let (number, is_new) = match (known, shaped) {
            (Some(index), _) => (index as u8 + 1, false),
            (None, Some(shaped)) if self.shapes.len() < MOST_SHAPES => {
                self.shapes.push(shaped.shape.clone());
                (self.shapes.len() as u8, true)
            }
            _ => (INTERPRETED, false),
        };
        let value = RuleValue {
            shape: number,
            counter,
            port: shaped.map_or(0, |shaped| shaped.port),
        };
        (value.pack(), is_new)
    }

    pub(crate) fn source(&self, version: &Version) -> Source {
        Source {
            groups: Arc::clone(&version.groups),
            shapes: self.shapes[..version.shapes].to_vec(),
            overlay: Arc::clone(&version.cell),
            lookups: self.lookups,
            matches: self.matches,
        }
    }
}
