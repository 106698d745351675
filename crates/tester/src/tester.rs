use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use brimful_frame::{ArpPacket, Stamp, TemplateError};
use brimful_netdev::{MAX_BURST, Port, Statistics};
use brimful_trial::{Counts, Load, Nanoseconds, Ratio};

use crate::attribution::Counted;
use crate::lane::Lane;
use crate::pacing::WINDOW;
use crate::receiving::ReceivingLane;
use crate::sending::Identity;
use crate::station::{LEARNING_STREAM, Meaning, Station};
use crate::warnings::warnings;
use crate::{Clock, DirectionReport, PacingBounds, Profile, Schedule, Stream, Warning};

/// How long the tester waits at most for its learning frames to come through: a device that takes longer has learnt
/// or never will.
const LEARNING_WAIT: Nanoseconds = Nanoseconds(50_000_000);
/// Frames that each port sends before a trial, so that losing one does no harm.
const LEARNING_FRAMES: usize = 3;
/// From the end of learning to the first frame: time for the device to come to rest.
const LEAD: Nanoseconds = Nanoseconds(2_000_000);
/// Below this distance to the next frame the tester spins: waking up costs tens of microseconds.
const SPIN: Nanoseconds = Nanoseconds(1_000_000);
/// How long the tester sleeps at a time; bounds how late it notices anything. While frames may be on their way it spins,
/// or their delay would be wrong by as much; one that takes longer than [`ON_THE_WAY`] is measured to 1 %.
const NAP: Nanoseconds = Nanoseconds(200_000);
/// How long after the last frame was sent the tester expects a missing one at any moment.
const ON_THE_WAY: Nanoseconds = Nanoseconds(20_000_000);
/// Bursts that a receive ring holds at most; more have arrived meanwhile, and a device that never stops sending must
/// not hold up the tester.
const BACKLOG_BURSTS: usize = 4096;
/// How long a driver may take to give back frames after the end of sending.
const FLUSH_WAIT: Nanoseconds = Nanoseconds(100_000_000);
/// How long an interface may take to count frames that have left: network cards that gather their counters by
/// themselves do so every second or two.
const COUNTER_WAIT: Nanoseconds = Nanoseconds(2_500_000_000);
/// A sender that is behind at the end may finish within this share of the duration, one window at most: the mean
/// load is then wrong by no more than 1 %.
const OVERTIME_SHARE: u64 = 100;

/// The times that make up the contract of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// How long after the end of sending a frame may arrive.
    pub straggler_wait: Nanoseconds,
    /// How long a frame may be overtaken before an early stop takes it for lost.
    pub stop_grace: Nanoseconds,
    /// How long after the end of sending the tester rests when it stopped a trial early.
    pub rest_after_stop: Nanoseconds,
    /// From where on the sender spoils a trial.
    pub bounds: PacingBounds,
}

/// One trial to perform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialPlan {
    /// Load of each direction.
    pub load: Load,
    /// Length of the sending phase.
    pub duration: Nanoseconds,
    /// Stop once more than this share of all intended frames is certainly lost.
    pub stop_above: Option<Ratio>,
}

/// What is known after a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialReport {
    /// Sums over all directions.
    pub counts: Counts,
    /// Whether it was stopped because of loss.
    pub stopped_early: bool,
    /// Each direction apart.
    pub directions: Vec<DirectionReport>,
    /// What a reader of the counts should know.
    pub warnings: Vec<Warning>,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It counts.
    Counted(TrialReport),
    /// The tester or the link spoiled it.
    Invalid {
        /// What happened, with the figure.
        reason: String,
        /// What was seen nevertheless.
        report: TrialReport,
    },
    /// It was called off.
    Interrupted,
}

/// Two ports, one on each side of the device under test, driven by one thread.
///
/// One thread for both ports and both ways: the device then has the other processors to itself, and no frame waits
/// for a thread to be woken.
pub struct Tester<'a, P, C> {
    ports: [P; 2],
    clock: C,
    profile: Profile,
    timing: Timing,
    stop: &'a AtomicBool,
    stations: [Station; 2],
    streams: Vec<Stream>,
    trial: u16,
    learnt: [bool; 2],
    stale: u64,
    questions: Vec<(usize, ArpPacket)>,
    answers: [u64; 2],
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum ReadFirst {
    Port,
    Interface,
}

/// Why the sending phase ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    Schedule,
    Loss,
    LinkDown(usize),
    Interrupted,
}

impl<'a, P: Port, C: Clock> Tester<'a, P, C> {
    /// Takes two ports. `stop` calls off whatever is going on; `first_trial` should differ from run to run, so that
    /// frames left over from an earlier run are not taken for this one's.
    ///
    /// # Errors
    /// When a frame size of the profile has no room for headers and stamp, or is too large.
    pub fn new(
        ports: [P; 2],
        clock: C,
        profile: Profile,
        timing: Timing,
        stop: &'a AtomicBool,
        first_trial: u16,
    ) -> Result<Self, TemplateError> {
        let pairs = profile.directions().pairs().iter();
        Ok(Self {
            stations: [Station::new(&profile, 0)?, Station::new(&profile, 1)?],
            streams: pairs.map(|&(from, _)| profile.stream(from)).collect::<Result<_, _>>()?,
            ports,
            clock,
            profile,
            timing,
            stop,
            trial: first_trial,
            learnt: [false; 2],
            stale: 0,
            questions: Vec::new(),
            answers: [0; 2],
        })
    }

    /// Performs one trial.
    ///
    /// # Errors
    /// When a port fails for another reason than its link.
    pub fn measure(&mut self, plan: &TrialPlan) -> io::Result<Outcome> {
        self.trial = self.trial.wrapping_add(1);
        self.stale = 0;
        self.drain()?;
        if let Some(port) = self.port_without_link()? {
            return Ok(self.invalid(self.link_reason(port), &[]));
        }
        let before = self.counted(ReadFirst::Port)?;
        self.learn()?;
        let refused_before = self.statistics()?.map(|port| port.sent_into_full_queue);
        self.answers = [0; 2];
        let start = self.clock.now() + LEAD;
        let schedule = Schedule::new(start, plan.load, plan.duration, self.profile.shape());
        let mut lanes = Lane::all(self.profile.directions().pairs(), &schedule);
        let mut end = self.send(&mut lanes, plan)?;
        let end_of_sending = self.clock.now();
        let mut left_behind = [0; 2];
        if end != End::Interrupted {
            left_behind = self.flush()?;
            let refused = self.statistics()?.map(|port| port.sent_into_full_queue);
            for lane in &mut lanes {
                // Answers to ARP went the same way; taking them all for refused errs towards waiting longer.
                let from = lane.sending.from;
                let all = refused[from] - refused_before[from];
                lane.sending.sent_into_full_queue = all.saturating_sub(self.answers[from]);
            }
            let over = end_of_sending + self.timing.straggler_wait;
            end = self.await_stragglers(&mut lanes, over)?.unwrap_or(end);
        }
        if end == End::Loss {
            let over = end_of_sending + self.timing.rest_after_stop;
            end = self.rest(over)?.unwrap_or(end);
        }
        let during = self.settle(&mut lanes, &before)?;
        let spoiled = self.unseen(&during).or_else(|| self.unsent(left_behind));
        let spoiled = spoiled.or_else(|| self.lost_before_sent(&lanes));
        Ok(self.outcome(&lanes, plan, end, spoiled))
    }

    /// The ports, for whoever lent them.
    pub fn ports_mut(&mut self) -> &mut [P; 2] {
        &mut self.ports
    }

    /// What it sends.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Its times.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    pub(crate) fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Throws away what arrived while nobody looked.
    fn drain(&mut self) -> io::Result<()> {
        for port in &mut self.ports {
            for _ in 0..BACKLOG_BURSTS {
                if port.receive_burst(MAX_BURST, &mut |_| ())? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Shows both addresses to the device and waits until it has forwarded a frame each way.
    fn learn(&mut self) -> io::Result<()> {
        self.learnt = [false; 2];
        for _ in 0..LEARNING_FRAMES {
            for (port, station) in self.ports.iter_mut().zip(&self.stations) {
                let trial = self.trial;
                let mut len = None;
                send_one(port, &mut |buffer| {
                    len = station.fill_announcement(buffer);
                    len.unwrap_or_else(|| station.fill_learning(buffer, trial))
                })?;
                send_one(port, &mut |buffer| station.fill_learning(buffer, trial))?;
            }
        }
        let deadline = self.clock.now() + LEARNING_WAIT;
        while self.learnt != [true; 2] && self.clock.now() < deadline && !self.is_stopped() {
            if self.receive(&mut [], false)? == 0 {
                self.clock.sleep(NAP);
            }
        }
        Ok(())
    }

    fn send(&mut self, lanes: &mut [Lane], plan: &TrialPlan) -> io::Result<End> {
        let overtime = Nanoseconds((plan.duration.0 / OVERTIME_SHARE).min(WINDOW.0));
        let deadline = lanes.iter().map(|lane| lane.sending.end()).max().unwrap_or_default() + overtime;
        let mut next_check = Nanoseconds::ZERO;
        loop {
            let now = self.clock.now();
            if now >= next_check {
                next_check = now + WINDOW;
                if let Some(end) = self.check(lanes, plan, now)? {
                    return Ok(end);
                }
            }
            if lanes.iter().all(|lane| lane.sending.has_sent_all()) || now > deadline {
                return Ok(End::Schedule);
            }
            let mut idle = true;
            for (lane, stream) in lanes.iter_mut().zip(0..) {
                let identity = Identity {
                    trial: self.trial,
                    stream,
                };
                let sending = &mut lane.sending;
                let port = &mut self.ports[sending.from];
                match sending.send_due(port, &self.streams[usize::from(stream)], identity, &self.clock, now) {
                    Ok(sent) => idle &= sent == 0,
                    Err(error) if is_link_error(&error) => return Ok(End::LinkDown(sending.from)),
                    Err(error) => return Err(error),
                }
            }
            idle &= self.receive(lanes, false)? == 0;
            let may_nap = |lane: &Lane| {
                let is_due_soon = !lane.sending.has_sent_all() && lane.sending.next_due() <= now + SPIN;
                !is_due_soon && !lane.expects_frames(now, ON_THE_WAY)
            };
            if idle && lanes.iter().all(may_nap) {
                self.clock.sleep(NAP);
            }
        }
    }

    /// What ends the sending phase before its time.
    fn check(&mut self, lanes: &mut [Lane], plan: &TrialPlan, now: Nanoseconds) -> io::Result<Option<End>> {
        if self.is_stopped() {
            return Ok(Some(End::Interrupted));
        }
        if let Some(port) = self.port_without_link()? {
            return Ok(Some(End::LinkDown(port)));
        }
        let Some(limit) = plan.stop_above else {
            return Ok(None);
        };
        let grace = self.timing.stop_grace;
        let silence = self.timing.straggler_wait.max(grace);
        let mut lost = 0;
        for Lane { sending, receiving, .. } in lanes.iter_mut() {
            receiving.note_sent(now, sending.sent(), silence);
            lost += receiving.certainly_lost(now, grace, silence);
        }
        let (intended, sent) = totals(lanes);
        let certain = Counts::new(intended, sent, lost).is_ok_and(|counts| counts.loss_is_certain_to_exceed(limit));
        Ok(certain.then_some(End::Loss))
    }

    /// Waits until all frames have left and gives how many have not, of each port.
    fn flush(&mut self) -> io::Result<[usize; 2]> {
        let deadline = self.clock.now() + FLUSH_WAIT;
        let mut left_behind = [0; 2];
        for (port, left) in self.ports.iter_mut().zip(&mut left_behind) {
            *left = port.flush()?;
            while *left > 0 && self.clock.now() < deadline {
                *left = port.flush()?;
            }
        }
        Ok(left_behind)
    }

    /// Waits until everything has arrived or the contract is over.
    fn await_stragglers(&mut self, lanes: &mut [Lane], deadline: Nanoseconds) -> io::Result<Option<End>> {
        while lanes.iter().any(Lane::may_have_stragglers) {
            if self.is_stopped() {
                return Ok(Some(End::Interrupted));
            }
            let now = self.clock.now();
            if now >= deadline {
                // What has arrived by the deadline counts, however late it is fetched.
                self.receive_backlog(lanes)?;
                break;
            }
            let may_nap = !lanes.iter().any(|lane| lane.expects_frames(now, ON_THE_WAY));
            if self.receive(lanes, true)? == 0 && may_nap {
                self.clock.sleep(NAP);
            }
        }
        Ok(None)
    }

    fn receive_backlog(&mut self, lanes: &mut [Lane]) -> io::Result<()> {
        for _ in 0..BACKLOG_BURSTS {
            if self.receive(lanes, true)? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// A stopped trial ends in the middle of a disturbance; the next one should not start there.
    fn rest(&mut self, deadline: Nanoseconds) -> io::Result<Option<End>> {
        while self.clock.now() < deadline {
            if self.is_stopped() {
                return Ok(Some(End::Interrupted));
            }
            if self.receive(&mut [], true)? == 0 {
                self.clock.sleep(NAP);
            }
        }
        Ok(None)
    }

    /// Takes in what has arrived on both ports and gives how many frames that were.
    fn receive(&mut self, lanes: &mut [Lane], sending_is_over: bool) -> io::Result<usize> {
        let mut total = 0;
        for (index, (port, station)) in self.ports.iter_mut().zip(&self.stations).enumerate() {
            // Read at the first frame: the others of its burst had arrived by then or arrive while it is handled.
            let mut arrival = None;
            let received = port.receive_burst(MAX_BURST, &mut |bytes| match station.meaning(bytes) {
                Meaning::Test(stamp) if stamp.trial != self.trial => self.stale += 1,
                Meaning::Test(stamp) if stamp.stream == LEARNING_STREAM => {
                    self.learnt[index] = true;
                }
                Meaning::Test(stamp) => match receiver_of(lanes, &stamp) {
                    Some(lane) if lane.to == index => {
                        let now = *arrival.get_or_insert_with(|| self.clock.now());
                        lane.take(&stamp, now, sending_is_over);
                    }
                    Some(lane) => lane.misrouted[index] += 1,
                    None => {}
                },
                Meaning::OtherVlan(stamp) if stamp.trial == self.trial => {
                    if let Some(lane) = receiver_of(lanes, &stamp) {
                        lane.misrouted[index] += 1;
                    }
                }
                Meaning::Damaged => {
                    if let Some(lane) = lanes.iter_mut().find(|lane| lane.receiving.to == index) {
                        lane.receiving.damaged += 1;
                    }
                }
                Meaning::AddressWanted(question) => self.questions.push((index, question)),
                Meaning::OtherVlan(_) | Meaning::Foreign => {}
            })?;
            total += received;
        }
        for (index, question) in self.questions.drain(..) {
            let station = &self.stations[index];
            self.answers[index] += 1;
            send_one(&mut self.ports[index], &mut |buffer| {
                station.fill_answer(buffer, question)
            })?;
        }
        Ok(total)
    }

    fn outcome(&self, lanes: &[Lane], plan: &TrialPlan, end: End, spoiled: Option<String>) -> Outcome {
        match end {
            End::Interrupted => return Outcome::Interrupted,
            End::LinkDown(port) => return self.invalid(self.link_reason(port), lanes),
            End::Schedule | End::Loss => {}
        }
        if let Some(reason) = spoiled {
            return self.invalid(reason, lanes);
        }
        for lane in lanes {
            if let Err(spoiled) = lane.sending.pacing.verdict(&self.timing.bounds, end == End::Loss) {
                let name = self.ports[lane.sending.from].name();
                return self.invalid(format!("{name}: {spoiled}"), lanes);
            }
        }
        let report = self.report(lanes, end == End::Loss);
        if let (End::Loss, Some(limit)) = (end, plan.stop_above)
            && !report.counts.loss_is_certain_to_exceed(limit)
        {
            let reason = "frames taken for lost arrived after the trial was stopped: \
                          the device delays frames longer than the stop grace time (--stop-grace)";
            return self.invalid(reason.to_owned(), lanes);
        }
        Outcome::Counted(report)
    }

    fn invalid(&self, reason: String, lanes: &[Lane]) -> Outcome {
        let report = self.report(lanes, false);
        Outcome::Invalid { reason, report }
    }

    fn report(&self, lanes: &[Lane], stopped_early: bool) -> TrialReport {
        let names = [self.ports[0].name(), self.ports[1].name()];
        let directions: Vec<_> = lanes.iter().map(|lane| lane.report(names)).collect();
        let (intended, sent) = totals(lanes);
        let lost = lanes.iter().map(Lane::lost).sum();
        TrialReport {
            counts: Counts::new(intended, sent, lost).expect("no frame is received that was not sent"),
            stopped_early,
            warnings: warnings(&directions, self.stale),
            directions,
        }
    }

    fn link_reason(&self, port: usize) -> String {
        format!("the link of {} is down", self.ports[port].name())
    }

    fn port_without_link(&mut self) -> io::Result<Option<usize>> {
        for (index, port) in self.ports.iter_mut().enumerate() {
            if !port.link_is_up()? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// What each port and its interface have counted so far. A frame may arrive between the two readings; which is read
    /// first decides that it is never taken for unseen.
    fn counted(&mut self, first: ReadFirst) -> io::Result<[Counted; 2]> {
        let mut counted = [Counted::default(); 2];
        if first == ReadFirst::Interface {
            counted[0].interface = self.ports[0].interface_counters()?;
            counted[1].interface = self.ports[1].interface_counters()?;
            self.drain()?;
        }
        let statistics = self.statistics()?;
        for (port, counted) in counted.iter_mut().enumerate() {
            counted.port = statistics[port];
            if first == ReadFirst::Port {
                counted.interface = self.ports[port].interface_counters()?;
            }
        }
        Ok(counted)
    }

    /// Gives and notes what ports and interfaces have counted during a trial. An interface that seems to have sent less
    /// than was lost gets time: some network cards update their counters late.
    fn settle(&mut self, lanes: &mut [Lane], before: &[Counted; 2]) -> io::Result<[Counted; 2]> {
        let deadline = self.clock.now() + COUNTER_WAIT;
        loop {
            let after = self.counted(ReadFirst::Interface)?;
            let during = [0, 1].map(|port| after[port].since(&before[port]));
            for lane in lanes.iter_mut() {
                lane.settle(&during);
            }
            let is_complete = lanes.iter().all(|lane| lane.lost_before_sent() == 0);
            if is_complete || self.is_stopped() || self.clock.now() >= deadline {
                return Ok(during);
            }
            self.clock.sleep(WINDOW);
        }
    }

    /// Why what the tester has received is not all that there was to receive.
    fn unseen(&self, during: &[Counted; 2]) -> Option<String> {
        (0..2).find_map(|port| {
            let name = self.ports[port].name();
            let dropped = during[port].port.receive_dropped;
            if dropped > 0 {
                return Some(format!(
                    "the tester itself dropped {dropped} frames that arrived on {name}"
                ));
            }
            let unseen = during[port].unseen();
            (unseen > 0).then(|| format!("{unseen} frames arrived on {name} that the tester was not given"))
        })
    }

    /// Why what the tester has sent is not all that it took for sent.
    fn unsent(&self, left_behind: [usize; 2]) -> Option<String> {
        let port = (0..2).find(|&port| left_behind[port] > 0)?;
        let (count, name) = (left_behind[port], self.ports[port].name());
        Some(format!(
            "{count} frames had not left {name} {FLUSH_WAIT} after the end of sending"
        ))
    }

    /// Why what was lost was not the device's to lose.
    fn lost_before_sent(&self, lanes: &[Lane]) -> Option<String> {
        let lane = lanes.iter().find(|lane| lane.lost_before_sent() > 0)?;
        let (count, name) = (lane.lost_before_sent(), self.ports[lane.sending.from].name());
        Some(format!(
            "{count} frames were lost in the tester before {name} sent them"
        ))
    }

    fn statistics(&mut self) -> io::Result<[Statistics; 2]> {
        let [first, second] = &mut self.ports;
        Ok([first.statistics()?, second.statistics()?])
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Whose a frame of the current trial is; nobody's when it was never sent.
fn receiver_of<'l>(lanes: &'l mut [Lane], stamp: &Stamp) -> Option<&'l mut ReceivingLane> {
    let lane = lanes.get_mut(usize::from(stamp.stream))?;
    (stamp.sequence < lane.sending.sent()).then_some(&mut lane.receiving)
}

fn totals(lanes: &[Lane]) -> (u64, u64) {
    lanes.iter().fold((0, 0), |(intended, sent), lane| {
        (intended + lane.sending.intended(), sent + lane.sending.sent())
    })
}

/// A frame that may be lost: a port that is busy or down now is noticed elsewhere.
fn send_one<P: Port>(port: &mut P, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> io::Result<()> {
    match port.send_burst(1, &mut |_, buffer| fill(buffer)) {
        Err(error) if !is_link_error(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_link_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NetworkDown
}
