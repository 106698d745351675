use std::time::{Duration, Instant};

use brimful_trial::Nanoseconds;

/// Time as the tester sees it, the same for all threads.
pub trait Clock: Sync {
    /// Time since some moment; never goes back.
    fn now(&self) -> Nanoseconds;

    /// Gives the processor away for about this long.
    fn sleep(&self, span: Nanoseconds);
}

/// The monotonic clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// Starts at 0.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanoseconds {
        Nanoseconds(self.origin.elapsed().as_nanos() as u64)
    }

    fn sleep(&self, span: Nanoseconds) {
        std::thread::sleep(Duration::from_nanos(span.0));
    }
}
