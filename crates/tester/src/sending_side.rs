use std::io;
use std::num::NonZeroU64;

use brimful_netdev::Sender;
use brimful_trial::Nanoseconds;

use crate::cost::Work;
use crate::exchange::Exchange;
use crate::lane::sending_lanes;
use crate::pacing::{PacingLimits, WINDOW};
use crate::ramp_up::RampUp;
use crate::sending_lane::SendingLane;
use crate::station::{RAMP_UP_STREAM, Station};
use crate::test_frames::{Stamp, TIMESTAMP_MASK};
use crate::turn::{End, Turn};
use crate::{Clock, LoadShape, PacingBounds, Routes, Stream, TrialPlan};

/// Frames that each port sends before a trial, so that losing one does no harm.
const LEARNING_FRAMES: usize = 3;
/// From the beginning of the sending phase to the first frame: time for the device to come to rest.
const LEAD: Nanoseconds = Nanoseconds(2_000_000);
/// Below this distance to the next frame the tester spins: waking up costs tens of microseconds.
const SPIN: Nanoseconds = Nanoseconds(1_000_000);
/// A sender that is behind at the end may finish within this share of the duration, one window at most: the mean
/// load is then wrong by no more than 1 %.
const OVERTIME_SHARE: u64 = 100;

/// What all ports send during one trial.
pub(crate) struct SendingSide<'t, S> {
    senders: &'t mut [S],
    stations: &'t [Station],
    /// Of the directions.
    pub(crate) streams: &'t [Stream],
    exchange: &'t Exchange,
    trial: u16,
    /// Of the ports that send; empty until the sending phase begins.
    pub(crate) lanes: Vec<SendingLane>,
    /// The most frames by which a port was ahead of another one at any time, each on its own schedule.
    pub(crate) slip: u64,
    /// Of the thread that sends, which may be the only one.
    pub(crate) work: Work,
    /// What goes before the trial, of each lane; empty once that is over.
    ramp_ups: Vec<RampUp>,
    /// From when on what is not sent remains unsent.
    deadline: Nanoseconds,
    /// Beyond these the sender has spoiled the trial.
    limits: PacingLimits,
    /// How often it asks whether the links are up, and when next.
    link_check: Nanoseconds,
    next_link_check: Nanoseconds,
    /// Frames that the queue of the receiver attached to each port had refused when the trial proper began.
    refused_before: Vec<u64>,
    /// Frames sent on each port beside those of the trial since then: answers to questions, and broadcasts.
    beside: Vec<u64>,
    /// One of N frames is a broadcast that counts nowhere.
    broadcast_every: Option<NonZeroU64>,
    /// How many each lane has sent.
    broadcasts: Vec<u64>,
}

/// What is to be sent.
#[derive(Clone, Copy)]
pub(crate) struct SendingPlan<'t> {
    pub(crate) routes: &'t Routes,
    pub(crate) trial: &'t TrialPlan,
    /// For how long the load rises before the trial.
    pub(crate) ramp_up: Nanoseconds,
    /// How the frames of the trial are spread over time.
    pub(crate) shape: &'t LoadShape,
    /// One of N frames is a broadcast that counts nowhere: RFC 2544 section 11.1.
    pub(crate) broadcast_every: Option<NonZeroU64>,
    /// From where on the sender spoils the trial: what is left of it would only take time.
    pub(crate) bounds: PacingBounds,
    /// How often to ask whether the links are up.
    pub(crate) link_check: Nanoseconds,
}

impl<'t, S: Sender> SendingSide<'t, S> {
    pub(crate) fn new(
        senders: &'t mut [S],
        stations: &'t [Station],
        streams: &'t [Stream],
        exchange: &'t Exchange,
        trial: u16,
    ) -> Self {
        Self {
            refused_before: vec![0; senders.len()],
            beside: vec![0; senders.len()],
            senders,
            stations,
            streams,
            exchange,
            trial,
            lanes: Vec::new(),
            slip: 0,
            work: Work::default(),
            ramp_ups: Vec::new(),
            broadcast_every: None,
            broadcasts: Vec::new(),
            deadline: Nanoseconds::ZERO,
            limits: PacingLimits::default(),
            link_check: Nanoseconds::ZERO,
            next_link_check: Nanoseconds::ZERO,
        }
    }

    /// Shows the addresses of all ports to the device.
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
            routes,
            trial,
            ramp_up,
            shape,
            broadcast_every,
            bounds,
            link_check,
        } = *plan;
        let start = now + LEAD;
        if ramp_up > Nanoseconds::ZERO {
            let rising = |order: &_| RampUp::new(start, ramp_up, trial.load_of(order));
            self.ramp_ups = routes.orders().iter().map(rising).collect();
        }
        self.limits = bounds.limits(trial.duration);
        self.link_check = link_check;
        let overtime = Nanoseconds((trial.duration.0 / OVERTIME_SHARE).min(WINDOW.0));
        self.lanes = sending_lanes(routes, self.senders.len(), trial, start + ramp_up, shape);
        self.broadcast_every = broadcast_every;
        self.broadcasts = vec![0; self.lanes.len()];
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
        if let Some(ramp_up) = self.ramp_ups.first() {
            if !ramp_up.is_over(now) {
                return self.ramp_up(clock, now);
            }
            self.ramp_ups.clear();
            self.count_from_here()?;
        }
        let mut total = 0;
        let (mut most_due, mut least_left) = (0, u64::MAX);
        for (lane, progress) in self.lanes.iter_mut().zip(self.exchange.senders()) {
            let sender = &mut self.senders[lane.from];
            match lane.send_due(sender, self.streams, self.trial, progress, clock, now) {
                Ok(sent) => {
                    total += sent.frames;
                    most_due = most_due.max(sent.due);
                    least_left = least_left.min(sent.due - sent.frames);
                }
                Err(error) if is_link_error(&error) => return Ok(Turn::Over(End::LinkDown(lane.from))),
                Err(error) => return Err(error),
            }
        }
        // The first port has sent while the last one has not.
        self.slip = self.slip.max(most_due.saturating_sub(least_left));
        self.broadcast()?;
        self.answer()?;
        Ok(Turn::Handled(total as usize))
    }

    /// Whether the next frame is far enough away to give the processor away.
    pub(crate) fn may_rest(&self, now: Nanoseconds) -> bool {
        let is_far = |lane: &SendingLane| lane.next_due() > now + SPIN;
        self.ramp_ups.is_empty() && self.lanes.iter().all(is_far)
    }

    /// Sends broadcasts, evenly among the frames of each lane.
    fn broadcast(&mut self) -> io::Result<()> {
        let Some(every) = self.broadcast_every else {
            return Ok(());
        };
        for (lane, sent) in self.lanes.iter().zip(&mut self.broadcasts) {
            while *sent < broadcasts_due(lane.sent(), every) {
                *sent += 1;
                self.beside[lane.from] += 1;
                let station = &self.stations[lane.from];
                send_one(&mut self.senders[lane.from], &mut |buffer| {
                    station.fill_broadcast(buffer, self.trial)
                })?;
            }
        }
        Ok(())
    }

    /// Answers those who have asked for an address.
    pub(crate) fn answer(&mut self) -> io::Result<()> {
        for (port, question) in self.exchange.take_questions() {
            let station = &self.stations[port];
            self.beside[port] += 1;
            send_one(&mut self.senders[port], &mut |buffer| {
                station.fill_answer(buffer, question)
            })?;
        }
        Ok(())
    }

    /// Pushes out what has not left and gives how many frames still have not, of each port.
    pub(crate) fn flush(&mut self) -> io::Result<Vec<usize>> {
        self.senders.iter_mut().map(Sender::flush).collect()
    }

    /// Gives the lanes how many of their frames were refused on the spot.
    pub(crate) fn settle_refused(&mut self) -> io::Result<()> {
        let refused = self.refused()?;
        for lane in &mut self.lanes {
            let all = refused[lane.from] - self.refused_before[lane.from];
            // These went the same way; taking them all for refused errs towards waiting longer.
            lane.sent_into_full_queue = all.saturating_sub(self.beside[lane.from]);
        }
        Ok(())
    }

    /// Sends what goes before the trial and counts nowhere; what a port does not take is left out.
    fn ramp_up(&mut self, clock: &impl Clock, now: Nanoseconds) -> io::Result<Turn> {
        let mut total = 0;
        for (lane, ramp_up) in self.lanes.iter().zip(&mut self.ramp_ups) {
            let (first, burst) = ramp_up.due(now);
            let sent = self.senders[lane.from].send_burst(burst, &mut |index, buffer| {
                let frame = first + index as u64;
                let stamp = Stamp {
                    trial: self.trial,
                    stream: RAMP_UP_STREAM,
                    timestamp: clock.now().0 & TIMESTAMP_MASK,
                    sequence: frame,
                };
                self.streams[lane.direction(frame)].fill(buffer, stamp)
            });
            ramp_up.sent(burst);
            match sent {
                Ok(sent) => total += sent,
                Err(error) if is_link_error(&error) => return Ok(Turn::Over(End::LinkDown(lane.from))),
                Err(error) => return Err(error),
            }
        }
        self.answer()?;
        Ok(Turn::Handled(total))
    }

    /// Frames that were refused or sent in answer until now are not the trial's.
    fn count_from_here(&mut self) -> io::Result<()> {
        self.refused_before = self.refused()?;
        self.beside.fill(0);
        Ok(())
    }

    fn refused(&mut self) -> io::Result<Vec<u64>> {
        let refused = |sender: &mut S| Ok(sender.statistics()?.sent_into_full_queue);
        self.senders.iter_mut().map(refused).collect()
    }
}

/// Broadcasts that belong among the first `frames` of a trial, if one of `every` is one.
fn broadcasts_due(frames: u64, every: NonZeroU64) -> u64 {
    frames / every.get().saturating_sub(1).max(1)
}

/// The first port whose link is down.
pub(crate) fn port_without_link<S: Sender>(senders: &mut [S]) -> io::Result<Option<usize>> {
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
