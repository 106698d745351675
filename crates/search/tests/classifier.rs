//! The engine against the naive twin of `common/twin.rs`, over random trials, and what follows from the definitions.

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{SearchGoal, TrialLog, Verdict};
use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use common::{Dice, load, twin};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn exceed_ratios() -> impl Strategy<Value = Ratio> {
    let common = [
        (0, 1),
        (1, 2),
        (1, 3),
        (6, 7),
        (1, 5),
        (1, 200),
        (999_999_999, 1_000_000_000),
    ];
    let named = select(common.to_vec()).prop_map(|(numerator, denominator)| Ratio::new(numerator, denominator));
    let any = (0_u64..1000, 1000_u64..2000).prop_map(|(numerator, denominator)| Ratio::new(numerator, denominator));
    prop_oneof![named, any].prop_map(Result::unwrap)
}

fn loss_ratios() -> impl Strategy<Value = Ratio> {
    let common = [(0, 1), (1, 200), (1, 3), (1, 100_000)];
    select(common.to_vec()).prop_map(|(numerator, denominator)| Ratio::new(numerator, denominator).unwrap())
}

/// Tenths of a second mostly, to meet the edges, and anything.
fn durations() -> impl Strategy<Value = Nanoseconds> {
    prop_oneof![
        4 => (1_u64..40).prop_map(|tenths| Nanoseconds(tenths * 100_000_000)),
        1 => (1_u64..5_000_000_000).prop_map(Nanoseconds),
    ]
}

/// Few values, so that delays meet their limits.
fn delays() -> impl Strategy<Value = Option<Nanoseconds>> {
    prop_oneof![
        1 => Just(None),
        2 => (1_u64..6).prop_map(|delay| Some(Nanoseconds(delay))),
        1 => prop::option::of((1..=u64::MAX).prop_map(Nanoseconds)),
    ]
}

fn goals() -> impl Strategy<Value = Vec<SearchGoal>> {
    let goal = (loss_ratios(), delays(), exceed_ratios(), durations(), durations());
    vec(goal, 1..4).prop_map(|goals| {
        let named = goals.into_iter().enumerate();
        named
            .map(
                |(index, (loss_ratio, delay_limit, exceed_ratio, final_trial_duration, duration_sum))| SearchGoal {
                    name: index.to_string(),
                    loss_ratio,
                    delay_limit,
                    exceed_ratio,
                    final_trial_duration,
                    duration_sum,
                    initial_trial_duration: final_trial_duration,
                    width: None,
                },
            )
            .collect()
    })
}

fn outputs() -> impl Strategy<Value = TrialOutput> {
    let lost = prop_oneof![3 => Just(0), 2 => 0_u64..10, 1 => any::<u64>()];
    let effective_duration = prop_oneof![2 => Just(None), 1 => durations().prop_map(Some)];
    (
        0_u64..1000,
        0_u64..1000,
        lost,
        effective_duration,
        delays(),
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(intended, sent, lost, effective_duration, delay_p99, stopped_early)| TrialOutput {
                counts: Counts::new(intended.max(sent / 2), sent, lost % (sent + 1)).unwrap(),
                effective_duration,
                delay_p99,
                stopped_early,
            },
        )
}

fn trials() -> impl Strategy<Value = Vec<TrialResult>> {
    let trial = (0_u32..4, durations(), outputs()).prop_map(|(step, duration, output)| TrialResult {
        input: TrialInput {
            load: load(1e6 + f64::from(step)),
            duration,
        },
        output,
    });
    vec(trial, 0..40)
}

fn log(goals: &[SearchGoal], trials: &[TrialResult]) -> TrialLog {
    let mut log = TrialLog::new(goals.to_vec());
    for &trial in trials {
        log.add(trial);
    }
    log
}

fn shuffled(trials: &[TrialResult], seed: u64) -> Vec<TrialResult> {
    let (mut dice, mut shuffled) = (Dice::new(seed), trials.to_vec());
    for index in (1..shuffled.len()).rev() {
        shuffled.swap(index, dice.below(index as u64 + 1) as usize);
    }
    shuffled
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // spec: MLRsearch-15 Load Classification #27
    #[test]
    fn verdicts_and_bounds_equal_the_naive_twin(goals in goals(), trials in trials()) {
        let log = log(&goals, &trials);
        for (index, goal) in goals.iter().enumerate() {
            for load in log.loads() {
                let verdict = twin::verdict(goal, &twin::at(&trials, load));
                prop_assert_eq!(log.verdict(load, index), verdict);
                prop_assert_eq!(log.assess(load, index).verdict, verdict);
            }
            prop_assert_eq!(log.relevant_bounds(index), twin::relevant_bounds(goal, &trials));
        }
    }

    // spec: MLRsearch-15 Conditional Throughput #26
    #[test]
    fn conditional_throughput_equals_the_naive_twin(goals in goals(), trials in trials()) {
        let log = log(&goals, &trials);
        for (index, goal) in goals.iter().enumerate() {
            for load in log.loads() {
                let loss = twin::conditional_loss(goal, &twin::at(&trials, load));
                let forwarded = twin::whole(1) - loss;
                let (numerator, denominator) = (forwarded.numer(), forwarded.denom());
                let [numerator, denominator] = [numerator, denominator].map(|part| part.to_string().parse::<f64>().unwrap());
                let wanted = load.per_second() * numerator / denominator;
                let found = log.conditional_throughput(load, index);
                prop_assert!((found - wanted).abs() <= wanted * 1e-12, "{} is not {}", found, wanted);
            }
        }
    }

    #[test]
    fn the_order_of_trials_does_not_matter(goals in goals(), trials in trials(), seed in any::<u64>()) {
        let (one, other) = (log(&goals, &trials), log(&goals, &shuffled(&trials, seed)));
        for goal in 0..goals.len() {
            prop_assert_eq!(one.relevant_bounds(goal), other.relevant_bounds(goal));
            for load in one.loads() {
                prop_assert_eq!(one.assess(load, goal), other.assess(load, goal));
                let throughputs = [&one, &other].map(|log| log.conditional_throughput(load, goal).to_bits());
                prop_assert_eq!(throughputs[0], throughputs[1]);
            }
        }
    }

    #[test]
    fn evidence_of_the_whole_duration_sum_forces_a_verdict(goals in goals(), trials in trials()) {
        let log = log(&goals, &trials);
        for (index, goal) in goals.iter().enumerate() {
            for load in log.loads() {
                let sums = log.sums(load, index);
                if sums.full_low + sums.full_high >= goal.duration_sum {
                    prop_assert_ne!(log.verdict(load, index), Verdict::Undecided);
                }
            }
        }
    }

    // spec: MLRsearch-15 Conditional Throughput #26
    #[test]
    fn a_lower_bound_promises_no_more_loss_than_its_goal_allows(goals in goals(), trials in trials()) {
        let log = log(&goals, &trials);
        for (index, goal) in goals.iter().enumerate() {
            for load in log.loads().filter(|&load| log.verdict(load, index) == Verdict::LowerBound) {
                assert_promise(&log, goal, index, load);
            }
        }
    }

    // Wall-clock times have no round sums: with binary floating point a residue of 1e-16 s makes the throughput 0.
    #[test]
    fn conditional_throughput_never_collapses(
        weights in vec(1_u64..3_000_000_000, 1..60), lost in 0_u64..=5, spare in 0_u64..1000, exceed in exceed_ratios(),
    ) {
        let total: u64 = weights.iter().sum();
        let goal = SearchGoal {
            exceed_ratio: exceed,
            duration_sum: Nanoseconds((total - spare.min(total - 1)).max(1)),
            ..common::goal("pdr", 1.0, 1.0, 0.005, 0.0)
        };
        let result = |&weight: &u64| TrialResult {
            input: TrialInput { load: load(1e6), duration: common::seconds(1.0) },
            output: TrialOutput {
                counts: Counts::new(1000, 1000, lost).unwrap(),
                effective_duration: Some(Nanoseconds(weight)),
                delay_p99: None,
                stopped_early: false,
            },
        };
        let trials: Vec<TrialResult> = weights.iter().map(result).collect();
        let log = log(std::slice::from_ref(&goal), &trials);
        prop_assert_eq!(log.verdict(load(1e6), 0), Verdict::LowerBound);
        assert_promise(&log, &goal, 0, load(1e6));
    }
}

fn assert_promise(log: &TrialLog, goal: &SearchGoal, index: usize, load: Load) {
    let promised = load.per_second() * (1.0 - goal.loss_ratio.as_f64());
    let found = log.conditional_throughput(load, index);
    assert!(found >= promised * (1.0 - 1e-12), "{found} is less than {promised}");
    assert!(found <= load.per_second());
}
