//! A trial as the beliefs see it.

use brimful_trial::TrialOutput;

/// Density of a stray loss, by logarithm of the overload.
const STRAY_DENSITY: f64 = 0.03;
/// Losses of so few units come in few amounts, which the logarithm spreads far apart: each has a larger share.
const FEW_UNITS: u64 = 10;
const FEW_STRAY_DENSITY: f64 = 0.2;

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

impl Observation {
    /// Density of this loss, by logarithm of the overload, if it is a stray one.
    pub(super) fn stray_density(&self) -> f64 {
        match self.output.counts.missing() {
            _ if self.is_repeated => 1.0,
            ..=FEW_UNITS => FEW_STRAY_DENSITY,
            _ => STRAY_DENSITY,
        }
    }

    /// Whether no more was lost than single units that go by chance.
    pub(super) fn is_few(&self) -> bool {
        self.output.counts.missing() <= FEW_UNITS
    }
}
