//! One trial, phase by phase. While frames are sent, one loop runs both sides in turns, or each side runs its own, of
//! which several may send and several receive; what a turn does and what it decides is the same.

use std::hint;
use std::io;
use std::iter;
use std::panic;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle, Thread};

use brimful_netdev::{Receiver, Sender};
use brimful_trial::Nanoseconds;

use crate::clock::ClockWatch;
use crate::exchange::Exchange;
use crate::lane::{lost_of_sender, sum_of};
use crate::plan::SendingPlan;
use crate::receiving_side::{Arriving, ReceivingSide};
use crate::sending_lane::SendingLane;
use crate::sending_side::SendingSide;
use crate::turn::{End, Turn};
use crate::{Clock, Cost, Threads, stay_on};

/// How long the tester waits at most for its learning frames to come through, unless they did not before the last trial.
/// A busy machine holds up a device that runs on it for tenths of a second, and a bridge that has not learnt yet floods.
pub(crate) const LEARNING_PATIENCE: Nanoseconds = Nanoseconds(1_000_000_000);
/// How long it waits for them where they did not: such a device has learnt or never will.
pub(crate) const LEARNING_WAIT: Nanoseconds = Nanoseconds(50_000_000);
/// How long the tester sleeps at a time; bounds how late it notices anything. While frames may be on their way it spins,
/// or their delay would be wrong by as much; one that takes longer than [`ON_THE_WAY`] is measured to 1 %. A thread that
/// only receives need not, where the kernel notes when they arrive.
const NAP: Nanoseconds = Nanoseconds(200_000);
/// How long after the last frame was sent the tester expects a missing one at any moment.
const ON_THE_WAY: Nanoseconds = Nanoseconds(20_000_000);
/// Pauses of the processor, a microsecond at most, after a look of the receiving thread at empty rings where it may not
/// sleep: each look takes cache lines away from the thread that sends, and from what shares a core with it.
const IDLE_PAUSES: u32 = 16;
/// After sending, the time in which the counters of the interfaces are not read: that takes some tenths of a millisecond,
/// and who holds frames back for less, a fault injector, would hold them for longer.
const FRAMES_ONLY: Nanoseconds = Nanoseconds(2_000_000);
/// What a clock that cannot be right is taken to read: all waiting is over then.
const END_OF_TIME: Nanoseconds = Nanoseconds(u64::MAX / 2);
/// How long a driver may take to give back frames after the end of sending.
pub(crate) const FLUSH_WAIT: Nanoseconds = Nanoseconds(100_000_000);

/// One trial that goes on.
pub(crate) struct Trial<'t, S, R, C> {
    /// One for each thread that sends.
    pub(crate) sending: Vec<SendingSide<'t, S>>,
    /// One for each thread that receives.
    pub(crate) receiving: Vec<ReceivingSide<'t, R>>,
    pub(crate) exchange: &'t Exchange,
    pub(crate) clock: &'t C,
    pub(crate) watch: ClockWatch,
    /// Whether all is called off.
    pub(crate) stop: &'t AtomicBool,
}

impl<S: Sender, R: Receiver, C: Clock> Trial<'_, S, R, C> {
    /// Shows all addresses to the device, waits until it has forwarded a frame of each port, and gives whether it has.
    pub(crate) fn learn(&mut self, wait: Nanoseconds) -> io::Result<bool> {
        self.sending.iter_mut().try_for_each(SendingSide::announce)?;
        let deadline = self.now() + wait;
        while !self.is_learnt() && self.now() < deadline && !self.is_stopped() {
            self.attend(Arriving::Outside, true)?;
        }
        Ok(self.is_learnt())
    }

    /// Whether a learning frame of each port has arrived somewhere.
    fn is_learnt(&self) -> bool {
        let ports = 0..self.receiving.first().map_or(0, |side| side.learnt.len());
        ports
            .into_iter()
            .all(|port| self.receiving.iter().any(|side| side.learnt[port]))
    }

    /// Sends what is to be sent, and receives meanwhile.
    pub(crate) fn send(&mut self, plan: &SendingPlan<'_>, threads: Threads, processors: &[usize]) -> io::Result<End> {
        match threads {
            Threads::One => self.take_turns(plan),
            Threads::Several { .. } => self.go_side_by_side(plan, processors),
        }
    }

    /// What that cost.
    pub(crate) fn costs(&self, threads: Threads) -> Vec<Cost> {
        let rate = self.clock.cycles_per_second();
        let sending = |name| self.sending.iter().map(move |side| side.work.cost(name, rate));
        let receiving = self.receiving.iter().map(|side| side.work.cost("receiver", rate));
        match threads {
            Threads::One => sending("both").collect(),
            Threads::Several { .. } => sending("sender").chain(receiving).collect(),
        }
    }

    fn take_turns(&mut self, plan: &SendingPlan<'_>) -> io::Result<End> {
        let Self {
            sending,
            receiving,
            clock,
            watch,
            ..
        } = self;
        let sending = sending.first_mut().expect("somebody sends");
        let receiving = receiving.first_mut().expect("somebody receives");
        sending.begin(plan, clock.now())?;
        loop {
            let now = clock.now();
            if let Some(flaw) = watch.look(now) {
                return Ok(End::WrongClock(flaw));
            }
            sending.work.begin_turn(now);
            let sent = match sending.turn(*clock, now)? {
                Turn::Handled(frames) => frames,
                Turn::Over(end) => return Ok(end),
            };
            let received = match receiving.turn(*clock, now)? {
                Turn::Handled(frames) => frames,
                Turn::Over(end) => return Ok(end),
            };
            sending.work.add(sent, received);
            let may_rest =
                sending.may_rest(now) && !expects_frames(slice::from_ref(sending), slice::from_ref(receiving), now);
            if sent + received == 0 && may_rest {
                receiving.rest();
                clock.sleep(NAP);
                watch.note_nap();
            }
        }
    }

    fn go_side_by_side(&mut self, plan: &SendingPlan<'_>, processors: &[usize]) -> io::Result<End> {
        let Self {
            sending,
            receiving,
            exchange,
            clock,
            watch,
            ..
        } = self;
        let (exchange, clock, watch) = (*exchange, *clock, *watch);
        let start = &OnceLock::new();
        let mut processors = processors.iter().copied().map(Some).chain(iter::repeat(None));
        let (first, others) = receiving.split_first_mut().expect("somebody receives");
        thread::scope(|scope| {
            let sides = sending.iter_mut().zip(&mut processors);
            let threads: Vec<_> = sides
                .map(|(side, processor)| {
                    let told = TellsTheEnd(exchange, thread::current());
                    scope.spawn(move || {
                        let _told = told;
                        let end = processor.map_or(Ok(()), stay_on).and_then(|()| {
                            side.begin(plan, *start.get_or_init(|| clock.now()))?;
                            send_until_the_end(side, exchange, clock, watch)
                        });
                        if !matches!(end, Ok(None | Some(End::Schedule))) {
                            exchange.call_off();
                        }
                        end
                    })
                })
                .collect();
            let others: Vec<_> = others
                .iter_mut()
                .zip(&mut processors)
                .map(|(side, processor)| {
                    scope.spawn(move || {
                        let on_its_own = processor.map_or(Ok(()), stay_on);
                        let seen = on_its_own.and_then(|()| receive_while_sending(side, exchange, clock));
                        if !matches!(seen, Ok(None)) {
                            exchange.call_off();
                        }
                        seen
                    })
                })
                .collect();
            let seen = receive_while_sending(first, exchange, clock);
            exchange.call_off();
            let join = |thread: ScopedJoinHandle<'_, io::Result<_>>| {
                thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
            };
            let sent: Vec<Option<End>> = threads.into_iter().map(join).collect::<Result<_, _>>()?;
            let seen_by_others: Vec<Option<End>> = others.into_iter().map(join).collect::<Result<_, _>>()?;
            let mut ends = iter::once(seen?).chain(seen_by_others).chain(sent).flatten();
            Ok(ends.find(|&end| end != End::Schedule).unwrap_or(End::Schedule))
        })
    }

    /// Waits until all frames have left and gives the first port from which some have not, with how many.
    pub(crate) fn flush(&mut self) -> io::Result<Option<(usize, usize)>> {
        let deadline = self.now() + FLUSH_WAIT;
        let mut left_behind = self.push_out()?;
        while left_behind.is_some() && self.now() < deadline {
            left_behind = self.push_out()?;
        }
        Ok(left_behind)
    }

    /// Waits until everything has arrived or the contract is over.
    pub(crate) fn await_stragglers(&mut self, deadline: Nanoseconds) -> io::Result<Option<End>> {
        let frames_only_until = self.now() + FRAMES_ONLY;
        let mut is_settled = false;
        while missing(&self.sending, &self.receiving).next().is_some() {
            if self.is_stopped() {
                return Ok(Some(End::Interrupted));
            }
            let now = self.now();
            if now >= frames_only_until && !is_settled {
                self.settle_refused()?;
                is_settled = true;
                continue;
            }
            if now >= deadline {
                // What has arrived by the deadline counts, however late it is fetched.
                for side in &mut self.receiving {
                    side.receive_backlog(self.clock, Arriving::Straggling)?;
                }
                break;
            }
            let may_rest = !expects_frames(&self.sending, &self.receiving, now);
            self.attend(Arriving::Straggling, may_rest)?;
        }
        if !is_settled {
            self.settle_refused()?;
        }
        Ok(None)
    }

    /// A stopped trial ends in the middle of a disturbance; the next one should not start there.
    pub(crate) fn rest(&mut self, deadline: Nanoseconds) -> io::Result<Option<End>> {
        while self.now() < deadline {
            if self.is_stopped() {
                return Ok(Some(End::Interrupted));
            }
            self.attend(Arriving::Outside, true)?;
        }
        Ok(None)
    }

    /// A turn in which nothing is sent on schedule.
    fn attend(&mut self, arriving: Arriving, may_rest: bool) -> io::Result<()> {
        // A fault injector holds frames back until somebody uses the port.
        self.push_out()?;
        let mut received = 0;
        for side in &mut self.receiving {
            received += side.receive(self.clock, arriving)?;
        }
        if received == 0 && may_rest {
            self.clock.sleep(NAP);
            self.watch.note_nap();
        }
        self.sending.iter_mut().try_for_each(SendingSide::answer)
    }

    fn push_out(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut first = None;
        for side in &mut self.sending {
            first = first.or(side.flush()?);
        }
        Ok(first)
    }

    fn settle_refused(&mut self) -> io::Result<()> {
        self.sending.iter_mut().try_for_each(SendingSide::settle_refused)
    }

    /// The time, as long as the clock can be right.
    pub(crate) fn now(&mut self) -> Nanoseconds {
        let now = self.clock.now();
        self.watch.look(now).map_or(now, |_| END_OF_TIME)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Whether a frame may arrive at any moment.
fn expects_frames<S, R: Receiver>(
    sending: &[SendingSide<'_, S>],
    receiving: &[ReceivingSide<'_, R>],
    now: Nanoseconds,
) -> bool {
    missing(sending, receiving).any(|lane| now <= lane.last_sent() + ON_THE_WAY)
}

/// The ports of which a frame may still be on its way: of others all that are missing were refused on the spot.
fn missing<'s, S, R: Receiver>(
    sending: &'s [SendingSide<'_, S>],
    receiving: &'s [ReceivingSide<'_, R>],
) -> impl Iterator<Item = &'s SendingLane> {
    let lanes = sending.iter().flat_map(|side| &side.lanes);
    lanes.clone().filter(move |lane| {
        let of_port = |count| sum_of(lanes.clone(), lane.sender, count);
        let sent = of_port(SendingLane::sent);
        let received = receiving.iter().flat_map(ReceivingSide::own_lanes);
        lost_of_sender(lane.sender, sent, received) > of_port(|lane| lane.sent_into_full_queue)
    })
}

/// Signals the receiving side, on another thread, that one of those that send sends no more, however it ended.
struct TellsTheEnd<'t>(&'t Exchange, Thread);

impl Drop for TellsTheEnd<'_> {
    fn drop(&mut self) {
        self.0.end_sending();
        self.1.unpark();
    }
}

/// Gives why one of the sides that send ended; nothing where it was called off.
fn send_until_the_end<S: Sender, C: Clock>(
    side: &mut SendingSide<'_, S>,
    exchange: &Exchange,
    clock: &C,
    mut watch: ClockWatch,
) -> io::Result<Option<End>> {
    while !exchange.is_called_off() {
        let now = clock.now();
        if let Some(flaw) = watch.look(now) {
            return Ok(Some(End::WrongClock(flaw)));
        }
        side.work.begin_turn(now);
        match side.turn(clock, now)? {
            Turn::Handled(0) if side.may_rest(now) => {
                clock.sleep(NAP);
                watch.note_nap();
            }
            Turn::Handled(frames) => side.work.add(frames, 0),
            Turn::Over(end) => return Ok(Some(end)),
        }
    }
    Ok(None)
}

/// Gives why the receiving side ended it; nothing where the sending side did.
fn receive_while_sending<R: Receiver, C: Clock>(
    receiving: &mut ReceivingSide<'_, R>,
    exchange: &Exchange,
    clock: &C,
) -> io::Result<Option<End>> {
    while !exchange.sending_is_over() {
        let now = clock.now();
        receiving.work.begin_turn(now);
        match receiving.turn(clock, now)? {
            Turn::Handled(0) if receiving.may_be_late() => clock.sleep(NAP),
            Turn::Handled(0) => (0..IDLE_PAUSES).for_each(|_| hint::spin_loop()),
            Turn::Handled(frames) => receiving.work.add(0, frames),
            Turn::Over(end) => return Ok(Some(end)),
        }
    }
    Ok(None)
}
