//! Which load to measure next. Strategies only select: what trials mean is decided in one place for all of them.

mod bisect;
mod straddle;

use brimful_trial::{Nanoseconds, TrialInput, TrialResult};

use crate::{Problem, TrialLog};

/// A way to select loads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StrategyKind {
    /// Plain bisection, one goal after the other (RFC 2544, TST009).
    Bisect,
    /// A model of the loss curve picks pairs of loads around the answer; a guard takes over where the model fails.
    Straddle,
}

/// Selects trials. It sees every trial of the log, also those it did not ask for.
pub(crate) trait Strategy: Send + Sync {
    /// The next trial, or `None` when nothing is left to measure.
    fn next(&mut self, problem: &Problem, log: &TrialLog) -> Option<TrialInput>;

    /// Takes notice of a trial that has just been added to the log.
    fn observe(&mut self, problem: &Problem, log: &TrialLog, result: &TrialResult);

    /// Expected time of the trials still to come, waits excluded; `None` before there is anything to go by.
    fn forecast(&self, problem: &Problem, log: &TrialLog) -> Option<Nanoseconds>;
}

impl StrategyKind {
    /// All of them, the default first.
    pub const ALL: [Self; 2] = [Self::Straddle, Self::Bisect];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bisect => "bisect",
            Self::Straddle => "straddle",
        }
    }

    pub(crate) fn start(self, problem: &Problem) -> Box<dyn Strategy> {
        match self {
            Self::Bisect => Box::new(bisect::Bisect),
            Self::Straddle => Box::new(straddle::Straddle::new(problem)),
        }
    }
}
