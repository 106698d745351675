use brimful_trial::Nanoseconds;
use brimful_trial::program::DelayRecord;

use crate::delay::since_stamp;
use crate::exchange::Exchange;
use crate::flows::{FlowTurns, FlowsRecord};
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
    pub(crate) fn new(direction: &Direction, frames: u64, flows: Option<FlowTurns>, ports: usize) -> Self {
        let count = direction.turns.among(frames);
        Self {
            from: direction.from,
            to: direction.to,
            sender: direction.order,
            turns: direction.turns.clone(),
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
                flows.record(stamp.sequence);
            }
        }
    }

    /// Whether a frame of this direction was handed to a port.
    pub(crate) fn was_offered(&self, sequence: u64, exchange: &Exchange) -> bool {
        exchange.senders()[self.sender].was_offered(self.turns.frame_of_port(sequence))
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
