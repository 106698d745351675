//! The vocabulary of a trial: what was asked ([`TrialInput`]), what happened ([`TrialOutput`]), both together
//! ([`TrialResult`]), and the one seam to the outside world ([`Measurer`]).
//!
//! Counts are integers and primary; ratios are derived. Times are integer nanoseconds. Ratios that act as
//! thresholds are exact fractions, so that no rounding decides a verdict.

mod counts;
mod load;
mod measurer;
#[cfg(feature = "program")]
pub mod program;
mod ratio;
mod time;

pub use counts::{Counts, CountsError};
pub use load::{Load, LoadError};
pub use measurer::{MeasureError, Measurer, MeasurerInfo, TrialInput, TrialOutput, TrialResult};
pub use ratio::{Ratio, RatioError};
pub use time::{Nanoseconds, TimeError};
