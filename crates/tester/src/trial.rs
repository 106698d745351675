//! One trial, phase by phase. While frames are sent, one loop runs both sides in turns, or each side runs its own; what
//! a turn does and what it decides is the same.

use std::hint;
use std::io;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use brimful_netdev::{Receiver, Sender};
use brimful_trial::Nanoseconds;

use crate::clock::ClockWatch;
use crate::exchange::Exchange;
use crate::lane::lost_of_sender;
use crate::receiving_side::{Arriving, ReceivingSide};
use crate::sending_lane::SendingLane;
use crate::sending_side::{SendingPlan, SendingSide};
use crate::turn::{End, Turn};
use crate::{Clock, Cost, Threads, stay_on};

/// How long the tester waits at most for its learning frames to come through: a device that takes longer has learnt
/// or never will.
const LEARNING_WAIT: Nanoseconds = Nanoseconds(50_000_000);
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
    pub(crate) sending: SendingSide<'t, S>,
    pub(crate) receiving: ReceivingSide<'t, R>,
    pub(crate) exchange: &'t Exchange,
    pub(crate) clock: &'t C,
    pub(crate) watch: ClockWatch,
    /// Whether all is called off.
    pub(crate) stop: &'t AtomicBool,
}

impl<S: Sender, R: Receiver, C: Clock> Trial<'_, S, R, C> {
    /// Shows all addresses to the device and waits until it has forwarded a frame of each port.
    pub(crate) fn learn(&mut self) -> io::Result<()> {
        self.sending.announce()?;
        let deadline = self.now() + LEARNING_WAIT;
        while self.receiving.learnt.contains(&false) && self.now() < deadline && !self.is_stopped() {
            self.attend(Arriving::Outside, true)?;
        }
        Ok(())
    }

    /// Sends what is to be sent, and receives meanwhile.
    pub(crate) fn send(&mut self, plan: &SendingPlan<'_>, threads: Threads) -> io::Result<End> {
        match threads {
            Threads::One => self.take_turns(plan),
            Threads::Two { sender } => self.go_side_by_side(plan, sender),
        }
    }

    /// What that cost.
    pub(crate) fn costs(&self, threads: Threads) -> Vec<Cost> {
        let rate = self.clock.cycles_per_second();
        match threads {
            Threads::One => vec![self.sending.work.cost("both", rate)],
            Threads::Two { .. } => vec![
                self.sending.work.cost("sender", rate),
                self.receiving.work.cost("receiver", rate),
            ],
        }
    }

    fn take_turns(&mut self, plan: &SendingPlan<'_>) -> io::Result<End> {
        let clock = self.clock;
        self.sending.begin(plan, clock.now())?;
        loop {
            let now = clock.now();
            if let Some(flaw) = self.watch.look(now) {
                return Ok(End::WrongClock(flaw));
            }
            self.sending.work.begin_turn(now);
            let sent = match self.sending.turn(clock, now)? {
                Turn::Handled(frames) => frames,
                Turn::Over(end) => return Ok(end),
            };
            let received = match self.receiving.turn(clock, now)? {
                Turn::Handled(frames) => frames,
                Turn::Over(end) => return Ok(end),
            };
            self.sending.work.add(sent, received);
            if sent + received == 0 && self.sending.may_rest(now) && !self.expects_frames(now) {
                self.receiving.rest();
                clock.sleep(NAP);
                self.watch.note_nap();
            }
        }
    }

    fn go_side_by_side(&mut self, plan: &SendingPlan<'_>, processor: Option<usize>) -> io::Result<End> {
        let Self {
            sending,
            receiving,
            exchange,
            clock,
            watch,
            ..
        } = self;
        let (exchange, clock, mut watch) = (*exchange, *clock, *watch);
        let receiver = thread::current();
        thread::scope(|scope| {
            let sending_thread = scope.spawn(move || {
                let _told = TellsTheEnd(exchange, receiver);
                processor.map_or(Ok(()), stay_on)?;
                sending.begin(plan, clock.now())?;
                while !exchange.is_called_off() {
                    let now = clock.now();
                    if let Some(flaw) = watch.look(now) {
                        return Ok(Some(End::WrongClock(flaw)));
                    }
                    sending.work.begin_turn(now);
                    match sending.turn(clock, now)? {
                        Turn::Handled(0) if sending.may_rest(now) => {
                            clock.sleep(NAP);
                            watch.note_nap();
                        }
                        Turn::Handled(frames) => sending.work.add(frames, 0),
                        Turn::Over(end) => return Ok(Some(end)),
                    }
                }
                Ok(None)
            });
            let seen = receive_while_sending(receiving, exchange, clock);
            exchange.call_off();
            let sent: io::Result<_> = sending_thread
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic));
            Ok(seen?.or(sent?).unwrap_or(End::Schedule))
        })
    }

    /// Waits until all frames have left and gives how many have not, of each port.
    pub(crate) fn flush(&mut self) -> io::Result<Vec<usize>> {
        let deadline = self.now() + FLUSH_WAIT;
        let mut left_behind = self.sending.flush()?;
        while left_behind.iter().any(|&frames| frames > 0) && self.now() < deadline {
            left_behind = self.sending.flush()?;
        }
        Ok(left_behind)
    }

    /// Waits until everything has arrived or the contract is over.
    pub(crate) fn await_stragglers(&mut self, deadline: Nanoseconds) -> io::Result<Option<End>> {
        let frames_only_until = self.now() + FRAMES_ONLY;
        let mut is_settled = false;
        while self.missing().next().is_some() {
            if self.is_stopped() {
                return Ok(Some(End::Interrupted));
            }
            let now = self.now();
            if now >= frames_only_until && !is_settled {
                self.sending.settle_refused()?;
                is_settled = true;
                continue;
            }
            if now >= deadline {
                // What has arrived by the deadline counts, however late it is fetched.
                self.receiving.receive_backlog(self.clock, Arriving::Straggling)?;
                break;
            }
            let may_rest = !self.expects_frames(now);
            self.attend(Arriving::Straggling, may_rest)?;
        }
        if !is_settled {
            self.sending.settle_refused()?;
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
        self.sending.flush()?;
        if self.receiving.receive(self.clock, arriving)? == 0 && may_rest {
            self.clock.sleep(NAP);
            self.watch.note_nap();
        }
        self.sending.answer()
    }

    /// The time, as long as the clock can be right.
    pub(crate) fn now(&mut self) -> Nanoseconds {
        let now = self.clock.now();
        self.watch.look(now).map_or(now, |_| END_OF_TIME)
    }

    /// Whether a frame may arrive at any moment.
    fn expects_frames(&self, now: Nanoseconds) -> bool {
        self.missing().any(|lane| now <= lane.last_sent() + ON_THE_WAY)
    }

    /// The ports of which a frame may still be on its way: of others all that are missing were refused on the spot.
    fn missing(&self) -> impl Iterator<Item = &SendingLane> {
        let lanes = self.sending.lanes.iter().enumerate();
        let is_missing = |&(index, lane): &(usize, &SendingLane)| {
            lost_of_sender(lane, index, &self.receiving.lanes) > lane.sent_into_full_queue
        };
        lanes.filter(is_missing).map(|(_, lane)| lane)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Signals the receiving side, on another thread, that its own sends no more, however it ended.
struct TellsTheEnd<'t>(&'t Exchange, Thread);

impl Drop for TellsTheEnd<'_> {
    fn drop(&mut self) {
        self.0.end_sending();
        self.1.unpark();
    }
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
