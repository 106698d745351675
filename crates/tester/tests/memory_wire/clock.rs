//! A clock of virtual time for one thread or two.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use brimful_netdev::MonotonicTime;
use brimful_tester::Clock;
use brimful_trial::Nanoseconds;

/// Each look at the clock takes a fixed time; nothing else does.
///
/// While a second thread lives, time passes by its looks alone, and it waits for a look of the first one before each:
/// neither runs ahead of the other, however busy the machine is.
pub(crate) struct StepClock {
    shared: Arc<Shared>,
    step: u64,
}

struct Shared {
    now: AtomicU64,
    first: ThreadId,
    first_has_looked: AtomicBool,
    second_lives: AtomicBool,
}

/// Looks for which the second thread waits at most: the first one may have stopped looking to wait for its end.
const PATIENCE: usize = 10_000;

thread_local! {
    static SECOND: RefCell<Option<Presence>> = const { RefCell::new(None) };
}

/// Ends with the thread.
struct Presence(Arc<Shared>);

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.second_lives.store(false, Ordering::SeqCst);
    }
}

impl StepClock {
    pub(crate) fn new(step: u64) -> Self {
        let shared = Shared {
            now: AtomicU64::new(0),
            first: thread::current().id(),
            first_has_looked: AtomicBool::new(false),
            second_lives: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            step,
        }
    }

    /// The time for a fault injector, which makes no time pass.
    pub(crate) fn reading(&self) -> impl Fn() -> Duration + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || Duration::from_nanos(shared.now.load(Ordering::SeqCst))
    }

    fn pass(&self, span: u64) -> Nanoseconds {
        let Shared {
            now,
            first,
            first_has_looked,
            second_lives,
        } = &*self.shared;
        if thread::current().id() == *first {
            if second_lives.load(Ordering::SeqCst) {
                if first_has_looked.swap(true, Ordering::SeqCst) {
                    thread::yield_now();
                }
                return Nanoseconds(now.load(Ordering::SeqCst));
            }
        } else {
            SECOND.with_borrow_mut(|presence| {
                presence.get_or_insert_with(|| Presence(Arc::clone(&self.shared)));
            });
            second_lives.store(true, Ordering::SeqCst);
            let looks = (0..PATIENCE).take_while(|_| !first_has_looked.swap(false, Ordering::SeqCst));
            looks.for_each(|_| thread::yield_now());
        }
        Nanoseconds(now.fetch_add(span, Ordering::SeqCst) + span)
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
