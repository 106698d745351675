use brimful_trial::Nanoseconds;
use serde::Serialize;

/// What one thread of the tester spent on the frames of a trial while they were sent.
///
/// A thread that waits looks at its ports all the time: only turns in which it handled a frame count, from their
/// beginning to the beginning of the next. What else the processor did meanwhile is in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// What the thread does: `sender`, `receiver` or `both`.
    pub thread: &'static str,
    /// Frames that it sent, those of the ramp-up included.
    pub sent: u64,
    /// Frames that it received, whatever they were.
    pub received: u64,
    /// Length of those turns.
    pub busy_s: f64,
    /// The same in cycles of the processor's time-stamp counter, whose rate was measured against the clock since the
    /// start of the program; nothing where there is no such counter.
    pub busy_cycles: Option<f64>,
}

/// Adds up the turns of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    turn: Nanoseconds,
    /// Whether a frame was handled since the beginning of the turn.
    is_busy: bool,
    busy: u64,
    sent: u64,
    received: u64,
}

impl Work {
    /// A turn begins, and with it the last one ends.
    pub(crate) fn begin_turn(&mut self, now: Nanoseconds) {
        if self.is_busy {
            self.busy += now.saturating_sub(self.turn).0;
        }
        self.is_busy = false;
        self.turn = now;
    }

    /// Frames were handled in this turn.
    pub(crate) fn add(&mut self, sent: usize, received: usize) {
        self.is_busy |= sent + received > 0;
        self.sent += sent as u64;
        self.received += received as u64;
    }

    pub(crate) fn cost(&self, thread: &'static str, cycles_per_second: Option<f64>) -> Cost {
        let busy_s = Nanoseconds(self.busy).as_seconds();
        Cost {
            thread,
            sent: self.sent,
            received: self.received,
            busy_s,
            busy_cycles: cycles_per_second.map(|rate| rate * busy_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_turns_with_frames_count() {
        let mut work = Work::default();
        for (begin, sent, received) in [
            (100, 0, 0),
            (200, 2, 0),
            (230, 0, 0),
            (1000, 0, 1),
            (1010, 3, 4),
            (1060, 0, 0),
        ] {
            work.begin_turn(Nanoseconds(begin));
            work.add(sent, received);
        }
        let expected = Cost {
            thread: "both",
            sent: 5,
            received: 5,
            busy_s: 90e-9,
            busy_cycles: Some(180.0),
        };
        assert_eq!(work.cost("both", Some(2e9)), expected);
    }
}
