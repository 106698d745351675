use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use brimful_netdev::{MAX_BURST, MonotonicTime, Receiver};
use brimful_trial::program::Polls;
use brimful_trial::{Counts, Nanoseconds, Ratio};

use crate::Clock;
use crate::cost::Work;
use crate::exchange::Exchange;
use crate::pacing::WINDOW;
use crate::question::Insistence;
use crate::receiving_lane::ReceivingLane;
use crate::station::{LEARNING_STREAM, Meaning, Station};
use crate::test_frames::Stamp;
use crate::turn::{End, Turn};

/// Bursts that a receive ring holds at most; more have arrived meanwhile, and a device that never stops sending must
/// not hold up the tester.
const BACKLOG_BURSTS: usize = 4096;
/// A frame that was noted longer ago than any ring holds it was noted by another clock: that of the kernel, where ours
/// is set apart (`time_namespaces`).
const OLDEST_ARRIVAL: Nanoseconds = Nanoseconds(1_000_000_000);

/// What one thread receives during one trial: all that arrives on some of the ports. Alone in its cache lines, as each
/// frame is counted here, and the next thread's side may lie beside it.
#[repr(align(128))]
pub(crate) struct ReceivingSide<'t, R> {
    /// Its place among the receiving sides.
    number: usize,
    /// With their numbers.
    receivers: Vec<(usize, &'t mut R)>,
    /// Of all ports.
    stations: &'t [Station],
    early_stop: EarlyStop<'t>,
    exchange: &'t Exchange,
    trial: u16,
    /// Of all directions; of those to ports of other sides, what arrives here is misrouted. Empty until the sending phase
    /// begins.
    pub(crate) lanes: Vec<ReceivingLane>,
    /// Frames of earlier trials.
    pub(crate) stale: u64,
    /// The ports of which a learning frame has arrived somewhere.
    pub(crate) learnt: Vec<bool>,
    /// Of who asks for addresses at each port.
    insistence: Vec<Insistence>,
    pub(crate) work: Work,
    /// Of all ports, one after the other.
    polls: Polls,
    noted: Noted,
    next_check: Nanoseconds,
}

/// Of how many test frames the kernel has noted when they arrived, and of how many it has not.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    yes: u64,
    no: u64,
}

/// What ends the sending phase before its time, seen by the receiving sides.
#[derive(Clone, Copy)]
pub(crate) struct EarlyStop<'t> {
    /// Whether all is called off.
    pub(crate) stop: &'t AtomicBool,
    /// The largest loss that is of interest.
    pub(crate) limit: Option<Ratio>,
    /// Frames of the whole trial.
    pub(crate) intended: u64,
    pub(crate) grace: Nanoseconds,
    pub(crate) silence: Nanoseconds,
}

/// What a test frame counts for that arrives now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Arriving {
    WhileSending,
    Straggling,
    /// Before or after the contract: for nothing.
    Outside,
}

impl<'t, R: Receiver> ReceivingSide<'t, R> {
    /// This number of sides, to which the ports are dealt out in turn.
    pub(crate) fn all(
        count: usize,
        receivers: &'t mut [R],
        stations: &'t [Station],
        early_stop: EarlyStop<'t>,
        exchange: &'t Exchange,
        trial: u16,
    ) -> Vec<Self> {
        let ports = receivers.len();
        let side = |number| Self {
            number,
            receivers: Vec::new(),
            learnt: vec![false; ports],
            insistence: (0..ports).map(|_| Insistence::default()).collect(),
            stations,
            early_stop,
            exchange,
            trial,
            lanes: Vec::new(),
            stale: 0,
            work: Work::default(),
            polls: Polls::new(),
            noted: Noted::default(),
            next_check: Nanoseconds::ZERO,
        };
        let mut sides: Vec<_> = (0..count).map(side).collect();
        for (port, receiver) in receivers.iter_mut().enumerate() {
            sides[port % count].receivers.push((port, receiver));
        }
        sides
    }

    /// Takes in what has arrived, while frames are sent.
    pub(crate) fn turn(&mut self, clock: &impl Clock, now: Nanoseconds) -> io::Result<Turn> {
        if self.may_be_late() {
            self.polls.poll_for_noted();
        } else {
            self.polls.poll(now);
        }
        if now >= self.next_check {
            self.next_check = now + WINDOW;
            if self.early_stop.stop.load(Ordering::Relaxed) {
                return Ok(Turn::Over(End::Interrupted));
            }
            if self.loss_is_certain(now) {
                return Ok(Turn::Over(End::Loss));
            }
        }
        self.receive(clock, Arriving::WhileSending).map(Turn::Handled)
    }

    /// Whether no frame suffers if the ports are not polled for a moment, because the kernel has noted when all arrived
    /// so far.
    pub(crate) fn may_be_late(&self) -> bool {
        self.noted.yes > 0 && self.noted.no == 0
    }

    /// The ports are not polled for a while, because nothing is on its way.
    pub(crate) fn rest(&mut self) {
        self.polls.rest();
    }

    /// The directions to its ports.
    pub(crate) fn own_lanes(&self) -> impl Iterator<Item = &ReceivingLane> {
        self.lanes.iter().filter(|lane| self.receives_at(lane.to))
    }

    fn receives_at(&self, port: usize) -> bool {
        receives_at(&self.receivers, port)
    }

    /// What arrived in each direction at all sides, now that the trial is over.
    pub(crate) fn join(sides: Vec<Self>) -> Vec<ReceivingLane> {
        let mut joined: Vec<ReceivingLane> = Vec::new();
        for side in sides {
            let Self {
                lanes,
                polls,
                receivers,
                ..
            } = side;
            for (index, mut lane) in lanes.into_iter().enumerate() {
                lane.delay.polls = polls.clone();
                let is_received_here = receives_at(&receivers, lane.to);
                match joined.get_mut(index) {
                    Some(known) => known.join(lane, is_received_here),
                    None => joined.push(lane),
                }
            }
        }
        joined
    }

    /// Takes in one burst of each port and gives how many frames that were.
    pub(crate) fn receive(&mut self, clock: &impl Clock, arriving: Arriving) -> io::Result<usize> {
        let mut total = 0;
        for (port, receiver) in &mut self.receivers {
            let port = *port;
            let (station, lanes, exchange) = (&self.stations[port], &mut self.lanes, self.exchange);
            let lanes = if arriving == Arriving::Outside {
                &mut []
            } else {
                &mut lanes[..]
            };
            // Read at the first frame: the others of its burst had arrived by then or arrive while it is handled.
            let mut fetched = None;
            let noted = &mut self.noted;
            let mut arrival = |moment| {
                let fetched = *fetched.get_or_insert_with(|| clock.now());
                noted.arrival(clock, moment, fetched)
            };
            total += receiver.receive_burst(MAX_BURST, &mut |frame| match station.meaning(&frame) {
                Meaning::Test(stamp) if stamp.trial != self.trial => self.stale += 1,
                Meaning::Test(stamp) if stamp.stream == LEARNING_STREAM => {
                    // Whatever port it arrived at: the device has seen it, and with it the address of the sender.
                    if let Some(learnt) = self.learnt.get_mut(stamp.timestamp as usize) {
                        *learnt = true;
                    }
                    arrival(frame.time);
                }
                Meaning::Test(stamp) => match lane_of(lanes, &stamp, exchange) {
                    Some(lane) if lane.to == port => {
                        lane.take(&stamp, arrival(frame.time), arriving == Arriving::Straggling);
                    }
                    Some(lane) => lane.misrouted[port] += 1,
                    None => {}
                },
                Meaning::OtherVlan(stamp) if stamp.trial == self.trial => {
                    if let Some(lane) = lane_of(lanes, &stamp, exchange) {
                        lane.misrouted[port] += 1;
                    }
                }
                Meaning::Damaged => {
                    if let Some(lane) = lanes.iter_mut().find(|lane| lane.to == port) {
                        lane.damaged += 1;
                    }
                }
                Meaning::AddressWanted(question) => {
                    self.insistence[port].note(question.address(), clock.now());
                    exchange.ask(port, question);
                }
                Meaning::OtherVlan(_) | Meaning::Foreign => {}
            })?;
        }
        Ok(total)
    }

    /// Takes in all that has arrived by now.
    pub(crate) fn receive_backlog(&mut self, clock: &impl Clock, arriving: Arriving) -> io::Result<()> {
        for _ in 0..BACKLOG_BURSTS {
            if self.receive(clock, arriving)? == 0 {
                break;
            }
        }
        Ok(())
    }

    fn loss_is_certain(&mut self, now: Nanoseconds) -> bool {
        let EarlyStop {
            limit: Some(limit),
            intended,
            grace,
            silence,
            ..
        } = self.early_stop
        else {
            return false;
        };
        let (mut lost, mut all_sent) = (0, 0);
        for lane in &mut self.lanes {
            let (sent, complete) = lane.sent_so_far(self.exchange);
            all_sent += sent;
            if receives_at(&self.receivers, lane.to) {
                lane.note_sent(now, complete, silence);
                lost += lane.certainly_lost(now, grace, silence);
            }
        }
        // What others found a moment ago was sent by then, so that there is never more of it than was sent.
        let lost = self.exchange.note_certain_loss(self.number, lost);
        Counts::new(intended, all_sent, lost).is_ok_and(|counts| counts.loss_is_certain_to_exceed(limit))
    }
}

/// Of the ports, how often the same address was asked for in a row, in vain.
pub(crate) fn asked_in_vain<R>(sides: &[ReceivingSide<'_, R>]) -> Vec<Option<u64>> {
    let ports = 0..sides.iter().map(|side| side.insistence.len()).max().unwrap_or(0);
    let at = |port: usize| sides.iter().filter_map(|side| side.insistence[port].in_vain()).max();
    ports.map(at).collect()
}

fn receives_at<R>(receivers: &[(usize, &mut R)], port: usize) -> bool {
    receivers.iter().any(|(own, _)| *own == port)
}

impl Noted {
    /// When a frame arrived, as far as known, that was fetched at this time.
    fn arrival(&mut self, clock: &impl Clock, moment: Option<MonotonicTime>, fetched: Nanoseconds) -> Nanoseconds {
        let noted = moment
            .and_then(|moment| clock.at(moment))
            .filter(|&at| at <= fetched && fetched <= at + OLDEST_ARRIVAL);
        self.yes += u64::from(noted.is_some());
        self.no += u64::from(noted.is_none());
        noted.unwrap_or(fetched)
    }
}

/// Whose a frame of the current trial is; none when it was never sent.
fn lane_of<'l>(lanes: &'l mut [ReceivingLane], stamp: &Stamp, exchange: &Exchange) -> Option<&'l mut ReceivingLane> {
    let lane = lanes.get_mut(usize::from(stamp.stream))?;
    lane.was_offered(stamp.sequence, exchange).then_some(lane)
}

/// Throws away what arrived while the ports were not polled.
pub(crate) fn drain<R: Receiver>(receivers: &mut [R]) -> io::Result<()> {
    for receiver in receivers {
        for _ in 0..BACKLOG_BURSTS {
            if receiver.receive_burst(MAX_BURST, &mut |_| ())? == 0 {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Began 100 ns after the system's.
    struct LaterClock;

    impl Clock for LaterClock {
        fn now(&self) -> Nanoseconds {
            Nanoseconds::ZERO
        }

        fn at(&self, moment: MonotonicTime) -> Option<Nanoseconds> {
            moment.0.checked_sub(100).map(Nanoseconds)
        }

        fn sleep(&self, _: Nanoseconds) {}
    }

    #[test]
    fn only_a_time_within_the_last_second_is_the_arrival() {
        const SECOND: u64 = 1_000_000_000;
        let fetched = 3 * SECOND;
        for (moment, at) in [
            (None, None),
            (Some(99), None),
            (Some(2 * SECOND + 99), None),
            (Some(2 * SECOND + 100), Some(2 * SECOND)),
            (Some(3 * SECOND + 100), Some(3 * SECOND)),
            (Some(3 * SECOND + 101), None),
        ] {
            let mut noted = Noted::default();
            let arrival = noted.arrival(&LaterClock, moment.map(MonotonicTime), Nanoseconds(fetched));
            assert_eq!(arrival, Nanoseconds(at.unwrap_or(fetched)), "{moment:?}");
            assert_eq!(
                (noted.yes, noted.no),
                (u64::from(at.is_some()), u64::from(at.is_none()))
            );
        }
    }
}
