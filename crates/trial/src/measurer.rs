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
    /// The 99th percentile of the delay of the units that arrived, the largest of all directions; absent where nothing
    /// arrived, or where the Measurer reports no delay.
    pub delay_p99: Option<Nanoseconds>,
    /// The Measurer stopped because the loss was certain to exceed the limit it had been given. `sent` and `lost`
    /// are then of the part that ran, while `intended` stays that of the whole trial.
    pub stopped_early: bool,
}

impl TrialOutput {
    /// Whether the delay was above a limit. Without a figure nothing shows that the limit was kept, so it was not.
    pub fn delay_exceeds(&self, limit: Nanoseconds) -> bool {
        self.delay_p99.is_none_or(|delay| delay > limit)
    }
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

    /// Whether this is a high-loss trial for a goal with this loss ratio and delay limit: it lost more, or its delay
    /// was above the limit. `None` where a trial was stopped before that was certain; its delay in the end is not
    /// known.
    pub fn is_high_loss(&self, loss_ratio: Ratio, delay_limit: Option<Nanoseconds>) -> Option<bool> {
        let counts = self.output.counts;
        if self.output.stopped_early {
            return counts.loss_is_certain_to_exceed(loss_ratio).then_some(true);
        }
        let is_slow = delay_limit.is_some_and(|limit| self.output.delay_exceeds(limit));
        Some(is_slow || counts.loss_exceeds(loss_ratio))
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
    /// Whether every trial in which something arrived comes with [`TrialOutput::delay_p99`].
    pub tells_delay: bool,
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

    const LIMIT: Nanoseconds = Nanoseconds(1_000_000);

    fn result(counts: Counts, delay_p99: Option<Nanoseconds>, stopped_early: bool) -> TrialResult {
        TrialResult {
            input: TrialInput {
                load: Load::new(1000.0).unwrap(),
                duration: Nanoseconds(1_000_000_000),
            },
            output: TrialOutput {
                counts,
                effective_duration: None,
                delay_p99,
                stopped_early,
            },
        }
    }

    #[test]
    fn a_stopped_trial_says_only_what_is_certain() {
        for delay in [None, Some(Nanoseconds(1)), Some(LIMIT), Some(Nanoseconds(u64::MAX))] {
            let result = result(Counts::new(1000, 100, 6).unwrap(), delay, true);
            for limit in [None, Some(LIMIT)] {
                assert_eq!(result.is_high_loss(Ratio::ZERO, limit), Some(true));
                assert_eq!(result.is_high_loss(Ratio::new(5, 1000).unwrap(), limit), Some(true));
                assert_eq!(result.is_high_loss(Ratio::new(1, 100).unwrap(), limit), None);
            }
        }
    }

    #[test]
    fn a_trial_is_high_loss_for_its_loss_or_for_its_delay() {
        let one_percent = Ratio::new(1, 100).unwrap();
        let check = |lost, delay: Option<u64>, limit, high| {
            let counts = Counts::new(1000, 1000, lost).unwrap();
            let result = result(counts, delay.map(Nanoseconds), false);
            assert_eq!(
                result.is_high_loss(one_percent, limit),
                Some(high),
                "{lost} {delay:?} {limit:?}"
            );
        };
        check(10, Some(LIMIT.0), Some(LIMIT), false);
        check(11, Some(LIMIT.0), Some(LIMIT), true);
        check(0, Some(LIMIT.0 + 1), Some(LIMIT), true);
        check(0, Some(LIMIT.0 + 1), None, false);
        check(0, None, Some(LIMIT), true);
        check(0, None, None, false);
        check(1000, None, Some(LIMIT), true);
    }
}
