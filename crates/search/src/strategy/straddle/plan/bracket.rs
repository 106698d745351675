//! The cheapest way to two neighbouring bounds, by dynamic programming over brackets of candidate loads.
//!
//! A bracket is a pair of candidates of which the lower is (or is assumed to be) a lower bound and the upper an upper
//! bound. Measuring a load between them costs time and leaves one of two narrower brackets, with a chance that
//! follows from the belief under which the bracket came about.

use brimful_trial::Load;

use crate::strategy::straddle::goals::GoalFacts;

/// A load that may be measured for a goal, and what it promises.
pub(super) struct Candidate {
    pub(super) index: i64,
    pub(super) load: Load,
    /// Chance to become a lower bound, by world.
    pub(super) lower: Vec<f32>,
    /// Seconds to a verdict, by world.
    pub(super) seconds: Vec<f32>,
}

impl Candidate {
    /// Chance to become a lower bound.
    pub(super) fn mean_lower(&self) -> f32 {
        self.lower.iter().sum::<f32>() / self.lower.len() as f32
    }
}

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

/// Where a goal's brackets end: at bounds or limits where those are known, else at loads that are assumed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// Grid indices.
    pub(super) low: i64,
    pub(super) high: i64,
    pub(super) is_low_known: bool,
    pub(super) is_high_known: bool,
}

/// All brackets of one goal. Load 0 is the end below the candidates, and the last load the end above them.
pub(super) struct Brackets<'g> {
    pub(super) candidates: Vec<Candidate>,
    ends: Ends,
    goal: &'g GoalFacts,
    /// What a load within a bracket is to be measured for alone: its chance to become a lower bound, and seconds. By
    /// (low, high, middle).
    options: Vec<(f32, f32)>,
}

/// What the program decided, by bracket.
pub(super) struct Policy {
    moves: Vec<Option<Move>>,
    size: usize,
}

impl<'g> Brackets<'g> {
    pub(super) fn new(candidates: Vec<Candidate>, ends: Ends, goal: &'g GoalFacts) -> Self {
        let size = candidates.len() + 2;
        let mut brackets = Self {
            candidates,
            ends,
            goal,
            options: vec![(0.0, 0.0); size * size * size],
        };
        for (low, high) in (0..size).flat_map(|low| (low + 2..size).map(move |high| (low, high))) {
            if brackets.is_narrow(low, high) {
                continue;
            }
            let belief = brackets.belief(low, high);
            let whole = belief.iter().sum::<f32>().max(1e-12);
            for middle in low + 1..high {
                let candidate = &brackets.candidates[middle - 1];
                let (lower, seconds) = (sum(&belief, &candidate.lower), sum(&belief, &candidate.seconds));
                let at = brackets.at(low, high, middle);
                brackets.options[at] = (lower / whole, seconds / whole);
            }
        }
        brackets
    }

    /// How likely it is, for each world if it is the true one, that the bracket comes about.
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

    fn size(&self) -> usize {
        self.candidates.len() + 2
    }

    fn at(&self, low: usize, high: usize, middle: usize) -> usize {
        (low * self.size() + high) * self.size() + middle
    }

    fn gap(&self, low: usize, high: usize) -> i64 {
        let low = low
            .checked_sub(1)
            .map_or(self.ends.low, |low| self.candidates[low].index);
        let high = self.candidates.get(high - 1).map_or(self.ends.high, |high| high.index);
        high - low
    }

    fn is_narrow(&self, low: usize, high: usize) -> bool {
        !self.is_assumed(low, high) && self.gap(low, high) <= self.goal.steps
    }

    /// Whether an end of the bracket is no load that was measured or is a candidate.
    fn is_assumed(&self, low: usize, high: usize) -> bool {
        low == 0 && !self.ends.is_low_known || high == self.size() - 1 && !self.ends.is_high_known
    }

    /// What is left to pay when no candidate lies within the bracket.
    fn leftover(&self, low: usize, high: usize) -> f64 {
        let gap = (!self.is_assumed(low, high)).then(|| self.gap(low, high));
        self.goal.leftover(gap)
    }

    /// Finds the cheapest way, the narrowest brackets first, where this many seconds at each candidate cost nothing.
    pub(super) fn solve(&self, spared: &[f64]) -> Policy {
        let size = self.size();
        let mut moves: Vec<Option<Move>> = vec![None; size * size];
        let mut values = vec![0.0; size * size];
        for distance in 1..size {
            for low in 0..size - distance {
                let high = low + distance;
                if self.is_narrow(low, high) {
                    continue;
                }
                let within = (low + 1..high).map(|middle| {
                    let (lower, seconds) = self.options[self.at(low, high, middle)];
                    let (lower, seconds) = (f64::from(lower), f64::from(seconds));
                    let rest = lower * values[middle * size + high] + (1.0 - lower) * values[low * size + middle];
                    Move {
                        candidate: middle - 1,
                        lower,
                        seconds,
                        total: (seconds - spared[middle - 1]).max(0.0) + rest,
                    }
                });
                let best = within.min_by(|a, b| a.total.total_cmp(&b.total));
                values[low * size + high] = best.map_or_else(|| self.leftover(low, high), |best| best.total);
                moves[low * size + high] = best;
            }
        }
        Policy { moves, size }
    }
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

fn sum(weights: &[f32], values: &[f32]) -> f32 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}
