use std::io;

use brimful_netdev::Sender;
use brimful_trial::Nanoseconds;

use crate::cost::Work;
use crate::exchange::Exchange;
use crate::lane::Lane;
use crate::pacing::{PacingLimits, WINDOW};
use crate::ramp_up::RampUp;
use crate::sending_lane::{Identity, SendingLane};
use crate::station::{RAMP_UP_STREAM, Station};
use crate::test_frames::{Stamp, TIMESTAMP_MASK};
use crate::turn::{End, Turn};
use crate::{Clock, LoadShape, PacingBounds, Schedule, Stream, TrialPlan};

/// Frames that each port sends before a trial, so that losing one does no harm.
const LEARNING_FRAMES: usize = 3;
/// From the beginning of the sending phase to the first frame: time for the device to come to rest.
const LEAD: Nanoseconds = Nanoseconds(2_000_000);
/// Below this distance to the next frame the tester spins: waking up costs tens of microseconds.
const SPIN: Nanoseconds = Nanoseconds(1_000_000);
/// A sender that is behind at the end may finish within this share of the duration, one window at most: the mean
/// load is then wrong by no more than 1 %.
const OVERTIME_SHARE: u64 = 100;

/// What both ports send during one trial.
pub(crate) struct SendingSide<'t, S> {
    senders: &'t mut [S; 2],
    stations: &'t [Station; 2],
    pub(crate) streams: &'t [Stream],
    exchange: &'t Exchange,
    trial: u16,
    /// Empty until the sending phase begins.
    pub(crate) lanes: Vec<SendingLane>,
    /// Of the thread that sends, which may be the only one.
    pub(crate) work: Work,
    /// What goes before the trial.
    ramp_up: Option<RampUp>,
    /// From when on what is not sent remains unsent.
    deadline: Nanoseconds,
    /// Beyond these the sender has spoiled the trial.
    limits: PacingLimits,
    /// How often it asks whether the links are up, and when next.
    link_check: Nanoseconds,
    next_link_check: Nanoseconds,
    /// Frames that the queue of the receiver attached to each port had refused when the trial proper began.
    refused_before: [u64; 2],
    /// Frames sent on each port in answer to questions since then.
    answers: [u64; 2],
}

/// What is to be sent.
#[derive(Clone, Copy)]
pub(crate) struct SendingPlan<'t> {
    pub(crate) pairs: &'t [(usize, usize)],
    pub(crate) trial: &'t TrialPlan,
    /// For how long the load rises before the trial.
    pub(crate) ramp_up: Nanoseconds,
    /// How the frames of the trial are spread over time.
    pub(crate) shape: &'t LoadShape,
    /// From where on the sender spoils the trial: what is left of it would only take time.
    pub(crate) bounds: PacingBounds,
    /// How often to ask whether the links are up.
    pub(crate) link_check: Nanoseconds,
}

impl<'t, S: Sender> SendingSide<'t, S> {
    pub(crate) fn new(
        senders: &'t mut [S; 2],
        stations: &'t [Station; 2],
        streams: &'t [Stream],
        exchange: &'t Exchange,
        trial: u16,
    ) -> Self {
        Self {
            senders,
            stations,
            streams,
            exchange,
            trial,
            lanes: Vec::new(),
            work: Work::default(),
            ramp_up: None,
            deadline: Nanoseconds::ZERO,
            limits: PacingLimits::default(),
            link_check: Nanoseconds::ZERO,
            next_link_check: Nanoseconds::ZERO,
            refused_before: [0; 2],
            answers: [0; 2],
        }
    }

    /// Shows the addresses of both ports to the device.
    pub(crate) fn announce(&mut self) -> io::Result<()> {
        let trial = self.trial;
        for _ in 0..LEARNING_FRAMES {
            for (sender, station) in self.senders.iter_mut().zip(self.stations) {
                let mut len = None;
                send_one(sender, &mut |buffer| {
                    len = station.fill_announcement(buffer);
                    len.unwrap_or_else(|| station.fill_learning(buffer, trial))
                })?;
                send_one(sender, &mut |buffer| station.fill_learning(buffer, trial))?;
            }
        }
        Ok(())
    }

    /// Begins the sending phase now.
    pub(crate) fn begin(&mut self, plan: &SendingPlan<'_>, now: Nanoseconds) -> io::Result<()> {
        let SendingPlan {
            pairs,
            trial,
            ramp_up,
            shape,
            bounds,
            link_check,
        } = *plan;
        let start = now + LEAD;
        if ramp_up > Nanoseconds::ZERO {
            self.ramp_up = Some(RampUp::new(start, ramp_up, trial.load));
        }
        self.limits = bounds.limits(trial.duration);
        self.link_check = link_check;
        let overtime = Nanoseconds((trial.duration.0 / OVERTIME_SHARE).min(WINDOW.0));
        let schedule = Schedule::new(start + ramp_up, trial.load, trial.duration, shape);
        self.lanes = Lane::sending(pairs, &schedule);
        self.deadline = self.lanes.iter().map(SendingLane::end).max().unwrap_or_default() + overtime;
        self.count_from_here()
    }

    /// Sends what is due by `now`.
    pub(crate) fn turn(&mut self, clock: &impl Clock, now: Nanoseconds) -> io::Result<Turn> {
        if now >= self.next_link_check {
            self.next_link_check = now + self.link_check;
            if let Some(port) = port_without_link(self.senders)? {
                return Ok(Turn::Over(End::LinkDown(port)));
            }
        }
        if self.lanes.iter().all(SendingLane::has_sent_all) || now > self.deadline {
            return Ok(Turn::Over(End::Schedule));
        }
        if self.lanes.iter().any(|lane| lane.pacing.is_spoiled(&self.limits)) {
            return Ok(Turn::Over(End::OffSchedule));
        }
        if let Some(ramp_up) = self.ramp_up {
            if !ramp_up.is_over(now) {
                return self.ramp_up(ramp_up, clock, now);
            }
            self.ramp_up = None;
            self.count_from_here()?;
        }
        let mut total = 0;
        for (stream, lane) in self.lanes.iter_mut().enumerate() {
            let identity = Identity {
                trial: self.trial,
                stream: stream as u8,
            };
            let progress = &self.exchange.directions()[stream];
            let (sender, frames) = (&mut self.senders[lane.from], &self.streams[stream]);
            match lane.send_due(sender, frames, identity, progress, clock, now) {
                Ok(sent) => total += sent,
                Err(error) if is_link_error(&error) => return Ok(Turn::Over(End::LinkDown(lane.from))),
                Err(error) => return Err(error),
            }
        }
        self.answer()?;
        Ok(Turn::Handled(total))
    }

    /// Whether the next frame is far enough away to give the processor away.
    pub(crate) fn may_rest(&self, now: Nanoseconds) -> bool {
        let is_far = |lane: &SendingLane| lane.next_due() > now + SPIN;
        self.ramp_up.is_none() && self.lanes.iter().all(is_far)
    }

    /// Answers those who have asked for an address.
    pub(crate) fn answer(&mut self) -> io::Result<()> {
        for (port, question) in self.exchange.take_questions() {
            let station = &self.stations[port];
            self.answers[port] += 1;
            send_one(&mut self.senders[port], &mut |buffer| {
                station.fill_answer(buffer, question)
            })?;
        }
        Ok(())
    }

    /// Pushes out what has not left and gives how many frames still have not, of each port.
    pub(crate) fn flush(&mut self) -> io::Result<[usize; 2]> {
        let [first, second] = self.senders;
        Ok([first.flush()?, second.flush()?])
    }

    /// Gives the lanes how many of their frames were refused on the spot.
    pub(crate) fn settle_refused(&mut self) -> io::Result<()> {
        let refused = self.refused()?;
        for lane in &mut self.lanes {
            let all = refused[lane.from] - self.refused_before[lane.from];
            // Answers went the same way; taking them all for refused errs towards waiting longer.
            lane.sent_into_full_queue = all.saturating_sub(self.answers[lane.from]);
        }
        Ok(())
    }

    /// Sends what goes before the trial and counts nowhere; what a port does not take is left out.
    fn ramp_up(&mut self, mut ramp_up: RampUp, clock: &impl Clock, now: Nanoseconds) -> io::Result<Turn> {
        let (first, burst) = ramp_up.due(now);
        let mut total = 0;
        for (lane, frames) in self.lanes.iter().zip(self.streams) {
            let sent = self.senders[lane.from].send_burst(burst, &mut |index, buffer| {
                let stamp = Stamp {
                    trial: self.trial,
                    stream: RAMP_UP_STREAM,
                    timestamp: clock.now().0 & TIMESTAMP_MASK,
                    sequence: first + index as u64,
                };
                frames.fill(buffer, stamp)
            });
            match sent {
                Ok(sent) => total += sent,
                Err(error) if is_link_error(&error) => return Ok(Turn::Over(End::LinkDown(lane.from))),
                Err(error) => return Err(error),
            }
        }
        ramp_up.sent(burst);
        self.ramp_up = Some(ramp_up);
        self.answer()?;
        Ok(Turn::Handled(total))
    }

    /// Frames that were refused or sent in answer until now are not the trial's.
    fn count_from_here(&mut self) -> io::Result<()> {
        self.refused_before = self.refused()?;
        self.answers = [0; 2];
        Ok(())
    }

    fn refused(&mut self) -> io::Result<[u64; 2]> {
        let [first, second] = self.senders;
        let [first, second] = [first.statistics()?, second.statistics()?];
        Ok([first.sent_into_full_queue, second.sent_into_full_queue])
    }
}

/// The first port whose link is down.
pub(crate) fn port_without_link<S: Sender>(senders: &mut [S; 2]) -> io::Result<Option<usize>> {
    for (port, sender) in senders.iter_mut().enumerate() {
        if !sender.link_is_up()? {
            return Ok(Some(port));
        }
    }
    Ok(None)
}

/// A frame that may be lost: a port that is busy or down now is noticed elsewhere.
fn send_one<S: Sender>(sender: &mut S, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> io::Result<()> {
    match sender.send_burst(1, &mut |_, buffer| fill(buffer)) {
        Err(error) if !is_link_error(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_link_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NetworkDown
}
