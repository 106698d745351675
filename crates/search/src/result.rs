use brimful_trial::Load;

use crate::trial_log::TrialLog;
use crate::{Problem, Sums};

/// Why a search ended before its strategy was through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopReason {
    /// The time budget is spent.
    TimeBudget,
    /// Somebody stopped it.
    Interrupted,
    /// The Measurer failed.
    MeasurementFailed,
    /// A load was measured many times over and still has no verdict: its trials weigh next to nothing.
    NoProgress,
}

/// What to think of a goal result. Everything but `Regular` is irregular (MLRsearch-15 Irregular Goal Result).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// Both relevant bounds are there and close enough.
    Regular,
    /// Nothing spills even at max load.
    MaxLoadIsLowerBound,
    /// It spills even at min load.
    MinLoadIsUpperBound,
    /// The strategy ended with bounds too far apart.
    WidthNotReached,
    /// The search was stopped.
    Stopped(StopReason),
}

impl Reason {
    /// The stable code of records and reports.
    pub fn code(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::MaxLoadIsLowerBound => "max-load-is-lower-bound",
            Self::MinLoadIsUpperBound => "min-load-is-upper-bound",
            Self::WidthNotReached => "width-not-reached",
            Self::Stopped(StopReason::TimeBudget) => "time-budget",
            Self::Stopped(StopReason::Interrupted) => "interrupted",
            Self::Stopped(StopReason::MeasurementFailed) => "measurement-failed",
            Self::Stopped(StopReason::NoProgress) => "no-progress",
        }
    }
}

/// A relevant bound with its evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Where.
    pub load: Load,
    /// Why.
    pub sums: Sums,
    /// Conditional throughput of this load.
    pub conditional_throughput: f64,
}

/// The answer for one goal (MLRsearch-15 Goal Result).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalResult {
    /// Regular, or why not.
    pub reason: Reason,
    /// The relevant lower bound, or the best that exists.
    pub lower_bound: Option<Bound>,
    /// The relevant upper bound.
    pub upper_bound: Option<Bound>,
}

impl GoalResult {
    /// Whether the goal was reached.
    pub fn is_regular(&self) -> bool {
        self.reason == Reason::Regular
    }

    /// Conditional throughput at the relevant lower bound.
    pub fn conditional_throughput(&self) -> Option<f64> {
        self.lower_bound.map(|bound| bound.conditional_throughput)
    }

    /// What a log supports for a goal; `stopped` says why no more trials come, where the strategy was not through.
    pub fn new(problem: &Problem, log: &TrialLog, goal: usize, stopped: Option<StopReason>) -> Self {
        let bounds = log.relevant_bounds(goal);
        let with_evidence = |load: Load| Bound {
            load,
            sums: log.sums(load, goal),
            conditional_throughput: log.conditional_throughput(load, goal),
        };
        Self {
            reason: reason(problem, log, goal, stopped),
            lower_bound: bounds.lower.map(with_evidence),
            upper_bound: bounds.upper.map(with_evidence),
        }
    }
}

fn reason(problem: &Problem, log: &TrialLog, goal: usize, stopped: Option<StopReason>) -> Reason {
    let bounds = log.relevant_bounds(goal);
    match (bounds.lower, bounds.upper) {
        (Some(lower), Some(upper)) if problem.goals()[goal].is_narrow(lower, upper) => Reason::Regular,
        (Some(lower), None) if lower == problem.max_load() => Reason::MaxLoadIsLowerBound,
        (None, Some(upper)) if upper == problem.min_load() => Reason::MinLoadIsUpperBound,
        _ => stopped.map_or(Reason::WidthNotReached, Reason::Stopped),
    }
}
