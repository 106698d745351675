//! Whole trials over a wire in memory in virtual time: what was injected is what is counted.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brimful_frame::{MacAddress, Stamp, TestFrame, VlanTag};
use brimful_netdev::{
    FaultPlan, Faults, FaultyPort, InjectedFaults, InterfaceCounters, MemoryPort, Port, Statistics, memory_wire,
};
use brimful_tester::{
    Addressing, Clock, Directions, Endpoint, FrameSizes, LostBy, MeasureRequest, Outcome, PacingBounds, Pair, Profile,
    Reply, Tester, Timing, TrialPlan, TrialReport,
};
use brimful_trial::{Load, Nanoseconds, Ratio};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// Each look at the clock takes a fixed time; nothing else does.
struct StepClock {
    now: Rc<Cell<u64>>,
    step: u64,
}

impl StepClock {
    fn new(step: u64) -> Self {
        let now = Rc::new(Cell::new(0));
        Self { now, step }
    }
}

impl Clock for StepClock {
    fn now(&self) -> Nanoseconds {
        self.now.set(self.now.get() + self.step);
        Nanoseconds(self.now.get())
    }

    fn sleep(&self, span: Nanoseconds) {
        self.now.set(self.now.get() + span.0);
    }
}

type TestPort = FaultyPort<MemoryPort>;
type MemoryTester<'a> = Tester<'a, TestPort, StepClock>;

static RUNNING: AtomicBool = AtomicBool::new(false);

fn profile() -> Profile {
    let endpoint = |last| Endpoint {
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        next_hop: None,
    };
    Profile {
        sizes: FrameSizes::Imix,
        flows: 10,
        directions: Directions::Bi,
        vlan: None,
        endpoints: [endpoint(1), endpoint(2)],
        addressing: Addressing::V4(Pair::crossed([[198, 18, 0, 2].into(), [198, 19, 0, 2].into()])),
    }
}

fn timing() -> Timing {
    Timing {
        straggler_wait: Nanoseconds(100 * MS),
        stop_grace: Nanoseconds(50 * MS),
        rest_after_stop: Nanoseconds(200 * MS),
        bounds: PacingBounds::default(),
    }
}

/// Learning frames are spared, so that every injected fault is one of the trial.
fn is_counted(frame: &[u8]) -> bool {
    TestFrame::parse(frame).is_ok_and(|frame| frame.stamp.stream < 2)
}

struct Bed {
    faults: [Faults; 2],
    seed: u64,
    ring: u32,
    clock_step: u64,
}

impl Default for Bed {
    fn default() -> Self {
        Self {
            faults: [Faults::default(); 2],
            seed: 1,
            ring: 4096,
            clock_step: 1000,
        }
    }
}

impl Bed {
    fn tester(self, stop: &AtomicBool) -> MemoryTester<'_> {
        let [a, b] = memory_wire(["a", "b"], self.ring);
        let clock = StepClock::new(self.clock_step);
        let now = || {
            let now = Rc::clone(&clock.now);
            move || Duration::from_nanos(now.get())
        };
        let plan = |sending, seed| FaultPlan {
            sending,
            seed,
            victims: is_counted,
            ..FaultPlan::default()
        };
        let ports = [
            FaultyPort::new(a, plan(self.faults[0], self.seed), now()),
            FaultyPort::new(b, plan(self.faults[1], !self.seed), now()),
        ];
        Tester::new(ports, clock, profile(), timing(), stop, 0).expect("the profile is valid")
    }
}

fn plan(load: f64, stop_above: Option<f64>) -> TrialPlan {
    TrialPlan {
        load: Load::new(load).expect("a load"),
        duration: Nanoseconds(100 * MS),
        stop_above: stop_above.and_then(|ratio| Ratio::from_f64(ratio).ok()),
    }
}

fn counted(outcome: Outcome) -> TrialReport {
    match outcome {
        Outcome::Counted(report) => report,
        other => panic!("{other:?}"),
    }
}

fn invalid(outcome: Outcome) -> String {
    match outcome {
        Outcome::Invalid { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

prop_compose! {
    fn faults()(loss in 0.0..0.2, duplication in 0.0..0.2, reordering in 0.0..0.2, reorder_distance in 1..50_usize,
                    burst_loss in 0.0..0.01, burst_len in 0..9_u64, delay_us in 0..20_000_u64) -> Faults {
        let delay = Duration::from_micros(delay_us);
        Faults { loss, duplication, reordering, reorder_distance, burst_loss, burst_len, delay, ..Faults::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn counts_are_the_injected_faults(there in faults(), back in faults(), seed: u64) {
        let mut tester = Bed { faults: [there, back], seed, ..Bed::default() }.tester(&RUNNING);
        let mut before = [InjectedFaults::default(); 2];
        for _ in 0..2 {
            let report = counted(tester.measure(&plan(20_000.0, None)).unwrap());
            prop_assert_eq!(report.counts.sent(), 4000);
            prop_assert_eq!(report.counts.intended(), 4000);
            for (index, direction) in report.directions.iter().enumerate() {
                let injected = tester.ports_mut()[index].injected_sending();
                let earlier = std::mem::replace(&mut before[index], injected);
                let lost = |faults: InjectedFaults| faults.lost + faults.lost_in_bursts;
                prop_assert_eq!(direction.lost, lost(injected) - lost(earlier));
                prop_assert_eq!(direction.duplicated, injected.duplicated - earlier.duplicated);
                prop_assert_eq!(direction.reordered, injected.reordered - earlier.reordered);
                prop_assert_eq!((direction.late, direction.damaged), (0, 0));
            }
        }
    }

    #[test]
    fn reordering_within_the_grace_time_never_stops_a_trial(seed: u64, reorder_distance in 1..500_usize) {
        let faults = Faults { reordering: 0.3, reorder_distance, ..Faults::default() };
        let mut tester = Bed { faults: [faults; 2], seed, ..Bed::default() }.tester(&RUNNING);
        let report = counted(tester.measure(&plan(20_000.0, Some(0.0))).unwrap());
        prop_assert!(!report.stopped_early);
        prop_assert_eq!(report.counts.lost(), 0);
    }
}

#[test]
fn a_trial_with_certain_loss_stops_early_and_keeps_its_intended_count() {
    let faults = Faults {
        loss: 0.5,
        ..Faults::default()
    };
    let bed = Bed {
        faults: [faults, Faults::default()],
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    let report = counted(tester.measure(&plan(20_000.0, Some(0.01))).unwrap());
    assert!(report.stopped_early);
    assert_eq!(report.counts.intended(), 4000);
    assert!(report.counts.sent() < 4000, "{report:?}");
    assert!(report.counts.loss_is_certain_to_exceed(Ratio::from_f64(0.01).unwrap()));
}

#[test]
fn corrupted_frames_are_lost_frames() {
    let faults = Faults {
        corruption: 0.1,
        ..Faults::default()
    };
    let bed = Bed {
        faults: [faults, Faults::default()],
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    let report = counted(tester.measure(&plan(20_000.0, None)).unwrap());
    let corrupted = tester.ports_mut()[0].injected_sending().corrupted;
    assert!(corrupted > 0);
    assert_eq!(report.directions[0].lost, corrupted);
    // A flipped bit of a type or length makes it no test frame at all.
    assert!(
        (corrupted / 2..=corrupted).contains(&report.directions[0].damaged),
        "{report:?}"
    );
    assert_eq!(report.warnings[0].code, "damaged-frames");
}

#[test]
fn a_dead_direction_is_noticed_too() {
    let faults = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    let bed = Bed {
        faults: [faults; 2],
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    let plan = TrialPlan {
        duration: Nanoseconds(1000 * MS),
        ..plan(20_000.0, Some(0.01))
    };
    let report = counted(tester.measure(&plan).unwrap());
    assert!(report.stopped_early);
    assert_eq!(report.counts.lost(), report.counts.sent());
}

#[test]
fn one_lost_frame_is_one_lost_frame_at_any_load() {
    // Each frame is looked at the clock for when it leaves and when it arrives.
    let bed = Bed {
        clock_step: 100,
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    for load in [1.0, 77.7, 1000.0, 123_456.7, 500_000.0] {
        let report = counted(tester.measure(&plan(load, None)).unwrap());
        assert_eq!(report.counts.missing(), 0, "{load}");
        assert!(report.warnings.is_empty(), "{report:?}");
    }
}

#[test]
fn an_injected_delay_is_the_delay() {
    for delay_us in [0, 50, 1000, 30_000] {
        let faults = Faults {
            delay: Duration::from_micros(delay_us),
            ..Faults::default()
        };
        let bed = Bed {
            faults: [faults, Faults::default()],
            ..Bed::default()
        };
        let report = counted(bed.tester(&RUNNING).measure(&plan(20_000.0, None)).unwrap());
        let [there, back] = &report.directions[..] else {
            panic!("{report:?}");
        };
        let delay = there.delay.as_ref().expect("frames arrived");
        // A look at the clock takes 1 us, and the loop looks at it a few times before it comes round; beyond 20 ms it
        // may sleep for 200 us.
        let slack = if delay_us > 20_000 { 220e-6 } else { 10e-6 };
        let expected = delay_us as f64 * 1e-6..delay_us as f64 * 1e-6 + slack;
        for time in [delay.min_s, delay.mean_s, delay.p50_s, delay.p99_s, delay.max_s] {
            assert!(expected.contains(&time), "{delay_us} us: {delay:?}");
        }
        assert_eq!((delay.frames, there.lost), (2000, 0));
        assert!(delay.jitter_s.is_some_and(|jitter| jitter <= slack), "{delay:?}");
        assert!(
            back.delay.as_ref().is_some_and(|delay| delay.max_s <= 220e-6),
            "{back:?}"
        );
    }
}

#[test]
fn a_reply_tells_the_delay_and_its_detail_when_asked() {
    let slow = Faults {
        delay: Duration::from_millis(1),
        loss: 0.3,
        ..Faults::default()
    };
    for detail in [false, true] {
        let bed = Bed {
            faults: [Faults::default(), slow],
            ..Bed::default()
        };
        let outcome = bed.tester(&RUNNING).measure(&plan(20_000.0, None)).unwrap();
        let line = format!(r#"{{"id": 1, "load": 20000, "duration_s": 0.1, "detail": {detail}}}"#);
        let request: MeasureRequest = serde_json::from_str(&line).unwrap();
        let reply = serde_json::to_value(Reply::of_trial(request, outcome)).unwrap();
        let delay = &reply["directions"][1]["delay"];
        assert_eq!(reply["delay_p99_s"], delay["p99_s"]);
        assert!(delay["p99_s"].as_f64().is_some_and(|p99| p99 >= 0.001), "{reply}");
        assert_eq!(delay["histogram"].is_string(), detail, "{reply}");
        let Some(batches) = delay.get("batches") else {
            assert!(!detail);
            continue;
        };
        let batches: Vec<(u64, f64)> = serde_json::from_value(batches.clone()).unwrap();
        assert_eq!(batches.len(), 32);
        assert_eq!(batches.iter().map(|batch| batch.0).sum::<u64>(), delay["frames"]);
        assert!(batches.iter().all(|batch| batch.0 < 63 && batch.1 >= 0.001), "{reply}");
    }
}

#[test]
fn without_arrivals_there_is_no_delay() {
    let faults = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    let bed = Bed {
        faults: [faults; 2],
        ..Bed::default()
    };
    let outcome = bed.tester(&RUNNING).measure(&plan(1000.0, None)).unwrap();
    let request = serde_json::from_str(r#"{"id": 1, "load": 1000, "duration_s": 0.1}"#).unwrap();
    let reply = serde_json::to_value(Reply::of_trial(request, outcome)).unwrap();
    assert_eq!(reply.get("delay_p99_s"), None, "{reply}");
    assert_eq!(reply["directions"][0].get("delay"), None, "{reply}");
}

#[test]
fn a_ring_that_overflows_is_the_testers_fault() {
    let bed = Bed {
        ring: 2,
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    let reason = invalid(tester.measure(&plan(20_000.0, None)).unwrap());
    assert!(reason.contains("dropped"), "{reason}");
}

#[test]
fn a_clock_too_slow_for_the_load_spoils_the_trial() {
    let bed = Bed {
        clock_step: 500_000,
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    let reason = invalid(tester.measure(&plan(1e6, None)).unwrap());
    assert!(reason.contains("could not be sent"), "{reason}");
}

#[test]
fn a_link_that_is_down_is_named() {
    let mut tester = Bed::default().tester(&RUNNING);
    tester.ports_mut()[1].inner_mut().unplug();
    let reason = invalid(tester.measure(&plan(1000.0, None)).unwrap());
    assert!(reason.contains("link of b"), "{reason}");
}

#[test]
fn a_trial_that_is_called_off_has_no_result() {
    let stop = AtomicBool::new(true);
    let mut tester = Bed::default().tester(&stop);
    assert_eq!(tester.measure(&plan(1000.0, None)).unwrap(), Outcome::Interrupted);
}

/// A port behind a device that puts every tenth frame of a trial on another VLAN.
struct Retagging {
    inner: MemoryPort,
    retagged: u64,
}

impl Port for Retagging {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        self.inner.send_burst(count, fill)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        self.inner.receive_burst(limit, &mut |frame| {
            let mut frame = frame.to_vec();
            if TestFrame::parse(&frame).is_ok_and(|frame| frame.stamp.stream < 2 && frame.stamp.sequence % 10 == 3) {
                self.retagged += 1;
                frame[15] ^= 1;
            }
            take(&frame);
        })
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.inner.flush()
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
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
fn frames_on_another_vlan_are_misrouted_and_lost() {
    let ports = memory_wire(["a", "b"], 4096).map(|inner| Retagging { inner, retagged: 0 });
    let profile = Profile {
        vlan: VlanTag::new(6).ok(),
        ..profile()
    };
    let mut tester = Tester::new(ports, StepClock::new(1000), profile, timing(), &RUNNING, 7).expect("valid");
    let report = counted(tester.measure(&plan(20_000.0, None)).expect("a trial"));
    // The device of direction 0 is what port b receives.
    for (direction, port) in report.directions.iter().zip([1, 0]) {
        let retagged = tester.ports_mut()[port].retagged;
        assert_eq!((direction.misrouted, direction.lost), (retagged, retagged));
        assert_eq!((retagged, direction.damaged), (200, 0));
    }
    assert_eq!(report.warnings[0].code, "misrouted-frames");
    assert!(report.warnings[0].text.starts_with("400 frames"), "{report:?}");
}

/// A port at which one more frame has always just arrived.
struct Babbling {
    inner: MemoryPort,
    frame: Vec<u8>,
}

impl Port for Babbling {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        self.inner.send_burst(count, fill)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        take(&self.frame);
        Ok(1 + self.inner.receive_burst(limit - 1, take)?)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.inner.flush()
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
        self.inner.statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        self.inner.interface_counters()
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.inner.link_is_up()
    }
}

/// One trial, in which the same frame arrives at both ports all the time.
fn trial_with_babble(frame: &[u8]) -> TrialReport {
    let [a, b] = memory_wire(["a", "b"], 4096);
    let babbling = |inner| Babbling {
        inner,
        frame: frame.to_vec(),
    };
    let clock = StepClock::new(1000);
    let ports = [babbling(a), babbling(b)];
    let mut tester = Tester::new(ports, clock, profile(), timing(), &RUNNING, 7).expect("valid");
    counted(tester.measure(&plan(20_000.0, None)).expect("a trial"))
}

fn frame_of_trial(trial: u16, stream: u8, sequence: u64) -> Vec<u8> {
    let stamp = Stamp {
        trial,
        stream,
        timestamp: 0,
        sequence,
    };
    let mut buffer = vec![0; 2000];
    let frames = profile().stream(0, 1).expect("valid");
    let len = frames.fill(&mut buffer, stamp);
    buffer.truncate(len);
    buffer
}

#[test]
fn frames_of_an_earlier_trial_do_not_count_but_are_told() {
    let report = trial_with_babble(&frame_of_trial(7, 0, 0));
    assert_eq!((report.counts.sent(), report.counts.lost()), (4000, 0));
    assert!(report.directions.iter().all(|direction| direction.duplicated == 0));
    assert_eq!(report.warnings[0].code, "stale-frames");
}

#[test]
fn frames_never_sent_or_at_the_wrong_port_do_not_count() {
    let never_sent = trial_with_babble(&frame_of_trial(8, 0, 1_000_000));
    assert_eq!((never_sent.counts.sent(), never_sent.counts.lost()), (4000, 0));
    assert!(never_sent.warnings.is_empty());
    // Stream 0 belongs at port b; what babbles at port a must not count, so that b alone sees copies of frame 5.
    let copies = trial_with_babble(&frame_of_trial(8, 0, 5));
    assert!(copies.directions[0].duplicated > 0 && copies.directions[0].misrouted > 0);
    assert_eq!(
        (copies.directions[1].duplicated, copies.directions[1].misrouted),
        (0, 0)
    );
    assert_eq!(copies.warnings[0].code, "misrouted-frames");
}

#[test]
fn foreign_and_damaged_frames_do_not_count() {
    let foreign = trial_with_babble(b"some other protocol, with an odd length");
    assert_eq!((foreign.counts.sent(), foreign.counts.lost()), (4000, 0));
    assert!(foreign.warnings.is_empty());
    let mut damaged = frame_of_trial(8, 0, 3);
    damaged[50] ^= 1;
    let damaged = trial_with_babble(&damaged);
    assert_eq!((damaged.counts.sent(), damaged.counts.lost()), (4000, 0));
    assert_eq!(damaged.warnings[0].code, "damaged-frames");
}

#[test]
fn endless_chatter_does_not_hold_up_the_end_of_a_lossy_trial() {
    // No frame of the trial can arrive: port a is joined to nobody who listens.
    let [a, _] = memory_wire(["a", "x"], 4096);
    let [b, _] = memory_wire(["b", "y"], 4096);
    let babbling = |inner| Babbling {
        inner,
        frame: vec![0; 60],
    };
    let clock = StepClock::new(1000);
    let ports = [babbling(a), babbling(b)];
    let mut tester = Tester::new(ports, clock, profile(), timing(), &RUNNING, 7).expect("valid");
    let report = counted(tester.measure(&plan(1000.0, None)).expect("a trial"));
    assert_eq!(report.counts.lost(), report.counts.sent());
}

#[test]
fn calibration_finds_the_load_at_which_the_clock_is_too_slow() {
    // A turn looks at the clock once, once for each of 64 frames a direction at most, and once for each burst that it
    // receives: 131 looks in 98 us.
    let bed = Bed {
        clock_step: 750,
        ..Bed::default()
    };
    let mut tester = bed.tester(&RUNNING);
    let ceiling = tester.calibrate().unwrap().unwrap().per_second();
    assert!((560_000.0..=650_000.0).contains(&ceiling), "{ceiling}");
}

/// A port whose interface counts what crosses it, above whatever is inside.
struct Counting<P> {
    inner: P,
    counters: InterfaceCounters,
}

impl<P: Port> Port for Counting<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn send_burst(&mut self, count: usize, fill: &mut dyn FnMut(usize, &mut [u8]) -> usize) -> io::Result<usize> {
        let sent = self.inner.send_burst(count, fill)?;
        self.counters.sent += sent as u64;
        Ok(sent)
    }

    fn receive_burst(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let received = self.inner.receive_burst(limit, take)?;
        self.counters.received += received as u64;
        Ok(received)
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.inner.flush()
    }

    fn statistics(&mut self) -> io::Result<Statistics> {
        self.inner.statistics()
    }

    fn interface_counters(&mut self) -> io::Result<Option<InterfaceCounters>> {
        Ok(Some(self.counters))
    }

    fn link_is_up(&mut self) -> io::Result<bool> {
        self.inner.link_is_up()
    }
}

/// Where frames are made to vanish: in the tester, and between the interfaces.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    tester_send: Faults,
    between: Faults,
    tester_receive: Faults,
}

/// One trial in which the frames from a to b suffer, and what was done to them at the three places.
fn trial_with_faults_at(places: &Places, seed: u64) -> (TrialReport, Option<String>, [InjectedFaults; 3]) {
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
        let counting = Counting {
            inner: FaultyPort::new(port, plan(between, Faults::default()), || Duration::ZERO),
            counters: InterfaceCounters::default(),
        };
        FaultyPort::new(counting, plan(tester_send, tester_receive), || Duration::ZERO)
    });
    let mut tester = Tester::new(ports, StepClock::new(1000), profile(), timing(), &RUNNING, 7).expect("valid");
    let (report, reason) = match tester.measure(&plan(20_000.0, None)).expect("a trial") {
        Outcome::Counted(report) => (report, None),
        Outcome::Invalid { report, reason } => (report, Some(reason)),
        Outcome::Interrupted => panic!("nobody calls it off"),
    };
    let [a, b] = tester.ports_mut();
    let injected = [
        a.injected_sending(),
        a.inner_mut().inner.injected_sending(),
        b.injected_receiving(),
    ];
    (report, reason, injected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn loss_is_laid_at_the_right_door(seed: u64, losses in prop::array::uniform3(prop_oneof![Just(0.0), 0.0..0.2])) {
        let [tester_send, between, tester_receive] = losses.map(|loss| Faults { loss, ..Faults::default() });
        let places = Places { tester_send, between, tester_receive };
        let (report, reason, injected) = trial_with_faults_at(&places, seed);
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
fn loss_in_the_receiving_tester_is_no_result() {
    let places = Places {
        tester_receive: Faults {
            loss: 0.1,
            ..Faults::default()
        },
        ..Places::default()
    };
    let (report, _, [.., injected]) = trial_with_faults_at(&places, 1);
    assert_eq!(
        report.directions[0].account.map(|account| account.lost.tester_receive),
        Some(injected.lost)
    );
    assert!(report.warnings[0].text.contains("after b received them"), "{report:?}");
}
