//! Plain bisection: measure max load, then the middle of what is left, each load until its verdict is known.
//!
//! With a final trial duration of 60 s, loss ratio 0 and exceed ratio 0 this is the search of RFC 2544 section 26.1.
//! With a duration sum of two trials and an exceed ratio of 0.5 it is the binary search with loss verification of
//! ETSI GS NFV-TST 009 section 12.3.3: one clean trial suffices, a lossy one is repeated once.

use brimful_trial::{Load, Nanoseconds, TrialInput, TrialResult};

use crate::strategy::Strategy;
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
        Some(
            problem
                .goals()
                .iter()
                .enumerate()
                .map(|(index, goal)| {
                    let bounds = log.relevant_bounds(index);
                    let upper = bounds.upper.unwrap_or(problem.max_load());
                    let lower = bounds.lower.unwrap_or(problem.min_load());
                    let share = (upper.per_second() - lower.per_second()) / upper.per_second();
                    let halvings = (share / goal.target_width()).log2().ceil().max(0.0);
                    Nanoseconds((halvings * goal.duration_sum.0 as f64) as u64)
                })
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
    if !problem.goals()[goal].is_narrow(lower, upper) {
        let middle = f64::midpoint(lower.per_second(), upper.per_second());
        return Some(Load::new(middle).expect("the middle of two loads is a load"));
    }
    bounds.lower.is_none().then_some(lower)
}
