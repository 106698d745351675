use std::cmp::Ordering;
use std::fmt;

use thiserror::Error;

/// An exact fraction between 0 and 1, both allowed, in lowest terms.
///
/// ```
/// use brimful_trial::Ratio;
/// assert_eq!(Ratio::from_f64(0.005)?, Ratio::new(1, 200)?);
/// assert_eq!(Ratio::from_f64(1.0 / 3.0)?, Ratio::new(1, 3)?);
/// # Ok::<(), brimful_trial::RatioError>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

/// A number that is no ratio.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum RatioError {
    /// Outside the range.
    #[error("ratio {0} is not between 0 and 1")]
    OutOfRange(f64),
    /// A denominator of zero.
    #[error("ratio {0}/0 has no value")]
    ZeroDenominator(u64),
}

/// Decimal places that are taken at their word before a simpler fraction is looked for.
const DECIMAL_PLACES: u32 = 9;
/// The largest denominator of a fraction that a binary number is read as (`0.333...` is 1/3).
const SIMPLE_DENOMINATOR: u64 = 1_000_000;
/// 10^18: the finest ratio kept; finer ones are rounded to it.
const FINEST: u64 = 1_000_000_000_000_000_000;

impl Ratio {
    /// 0.
    pub const ZERO: Self = Self {
        numerator: 0,
        denominator: 1,
    };

    /// `numerator / denominator`, reduced.
    ///
    /// # Errors
    /// When the denominator is 0 or the value is above 1.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, RatioError> {
        if denominator == 0 {
            return Err(RatioError::ZeroDenominator(numerator));
        }
        if numerator > denominator {
            return Err(RatioError::OutOfRange(numerator as f64 / denominator as f64));
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Ok(Self {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        })
    }

    /// The fraction that a person meant who wrote this number: the decimal if nine places show it, else the simplest
    /// fraction with the same binary value (1/3, 6/7), else the decimal to 18 places.
    ///
    /// # Errors
    /// When the number is not between 0 and 1.
    pub fn from_f64(value: f64) -> Result<Self, RatioError> {
        if !(0.0..=1.0).contains(&value) {
            return Err(RatioError::OutOfRange(value));
        }
        let places = 10_u64.pow(DECIMAL_PLACES);
        let decimal = Self::new((value * places as f64).round() as u64, places)?;
        if is_value_of(decimal, value) {
            return Ok(decimal);
        }
        if let Some(simple) = simplest_fraction(value) {
            return Ok(simple);
        }
        Self::new(((value * FINEST as f64).round() as u64).min(FINEST), FINEST)
    }

    /// The upper number of the fraction.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The lower number of the fraction; never 0.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest binary number, for showing and for estimates.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        let right = u128::from(other.numerator) * u128::from(self.denominator);
        left.cmp(&right)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.as_f64())
    }
}

/// Whether a number is the very one that the fraction rounds to; nothing near it will do.
#[expect(clippy::float_cmp, reason = "equality is what is asked")]
fn is_value_of(fraction: Ratio, value: f64) -> bool {
    fraction.as_f64() == value
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Walks the continued fraction of `value` until a convergent has the same binary value.
fn simplest_fraction(value: f64) -> Option<Ratio> {
    let (mut previous, mut current) = ((1_u64, 0_u64), (0_u64, 1_u64));
    let mut rest = value;
    while rest > 0.0 {
        let inverse = 1.0 / rest;
        let term = inverse.floor();
        if term > SIMPLE_DENOMINATOR as f64 {
            return None;
        }
        let next = (
            term as u64 * current.0 + previous.0,
            term as u64 * current.1 + previous.1,
        );
        if next.1 > SIMPLE_DENOMINATOR {
            return None;
        }
        (previous, current) = (current, next);
        let fraction = Ratio::new(current.0, current.1).ok()?;
        if is_value_of(fraction, value) {
            return Some(fraction);
        }
        rest = inverse - term;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_decimals_and_fractions_as_meant() {
        for (value, numerator, denominator) in [
            (0.0, 0, 1),
            (1.0, 1, 1),
            (0.5, 1, 2),
            (0.1, 1, 10),
            (0.005, 1, 200),
            (1e-7, 1, 10_000_000),
            (1e-12, 1, 1_000_000_000_000),
            (0.123_456_789, 123_456_789, 1_000_000_000),
            (2.0 / 3.0, 2, 3),
            (6.0 / 7.0, 6, 7),
            (1.0 / 21.0, 1, 21),
        ] {
            let expected = Ratio::new(numerator, denominator).unwrap();
            assert_eq!(Ratio::from_f64(value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn refuses_what_is_no_ratio() {
        for value in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Ratio::from_f64(value).is_err(), "{value}");
        }
        assert!(Ratio::new(1, 0).is_err());
        assert!(Ratio::new(2, 1).is_err());
    }

    fn fractions() -> impl Strategy<Value = (u64, u64)> {
        (1_u64..1000).prop_flat_map(|denominator| (0..=denominator, Just(denominator)))
    }

    proptest! {
        #[test]
        fn any_number_keeps_its_value(value in 0.0..=1.0_f64) {
            let ratio = Ratio::from_f64(value).unwrap();
            prop_assert!((ratio.as_f64() - value).abs() <= 4e-16);
        }

        #[test]
        fn order_is_the_order_of_the_values((a, b) in fractions(), (c, d) in fractions()) {
            let (left, right) = (Ratio::new(a, b).unwrap(), Ratio::new(c, d).unwrap());
            prop_assert_eq!(left.cmp(&right), (a * d).cmp(&(c * b)));
        }
    }
}
