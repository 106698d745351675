//! Trials among more than two ports: every frame is counted where it belongs.

use std::path::Path;
use std::time::Duration;

use brimful_netdev::{FaultPlan, Faults, FaultyPort, FaultyReceiver, FaultySender};
use brimful_tester::{
    DirectionReport, PortReport, Profile, ProfileFile, ProfileOptions, Share, TestFrame, Tester, Threads, TrialReport,
};

use crate::bed::{MODES_OF_SENDERS, RUNNING, clock_step, counted, plan, timing};
use crate::clock::StepClock;
use crate::switch::{Lose, SwitchReceiver, SwitchSender, switch};

type TestSender = FaultySender<SwitchSender>;
type TestReceiver = FaultyReceiver<SwitchReceiver>;

/// Frames of a port with all of its share.
const FRAMES: u64 = 400;
const LOAD: f64 = 4000.0;

fn lossless(_: &[u8], _: usize, _: usize) -> bool {
    false
}

struct Bed {
    ports: usize,
    pattern: &'static str,
    shares: &'static str,
    lose: Lose,
    also: Option<(usize, usize)>,
}

impl Bed {
    fn new(ports: usize, pattern: &'static str) -> Self {
        Self {
            ports,
            pattern,
            shares: "",
            lose: lossless,
            also: None,
        }
    }

    fn trial(&self, threads: Threads) -> TrialReport {
        self.trial_that_stops(threads, None)
    }

    fn trial_that_stops(&self, threads: Threads, above: Option<f64>) -> TrialReport {
        let shares = (!self.shares.is_empty()).then(|| Share::parse_list(self.shares).expect("shares"));
        let options = ProfileOptions {
            ports: Some(self.ports),
            pattern: Some(self.pattern.parse().expect("a pattern")),
            shares: shares.unwrap_or_default(),
            ..ProfileOptions::default()
        };
        let profile = Profile::new(&ProfileFile::default(), Path::new(""), &options).expect("these fit");
        let threads = match threads {
            Threads::One => Threads::One,
            Threads::Several { senders, receivers } => Threads::Several {
                senders: senders.min(profile.routes().orders().len()),
                receivers,
            },
        };
        let clock = StepClock::of(threads, clock_step(threads));
        let ports = switch(self.ports, self.lose, self.also);
        let tester = Tester::new(ports, clock, profile, timing(), &RUNNING, 0).expect("the profile is valid");
        counted(
            tester
                .with_threads(threads)
                .measure(&plan(LOAD, above))
                .expect("a trial"),
        )
    }
}

fn direction<'r>(report: &'r TrialReport, from: &str, to: &str) -> &'r DirectionReport {
    let mut directions = report.directions.iter();
    directions
        .find(|direction| direction.from == from && direction.to == to)
        .expect("a direction")
}

fn port<'r>(report: &'r TrialReport, name: &str) -> &'r PortReport {
    let ports = &report.ports.as_ref().expect("more than two ports").ports;
    ports.iter().find(|port| port.name == name).expect("a port")
}

fn warning<'r>(report: &'r TrialReport, code: &str) -> Option<&'r str> {
    let found = report.warnings.iter().find(|warning| warning.code == code);
    found.map(|warning| warning.text.as_str())
}

/// From, to, sent: as many as the pattern says, and all arrive.
fn check(bed: &Bed, expected: &[(&str, &str, u64)]) {
    for threads in MODES_OF_SENDERS {
        let report = bed.trial(threads);
        let sent: Vec<_> = report
            .directions
            .iter()
            .map(|way| (&*way.from, &*way.to, way.sent))
            .collect();
        assert_eq!(sent, expected, "{} {threads:?}", bed.pattern);
        let total = expected.iter().map(|way| way.2).sum();
        assert_eq!(
            (report.counts.intended(), report.counts.sent(), report.counts.lost()),
            (total, total, 0)
        );
        let strays = report
            .directions
            .iter()
            .map(|way| way.misrouted + way.duplicated + way.reordered + way.late);
        assert_eq!(strays.sum::<u64>(), 0);
        assert_eq!(report.warnings, [], "{}", bed.pattern);
    }
}

#[test]
fn each_pattern_sends_what_it_says() {
    check(
        &Bed::new(4, "pairs"),
        &[("a", "b", 400), ("b", "a", 400), ("c", "d", 400), ("d", "c", 400)],
    );
    check(
        &Bed::new(4, "one-to-many"),
        &[("a", "b", 134), ("a", "c", 133), ("a", "d", 133)],
    );
    check(
        &Bed::new(4, "many-to-one"),
        &[("b", "a", 400), ("c", "a", 400), ("d", "a", 400)],
    );
    check(
        &Bed::new(4, "halves"),
        &[("a", "c", 200), ("a", "d", 200), ("b", "d", 200), ("b", "c", 200)],
    );
    check(
        &Bed::new(3, "mesh"),
        &[
            ("a", "b", 200),
            ("a", "c", 200),
            ("b", "c", 200),
            ("b", "a", 200),
            ("c", "a", 200),
            ("c", "b", 200),
        ],
    );
    check(&Bed::new(3, "flows:1>2,3>2=50%"), &[("a", "b", 400), ("c", "b", 200)]);
    check(
        &Bed::new(4, "flows:1>3=25%,1>4,2>4=0.25%"),
        &[("a", "c", 100), ("a", "d", 300), ("b", "d", 1)],
    );
    let shared = Bed {
        shares: "100%/20%/10%",
        ..Bed::new(3, "many-to-one")
    };
    check(&shared, &[("b", "a", 80), ("c", "a", 40)]);
}

#[test]
fn a_full_mesh_is_counted_to_the_frame() {
    for threads in MODES_OF_SENDERS {
        for ports in [3, 8, 16] {
            let report = Bed::new(ports, "mesh").trial(threads);
            assert_eq!(report.directions.len(), ports * (ports - 1));
            assert_eq!((report.counts.sent(), report.counts.lost()), (ports as u64 * FRAMES, 0));
            let of_ports = report.ports.expect("more than two ports");
            for port in of_ports.ports {
                assert_eq!((port.intended, port.sent, port.lost), (FRAMES, FRAMES, 0));
                assert_eq!((port.expected, port.received, port.misrouted), (FRAMES, FRAMES, 0));
            }
            assert!(
                of_ports.slip_frames >= Some(1),
                "the first port sends before the last one"
            );
            assert_eq!(report.warnings, []);
        }
    }
}

/// Three ports of a switch that learns, which do this to the frames that are none of a trial; and the time.
fn mesh_of_three(
    learning: &[Faults; 3],
) -> (
    Tester<'static, TestSender, TestReceiver, StepClock>,
    impl Fn() -> Duration + use<>,
) {
    let options = ProfileOptions {
        ports: Some(3),
        pattern: Some("mesh".parse().expect("a pattern")),
        ..ProfileOptions::default()
    };
    let profile = Profile::new(&ProfileFile::default(), Path::new(""), &options).expect("these fit");
    let clock = StepClock::of(Threads::One, clock_step(Threads::One));
    let faults = |sending| FaultPlan {
        sending,
        victims: |frame| !TestFrame::parse(frame).is_ok_and(|frame| frame.stamp.stream < 6),
        ..FaultPlan::default()
    };
    let reading = clock.reading();
    let ports: Vec<_> = switch(3, lossless, None)
        .into_iter()
        .zip(learning)
        .map(|(port, &learning)| FaultyPort::new(port, faults(learning), clock.reading()))
        .collect();
    let tester = Tester::new(ports, clock, profile, timing(), &RUNNING, 0).expect("the profile is valid");
    (tester, reading)
}

#[test]
fn nothing_is_flooded_because_a_port_of_the_device_was_held_up() {
    let held_up = Faults {
        delay: Duration::from_millis(100),
        ..Faults::default()
    };
    let (mut tester, _) = mesh_of_three(&[Faults::default(), Faults::default(), held_up]);
    let report = counted(tester.measure(&plan(LOAD, None)).expect("a trial"));
    assert_eq!(report.directions.iter().map(|way| way.misrouted).sum::<u64>(), 0);
    assert_eq!((report.counts.sent(), report.counts.lost()), (3 * FRAMES, 0));
    assert_eq!(report.warnings, []);
}

#[test]
fn a_device_that_shows_no_learning_is_waited_for_once() {
    let lost = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    let (mut tester, now) = mesh_of_three(&[lost; 3]);
    let mut lasted = || {
        let before = now();
        counted(tester.measure(&plan(LOAD, None)).expect("a trial"));
        now().saturating_sub(before)
    };
    let (first, second) = (lasted(), lasted());
    assert!(first > Duration::from_secs(1), "{first:?}");
    assert!(second < Duration::from_millis(300), "{second:?}");
}

#[test]
fn one_lossy_direction_is_the_one_that_is_named() {
    fn every_third_from_b_to_d(frame: &[u8], from: usize, to: usize) -> bool {
        let is_it = |frame: TestFrame| frame.stamp.stream < 12 && frame.stamp.sequence % 3 == 2;
        (from, to) == (1, 3) && TestFrame::parse(frame).is_ok_and(is_it)
    }
    for threads in MODES_OF_SENDERS {
        let bed = Bed {
            lose: every_third_from_b_to_d,
            ..Bed::new(4, "mesh")
        };
        let report = bed.trial(threads);
        let lossy = direction(&report, "b", "d");
        assert_eq!(lossy.lost, lossy.sent / 3);
        assert_eq!(report.counts.lost(), lossy.lost, "no other one lost a frame");
        assert_eq!((port(&report, "b").lost, port(&report, "a").lost), (lossy.lost, 0));
        assert_eq!(port(&report, "d").expected - port(&report, "d").received, lossy.lost);
        assert_eq!(
            warning(&report, "starved-ports"),
            None,
            "a third of a third is no starvation"
        );
    }
}

#[test]
fn a_dead_port_is_named_in_one_line() {
    fn to_and_from_c(_: &[u8], from: usize, to: usize) -> bool {
        from == 2 || to == 2
    }
    for threads in MODES_OF_SENDERS {
        let bed = Bed {
            lose: to_and_from_c,
            ..Bed::new(6, "mesh")
        };
        let report = bed.trial(threads);
        assert_eq!(report.counts.lost(), 2 * FRAMES);
        assert_eq!((port(&report, "c").received, port(&report, "c").lost), (0, FRAMES));
        let expected =
            "1 of 6 ports had less than half of its share: c (nothing that it sent arrived; received nothing)";
        assert_eq!(warning(&report, "starved-ports"), Some(expected));
        assert_eq!(warning(&report, "dead-direction"), None, "ten of them say no more");
    }
}

#[test]
fn a_device_that_forwards_nothing_has_dead_ports_alone() {
    fn all_of_a_trial(frame: &[u8], _: usize, _: usize) -> bool {
        TestFrame::parse(frame).is_ok_and(|frame| frame.stamp.stream < 6)
    }
    let bed = Bed {
        lose: all_of_a_trial,
        ..Bed::new(3, "flows:1>2,2>3")
    };
    let report = bed.trial(Threads::One);
    assert_eq!(report.counts.lost(), 2 * FRAMES);
    let expected = "3 of 3 ports had less than half of their share: a (nothing that it sent arrived), \
                    b (nothing that it sent arrived; received nothing), c (received nothing)";
    assert_eq!(warning(&report, "starved-ports"), Some(expected));
}

#[test]
fn a_mesh_with_certain_loss_stops_early_and_keeps_its_intended_count() {
    fn most_to_a(frame: &[u8], _: usize, to: usize) -> bool {
        let is_lost = |frame: TestFrame| frame.stamp.stream < 12 && frame.stamp.sequence % 4 != 3;
        to == 0 && TestFrame::parse(frame).is_ok_and(is_lost)
    }
    for threads in MODES_OF_SENDERS {
        let bed = Bed {
            lose: most_to_a,
            ..Bed::new(4, "mesh")
        };
        let report = bed.trial_that_stops(threads, Some(0.01));
        assert!(report.stopped_early);
        assert_eq!(report.counts.intended(), 4 * FRAMES);
        assert!(report.counts.sent() < 4 * FRAMES);
        let of_directions = |count: fn(&DirectionReport) -> u64| report.directions.iter().map(count).sum::<u64>();
        assert_eq!(of_directions(|way| way.sent), report.counts.sent());
        let at_a = port(&report, "a");
        assert_eq!(report.counts.lost(), at_a.expected - at_a.received);
    }
}

#[test]
fn one_sender_is_in_step_with_itself() {
    let report = Bed::new(3, "one-to-many").trial(Threads::One);
    assert_eq!(report.ports.expect("more than two ports").slip_frames, None);
}

#[test]
fn a_copy_at_a_third_port_replaces_no_lost_frame() {
    fn all_to_b(frame: &[u8], _: usize, to: usize) -> bool {
        to == 1 && TestFrame::parse(frame).is_ok_and(|frame| frame.stamp.stream < 2)
    }
    for threads in MODES_OF_SENDERS {
        let bed = Bed {
            lose: all_to_b,
            also: Some((1, 3)),
            ..Bed::new(4, "flows:1>2,3>2")
        };
        let report = bed.trial(threads);
        assert_eq!(report.counts.lost(), 2 * FRAMES);
        let lossy = direction(&report, "a", "b");
        assert_eq!((lossy.lost, lossy.misrouted), (FRAMES, FRAMES));
        assert_eq!(
            lossy.misrouted_at.iter().collect::<Vec<_>>(),
            [(&"d".to_owned(), &FRAMES)]
        );
        assert_eq!(port(&report, "d").misrouted, 2 * FRAMES);
        assert!(warning(&report, "misrouted-frames").is_some());
    }
}
