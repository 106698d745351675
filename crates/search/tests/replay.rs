//! A search fed its own trials again does the same again: resuming equals not having been interrupted.

mod common;

use brimful_search::{Controller, SearchGoal, Step, StrategyKind};
use brimful_trial::TrialResult;
use common::{arbitrary, delay_limited, many_short, problem, search, strategies, two_rates, unsteady};

/// All that can be asked of a controller.
#[track_caller]
fn assert_same(one: &mut Controller, other: &mut Controller) {
    assert_eq!(one.next(), other.next());
    assert_eq!(one.results(), other.results());
    assert_eq!(one.phase(), other.phase());
    assert_eq!(one.forecast(), other.forecast());
}

fn start(goals: &[SearchGoal], strategy: StrategyKind) -> Controller {
    Controller::new(problem(goals.to_vec()), strategy)
}

fn logs(goals: &[SearchGoal], strategy: StrategyKind) -> Vec<Vec<TrialResult>> {
    let mut logs = Vec::new();
    for seed in 0..3 {
        logs.push(search(&mut start(goals, strategy), unsteady(1e6, seed)));
        logs.push(search(&mut start(goals, strategy), arbitrary(seed)));
    }
    logs
}

#[test]
fn a_log_fed_again_is_asked_for_again() {
    for strategy in strategies() {
        for goals in [two_rates(), many_short(), delay_limited()] {
            for trials in logs(&goals, strategy) {
                let mut again = start(&goals, strategy);
                for &trial in &trials {
                    assert_eq!(again.next(), Step::Trial(trial.input), "{strategy:?}");
                    again.record(trial);
                }
                assert_eq!(again.next(), Step::Done, "{strategy:?}");
            }
        }
    }
}

#[test]
fn a_search_cut_anywhere_and_resumed_goes_on_as_if_nothing_had_been() {
    for strategy in strategies() {
        for goals in [two_rates(), many_short(), delay_limited()] {
            for trials in logs(&goals, strategy) {
                let mut uninterrupted = start(&goals, strategy);
                // Every cut of a short search; some twenty of a long one, since each resumes from the start.
                let step = if trials.len() > 40 { trials.len() / 20 } else { 1 };
                for cut in 0..=trials.len() {
                    if cut % step == 0 || cut == trials.len() {
                        // A resumed search is fed its saved trials without being asked in between.
                        let mut resumed = start(&goals, strategy);
                        for &trial in &trials[..cut] {
                            resumed.record(trial);
                        }
                        assert_same(&mut resumed, &mut uninterrupted);
                    }
                    if let Some(&trial) = trials.get(cut) {
                        uninterrupted.record(trial);
                    }
                }
            }
        }
    }
}
