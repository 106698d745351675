//! What becomes of trials as such: what was injected is what is counted.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use brimful_netdev::{Faults, InjectedFaults};
use brimful_tester::{Cabling, Calibration, Cost, Outcome, Threads, TrialPlan};
use brimful_trial::{Nanoseconds, Ratio};
use proptest::prelude::*;

use crate::bed::{Bed, MODES, MODES_OF_SENDERS, MS, RUNNING, counted, invalid, plan};

fn modes() -> impl Strategy<Value = Threads> {
    prop::sample::select(&MODES_OF_SENDERS[..])
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
    fn counts_are_the_injected_faults(threads in modes(), there in faults(), back in faults(), seed: u64) {
        let mut tester = Bed { faults: [there, back], seed, ..Bed::new(threads) }.tester(&RUNNING);
        let mut before = [InjectedFaults::default(); 2];
        for _ in 0..2 {
            let report = counted(tester.measure(&plan(20_000.0, None)).unwrap());
            prop_assert_eq!(report.counts.sent(), 4000);
            prop_assert_eq!(report.counts.intended(), 4000);
            for (index, direction) in report.directions.iter().enumerate() {
                let injected = tester.senders_mut()[index].injected();
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
    fn reordering_within_the_grace_time_never_stops_a_trial(threads in modes(), seed: u64,
            reorder_distance in 1..500_usize) {
        let faults = Faults { reordering: 0.3, reorder_distance, ..Faults::default() };
        let mut tester = Bed { faults: [faults; 2], seed, ..Bed::new(threads) }.tester(&RUNNING);
        let report = counted(tester.measure(&plan(20_000.0, Some(0.0))).unwrap());
        prop_assert!(!report.stopped_early);
        prop_assert_eq!(report.counts.lost(), 0);
    }
}

#[test]
fn a_trial_with_certain_loss_stops_early_and_keeps_its_intended_count() {
    for threads in MODES {
        let faults = Faults {
            loss: 0.5,
            ..Faults::default()
        };
        let bed = Bed {
            faults: [faults, Faults::default()],
            ..Bed::new(threads)
        };
        let mut tester = bed.tester(&RUNNING);
        let report = counted(tester.measure(&plan(20_000.0, Some(0.01))).unwrap());
        assert!(report.stopped_early);
        assert_eq!(report.counts.intended(), 4000);
        assert!(report.counts.sent() < 4000, "{report:?}");
        assert!(report.counts.loss_is_certain_to_exceed(Ratio::from_f64(0.01).unwrap()));
    }
}

#[test]
fn corrupted_frames_are_lost_frames() {
    for threads in MODES {
        let faults = Faults {
            corruption: 0.1,
            ..Faults::default()
        };
        let bed = Bed {
            faults: [faults, Faults::default()],
            ..Bed::new(threads)
        };
        let mut tester = bed.tester(&RUNNING);
        let report = counted(tester.measure(&plan(20_000.0, None)).unwrap());
        let corrupted = tester.senders_mut()[0].injected().corrupted;
        assert!(corrupted > 0);
        assert_eq!(report.directions[0].lost, corrupted);
        // A flipped bit of a type or length makes it no test frame at all.
        assert!(
            (corrupted / 2..=corrupted).contains(&report.directions[0].damaged),
            "{report:?}"
        );
        assert_eq!(report.warnings[0].code, "damaged-frames");
    }
}

#[test]
fn a_dead_direction_is_noticed_too() {
    for threads in MODES {
        let faults = Faults {
            loss: 1.0,
            ..Faults::default()
        };
        let bed = Bed {
            faults: [faults; 2],
            ..Bed::new(threads)
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
}

#[test]
fn one_lost_frame_is_one_lost_frame_at_any_load() {
    let loads = [1.0, 77.7, 1000.0, 123_456.7, 500_000.0];
    // Threads that wait for each other take too long for the larger ones.
    for (threads, loads) in MODES.into_iter().zip([&loads[..], &loads[..3]]) {
        // Each frame is looked at the clock for when it leaves and when it arrives.
        let bed = Bed {
            clock_step: if threads == Threads::One { 100 } else { 5000 },
            ..Bed::new(threads)
        };
        let mut tester = bed.tester(&RUNNING);
        for &load in loads {
            let report = counted(tester.measure(&plan(load, None)).unwrap());
            assert_eq!(report.counts.missing(), 0, "{load}");
            assert!(report.warnings.is_empty(), "{report:?}");
        }
    }
}

#[test]
fn a_ramp_up_counts_nowhere_but_in_what_it_costs() {
    for threads in MODES_OF_SENDERS {
        let mut tester = Bed::new(threads).tester(&RUNNING).with_ramp_up(Nanoseconds(500 * MS));
        let report = counted(tester.measure(&plan(20_000.0, Some(0.0))).unwrap());
        assert_eq!((report.counts.sent(), report.counts.missing()), (4000, 0));
        assert!(report.warnings.is_empty(), "{report:?}");
        // 20 000 frames/s of 0.5 s, by 0.999 and the logarithm of 1000, both ways.
        let ramped = 2.0 * 10_000.0 * 0.999 / 1000_f64.ln();
        let costs = &report.costs;
        let handled = |count: fn(&Cost) -> u64| costs.iter().map(count).sum::<u64>();
        let (there, back) = (handled(|cost| cost.sent), handled(|cost| cost.received));
        let sent = 4000 + ramped as u64;
        assert!(there.abs_diff(sent) <= 2, "{costs:?}");
        // What crosses last is received when the sender has ended, where they are two threads.
        let is_one = threads == Threads::One;
        assert!(
            (sent - if is_one { 4 } else { 200 }..=sent + 4).contains(&back),
            "{costs:?}"
        );
        let names: Vec<_> = costs.iter().map(|cost| cost.thread).collect();
        let expected = match threads {
            Threads::One => vec!["both"],
            Threads::Several { senders, receivers } => [vec!["sender"; senders], vec!["receiver"; receivers]].concat(),
        };
        assert_eq!(names, expected);
        assert!(
            report
                .costs
                .iter()
                .all(|cost| cost.busy_s > 0.0 && cost.busy_cycles.is_none())
        );
    }
}

#[test]
fn a_ring_that_overflows_is_the_testers_fault() {
    for threads in MODES {
        let bed = Bed {
            ring: 2,
            ..Bed::new(threads)
        };
        let mut tester = bed.tester(&RUNNING);
        let reason = invalid(tester.measure(&plan(20_000.0, None)).unwrap());
        assert!(reason.contains("dropped"), "{reason}");
    }
}

#[test]
fn a_clock_too_slow_for_the_load_spoils_the_trial() {
    for threads in MODES {
        let bed = Bed {
            clock_step: 500_000,
            ..Bed::new(threads)
        };
        let mut tester = bed.tester(&RUNNING);
        let reason = invalid(tester.measure(&plan(1e6, None)).unwrap());
        assert!(reason.contains("could not be sent"), "{reason}");
    }
}

#[test]
fn a_link_that_is_down_is_named() {
    for threads in MODES {
        let mut tester = Bed::new(threads).tester(&RUNNING);
        tester.senders_mut()[1].inner_mut().unplug();
        let reason = invalid(tester.measure(&plan(1000.0, None)).unwrap());
        assert!(reason.contains("link of b"), "{reason}");
    }
}

#[test]
fn a_trial_that_is_called_off_has_no_result() {
    for threads in MODES {
        let stop = AtomicBool::new(true);
        let mut tester = Bed::new(threads).tester(&stop);
        assert_eq!(tester.measure(&plan(1000.0, None)).unwrap(), Outcome::Interrupted);
    }
}

#[test]
fn calibration_finds_the_load_at_which_the_clock_is_too_slow() {
    // A turn looks at the clock once, once for each of 64 frames a direction at most, and once for each burst that it
    // receives: 131 looks in 98 us.
    let bed = Bed {
        clock_step: 750,
        ..Bed::new(Threads::One)
    };
    let mut tester = bed.tester(&RUNNING);
    let found = tester.calibrate(Cabling::Joined).unwrap();
    let Calibration::Ceiling(ceiling) = found else {
        panic!("{found:?}")
    };
    assert!((560_000.0..=650_000.0).contains(&ceiling.per_second()), "{ceiling:?}");
}
