use std::time::Duration;

use brimful_netdev::{MonotonicTime, processor_cycles};
use brimful_trial::Nanoseconds;
use thiserror::Error;

/// Looks in a row that may give the same time. One takes some tens of nanoseconds, so that this is longer than the ticks
/// of any clock in use.
const SAME_LOOKS: u32 = 1 << 20;
/// A nap in between stands for this number.
const LOOKS_OF_A_NAP: u32 = 1 << 13;

/// Time as the tester sees it, the same for all threads.
pub trait Clock: Sync {
    /// Time since some moment; never goes back.
    fn now(&self) -> Nanoseconds;

    /// The same moment by this clock; nothing where it is not the system's time or had not begun yet.
    fn at(&self, _moment: MonotonicTime) -> Option<Nanoseconds> {
        None
    }

    /// Gives the processor away for about this long, or until the thread is unparked.
    fn sleep(&self, span: Nanoseconds);

    /// Cycles of the processor's time-stamp counter in a second, as measured so far; nothing where none is read.
    fn cycles_per_second(&self) -> Option<f64> {
        None
    }
}

/// The monotonic clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: MonotonicTime,
    cycles_at_origin: Option<u64>,
}

impl MonotonicClock {
    /// Starts at 0.
    pub fn start() -> Self {
        Self {
            origin: MonotonicTime::now(),
            cycles_at_origin: processor_cycles(),
        }
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Nanoseconds {
        Nanoseconds(MonotonicTime::now().0.saturating_sub(self.origin.0))
    }

    fn at(&self, moment: MonotonicTime) -> Option<Nanoseconds> {
        moment.0.checked_sub(self.origin.0).map(Nanoseconds)
    }

    fn sleep(&self, span: Nanoseconds) {
        std::thread::park_timeout(Duration::from_nanos(span.0));
    }

    fn cycles_per_second(&self) -> Option<f64> {
        let cycles = processor_cycles()?.checked_sub(self.cycles_at_origin?)?;
        Some(cycles as f64 / self.now().as_seconds())
    }
}

/// Notices a clock that cannot be right: what is due, late and lost is read from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockWatch {
    last: Nanoseconds,
    same_looks: u32,
    flaw: Option<ClockFlaw>,
}

/// What is wrong with a clock. One that jumps forward looks like a sender that was away, and is treated so.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(crate) enum ClockFlaw {
    #[error("the clock of the machine went back by {0}")]
    WentBack(Nanoseconds),
    #[error("the clock of the machine stood still at {0}")]
    StoodStill(Nanoseconds),
}

impl ClockWatch {
    /// Judges a reading and all before it.
    pub(crate) fn look(&mut self, now: Nanoseconds) -> Option<ClockFlaw> {
        if now > self.last {
            self.last = now;
            self.same_looks = 0;
        } else {
            self.same_looks += 1;
            let back = Nanoseconds(self.last.0 - now.0);
            if back > Nanoseconds::ZERO {
                self.flaw.get_or_insert(ClockFlaw::WentBack(back));
            } else if self.same_looks > SAME_LOOKS {
                self.flaw.get_or_insert(ClockFlaw::StoodStill(now));
            }
        }
        self.flaw
    }

    /// Time must pass before the next look.
    pub(crate) fn note_nap(&mut self) {
        self.same_looks += LOOKS_OF_A_NAP;
    }

    /// What was wrong so far.
    pub(crate) fn flaw(&self) -> Option<ClockFlaw> {
        self.flaw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_moves_is_right_and_one_may_look_twice() {
        let mut watch = ClockWatch::default();
        for now in [0, 0, 5, 5, 5, 6] {
            assert_eq!(watch.look(Nanoseconds(now)), None);
        }
    }

    #[test]
    fn going_back_and_standing_still_are_noticed_and_remembered() {
        let mut watch = ClockWatch::default();
        watch.look(Nanoseconds(10));
        let flaw = Some(ClockFlaw::WentBack(Nanoseconds(3)));
        assert_eq!(watch.look(Nanoseconds(7)), flaw);
        assert_eq!((watch.look(Nanoseconds(20)), watch.flaw()), (flaw, flaw));
        let mut watch = ClockWatch::default();
        watch.look(Nanoseconds(10));
        let naps = (0..1000).take_while(|_| {
            watch.note_nap();
            watch.look(Nanoseconds(10)).is_none()
        });
        assert_eq!(naps.count(), (SAME_LOOKS / LOOKS_OF_A_NAP - 1) as usize);
        assert_eq!(watch.flaw(), Some(ClockFlaw::StoodStill(Nanoseconds(10))));
    }
}
