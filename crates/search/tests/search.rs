//! Whole searches, with every strategy: right answers on steady systems, honest ones on all others.

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{Bound, Controller, GoalResult, Problem, Reason, SearchGoal, Step, StopReason, StrategyKind};
use brimful_trial::{TrialInput, TrialOutput, TrialResult};
use common::{
    Dice, arbitrary, delay_limited, frames, goal, load, many_short, problem, queued, search, sharp, starting_at,
    strategies, twin, two_rates, unsteady, whole,
};

type System = Box<dyn FnMut(TrialInput) -> TrialOutput>;

/// Softly rising loss, deterministic: a tenth of the capacity before it the first frame is lost.
fn soft(capacity: f64) -> impl FnMut(TrialInput) -> TrialOutput {
    move |input| {
        let over = (input.load.per_second() / capacity - 0.9).max(0.0);
        queued(capacity, input, (frames(input) as f64 * over * over) as u64)
    }
}

fn systems(seed: u64) -> Vec<System> {
    vec![
        Box::new(sharp(1e6)),
        Box::new(soft(2e6)),
        Box::new(sharp(1e9)),
        Box::new(sharp(5.0)),
        Box::new(unsteady(3e6, seed)),
        Box::new(arbitrary(seed)),
    ]
}

fn goal_sets() -> Vec<Vec<SearchGoal>> {
    vec![
        two_rates(),
        many_short(),
        vec![goal("one", 60.0, 120.0, 0.0, 0.5)],
        vec![
            starting_at(0.5, goal("lax", 2.0, 6.0, 0.1, 0.25)),
            starting_at(1.0, goal("strict", 4.0, 4.0, 0.0, 0.0)),
            goal("odd", 3.0, 1.0, 0.001, 0.9),
        ],
        delay_limited(),
    ]
}

/// All combinations, with the trials that were made.
fn every_search(seed: u64, mut check: impl FnMut(StrategyKind, &Controller, &[TrialResult])) {
    for strategy in strategies() {
        for goals in goal_sets() {
            for system in systems(seed) {
                let mut controller = Controller::new(problem(goals.clone()), strategy);
                let trials = search(&mut controller, system);
                check(strategy, &controller, &trials);
            }
        }
    }
}

fn bounds(result: &GoalResult) -> (f64, f64) {
    let at = |bound: Option<Bound>| bound.unwrap().load.per_second();
    (at(result.lower_bound), at(result.upper_bound))
}

// spec: MLRsearch-15 Goal Width #21
#[test]
fn bounds_straddle_the_capacity_of_a_sharp_system() {
    for strategy in strategies() {
        let goals = vec![goal("ndr", 1.0, 21.0, 0.0, 0.005), goal("pdr", 1.0, 21.0, 0.005, 0.005)];
        let problem = Problem::new(goals, load(1e3), load(1e9)).unwrap();
        let mut controller = Controller::new(problem, strategy);
        search(&mut controller, sharp(1e6));
        let results = controller.results();
        // A load that rounds to a million frames a trial loses none; 1/0.995 of it loses exactly 0.5 %.
        for (result, knee) in results.iter().zip([1_000_000.5, 1_005_025.1]) {
            assert_eq!(result.reason, Reason::Regular, "{strategy:?}");
            let (lower, upper) = bounds(result);
            assert!(lower <= knee && knee - 1.0 <= upper, "{strategy:?}: {lower} {upper}");
            assert!((upper - lower) / upper <= 0.005, "{strategy:?}: {lower} {upper}");
        }
        let throughput = results[1].conditional_throughput().unwrap();
        assert!(
            (0.995e6..=1.000_001e6).contains(&throughput),
            "{strategy:?}: {throughput}"
        );
    }
}

// spec: MLRsearch-15 Regular Goal Result #27
// spec: MLRsearch-15 Goal Result #29
// spec: MLRsearch-15 Search Result #30
#[test]
fn every_result_is_what_the_trials_support() {
    for seed in 0..5 {
        every_search(seed, |strategy, controller, trials| {
            let results = controller.results();
            assert_eq!(results.len(), controller.problem().goals().len());
            for (goal, result) in controller.problem().goals().iter().zip(results) {
                let bounds = twin::relevant_bounds(goal, trials);
                assert_eq!(result.lower_bound.map(|bound| bound.load), bounds.lower, "{strategy:?}");
                assert_eq!(result.upper_bound.map(|bound| bound.load), bounds.upper, "{strategy:?}");
                match (result.reason, bounds.lower, bounds.upper) {
                    (Reason::Regular, Some(lower), Some(upper)) => {
                        let width = (upper.per_second() - lower.per_second()) / upper.per_second();
                        assert!(width <= 0.005 + 1e-12, "{strategy:?}: {width}");
                    }
                    (Reason::MaxLoadIsLowerBound, Some(lower), None) => assert_eq!(lower, load(1e7)),
                    (Reason::MinLoadIsUpperBound, None, Some(upper)) => assert_eq!(upper, load(1e3)),
                    other => panic!("{strategy:?}: {other:?}"),
                }
            }
        });
    }
}

// spec: MLRsearch-15 Trial Duration #4
// spec: MLRsearch-15 Max Load, Min Load #25
#[test]
fn no_trial_is_outside_the_limits_or_shorter_than_asked() {
    for seed in 100..104 {
        every_search(seed, |strategy, controller, trials| {
            let problem = controller.problem();
            let shortest = problem
                .goals()
                .iter()
                .map(|goal| goal.initial_trial_duration)
                .min()
                .unwrap();
            for trial in trials {
                let at = trial.input.load;
                assert!(
                    problem.min_load() <= at && at <= problem.max_load(),
                    "{strategy:?}: {at:?}"
                );
                assert!(trial.input.duration >= shortest, "{strategy:?}");
            }
        });
    }
}

// spec: MLRsearch-15 Trial Duration #5
#[test]
fn equal_durations_lead_to_no_others() {
    for strategy in strategies() {
        for system in systems(1) {
            let mut controller = Controller::new(problem(many_short()), strategy);
            let trials = search(&mut controller, system);
            assert!(
                trials.iter().all(|trial| trial.input.duration == common::seconds(1.0)),
                "{strategy:?}"
            );
        }
    }
}

// spec: MLRsearch-15 Controller Input #24
#[test]
fn the_order_of_goals_has_little_influence() {
    for strategy in strategies() {
        for goals in goal_sets() {
            for capacity in [3e4, 1e6, 9e6] {
                let found = |goals: Vec<SearchGoal>| {
                    let mut controller = Controller::new(problem(goals), strategy);
                    search(&mut controller, sharp(capacity));
                    controller.results()
                };
                let mut backwards: Vec<SearchGoal> = goals.clone();
                backwards.reverse();
                let (one, other) = (found(goals.clone()), found(backwards));
                for (one, other) in one.iter().zip(other.iter().rev()) {
                    assert_eq!(one.reason, other.reason);
                    let throughputs = (
                        one.conditional_throughput().unwrap(),
                        other.conditional_throughput().unwrap(),
                    );
                    let difference = (throughputs.0 - throughputs.1).abs() / capacity;
                    assert!(difference <= 0.0101, "{strategy:?}: {throughputs:?}");
                }
            }
        }
    }
}

#[test]
fn asking_again_gives_the_same_trial() {
    for strategy in strategies() {
        let mut controller = Controller::new(problem(many_short()), strategy);
        let mut system = unsteady(1e6, 1);
        while let Step::Trial(input) = controller.next() {
            assert_eq!(controller.next(), Step::Trial(input));
            let output = system(input);
            controller.record(TrialResult { input, output });
        }
        assert_eq!(controller.next(), Step::Done);
    }
}

// spec: MLRsearch-15 Irregular Goal Result #28
#[test]
fn a_stopped_search_keeps_what_it_has() {
    for strategy in strategies() {
        let mut controller = Controller::new(problem(two_rates()), strategy);
        let mut system = sharp(1e6);
        for _ in 0..4 {
            let Step::Trial(input) = controller.next() else {
                panic!("not after four trials")
            };
            let output = system(input);
            controller.record(TrialResult { input, output });
        }
        controller.stop(StopReason::Interrupted);
        assert_eq!(controller.next(), Step::Done);
        for result in controller.results() {
            assert_eq!(result.reason, Reason::Stopped(StopReason::Interrupted));
            assert!(result.upper_bound.is_some());
        }
    }
}

#[test]
fn a_tester_whose_trials_weigh_nothing_ends_the_search() {
    let weightless = |input| TrialOutput {
        effective_duration: Some(brimful_trial::Nanoseconds(1)),
        ..whole(input, 0)
    };
    let open = |input| TrialOutput {
        stopped_early: true,
        ..whole(input, 0)
    };
    for strategy in strategies() {
        for system in [&weightless as &dyn Fn(TrialInput) -> TrialOutput, &open] {
            let mut controller = Controller::new(problem(many_short()), strategy);
            search(&mut controller, system);
            for result in controller.results() {
                assert_eq!(result.reason, Reason::Stopped(StopReason::NoProgress), "{strategy:?}");
                assert_eq!(result.reason.code(), "no-progress");
            }
        }
    }
}

/// Searches after fifty trials off every grid that were not asked for.
fn search_after_uninvited_trials(
    strategy: StrategyKind,
    seed: u64,
    mut uninvited: impl FnMut(TrialInput) -> TrialOutput,
) {
    let mut controller = Controller::new(problem(many_short()), strategy);
    for step in 1..=50 {
        let input = TrialInput {
            load: load(1e3 * f64::from(step).powi(2)),
            duration: common::seconds(1.0),
        };
        let output = uninvited(input);
        controller.record(TrialResult { input, output });
    }
    search(&mut controller, unsteady(1e6, seed));
    for result in controller.results() {
        let open = matches!(result.reason, Reason::WidthNotReached | Reason::Stopped(_));
        assert!(!open, "{strategy:?}: {result:?}");
    }
}

#[test]
fn trials_that_nobody_asked_for_are_welcome() {
    for strategy in strategies() {
        for seed in 0..10 {
            search_after_uninvited_trials(strategy, seed, unsteady(1e6, seed + 1));
        }
    }
}

// Not for straddle: its model believes such trials, and it takes thousands of trials to unlearn them.
#[test]
fn trials_that_contradict_all_others_are_outlived() {
    for strategy in strategies()
        .into_iter()
        .filter(|&strategy| strategy != StrategyKind::Straddle)
    {
        for seed in 0..40 {
            let (mut dice, mut steady, mut contrary) = (Dice::new(seed), unsteady(1e6, seed), arbitrary(seed));
            search_after_uninvited_trials(strategy, seed, |input| {
                if dice.below(2) == 0 {
                    steady(input)
                } else {
                    contrary(input)
                }
            });
        }
    }
}
