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
