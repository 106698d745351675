use std::cmp::Ordering;

use thiserror::Error;

/// Offered work per second, in the unit of the Measurer (frames/s of one port and direction unless it says otherwise).
///
/// Always positive and finite; equal loads are bit-identical, so a load can be a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load(f64);

/// A number that is no load.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("load {0} is not a positive finite number")]
pub struct LoadError(pub f64);

impl Load {
    /// Checks a number.
    ///
    /// # Errors
    /// When it is not positive and finite.
    pub fn new(per_second: f64) -> Result<Self, LoadError> {
        if per_second.is_finite() && per_second > 0.0 {
            Ok(Self(per_second))
        } else {
            Err(LoadError(per_second))
        }
    }

    /// The load per second.
    pub fn per_second(self) -> f64 {
        self.0
    }
}

impl Eq for Load {}

impl Ord for Load {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_no_load() {
        for number in [0.0, -0.0, -5.0, f64::NAN, f64::INFINITY] {
            assert!(Load::new(number).is_err(), "{number}");
        }
    }
}
