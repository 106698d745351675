use rustix::time::{ClockId, clock_gettime};

/// A moment by the system's monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct MonotonicTime(pub u64);

impl MonotonicTime {
    /// This one.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        Self(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
    }
}
