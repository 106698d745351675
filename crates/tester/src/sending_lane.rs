use brimful_netdev::{MAX_BURST, Sender};
use brimful_trial::Nanoseconds;

use crate::exchange::Progress;
use crate::test_frames::{Stamp, TIMESTAMP_MASK};
use crate::{CatchUp, Clock, PacingRecord, Schedule, SendingOrder, Stream};

/// What one port sends during one trial.
pub(crate) struct SendingLane {
    /// Its place among all lanes that send.
    pub(crate) place: usize,
    /// The place of its port among those that send.
    pub(crate) sender: usize,
    pub(crate) from: usize,
    pub(crate) pacing: PacingRecord,
    pub(crate) sent_into_full_queue: u64,
    order: SendingOrder,
    schedule: Schedule,
    catch_up: CatchUp,
    last_sent: Nanoseconds,
    next: u64,
    next_due: Nanoseconds,
}

/// What came of sending what was due.
#[derive(Clone, Copy)]
pub(crate) struct Sent {
    /// Frames that were due and not sent before.
    pub(crate) due: u64,
    /// Frames that left.
    pub(crate) frames: u64,
}

impl SendingLane {
    pub(crate) fn new(place: usize, sender: usize, order: &SendingOrder, schedule: Schedule) -> Self {
        Self {
            place,
            sender,
            from: order.from,
            order: order.clone(),
            pacing: PacingRecord::new(schedule.clone()),
            sent_into_full_queue: 0,
            catch_up: CatchUp::new(&schedule),
            last_sent: schedule.start(),
            next: 0,
            next_due: schedule.due_after(0),
            schedule,
        }
    }

    /// Sends what is due by `now`, as far as catching up is allowed to go; `streams` are those of all directions.
    pub(crate) fn send_due<S: Sender>(
        &mut self,
        sender: &mut S,
        streams: &[Stream],
        trial: u16,
        progress: &Progress,
        clock: &impl Clock,
        now: Nanoseconds,
    ) -> std::io::Result<Sent> {
        self.pacing.turn(now, self.next_due);
        // Most turns find nothing due, and the shorter they are, the more punctual is the next frame.
        let due = if now < self.next_due {
            0
        } else {
            self.schedule.due_by(now) - self.next
        };
        let burst = due.min(self.catch_up.credit(now)).min(MAX_BURST as u64) as usize;
        let first = self.next;
        if burst > 0 {
            progress.offer(first + burst as u64);
        }
        let (order, schedule) = (&self.order, &self.schedule);
        let sent = sender.send_burst(burst, &mut |index, buffer| {
            let (direction, sequence) = order.at(schedule.frame_of_port(first + index as u64));
            let stamp = Stamp {
                trial,
                stream: direction as u8,
                // Not `now`: the frames before it in the burst, and the other ports', took their time.
                timestamp: clock.now().0 & TIMESTAMP_MASK,
                sequence,
            };
            streams[direction].fill(buffer, stamp)
        })?;
        if sent > 0 {
            self.pacing.sent(now, first, sent as u64);
            self.catch_up.spend(now, sent as u64);
            self.last_sent = now;
            self.next += sent as u64;
            self.next_due = self.schedule.due_after(self.next);
            progress.note_sent(self.next);
        }
        Ok(Sent {
            due,
            frames: sent as u64,
        })
    }

    pub(crate) fn order(&self) -> &SendingOrder {
        &self.order
    }

    /// The direction of a frame.
    pub(crate) fn direction(&self, frame: u64) -> usize {
        self.order.at(frame).0
    }

    /// The first frame of the port that this lane has not sent, as far as they are its own.
    pub(crate) fn first_unsent(&self) -> u64 {
        self.schedule.frame_of_port(self.next)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.next
    }

    /// When the last frame was sent.
    pub(crate) fn last_sent(&self) -> Nanoseconds {
        self.last_sent
    }

    pub(crate) fn intended(&self) -> u64 {
        self.schedule.count()
    }

    pub(crate) fn has_sent_all(&self) -> bool {
        self.next == self.schedule.count()
    }

    /// When the first frame that is not sent is due.
    pub(crate) fn next_due(&self) -> Nanoseconds {
        self.next_due
    }

    pub(crate) fn end(&self) -> Nanoseconds {
        self.schedule.end()
    }
}
