//! One goal as the planner sees it.

use brimful_trial::{Load, Nanoseconds, Ratio};

use super::observation::Observation;
use super::verdict::Needed;
use crate::grid::LoadGrid;
use crate::{Problem, Sums, TrialLog};

pub(super) struct Target {
    /// Index of the goal.
    pub(super) goal: usize,
    /// Most steps of the grid that are within the width.
    pub(super) steps: i64,
    /// Loss ratio of the goal as overload in steps.
    pub(super) limit: f64,
    pub(super) delay_limit: Option<Nanoseconds>,
    /// Full-length trials.
    pub(super) duration: Nanoseconds,
    pub(super) duration_s: f64,
    /// The shortest trials to select, where those are not full-length.
    pub(super) short: Option<Nanoseconds>,
    /// Whether a single high-loss trial makes an upper bound.
    pub(super) is_strict: bool,
    /// Whether it takes several trials to decide about a load, and another goal allows less loss.
    pub(super) is_above_others: bool,
    /// What to multiply the odds of one trial with when all those of a lower bound are to be low-loss.
    pub(super) shared_weather: f64,
    /// Trials that a load never measured needs.
    pub(super) fresh: Needed,
    /// Seconds for two fresh bounds.
    pub(super) pair_seconds: f64,
    pub(super) lower: Option<Load>,
    pub(super) upper: Option<Load>,
    /// The relevant bounds on the grid: what lies at or beyond these indices is known.
    pub(super) lower_index: Option<i64>,
    pub(super) upper_index: Option<i64>,
}

/// Halving a distance between loads that are no candidates costs this share of a fresh pair of bounds.
const HALVING_SHARE: f64 = 0.35;
/// Leaving the range of the candidates costs this share of a fresh pair on top.
const OUTSIDE_SHARE: f64 = 1.0;
/// What keeps a load on its own index in spite of rounding.
const ON_GRID: f64 = 1e-6;

/// Trials in a row share their weather: that all of many are low-loss is likelier than if they were independent. The
/// odds of high loss in one count less, as if no more than so many weathers came by in all of them.
const WEATHERS: f64 = 14.0;

impl Target {
    pub(super) fn new(problem: &Problem, grid: &LoadGrid, goal: usize) -> Self {
        let attributes = &problem.goals()[goal];
        let duration_s = attributes.final_trial_duration.as_seconds();
        let fresh = Needed::new(attributes, &Sums::default()).expect("a load never measured may become a lower bound");
        let width = -(1.0 - attributes.target_width()).ln();
        let is_strict = attributes.exceed_ratio == Ratio::ZERO;
        let short = attributes.initial_trial_duration;
        let short = (short < attributes.final_trial_duration).then_some(short);
        let bounds = if is_strict { 1.0 } else { 2.0 };
        Self {
            goal,
            steps: ((width / grid.log_step() * (1.0 - 1e-12)) as i64).max(1),
            // Never -0, which would be another limit than 0.
            limit: (1.0 / (1.0 - attributes.loss_ratio.as_f64())).ln() / grid.log_step(),
            delay_limit: attributes.delay_limit,
            duration: attributes.final_trial_duration,
            duration_s,
            short,
            is_strict,
            is_above_others: !is_strict
                && problem
                    .goals()
                    .iter()
                    .any(|other| other.loss_ratio < attributes.loss_ratio),
            shared_weather: if is_strict {
                WEATHERS / (WEATHERS - 1.0 + fresh.low)
            } else {
                1.0
            },
            pair_seconds: bounds * fresh.low * duration_s,
            fresh,
            lower: None,
            upper: None,
            lower_index: None,
            upper_index: None,
        }
    }

    /// Looks up where the bounds are now.
    pub(super) fn refresh(&mut self, log: &TrialLog, grid: &LoadGrid) {
        let bounds = log.relevant_bounds(self.goal);
        self.lower = bounds.lower;
        self.upper = bounds.upper;
        self.lower_index = bounds
            .lower
            .map(|load| (grid.position(load.per_second()) + ON_GRID).floor() as i64);
        self.upper_index = bounds
            .upper
            .map(|load| (grid.position(load.per_second()) - ON_GRID).ceil() as i64);
    }

    /// Seconds to the answer where no model tells them.
    pub(super) fn left_without_model(&self) -> f64 {
        let gap = self
            .lower_index
            .zip(self.upper_index)
            .map(|(lower, upper)| upper - lower);
        leftover(self.pair_seconds, gap, self.steps)
    }

    /// Whether nothing is left to measure for the goal.
    pub(super) fn is_done(&self, problem: &Problem) -> bool {
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => problem.goals()[self.goal].is_narrow(lower, upper),
            (Some(lower), None) => lower == problem.max_load(),
            (None, Some(upper)) => upper == problem.min_load(),
            (None, None) => false,
        }
    }

    /// The load of an index: a bound where one is in its place.
    pub(super) fn load(&self, grid: &LoadGrid, index: i64) -> Load {
        match (self.lower, self.upper) {
            (Some(lower), _) if self.lower_index == Some(index) => lower,
            (_, Some(upper)) if self.upper_index == Some(index) => upper,
            _ => grid.load(index),
        }
    }

    /// Sorts shorter delay limits first; without a limit any delay is allowed.
    pub(super) fn delay_order(&self) -> (bool, Option<Nanoseconds>) {
        (self.delay_limit.is_none(), self.delay_limit)
    }

    pub(super) fn is_high_loss(&self, seen: &Observation) -> bool {
        seen.overload > self.limit || self.delay_limit.is_some_and(|limit| seen.output.delay_exceeds(limit))
    }

    /// Seconds that make a lower bound of a fresh load.
    pub(super) fn lower_bound_s(&self) -> f64 {
        self.fresh.low * self.duration_s
    }

    pub(super) fn exploring_duration(&self) -> Nanoseconds {
        self.short.unwrap_or(self.duration)
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
