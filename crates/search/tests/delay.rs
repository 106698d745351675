//! Goals with a delay limit: a trial that is too slow is as good as one that loses too much, for every strategy.

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{Controller, GoalResult, Reason, SearchGoal, StrategyKind};
use brimful_trial::{Counts, Nanoseconds, TrialInput, TrialOutput, TrialResult};
use common::{
    arbitrary, delay_limited, goal, load, many_short, problem, queued, search, seconds, sharp, strategies, two_rates,
    whole, within,
};
use proptest::prelude::*;

const CAPACITY: f64 = 1e6;

/// Where `queued` reaches a delay.
fn load_of_delay(limit_us: f64) -> f64 {
    CAPACITY * (1.0 - 20.0 / limit_us)
}

fn results(
    goals: Vec<SearchGoal>,
    strategy: StrategyKind,
    system: impl FnMut(TrialInput) -> TrialOutput,
) -> (Vec<GoalResult>, usize) {
    let mut controller = Controller::new(problem(goals), strategy);
    let trials = search(&mut controller, system);
    (controller.results(), trials.len())
}

#[track_caller]
fn assert_straddles(result: &GoalResult, answer: f64) {
    assert_eq!(result.reason, Reason::Regular);
    let (lower, upper) = (result.lower_bound.unwrap().load, result.upper_bound.unwrap().load);
    let (lower, upper) = (lower.per_second(), upper.per_second());
    assert!(
        lower <= answer * (1.0 + 1e-6) && answer * (1.0 - 1e-6) <= upper,
        "{lower} {upper} {answer}"
    );
}

#[test]
fn bounds_straddle_the_load_that_is_too_slow() {
    for strategy in strategies() {
        for limit in [25, 40, 100, 1000, 10_000] {
            for base in many_short().into_iter().chain(two_rates()) {
                let (found, trials) = results(vec![within(limit, base)], strategy, sharp(CAPACITY));
                assert_straddles(&found[0], load_of_delay(limit as f64));
                assert!(trials < 300, "{strategy:?}, {limit} us: {trials} trials");
            }
        }
    }
}

#[test]
fn a_delay_limit_does_not_cost_straddle_much() {
    for limit in [40, 100, 1000] {
        let goals = vec![within(limit, goal("ndr", 1.0, 21.0, 0.0, 0.5))];
        let (_, trials) = results(goals, StrategyKind::Straddle, sharp(CAPACITY));
        // Two loads to their verdicts are 22 trials; halving the range to the width takes ten loads more.
        assert!(trials <= 22 + 40, "{limit} us: {trials} trials");
    }
}

#[test]
fn goals_of_one_loss_ratio_and_several_delay_limits_share_their_trials() {
    for strategy in strategies() {
        let (together, trials) = results(delay_limited(), strategy, sharp(CAPACITY));
        for (result, answer) in together.iter().zip([CAPACITY, 0.98e6, 0.8e6, 0.95e6]) {
            assert_straddles(result, answer);
        }
        let apart = delay_limited()
            .into_iter()
            .map(|goal| results(vec![goal], strategy, sharp(CAPACITY)).1)
            .sum::<usize>();
        assert!(trials < apart, "{strategy:?}: {trials} trials together, {apart} apart");
    }
}

#[test]
fn too_slow_at_any_load_and_fast_enough_at_any_load_are_answers() {
    let slow = |input| TrialOutput {
        delay_p99: Some(Nanoseconds(1_000_001)),
        ..whole(input, 0)
    };
    let silent = |input| whole(input, 0);
    let fast = |input| TrialOutput {
        delay_p99: Some(Nanoseconds(1_000_000)),
        ..whole(input, 0)
    };
    for strategy in strategies() {
        let found = |system: &dyn Fn(TrialInput) -> TrialOutput| {
            let goals = vec![
                goal("ndr", 1.0, 21.0, 0.0, 0.5),
                within(1000, goal("fast", 1.0, 21.0, 0.0, 0.5)),
            ];
            reasons(&results(goals, strategy, system).0)
        };
        let (most, least) = (Reason::MaxLoadIsLowerBound, Reason::MinLoadIsUpperBound);
        assert_eq!(found(&slow), [most, least], "{strategy:?}");
        assert_eq!(found(&silent), [most, least], "{strategy:?}");
        assert_eq!(found(&fast), [most, most], "{strategy:?}");
    }
}

fn reasons(results: &[GoalResult]) -> Vec<Reason> {
    results.iter().map(|result| result.reason).collect()
}

#[test]
fn delay_alone_bounds_a_search_that_never_sees_loss() {
    let lossless = |input: TrialInput| queued(CAPACITY * 5.0, input, 0);
    for strategy in strategies() {
        for hint in [None, Some(3e6), Some(9e6)] {
            let goals = vec![within(40, goal("ndr", 1.0, 21.0, 0.0, 0.5))];
            let mut problem = problem(goals);
            if let Some(hint) = hint {
                problem = problem.with_hint(load(hint));
            }
            let mut controller = Controller::new(problem, strategy);
            let trials = search(&mut controller, lossless).len();
            assert_straddles(&controller.results()[0], 5.0 * load_of_delay(40.0));
            assert!(trials < 300, "{strategy:?}: {trials} trials");
        }
    }
}

/// Full-length trials of one second at one load: frames lost of a thousand, and the delay in nanoseconds.
fn throughput(goal: SearchGoal, trials: &[(u64, u64)]) -> f64 {
    let mut controller = Controller::new(problem(vec![goal]), StrategyKind::Bisect);
    for &(lost, delay) in trials {
        controller.record(TrialResult {
            input: TrialInput {
                load: load(1e6),
                duration: seconds(1.0),
            },
            output: TrialOutput {
                counts: Counts::new(1000, 1000, lost).unwrap(),
                effective_duration: None,
                delay_p99: Some(Nanoseconds(delay)),
                stopped_early: false,
            },
        });
    }
    controller.log().conditional_throughput(load(1e6), 0)
}

// spec: MLRsearch-15 Conditional Throughput #26
#[test]
fn slow_trials_do_not_improve_the_conditional_throughput() {
    let slow = 1_000_001;
    let limited = within(1000, goal("pdr", 1.0, 4.0, 0.01, 0.5));
    // By loss alone the half that counts would be the two trials without loss, which were too slow.
    let trials = [(0, slow), (0, slow), (5, 10), (10, 10)];
    assert!((throughput(limited.clone(), &trials) - 990_000.0).abs() < 1e-6);
    let unlimited = goal("pdr", 1.0, 4.0, 0.01, 0.5);
    assert!((throughput(unlimited, &trials) - 1_000_000.0).abs() < 1e-6);
    // With more slow time than the goal tolerates nothing is promised.
    assert!(throughput(limited, &[(0, slow), (0, slow), (0, slow), (0, 10)]).abs() < 1e-6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_delays_come_to_an_end(
        seed in any::<u64>(), limits in prop::array::uniform3(prop::option::of(1..2000_u64)), exceed in 0_u32..4,
    ) {
        let goals: Vec<SearchGoal> = [0.0, 0.0, 0.005].into_iter().zip(limits).enumerate().map(|(index, (loss, limit))| {
            let goal = goal(&index.to_string(), 1.0, 4.0, loss, f64::from(exceed) / 4.0);
            limit.map_or(goal.clone(), |limit| within(limit, goal))
        }).collect();
        for strategy in strategies() {
            let (found, _) = results(goals.clone(), strategy, arbitrary(seed));
            for result in found {
                prop_assert!(matches!(
                    result.reason,
                    Reason::Regular | Reason::MaxLoadIsLowerBound | Reason::MinLoadIsUpperBound
                ), "{:?}: {:?}", strategy, result);
            }
        }
    }

    #[test]
    fn the_order_of_goals_changes_no_answer_much(seed in any::<u64>(), capacity in 5e3..9e6_f64) {
        let mut backwards = delay_limited();
        backwards.rotate_left((seed % 4) as usize);
        for strategy in strategies() {
            let (one, _) = results(delay_limited(), strategy, sharp(capacity));
            let (mut other, _) = results(backwards.clone(), strategy, sharp(capacity));
            other.rotate_right((seed % 4) as usize);
            for (one, other) in one.iter().zip(&other) {
                let (one, other) = (one.conditional_throughput().unwrap(), other.conditional_throughput().unwrap());
                prop_assert!((one - other).abs() / capacity <= 0.0101, "{:?}: {} {}", strategy, one, other);
            }
        }
    }
}
