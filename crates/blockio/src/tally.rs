use brimful_trial::Nanoseconds;
use brimful_trial::program::DelayRecord;

use crate::Direction;
use crate::in_flight::Started;
use crate::pacing::{Pacing, Punctuality};
use crate::queue::Completion;

/// At most one in this many lost IOs may be of the tester's making.
const OWN_LOSS_SHARE: u64 = 10;

/// What was counted in a trial, as it goes on.
pub(crate) struct Tally {
    deadline: Nanoseconds,
    pub(crate) reads: Side,
    pub(crate) writes: Side,
    pub(crate) pacing: Pacing,
    /// IOs for which there was no slot although nothing was overdue.
    pub(crate) unsent_by_tester: u64,
    /// IOs that were lost although the device may have been in time.
    pub(crate) lost_by_tester: u64,
    /// When the tester looked for completions before the last time.
    last_look: Nanoseconds,
}

/// The reads, or the writes.
pub(crate) struct Side {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// Lost ones that completed nevertheless while the trial went on.
    pub(crate) late: u64,
    /// Lost ones that were never handed over, because the device held on to too many.
    pub(crate) unsent: u64,
    /// Lost ones that the device reported as failed.
    pub(crate) failed: u64,
    /// Lost ones of which only a part was done.
    pub(crate) short: u64,
    pub(crate) bytes: u64,
    pub(crate) delay: DelayRecord,
}

impl Tally {
    pub(crate) fn new(count: u64, deadline: Nanoseconds, punctuality: Punctuality, now: Nanoseconds) -> Self {
        Self {
            deadline,
            reads: Side::new(count),
            writes: Side::new(count),
            pacing: Pacing::new(count, punctuality),
            unsent_by_tester: 0,
            lost_by_tester: 0,
            last_look: now,
        }
    }

    pub(crate) fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    pub(crate) fn sent(&self) -> u64 {
        self.reads.sent + self.writes.sent
    }

    pub(crate) fn lost(&self) -> u64 {
        self.reads.lost + self.writes.lost
    }

    /// The tester turned to an IO, late or not.
    pub(crate) fn begin(&mut self, started: &Started) {
        self.pacing.start(started.due, started.sent_at);
        self.side(started.direction).sent += 1;
    }

    /// The device has too many overdue ones to be given another.
    pub(crate) fn leave_out(&mut self, direction: Direction) {
        let side = self.side(direction);
        side.sent += 1;
        side.lost += 1;
        side.unsent += 1;
    }

    /// The tester looked.
    pub(crate) fn look(&mut self, now: Nanoseconds) {
        self.reads.delay.polls.poll(now);
        self.writes.delay.polls.poll(now);
        self.last_look = now;
    }

    /// An IO is overdue.
    pub(crate) fn expire(&mut self, started: &Started) {
        self.side(started.direction).lost += 1;
    }

    /// An IO came back.
    pub(crate) fn complete(&mut self, started: &Started, completion: Completion, now: Nanoseconds) {
        let took = now.saturating_sub(started.due);
        let is_late = started.has_expired || took > self.deadline;
        // It may have come back right after the last look, and the device was given it when it was sent.
        let least = self.last_look.saturating_sub(started.sent_at);
        if is_late && least <= self.deadline {
            self.lost_by_tester += 1;
        }
        let side = self.side(started.direction);
        let is_whole = completion.did_nothing || completion.result == started.len.cast_signed();
        if !started.has_expired && (is_late || !is_whole) {
            side.lost += 1;
        }
        if !is_whole {
            let count = if completion.result < 0 {
                &mut side.failed
            } else {
                &mut side.short
            };
            *count += 1;
            return;
        }
        side.late += u64::from(is_late);
        side.bytes += u64::from(started.len);
        side.delay.record(started.index, took, false);
    }

    /// Why the tester, not the device, made the result; nothing where it did not.
    pub(crate) fn flaw(&self) -> Option<String> {
        let sent = self.sent();
        if self.unsent_by_tester > 0 {
            let unsent = self.unsent_by_tester;
            return Some(format!(
                "{unsent} of {sent} IOs found no slot although the device was in time (bound 0): give more slots"
            ));
        }
        if let Some(flaw) = self.pacing.flaw() {
            return Some(flaw);
        }
        let (own, lost) = (self.lost_by_tester, self.lost());
        (own * OWN_LOSS_SHARE > lost)
            .then(|| format!("{own} of {lost} lost IOs may have been in time, had the tester been (bound a tenth)"))
    }
}

impl Side {
    fn new(count: u64) -> Self {
        Self {
            sent: 0,
            lost: 0,
            late: 0,
            unsent: 0,
            failed: 0,
            short: 0,
            bytes: 0,
            delay: DelayRecord::new(count),
        }
    }
}
