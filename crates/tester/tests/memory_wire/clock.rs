//! A clock of virtual time for any number of threads.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hint;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
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
    /// How many other threads there are to be.
    others: usize,
    looks: Mutex<Looks>,
    /// Some thread has looked, begun or ended.
    changed: Condvar,
}

/// Who has looked how often.
#[derive(Default)]
struct Looks {
    /// The first thread, since another one did.
    first_has_looked: bool,
    /// The other threads.
    living: HashMap<ThreadId, u64>,
    /// Threads that have begun since none lived.
    begun: usize,
}

/// How long a thread waits for others at most: they may have stopped looking to wait for its end.
const PATIENCE: Duration = Duration::from_millis(50);
/// Glances at what the others do before a thread goes to sleep over it.
const GLANCES: usize = 100;

thread_local! {
    static OTHER: RefCell<Option<Presence>> = const { RefCell::new(None) };
}

/// Ends with the thread.
struct Presence(Arc<Shared>);

impl Presence {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.change(|looks| {
            if looks.living.is_empty() {
                looks.begun = 0;
            }
            looks.begun += 1;
            looks.living.insert(thread::current().id(), 0);
        });
        Self(Arc::clone(shared))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.change(|looks| {
            looks.living.remove(&thread::current().id());
        });
    }
}

impl StepClock {
    /// For one thread, and perhaps another one.
    pub(crate) fn new(step: u64) -> Self {
        Self::of(Threads::One, step)
    }

    /// For the threads of a tester.
    pub(crate) fn of(threads: Threads, step: u64) -> Self {
        let shared = Shared {
            now: AtomicU64::new(0),
            first: thread::current().id(),
            others: match threads {
                Threads::One => 1,
                Threads::Several { senders, receivers } => senders + receivers - 1,
            },
            looks: Mutex::default(),
            changed: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
            step,
        }
    }

    /// The time for a fault injector, which makes no time pass.
    pub(crate) fn reading(&self) -> impl Fn() -> Duration + Send + Sync + 'static + use<> {
        let shared = Arc::clone(&self.shared);
        move || Duration::from_nanos(shared.now.load(Ordering::SeqCst))
    }

    fn pass(&self, span: u64) -> Nanoseconds {
        let shared = &self.shared;
        if thread::current().id() == shared.first {
            // Its last look has been used, or no thread is left to use it.
            let is_used = |looks: &Looks| !looks.first_has_looked || looks.living.is_empty();
            let others_live = shared.change_when(is_used, |looks| {
                looks.first_has_looked = !looks.living.is_empty();
                looks.first_has_looked
            });
            if others_live {
                return Nanoseconds(shared.now.load(Ordering::SeqCst));
            }
        } else {
            OTHER.with_borrow_mut(|presence| {
                presence.get_or_insert_with(|| Presence::new(shared));
            });
            let own = thread::current().id();
            let is_next = |looks: &Looks| {
                let is_behind = looks.living.values().any(|other| Some(other) < looks.living.get(&own));
                looks.begun >= shared.others && !is_behind && looks.first_has_looked
            };
            shared.change_when(is_next, |looks| {
                looks.first_has_looked = false;
                *looks.living.entry(own).or_default() += 1;
            });
        }
        Nanoseconds(shared.now.fetch_add(span, Ordering::SeqCst) + span)
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Looks)) {
        self.change_when(|_| true, change);
    }

    fn change_when<T>(&self, is_time: impl Fn(&Looks) -> bool, change: impl FnOnce(&mut Looks) -> T) -> T {
        let lock = || self.looks.lock().expect("nobody panics");
        let mut looks = lock();
        for _ in 0..GLANCES {
            if is_time(&looks) {
                break;
            }
            drop(looks);
            hint::spin_loop();
            looks = lock();
        }
        let waited = self
            .changed
            .wait_timeout_while(looks, PATIENCE, |looks| !is_time(looks));
        let result = change(&mut waited.expect("nobody panics").0);
        self.changed.notify_all();
        result
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
