//! Faults on purpose, to test what is above and to see that each is noticed, counted and blamed on the right place.

mod injector;
#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Arrived, Capabilities, InterfaceCounters, MAX_BURST, Port, ReceiveStatistics, Receiver, SendStatistics, Sender,
    Take,
};
use injector::Injector;

/// Room for the largest frame that passes.
const BUFFER_LEN: usize = 16 * 1024;

/// What frames of one way suffer. Each suffers one of the faults with a share at most, whose sum is 1 at most; all but
/// the lost ones are delayed as well.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Share of frames that vanish.
    pub loss: f64,
    /// Share of frames at which a burst of losses begins.
    pub burst_loss: f64,
    /// How many frames in a row vanish in a burst.
    pub burst_len: u64,
    /// Share of frames that arrive twice.
    pub duplication: f64,
    /// Share of frames that later ones overtake.
    pub reordering: f64,
    /// How many frames overtake such a frame.
    pub reorder_distance: usize,
    /// Share of frames of which one bit behind the Ethernet header is flipped.
    pub corruption: f64,
    /// How long each frame waits.
    pub delay: Duration,
    /// How much longer at most; each frame waits some of it. It changes no order.
    pub jitter: Duration,
}

/// What was done to the frames of one way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct InjectedFaults {
    /// Frames that vanished one by one.
    pub lost: u64,
    /// Frames that vanished in bursts.
    pub lost_in_bursts: u64,
    /// Frames that passed twice.
    pub duplicated: u64,
    /// Frames that at least one later frame overtook.
    pub reordered: u64,
    /// Frames of which a bit was flipped.
    pub corrupted: u64,
    /// Frames, and copies, that had to wait.
    pub delayed: u64,
}

/// What a [`FaultyPort`] does, the same for the same seed.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan {
    /// To frames that are sent through it, after they count as sent.
    pub sending: Faults,
    /// To frames that arrive, before they count as received.
    pub receiving: Faults,
    /// Of all chance.
    pub seed: u64,
    /// Which frames can suffer.
    pub victims: fn(&[u8]) -> bool,
}

impl Default for FaultPlan {
    /// Nothing to any frame.
    fn default() -> Self {
        Self {
            sending: Faults::default(),
            receiving: Faults::default(),
            seed: 0,
            victims: |_| true,
        }
    }
}

/// A port that mistreats frames.
///
/// Delayed frames go on when the half that holds them is used the next time after their time has come: by
/// [`Sender::send_burst`] and [`Sender::flush`], and by [`Receiver::receive_burst`].
pub type FaultyPort<S, R> = Port<FaultySender<S>, FaultyReceiver<R>>;

/// The sending half of a [`FaultyPort`].
pub struct FaultySender<S> {
    inner: S,
    injector: Injector,
    victims: fn(&[u8]) -> bool,
    now: Now,
    accepted: u64,
    buffer: Vec<u8>,
}

/// The receiving half of a [`FaultyPort`].
pub struct FaultyReceiver<R> {
    inner: R,
    injector: Injector,
    victims: fn(&[u8]) -> bool,
    now: Now,
    handed_out: u64,
}

type Now = Arc<dyn Fn() -> Duration + Send + Sync>;

impl<S, R> FaultyPort<S, R> {
    /// Wraps a port; `now` gives the time that delays are measured by.
    pub fn new(inner: Port<S, R>, plan: FaultPlan, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        let now: Now = Arc::new(now);
        Self {
            sender: FaultySender {
                inner: inner.sender,
                injector: Injector::new(plan.sending, plan.seed),
                victims: plan.victims,
                now: Arc::clone(&now),
                accepted: 0,
                buffer: vec![0; BUFFER_LEN],
            },
            receiver: FaultyReceiver {
                inner: inner.receiver,
                injector: Injector::new(plan.receiving, !plan.seed),
                victims: plan.victims,
                now,
                handed_out: 0,
            },
        }
    }
}

impl<S> FaultySender<S> {
    /// What was done so far to frames that were sent.
    pub fn injected(&self) -> InjectedFaults {
        self.injector.injected()
    }

    /// The half inside.
    pub fn inner_mut(&mut self) -> &mut S {
        &mut self.inner
    }
}

impl<R> FaultyReceiver<R> {
    /// What was done so far to frames that arrived.
    pub fn injected(&self) -> InjectedFaults {
        self.injector.injected()
    }

    /// The half inside.
    pub fn inner_mut(&mut self) -> &mut R {
        &mut self.inner
    }
}

impl<S: Sender> FaultySender<S> {
    /// Sends what is due, as far as the port inside takes it, and gives how much it has not taken.
    fn push_out(&mut self) -> io::Result<usize> {
        let now = (self.now)();
        while let Some(frame) = self.injector.due(now) {
            let taken = self.inner.send_burst(1, &mut |_, buffer| {
                let len = frame.len().min(buffer.len());
                buffer[..len].copy_from_slice(&frame[..len]);
                len
            })?;
            if taken == 0 {
                return Ok(self.injector.count_due(now));
            }
            self.injector.remove();
        }
        Ok(0)
    }
}

impl<S: Sender> Sender for FaultySender<S> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Frames are copied, and held back without anything to wait on.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            headroom: 0,
            can_wait: false,
            notes_arrival: false,
            ..self.inner.capabilities()
        }
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        if self.push_out()? > 0 {
            return Ok(0);
        }
        let count = count.min(MAX_BURST);
        for index in 0..count {
            let len = fill(index, &mut self.buffer).min(self.buffer.len());
            // A burst takes time to fill: the delay of its last frame does not begin with its first.
            let now = (self.now)();
            let frame = &self.buffer[..len];
            if (self.victims)(frame) {
                self.injector.pass(frame, now);
            } else {
                self.injector.spare(frame, now);
            }
        }
        self.push_out()?;
        self.accepted += count as u64;
        Ok(count)
    }

    /// Frames that wait for their time are on their way, and not left behind.
    fn flush(&mut self) -> io::Result<usize> {
        self.injector.release_all((self.now)());
        Ok(self.push_out()? + self.inner.flush()?)
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        Ok(SendStatistics {
            sent: self.accepted,
            ..self.inner.statistics()?
        })
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        self.inner.interface_counters()
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.inner.link_is_up()
    }
}

impl<R: Receiver> Receiver for FaultyReceiver<R> {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        if self.injector.does_nothing() {
            let received = self.inner.receive_burst(limit, take)?;
            self.handed_out += received as u64;
            return Ok(received);
        }
        let now = (self.now)();
        let (injector, victims) = (&mut self.injector, self.victims);
        self.inner.receive_burst(limit, &mut |frame| {
            if victims(&frame) {
                injector.pass(&frame, now);
            } else {
                injector.spare(&frame, now);
            }
        })?;
        let mut count = 0;
        while count < limit
            && let Some(mut frame) = self.injector.take_due(now)
        {
            // When it arrived is of no interest after that.
            take(Arrived::new(&mut frame, 0, None));
            count += 1;
        }
        self.handed_out += count as u64;
        Ok(count)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        Ok(ReceiveStatistics {
            received: self.handed_out,
            ..self.inner.statistics()?
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for FaultySender<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FaultySender")
            .field("inner", &self.inner)
            .field("injector", &self.injector)
            .finish_non_exhaustive()
    }
}

impl<R: fmt::Debug> fmt::Debug for FaultyReceiver<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FaultyReceiver")
            .field("inner", &self.inner)
            .field("injector", &self.injector)
            .finish_non_exhaustive()
    }
}
