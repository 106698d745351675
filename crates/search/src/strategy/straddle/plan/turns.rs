//! Which goal goes first.

use super::Plan;
use super::bracket::{Candidate, Move};
use super::outlook::Prospects;
use crate::strategy::straddle::goals::Standing;

/// With this chance of a lower bound a load is measured for one; below, a single trial mostly ends it.
const ATTEMPT: f64 = 0.5;
/// Loads that are no more widths apart mostly lose in the same weather.
const SAME_WEATHER_WIDTHS: i64 = 3;
/// After this many trials elsewhere the weather at a load is another one.
const OTHER_WEATHER_TRIALS: usize = 14;

/// How soon it is the turn of a goal, before it counts how urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Turn {
    Waiting,
    Usual,
    First,
}

/// How soon it is the turn of one of the plans. While trials at a steep knee show it better (`refines_knee`), urgency
/// alone decides which goal that one high-loss trial ends goes first.
pub(super) fn turn(prospects: &Prospects, plan: &Plan, first: &Move, all: &[Plan], refines_knee: bool) -> Turn {
    let candidate = &plan.brackets.candidates[first.candidate];
    if plan.standing.goal.is_above_others {
        turn_of_measurement(prospects, candidate, plan.standing)
    } else if first.lower > ATTEMPT && !refines_knee {
        turn_of_attempt(prospects, candidate, plan.standing, all)
    } else {
        Turn::Usual
    }
}

/// When a load is to be measured for a goal that takes several trials to decide and is above others: first, but after a
/// high-loss trial in other weather. So the answer depends less on which of two capacities is met first.
fn turn_of_measurement(prospects: &Prospects, candidate: &Candidate, standing: &Standing) -> Turn {
    let view = prospects.view;
    let goal = &view.problem.goals()[standing.goal.index];
    let last = view.log.trials_at(candidate.load).last();
    let was_high_loss = last.is_some_and(|trial| goal.is_high_loss(trial) == Some(true));
    if was_high_loss && view.belief.trials_since(candidate.load) < OTHER_WEATHER_TRIALS {
        Turn::Waiting
    } else {
        Turn::First
    }
}

/// When an attempt at a lower bound that one high-loss trial ends is to go on, as one of several goals.
fn turn_of_attempt(prospects: &Prospects, candidate: &Candidate, standing: &Standing, all: &[Plan]) -> Turn {
    let goal = standing.goal;
    let below = candidate.index - SAME_WEATHER_WIDTHS * goal.steps..candidate.index;
    let is_moot_soon = all.iter().any(|other| {
        let first = other.policy.first();
        let is_below = first.is_some_and(|first| below.contains(&other.brackets.candidates[first.candidate].index));
        other.standing.goal.is_strict && is_below
    });
    let is_long = goal.fresh.low > OTHER_WEATHER_TRIALS as f64;
    if is_moot_soon {
        // What is lost a little lower most likely ends both attempts: this one would have been for nothing.
        Turn::Waiting
    } else if is_long && prospects.view.belief.trials_since(candidate.load) >= OTHER_WEATHER_TRIALS {
        // An attempt that is spread over time meets the weather that ends it after fewer trials.
        Turn::First
    } else {
        Turn::Usual
    }
}
