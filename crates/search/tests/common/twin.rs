//! The classification written a second time, straight from the definitions, with rationals of any size.
//! Shares no arithmetic with the engine.
#![allow(dead_code, reason = "every test file uses its own part")]

use brimful_search::{RelevantBounds, SearchGoal, Verdict};
use brimful_trial::{Load, Ratio, TrialResult};
use num_bigint::BigInt;
use num_rational::BigRational;

pub(crate) fn whole(number: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(number))
}

pub(crate) fn exact(ratio: Ratio) -> BigRational {
    whole(ratio.numerator()) / whole(ratio.denominator())
}

/// Frames that should have been forwarded.
fn expected(trial: &TrialResult) -> u64 {
    let counts = trial.output.counts;
    counts.intended().max(counts.sent())
}

/// Share of frames not forwarded.
pub(crate) fn loss_ratio(trial: &TrialResult) -> BigRational {
    let counts = trial.output.counts;
    if expected(trial) == 0 {
        return whole(0);
    }
    let unsent = counts.intended().saturating_sub(counts.sent());
    (whole(counts.lost()) + whole(unsent)) / whole(expected(trial))
}

/// `None` where a stopped trial could have gone either way.
fn is_high_loss(goal: &SearchGoal, trial: &TrialResult) -> Option<bool> {
    let limit = exact(goal.loss_ratio);
    if trial.output.stopped_early {
        let certain = whole(trial.output.counts.lost()) > limit * whole(expected(trial));
        return certain.then_some(true);
    }
    Some(loss_ratio(trial) > limit || is_slow(goal, trial))
}

/// Above the delay limit, or nothing shows that it is not.
fn is_slow(goal: &SearchGoal, trial: &TrialResult) -> bool {
    match (goal.delay_limit, trial.output.delay_p99) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(limit), Some(delay)) => whole(delay.0) > whole(limit.0),
    }
}

fn seconds_of(trial: &TrialResult) -> BigRational {
    let effective = trial.output.effective_duration.unwrap_or(trial.input.duration);
    whole(effective.0) / whole(1_000_000_000)
}

fn is_full(goal: &SearchGoal, trial: &TrialResult) -> bool {
    trial.input.duration >= goal.final_trial_duration
}

/// The sum of what the trials of one kind weigh.
fn sum(goal: &SearchGoal, trials: &[TrialResult], full: bool, high: bool) -> BigRational {
    trials
        .iter()
        .filter(|trial| is_full(goal, trial) == full && is_high_loss(goal, trial) == Some(high))
        .map(seconds_of)
        .fold(whole(0), |sum, weight| sum + weight)
}

fn duration_sum(goal: &SearchGoal) -> BigRational {
    whole(goal.duration_sum.0) / whole(1_000_000_000)
}

/// The verdict about a load, from the trials at it (MLRsearch-15 Load Classification).
pub(crate) fn verdict(goal: &SearchGoal, trials: &[TrialResult]) -> Verdict {
    let exceed = exact(goal.exceed_ratio);
    let coefficient = exceed.clone() / (whole(1) - exceed.clone());
    let balancing = coefficient * sum(goal, trials, false, false);
    let excess = (sum(goal, trials, false, true) - balancing).max(whole(0));
    let high = sum(goal, trials, true, true) + excess;
    let full = sum(goal, trials, true, false) + high.clone();
    let all = full.clone().max(duration_sum(goal));
    let missing = all.clone() - full;
    let optimistic = high.clone() / all.clone();
    let pessimistic = (high + missing) / all;
    if pessimistic <= exceed {
        Verdict::LowerBound
    } else if optimistic > exceed {
        Verdict::UpperBound
    } else {
        Verdict::Undecided
    }
}

/// Where the answer lies, from all trials (MLRsearch-15 Relevant Bounds).
pub(crate) fn relevant_bounds(goal: &SearchGoal, trials: &[TrialResult]) -> RelevantBounds {
    let of = |wanted: Verdict| -> Vec<Load> {
        let loads = trials.iter().map(|trial| trial.input.load);
        loads
            .filter(|&load| verdict(goal, &at(trials, load)) == wanted)
            .collect()
    };
    let upper = of(Verdict::UpperBound).into_iter().min();
    let lower = of(Verdict::LowerBound)
        .into_iter()
        .filter(|&load| upper.is_none_or(|upper| load < upper))
        .max();
    RelevantBounds { lower, upper }
}

pub(crate) fn at(trials: &[TrialResult], load: Load) -> Vec<TrialResult> {
    trials
        .iter()
        .copied()
        .filter(|trial| trial.input.load == load)
        .collect()
}

/// The loss ratio that conditional throughput is made of. A trial above the delay limit has lost everything.
pub(crate) fn conditional_loss(goal: &SearchGoal, trials: &[TrialResult]) -> BigRational {
    let full_sum = sum(goal, trials, true, false) + sum(goal, trials, true, true);
    let mut remaining = full_sum.max(duration_sum(goal)) * (whole(1) - exact(goal.exceed_ratio));
    let mut full: Vec<&TrialResult> = trials.iter().filter(|trial| is_full(goal, trial)).collect();
    full.retain(|trial| !trial.output.stopped_early);
    let loss = |trial: &TrialResult| {
        if is_slow(goal, trial) {
            whole(1)
        } else {
            loss_ratio(trial)
        }
    };
    full.sort_by_key(|trial| loss(trial));
    for trial in full {
        remaining -= seconds_of(trial);
        if remaining <= whole(0) {
            return loss(trial);
        }
    }
    whole(1)
}
