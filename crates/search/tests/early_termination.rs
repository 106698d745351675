//! A Measurer may stop a trial whose outcome is certain; nothing that matters is lost by that.

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{Controller, SearchGoal, Step, TrialLog};
use brimful_trial::{Counts, Load, Ratio, TrialInput, TrialOutput, TrialResult};
use common::{Dice, delay_limited, frames, goal, many_short, problem, queued, strategies, two_rates, whole};
use proptest::prelude::*;

/// One simulated trial in two forms: as it would have ended, and as it was stopped.
fn outcomes(input: TrialInput, lost: u64, stop_above: Option<Ratio>) -> (TrialOutput, TrialOutput) {
    let (completed, intended) = (queued(1e6, input, lost), frames(input));
    let first_too_many = stop_above.map(|limit| {
        let allowed = u128::from(intended) * u128::from(limit.numerator()) / u128::from(limit.denominator());
        allowed as u64 + 1
    });
    let stopped = first_too_many.filter(|&lost_then| lost_then < lost).map(|lost_then| {
        // Losses are spread evenly over the trial.
        let sent = (u128::from(intended) * u128::from(lost_then) / u128::from(lost)) as u64;
        TrialOutput {
            counts: Counts::new(intended, sent.max(lost_then), lost_then).unwrap(),
            effective_duration: None,
            delay_p99: completed.delay_p99,
            stopped_early: true,
        }
    });
    (completed, stopped.unwrap_or(completed))
}

fn does_not_matter(log: &TrialLog, goal: &SearchGoal, index: usize, load: Load) -> bool {
    let below = log.relevant_bounds(index).upper.is_some_and(|upper| upper < load);
    below && goal.exceed_ratio == Ratio::ZERO
}

fn goal_sets() -> Vec<Vec<SearchGoal>> {
    vec![
        two_rates(),
        many_short(),
        vec![goal("ndr", 1.0, 5.0, 0.0, 0.5)],
        // The goal that allows more loss may end up with the lower bounds.
        vec![
            goal("lax", 4.0, 8.0, 0.02, 0.0),
            goal("strict", 1.0, 4.0, 0.0, 0.75),
            goal("mid", 2.0, 6.0, 0.004, 0.5),
        ],
        delay_limited(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn stopping_changes_no_verdict_that_matters(seed in any::<u64>(), set in 0_usize..5) {
        for strategy in strategies() {
            let goals = goal_sets().swap_remove(set);
            let mut controller = Controller::new(problem(goals.clone()), strategy);
            let mut completed = TrialLog::new(goals.clone());
            let (mut dice, mut stops) = (Dice::new(seed), 0);
            while let Step::Trial(input) = controller.next() {
                let over = (input.load.per_second() / 1e6 * (0.9 + 0.2 * dice.share()) - 1.0).max(0.0);
                let stray = u64::from(dice.below(20) == 0);
                let lost = (frames(input) as f64 * over.min(0.9)) as u64 + stray;
                let (whole, seen) = outcomes(input, lost, controller.stop_above(input.load));
                prop_assert!(!seen.stopped_early || !controller.should_continue(input.load, seen.counts));
                stops += usize::from(seen.stopped_early);
                controller.record(TrialResult { input, output: seen });
                completed.add(TrialResult { input, output: whole });
                prop_assert!(completed.trial_count() < common::MANY_TRIALS);
            }
            prop_assert!(stops > 0);
            for (index, goal) in goals.iter().enumerate() {
                let seen = controller.log();
                prop_assert_eq!(seen.relevant_bounds(index), completed.relevant_bounds(index));
                for load in seen.loads().filter(|&load| !does_not_matter(seen, goal, index, load)) {
                    prop_assert_eq!(seen.verdict(load, index), completed.verdict(load, index));
                }
                if let Some(lower) = completed.relevant_bounds(index).lower {
                    let throughputs = [seen, &completed].map(|log| log.conditional_throughput(lower, index).to_bits());
                    prop_assert_eq!(throughputs[0], throughputs[1]);
                }
            }
        }
    }
}

#[test]
fn a_running_trial_stops_when_every_goal_that_matters_is_certain() {
    let mut controller = Controller::new(problem(two_rates()), brimful_search::StrategyKind::Bisect);
    let Step::Trial(input) = controller.next() else {
        panic!("nothing was measured yet")
    };
    let limit = controller.stop_above(input.load);
    assert_eq!(
        limit,
        Some(Ratio::new(1, 200).unwrap()),
        "the partial drop rate still matters"
    );
    let frames = frames(input);
    let so_far = |lost| Counts::new(frames, frames / 2, lost).unwrap();
    assert!(controller.should_continue(input.load, so_far(frames / 200)));
    assert!(!controller.should_continue(input.load, so_far(frames / 200 + 1)));
    // Two upper bounds that can never be lost: nothing above them matters.
    controller.record(TrialResult {
        input: TrialInput {
            load: common::load(5e6),
            ..input
        },
        output: whole(input, frames),
    });
    assert_eq!(controller.stop_above(input.load), None);
}
