//! Where hypotheses lie, and which few of many stand for all, each for the same share of their weight.

/// Beyond the fine reach, gaps grow by this factor.
const SPREAD: f64 = 1.16;
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

/// `count` shares from 0 to 1, ascending.
pub(super) fn ascending(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| (index as f64 + 0.5) / count as f64)
}

/// The same in an order without pattern, so that what is drawn by them does not go with what is drawn in another order.
pub(super) fn without_pattern(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(|index| (0.5 + index as f64 * GOLDEN_RATIO).fract())
}

/// Offsets from the centre with the width of the cell that each stands for, ascending.
pub(super) fn offsets(span: f64, reach: i64, per_step: i64) -> impl Iterator<Item = (f64, f64)> {
    let fine = reach * per_step;
    let mut outer = Vec::new();
    let (mut offset, mut gap) = (reach as f64, 1.0 / per_step as f64);
    while offset < span {
        gap *= 1.0 + (SPREAD - 1.0) * 2.0;
        gap = gap.min(offset * (SPREAD - 1.0));
        offset = ((offset + gap) * per_step as f64).ceil() / per_step as f64;
        outer.push((offset, gap));
    }
    let below: Vec<(f64, f64)> = outer.iter().rev().map(|&(offset, cell)| (-offset, cell)).collect();
    let middle = (-fine..=fine).map(move |index| (index as f64 / per_step as f64, 1.0 / per_step as f64));
    below.into_iter().chain(middle).chain(outer)
}
