use std::mem;

use brimful_trial::Nanoseconds;
use brimful_trial::program::DelayRecord;

use crate::delay::since_stamp;
use crate::exchange::Exchange;
use crate::flows::{FlowTurns, FlowsRecord};
use crate::lots::Lots;
use crate::routes::Turns;
use crate::test_frames::Stamp;
use crate::{Arrival, Direction, SentHistory, Tracker, certainly_lost};

/// The receiving half of one direction of one trial. Of the sending half it knows how many frames were sent.
pub(crate) struct ReceivingLane {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The place of the port that sends among those that do.
    pub(crate) sender: usize,
    pub(crate) turns: Turns,
    lots: Lots,
    /// Of each flow where there are several lots, which keep no order among each other: the newest frame that arrived, and
    /// the frames that arrived after such a one.
    newest: Vec<Option<u64>>,
    overtaken: u64,
    pub(crate) tracker: Tracker,
    pub(crate) stragglers: u64,
    pub(crate) damaged: u64,
    pub(crate) delay: DelayRecord,
    /// Nothing where there is but one flow.
    pub(crate) flows: Option<FlowsRecord>,
    /// Frames of this direction that arrived where they should not, by port.
    pub(crate) misrouted: Vec<u64>,
    history: SentHistory,
}

impl ReceivingLane {
    /// Of a port that sends up to `frames` in all directions; `ports` is how many there are.
    pub(crate) fn new(direction: &Direction, frames: u64, lots: Lots, flows: Option<FlowTurns>, ports: usize) -> Self {
        let count = direction.turns.among(frames);
        Self {
            from: direction.from,
            to: direction.to,
            sender: direction.order,
            turns: direction.turns.clone(),
            lots,
            newest: vec![None; flows.filter(|_| lots.count > 1).map_or(0, |turns| turns.flows as usize)],
            overtaken: 0,
            tracker: Tracker::new(count),
            stragglers: 0,
            damaged: 0,
            delay: DelayRecord::new(count),
            flows: flows.map(FlowsRecord::new),
            misrouted: vec![0; ports],
            history: SentHistory::default(),
        }
    }

    /// Counts a frame of this direction that arrived at its port.
    pub(crate) fn take(&mut self, stamp: &Stamp, now: Nanoseconds, sending_is_over: bool) {
        let arrival = self.tracker.record(stamp.sequence);
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            let delay = since_stamp(stamp.timestamp, now);
            self.delay.record(stamp.sequence, delay, arrival == Arrival::InOrder);
            self.stragglers += u64::from(sending_is_over);
            if let Some(flows) = &mut self.flows {
                let flow = flows.record(stamp.sequence);
                if let Some(newest) = self.newest.get_mut(flow) {
                    self.overtaken += u64::from(*newest > Some(stamp.sequence));
                    *newest = (*newest).max(Some(stamp.sequence));
                }
            }
        }
    }

    /// Adds what another receiving side, which may be that of the port that the frames are for, saw of the same direction.
    pub(crate) fn join(&mut self, mut other: Self, is_received_there: bool) {
        if is_received_there {
            mem::swap(self, &mut other);
        }
        for (count, more) in self.misrouted.iter_mut().zip(other.misrouted) {
            *count += more;
        }
    }

    /// Whether a frame of this direction was handed to a port.
    pub(crate) fn was_offered(&self, sequence: u64, exchange: &Exchange) -> bool {
        let (lot, number) = self.lots.place_of(self.turns.frame_of_port(sequence));
        exchange.lanes()[self.place_of(lot)].was_offered(number)
    }

    /// Frames of this direction that were sent so far, and up to which number that is all of them.
    pub(crate) fn sent_so_far(&self, exchange: &Exchange) -> (u64, u64) {
        let lots = 0..self.lots.count as usize;
        let sent = |lot| exchange.lanes()[self.place_of(lot)].sent();
        let all = lots.clone().map(sent).sum();
        let complete = lots.map(|lot| self.lots.frame_of_port(lot, sent(lot))).min();
        let among = |frames| self.turns.among(frames);
        (among(all), among(complete.unwrap_or(all)))
    }

    /// Frames that arrived after a later one, of the same flow where threads share the port.
    pub(crate) fn reordered(&self) -> u64 {
        if self.lots.count > 1 {
            self.overtaken
        } else {
            self.tracker.reordered()
        }
    }

    /// Of the lane that sends a lot of its port.
    fn place_of(&self, lot: usize) -> usize {
        self.sender * self.lots.count as usize + lot
    }

    /// Frames missing of `sent`. Forged frames can make it too small, but never less than none.
    pub(crate) fn lost_of(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.tracker.received())
    }

    /// All frames of this direction that its port was given.
    pub(crate) fn seen(&self) -> u64 {
        let intact = self.tracker.received() + self.tracker.duplicated() + self.tracker.late();
        intact + self.damaged + self.misrouted[self.to]
    }

    /// Notes how many frames have been sent by now.
    pub(crate) fn note_sent(&mut self, now: Nanoseconds, sent: u64, keep: Nanoseconds) {
        self.history.note(now, sent, keep);
    }

    pub(crate) fn certainly_lost(&mut self, now: Nanoseconds, grace: Nanoseconds, silence: Nanoseconds) -> u64 {
        certainly_lost(&mut self.tracker, &self.history, now, grace, silence)
    }
}
