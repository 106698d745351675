//! Few of many hypotheses that stand for all, each for the same share of their weight.

/// Spreads any number of points evenly over 0 to 1 in an order without pattern.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_8;

/// Which of the weights each share of their sum falls to.
pub(super) fn draw_evenly(weights: impl Iterator<Item = f64>, shares: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut total = 0.0;
    let sums: Vec<f64> = weights
        .map(|weight| {
            total += weight;
            total
        })
        .collect();
    let last = sums.len().saturating_sub(1);
    shares
        .map(|share| sums.partition_point(|&sum| sum < share * total).min(last))
        .collect()
}

/// So many shares from 0 to 1, ascending.
pub(super) fn ascending(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| (index as f64 + 0.5) / count as f64)
}

/// The same in an order without pattern, so that what is drawn by them does not go with what is drawn in another order.
pub(super) fn without_pattern(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(|index| (0.5 + index as f64 * GOLDEN_RATIO).fract())
}
