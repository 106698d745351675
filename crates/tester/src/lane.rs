use brimful_frame::{Stamp, TIMESTAMP_MASK};
use brimful_netdev::{MAX_BURST, Port};
use brimful_trial::{Load, Nanoseconds};
use serde::Serialize;

use crate::attribution::{Account, Counted, Direction};
use crate::{CatchUp, PacingRecord, PacingReport, Schedule, SentHistory, Stream, Tracker, certainly_lost};

/// What is known of one direction after a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// The port that sent.
    pub from: String,
    /// The port that received.
    pub to: String,
    /// Frames of the whole trial.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames sent that did not arrive within the contract.
    pub lost: u64,
    /// Frames that were never sent.
    pub unsent: u64,
    /// Further copies of frames that arrived.
    pub duplicated: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Frames that arrived outside the contract; they count as lost.
    pub late: u64,
    /// Frames that arrived after the end of sending, within the contract; they do not count as lost.
    pub stragglers: u64,
    /// Frames that the queue of the attached receiver refused at once (veth); part of `lost` unless a copy arrived.
    pub sent_into_full_queue: u64,
    /// Frames that arrived with a wrong checksum; they count as lost.
    pub damaged: u64,
    /// Where the frames were counted and lost; nothing where an interface does not count.
    pub account: Option<Account>,
    /// How the sender kept its schedule.
    pub pacing: PacingReport,
}

/// One direction of one trial.
pub(crate) struct Lane {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) tracker: Tracker,
    pub(crate) pacing: PacingRecord,
    pub(crate) stragglers: u64,
    pub(crate) damaged: u64,
    pub(crate) sent_into_full_queue: u64,
    account: Option<Account>,
    schedule: Schedule,
    catch_up: CatchUp,
    history: SentHistory,
    next: u64,
}

/// What tells the frames of one trial and direction from all others.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) trial: u16,
    pub(crate) stream: u8,
}

impl Lane {
    pub(crate) fn new((from, to): (usize, usize), schedule: Schedule) -> Self {
        Self {
            from,
            to,
            tracker: Tracker::new(schedule.count()),
            pacing: PacingRecord::new(schedule),
            stragglers: 0,
            damaged: 0,
            sent_into_full_queue: 0,
            account: None,
            schedule,
            catch_up: CatchUp::new(&schedule),
            history: SentHistory::default(),
            next: 0,
        }
    }

    /// The lanes of a trial, one a direction, evenly interleaved.
    pub(crate) fn all(pairs: &[(usize, usize)], start: Nanoseconds, load: Load, duration: Nanoseconds) -> Vec<Self> {
        let schedule = Schedule::new(start, load, duration);
        let with_schedule = |(index, &pair): (usize, &(usize, usize))| match index {
            0 => Self::new(pair, schedule),
            _ => Self::new(pair, schedule.offset_by_half_a_period()),
        };
        pairs.iter().enumerate().map(with_schedule).collect()
    }

    /// Sends what is due, as far as catching up is allowed to go, and gives how many frames left.
    pub(crate) fn send_due<P: Port>(
        &mut self,
        port: &mut P,
        stream: &Stream,
        identity: Identity,
        now: Nanoseconds,
    ) -> std::io::Result<usize> {
        self.pacing.turn(now, self.next);
        let due = self.schedule.due_by(now) - self.next;
        let burst = due.min(self.catch_up.credit(now)).min(MAX_BURST as u64) as usize;
        if burst == 0 {
            return Ok(0);
        }
        let first = self.next;
        let sent = port.send_burst(burst, &mut |index, buffer| {
            let stamp = Stamp {
                trial: identity.trial,
                stream: identity.stream,
                timestamp: now.0 & TIMESTAMP_MASK,
                sequence: first + index as u64,
            };
            stream.fill(buffer, stamp)
        })?;
        if sent > 0 {
            self.pacing.sent(now, first, sent as u64);
            self.catch_up.spend(now, sent as u64);
            self.next += sent as u64;
        }
        Ok(sent)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.next
    }

    pub(crate) fn intended(&self) -> u64 {
        self.schedule.count()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.next - self.tracker.received()
    }

    pub(crate) fn has_sent_all(&self) -> bool {
        self.next == self.schedule.count()
    }

    /// Whether a frame may still be on its way: all that are missing were refused on the spot otherwise.
    pub(crate) fn may_have_stragglers(&self) -> bool {
        self.lost() > self.sent_into_full_queue
    }

    pub(crate) fn next_due(&self) -> Nanoseconds {
        self.schedule.due(self.next)
    }

    pub(crate) fn end(&self) -> Nanoseconds {
        self.schedule.end()
    }

    pub(crate) fn note_sent(&mut self, now: Nanoseconds, keep: Nanoseconds) {
        self.history.note(now, self.next, keep);
    }

    pub(crate) fn certainly_lost(&mut self, now: Nanoseconds, grace: Nanoseconds, silence: Nanoseconds) -> u64 {
        certainly_lost(&mut self.tracker, &self.history, now, grace, silence)
    }

    /// Notes what ports and interfaces have counted during the trial, in the order of the ports.
    pub(crate) fn settle(&mut self, counted: &[Counted; 2]) {
        let tracker = &self.tracker;
        let direction = Direction {
            sent: self.sent(),
            seen: tracker.received() + tracker.duplicated() + tracker.late() + self.damaged,
            lost: self.lost(),
        };
        self.account = Account::new(direction, &counted[self.from], &counted[self.to]);
    }

    pub(crate) fn report(&self, names: [&str; 2]) -> DirectionReport {
        DirectionReport {
            from: names[self.from].to_owned(),
            to: names[self.to].to_owned(),
            intended: self.intended(),
            sent: self.sent(),
            lost: self.lost(),
            unsent: self.intended() - self.sent(),
            duplicated: self.tracker.duplicated(),
            reordered: self.tracker.reordered(),
            late: self.tracker.late(),
            stragglers: self.stragglers,
            sent_into_full_queue: self.sent_into_full_queue,
            damaged: self.damaged,
            account: self.account,
            pacing: self.pacing.report(),
        }
    }
}
