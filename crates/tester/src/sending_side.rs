use std::io;
use std::num::NonZeroU64;

use brimful_netdev::Sender;
use brimful_trial::Nanoseconds;

use crate::cost::Work;
use crate::exchange::Exchange;
use crate::lane::sending_lane;
use crate::pacing::{PacingLimits, WINDOW};
use crate::plan::SendingPlan;
use crate::ramp_up::RampUp;
use crate::sending_lane::SendingLane;
use crate::sharing::Sharing;
use crate::station::{RAMP_UP_STREAM, Station};
use crate::test_frames::{Stamp, TIMESTAMP_MASK};
use crate::turn::{End, Turn};
use crate::{Clock, Stream};

/// Frames that each port sends before a trial, so that losing one does no harm.
const LEARNING_FRAMES: usize = 3;
/// From the beginning of the sending phase to the first frame: time for the device to come to rest.
const LEAD: Nanoseconds = Nanoseconds(2_000_000);
/// Below this distance to the next frame the tester spins: waking up costs tens of microseconds.
const SPIN: Nanoseconds = Nanoseconds(1_000_000);
/// A sender that is behind at the end may finish within this share of the duration, one window at most: the mean
/// load is then wrong by no more than 1 %.
const OVERTIME_SHARE: u64 = 100;

/// What one thread sends during one trial: all that some of the ports send.
pub(crate) struct SendingSide<'t, S> {
    /// Its place among the sending sides.
    number: usize,
    /// Those that send come first, in the order of the lanes.
    ports: Vec<SendingPort<'t, S>>,
    /// Of the directions.
    streams: &'t [Stream],
    exchange: &'t Exchange,
    trial: u16,
    /// Of its ports that send; empty until the sending phase begins.
    pub(crate) lanes: Vec<SendingLane>,
    /// The most frames by which a port was ahead of another one at any time, each on its own schedule.
    pub(crate) slip: u64,
    /// Of the thread that sends, which may be the only one.
    pub(crate) work: Work,
    /// What goes before the trial, of each lane; empty once that is over.
    ramp_ups: Vec<RampUp>,
    /// One of N frames is a broadcast that counts nowhere.
    broadcast_every: Option<NonZeroU64>,
    /// From when on what is not sent remains unsent.
    deadline: Nanoseconds,
    /// Beyond these the sender has spoiled the trial.
    limits: PacingLimits,
    /// How often it asks whether the links are up, and when next.
    link_check: Nanoseconds,
    next_link_check: Nanoseconds,
}

/// A port of a sending side, or one of several ways to send there.
pub(crate) struct SendingPort<'t, S> {
    number: usize,
    /// Whether it speaks for the port: several threads may send there.
    is_first: bool,
    /// The place of its lane among all, where it sends.
    lane: Option<usize>,
    sender: &'t mut S,
    station: &'t Station,
    /// Frames that the queue of the receiver attached to it had refused when the trial proper began.
    refused_before: u64,
    /// Frames sent beside those of the trial since then: answers to questions, and broadcasts.
    beside: u64,
    broadcasts: u64,
}

impl<'t, S> SendingPort<'t, S> {
    /// A port of which each lot is sent another way, the first by this lane, where it sends.
    pub(crate) fn all(
        number: usize,
        first_lane: Option<usize>,
        senders: impl Iterator<Item = &'t mut S>,
        station: &'t Station,
    ) -> impl Iterator<Item = Self> {
        (0..).zip(senders).map(move |(lot, sender)| Self {
            number,
            is_first: lot == 0,
            lane: first_lane.map(|first| first + lot),
            sender,
            station,
            refused_before: 0,
            beside: 0,
            broadcasts: 0,
        })
    }
}

/// Gives the sending sides their ports.
pub(crate) fn deal_out<'t, S>(
    mut ports: Vec<SendingPort<'t, S>>,
    sharing: &Sharing,
    mut sides: Vec<SendingSide<'t, S>>,
) -> Vec<SendingSide<'t, S>> {
    ports.sort_by_key(|port| port.lane.unwrap_or(usize::MAX));
    for port in ports {
        let thread = port.lane.map_or(0, |lane| sharing.thread_of(lane));
        sides[thread].ports.push(port);
    }
    sides
}

impl<'t, S: Sender> SendingSide<'t, S> {
    /// Without ports yet.
    pub(crate) fn new(number: usize, streams: &'t [Stream], exchange: &'t Exchange, trial: u16) -> Self {
        Self {
            number,
            ports: Vec::new(),
            streams,
            exchange,
            trial,
            lanes: Vec::new(),
            slip: 0,
            work: Work::default(),
            ramp_ups: Vec::new(),
            broadcast_every: None,
            deadline: Nanoseconds::ZERO,
            limits: PacingLimits::default(),
            link_check: Nanoseconds::ZERO,
            next_link_check: Nanoseconds::ZERO,
        }
    }

    /// Shows the addresses of its ports to the device.
    pub(crate) fn announce(&mut self) -> io::Result<()> {
        let trial = self.trial;
        for _ in 0..LEARNING_FRAMES {
            let ports = self.ports.iter_mut().filter(|port| port.is_first);
            for SendingPort { sender, station, .. } in ports {
                let mut len = None;
                send_one(*sender, &mut |buffer| {
                    len = station.fill_announcement(buffer);
                    len.unwrap_or_else(|| station.fill_learning(buffer, trial))
                })?;
                send_one(*sender, &mut |buffer| station.fill_learning(buffer, trial))?;
            }
        }
        Ok(())
    }

    /// Begins the sending phase now, which is the same for all sending sides.
    pub(crate) fn begin(&mut self, plan: &SendingPlan<'_>, now: Nanoseconds) -> io::Result<()> {
        let SendingPlan {
            trial,
            ramp_up,
            broadcast_every,
            bounds,
            link_check,
            ..
        } = *plan;
        let start = now + LEAD;
        let lanes = self.ports.iter().filter_map(|port| port.lane);
        self.lanes = lanes.map(|place| sending_lane(place, plan, start + ramp_up)).collect();
        if ramp_up > Nanoseconds::ZERO {
            let rising = |lane: &SendingLane| RampUp::new(start, ramp_up, plan.load_of_lot(lane.order()));
            self.ramp_ups = self.lanes.iter().map(rising).collect();
        }
        self.broadcast_every = broadcast_every;
        self.limits = bounds.limits(trial.duration);
        self.link_check = link_check;
        let overtime = Nanoseconds((trial.duration.0 / OVERTIME_SHARE).min(WINDOW.0));
        self.deadline = self.lanes.iter().map(SendingLane::end).max().unwrap_or_default() + overtime;
        self.count_from_here()
    }

    /// Sends what is due by `now`.
    pub(crate) fn turn(&mut self, clock: &impl Clock, now: Nanoseconds) -> io::Result<Turn> {
        if now >= self.next_link_check {
            self.next_link_check = now + self.link_check;
            let own = self.ports.iter_mut().map(|port| (port.number, &mut *port.sender));
            if let Some(port) = port_without_link(own)? {
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
        // The ports of another side may all be in time.
        let is_alone = self.exchange.sending_sides() == 1;
        let (mut most_due, mut least_left) = (0, if is_alone { u64::MAX } else { 0 });
        for (lane, port) in self.lanes.iter_mut().zip(&mut self.ports) {
            let progress = &self.exchange.lanes()[lane.place];
            match lane.send_due(port.sender, self.streams, self.trial, progress, clock, now) {
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
        for (lane, port) in self.lanes.iter().zip(&mut self.ports) {
            while port.broadcasts < broadcasts_due(lane.sent(), every) {
                port.broadcasts += 1;
                port.beside += 1;
                send_one(port.sender, &mut |buffer| {
                    port.station.fill_broadcast(buffer, self.trial)
                })?;
            }
        }
        Ok(())
    }

    /// Answers those who have asked for an address.
    pub(crate) fn answer(&mut self) -> io::Result<()> {
        for (number, question) in self.exchange.take_questions(self.number) {
            for port in self.ports.iter_mut().filter(|port| port.number == number) {
                port.beside += 1;
                send_one(port.sender, &mut |buffer| port.station.fill_answer(buffer, &question))?;
            }
        }
        Ok(())
    }

    /// Pushes out what has not left and gives the first port that still has frames, with how many.
    pub(crate) fn flush(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut first = None;
        for port in &mut self.ports {
            let left = port.sender.flush()?;
            first = first.or((left > 0).then_some((port.number, left)));
        }
        Ok(first)
    }

    /// Gives the lanes how many of their frames were refused on the spot.
    pub(crate) fn settle_refused(&mut self) -> io::Result<()> {
        for (lane, port) in self.lanes.iter_mut().zip(&mut self.ports) {
            let all = port.sender.statistics()?.sent_into_full_queue - port.refused_before;
            // These went the same way; taking them all for refused errs towards waiting longer.
            lane.sent_into_full_queue = all.saturating_sub(port.beside);
        }
        Ok(())
    }

    /// Sends what goes before the trial and counts nowhere; what a port does not take is left out.
    fn ramp_up(&mut self, clock: &impl Clock, now: Nanoseconds) -> io::Result<Turn> {
        let mut total = 0;
        let lanes = self.lanes.iter().zip(&mut self.ports);
        for ((lane, port), ramp_up) in lanes.zip(&mut self.ramp_ups) {
            let (first, burst) = ramp_up.due(now);
            let sent = port.sender.send_burst(burst, &mut |index, buffer| {
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
        for port in &mut self.ports {
            port.refused_before = port.sender.statistics()?.sent_into_full_queue;
            port.beside = 0;
        }
        Ok(())
    }
}

/// Broadcasts that belong among the first `frames` of a trial, if one of `every` is one.
fn broadcasts_due(frames: u64, every: NonZeroU64) -> u64 {
    frames / every.get().saturating_sub(1).max(1)
}

/// The first of these ports whose link is down.
pub(crate) fn port_without_link<'s, S: Sender + 's>(
    senders: impl Iterator<Item = (usize, &'s mut S)>,
) -> io::Result<Option<usize>> {
    for (port, sender) in senders {
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

pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NetworkDown
}
