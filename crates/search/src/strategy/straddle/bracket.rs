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
    pub(super) total: f64,
}

/// One step out of a bracket, before anything is known of other goals.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    lower: f32,
    seconds: f32,
}

/// All brackets of one goal. Candidate 0 is what is known or assumed below all loads, the last is above all.
pub(super) struct Brackets {
    /// Grid index of each candidate, both ends included.
    indices: Vec<i64>,
    steps: i64,
    pair_seconds: f64,
    /// Whether the ends are measured bounds (or limits) rather than assumptions.
    ends_known: (bool, bool),
    /// By (lower, upper, middle).
    options: Vec<Outcome>,
}

/// What the program decided, by bracket.
pub(super) struct Policy {
    moves: Vec<Option<Move>>,
    size: usize,
    values: Vec<f64>,
}

impl Brackets {
    pub(super) fn new(
        prospects: &[Prospect],
        weights: &[f32],
        ends: (i64, i64),
        ends_known: (bool, bool),
        steps: i64,
        pair_seconds: f64,
    ) -> Self {
        let mut indices = vec![ends.0];
        indices.extend(prospects.iter().map(|prospect| prospect.index));
        indices.push(ends.1);
        let size = indices.len();
        let mut brackets = Self {
            indices,
            steps,
            pair_seconds,
            ends_known,
            options: vec![
                Outcome {
                    lower: 0.0,
                    seconds: 0.0
                };
                size * size * size
            ],
        };
        let mut below = vec![0.0; weights.len()];
        let mut belief = vec![0.0; weights.len()];
        for low in 0..size - 1 {
            below.copy_from_slice(weights);
            if low > 0 {
                multiply(&mut below, &prospects[low - 1].lower, |chance| chance);
            }
            for high in low + 2..size {
                if brackets.is_narrow(low, high) {
                    continue;
                }
                belief.copy_from_slice(&below);
                if high < size - 1 {
                    multiply(&mut belief, &prospects[high - 1].lower, |chance| 1.0 - chance);
                }
                let total: f32 = belief.iter().sum::<f32>().max(1e-12);
                for middle in low + 1..high {
                    let prospect = &prospects[middle - 1];
                    let at = brackets.at(low, high, middle);
                    let (lower, seconds) = sums_of_products(&belief, &prospect.lower, &prospect.seconds);
                    brackets.options[at] = Outcome {
                        lower: lower / total,
                        seconds: seconds / total,
                    };
                }
            }
        }
        brackets
    }

    fn at(&self, low: usize, high: usize, middle: usize) -> usize {
        (low * self.indices.len() + high) * self.indices.len() + middle
    }

    fn is_narrow(&self, low: usize, high: usize) -> bool {
        !self.is_assumed(low, high) && self.indices[high] - self.indices[low] <= self.steps
    }

    /// Whether an end of the bracket is no load that was measured or is a candidate.
    fn is_assumed(&self, low: usize, high: usize) -> bool {
        low == 0 && !self.ends_known.0 || high == self.indices.len() - 1 && !self.ends_known.1
    }

    /// What is left to pay when no candidate lies within the bracket.
    fn leftover(&self, low: usize, high: usize) -> f64 {
        let gap = self.indices[high] - self.indices[low];
        leftover(
            self.pair_seconds,
            (!self.is_assumed(low, high)).then_some(gap),
            self.steps,
        )
    }

    /// Finds the cheapest way, given the seconds that other goals are expected to spend at the candidates.
    pub(super) fn solve(&self, spent: &[f64]) -> Policy {
        let size = self.indices.len();
        let mut policy = Policy {
            moves: vec![None; size * size],
            size,
            values: vec![0.0; size * size],
        };
        for distance in 1..size {
            for low in 0..size - distance {
                let high = low + distance;
                if self.is_narrow(low, high) {
                    continue;
                }
                let mut best: Option<Move> = None;
                for middle in low + 1..high {
                    let option = self.options[self.at(low, high, middle)];
                    let lower = f64::from(option.lower);
                    let seconds = (f64::from(option.seconds) - spent[middle - 1]).max(0.0);
                    let total = seconds
                        + lower * policy.values[middle * size + high]
                        + (1.0 - lower) * policy.values[low * size + middle];
                    if best.is_none_or(|best| total < best.total) {
                        best = Some(Move {
                            candidate: middle - 1,
                            lower,
                            seconds: f64::from(option.seconds),
                            total,
                        });
                    }
                }
                policy.values[low * size + high] = best.map_or_else(|| self.leftover(low, high), |best| best.total);
                policy.moves[low * size + high] = best;
            }
        }
        policy
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

fn multiply(into: &mut [f32], by: &[f32], of: impl Fn(f32) -> f32) {
    for (value, &factor) in into.iter_mut().zip(by) {
        *value *= of(factor);
    }
}
