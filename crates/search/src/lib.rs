//! The search engine: at which loads to measure, and what the measurements mean.
//!
//! A pure state machine (MLRsearch-15 Controller): [`Controller::next`] hands out the next trial,
//! [`Controller::record`] is fed its result. It knows no clock, no I/O, no thread, no randomness; the caller owns
//! those.
//!
//! ```
//! use brimful_search::{Controller, Problem, SearchGoal, Step, StrategyKind};
//! use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialOutput, TrialResult};
//!
//! let second = Nanoseconds::from_seconds(1.0)?;
//! let goal = SearchGoal {
//!     name: "ndr".into(),
//!     loss_ratio: Ratio::ZERO,
//!     delay_limit: None,
//!     exceed_ratio: Ratio::new(1, 2)?,
//!     final_trial_duration: second,
//!     duration_sum: Nanoseconds::from_seconds(21.0)?,
//!     initial_trial_duration: second,
//!     width: Some(Ratio::new(1, 200)?),
//! };
//! let problem = Problem::new(vec![goal], Load::new(1e3)?, Load::new(1e7)?)?;
//! let mut controller = Controller::new(problem, StrategyKind::Bisect);
//! while let Step::Trial(input) = controller.next() {
//!     let sent = (input.load.per_second() * input.duration.as_seconds()).round() as u64;
//!     let counts = Counts::new(sent, sent, sent.saturating_sub(1_000_000))?;
//!     let output = TrialOutput { counts, effective_duration: None, delay_p99: None, stopped_early: false };
//!     controller.record(TrialResult { input, output });
//! }
//! let result = &controller.results()[0];
//! assert!(result.is_regular());
//! assert!(result.lower_bound.is_some_and(|bound| bound.load.per_second() <= 1e6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod classification;
mod controller;
mod grid;
mod problem;
mod result;
mod strategy;
mod trial_log;

pub use classification::{Assessment, Sums, Verdict};
pub use controller::{Controller, Step};
pub use problem::{Problem, ProblemError, SearchGoal};
pub use result::{Bound, GoalResult, Reason, StopReason};
pub use strategy::{ClassicOptions, StrategyKind, UnknownStrategy};
pub use trial_log::{RelevantBounds, TrialLog};
