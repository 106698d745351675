//! Whether the thread of a connection looks for the next message before it sleeps.
//!
//! A controller that waits for the answer to each of its barriers sends its next message microseconds after that. To put
//! a thread to sleep and to wake it takes longer, on both sides.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// How long it looks, at most.
const LOOKS_FOR: Duration = Duration::from_micros(50);
/// A message that wakes a thread so soon would have been found by looking: most of that time it takes to wake up.
const SOON: Duration = Duration::from_micros(100);
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What is known of how soon messages follow barriers.
#[derive(Debug, Default)]
pub(super) struct BusyPoll {
    /// When a barrier was answered, until something is waited for.
    answered: Option<Instant>,
    /// Whether the message after the last one came soon.
    pays: bool,
}

impl BusyPoll {
    /// A barrier has just been answered.
    pub(super) fn begin(&mut self) {
        self.answered = Some(Instant::now());
    }

    /// Waits as `poll` does; after a barrier, looks some times first if that has paid the last time.
    pub(super) fn poll(&mut self, waited: &mut [PollFd<'_>], patience: &Timespec) -> Result<usize, Errno> {
        let Some(answered) = self.answered.take() else {
            return poll(waited, Some(patience));
        };
        while self.pays && answered.elapsed() < LOOKS_FOR {
            let count = poll(waited, Some(&AT_ONCE))?;
            if count > 0 {
                return Ok(count);
            }
            // Whoever else can use the processor has it meanwhile.
            std::thread::yield_now();
        }
        let done = poll(waited, Some(patience));
        self.pays = answered.elapsed() < SOON;
        done
    }
}
