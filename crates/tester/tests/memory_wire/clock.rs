//! A clock of virtual time for any number of threads.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use brimful_netdev::MonotonicTime;
use brimful_tester::{Clock, Threads};
use brimful_trial::Nanoseconds;

/// Each look at the clock takes a fixed time; nothing else does.
///
/// While other threads than the first one live, time passes by their looks alone, and each of them waits for a look of
/// the first one and for all of its kind before each: none runs ahead of another one, however busy the machine is.
pub(crate) struct StepClock {
    shared: Arc<Shared>,
    step: u64,
}

struct Shared {
    now: AtomicU64,
    first: ThreadId,
    first_has_looked: AtomicBool,
    /// How many other threads there are to be.
    others: usize,
    looks: Mutex<Looks>,
}

/// Of the threads other than the first one.
#[derive(Default)]
struct Looks {
    living: HashMap<ThreadId, u64>,
    /// Threads that have begun since none lived.
    begun: usize,
}

/// Looks for which a thread waits at most: the others may have stopped looking to wait for its end.
const PATIENCE: usize = 10_000;

thread_local! {
    static OTHER: RefCell<Option<Presence>> = const { RefCell::new(None) };
}

/// Ends with the thread.
struct Presence(Arc<Shared>);

impl Presence {
    fn new(shared: &Arc<Shared>) -> Self {
        let mut looks = shared.looks.lock().expect("nobody panics");
        if looks.living.is_empty() {
            looks.begun = 0;
        }
        looks.begun += 1;
        looks.living.insert(thread::current().id(), 0);
        drop(looks);
        Self(Arc::clone(shared))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut looks = self.0.looks.lock().expect("nobody panics");
        looks.living.remove(&thread::current().id());
    }
}

impl StepClock {
    /// For one thread, and perhaps another one.
    pub(crate) fn new(step: u64) -> Self {
        let shared = Shared {
            now: AtomicU64::new(0),
            first: thread::current().id(),
            first_has_looked: AtomicBool::new(false),
            others: 1,
            looks: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            step,
        }
    }

    /// For the threads of a tester.
    pub(crate) fn of(threads: Threads, step: u64) -> Self {
        let Self { shared, step } = Self::new(step);
        let others = match threads {
            Threads::One => 1,
            Threads::Several { senders } => senders,
        };
        let shared = Arc::into_inner(shared).expect("it is new");
        Self {
            shared: Arc::new(Shared { others, ..shared }),
            step,
        }
    }

    /// The time for a fault injector, which makes no time pass.
    pub(crate) fn reading(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || Duration::from_nanos(shared.now.load(Ordering::SeqCst))
    }

    fn pass(&self, span: u64) -> Nanoseconds {
        let shared = &self.shared;
        if thread::current().id() == shared.first {
            if shared.others_live() {
                if shared.first_has_looked.swap(true, Ordering::SeqCst) {
                    thread::yield_now();
                }
                return Nanoseconds(shared.now.load(Ordering::SeqCst));
            }
        } else {
            OTHER.with_borrow_mut(|presence| {
                presence.get_or_insert_with(|| Presence::new(shared));
            });
            let looks = (0..PATIENCE).take_while(|_| !shared.is_my_turn());
            looks.for_each(|_| thread::yield_now());
            shared.note_look();
        }
        Nanoseconds(shared.now.fetch_add(span, Ordering::SeqCst) + span)
    }
}

impl Shared {
    fn others_live(&self) -> bool {
        !self.looks.lock().expect("nobody panics").living.is_empty()
    }

    /// Whether all others are there, none has looked less often than this thread, and the first one has looked.
    fn is_my_turn(&self) -> bool {
        let looks = self.looks.lock().expect("nobody panics");
        let own = looks.living.get(&thread::current().id());
        let is_behind = looks.living.values().any(|other| Some(other) < own);
        looks.begun >= self.others && !is_behind && self.first_has_looked.swap(false, Ordering::SeqCst)
    }

    fn note_look(&self) {
        let mut looks = self.looks.lock().expect("nobody panics");
        *looks.living.entry(thread::current().id()).or_default() += 1;
    }
}

impl Clock for StepClock {
    fn now(&self) -> Nanoseconds {
        self.pass(self.step)
    }

    fn at(&self, moment: MonotonicTime) -> Option<Nanoseconds> {
        Some(Nanoseconds(moment.0))
    }

    fn sleep(&self, span: Nanoseconds) {
        self.pass(span.0);
    }
}
