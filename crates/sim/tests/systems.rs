//! What each kind of system loses at which load.

#![allow(clippy::unwrap_used)]

use brimful_sim::{Simulator, SystemSpec};
use brimful_trial::{Counts, Load, MeasureError, Measurer, Nanoseconds, Ratio, TrialInput};

fn simulator(text: &str) -> Simulator {
    Simulator::new(&text.parse::<SystemSpec>().unwrap())
}

/// A trial at a multiple of the capacity.
fn measure(simulator: &mut Simulator, multiple: f64, seconds: f64) -> Counts {
    let load = simulator.capacity().per_second() * multiple;
    let input = TrialInput {
        load: Load::new(load).unwrap(),
        duration: Nanoseconds::from_seconds(seconds).unwrap(),
    };
    simulator.measure(input, None).unwrap().counts
}

fn loss_ratio(text: &str, multiple: f64, seconds: f64) -> f64 {
    let counts = measure(&mut simulator(text), multiple, seconds);
    counts.loss_ratio().as_f64()
}

/// The share of `trials` trials of one second that lose anything.
fn lossy_share(text: &str, multiple: f64, trials: u32) -> f64 {
    let mut simulator = simulator(text);
    let lossy = (0..trials)
        .filter(|_| measure(&mut simulator, multiple, 1.0).missing() > 0)
        .count();
    lossy as f64 / f64::from(trials)
}

#[track_caller]
fn check_range(value: f64, range: std::ops::RangeInclusive<f64>) {
    assert!(range.contains(&value), "{value} is not in {range:?}");
}

#[test]
fn nothing_is_lost_far_below_capacity() {
    for info in SystemSpec::kinds().iter().filter(|info| info.name != "flat-loss") {
        let text = format!("{},seed=7", info.name);
        assert_eq!(measure(&mut simulator(&text), 0.5, 600.0).missing(), 0, "{text}");
    }
}

#[test]
fn sharp_loses_what_is_above_capacity() {
    check_range(loss_ratio("sharp", 1.0, 60.0), 0.0..=0.0);
    check_range(loss_ratio("sharp", 2.0, 1.0), 0.499_999..=0.500_001);
}

#[test]
fn a_fraction_of_a_frame_is_lost_as_often_as_it_should_be() {
    let text = "sharp,capacity=1k";
    check_range(lossy_share(text, 1.000_25, 10_000), 0.23..=0.27);
}

#[test]
fn soft_knee_begins_to_lose_several_per_cent_below_capacity() {
    let text = "soft-knee,capacity=9Mpps";
    check_range(lossy_share(text, 0.92, 10_000), 0.0..=0.01);
    check_range(lossy_share(text, 0.945, 10_000), 0.4..=0.6);
    check_range(lossy_share(text, 0.97, 100), 1.0..=1.0);
    check_range(loss_ratio(text, 1.0, 60.0), 0.0034..=0.0035);
    check_range(loss_ratio(text, 2.0, 1.0), 0.49..=0.51);
    check_range(loss_ratio("soft-knee,softness=0%", 1.0, 60.0), 0.0..=0.0);
}

#[test]
fn noisy_dips_in_a_few_per_cent_of_the_seconds() {
    check_range(lossy_share("noisy", 0.94, 10_000), 0.02..=0.035);
    check_range(lossy_share("noisy", 0.69, 10_000), 0.0..=0.0);
    check_range(lossy_share("noisy", 1.0, 10_000), 0.48..=0.55);
    check_range(lossy_share("noisy,dip-length=5s", 0.94, 10_000), 0.015..=0.04);
}

#[test]
fn stalls_are_rare_and_short() {
    let every_35_seconds = lossy_share("stalls", 1.0, 100_000);
    check_range(every_35_seconds, 0.026..=0.031);
    check_range(lossy_share("stalls", 0.8, 100_000), 0.010..=0.013);
    check_range(loss_ratio("stalls", 1.0, 10_000.0), 0.0001..=0.001);
}

#[test]
fn a_stall_is_as_long_for_many_short_trials_as_for_one() {
    let text = "stalls,queue=0s";
    let mut short = simulator(text);
    let parts: u64 = (0..40_000).map(|_| measure(&mut short, 0.9, 0.01).lost()).sum();
    let whole = measure(&mut simulator(text), 0.9, 400.0).lost();
    assert!(whole > 0);
    check_range(parts as f64 / whole as f64, 0.999_99..=1.000_01);
}

#[test]
fn vhost_has_two_regimes_and_stray_drops() {
    let text = "vhost,stray=0pps";
    check_range(lossy_share(text, 0.97, 20_000), 0.4..=0.6);
    check_range(lossy_share(text, 1.03, 20_000), 0.999..=1.0);
    check_range(lossy_share(text, 0.91, 20_000), 0.0..=0.001);
    check_range(lossy_share("vhost", 0.91, 20_000), 0.3..=0.5);
    check_range(lossy_share("vhost", 0.85, 20_000), 0.0..=0.0);
}

#[test]
fn livelock_forwards_less_the_more_is_offered() {
    let text = "livelock,capacity=5Mpps";
    let forwarded = |multiple| {
        let counts = measure(&mut simulator(text), multiple, 10.0);
        (counts.sent() - counts.lost()) as f64 / 50e6
    };
    check_range(forwarded(1.0), 0.99..=1.0);
    check_range(forwarded(1.5), 0.74..=0.76);
    check_range(forwarded(2.0), 0.49..=0.51);
    check_range(forwarded(2.9), 0.29..=0.31);
}

#[test]
fn a_limited_tester_leaves_frames_unsent() {
    let counts = measure(&mut simulator("tester-limit,capacity=1M"), 0.9, 1.0);
    assert_eq!((counts.intended(), counts.sent(), counts.lost()), (900_000, 800_000, 0));
    assert!(counts.loss_exceeds(Ratio::ZERO));
    let counts = measure(&mut simulator("tester-limit,capacity=1M,limit=2M"), 3.0, 1.0);
    assert_eq!((counts.unsent(), counts.lost()), (1_000_000, 1_000_000));
}

#[test]
fn inversion_loses_in_its_band_only() {
    for (multiple, ratio) in [(0.59, 0.0), (0.61, 0.01), (0.69, 0.01), (0.71, 0.0), (0.99, 0.0)] {
        check_range(loss_ratio("inversion", multiple, 1.0), ratio - 1e-6..=ratio + 1e-6);
    }
    check_range(loss_ratio("inversion", 2.0, 1.0), 0.49..=0.51);
}

#[test]
fn flat_loss_is_the_same_at_every_load() {
    for multiple in [0.01, 0.5, 1.0] {
        check_range(loss_ratio("flat-loss", multiple, 10.0), 0.000_999..=0.001_001);
    }
    check_range(loss_ratio("flat-loss", 2.0, 1.0), 0.499_999..=0.500_001);
}

#[test]
fn overhead_costs_time_and_counts_if_asked() {
    let second = TrialInput {
        load: Load::new(9001.0).unwrap(),
        duration: Nanoseconds(1_000_000_000),
    };
    for (text, effective) in [
        ("sharp,overhead=0.5s", None),
        (
            "sharp,overhead=0.5s,overhead-counts=yes",
            Some(Nanoseconds(1_500_000_000)),
        ),
    ] {
        let mut simulator = simulator(text);
        let output = simulator.measure(second, None).unwrap();
        assert_eq!(output.effective_duration, effective);
        assert_eq!(simulator.now(), Nanoseconds(1_500_000_000));
    }
}

#[test]
fn the_clock_does_not_run_over() {
    let mut simulator = simulator("noisy");
    simulator.wait(Nanoseconds(u64::MAX - 1));
    simulator.wait(Nanoseconds(7));
    let load = Load::new(1e6).unwrap();
    let input = TrialInput {
        load,
        duration: Nanoseconds(1),
    };
    assert!(matches!(simulator.measure(input, None), Err(MeasureError::Fatal(_))));
}

#[test]
fn it_says_what_it_is() {
    let info = simulator("sharp,seed=3").describe();
    assert_eq!(info.name, "sim:sharp,seed=3");
    assert_eq!(info.max_load, Some(Load::new(14.88e6).unwrap()));
    assert!(info.can_stop_early);
}

/// The delay of a trial of one second at a multiple of the capacity.
fn delay_p99(text: &str, multiple: f64) -> Option<Nanoseconds> {
    let mut simulator = simulator(text);
    let input = TrialInput {
        load: Load::new(simulator.capacity().per_second() * multiple).unwrap(),
        duration: Nanoseconds::from_seconds(1.0).unwrap(),
    };
    simulator.measure(input, None).unwrap().delay_p99
}

#[test]
fn delay_grows_towards_the_capacity_and_no_further_than_a_full_buffer() {
    for info in SystemSpec::kinds() {
        let text = format!("{},seed=7,delay=20us", info.name);
        assert!(simulator(&text).describe().tells_delay);
        let delays = [0.5, 0.98, 1.5, 2.0].map(|multiple| delay_p99(&text, multiple).unwrap().0);
        assert_eq!(delays[0], 40_000, "{text}");
        assert!((999_999..=1_000_001).contains(&delays[1]), "{text}: {}", delays[1]);
        assert_eq!(delays[2..], [20_000_000, 20_000_000], "{text}");
    }
}

#[test]
fn no_delay_is_told_unless_asked_for() {
    assert!(!simulator("sharp").describe().tells_delay);
    assert_eq!(delay_p99("sharp", 0.5), None);
}
