use std::io;
use std::iter;
use std::mem;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brimful_netdev::{Port, Receiver, SendStatistics, Sender};
use brimful_trial::Nanoseconds;

use crate::attribution::Counted;
use crate::clock::ClockWatch;
use crate::exchange::Exchange;
use crate::failure;
use crate::lane::{Lanes, receiving_lanes};
use crate::outcome::Evidence;
use crate::pacing::WINDOW;
use crate::plan::SendingPlan;
use crate::receiving_side::{EarlyStop, ReceivingSide, asked_in_vain, drain};
use crate::sending_side::{SendingPort, SendingSide, deal_out, is_link_error, port_without_link};
use crate::sharing::Sharing;
use crate::station::Station;
use crate::test_frames::TemplateError;
use crate::trial::{FLUSH_WAIT, LEARNING_PATIENCE, LEARNING_WAIT, Trial};
use crate::turn::End;
use crate::{Clock, Outcome, Profile, Stream, Threads, Timing, TrialPlan};

/// How long an interface may take to count frames that have left: network cards that gather their counters by
/// themselves do so every second or two.
const COUNTER_WAIT: Nanoseconds = Nanoseconds(2_500_000_000);

/// How often a sender asks whether its links are up, which takes as long as to send a frame or two. Where interfaces count
/// each time that a link went down, none is overlooked; elsewhere it asks once a window.
const LINK_CHECK: Nanoseconds = Nanoseconds(100_000_000);

/// Ports, two or more, around the device under test.
pub struct Tester<'a, S, R, C> {
    senders: Vec<S>,
    /// Of each port, for further threads that send there.
    more_senders: Vec<Vec<S>>,
    receivers: Vec<R>,
    clock: C,
    profile: Profile,
    timing: Timing,
    threads: Threads,
    /// Of the threads that send and of those that receive but for the calling one, in their order; any where there are none.
    processors: Vec<usize>,
    ramp_up: Nanoseconds,
    broadcast_every: Option<NonZeroU64>,
    stop: &'a AtomicBool,
    stations: Vec<Station>,
    /// Of the directions.
    streams: Arc<[Stream]>,
    trial: u16,
    /// How long the next trial waits at most until the device has learnt the addresses.
    learning_wait: Nanoseconds,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum ReadFirst {
    Port,
    Interface,
}

impl<'a, S: Sender, R: Receiver, C: Clock> Tester<'a, S, R, C> {
    /// Takes the ports that a profile is for. `stop` calls off whatever is going on; `first_trial` should differ from run to run, so that
    /// frames left over from an earlier run are not taken for this one's. One thread does everything, and trials begin
    /// at their load.
    ///
    /// # Errors
    /// When a frame size of the profile has no room for headers and stamp, or is too large.
    ///
    /// # Panics
    /// When the profile is for another number of ports.
    pub fn new(
        ports: impl IntoIterator<Item = Port<S, R>>,
        clock: C,
        profile: Profile,
        timing: Timing,
        stop: &'a AtomicBool,
        first_trial: u16,
    ) -> Result<Self, TemplateError> {
        let directions = profile.routes().directions().iter();
        let streams: Arc<[_]> = directions
            .map(|direction| profile.stream(direction.from, direction.to))
            .collect::<Result<_, _>>()?;
        let stations = (0..profile.ports()).map(|port| Station::new(&profile, port, &streams));
        let (senders, receivers): (Vec<_>, Vec<_>) = ports.into_iter().map(|port| (port.sender, port.receiver)).unzip();
        assert_eq!(senders.len(), profile.ports(), "a profile is for its number of ports");
        Ok(Self {
            more_senders: senders.iter().map(|_| Vec::new()).collect(),
            stations: stations.collect::<Result<_, _>>()?,
            streams,
            senders,
            receivers,
            clock,
            profile,
            timing,
            threads: Threads::One,
            processors: Vec::new(),
            ramp_up: Nanoseconds::ZERO,
            broadcast_every: None,
            stop,
            trial: first_trial,
            learning_wait: LEARNING_PATIENCE,
        })
    }

    /// The same with its trials performed by this number of threads.
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// The same with further ways to send on each port, in their order, so that several threads can share it.
    #[must_use]
    pub fn with_more_senders(self, more_senders: Vec<Vec<S>>) -> Self {
        Self { more_senders, ..self }
    }

    /// The same with each thread that sends, and then each that receives but for the calling one, on one of these
    /// processors.
    #[must_use]
    pub fn with_processors(self, processors: Vec<usize>) -> Self {
        Self { processors, ..self }
    }

    /// The same with the load rising to that of the trial for so long before each trial, by frames that count nowhere.
    #[must_use]
    pub fn with_ramp_up(self, ramp_up: Nanoseconds) -> Self {
        Self { ramp_up, ..self }
    }

    /// The same with one of N frames a broadcast, beside the load, that counts nowhere (RFC 2544 section 11.1).
    #[must_use]
    pub fn with_broadcasts(self, broadcast_every: Option<NonZeroU64>) -> Self {
        Self {
            broadcast_every,
            ..self
        }
    }

    /// Performs one trial.
    ///
    /// # Errors
    /// When a port fails for another reason than its link.
    pub fn measure(&mut self, plan: &TrialPlan) -> io::Result<Outcome> {
        match self.perform(plan) {
            // Some ways into the kernel say so of whatever they are asked first.
            Err(error) if is_link_error(&error) => {
                let port = self.port_without_link()?.ok_or(error)?;
                Ok(self.evidence(&Lanes::default(), 0).link_down(port))
            }
            outcome => outcome,
        }
    }

    fn perform(&mut self, plan: &TrialPlan) -> io::Result<Outcome> {
        self.trial = self.trial.wrapping_add(1);
        drain(&mut self.receivers)?;
        if let Some(port) = self.port_without_link()? {
            return Ok(self.evidence(&Lanes::default(), 0).link_down(port));
        }
        let before = self.counted(ReadFirst::Port)?;
        let is_without_link = |counted: &Counted| counted.interface.is_some_and(|counters| counters.is_without_link);
        if let Some(port) = before.iter().position(is_without_link) {
            return Ok(self.evidence(&Lanes::default(), 0).link_down(port));
        }
        let (profile, timing, processors) = (self.profile.clone(), self.timing, self.processors.clone());
        let (threads, learning_wait) = (self.threads, self.learning_wait);
        let sharing = self.sharing();
        let sending_plan = SendingPlan {
            routes: profile.routes(),
            ports: profile.ports(),
            sharing: &sharing,
            trial: plan,
            ramp_up: self.ramp_up,
            broadcast_every: self.broadcast_every,
            shape: profile.shape(),
            bounds: timing.bounds,
            link_check: if before.iter().all(|counted| counted.interface.is_some()) {
                LINK_CHECK
            } else {
                WINDOW
            },
        };
        let exchange = self.exchange(&sharing);
        let streams = Arc::clone(&self.streams);
        let mut trial = self.trial(&exchange, &sharing, plan);
        let is_learnt = trial.learn(learning_wait)?;
        for side in &mut trial.receiving {
            side.lanes = receiving_lanes(&profile, &streams, &sharing, plan);
        }
        let mut end = trial.send(&sending_plan, threads, &processors)?;
        let end_of_sending = trial.now();
        let mut left_behind = None;
        if end != End::Interrupted {
            left_behind = trial.flush()?;
            let over = end_of_sending + timing.straggler_wait;
            end = trial.await_stragglers(over)?.unwrap_or(end);
        }
        if end == End::Loss {
            let over = end_of_sending + timing.rest_after_stop;
            end = trial.rest(over)?.unwrap_or(end);
        }
        if let (Some(flaw), true) = (trial.watch.flaw(), end != End::Interrupted) {
            end = End::WrongClock(flaw);
        }
        let costs = trial.costs(threads);
        let Trial { sending, receiving, .. } = trial;
        let stale = receiving.iter().map(|side| side.stale).sum();
        let asked_in_vain = asked_in_vain(&receiving);
        let slip = sending.iter().map(|side| side.slip).max().unwrap_or(0);
        let sent = sending.into_iter().flat_map(|side| side.lanes).collect();
        let mut lanes = Lanes::join(sent, ReceivingSide::join(receiving), slip);
        self.learning_wait = if is_learnt { LEARNING_PATIENCE } else { LEARNING_WAIT };
        let during = self.settle(&mut lanes, &before)?;
        if let (Some(port), End::Schedule | End::Loss | End::OffSchedule) = (self.port_without_link()?, end) {
            end = End::LinkDown(port);
        }
        let spoiled = self.flapped(&during).or_else(|| self.unseen(&during));
        let spoiled = spoiled.or_else(|| self.unsent(left_behind));
        let spoiled = spoiled.or_else(|| self.lost_before_sent(&lanes));
        let evidence = Evidence {
            asked_in_vain,
            costs,
            ..self.evidence(&lanes, stale)
        };
        Ok(evidence.judge(end, plan.stop_above, spoiled, &timing.bounds))
    }

    /// Why a trial came to nothing, in one line.
    pub(crate) fn failure(&mut self, error: &io::Error) -> String {
        let longest = self.profile.max_frame_len().unwrap_or_default();
        failure::describe(&mut self.senders, longest, error)
    }

    /// The sending halves of the ports, for their owner.
    pub fn senders_mut(&mut self) -> &mut [S] {
        &mut self.senders
    }

    /// The receiving halves of the ports, for their owner.
    pub fn receivers_mut(&mut self) -> &mut [R] {
        &mut self.receivers
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

    /// Gives what it was before.
    pub(crate) fn set_ramp_up(&mut self, ramp_up: Nanoseconds) -> Nanoseconds {
        mem::replace(&mut self.ramp_up, ramp_up)
    }

    /// By flows as well where that can be done, else by ports alone.
    fn sharing(&self) -> Sharing {
        let routes = self.profile.routes();
        let threads = match self.threads {
            Threads::One => 1,
            Threads::Several { senders, .. } => senders,
        };
        let is_possible = |sharing: &Sharing| {
            let mut ports = routes
                .orders()
                .iter()
                .map(|order| 1 + self.more_senders[order.from].len());
            ports.all(|ways| ways >= sharing.lots_of_a_port())
        };
        let sharing = Sharing::new(routes, &self.streams, threads).ok().filter(is_possible);
        sharing.unwrap_or_else(|| Sharing::by_ports(routes, threads))
    }

    /// A port that sends nothing is with the first thread.
    fn exchange(&self, sharing: &Sharing) -> Exchange {
        let routes = self.profile.routes();
        let side_of = |port| {
            let place = routes.place_of(port);
            place.map_or(0, |place| sharing.thread_of(sharing.first_lane(place)))
        };
        let sides = (0..self.senders.len()).map(side_of).collect();
        Exchange::new(sharing.lanes(), sharing.threads(), self.receiving_sides(), sides)
    }

    fn receiving_sides(&self) -> usize {
        match self.threads {
            Threads::One => 1,
            Threads::Several { receivers, .. } => receivers.clamp(1, self.receivers.len()),
        }
    }

    fn trial<'t>(&'t mut self, exchange: &'t Exchange, sharing: &Sharing, plan: &TrialPlan) -> Trial<'t, S, R, C> {
        let orders = self.profile.routes().orders().iter();
        let early_stop = EarlyStop {
            stop: self.stop,
            limit: plan.stop_above,
            intended: orders.map(|order| plan.frames(order)).sum(),
            grace: self.timing.stop_grace,
            silence: self.timing.straggler_wait.max(self.timing.stop_grace),
        };
        let receiving_sides = self.receiving_sides();
        let side = |number| SendingSide::new(number, &self.streams, exchange, self.trial);
        let senders = self.senders.iter_mut().zip(&mut self.more_senders).zip(&self.stations);
        let ports = senders.enumerate().map(|(number, ((first, more), station))| {
            let lane = self
                .profile
                .routes()
                .place_of(number)
                .map(|place| sharing.first_lane(place));
            let lots = lane.map_or(1, |_| sharing.lots_of_a_port());
            SendingPort::all(number, lane, iter::once(first).chain(more).take(lots), station)
        });
        let sending = deal_out(
            ports.flatten().collect(),
            sharing,
            (0..sharing.threads()).map(side).collect(),
        );
        Trial {
            sending,
            receiving: ReceivingSide::all(
                receiving_sides,
                &mut self.receivers,
                &self.stations,
                early_stop,
                exchange,
                self.trial,
            ),
            exchange,
            clock: &self.clock,
            watch: ClockWatch::default(),
            stop: self.stop,
        }
    }

    fn port_without_link(&mut self) -> io::Result<Option<usize>> {
        port_without_link(self.senders.iter_mut().enumerate())
    }

    fn evidence<'t>(&'t self, lanes: &'t Lanes, stale: u64) -> Evidence<'t> {
        Evidence {
            names: self.senders.iter().map(Sender::name).collect(),
            lanes,
            stale,
            asked_in_vain: Vec::new(),
            costs: Vec::new(),
        }
    }

    /// What each port and its interface have counted so far. A frame may arrive between the two readings; which is read
    /// first decides that it is never taken for unseen.
    fn counted(&mut self, first: ReadFirst) -> io::Result<Vec<Counted>> {
        let mut counted = vec![Counted::default(); self.senders.len()];
        if first == ReadFirst::Interface {
            for (sender, counted) in self.senders.iter_mut().zip(&mut counted) {
                counted.interface = sender.interface_counters()?;
            }
            drain(&mut self.receivers)?;
        }
        for (port, counted) in counted.iter_mut().enumerate() {
            counted.sender = self.sent_on(port)?;
            counted.receiver = self.receivers[port].statistics()?;
            if first == ReadFirst::Port {
                counted.interface = self.senders[port].interface_counters()?;
            }
        }
        Ok(counted)
    }

    /// What all that send on a port have counted.
    fn sent_on(&mut self, port: usize) -> io::Result<SendStatistics> {
        let mut all = self.senders[port].statistics()?;
        for sender in &mut self.more_senders[port] {
            let more = sender.statistics()?;
            all.sent += more.sent;
            all.sent_into_full_queue += more.sent_into_full_queue;
        }
        Ok(all)
    }

    /// Gives and notes what ports and interfaces have counted during a trial. An interface that seems to have sent less
    /// than was lost gets time: some network cards update their counters late.
    fn settle(&mut self, lanes: &mut Lanes, before: &[Counted]) -> io::Result<Vec<Counted>> {
        let deadline = self.clock.now() + COUNTER_WAIT;
        let mut watch = ClockWatch::default();
        loop {
            let after = self.counted(ReadFirst::Interface)?;
            let during: Vec<_> = after
                .iter()
                .zip(before)
                .map(|(after, before)| after.since(before))
                .collect();
            lanes.settle(&during);
            if lanes.lost_before_sent.is_none() || self.stop.load(Ordering::Relaxed) {
                return Ok(during);
            }
            let now = self.clock.now();
            if now >= deadline || watch.look(now).is_some() {
                return Ok(during);
            }
            self.clock.sleep(WINDOW);
            watch.note_nap();
        }
    }

    /// Why frames may have been lost that neither device nor tester has lost.
    fn flapped(&self, during: &[Counted]) -> Option<String> {
        let port = during.iter().position(Counted::lost_its_link)?;
        let name = self.senders[port].name();
        Some(format!("the link of {name} went down during the trial"))
    }

    /// Why what the tester has received is not all that there was to receive.
    fn unseen(&self, during: &[Counted]) -> Option<String> {
        self.senders.iter().zip(during).find_map(|(sender, during)| {
            let name = sender.name();
            let dropped = during.receiver.receive_dropped;
            if dropped > 0 {
                return Some(format!(
                    "the tester itself dropped {dropped} frames that arrived on {name}"
                ));
            }
            let dropped = during.dropped_by_interface();
            if dropped > 0 {
                return Some(format!(
                    "{name} itself dropped {dropped} frames that arrived: `brimful tester check {name}` may say why"
                ));
            }
            let unseen = during.unseen();
            (unseen > 0).then(|| format!("{unseen} frames arrived on {name} that the tester was not given"))
        })
    }

    /// Why what the tester has sent is not all that it took for sent.
    fn unsent(&self, left_behind: Option<(usize, usize)>) -> Option<String> {
        let (port, count) = left_behind?;
        let name = self.senders[port].name();
        Some(format!(
            "{count} frames had not left {name} {FLUSH_WAIT} after the end of sending"
        ))
    }

    /// Why what was lost was not the device's to lose.
    fn lost_before_sent(&self, lanes: &Lanes) -> Option<String> {
        let (port, count) = lanes.lost_before_sent?;
        let name = self.senders[port].name();
        Some(format!(
            "{count} frames were lost in the tester before {name} sent them"
        ))
    }
}
