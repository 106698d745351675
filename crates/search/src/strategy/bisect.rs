//! Plain bisection: measure max load, then the middle of what is left, each load until its verdict is known.
//!
//! With a final trial duration of 60 s, loss ratio 0 and exceed ratio 0 this is the search of RFC 2544 section 26.1.
//! With a duration sum of two trials and an exceed ratio of 0.5 it is the binary search with loss verification of
//! ETSI GS NFV-TST 009 section 12.3.3: one clean trial suffices, a lossy one is repeated once. In general, a duration
//! sum of n trials and an exceed ratio of (n - 1) / n gives a load n attempts.
//!
//! All trials are full-length: the initial trial durations of the goals and the hint play no part.

use brimful_trial::{Load, Nanoseconds, TrialInput, TrialResult};

use crate::strategy::{Strategy, time_to_verdicts};
use crate::{Problem, TrialLog};

pub(crate) struct Bisect;

impl Strategy for Bisect {
    fn next(&mut self, problem: &Problem, log: &TrialLog) -> Option<TrialInput> {
        let (goal, load) = (0..problem.goals().len()).find_map(|goal| Some((goal, load_for(problem, log, goal)?)))?;
        Some(TrialInput {
            load,
            duration: problem.goals()[goal].final_trial_duration,
        })
    }

    fn observe(&mut self, _: &Problem, _: &TrialLog, _: &TrialResult) {}

    fn forecast(&self, problem: &Problem, log: &TrialLog) -> Option<Nanoseconds> {
        let goals = problem.goals().iter().enumerate();
        Some(
            goals
                .map(|(index, goal)| time_to_verdicts(goal, loads_to_go(problem, log, index)))
                .sum(),
        )
    }
}

/// The load to measure for a goal, or `None` when its bounds are close enough or a limit is reached.
fn load_for(problem: &Problem, log: &TrialLog, goal: usize) -> Option<Load> {
    let bounds = log.relevant_bounds(goal);
    let Some(upper) = bounds.upper else {
        return (bounds.lower != Some(problem.max_load())).then_some(problem.max_load());
    };
    if upper == problem.min_load() {
        return None;
    }
    let lower = bounds.lower.unwrap_or(problem.min_load());
    if problem.goals()[goal].is_narrow(lower, upper) {
        return bounds.lower.is_none().then_some(lower);
    }
    Some(middle(log, lower, upper))
}

/// The middle of the interval, or the load nearest to it that was measured for another goal, if one lies in the middle
/// half. No two loads are therefore ever closer than a quarter of the narrowest interval that is still too wide, and
/// the search ends on every system: there are finitely many loads, and each has a verdict once its full-length trials
/// reach the duration sum.
fn middle(log: &TrialLog, lower: Load, upper: Load) -> Load {
    let middle = f64::midpoint(lower.per_second(), upper.per_second());
    let quarter = (upper.per_second() - lower.per_second()) / 4.0;
    let distance = |load: &Load| (load.per_second() - middle).abs();
    let measured = log.loads().filter(|load| distance(load) <= quarter);
    let nearest = measured.min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.unwrap_or_else(|| Load::new(middle).expect("the middle of two loads is a load"))
}

/// How many loads still have to be measured if nothing surprises.
fn loads_to_go(problem: &Problem, log: &TrialLog, goal: usize) -> f64 {
    if load_for(problem, log, goal).is_none() {
        return 0.0;
    }
    let bounds = log.relevant_bounds(goal);
    let upper = bounds.upper.unwrap_or(problem.max_load()).per_second();
    let lower = bounds.lower.unwrap_or(problem.min_load()).per_second();
    let halvings = ((upper - lower) / upper / problem.goals()[goal].target_width()).log2();
    halvings.ceil().max(0.0) + if bounds.upper.is_none() { 1.0 } else { 0.0 }
}
