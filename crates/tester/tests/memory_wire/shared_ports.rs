//! Several threads that send on one port: all is counted as if one had sent it.

use std::path::Path;

use brimful_tester::{
    DirectionReport, Directions, FrameSizes, Outcome, Profile, ProfileFile, ProfileOptions, TestFrame, Tester, Threads,
    TrialReport, senders_of_a_port,
};

use crate::bed::{RUNNING, clock_step, counted, plan, timing};
use crate::clock::StepClock;
use crate::switch::{Lose, SwitchSender, switch};

const LOAD: f64 = 5000.0;
/// Of a direction in a trial.
const FRAMES: u64 = 500;
const FLOWS: u32 = 6;

fn profile(directions: Directions, sizes: FrameSizes) -> Profile {
    let options = ProfileOptions {
        directions: Some(directions),
        flows: Some(FLOWS),
        sizes: Some(sizes),
        ..ProfileOptions::default()
    };
    Profile::new(&ProfileFile::default(), Path::new(""), &options).expect("these fit")
}

fn trial(profile: Profile, lose: Lose, threads: Threads, stop_above: Option<f64>) -> Outcome {
    trial_with(profile, lose, threads, stop_above, &mut |_| ())
}

/// The second way to send on each port may be changed.
fn trial_with(
    profile: Profile,
    lose: Lose,
    threads: Threads,
    stop_above: Option<f64>,
    change: &mut dyn FnMut(&mut SwitchSender),
) -> Outcome {
    let clock = StepClock::of(threads, clock_step(threads));
    let ports = switch(2, lose, None);
    let more = ports.iter().map(|port| {
        let (mut second, third) = (port.sender.another(), port.sender.another());
        change(&mut second);
        vec![second, third]
    });
    let more = more.collect();
    let tester = Tester::new(ports, clock, profile, timing(), &RUNNING, 0).expect("the profile is valid");
    let mut tester = tester.with_threads(threads).with_more_senders(more);
    tester.measure(&plan(LOAD, stop_above)).expect("a trial")
}

fn lossless(_: &[u8], _: usize, _: usize) -> bool {
    false
}

/// The frames of one flow that are on their way there, and each eleventh of all.
fn one_flow_and_some(frame: &[u8], from: usize, _: usize) -> bool {
    let is_lost = |frame: TestFrame| {
        let sequence = frame.stamp.sequence;
        frame.stamp.stream < 2 && ((from == 0 && sequence % u64::from(FLOWS) == 4) || sequence % 11 == 5)
    };
    TestFrame::parse(frame).is_ok_and(is_lost)
}

/// What does not depend on who sent when.
fn counts(report: &TrialReport) -> Vec<impl PartialEq + std::fmt::Debug> {
    let of_direction = |way: &DirectionReport| {
        let counts = [
            way.intended,
            way.sent,
            way.lost,
            way.unsent,
            way.duplicated,
            way.reordered,
            way.late,
        ];
        (
            way.from.clone(),
            counts,
            way.flows.clone(),
            way.delay.as_ref().map(|delay| delay.frames),
        )
    };
    report.directions.iter().map(of_direction).collect()
}

#[test]
fn several_threads_on_one_port_count_as_one_does() {
    for (directions, senders) in [(Directions::Uni, 2), (Directions::Uni, 3), (Directions::Bi, 4)] {
        for sizes in [FrameSizes::Fixed(64), FrameSizes::Imix] {
            for lose in [lossless as Lose, one_flow_and_some as Lose] {
                let profile = profile(directions, sizes.clone());
                let naive = counted(trial(profile.clone(), lose, Threads::One, None));
                let report = counted(trial(profile, lose, Threads::Several { senders, receivers: 2 }, None));
                assert_eq!(counts(&report), counts(&naive), "{directions:?} {senders} {sizes:?}");
                assert!(
                    report
                        .directions
                        .iter()
                        .all(|way| (way.sent, way.reordered) == (FRAMES, 0))
                );
                let names: Vec<_> = report.costs.iter().map(|cost| cost.thread).collect();
                assert_eq!(names, [vec!["sender"; senders], vec!["receiver"; 2]].concat());
                assert!(
                    report.costs[..senders].iter().all(|cost| cost.sent > FRAMES / 4),
                    "{report:?}"
                );
            }
        }
    }
}

#[test]
fn certain_loss_stops_all_that_share_a_port() {
    fn half(frame: &[u8], _: usize, _: usize) -> bool {
        TestFrame::parse(frame).is_ok_and(|frame| frame.stamp.stream < 2 && frame.stamp.sequence % 2 == 1)
    }
    let profile = profile(Directions::Uni, FrameSizes::Fixed(64));
    let report = counted(trial(
        profile,
        half,
        Threads::Several {
            senders: 2,
            receivers: 1,
        },
        Some(0.1),
    ));
    assert!(report.stopped_early && report.counts.sent() < FRAMES, "{report:?}");
    assert_eq!(report.counts.intended(), FRAMES);
}

#[test]
fn one_thread_that_is_held_up_makes_the_trial_invalid() {
    let profile = profile(Directions::Uni, FrameSizes::Fixed(64));
    let threads = Threads::Several {
        senders: 2,
        receivers: 1,
    };
    let outcome = trial_with(profile, lossless, threads, None, &mut |second| second.takes = 0);
    let Outcome::Invalid {
        reason,
        is_off_schedule: true,
        report,
    } = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(reason, "a: 250 of 250 frames could not be sent on schedule (bound 0)");
    let counts = report.counts;
    assert_eq!(
        (counts.intended(), counts.sent(), counts.lost()),
        (FRAMES, FRAMES / 2, 0)
    );
    let flows = report.directions[0].flows.as_ref().expect("there are several");
    assert_eq!((flows.count, flows.with_loss, flows.dead), (3, 0, 0));
}

#[test]
fn what_cannot_be_shared_is_said_in_one_line() {
    let flows_of = |ports, pattern: &str, flows| {
        let options = ProfileOptions {
            ports: Some(ports),
            pattern: pattern.parse().ok(),
            flows: Some(flows),
            ..ProfileOptions::default()
        };
        Profile::new(&ProfileFile::default(), Path::new(""), &options).expect("these fit")
    };
    for (profile, senders, expected) in [
        (flows_of(2, "pairs", 1), 2, Ok(1)),
        (flows_of(2, "pairs", 4), 4, Ok(2)),
        (flows_of(4, "mesh", 1), 4, Ok(1)),
        (flows_of(2, "pairs", 1), 4, Err("give --flows 2 or a multiple of it")),
        (flows_of(2, "pairs", 3), 4, Err("give --flows 2 or a multiple of it")),
        (
            flows_of(2, "pairs", 2),
            3,
            Err("as many threads for each do not add up to 3"),
        ),
        (
            flows_of(3, "mesh", 2),
            6,
            Err("one thread sends what a port sends to several others"),
        ),
    ] {
        let found = senders_of_a_port(&profile, senders);
        match expected {
            Ok(expected) => assert_eq!(found, Ok(expected)),
            Err(expected) => assert!(found.as_ref().is_err_and(|error| error.contains(expected)), "{found:?}"),
        }
    }
}
