use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use brimful_trial::{Counts, Load, Nanoseconds, Ratio};
use thiserror::Error;

use crate::in_flight::{InFlight, Started};
use crate::pacing::Punctuality;
use crate::tally::Tally;
use crate::workload::{Area, IoStream, Workload};
use crate::{Arrivals, Clock, Direction, Io, Queue, Schedule};

/// IOs that are started in a row before the tester looks for completions.
const BURST: u32 = 32;
/// In a closed loop, IOs are taken back and started in batches of this part of those in flight, and never more.
const BATCH_SHARE: u32 = 8;
const MOST_AT_ONCE: u32 = 32;
/// Slots beyond load x deadline that a device in overload is given, so that bursts of Poisson arrivals have room.
pub(crate) const SPARE_SLOTS: u32 = 64;
/// How long IOs of a trial that is over may take to come back before the next one is given up.
const DRAIN_LIMIT: Nanoseconds = Nanoseconds(20_000_000_000);
/// A queue that empties refills what a device saves up when it has nothing to do.
const REST: Nanoseconds = Nanoseconds(100_000_000);
/// Places of a warm-up are others than those of its trial, which a cache might keep.
const WARM_UP_SEED: u64 = 1 << 63;
/// A sleep that is shorter is not worth it: waking up takes as long.
const SHORTEST_SLEEP: Nanoseconds = Nanoseconds(100_000);
/// A call of the kernel that takes completions takes about this long: where the next start is nearer, the tester waits
/// for it instead, and makes one call for both. More would show in the latencies.
const LOOK: Nanoseconds = Nanoseconds(2_000);
/// How often an interruption is looked for while sleeping.
const LONGEST_SLEEP: Nanoseconds = Nanoseconds(20_000_000);
/// Numbers of errors that say that nothing more can be measured; others are loss.
const FATAL: [i32; 9] = [
    libc::EINVAL,
    libc::ENOSPC,
    libc::EOPNOTSUPP,
    libc::EBADF,
    libc::EFAULT,
    libc::EPERM,
    libc::EROFS,
    libc::ENODEV,
    libc::ENXIO,
];

/// What the tester does while nothing is to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pause {
    /// It looks for completions all the time: exact, and takes a processor.
    Spin,
    /// It sleeps until the next start or completion.
    Sleep,
}

/// One trial.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    /// Intended starts a second.
    pub load: Load,
    /// Length of the sending phase.
    pub duration: Nanoseconds,
    /// For how long the load is offered before, uncounted: what a device saves while it has nothing to do, or needs to
    /// wake up, is none of the trial's.
    pub warm_up: Nanoseconds,
    /// Stop once more than this share of all IOs is lost.
    pub stop_above: Option<Ratio>,
    /// What is asked.
    pub workload: &'p Workload,
    /// Where.
    pub area: Area,
    /// When.
    pub arrivals: &'p Arrivals,
    /// Of places and times.
    pub seed: u64,
}

/// What a trial came to.
pub struct Finished {
    /// All IOs.
    pub counts: Counts,
    /// It ended before its time because of loss.
    pub stopped_early: bool,
    /// Why the tester made the result.
    pub flaw: Option<String>,
    pub(crate) tally: Tally,
}

/// Why nothing more can be measured.
#[derive(Debug, Error)]
pub enum Fault {
    /// The ring failed.
    #[error("the kernel takes no IOs: {0}")]
    Queue(#[from] io::Error),
    /// The device, or what is below it, refuses.
    #[error("a {direction} of {len} bytes failed: {error}")]
    Refused {
        /// `read` or `write`.
        direction: &'static str,
        /// Of the IO.
        len: u32,
        /// What the kernel said.
        error: io::Error,
    },
    /// IOs do not come back.
    #[error("{0} IOs of an earlier trial have not come back within {DRAIN_LIMIT}: the device hangs")]
    Hung(usize),
}

/// Performs trials on a queue, one at a time.
pub struct Engine<Q, C> {
    queue: Q,
    clock: C,
    in_flight: InFlight,
    deadline: Nanoseconds,
    punctuality: Punctuality,
    pause: Pause,
}

impl<Q: Queue, C: Clock> Engine<Q, C> {
    /// At most `slots` IOs are in flight; one that takes longer than `deadline` from its intended start is lost.
    pub fn new(queue: Q, clock: C, slots: u32, deadline: Nanoseconds, pause: Pause) -> Self {
        Self {
            queue,
            clock,
            in_flight: InFlight::new(slots),
            deadline,
            punctuality: Punctuality::shared(deadline),
            pause,
        }
    }

    /// How late the tester may be itself from now on, where that is not what one on shared processors may.
    pub fn keep_to(&mut self, punctuality: Punctuality) {
        self.punctuality = punctuality;
    }

    /// What takes the IOs.
    pub fn queue(&mut self) -> &mut Q {
        &mut self.queue
    }

    /// Performs one trial; `None` when `stop` was set.
    ///
    /// # Errors
    /// When nothing more can be measured.
    pub fn run(&mut self, plan: &Plan, stop: &AtomicBool) -> Result<Option<Finished>, Fault> {
        if plan.warm_up > Nanoseconds::ZERO {
            let warm_up = Plan {
                duration: plan.warm_up,
                warm_up: Nanoseconds::ZERO,
                stop_above: None,
                seed: plan.seed ^ WARM_UP_SEED,
                ..plan.clone()
            };
            if self.run(&warm_up, stop)?.is_none() {
                return Ok(None);
            }
        }
        if !self.drain(stop)? {
            return Ok(None);
        }
        let start = self.clock.now() + REST;
        let schedule = Schedule::new(start, plan.load, plan.duration, plan.arrivals, plan.seed);
        let mut turn = Turn {
            ios: plan.workload.stream(plan.area, plan.seed ^ 1),
            tally: Tally::new(schedule.count(), self.deadline, self.punctuality, start),
            last_due: start,
            has_begun: true,
            share: self.share_of(plan.load),
            schedule,
        };
        let stopped_early = loop {
            self.look(&mut turn)?;
            let now = self.clock.now();
            self.start_due(&mut turn, now)?;
            // What is left of a trial that is spoiled would only take time.
            if turn.tally.pacing.is_spoiled() {
                break false;
            }
            if turn.is_certain(plan.stop_above) {
                break true;
            }
            if turn.is_over(now, self.deadline, self.in_flight.len()) {
                break false;
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            self.rest(turn.schedule.due(), now)?;
        };
        let Turn { tally, schedule, .. } = turn;
        let counts = Counts::new(schedule.count(), tally.sent(), tally.lost()).unwrap_or_default();
        Ok(Some(Finished {
            counts,
            stopped_early,
            flaw: tally.flaw(),
            tally,
        }))
    }

    /// Keeps `depth` IOs in flight for a time, and gives how many were done and how long each took.
    ///
    /// # Errors
    /// When nothing more can be measured.
    pub fn closed_loop(
        &mut self,
        plan: &Plan,
        depth: u32,
        stop: &AtomicBool,
    ) -> Result<Option<(f64, Finished)>, Fault> {
        if !self.drain(stop)? {
            return Ok(None);
        }
        let mut ios = plan.workload.stream(plan.area, plan.seed);
        let start = self.clock.now();
        let end = start + plan.duration;
        let never = Nanoseconds(u64::MAX);
        let mut tally = Tally::new(u64::MAX / 64, never, Punctuality::shared(never), start);
        // The device keeps more than it can work on, so that calls of the kernel are what to save.
        let batch = (depth / BATCH_SHARE).clamp(1, MOST_AT_ONCE);
        let mut started = 0;
        let elapsed = loop {
            let now = self.clock.now();
            self.take_completions(&mut tally, now)?;
            if now >= end || stop.load(Ordering::Relaxed) {
                break now.saturating_sub(start);
            }
            while self.in_flight.len() < depth as usize {
                self.start(ios.next_io(), started, now, now, &mut tally)?;
                started += 1;
            }
            self.queue.wait(batch, LONGEST_SLEEP)?;
        };
        let done = tally.sent() - self.in_flight.len() as u64;
        let counts = Counts::new(done, done, tally.lost().min(done)).unwrap_or_default();
        let rate = done as f64 / elapsed.as_seconds();
        Ok(Some((
            rate,
            Finished {
                counts,
                stopped_early: false,
                flaw: None,
                tally,
            },
        )))
    }

    /// IOs that a device may hold at a load before it is given no more: what comes in one deadline, or all slots.
    fn share_of(&self, load: Load) -> usize {
        let wanted = (load.per_second() * self.deadline.as_seconds()).ceil() as usize + SPARE_SLOTS as usize;
        wanted.min(self.in_flight.slots())
    }

    /// Hands over what has begun and takes what is back, unless nothing has begun and the next start is near.
    fn look(&mut self, turn: &mut Turn) -> Result<(), Fault> {
        if turn.has_begun || turn.schedule.due() > self.clock.now() + LOOK {
            self.queue.enter()?;
            let now = self.clock.now();
            self.take_completions(&mut turn.tally, now)?;
        }
        Ok(())
    }

    fn take_completions(&mut self, tally: &mut Tally, now: Nanoseconds) -> Result<(), Fault> {
        while let Some(completion) = self.queue.pop() {
            let started = self.in_flight.end(completion.slot);
            let error = -completion.result;
            if FATAL.contains(&error) {
                return Err(Fault::Refused {
                    direction: match started.direction {
                        Direction::Read => "read",
                        Direction::Write => "write",
                    },
                    len: started.len,
                    error: io::Error::from_raw_os_error(error),
                });
            }
            tally.complete(&started, completion, now);
        }
        let before = now.saturating_sub(self.deadline);
        self.in_flight.expire(before, |started| tally.expire(started));
        tally.look(now);
        Ok(())
    }

    fn start_due(&mut self, turn: &mut Turn, now: Nanoseconds) -> Result<(), Fault> {
        turn.has_begun = false;
        for _ in 0..BURST {
            let due = turn.schedule.due();
            if due > now {
                break;
            }
            let io = turn.ios.next_io();
            let index = turn.schedule.taken();
            turn.schedule.take();
            turn.last_due = due;
            turn.has_begun = true;
            let is_stuck = self
                .in_flight
                .oldest()
                .is_some_and(|oldest| oldest.sent_at + self.deadline < now);
            if is_stuck && self.in_flight.len() >= turn.share {
                turn.tally.leave_out(io.direction);
            } else {
                self.start(io, index, due, now, &mut turn.tally)?;
            }
        }
        Ok(())
    }

    fn start(
        &mut self,
        io: Io,
        index: u64,
        due: Nanoseconds,
        now: Nanoseconds,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        let started = Started {
            index,
            direction: io.direction,
            len: io.len,
            due,
            sent_at: now,
            has_expired: false,
        };
        match self.in_flight.begin(started) {
            Some(slot) => {
                tally.begin(&started);
                self.queue.push(slot, io)?;
            }
            None => tally.unsent_by_tester += 1,
        }
        Ok(())
    }

    /// Lets time pass until something is to be done.
    fn rest(&mut self, due: Nanoseconds, now: Nanoseconds) -> Result<(), Fault> {
        let overdue = self
            .in_flight
            .oldest()
            .map_or(Nanoseconds(u64::MAX), |oldest| oldest.due + self.deadline);
        let span = due.min(overdue).saturating_sub(now).min(LONGEST_SLEEP);
        if self.pause == Pause::Sleep && span > SHORTEST_SLEEP {
            self.queue.wait(1, span)?;
        }
        Ok(())
    }

    /// Waits until nothing is in flight; false if it was called off.
    fn drain(&mut self, stop: &AtomicBool) -> Result<bool, Fault> {
        let end = self.clock.now() + DRAIN_LIMIT;
        while self.in_flight.len() > 0 {
            self.queue.wait(1, LONGEST_SLEEP)?;
            while let Some(completion) = self.queue.pop() {
                self.in_flight.end(completion.slot);
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if self.clock.now() > end {
                return Err(Fault::Hung(self.in_flight.len()));
            }
        }
        Ok(true)
    }
}

/// A trial that goes on.
struct Turn {
    schedule: Schedule,
    ios: IoStream,
    tally: Tally,
    last_due: Nanoseconds,
    /// IOs have begun, or been left out, since the last look.
    has_begun: bool,
    share: usize,
}

impl Turn {
    fn is_certain(&self, stop_above: Option<Ratio>) -> bool {
        let counts = Counts::new(self.schedule.count(), self.tally.sent(), self.tally.lost());
        stop_above.is_some_and(|ratio| counts.is_ok_and(|counts| counts.loss_is_certain_to_exceed(ratio)))
    }

    /// Nothing is left to start, and what is in flight is back or overdue.
    fn is_over(&self, now: Nanoseconds, deadline: Nanoseconds, in_flight: usize) -> bool {
        self.schedule.taken() == self.schedule.count() && (in_flight == 0 || now > self.last_due + deadline)
    }
}
