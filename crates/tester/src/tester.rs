use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brimful_netdev::{Port, Receiver, Sender};
use brimful_trial::Nanoseconds;

use crate::attribution::Counted;
use crate::clock::ClockWatch;
use crate::exchange::Exchange;
use crate::lane::{Lanes, receiving_lanes};
use crate::outcome::Evidence;
use crate::pacing::WINDOW;
use crate::receiving_side::{EarlyStop, ReceivingSide, drain};
use crate::sending_side::{SendingPlan, SendingSide, port_without_link};
use crate::station::Station;
use crate::test_frames::TemplateError;
use crate::trial::{FLUSH_WAIT, Trial};
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
    receivers: Vec<R>,
    clock: C,
    profile: Profile,
    timing: Timing,
    threads: Threads,
    ramp_up: Nanoseconds,
    stop: &'a AtomicBool,
    stations: Vec<Station>,
    /// Of the directions.
    streams: Arc<[Stream]>,
    trial: u16,
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
            stations: stations.collect::<Result<_, _>>()?,
            streams,
            senders,
            receivers,
            clock,
            profile,
            timing,
            threads: Threads::One,
            ramp_up: Nanoseconds::ZERO,
            stop,
            trial: first_trial,
        })
    }

    /// The same with its trials performed by this number of threads.
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// The same with the load rising to that of the trial for so long before each trial, by frames that count nowhere.
    #[must_use]
    pub fn with_ramp_up(self, ramp_up: Nanoseconds) -> Self {
        Self { ramp_up, ..self }
    }

    /// Performs one trial.
    ///
    /// # Errors
    /// When a port fails for another reason than its link.
    pub fn measure(&mut self, plan: &TrialPlan) -> io::Result<Outcome> {
        self.trial = self.trial.wrapping_add(1);
        drain(&mut self.receivers)?;
        if let Some(port) = port_without_link(&mut self.senders)? {
            return Ok(self.evidence(&Lanes::default(), 0).link_down(port));
        }
        let before = self.counted(ReadFirst::Port)?;
        let is_without_link = |counted: &Counted| counted.interface.is_some_and(|counters| counters.is_without_link);
        if let Some(port) = before.iter().position(is_without_link) {
            return Ok(self.evidence(&Lanes::default(), 0).link_down(port));
        }
        let (profile, timing, threads) = (self.profile.clone(), self.timing, self.threads);
        let sending_plan = SendingPlan {
            routes: profile.routes(),
            trial: plan,
            ramp_up: self.ramp_up,
            shape: profile.shape(),
            bounds: timing.bounds,
            link_check: if before.iter().all(|counted| counted.interface.is_some()) {
                LINK_CHECK
            } else {
                WINDOW
            },
        };
        let exchange = Exchange::new(profile.routes().orders().len());
        let mut trial = self.trial(&exchange, plan);
        trial.learn()?;
        trial.receiving.lanes = receiving_lanes(&profile, trial.sending.streams, plan);
        let mut end = trial.send(&sending_plan, threads)?;
        let end_of_sending = trial.now();
        let mut left_behind = Vec::new();
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
        let stale = receiving.stale;
        let mut lanes = Lanes::join(sending.lanes, receiving.into_lanes(), sending.slip);
        let during = self.settle(&mut lanes, &before)?;
        if let (Some(port), End::Schedule | End::Loss | End::OffSchedule) = (port_without_link(&mut self.senders)?, end)
        {
            end = End::LinkDown(port);
        }
        let spoiled = self.flapped(&during).or_else(|| self.unseen(&during));
        let spoiled = spoiled.or_else(|| self.unsent(&left_behind));
        let spoiled = spoiled.or_else(|| self.lost_before_sent(&lanes));
        let evidence = Evidence {
            costs,
            ..self.evidence(&lanes, stale)
        };
        Ok(evidence.judge(end, plan.stop_above, spoiled, &timing.bounds))
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

    fn trial<'t>(&'t mut self, exchange: &'t Exchange, plan: &TrialPlan) -> Trial<'t, S, R, C> {
        let orders = self.profile.routes().orders().iter();
        let early_stop = EarlyStop {
            stop: self.stop,
            limit: plan.stop_above,
            intended: orders.map(|order| plan.frames(order)).sum(),
            grace: self.timing.stop_grace,
            silence: self.timing.straggler_wait.max(self.timing.stop_grace),
        };
        Trial {
            sending: SendingSide::new(&mut self.senders, &self.stations, &self.streams, exchange, self.trial),
            receiving: ReceivingSide::new(&mut self.receivers, &self.stations, early_stop, exchange, self.trial),
            exchange,
            clock: &self.clock,
            watch: ClockWatch::default(),
            stop: self.stop,
        }
    }

    fn evidence<'t>(&'t self, lanes: &'t Lanes, stale: u64) -> Evidence<'t> {
        Evidence {
            names: self.senders.iter().map(Sender::name).collect(),
            lanes,
            stale,
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
            counted.sender = self.senders[port].statistics()?;
            counted.receiver = self.receivers[port].statistics()?;
            if first == ReadFirst::Port {
                counted.interface = self.senders[port].interface_counters()?;
            }
        }
        Ok(counted)
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
    fn unsent(&self, left_behind: &[usize]) -> Option<String> {
        let port = left_behind.iter().position(|&frames| frames > 0)?;
        let (count, name) = (left_behind[port], self.senders[port].name());
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
