//! Slow devices, slow testers, receivers that fall behind, clocks and links that fail: each gives its verdict, and none a
//! wrong number.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brimful_netdev::{
    Capabilities, Faults, InterfaceCounters, MAX_BURST, MemoryPort, Port, ReceiveStatistics, Receiver, SendStatistics,
    Sender, Take, memory_wire,
};
use brimful_tester::{Cabling, Calibration, Clock, Outcome, Tester, Threads, TrialPlan, TrialReport};
use brimful_trial::Nanoseconds;
use proptest::prelude::*;

use crate::bed::{Bed, MS, RUNNING, counted, is_counted, plan, profile, timing};
use crate::clock::StepClock;

/// Frames of each direction of a trial at [`LOAD`].
const FRAMES: u64 = 2000;
const LOAD: f64 = 20_000.0;

type Reading = Box<dyn Fn() -> Duration + Send + Sync>;

/// What is wrong with a sending half.
struct Sending {
    inner: brimful_netdev::MemorySender,
    time: Reading,
    /// Frames that it takes at a time.
    takes: usize,
    /// The device behind it forwards one frame in this time, and drops what comes before.
    device_period: Duration,
    device_ready: Duration,
    dropped: Arc<AtomicU64>,
    /// When the link is down.
    outages: Vec<[Duration; 2]>,
    /// Whether the interface counts its outages.
    counts_outages: bool,
}

impl Sending {
    fn drops(&mut self) -> bool {
        let now = (self.time)();
        if now < self.device_ready {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        self.device_ready = now + self.device_period;
        false
    }
}

impl Sender for Sending {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let count = count.min(self.takes);
        for index in 0..count {
            let mut frame = [0; 2000];
            let len = fill(index, &mut frame);
            if is_counted(&frame[..len]) && self.drops() {
                continue;
            }
            self.inner.send_burst(1, &mut |_, buffer| {
                buffer[..len].copy_from_slice(&frame[..len]);
                len
            })?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.inner.flush()
    }

    fn statistics(&mut self) -> io::Result<SendStatistics> {
        self.inner.statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        if !self.counts_outages {
            return Ok(None);
        }
        let now = (self.time)();
        Ok(Some(InterfaceCounters {
            link_losses: self.outages.iter().filter(|[from, _]| *from <= now).count() as u64,
            is_without_link: !self.link_is_up()?,
            ..InterfaceCounters::default()
        }))
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        let now = (self.time)();
        Ok(!self.outages.iter().any(|[from, to]| (from..to).contains(&&now)))
    }
}

/// A receiving half that is away from time to time.
struct Receiving {
    inner: brimful_netdev::MemoryReceiver,
    time: Reading,
    away: [Duration; 2],
}

impl Receiver for Receiving {
    fn receive_burst(&mut self, limit: usize, take: Take<'_>) -> io::Result<usize> {
        if (self.away[0]..self.away[1]).contains(&(self.time)()) {
            return Ok(0);
        }
        self.inner.receive_burst(limit, take)
    }

    fn statistics(&mut self) -> io::Result<ReceiveStatistics> {
        self.inner.statistics()
    }
}

/// What is wrong with a trial. Nothing, by default.
struct Trouble {
    clock_step: u64,
    ring: u32,
    takes: usize,
    device_period: Duration,
    outages: Vec<[Duration; 2]>,
    counts_outages: bool,
    away: [Duration; 2],
    clock: ClockTrouble,
}

#[derive(Clone, Copy, Debug)]
enum ClockTrouble {
    None,
    Jump(u64),
    /// One of 20 ms in every 100 ms.
    Jumps {
        seconds: u64,
    },
    Back(u64),
    Still,
}

impl Default for Trouble {
    fn default() -> Self {
        Self {
            clock_step: 1000,
            ring: 4096,
            takes: MAX_BURST,
            device_period: Duration::ZERO,
            outages: Vec::new(),
            counts_outages: false,
            away: [Duration::ZERO; 2],
            clock: ClockTrouble::None,
        }
    }
}

/// A clock that fails when 50 ms have passed.
struct TroubledClock {
    inner: StepClock,
    trouble: ClockTrouble,
}

impl Clock for TroubledClock {
    fn now(&self) -> Nanoseconds {
        const WHEN: u64 = 50 * MS;
        let now = self.inner.now();
        if now.0 < WHEN {
            return now;
        }
        Nanoseconds(match self.trouble {
            ClockTrouble::None => now.0,
            ClockTrouble::Jump(span) => now.0 + span,
            ClockTrouble::Jumps { seconds } => now.0 + (now.0 / (100 * MS)).min(10 * seconds) * 20 * MS,
            ClockTrouble::Back(span) => now.0 - span,
            ClockTrouble::Still => WHEN,
        })
    }

    fn sleep(&self, span: Nanoseconds) {
        self.inner.sleep(span);
    }
}

/// Frames that the device behind each port, and the rings of both, have dropped.
struct Dropped {
    by_devices: [u64; 2],
    by_rings: [u64; 2],
}

impl Trouble {
    fn measure(self, plan: &TrialPlan) -> (Outcome, Dropped) {
        self.ask(|tester| tester.measure(plan).expect("a trial"))
    }

    fn calibrate(self, cabling: Cabling) -> Calibration {
        self.ask(|tester| tester.calibrate(cabling).expect("two ports")).0
    }

    fn ask<T>(self, question: impl FnOnce(&mut Tester<'_, Sending, Receiving, TroubledClock>) -> T) -> (T, Dropped) {
        let clock = StepClock::new(self.clock_step);
        let dropped = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let mut of_port = dropped.iter();
        let ports = memory_wire(["a", "b"], self.ring).map(|MemoryPort { sender, receiver }| Port {
            sender: Sending {
                inner: sender,
                time: Box::new(clock.reading()),
                takes: self.takes,
                device_period: self.device_period,
                device_ready: Duration::ZERO,
                dropped: Arc::clone(of_port.next().expect("two ports")),
                outages: self.outages.clone(),
                counts_outages: self.counts_outages,
            },
            receiver: Receiving {
                inner: receiver,
                time: Box::new(clock.reading()),
                away: self.away,
            },
        });
        let clock = TroubledClock {
            inner: clock,
            trouble: self.clock,
        };
        let mut tester = Tester::new(ports, clock, profile(), timing(), &RUNNING, 7).expect("valid");
        let answer = question(&mut tester);
        let mut by_rings = [0; 2];
        for (count, receiver) in by_rings.iter_mut().zip(tester.receivers_mut()) {
            *count = receiver.statistics().expect("it counts").receive_dropped;
        }
        let by_devices = dropped.map(|count| count.load(Ordering::Relaxed));
        (answer, Dropped { by_devices, by_rings })
    }
}

fn invalid(outcome: Outcome) -> (String, TrialReport) {
    match outcome {
        Outcome::Invalid { reason, report, .. } => (reason, report),
        other => panic!("{other:?}"),
    }
}

fn losses(report: &TrialReport) -> Vec<u64> {
    report.directions.iter().map(|direction| direction.lost).collect()
}

fn ms(from: u64, to: u64) -> [Duration; 2] {
    [from, to].map(Duration::from_millis)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_a_slow_device_drops_is_what_is_lost(period_us in 10..2000_u64) {
        let device_period = Duration::from_micros(period_us);
        let (outcome, dropped) = Trouble { device_period, ..Trouble::default() }.measure(&plan(LOAD, None));
        let report = counted(outcome);
        prop_assert_eq!(report.counts.sent(), 2 * FRAMES);
        prop_assert_eq!(losses(&report), dropped.by_devices);
        // Slower than the 50 us between frames, and never so slow that it forwards none.
        prop_assert_eq!(report.counts.lost() > 0, period_us > 50, "{:?}", dropped.by_devices);
        // Which frames such a device forwards may be those of the same flows again and again.
        prop_assert!(report.warnings.iter().all(|warning| warning.code == "dead-flows"), "{:?}", report.warnings);
    }

    #[test]
    fn a_slow_tester_makes_trials_invalid_and_no_loss(
        takes in 1..MAX_BURST, clock_step in 500..100_000_u64, load in 20_000.0..2e6,
    ) {
        let (outcome, _) = Trouble { clock_step, takes, ..Trouble::default() }.measure(&plan(load, None));
        match outcome {
            Outcome::Counted(report) => prop_assert_eq!(report.counts.missing(), 0),
            Outcome::Invalid { reason, report, .. } => {
                prop_assert_eq!(report.counts.lost(), 0);
                let names_the_sender = ["could not be sent on schedule", "the sender stalled", "the rate was off"]
                    .iter()
                    .any(|cause| reason.contains(cause));
                prop_assert!(names_the_sender, "{}", reason);
            }
            Outcome::Interrupted => prop_assert!(false, "nobody calls it off"),
        }
    }
}

#[test]
fn a_port_that_is_too_slow_is_a_slow_tester() {
    for (takes, clock_step, load, expected) in [
        (
            1,
            10_000,
            200_000.0,
            "a: the rate was off in 3 of 3 windows of 10 ms (bound 2)",
        ),
        (56, 87_000, LOAD, "a: the sender stalled for 10.01 ms (bound 10 ms)"),
    ] {
        let trouble = Trouble {
            clock_step,
            takes,
            ..Trouble::default()
        };
        let (reason, report) = invalid(trouble.measure(&plan(load, None)).0);
        // That is certain long before the end.
        assert_eq!(reason, expected);
        assert_eq!(report.counts.lost(), 0);
        assert!(report.directions.iter().all(|direction| direction.unsent > 0));
    }
}

#[test]
fn the_dead_direction_is_named_and_the_other_one_counts() {
    let dead = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    for (stop_above, faults) in [
        (None, [dead, Faults::default()]),
        (Some(0.01), [dead, Faults::default()]),
    ] {
        let bed = Bed {
            faults,
            ..Bed::new(Threads::One)
        };
        let report = counted(bed.tester(&RUNNING).measure(&plan(LOAD, stop_above)).expect("a trial"));
        let [there, back] = &report.directions[..] else {
            panic!("{report:?}")
        };
        assert_eq!((there.lost, back.lost), (there.sent, 0));
        let codes: Vec<_> = report.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["dead-direction"]);
        let text = &report.warnings[0].text;
        assert!(text.contains("by a") && text.contains("to b"), "{text}");
    }
}

#[test]
fn a_receiver_that_falls_behind_spoils_the_trial_and_says_by_how_much() {
    let trouble = Trouble {
        ring: 64,
        away: ms(40, 60),
        ..Trouble::default()
    };
    let (outcome, dropped) = trouble.measure(&plan(LOAD, None));
    let (reason, report) = invalid(outcome);
    let [at_a, at_b] = dropped.by_rings;
    assert!(at_a > 100 && at_b > 100, "{at_a} {at_b}");
    assert_eq!(losses(&report), [at_b, at_a]);
    assert_eq!(
        reason,
        format!("the tester itself dropped {at_a} frames that arrived on a")
    );
}

#[test]
fn calibration_waits_for_a_machine_that_is_held_up_but_not_for_a_cable() {
    let held_up = |seconds| {
        let trouble = Trouble {
            clock: ClockTrouble::Jumps { seconds },
            clock_step: 8000,
            ..Trouble::default()
        };
        trouble.calibrate(Cabling::Joined)
    };
    assert!(matches!(held_up(5), Calibration::Ceiling(load) if load.per_second() > 25_000.0));
    assert!(matches!(held_up(3600), Calibration::OffSchedule(reason) if reason.contains("the sender stalled")));
    let unplugged = Trouble {
        outages: vec![ms(0, 5000)],
        ..Trouble::default()
    };
    let failed = unplugged.calibrate(Cabling::Device);
    assert!(
        matches!(&failed, Calibration::Failed(reason) if reason.contains("the link of")),
        "{failed:?}"
    );
}

#[test]
fn a_device_that_loses_frames_is_not_the_ceiling_of_the_tester() {
    let through = |cabling| {
        let device_of_10_kpps = Trouble {
            device_period: Duration::from_micros(100),
            clock_step: 4000,
            ..Trouble::default()
        };
        device_of_10_kpps.calibrate(cabling)
    };
    assert!(matches!(through(Cabling::Device), Calibration::Ceiling(load) if load.per_second() > 50_000.0));
    assert!(matches!(through(Cabling::Joined), Calibration::Failed(reason) if reason.ends_with("were lost")));
}

#[test]
fn a_clock_that_is_wrong_is_no_reason_for_a_wrong_number() {
    for (clock, duration, expected) in [
        // There is time to catch up.
        (ClockTrouble::Jump(50 * MS), 1000, "the sender stalled for 49.99 ms"),
        // There is little.
        (ClockTrouble::Jump(50 * MS), 100, "the sender stalled for 49.99 ms"),
        // There is none.
        (ClockTrouble::Jump(3_600_000 * MS), 100, "could not be sent on schedule"),
        (ClockTrouble::Back(2000), 100, "the clock of the machine went back"),
        (ClockTrouble::Back(50 * MS), 100, "the clock of the machine went back"),
        (ClockTrouble::Still, 100, "the clock of the machine stood still"),
    ] {
        let trouble = Trouble {
            clock,
            ..Trouble::default()
        };
        let plan = TrialPlan {
            duration: Nanoseconds(duration * MS),
            ..plan(LOAD, None)
        };
        let (reason, report) = invalid(trouble.measure(&plan).0);
        assert!(reason.contains(expected), "{clock:?}: {reason}");
        assert_eq!(report.counts.lost(), 0, "{clock:?}");
    }
}

#[test]
fn a_clock_that_fails_while_frames_are_waited_for_ends_the_trial() {
    let early = TrialPlan {
        duration: Nanoseconds(20 * MS),
        ..plan(LOAD, None)
    };
    for (clock, expected) in [
        (ClockTrouble::Back(10 * MS), "went back"),
        (ClockTrouble::Still, "stood still"),
    ] {
        let trouble = Trouble {
            clock,
            // Everything after the first frame is dropped, so that there is something to wait for.
            device_period: Duration::from_secs(1),
            ..Trouble::default()
        };
        let (reason, _) = invalid(trouble.measure(&early).0);
        assert!(reason.contains(expected), "{clock:?}: {reason}");
    }
}

#[test]
fn a_link_that_flaps_spoils_the_trial_however_short_it_was() {
    for (outage, counts_outages, expected) in [
        // While frames are sent: between two looks at the link, and longer.
        (
            [Duration::from_micros(50_100), Duration::from_micros(50_200)],
            true,
            "a went down during",
        ),
        (ms(50, 70), false, "a is down"),
        (ms(50, 70), true, "a "),
        // While they are waited for: the last was sent after 102 ms, and losses keep it waiting for 100 ms.
        (ms(150, 151), true, "a went down during"),
        (ms(150, 1000), false, "a is down"),
        // At the beginning.
        (ms(0, 1), true, "a is down"),
        (ms(0, 1), false, "a is down"),
    ] {
        let trouble = Trouble {
            outages: vec![outage],
            counts_outages,
            device_period: Duration::from_millis(1),
            ..Trouble::default()
        };
        let (reason, _) = invalid(trouble.measure(&plan(LOAD, None)).0);
        assert!(
            reason.contains(&format!("the link of {expected}")),
            "{outage:?}: {reason}"
        );
    }
}

#[test]
fn a_link_that_flapped_before_a_trial_does_not_spoil_it() {
    let trouble = Trouble {
        outages: vec![[Duration::ZERO; 2]],
        counts_outages: true,
        ..Trouble::default()
    };
    let report = counted(trouble.measure(&plan(LOAD, None)).0);
    assert_eq!(report.counts.missing(), 0);
}
