use std::time::Instant;

use brimful_trial::Nanoseconds;

/// Time as the tester sees it.
pub trait Clock {
    /// Time since some moment; never goes back.
    fn now(&self) -> Nanoseconds;
}

/// The monotonic clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock(Instant);

impl MonotonicClock {
    /// Starts at 0.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanoseconds {
        Nanoseconds(self.0.elapsed().as_nanos() as u64)
    }
}
