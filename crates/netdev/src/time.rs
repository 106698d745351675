/// A moment by the system's monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct MonotonicTime(pub u64);

impl MonotonicTime {
    /// This one.
    pub fn now() -> Self {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` lives for the call, which cannot fail: every Linux has this clock.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        Self(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
    }
}
