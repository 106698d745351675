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
    pub(super) ends: Ends,
    pub(super) goal: &'g GoalFacts,
}

/// What the program decided, by bracket.
pub(super) struct Policy {
    moves: Vec<Option<Move>>,
    size: usize,
}

impl Brackets<'_> {
    /// How likely it is, for each world if it is the true one, that the bracket comes about.
    fn belief(&self, low: usize, high: usize) -> Vec<f32> {
        let mut belief = match low.checked_sub(1) {
            Some(low) => self.candidates[low].lower.clone(),
            None => vec![1.0; self.candidates[0].lower.len()],
        };
        if let Some(high) = self.candidates.get(high - 1) {
            for (share, lower) in belief.iter_mut().zip(&high.lower) {
                *share *= 1.0 - lower;
            }
        }
        belief
    }

    fn gap(&self, low: usize, high: usize) -> i64 {
        let low = low
            .checked_sub(1)
            .map_or(self.ends.low, |low| self.candidates[low].index);
        let high = self.candidates.get(high - 1).map_or(self.ends.high, |high| high.index);
        high - low
    }

    /// Whether an end of the bracket is no load that was measured or is a candidate.
    fn is_assumed(&self, low: usize, high: usize) -> bool {
        low == 0 && !self.ends.is_low_known || high > self.candidates.len() && !self.ends.is_high_known
    }

    /// Finds the cheapest way, the narrowest brackets first, where this many seconds at each candidate cost nothing.
    pub(super) fn solve(&self, spared: &[f64]) -> Policy {
        let size = self.candidates.len() + 2;
        let mut moves: Vec<Option<Move>> = vec![None; size * size];
        let mut values = vec![0.0; size * size];
        for distance in 1..size {
            for low in 0..size - distance {
                let high = low + distance;
                let gap = (!self.is_assumed(low, high)).then(|| self.gap(low, high));
                if gap.is_some_and(|gap| gap <= self.goal.steps) {
                    continue;
                }
                if distance == 1 {
                    // No candidate lies within the bracket.
                    values[low * size + high] = self.goal.leftover(gap);
                    continue;
                }
                let belief = self.belief(low, high);
                let whole = belief.iter().sum::<f32>().max(1e-12);
                let within = (low + 1..high).map(|middle| {
                    let candidate = &self.candidates[middle - 1];
                    let lower = f64::from(sum(&belief, &candidate.lower) / whole);
                    let seconds = f64::from(sum(&belief, &candidate.seconds) / whole);
                    let rest = lower * values[middle * size + high] + (1.0 - lower) * values[low * size + middle];
                    Move {
                        candidate: middle - 1,
                        lower,
                        seconds,
                        total: (seconds - spared[middle - 1]).max(0.0) + rest,
                    }
                });
                let best = within.min_by(|a, b| a.total.total_cmp(&b.total));
                values[low * size + high] = best.map_or(0.0, |best| best.total);
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

/// The sum of products, in lanes of which the processor can do several at a time.
fn sum(weights: &[f32], values: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    for (weights, values) in weights.chunks_exact(8).zip(values.chunks_exact(8)) {
        for lane in 0..8 {
            lanes[lane] += weights[lane] * values[lane];
        }
    }
    lanes.iter().sum()
}
