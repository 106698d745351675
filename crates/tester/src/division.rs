//! Division by numbers that are small.

/// A division, which takes as long as the rest of a frame, only where it does something.
#[inline]
pub(crate) fn quotient(number: u64, divisor: u64) -> u64 {
    match divisor {
        1 => number,
        _ if number < divisor => 0,
        _ => number / divisor,
    }
}

/// The same for what a division leaves.
#[inline]
pub(crate) fn remainder(number: u64, divisor: u64) -> u64 {
    if number < divisor { number } else { number % divisor }
}
