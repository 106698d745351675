use thiserror::Error;

use crate::{Counts, Load, Nanoseconds, Ratio};

/// What to offer: exactly two attributes (MLRsearch-15 Trial Input).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TrialInput {
    /// Intended load.
    pub load: Load,
    /// Intended length of the sending phase, waits excluded.
    pub duration: Nanoseconds,
}

/// What happened (MLRsearch-15 Trial Output).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TrialOutput {
    /// What was counted.
    pub counts: Counts,
    /// The time that this trial weighs; absent means its intended duration.
    pub effective_duration: Option<Nanoseconds>,
    /// The Measurer stopped because the loss was certain to exceed the limit it had been given. `sent` and `lost`
    /// are then of the part that ran, while `intended` stays that of the whole trial.
    pub stopped_early: bool,
}

/// A finished trial: what was asked and what happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TrialResult {
    /// What was asked.
    pub input: TrialInput,
    /// What happened.
    pub output: TrialOutput,
}

impl TrialResult {
    /// The time that this trial weighs in every sum (MLRsearch-15 Trial Effective Duration).
    pub fn effective_duration(&self) -> Nanoseconds {
        self.output.effective_duration.unwrap_or(self.input.duration)
    }

    /// Whether this is a high-loss trial for a goal with this loss ratio; `None` where a trial was stopped before
    /// that was certain.
    pub fn is_high_loss(&self, loss_ratio: Ratio) -> Option<bool> {
        let counts = self.output.counts;
        if !self.output.stopped_early {
            return Some(counts.loss_exceeds(loss_ratio));
        }
        counts.loss_is_certain_to_exceed(loss_ratio).then_some(true)
    }
}

/// What a Measurer says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurerInfo {
    /// Its name.
    pub name: String,
    /// What the load counts, for people: `frames/s`.
    pub load_unit: String,
    /// When a unit counts as lost, for people.
    pub contract: String,
    /// The largest load it can offer, if it knows.
    pub max_load: Option<Load>,
    /// Whether it obeys the `stop_above` of [`Measurer::measure`].
    pub can_stop_early: bool,
}

/// Why a trial gave no result.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum MeasureError {
    /// The tester spoiled the trial (off schedule, link flapped): not the device's loss; repeating may help.
    #[error("invalid trial: {0}")]
    InvalidTrial(String),
    /// Nothing more can be measured.
    #[error("{0}")]
    Fatal(String),
}

/// Anything that can offer a load and count what was lost.
pub trait Measurer {
    /// What it is.
    fn describe(&self) -> MeasurerInfo;

    /// Performs one trial.
    ///
    /// `stop_above` is the Controller's word on early termination: once more than this share of the whole trial's
    /// intended units is lost, the outcome is certain for every goal that still matters, and the trial may stop.
    ///
    /// # Errors
    /// When the trial gave no result that can be counted.
    fn measure(&mut self, input: TrialInput, stop_above: Option<Ratio>) -> Result<TrialOutput, MeasureError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_trial_says_only_what_is_certain() {
        let input = TrialInput {
            load: Load::new(1000.0).unwrap(),
            duration: Nanoseconds(1_000_000_000),
        };
        let output = TrialOutput {
            counts: Counts::new(1000, 100, 6).unwrap(),
            effective_duration: None,
            stopped_early: true,
        };
        let result = TrialResult { input, output };
        assert_eq!(result.is_high_loss(Ratio::ZERO), Some(true));
        assert_eq!(result.is_high_loss(Ratio::new(5, 1000).unwrap()), Some(true));
        assert_eq!(result.is_high_loss(Ratio::new(1, 100).unwrap()), None);
    }
}
