//! Where the model has failed: steps that widen outside the relevant bounds, halves within them.

use brimful_trial::TrialInput;

use super::target::Target;
use crate::Problem;
use crate::grid::LoadGrid;

/// The next trial for a goal that is not done; every load is measured to its verdict.
pub(super) fn next_trial(problem: &Problem, grid: &LoadGrid, target: &Target) -> Option<TrialInput> {
    let index = match (target.lower_index, target.upper_index) {
        (None, None) => grid.top(),
        (Some(lower), None) => (lower + 1).max(grid.top()),
        (None, Some(upper)) => upper - target.steps,
        (Some(lower), Some(upper)) => lower.midpoint(upper),
    };
    let _ = problem;
    Some(TrialInput {
        load: grid.load(index),
        duration: target.duration,
    })
}
