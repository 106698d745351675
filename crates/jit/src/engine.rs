//! All tables and their code, in the hands of the thread that changes them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brimful_pipeline::{Change, CounterBlock, FlowEntry, MOST_COUNTERS, Pipeline};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::background::{Background, Offer, Task};
use crate::compile::{Compiler, Source};
use crate::context::{CodeRule, RuleValue};
use crate::explain;
use crate::functions::{Functions, OldRule, Remains};
use crate::hints::prefetch;
use crate::journal::{NotedRule, Since, make_up_for};
use crate::placing::NewRule;
use crate::reclaim::{Epochs, Garbage, Moment};
use crate::shape::shape_of;
use crate::table::Table;
use crate::worker::Worker;

/// How long changes gather before they are compiled, by the time that the last compilation took.
const PAUSE_FACTOR: u32 = 4;
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// Changes that a new form may lack when it is taken over: they are made up for at once.
const MOST_MISSED: usize = 64;
/// Things without readers before they are handed over to be dropped.
const MOST_UNREAD: usize = 256;
/// Changes between the one that is made and the one that memory is fetched for. Where that is, its entry says, which
/// is fetched as many changes before.
const AHEAD: usize = 8;
/// How often [`Engine::settle`] looks for code.
const PATIENCE: Duration = Duration::from_micros(100);

/// Flow tables as machine code, kept in step with a [`Pipeline`] by its changes. One thread has it; [`Worker`]s run
/// frames in others.
pub struct Engine {
    background: Background,
    functions: Arc<Functions>,
    compiler: Arc<Compiler>,
    tables: Vec<Table>,
    epochs: Epochs,
    garbage: Garbage,
    unread: Garbage,
    /// Tables that have rules that are found by other means than code.
    waiting: BTreeSet<u8>,
    layout: Option<Layout>,
    /// When the next layout may begin.
    next_layout: Instant,
    /// No rule has ever had a counter from here on.
    end: u32,
    random: SplitMix64,
    compilations: (u64, Duration),
}

/// A table that is being laid out.
struct Layout {
    table: u8,
    /// Changes that the background has been notified of.
    told: u64,
    /// The last of them.
    last: VecDeque<Since>,
}

impl Engine {
    /// For the tables of a pipeline, which may have entries already. `seed` makes the hashes of this engine its own.
    ///
    /// # Errors
    /// When code cannot be written for this processor.
    pub fn new(pipeline: &Pipeline, seed: u64) -> Result<Self, String> {
        let compiler = Arc::new(Compiler::new()?);
        let numbers = 0..pipeline.limits().tables;
        let tables: Vec<Table> = numbers
            .clone()
            .map(|number| Table::new(pipeline.table_counters(number)))
            .collect();
        let functions = Arc::new(Functions::new(
            tables.iter().map(Table::uncompiled).collect(),
            bytemuck::allocation::zeroed_slice_box(MOST_COUNTERS),
        ));
        let mut epochs = Epochs::default();
        let mut random = SplitMix64::seed_from_u64(seed | 1);
        let (reader, factors) = (epochs.observer(), SplitMix64::seed_from_u64(random.next_u64()));
        let background = Background::start(Arc::clone(&compiler), Arc::clone(&functions), reader, factors)?;
        let mut engine = Self {
            background,
            functions,
            compiler,
            tables,
            epochs,
            garbage: Garbage::default(),
            unread: Garbage::default(),
            waiting: BTreeSet::new(),
            layout: None,
            next_layout: Instant::now(),
            end: 0,
            random,
            compilations: (0, Duration::ZERO),
        };
        let entries = numbers.flat_map(|table| pipeline.entries(table));
        let changes: Vec<Change> = entries.map(|entry| Change::Installed(Arc::clone(entry))).collect();
        engine.apply(&changes);
        Ok(engine)
    }

    /// One more worker, which counts in a block of its own.
    pub fn worker(&mut self, counters: Arc<CounterBlock>) -> Worker {
        Worker::new(self.epochs.worker(), Arc::clone(&self.functions), counters)
    }

    /// Takes over changes. Frames that come after it returns meet the new rules, by code or until there is some by
    /// other means; bursts that are on their way may still meet the old ones: see [`Self::mark`].
    pub fn apply(&mut self, changes: &[Change]) {
        self.take_over();
        for (index, change) in changes.iter().enumerate() {
            if let Some(Change::Installed(later)) = changes.get(index + 2 * AHEAD) {
                prefetch(&**later);
            }
            if let Some(Change::Installed(later)) = changes.get(index + AHEAD) {
                let version = &self.tables[usize::from(later.table)].current;
                version.prefetch(later.rank(), &later.demands);
            }
            match change {
                Change::Installed(entry) | Change::Replaced { new: entry, .. } => self.install(entry),
                Change::Removed { entry, .. } => self.remove(entry),
                Change::Shared(_) => {}
            }
        }
        self.epochs.retire(&mut self.garbage);
        self.tidy();
        self.lay_out_next();
    }

    /// Takes over code that has been compiled meanwhile, and has more compiled. To be called now and then; changes do
    /// the same.
    pub fn tend(&mut self) {
        self.take_over();
        self.tidy();
        self.lay_out_next();
    }

    /// A moment that every worker passes with its next burst: from then on it runs all that has been applied.
    pub fn mark(&self) -> Moment {
        self.epochs.mark()
    }

    /// How often tables were compiled, and how long that took.
    pub fn compilations(&self) -> (u64, Duration) {
        self.compilations
    }

    /// Whether the thread that compiles has ended, so that tables would never get code again.
    pub fn has_failed(&self) -> bool {
        self.background.has_ended()
    }

    /// Waits until code has been compiled for all that has been applied.
    pub fn settle(&mut self) {
        loop {
            self.next_layout = Instant::now();
            self.tend();
            if self.layout.is_none() || self.has_failed() {
                return;
            }
            std::thread::sleep(PATIENCE);
        }
    }

    /// Which form a table has, and why, for people.
    pub fn explain(&self, table: u8) -> String {
        let table = &self.tables[usize::from(table)];
        let byte_len = table.code.as_ref().map_or(0, |code| code.byte_len);
        explain::describe(&table.current, table.rules, byte_len)
    }

    /// The code of a table, in the assembler's words.
    ///
    /// # Errors
    /// When there is no memory for the code.
    pub fn disassemble(&self, table: u8) -> Result<String, String> {
        let table = &self.tables[usize::from(table)];
        self.compiler.disassemble(&Source {
            groups: Arc::clone(&table.current.groups),
            shapes: table.shapes[..table.current.shapes].to_vec(),
            overlay: Arc::clone(&table.current.cell),
            lookups: table.lookups.0,
            matches: table.matches.0,
        })
    }

    fn install(&mut self, entry: &Arc<FlowEntry>) {
        let index = usize::from(entry.table);
        let counter = entry.counter.0;
        let table = &mut self.tables[index];
        let shaped = shape_of(&entry.instructions);
        let value = table.value_of(counter, shaped.as_ref());
        let code_rule = Box::into_raw(Box::new(CodeRule {
            shape: value >> RuleValue::SHAPE_SHIFT,
            numbers: shaped.map_or([0; _], |shaped| shaped.numbers),
            rank: entry.rank(),
            value,
            entry: Arc::clone(entry),
            is_gone: AtomicBool::new(false),
        }));
        // Before the value: a reader that sees the value finds the rule. Others take a rule out of its place only once
        // it is not in its table any more: what is read here is either in it or not used.
        let place = &self.functions.rules[counter as usize];
        let old = place.load(Ordering::Relaxed);
        place.store(code_rule, Ordering::Release);
        self.end = self.end.max(counter + 1);
        if table.current.has(counter) {
            table.current.replace(counter, value, &mut self.garbage);
            // SAFETY: it was the rule of an entry of this table, which only this thread takes, and it has just been replaced.
            self.garbage.keep(unsafe { OldRule::new(&self.functions.rules, old) });
        } else {
            let rule = NewRule {
                counter,
                rank: entry.rank(),
                demands: &entry.demands,
                value,
            };
            table.current.insert(&rule, &mut self.random, &mut self.garbage);
            table.rules += 1;
        }
        if table.is_behind() {
            self.waiting.insert(entry.table);
        }
        self.tell(entry.table, || {
            Since::Installed(NotedRule {
                counter,
                value,
                entry: Arc::clone(entry),
            })
        });
    }

    fn remove(&mut self, entry: &FlowEntry) {
        let counter = entry.counter.0;
        let table = &mut self.tables[usize::from(entry.table)];
        if !table.current.has(counter) {
            return;
        }
        table.current.remove(counter, &mut self.garbage);
        table.rules -= 1;
        let rule = self.functions.rules[counter as usize].load(Ordering::Acquire);
        // SAFETY: it is the rule of an entry that has not been taken out, which only this thread drops.
        unsafe { &*rule }.is_gone.store(true, Ordering::Release);
        // SAFETY: as above; its entry has just been taken out.
        self.garbage.keep(unsafe { OldRule::new(&self.functions.rules, rule) });
        self.tell(entry.table, || Since::Removed(counter));
    }

    /// Notifies the background of a change of the table that it lays out.
    fn tell(&mut self, table: u8, since: impl FnOnce() -> Since) {
        if let Some(layout) = self.layout.as_mut().filter(|layout| layout.table == table) {
            let since = since();
            if layout.last.len() == MOST_MISSED {
                layout.last.pop_front();
            }
            layout.last.push_back(since.clone());
            layout.told += 1;
            self.background.tell(since);
        }
    }

    /// Takes over a form that has been compiled, unless it lacks too much by now: the background makes up for that.
    fn take_over(&mut self) {
        let Some(told) = self.layout.as_ref().map(|layout| layout.told) else {
            return;
        };
        let is_wanted = |offer: &Offer| told - offer.seen <= MOST_MISSED as u64;
        let Some(mut offer) = self.background.take_offer(is_wanted) else {
            return;
        };
        let Some(Layout {
            table: number, last, ..
        }) = self.layout.take()
        else {
            return;
        };
        self.compilations.0 += 1;
        self.compilations.1 += offer.took;
        self.next_layout = Instant::now() + (offer.took * PAUSE_FACTOR).min(LONGEST_PAUSE);
        let index = usize::from(number);
        // Where there is no memory for code, the table stays as it is.
        if let Ok(code) = offer.code {
            let missed = (told - offer.seen) as usize;
            for since in last.iter().skip(last.len() - missed) {
                make_up_for(&mut offer.version, since, &mut self.random, &mut self.garbage);
            }
            let function = code.function as *mut ();
            self.functions.tables[index].store(function, Ordering::Release);
            let table = &mut self.tables[index];
            let version = std::mem::replace(&mut table.current, offer.version);
            self.garbage.keep_large((version, table.code.replace(code)));
            if table.is_behind() {
                self.waiting.insert(number);
            }
            self.epochs.retire(&mut self.garbage);
        }
    }

    /// Hands over what has no reader any more. It may be large: to drop it takes its time.
    fn tidy(&mut self) {
        self.epochs.take_unread(&mut self.unread);
        if self.unread.is_large() || self.unread.len() > MOST_UNREAD {
            self.background.drop_unread(std::mem::take(&mut self.unread));
        }
    }

    fn lay_out_next(&mut self) {
        if self.waiting.is_empty() || self.layout.is_some() || Instant::now() < self.next_layout {
            return;
        }
        let Some(number) = self.waiting.pop_first() else {
            return;
        };
        let table = &self.tables[usize::from(number)];
        self.background.lay_out(Task {
            table: number,
            end: self.end,
            shapes: table.shapes.clone(),
            lookups: table.lookups,
            matches: table.matches,
        });
        self.layout = Some(Layout {
            table: number,
            told: 0,
            last: VecDeque::with_capacity(MOST_MISSED),
        });
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.background.end();
        self.epochs.retire(&mut self.garbage);
        // Old rules leave their places while the places are there.
        drop(std::mem::take(&mut self.unread));
        let mut things = self.epochs.end();
        for table in self.tables.drain(..) {
            things.push(Box::new((table.current, table.code)));
        }
        // Workers may live longer than this: the last of them drops it.
        self.functions.keep(Remains { things, end: self.end });
    }
}
