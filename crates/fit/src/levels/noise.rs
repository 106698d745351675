//! The noise of a history, from differences of its values.

use super::LEAST_DEVIATION;

/// Of a normal distribution: standard deviation / median absolute deviation.
const PER_MEDIAN: f64 = 1.4826;

/// Differences count up to this number of standard deviations: a jump is not noise.
const WINSORISED_AT: f64 = 3.0;

const HIGHEST_CORRELATION: f64 = 0.8;

pub(super) struct Noise {
    pub(super) deviation: f64,
    pub(super) correlation: f64,
}

impl Noise {
    pub(super) fn of(values: &[f64]) -> Self {
        let (near, far) = (differences(values, 1), differences(values, 2));
        let (spread, resolution) = (spread(&near), smallest(&near));
        let ratio = mean_square(&far) / mean_square(&near);
        let correlation = if ratio.is_finite() {
            (ratio - 1.0).clamp(0.0, HIGHEST_CORRELATION)
        } else {
            0.0
        };
        let deviation = spread / (2.0 * (1.0 - correlation)).sqrt();
        Self {
            // Values that are rounded are known no better than to the rounding.
            deviation: deviation.max(resolution / 12f64.sqrt()).max(LEAST_DEVIATION),
            correlation,
        }
    }

    /// How many times the variance of a mean is that of as many independent values.
    pub(super) fn inflation(&self) -> f64 {
        (1.0 + self.correlation) / (1.0 - self.correlation)
    }
}

fn differences(values: &[f64], apart: usize) -> Vec<f64> {
    values
        .iter()
        .zip(values.iter().skip(apart))
        .map(|(first, second)| second - first)
        .collect()
}

/// Standard deviation of differences by the median of their sizes: about 0, as values that stay at a level neither rise
/// nor fall.
fn spread(differences: &[f64]) -> f64 {
    PER_MEDIAN * median(differences.iter().map(|difference| difference.abs()).collect())
}

/// Mean of the squares of differences, those beyond a multiple of their spread counted as there.
fn mean_square(differences: &[f64]) -> f64 {
    let limit = WINSORISED_AT * spread(differences);
    let squares = differences
        .iter()
        .map(|difference| difference.clamp(-limit, limit).powi(2));
    squares.sum::<f64>() / differences.len() as f64
}

/// The smallest difference that is one; 0 where there is none.
fn smallest(differences: &[f64]) -> f64 {
    let least = differences
        .iter()
        .map(|difference| difference.abs())
        .filter(|&size| size > LEAST_DEVIATION)
        .fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if below.len() > values.len() - middle - 1 {
        let lower = values[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        return f64::midpoint(lower, upper);
    }
    upper
}
