use std::time::{Duration, Instant};

use brimful_netdev::processor_cycles;
use brimful_trial::Nanoseconds;

/// Time as the tester sees it, the same for all threads.
pub trait Clock: Sync {
    /// Time since some moment; never goes back.
    fn now(&self) -> Nanoseconds;

    /// Gives the processor away for about this long.
    fn sleep(&self, span: Nanoseconds);

    /// Cycles of the processor's time-stamp counter in a second, as measured so far; nothing where none is read.
    fn cycles_per_second(&self) -> Option<f64> {
        None
    }
}

/// The monotonic clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
    cycles_at_origin: Option<u64>,
}

impl MonotonicClock {
    /// Starts at 0.
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
            cycles_at_origin: processor_cycles(),
        }
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanoseconds {
        Nanoseconds(self.origin.elapsed().as_nanos() as u64)
    }

    fn sleep(&self, span: Nanoseconds) {
        std::thread::sleep(Duration::from_nanos(span.0));
    }

    fn cycles_per_second(&self) -> Option<f64> {
        let cycles = processor_cycles()?.checked_sub(self.cycles_at_origin?)?;
        Some(cycles as f64 / self.origin.elapsed().as_secs_f64())
    }
}
