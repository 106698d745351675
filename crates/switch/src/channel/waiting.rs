//! How the thread of a connection waits for messages.
//!
//! A controller that waits for the answer to each of its barriers sends its next message microseconds after that. To put
//! a thread to sleep and to wake it takes longer, on both sides. So the thread looks for that message before it sleeps.
//!
//! A controller that writes many changes one by one takes longer to wake the thread for each of them than to write it. So
//! the thread lets them gather for a moment, as network cards moderate their interrupts. Packets to be sent, and whatever
//! has an answer, do not wait for that.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// How long it looks, at most.
const LOOKS_FOR: Duration = Duration::from_micros(50);
/// A message that wakes a thread so soon would have been found by looking: most of that time it takes to wake up.
const SOON: Duration = Duration::from_micros(100);
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// How long messages gather; the kernel adds about as much. What comes meanwhile is to fit into the buffer of a socket.
const GATHERS_FOR: Duration = Duration::from_micros(50);
/// This many reads in a row of messages that come one by one make them gather ...
const TRICKLING_READS: u32 = 3;
/// ... if each came within this many nanoseconds of the one before ...
const TRICKLES_WITHIN_NS: u64 = 250_000;
/// ... and was shorter than this: a client that writes more at once hardly wakes this thread.
const TRICKLE_BYTES: usize = 16 << 10;

/// What is known of when messages come.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// When a barrier was answered, until something is waited for.
    answered: Option<Instant>,
    /// Whether the message after the last one came soon.
    looking_pays: bool,
    /// When something was last read, in nanoseconds.
    read_at: u64,
    /// Reads in a row that came soon, were short, and can wait.
    trickling_reads: u32,
}

/// How long a connection without messages keeps memory that it has freed.
const IDLE_NS: u64 = 1_000_000_000;

/// Gives back what a connection has freed, once nothing has come for some time.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// When something was last read; nothing once it has given back.
    since: Option<u64>,
}

impl Idle {
    /// Notes how many bytes were read at this time, in nanoseconds.
    pub(super) fn has_read(&mut self, now: u64, bytes: usize) {
        if bytes > 0 {
            self.since = Some(now);
        } else if self.since.is_some_and(|since| now.saturating_sub(since) > IDLE_NS) {
            self.since = None;
            brimful_jit::give_back_memory();
        }
    }
}

impl Waiting {
    /// Notes how many bytes were read at this time, in nanoseconds; whether more of that kind can wait.
    pub(super) fn has_read(&mut self, now: u64, bytes: usize, can_wait: bool) {
        let is_soon = now.saturating_sub(self.read_at) < TRICKLES_WITHIN_NS;
        self.read_at = now;
        let trickles = is_soon && bytes < TRICKLE_BYTES && can_wait;
        self.trickling_reads = if trickles { self.trickling_reads + 1 } else { 0 };
    }

    /// A barrier has just been answered.
    pub(super) fn has_answered_barrier(&mut self) {
        self.answered = Some(Instant::now());
    }

    /// Waits as `poll` does; after a barrier, looks some times first if that has paid the last time.
    pub(super) fn poll(&mut self, waited: &mut [PollFd<'_>], patience: &Timespec) -> Result<usize, Errno> {
        if self.trickling_reads >= TRICKLING_READS {
            std::thread::sleep(GATHERS_FOR);
        }
        let Some(answered) = self.answered.take() else {
            return poll(waited, Some(patience));
        };
        while self.looking_pays && answered.elapsed() < LOOKS_FOR {
            let count = poll(waited, Some(&AT_ONCE))?;
            if count > 0 {
                return Ok(count);
            }
            // Others that can use the processor have it meanwhile.
            std::thread::yield_now();
        }
        let done = poll(waited, Some(patience));
        self.looking_pays = answered.elapsed() < SOON;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether messages gather after reads: how long after the one before, of how many bytes, and whether they can wait.
    fn gathers(reads: &[(u64, usize, bool)]) -> bool {
        let (mut waiting, mut now) = (Waiting::default(), 1_000_000_000);
        for &(later, bytes, can_wait) in reads {
            now += later;
            waiting.has_read(now, bytes, can_wait);
        }
        waiting.trickling_reads >= TRICKLING_READS
    }

    #[test]
    fn changes_that_come_one_by_one_gather() {
        let one = (10_000, 120, true);
        assert!(gathers(&[one; 4]));
        assert!(!gathers(&[one; 3]));
        for other in [
            (10_000, 120, false),
            (10_000, TRICKLE_BYTES, true),
            (TRICKLES_WITHIN_NS, 120, true),
        ] {
            assert!(!gathers(&[one, one, one, other]));
            assert!(!gathers(&[one, one, one, other, one, one]));
        }
    }
}
