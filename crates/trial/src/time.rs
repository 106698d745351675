use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use thiserror::Error;

const PER_SECOND: f64 = 1e9;

/// A span of time in whole nanoseconds. Sums stop at 584 years instead of overflowing.
///
/// Seconds given as a binary fraction are rounded to the nearest nanosecond once, on entry, so that sums of
/// decimal durations (`0.1 s` three times) are exact.
///
/// ```
/// use brimful_trial::Nanoseconds;
/// let tenth = Nanoseconds::from_seconds(0.1)?;
/// assert_eq!(tenth + tenth + tenth, Nanoseconds::from_seconds(0.3)?);
/// # Ok::<(), brimful_trial::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Nanoseconds(pub u64);

/// A number of seconds that is no span of time.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("duration {0} s is not a finite number of seconds between 0 and 1e9")]
pub struct TimeError(pub f64);

impl Nanoseconds {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// Rounds seconds to whole nanoseconds.
    ///
    /// # Errors
    /// When `seconds` is negative, not finite, or above 1e9 (32 years).
    pub fn from_seconds(seconds: f64) -> Result<Self, TimeError> {
        if (0.0..=1e9).contains(&seconds) {
            Ok(Self((seconds * PER_SECOND).round() as u64))
        } else {
            Err(TimeError(seconds))
        }
    }

    /// The same span in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PER_SECOND
    }

    /// `self - other`, or zero where `other` is longer.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Nanoseconds {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// For people: in the unit that fits, with the digits that matter.
///
/// ```
/// use brimful_trial::Nanoseconds;
/// let shown = [0, 850, 20_400, 2_994_175, 100_000_000, 21_000_000_000].map(|time| Nanoseconds(time).to_string());
/// assert_eq!(shown, ["0 ns", "850 ns", "20.4 us", "2.994 ms", "100 ms", "21 s"]);
/// ```
impl fmt::Display for Nanoseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            0..1_000 => ("ns", 1.0),
            1_000..1_000_000 => ("us", 1e3),
            1_000_000..1_000_000_000 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let value = self.0 as f64 / size;
        let decimals = if value < 10.0 {
            3
        } else {
            2 - usize::from(value >= 100.0)
        };
        let number = format!("{value:.decimals$}");
        write!(
            formatter,
            "{} {unit}",
            number.trim_end_matches('0').trim_end_matches('.')
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_time() {
        for seconds in [-1.0, f64::NAN, f64::INFINITY, 1.1e9] {
            assert!(Nanoseconds::from_seconds(seconds).is_err(), "{seconds}");
        }
    }

    #[test]
    fn seconds_survive_the_round_trip() {
        for nanoseconds in [1, 999_999_999, 1_500_000_001, 86_400_000_000_001] {
            let span = Nanoseconds(nanoseconds);
            assert_eq!(Nanoseconds::from_seconds(span.as_seconds()), Ok(span));
        }
    }
}
