//! A trial as the beliefs see it.

use brimful_trial::TrialOutput;

/// A trial: where it was on the grid, and what it lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// Where on the grid.
    pub(super) position: f64,
    /// Units lost in this trial by an overload of one step.
    pub(super) units_per_step: f64,
    /// Seconds.
    pub(super) duration: f64,
    /// Steps; 0 when nothing was lost.
    pub(super) overload: f64,
    /// Whether an earlier trial at this load lost something: how much then says little that is new.
    pub(super) is_repeated: bool,
    /// As measured.
    pub(super) output: TrialOutput,
}

/// Steps of overload from which capacity can be told to a step.
const SMALL_OVERLOAD: f64 = 1.5;

impl Observation {
    pub(super) fn is_lossy(&self) -> bool {
        self.overload > 0.0
    }

    /// So much that capacity cannot be told to a step.
    pub(super) fn lost_much(&self) -> bool {
        self.overload >= SMALL_OVERLOAD
    }

    /// Where the capacity is if all above it was lost.
    pub(super) fn capacity(&self) -> f64 {
        self.position - self.overload
    }
}
