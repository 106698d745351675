//! What is to be found: what never changes of a goal, and where its bounds are now.

use brimful_trial::{Load, Nanoseconds, Ratio};

use super::belief::{Observation, Trial, delay_limits, limits};
use super::needed::Needed;
use crate::grid::LoadGrid;
use crate::{Problem, Sums, TrialLog};

/// What keeps a load on its own index in spite of rounding.
const ON_GRID: f64 = 1e-6;
/// Trials in a row share their weather: that all of many are low-loss is likelier than if they were independent. The
/// odds of high loss in one count less, as if no more than this many weathers came by in all of them.
const WEATHERS: f64 = 14.0;
/// Halving a distance between loads that are no candidates costs this share of a fresh pair of bounds.
const HALVING_SHARE: f64 = 0.35;

/// What never changes of a goal.
pub(super) struct GoalFacts {
    /// Which goal.
    pub(super) index: usize,
    /// Most steps of the grid that are within the width.
    pub(super) steps: i64,
    /// Which of the limits of the loss.
    limit: usize,
    /// The loss ratio as overload in steps.
    overload: f64,
    /// Which of the limits of the delay.
    delay: Option<usize>,
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
    shared_weather: f64,
    /// Trials that a load never measured needs.
    pub(super) fresh: Needed,
    /// Seconds for two fresh bounds.
    pub(super) pair_seconds: f64,
}

impl GoalFacts {
    pub(super) fn all(problem: &Problem, scale: &LoadGrid) -> Vec<Self> {
        (0..problem.goals().len())
            .map(|goal| Self::new(problem, scale, goal))
            .collect()
    }

    fn new(problem: &Problem, scale: &LoadGrid, index: usize) -> Self {
        let goal = &problem.goals()[index];
        let duration_s = goal.final_trial_duration.as_seconds();
        let fresh = Needed::new(goal, &Sums::default()).expect("a load never measured may become a lower bound");
        let width = -(1.0 - goal.target_width()).ln();
        let is_strict = goal.exceed_ratio == Ratio::ZERO;
        let short = goal.initial_trial_duration;
        let bounds = if is_strict { 1.0 } else { 2.0 };
        let limits = limits(problem, scale);
        let limit = limits.partition_point(|limit| limit.loss_ratio < goal.loss_ratio);
        let delays = delay_limits(problem);
        let mut others = problem.goals().iter();
        Self {
            index,
            steps: ((width / scale.log_step() * (1.0 - 1e-12)) as i64).max(1),
            limit,
            overload: limits[limit].overload,
            delay: goal
                .delay_limit
                .map(|limit| delays.partition_point(|&delay| delay < limit)),
            delay_limit: goal.delay_limit,
            duration: goal.final_trial_duration,
            duration_s,
            short: (short < goal.final_trial_duration).then_some(short),
            is_strict,
            is_above_others: !is_strict && others.any(|other| other.loss_ratio < goal.loss_ratio),
            shared_weather: if is_strict {
                WEATHERS / (WEATHERS - 1.0 + fresh.low)
            } else {
                1.0
            },
            pair_seconds: bounds * fresh.low * duration_s,
            fresh,
        }
    }

    /// A full-length trial.
    pub(super) fn trial(&self, load: Load) -> Trial {
        Trial {
            load,
            seconds: self.duration_s,
            limit: self.limit,
            delay: self.delay,
            shared_weather: self.shared_weather,
        }
    }

    pub(super) fn is_high_loss(&self, seen: &Observation) -> bool {
        seen.overload > self.overload || self.delay_limit.is_some_and(|limit| seen.output.delay_exceeds(limit))
    }

    /// Seconds that make a lower bound of a fresh load.
    pub(super) fn lower_bound_s(&self) -> f64 {
        self.fresh.low * self.duration_s
    }

    pub(super) fn exploring_duration(&self) -> Nanoseconds {
        self.short.unwrap_or(self.duration)
    }

    /// Seconds to two neighbouring bounds without a plan: by halving from known ones this many steps of the grid apart,
    /// or from unknown ones.
    pub(super) fn leftover(&self, gap: Option<i64>) -> f64 {
        let pairs = gap.map_or(1.0, |gap| {
            HALVING_SHARE * (gap as f64 / self.steps as f64).log2().max(0.0)
        });
        pairs * self.pair_seconds
    }

    /// Lower loss ratios first, then shorter delays; without a limit any delay is allowed.
    fn order(&self) -> (usize, bool, Option<usize>, usize) {
        (self.limit, self.delay.is_none(), self.delay, self.index)
    }
}

/// Where the bounds of a goal are now.
#[derive(Clone, Copy)]
pub(super) struct Standing<'g> {
    pub(super) goal: &'g GoalFacts,
    pub(super) lower: Option<Load>,
    pub(super) upper: Option<Load>,
    /// What lies at or below this index of the grid is known.
    pub(super) lower_index: Option<i64>,
    /// What lies at or above this index of the grid is known.
    pub(super) upper_index: Option<i64>,
}

impl<'g> Standing<'g> {
    pub(super) fn new(goal: &'g GoalFacts, log: &TrialLog, grid: &LoadGrid) -> Self {
        let bounds = log.relevant_bounds(goal.index);
        let position = |load: Load| grid.position(load.per_second());
        Self {
            goal,
            lower: bounds.lower,
            upper: bounds.upper,
            lower_index: bounds.lower.map(|load| (position(load) + ON_GRID).floor() as i64),
            upper_index: bounds.upper.map(|load| (position(load) - ON_GRID).ceil() as i64),
        }
    }

    /// The goals that have no answer yet, in the order to serve them in.
    pub(super) fn open(goals: &'g [GoalFacts], problem: &Problem, log: &TrialLog, grid: &LoadGrid) -> Vec<Self> {
        let all = goals.iter().map(|goal| Self::new(goal, log, grid));
        let mut open: Vec<Self> = all.filter(|standing| !standing.is_done(problem)).collect();
        open.sort_by_key(|standing| standing.goal.order());
        open
    }

    /// Seconds to the answer without a model.
    pub(super) fn left_without_model(&self) -> f64 {
        let bounds = self.lower_index.zip(self.upper_index);
        self.goal.leftover(bounds.map(|(lower, upper)| upper - lower))
    }

    /// Whether nothing is left to measure for the goal.
    fn is_done(&self, problem: &Problem) -> bool {
        match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => problem.goals()[self.goal.index].is_narrow(lower, upper),
            (Some(lower), None) => lower == problem.max_load(),
            (None, Some(upper)) => upper == problem.min_load(),
            (None, None) => false,
        }
    }

    /// Whether a load is above the lower bound and below the upper one.
    pub(super) fn is_within(&self, load: Load) -> bool {
        Some(load) > self.lower && self.upper.is_none_or(|upper| load < upper)
    }

    /// The load of an index: a bound where one is in its place.
    pub(super) fn load(&self, grid: &LoadGrid, index: i64) -> Load {
        match (self.lower, self.upper) {
            (Some(lower), _) if self.lower_index == Some(index) => lower,
            (_, Some(upper)) if self.upper_index == Some(index) => upper,
            _ => grid.load(index),
        }
    }
}
