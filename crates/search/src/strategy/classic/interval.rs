//! The interval of one goal: how far it is from done, and where it goes next.

use brimful_trial::Load;

use crate::grid::LoadGrid;
use crate::strategy::classic::evidence::Known;
use crate::{SearchGoal, Verdict};

/// Two measured loads between which the answer is looked for. A bound may be invalid: the lower one with too much loss,
/// the upper one with too little. Invalid bounds say in which direction to go next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) lower: Load,
    pub(super) upper: Load,
}

/// Measures intervals in steps of the load grid, that is, in log(load).
pub(super) struct Ruler {
    grid: LoadGrid,
    final_widths: Vec<f64>,
    last_stage: usize,
}

impl Ruler {
    pub(super) fn new(grid: LoadGrid, goals: &[SearchGoal], last_stage: usize) -> Self {
        let steps = |goal: &SearchGoal| (-(-goal.target_width()).ln_1p() / grid.log_step()).floor().max(1.0);
        Self {
            grid,
            final_widths: goals.iter().map(steps).collect(),
            last_stage,
        }
    }

    /// The width that ends a stage: doubled for each stage before the last.
    pub(super) fn width_goal(&self, stage: usize, goal: usize) -> f64 {
        self.final_widths[goal] * ((self.last_stage - stage) as f64).exp2()
    }

    pub(super) fn width(&self, interval: Interval) -> f64 {
        self.position(interval.upper) - self.position(interval.lower)
    }

    /// The middle in log(load), where the grid has a load between the bounds.
    pub(super) fn middle(&self, interval: Interval) -> Option<Load> {
        let position = f64::midpoint(self.position(interval.lower), self.position(interval.upper));
        let middle = self.grid.load(self.grid.nearest(position));
        (interval.lower < middle && middle < interval.upper).then_some(middle)
    }

    /// The load of a rate, rounded down, and at least a number of steps below a limit.
    pub(super) fn at_most(&self, per_second: f64, limit: Load, steps_below: f64) -> Load {
        let position = self.grid.position(per_second).min(self.position(limit) - steps_below);
        self.grid.load(position.floor() as i64)
    }

    /// How far outside the interval to measure next: twice its width, and at least the width goal.
    fn external_step(&self, interval: Interval, width_goal: f64) -> f64 {
        (2.0 * self.width(interval)).max(width_goal)
    }

    fn below(&self, load: Load, steps: f64) -> Load {
        self.grid.load((self.position(load) - steps).floor() as i64)
    }

    fn above(&self, load: Load, steps: f64) -> Load {
        self.grid.load((self.position(load) + steps).ceil() as i64)
    }

    fn is_min(&self, load: Load) -> bool {
        load <= self.grid.load(0)
    }

    fn is_max(&self, load: Load) -> bool {
        load >= self.grid.load(self.grid.top())
    }

    fn position(&self, load: Load) -> f64 {
        self.grid.position(load.per_second())
    }
}

impl Interval {
    pub(super) fn lower_is_invalid(self, known: &Known) -> bool {
        known.verdict(self.lower) == Verdict::UpperBound
    }

    /// An upper bound at max load counts as valid, but then nothing is left to find: such an interval is a point.
    fn upper_is_invalid(self, known: &Known) -> bool {
        known.verdict(self.upper) == Verdict::LowerBound
    }

    /// Where an invalid lower bound goes; nowhere from min load.
    pub(super) fn lowered(self, known: &Known, ruler: &Ruler, width_goal: f64) -> Option<Load> {
        let possible = self.lower_is_invalid(known) && !ruler.is_min(self.lower);
        possible.then(|| ruler.below(self.lower, ruler.external_step(self, width_goal)))
    }

    /// Where an invalid upper bound goes; nowhere from max load, nor while the lower one is invalid.
    pub(super) fn raised(self, known: &Known, ruler: &Ruler, width_goal: f64) -> Option<Load> {
        let possible = self.upper_is_invalid(known) && !self.lower_is_invalid(known) && !ruler.is_max(self.upper);
        possible.then(|| ruler.above(self.upper, ruler.external_step(self, width_goal)))
    }

    /// The interval after all that is known, whichever goal asked for it.
    pub(super) fn with(self, known: &Known, ruler: &Ruler, width_goal: f64) -> Self {
        self.below_any_upper(known)
            .lowered_to_known(known, ruler, width_goal)
            .raised_to_known(known, ruler, width_goal)
            .tightened(known)
    }

    /// High loss below the lower bound always counts. It becomes the (invalid) lower bound; a lower bound that was
    /// invalid already becomes a valid upper one.
    fn below_any_upper(self, known: &Known) -> Self {
        match known.smallest_upper() {
            Some(lower) if lower < self.lower => Self {
                lower,
                upper: if self.lower_is_invalid(known) {
                    self.lower
                } else {
                    self.upper
                },
            },
            _ => self,
        }
    }

    /// No step down past a load that is known to be good.
    fn lowered_to_known(self, known: &Known, ruler: &Ruler, width_goal: f64) -> Self {
        let good = self
            .lowered(known, ruler, width_goal)
            .and_then(|target| known.largest_lower_below(self.lower).filter(|&good| good >= target));
        good.map_or(self, |lower| Self {
            lower,
            upper: self.lower,
        })
    }

    /// No step up past a load that is known to be bad, and none below a load that is known to be good.
    fn raised_to_known(self, known: &Known, ruler: &Ruler, width_goal: f64) -> Self {
        if !self.upper_is_invalid(known) || self.lower_is_invalid(known) {
            return self;
        }
        let good = match known.smallest_upper() {
            Some(bad) => known.largest_lower_below(bad),
            None => known.largest_lower(),
        };
        let raised = match good {
            Some(good) if good > self.upper => Self {
                lower: self.upper,
                upper: good,
            },
            _ => self,
        };
        if ruler.is_max(raised.upper) {
            return Self {
                lower: raised.upper,
                upper: raised.upper,
            };
        }
        let target = raised.raised(known, ruler, width_goal);
        match known.smallest_upper() {
            Some(bad) if target.is_some_and(|target| bad <= target) => Self {
                lower: raised.upper,
                upper: bad,
            },
            _ => raised,
        }
    }

    /// Two valid bounds are the closest that are known.
    fn tightened(self, known: &Known) -> Self {
        if known.verdict(self.lower) != Verdict::LowerBound || known.verdict(self.upper) != Verdict::UpperBound {
            return self;
        }
        let upper = known.smallest_upper().map_or(self.upper, |bad| bad.min(self.upper));
        let lower = known
            .largest_lower_below(upper)
            .map_or(self.lower, |good| good.max(self.lower));
        Self { lower, upper }
    }
}
