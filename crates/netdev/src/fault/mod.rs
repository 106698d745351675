//! Faults on purpose, to test what is above and to see that each is noticed, counted and blamed on the right place.

mod injector;

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

#[cfg(test)]
#[cfg(not(feature = "loom"))]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use proptest::prelude::*;

    use super::*;
    use crate::memory_wire;

    #[derive(Clone, Copy, Debug)]
    enum Side {
        Sending,
        Receiving,
    }

    const FRAME_LEN: usize = 40;

    fn frame(sequence: u64) -> [u8; FRAME_LEN] {
        let mut frame = [0; FRAME_LEN];
        frame[..8].copy_from_slice(&sequence.to_be_bytes());
        frame
    }

    /// Sends frames that may suffer on one side, at one a millisecond, and gives what was done and what arrived when.
    fn run(side: Side, faults: Faults, seed: u64, frames: u64) -> (InjectedFaults, Vec<(Vec<u8>, Duration)>) {
        let [a, b] = memory_wire(["a", "b"], 4096);
        let milliseconds = Arc::new(AtomicU64::new(0));
        let clock = || {
            let milliseconds = Arc::clone(&milliseconds);
            move || Duration::from_millis(milliseconds.load(Ordering::Relaxed))
        };
        let now = clock();
        let (mut there, mut here) = (FaultPlan::default(), FaultPlan::default());
        (there.seed, here.seed) = (seed, !seed);
        match side {
            Side::Sending => there.sending = faults,
            Side::Receiving => here.receiving = faults,
        }
        let (mut a, mut b) = (FaultyPort::new(a, there, clock()), FaultyPort::new(b, here, clock()));
        let mut arrived = Vec::new();
        for sequence in 0..frames + 2 * faults.delay.as_millis() as u64 {
            if sequence < frames {
                a.sender
                    .send_burst(1, &mut |_, buffer| {
                        buffer[..FRAME_LEN].copy_from_slice(&frame(sequence));
                        FRAME_LEN
                    })
                    .unwrap();
            } else if sequence == frames {
                assert_eq!(a.sender.flush().unwrap(), 0);
            }
            a.sender.send_burst(0, &mut |_, _| 0).unwrap();
            b.receiver
                .receive_burst(7, &mut |frame| arrived.push((frame.to_vec(), now())))
                .unwrap();
            milliseconds.fetch_add(1, Ordering::Relaxed);
        }
        a.sender.flush().unwrap();
        b.receiver.injector.release_all(now());
        b.receiver
            .receive_burst(usize::MAX, &mut |frame| arrived.push((frame.to_vec(), now())))
            .unwrap();
        assert_eq!(a.sender.statistics().unwrap().sent, frames);
        assert_eq!(b.receiver.statistics().unwrap().received, arrived.len() as u64);
        let injected = match side {
            Side::Sending => a.sender.injected(),
            Side::Receiving => b.receiver.injected(),
        };
        (injected, arrived)
    }

    fn sides() -> impl Strategy<Value = Side> {
        prop_oneof![Just(Side::Sending), Just(Side::Receiving)]
    }

    proptest! {
        #[test]
        fn what_is_injected_is_what_arrives(side in sides(), seed: u64, loss in 0.0..0.2, duplication in 0.0..0.2,
                reordering in 0.0..0.2, reorder_distance in 1..20_usize, corruption in 0.0..0.2,
                burst_loss in 0.0..0.02, burst_len in 0..9_u64) {
            let frames = 500;
            let faults = Faults { loss, burst_loss, burst_len, duplication, reordering, reorder_distance, corruption,
                ..Faults::default() };
            let (injected, arrived) = run(side, faults, seed, frames);
            let lost = injected.lost + injected.lost_in_bursts;
            prop_assert_eq!(arrived.len() as u64, frames - lost + injected.duplicated);
            let sequences: Vec<_> = arrived.iter()
                .map(|(frame, _)| u64::from_be_bytes(*frame.first_chunk().expect("as sent")))
                .collect();
            let mut distinct = sequences.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len() as u64, frames - lost);
            let late = (1..sequences.len())
                .filter(|&at| sequences[..at].iter().max() > Some(&sequences[at]));
            prop_assert_eq!(late.count() as u64, injected.reordered);
            let flipped = arrived.iter().zip(&sequences).filter(|((bytes, _), sequence)| bytes[..] != frame(**sequence));
            prop_assert_eq!(flipped.count() as u64, injected.corrupted);
            prop_assert_eq!(run(side, faults, seed, frames), (injected, arrived));
        }

        #[test]
        fn delays_are_as_long_as_asked_for(side in sides(), seed: u64, delay_ms in 0..20_u64, jitter_ms in 0..5_u64) {
            let faults = Faults {
                delay: Duration::from_millis(delay_ms),
                jitter: Duration::from_millis(jitter_ms),
                ..Faults::default()
            };
            let (injected, arrived) = run(side, faults, seed, 100);
            let delays = delay_ms + jitter_ms > 0;
            prop_assert_eq!(injected, InjectedFaults { delayed: if delays { 100 } else { 0 }, ..injected });
            for (index, (bytes, time)) in arrived.iter().enumerate() {
                prop_assert_eq!(&bytes[..], &frame(index as u64));
                let waited = time.as_millis() as u64 - index as u64;
                // One more step where the jitter is no whole number of them.
                prop_assert!((delay_ms..=delay_ms + jitter_ms + 1).contains(&waited), "{} ms", waited);
            }
        }
    }

    #[test]
    fn bursts_are_as_long_as_asked_for() {
        let faults = Faults {
            burst_loss: 0.01,
            burst_len: 5,
            ..Faults::default()
        };
        let (injected, arrived) = run(Side::Sending, faults, 3, 1000);
        assert!(injected.lost_in_bursts > 0);
        let sequences = arrived
            .iter()
            .map(|(frame, _)| u64::from(frame[7]) + 256 * u64::from(frame[6]));
        let mut expected = 0;
        for sequence in sequences {
            assert_eq!((sequence - expected) % 5, 0);
            expected = sequence + 1;
        }
    }

    /// Takes nothing until it is allowed to.
    struct Stubborn {
        inner: crate::MemorySender,
        takes: Arc<AtomicBool>,
    }

    impl Sender for Stubborn {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn capabilities(&self) -> Capabilities {
            self.inner.capabilities()
        }

        fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
            let takes = self.takes.load(Ordering::Relaxed);
            self.inner.send_burst(if takes { count } else { 0 }, fill)
        }

        fn flush(&mut self) -> io::Result<usize> {
            self.inner.flush()
        }

        fn statistics(&mut self) -> io::Result<SendStatistics> {
            self.inner.statistics()
        }

        fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
            self.inner.interface_counters()
        }

        fn link_is_up(&mut self) -> io::Result<bool> {
            self.inner.link_is_up()
        }
    }

    #[test]
    fn a_port_that_takes_nothing_yet_loses_nothing() {
        let [a, mut b] = memory_wire(["a", "b"], 64);
        let takes = Arc::new(AtomicBool::new(false));
        let stubborn = Port {
            sender: Stubborn {
                inner: a.sender,
                takes: Arc::clone(&takes),
            },
            receiver: a.receiver,
        };
        let Port { sender: mut a, .. } = FaultyPort::new(stubborn, FaultPlan::default(), || Duration::ZERO);
        let mut send = || a.send_burst(2, &mut |_, _| FRAME_LEN).unwrap();
        assert_eq!(send(), 2);
        assert_eq!(send(), 0);
        assert_eq!(a.flush().unwrap(), 2);
        takes.store(true, Ordering::Relaxed);
        assert_eq!(a.flush().unwrap(), 0);
        assert_eq!(b.receiver.receive_burst(9, &mut |_| ()).unwrap(), 2);
    }
}
