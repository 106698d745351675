use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialResult};

use crate::strategy::Strategy;
use crate::{GoalResult, Problem, StopReason, StrategyKind, TrialLog};

/// What to do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Measure this and [`Controller::record`] the result.
    Trial(TrialInput),
    /// Nothing: see [`Controller::results`].
    Done,
}

/// A search in progress (MLRsearch-15 Controller).
pub struct Controller {
    problem: Problem,
    log: TrialLog,
    strategy: Box<dyn Strategy>,
    stopped: Option<StopReason>,
}

impl Controller {
    /// Begins a search.
    pub fn new(problem: Problem, strategy: StrategyKind) -> Self {
        Self {
            log: TrialLog::new(problem.goals().to_vec()),
            strategy: strategy.start(&problem),
            stopped: None,
            problem,
        }
    }

    /// The next trial. Asking again without recording gives the same trial again.
    #[expect(
        clippy::should_implement_trait,
        reason = "not an iterator: results are fed back in between"
    )]
    pub fn next(&mut self) -> Step {
        if self.stopped.is_some() {
            return Step::Done;
        }
        self.strategy
            .next(&self.problem, &self.log)
            .map_or(Step::Done, Step::Trial)
    }

    /// Takes the result of a trial, asked for or not (a resumed search is fed its saved trials).
    pub fn record(&mut self, result: TrialResult) {
        self.log.add(result);
        self.strategy.observe(&self.problem, &self.log, &result);
    }

    /// Ends the search; the results are what the trials so far support.
    pub fn stop(&mut self, reason: StopReason) {
        self.stopped = Some(reason);
    }

    /// The loss ratio above which a trial at this load is certain to be high-loss for every goal that still matters
    /// there: the Measurer may stop it then. A goal with an upper bound below the load does not matter when that bound
    /// can never be lost, which is so at exceed ratio 0: no outcome here can move its bounds.
    pub fn stop_above(&self, load: Load) -> Option<Ratio> {
        let goals = self.problem.goals().iter().enumerate();
        goals
            .filter(|&(index, goal)| {
                let upper = self.log.relevant_bounds(index).upper;
                goal.exceed_ratio != Ratio::ZERO || upper.is_none_or(|upper| load <= upper)
            })
            .map(|(_, goal)| goal.loss_ratio)
            .max()
    }

    /// Whether a running trial can still change its outcome for a goal that matters. `so_far` has the intended units
    /// of the whole trial.
    pub fn should_continue(&self, load: Load, so_far: Counts) -> bool {
        self.stop_above(load)
            .is_none_or(|limit| !so_far.loss_is_certain_to_exceed(limit))
    }

    /// One result a goal, in the order of the goals, at any time of the search.
    pub fn results(&self) -> Vec<GoalResult> {
        let stopped = self.stopped.or_else(|| self.strategy.stop_reason());
        (0..self.problem.goals().len())
            .map(|goal| GoalResult::new(&self.problem, &self.log, goal, stopped))
            .collect()
    }

    /// Expected time of the trials still to come, waits excluded.
    pub fn forecast(&self) -> Option<Nanoseconds> {
        self.strategy.forecast(&self.problem, &self.log)
    }

    /// The number of the phase that the next trial belongs to, counted from 0, for strategies that have phases.
    pub fn phase(&self) -> Option<u32> {
        self.strategy.phase()
    }

    /// What is searched for.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Every trial so far.
    pub fn log(&self) -> &TrialLog {
        &self.log
    }
}
