//! The thread that lays tables out anew, compiles them, and drops what has no reader any more.
//!
//! It shares no lock with the thread that changes tables, which therefore never waits for it. That thread says which
//! table is to be laid out and, from then on, what becomes of its rules. This one reads the rules as data-plane threads
//! do, lays them out, compiles them, makes up for what has changed meanwhile, and offers what it has. The offer is taken
//! with the next change, or when the thread that changes tables looks for it.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brimful_pipeline::CounterId;
use rand_xoshiro::SplitMix64;

use crate::compile::{Code, Compiler, Source};
use crate::functions::Functions;
use crate::journal::{NotedRule, Since, make_up_for};
use crate::placing::NewRule;
use crate::reclaim::{Garbage, Reader};
use crate::shape::Shape;
use crate::version::Version;

/// Rules that are read while what they were replaced by is kept.
const READ_AT_ONCE: u32 = 1024;

/// What is to be laid out.
pub(crate) struct Task {
    pub(crate) table: u8,
    /// No rule has a counter from here on, but those that come later.
    pub(crate) end: u32,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) lookups: CounterId,
    pub(crate) matches: CounterId,
}

/// A new form of the table of the task, with its code if there could be any.
pub(crate) struct Offer {
    pub(crate) version: Version,
    pub(crate) code: Result<Code, String>,
    /// Changes since the task was given that the form has had.
    pub(crate) seen: u64,
    /// How long it took.
    pub(crate) took: Duration,
}

enum Order {
    LayOut(Task),
    Since(Since),
    Drop(Garbage),
}

/// The side of the thread that changes tables.
pub(crate) struct Background {
    orders: Option<Sender<Order>>,
    offer: Arc<Mutex<Option<Offer>>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(
        compiler: Arc<Compiler>,
        functions: Arc<Functions>,
        reader: Reader,
        random: SplitMix64,
    ) -> Result<Self, String> {
        let (orders, ordered) = channel();
        let offer = Arc::new(Mutex::new(None));
        let builder = Builder {
            compiler,
            functions,
            reader,
            random,
            orders: ordered,
            offer: Arc::clone(&offer),
        };
        let thread = std::thread::Builder::new()
            .name("compiler".into())
            .spawn(move || builder.work())
            .map_err(|error| format!("no thread for the compiler: {error}"))?;
        Ok(Self {
            orders: Some(orders),
            offer,
            thread: Some(thread),
        })
    }

    /// Has a table laid out. There is one at a time: the next one begins when the last offer has been taken.
    pub(crate) fn lay_out(&self, task: Task) {
        self.order(Order::LayOut(task));
    }

    /// Reports a change of the table that is being laid out.
    pub(crate) fn tell(&self, since: Since) {
        self.order(Order::Since(since));
    }

    /// Drops what has no reader any more.
    pub(crate) fn drop_unread(&self, garbage: Garbage) {
        self.order(Order::Drop(garbage));
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A thread that has panicked has said so; tables stay as they are.
            let _ = orders.send(order);
        }
    }

    /// Takes the offer, if there is one that `is_wanted`. Never waits.
    pub(crate) fn take_offer(&self, is_wanted: impl FnOnce(&Offer) -> bool) -> Option<Offer> {
        let mut offer = self.offer.try_lock().ok()?;
        if offer.as_ref().is_some_and(is_wanted) {
            offer.take()
        } else {
            None
        }
    }

    /// Whether the thread is gone: it has panicked.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until the thread has done all that it was asked for.
    pub(crate) fn end(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to report.
            let _ = thread.join();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}

/// The side of the thread itself.
struct Builder {
    compiler: Arc<Compiler>,
    functions: Arc<Functions>,
    reader: Reader,
    random: SplitMix64,
    orders: Receiver<Order>,
    offer: Arc<Mutex<Option<Offer>>>,
}

impl Builder {
    fn work(mut self) {
        while let Ok(order) = self.orders.recv() {
            match order {
                Order::LayOut(task) => {
                    let offer = self.lay_out(&task);
                    self.put(Some(offer));
                }
                Order::Since(since) => self.catch_up(&since),
                Order::Drop(garbage) => drop(garbage),
            }
        }
    }

    fn put(&self, offer: Option<Offer>) -> Option<Offer> {
        let mut place = self.offer.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, offer)
    }

    /// Lays out and compiles the form that suits a table's rules now.
    fn lay_out(&mut self, task: &Task) -> Offer {
        let begun = Instant::now();
        let mut rules = self.read(task);
        let mut seen = 0;
        while let Some(since) = self.next_since() {
            match since {
                Since::Installed(rule) => rules.insert(rule.counter, rule),
                Since::Removed(counter) => rules.remove(&counter),
            };
            seen += 1;
        }
        let new: Vec<NewRule<'_>> = rules.values().map(NotedRule::as_new).collect();
        // It has no reader yet: what is replaced in it can go.
        let mut unread = Garbage::default();
        let mut version = Version::planned(&new, &mut self.random, &mut unread);
        version.shapes = task.shapes.len();
        let code = self.compiler.compile(&Source {
            groups: Arc::clone(&version.groups),
            shapes: task.shapes.clone(),
            overlay: Arc::clone(&version.cell),
            lookups: task.lookups.0,
            matches: task.matches.0,
        });
        let mut offer = Offer {
            version,
            code,
            seen,
            took: Duration::ZERO,
        };
        self.make_up(&mut offer);
        offer.took = begun.elapsed();
        offer
    }

    /// The rules of a table. Those that come or go meanwhile may be among them or not.
    fn read(&self, task: &Task) -> BTreeMap<u32, NotedRule> {
        let mut noted = BTreeMap::new();
        for first in (0..task.end).step_by(READ_AT_ONCE as usize) {
            self.reader.enter();
            for counter in first..task.end.min(first + READ_AT_ONCE) {
                let rule = self.functions.rules[counter as usize].load(Ordering::Acquire);
                // SAFETY: a rule that was taken out stays in its place until it is dropped, so that an observer may find it
                // however late it entered. Only this thread drops rules while it runs: none goes between here and the end
                // of the loop.
                let Some(rule) = (unsafe { rule.as_ref() }) else {
                    continue;
                };
                if rule.entry.table == task.table && !rule.is_gone.load(Ordering::Acquire) {
                    let rule = NotedRule {
                        counter,
                        value: rule.value,
                        entry: Arc::clone(&rule.entry),
                    };
                    noted.insert(counter, rule);
                }
            }
            self.reader.leave();
        }
        noted
    }

    /// The next change that is already there.
    fn next_since(&self) -> Option<Since> {
        loop {
            match self.orders.try_recv().ok()? {
                Order::Since(since) => return Some(since),
                Order::Drop(garbage) => drop(garbage),
                // The next one comes when this one has been taken.
                Order::LayOut(_) => {}
            }
        }
    }

    fn make_up(&mut self, offer: &mut Offer) {
        while let Some(since) = self.next_since() {
            self.make_up_for(offer, &since);
        }
    }

    fn make_up_for(&mut self, offer: &mut Offer, since: &Since) {
        let mut unread = Garbage::default();
        make_up_for(&mut offer.version, since, &mut self.random, &mut unread);
        offer.seen += 1;
    }

    /// Makes up for changes that came after the offer, unless that has been taken.
    fn catch_up(&mut self, since: &Since) {
        if let Some(mut offer) = self.put(None) {
            self.make_up_for(&mut offer, since);
            self.make_up(&mut offer);
            self.put(Some(offer));
        }
    }
}
