//! Faults as they are asked for, on a wire in memory.

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
