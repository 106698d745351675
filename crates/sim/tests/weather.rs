//! What must hold for every kind of system, whatever the seed, the time and the trial.

#![allow(clippy::unwrap_used)]

use brimful_sim::{Simulator, SystemSpec};
use brimful_trial::{Load, Measurer, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use proptest::prelude::*;

fn any_spec() -> impl Strategy<Value = SystemSpec> {
    (0..SystemSpec::kinds().len(), any::<u64>())
        .prop_map(|(kind, seed)| SystemSpec::new(SystemSpec::kinds()[kind].kind).with_seed(seed))
}

/// A multiple of the capacity, mostly where it matters, and a duration.
fn any_trial() -> impl Strategy<Value = (f64, Nanoseconds)> {
    let multiple = prop_oneof![0.8..1.1_f64, 0.01..3.0_f64];
    let duration = prop_oneof![
        Just(Nanoseconds(1_000_000_000)),
        (0..90_000_000_000_u64).prop_map(Nanoseconds)
    ];
    (multiple, duration)
}

fn measure(
    simulator: &mut Simulator,
    (multiple, duration): (f64, Nanoseconds),
    stop_above: Option<Ratio>,
) -> (TrialInput, TrialOutput) {
    let load = Load::new(simulator.capacity().per_second() * multiple).unwrap();
    let input = TrialInput { load, duration };
    (input, simulator.measure(input, stop_above).unwrap())
}

proptest! {
    #[test]
    fn one_specification_gives_one_outcome(spec in any_spec(), trials in prop::collection::vec(any_trial(), 1..8)) {
        let (mut one, mut other) = (Simulator::new(&spec), Simulator::new(&spec));
        for trial in trials {
            prop_assert_eq!(measure(&mut one, trial, None), measure(&mut other, trial, None));
            prop_assert_eq!(one.now(), other.now());
        }
    }

    #[test]
    fn what_was_measured_before_does_not_matter(
        spec in any_spec(),
        before in prop::collection::vec(any_trial(), 0..8),
        trial in any_trial(),
        stop_above in prop::option::of(0_u64..20),
    ) {
        let stop_above = stop_above.map(|numerator| Ratio::new(numerator, 1000).unwrap());
        let (mut busy, mut idle) = (Simulator::new(&spec), Simulator::new(&spec));
        for earlier in before {
            measure(&mut busy, earlier, stop_above);
        }
        idle.wait(busy.now());
        prop_assert_eq!(measure(&mut busy, trial, None), measure(&mut idle, trial, None));
    }

    #[test]
    fn stopping_early_changes_no_verdict(
        spec in any_spec(),
        start in 0..10_000_000_000_000_u64,
        trial in any_trial(),
        stop_above in 0_u64..100,
        share in 0..=100_u64,
    ) {
        let limit = Ratio::new(stop_above, 5000).unwrap();
        let goal = Ratio::new(stop_above * share, 500_000).unwrap();
        let (mut patient, mut hasty) = (Simulator::new(&spec), Simulator::new(&spec));
        patient.wait(Nanoseconds(start));
        hasty.wait(Nanoseconds(start));
        let (input, completed) = measure(&mut patient, trial, None);
        let (_, output) = measure(&mut hasty, trial, Some(limit));
        let verdict = TrialResult { input, output }.is_high_loss(goal, None);
        prop_assert_eq!(verdict, Some(completed.counts.loss_exceeds(goal)));
        prop_assert_eq!(output.counts.intended(), completed.counts.intended());
        if output.stopped_early {
            let rest = Nanoseconds(2_000_000_000);
            prop_assert!(hasty.now() < patient.now() + rest);
            prop_assert!(output.counts.sent() <= completed.counts.sent());
            prop_assert!(output.counts.lost() <= completed.counts.lost());
        } else {
            prop_assert_eq!(output, completed);
            prop_assert_eq!(hasty.now(), patient.now());
        }
    }
}
