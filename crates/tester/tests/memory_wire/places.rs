//! Loss is laid at the right door.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use brimful_netdev::{
    Capabilities, FaultPlan, Faults, FaultyPort, InjectedFaults, InterfaceCounters, Port, ReceiveStatistics, Receiver,
    SendStatistics, Sender, Take, memory_wire,
};
use brimful_tester::{LostBy, Outcome, Tester, Threads, TrialReport};
use proptest::prelude::*;

use crate::bed::{MODES, RUNNING, clock_step, is_counted, plan, profile, timing};
use crate::clock::StepClock;

/// Half of a port whose interface counts what crosses it, above whatever is inside.
struct Counting<H> {
    inner: H,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    sent: AtomicU64,
    received: AtomicU64,
    /// Readings that give what was counted before anything was sent.
    late_readings: AtomicU32,
}

fn counting<S, R>(port: Port<S, R>, late_readings: u32) -> Port<Counting<S>, Counting<R>> {
    let counters = Arc::new(Counters {
        late_readings: AtomicU32::new(late_readings),
        ..Counters::default()
    });
    Port {
        sender: Counting {
            inner: port.sender,
            counters: Arc::clone(&counters),
        },
        receiver: Counting {
            inner: port.receiver,
            counters,
        },
    }
}

impl<S: Sender> Sender for Counting<S> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let sent = self.inner.send_burst(count, fill)?;
        self.counters.sent.fetch_add(sent as u64, Ordering::Relaxed);
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.inner.flush()
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        self.inner.statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        let late_readings = self.counters.late_readings.load(Ordering::Relaxed);
        if late_readings > 0 {
            self.counters.late_readings.store(late_readings - 1, Ordering::Relaxed);
            return Ok(Some(InterfaceCounters::default()));
        }
        Ok(Some(InterfaceCounters {
            sent: self.counters.sent.load(Ordering::Relaxed),
            received: self.counters.received.load(Ordering::Relaxed),
            ..InterfaceCounters::default()
        }))
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.inner.link_is_up()
    }
}

impl<R: Receiver> Receiver for Counting<R> {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        let received = self.inner.receive_burst(limit, take)?;
        self.counters.received.fetch_add(received as u64, Ordering::Relaxed);
        Ok(received)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.inner.statistics()
    }
}

/// Where frames are made to vanish: in the tester, and between the interfaces.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    tester_send: Faults,
    between: Faults,
    tester_receive: Faults,
    late_readings: u32,
}

/// One trial in which the frames from a to b suffer, and what was done to them at the three places.
fn trial_with_faults_at(
    places: &Places,
    seed: u64,
    threads: Threads,
) -> (TrialReport, Option<String>, [InjectedFaults; 3]) {
    let wire = memory_wire(["a", "b"], 4096);
    let of_port = [
        [places.tester_send, places.between, Faults::default()],
        [Faults::default(), Faults::default(), places.tester_receive],
    ];
    let mut of_port = of_port.into_iter();
    let ports = wire.map(|port| {
        let [tester_send, between, tester_receive] = of_port.next().expect("two ports");
        let plan = |sending, receiving| FaultPlan {
            sending,
            receiving,
            seed,
            victims: is_counted,
        };
        let inner = FaultyPort::new(port, plan(between, Faults::default()), || Duration::ZERO);
        let counting = counting(inner, places.late_readings);
        FaultyPort::new(counting, plan(tester_send, tester_receive), || Duration::ZERO)
    });
    let clock = StepClock::of(threads, clock_step(threads));
    let tester = Tester::new(ports, clock, profile(), timing(), &RUNNING, 7).expect("valid");
    let mut tester = tester.with_threads(threads);
    let (report, reason) = match tester.measure(&plan(20_000.0, None)).expect("a trial") {
        Outcome::Counted(report) => (report, None),
        Outcome::Invalid { report, reason, .. } => (report, Some(reason)),
        Outcome::Interrupted => panic!("nobody calls it off"),
    };
    let tester_receive = tester.receivers_mut()[1].injected();
    let a = &mut tester.senders_mut()[0];
    let injected = [a.injected(), a.inner_mut().inner.injected(), tester_receive];
    (report, reason, injected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn loss_is_laid_at_the_right_door(threads in prop::sample::select(&MODES[..]), seed: u64,
            losses in prop::array::uniform3(prop_oneof![Just(0.0), 0.0..0.2])) {
        let [tester_send, between, tester_receive] = losses.map(|loss| Faults { loss, ..Faults::default() });
        let places = Places { tester_send, between, tester_receive, ..Places::default() };
        let (report, reason, injected) = trial_with_faults_at(&places, seed, threads);
        let account = report.directions[0].account.expect("both interfaces count");
        let lost = [account.lost.tester_send, account.lost.between, account.lost.tester_receive];
        prop_assert_eq!(lost, injected.map(|faults| faults.lost));
        prop_assert_eq!(report.directions[0].lost, lost.iter().sum::<u64>());
        prop_assert_eq!((account.sent, account.seen), (2000, 2000 - report.directions[0].lost));
        prop_assert_eq!((account.counted_out, account.counted_in), (2000 - lost[0], 2000 - lost[0] - lost[1]));
        let in_tester = report.warnings.iter().filter(|warning| warning.code == "lost-in-tester").count();
        prop_assert_eq!(in_tester, usize::from(lost[0] > 0) + usize::from(lost[2] > 0));
        let reason = reason.unwrap_or_default();
        let expected = match lost {
            [0, _, 0] => String::new(),
            [sent, _, 0] => format!("{sent} frames were lost in the tester before a sent them"),
            [_, _, received] => format!("{received} frames arrived on b"),
        };
        prop_assert!(reason.starts_with(&expected) && reason.is_empty() == expected.is_empty(), "{reason}");
        let back = report.directions[1].account.expect("both interfaces count").lost;
        prop_assert_eq!(back, LostBy::default());
    }
}

#[test]
fn an_interface_that_counts_late_gets_time() {
    let places = Places {
        between: Faults {
            loss: 0.1,
            ..Faults::default()
        },
        // One before the trial, and a few after it.
        late_readings: 5,
        ..Places::default()
    };
    let (report, reason, [_, injected, _]) = trial_with_faults_at(&places, 1, Threads::One);
    assert_eq!(reason, None);
    let lost = report.directions[0].account.expect("both interfaces count").lost;
    let expected = LostBy {
        between: injected.lost,
        ..LostBy::default()
    };
    assert_eq!(lost, expected);
}

#[test]
fn loss_in_the_receiving_tester_is_no_result() {
    let places = Places {
        tester_receive: Faults {
            loss: 0.1,
            ..Faults::default()
        },
        ..Places::default()
    };
    let (report, _, [.., injected]) = trial_with_faults_at(&places, 1, Threads::One);
    assert_eq!(
        report.directions[0].account.map(|account| account.lost.tester_receive),
        Some(injected.lost)
    );
    assert!(report.warnings[0].text.contains("after b received them"), "{report:?}");
}
