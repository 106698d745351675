//! Which load to measure next. Strategies only select: what trials mean is decided in one place for all of them.

mod bisect;
mod classic;
mod straddle;

use std::str::FromStr;

use brimful_trial::{Nanoseconds, TrialInput, TrialResult};
use thiserror::Error;

use crate::{Problem, SearchGoal, StopReason, TrialLog};

pub use classic::ClassicOptions;

/// A way to select loads.
///
/// ```
/// use brimful_search::StrategyKind;
///
/// let kind: StrategyKind = "classic,phases=3,timeout=600".parse()?;
/// assert_eq!(kind.name(), "classic");
/// assert!("classic,phases=many".parse::<StrategyKind>().is_err());
/// # Ok::<(), brimful_search::UnknownStrategy>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StrategyKind {
    /// Plain bisection, one goal after the other (RFC 2544, TST009).
    Bisect,
    /// A model of the loss curve picks pairs of loads around the answer; a guard takes over where the model fails.
    Straddle,
    /// The two-rate search of 2018 for any number of goals: phases of growing trial duration and shrinking width.
    Classic(ClassicOptions),
}

/// A text that names no strategy.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum UnknownStrategy {
    /// There is none of that name.
    #[error("unknown strategy {0:?}; there are straddle, classic and bisect")]
    Name(String),
    /// It has no such option.
    #[error("strategy {strategy}: {option:?} is no option; {}", options_of(strategy))]
    Option {
        /// Name of the strategy.
        strategy: &'static str,
        /// The option as it was given.
        option: String,
    },
    /// The option has no such value.
    #[error(
        "strategy {strategy}: {option:?} has a value that is not allowed; {}",
        options_of(strategy)
    )]
    Value {
        /// Name of the strategy.
        strategy: &'static str,
        /// The option as it was given.
        option: String,
    },
}

fn options_of(strategy: &str) -> &'static str {
    if strategy == "classic" {
        "classic takes phases=0..9 and timeout=SECONDS, above 0"
    } else {
        "it takes none"
    }
}

impl FromStr for StrategyKind {
    type Err = UnknownStrategy;

    /// Read a name with options: `straddle`, `classic,phases=3,timeout=600`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let mut kind = Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownStrategy::Name(name.to_owned()))?;
        for option in parts {
            kind = kind.with_option(option)?;
        }
        Ok(kind)
    }
}

/// Selects trials. It sees every trial of the log, also those it did not ask for.
pub(crate) trait Strategy: Send + Sync {
    /// The next trial, or `None` when nothing is left to measure.
    fn next(&mut self, problem: &Problem, log: &TrialLog) -> Option<TrialInput>;

    /// Takes notice of a trial that has just been added to the log.
    fn observe(&mut self, problem: &Problem, log: &TrialLog, result: &TrialResult);

    /// Expected time of the trials still to come, waits excluded; `None` before there is anything to go by.
    fn forecast(&self, problem: &Problem, log: &TrialLog) -> Option<Nanoseconds>;

    /// The number of the phase that the next trial belongs to, for strategies that have phases.
    fn phase(&self) -> Option<u32> {
        None
    }

    /// Why it hands out no more trials although it is not through.
    fn stop_reason(&self) -> Option<StopReason> {
        None
    }
}

impl StrategyKind {
    /// All of them with their default options, the default first.
    pub const ALL: [Self; 3] = [Self::Straddle, Self::Classic(ClassicOptions::DEFAULT), Self::Bisect];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bisect => "bisect",
            Self::Straddle => "straddle",
            Self::Classic(_) => "classic",
        }
    }

    fn with_option(self, option: &str) -> Result<Self, UnknownStrategy> {
        let (strategy, option) = (self.name(), option.to_owned());
        let (Self::Classic(mut options), Some((name, value))) = (self, option.split_once('=')) else {
            return Err(UnknownStrategy::Option { strategy, option });
        };
        let allowed = match name {
            "phases" => value
                .parse()
                .ok()
                .filter(|phases| *phases <= 9)
                .map(|phases| options.intermediate_phases = phases),
            "timeout" => value
                .parse()
                .ok()
                .and_then(|seconds| Nanoseconds::from_seconds(seconds).ok())
                .filter(|timeout| *timeout != Nanoseconds::ZERO)
                .map(|timeout| options.timeout = Some(timeout)),
            _ => return Err(UnknownStrategy::Option { strategy, option }),
        };
        match allowed {
            Some(()) => Ok(Self::Classic(options)),
            None => Err(UnknownStrategy::Value { strategy, option }),
        }
    }

    pub(crate) fn start(self, problem: &Problem) -> Box<dyn Strategy> {
        match self {
            Self::Bisect => Box::new(bisect::Bisect),
            Self::Straddle => Box::new(straddle::Straddle::new(problem)),
            Self::Classic(options) => Box::new(classic::Classic::new(problem, options)),
        }
    }
}

/// The time that verdicts take if every trial has low loss.
pub(crate) fn time_to_verdicts(goal: &SearchGoal, verdicts: f64) -> Nanoseconds {
    let shortest = goal.duration_sum.0 as f64 * (1.0 - goal.exceed_ratio.as_f64());
    Nanoseconds((verdicts * shortest.max(goal.final_trial_duration.0 as f64)) as u64)
}
