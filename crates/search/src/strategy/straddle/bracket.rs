//! The cheapest way to two neighbouring bounds, by dynamic programming over brackets of candidate loads.
//!
//! A bracket is a pair of candidates of which the lower is (or is assumed to be) a lower bound and the upper an upper
//! bound. Measuring a load between them costs time and leaves one of two narrower brackets, with a chance that
//! follows from the belief under which the bracket came about.

use super::prospect::{Prospect, sums_of_products};

/// Halving a distance between loads that are no candidates costs this share of a fresh pair of bounds.
const HALVING_SHARE: f64 = 0.35;
/// Leaving the range of the candidates costs this share of a fresh pair on top.
const OUTSIDE_SHARE: f64 = 1.0;

/// What a load would be measured for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    /// Which candidate.
    pub(super) candidate: usize,
    /// Chance that it becomes a lower bound.
    pub(super) lower: f64,
    /// Expected seconds at this load.
    pub(super) seconds: f64,
    /// Expected seconds to the end, this load included.
    total: f64,
}

/// All brackets of one goal. Load 0 is what is known or assumed below the candidates, and the last is above them.
pub(super) struct Brackets<'a> {
    pub(super) candidates: &'a [Prospect],
    /// Seconds at each candidate that speak for going on there.
    pub(super) begun: Vec<f64>,
    /// Grid indices of the loads below and above all candidates.
    pub(super) ends: (i64, i64),
    /// Whether these are measured bounds (or limits) rather than assumptions.
    pub(super) ends_known: (bool, bool),
    pub(super) steps: i64,
    pub(super) pair_seconds: f64,
}

/// What the program decided, by bracket.
pub(super) struct Policy {
    moves: Vec<Option<Move>>,
    size: usize,
}

impl Brackets<'_> {
    fn size(&self) -> usize {
        self.candidates.len() + 2
    }

    fn gap(&self, low: usize, high: usize) -> i64 {
        let low = low.checked_sub(1).map_or(self.ends.0, |low| self.candidates[low].index);
        let high = self.candidates.get(high - 1).map_or(self.ends.1, |high| high.index);
        high - low
    }

    fn is_narrow(&self, low: usize, high: usize) -> bool {
        !self.is_assumed(low, high) && self.gap(low, high) <= self.steps
    }

    /// Whether an end of the bracket is no load that was measured or is a candidate.
    fn is_assumed(&self, low: usize, high: usize) -> bool {
        low == 0 && !self.ends_known.0 || high == self.size() - 1 && !self.ends_known.1
    }

    /// What is left to pay when no candidate lies within the bracket.
    fn leftover(&self, low: usize, high: usize) -> f64 {
        let gap = (!self.is_assumed(low, high)).then(|| self.gap(low, high));
        leftover(self.pair_seconds, gap, self.steps)
    }

    /// How likely each point is that the bracket comes about if it is true.
    fn belief(&self, low: usize, high: usize) -> Vec<f32> {
        let mut belief = vec![1.0; self.candidates[0].lower.len()];
        if let Some(low) = low.checked_sub(1) {
            belief.copy_from_slice(&self.candidates[low].lower);
        }
        if let Some(high) = self.candidates.get(high - 1) {
            for (share, lower) in belief.iter_mut().zip(&high.lower) {
                *share *= 1.0 - lower;
            }
        }
        belief
    }

    /// Finds the cheapest way, the narrowest brackets first.
    pub(super) fn solve(&self) -> Policy {
        let size = self.size();
        let mut moves: Vec<Option<Move>> = vec![None; size * size];
        let mut values = vec![0.0; size * size];
        for distance in 1..size {
            for low in 0..size - distance {
                let high = low + distance;
                if self.is_narrow(low, high) {
                    continue;
                }
                let best = self.best(low, high, |low, high| values[low * size + high]);
                values[low * size + high] = best.map_or_else(|| self.leftover(low, high), |best| best.total);
                moves[low * size + high] = best;
            }
        }
        Policy { moves, size }
    }

    /// The cheapest candidate within a bracket, given what narrower ones cost.
    fn best(&self, low: usize, high: usize, value: impl Fn(usize, usize) -> f64) -> Option<Move> {
        if high - low < 2 {
            return None;
        }
        let belief = self.belief(low, high);
        let whole = belief.iter().sum::<f32>().max(1e-12);
        let moves = (low + 1..high).map(|middle| {
            let candidate = middle - 1;
            let prospect = &self.candidates[candidate];
            let (lower, seconds) = sums_of_products(&belief, &prospect.lower, &prospect.seconds);
            let (lower, seconds) = (f64::from(lower / whole), f64::from(seconds / whole));
            let rest = lower * value(middle, high) + (1.0 - lower) * value(low, middle);
            Move {
                candidate,
                lower,
                seconds,
                total: (seconds - self.begun[candidate]).max(0.0) + rest,
            }
        });
        moves.min_by(|a, b| a.total.total_cmp(&b.total))
    }
}

/// Seconds to two neighbouring bounds without a plan: by halving from known ones this many steps of the grid apart, or
/// from unknown ones.
pub(super) fn leftover(pair_seconds: f64, gap: Option<i64>, steps: i64) -> f64 {
    let pairs = gap.map_or(OUTSIDE_SHARE, |gap| {
        HALVING_SHARE * (gap as f64 / steps as f64).log2().max(0.0)
    });
    pairs * pair_seconds
}

impl Policy {
    /// What to measure first; `None` where nothing is left to measure.
    pub(super) fn first(&self) -> Option<Move> {
        self.moves[self.size - 1]
    }

    /// Expected seconds at each candidate.
    pub(super) fn spending(&self) -> Vec<f64> {
        let size = self.size;
        let mut spent = vec![0.0; size - 2];
        let mut chances = vec![0.0; size * size];
        chances[size - 1] = 1.0;
        for distance in (1..size).rev() {
            for low in 0..size - distance {
                let high = low + distance;
                let chance = chances[low * size + high];
                if let (Some(step), true) = (self.moves[low * size + high], chance > 0.0) {
                    let middle = step.candidate + 1;
                    spent[step.candidate] += chance * step.seconds;
                    chances[middle * size + high] += chance * step.lower;
                    chances[low * size + middle] += chance * (1.0 - step.lower);
                }
            }
        }
        spent
    }
}
