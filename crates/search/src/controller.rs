use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialResult};

use crate::strategy::Strategy;
use crate::{GoalResult, Problem, SearchGoal, StopReason, StrategyKind, TrialLog};

/// Trials at one load that are never too many: a tester that stops trials early may weigh them by the second.
const TRIALS_AT_ANY_LOAD: usize = 1000;
/// Times over that a load may be measured for the longest duration sum, in the shortest trials.
const PATIENCE: usize = 10;

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
    pending: Option<Step>,
    stopped: Option<StopReason>,
}

impl Controller {
    /// Begins a search.
    pub fn new(problem: Problem, strategy: StrategyKind) -> Self {
        Self {
            log: TrialLog::new(problem.goals().to_vec()),
            strategy: strategy.start(&problem),
            pending: None,
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
        if let Some(step) = self.pending {
            return step;
        }
        let step = self.select();
        self.pending = Some(step);
        step
    }

    fn select(&mut self) -> Step {
        let Some(trial) = self.strategy.next(&self.problem, &self.log) else {
            return Step::Done;
        };
        if self.log.trials_at(trial.load).len() >= most_trials_at_a_load(&self.problem) {
            self.stop(StopReason::NoProgress);
            return Step::Done;
        }
        Step::Trial(trial)
    }

    /// Takes the result of a trial, asked for or not (a resumed search is fed its saved trials).
    pub fn record(&mut self, result: TrialResult) {
        // A strategy may learn from having been asked; a resumed search must end up in the same state.
        self.next();
        self.pending = None;
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

/// A load that still has no verdict after this number of trials will never have one: they weigh next to nothing, or
/// were stopped although their outcome was open. Every strategy ends because each load ends.
fn most_trials_at_a_load(problem: &Problem) -> usize {
    let trials = |goal: &SearchGoal| goal.duration_sum.0.div_ceil(goal.initial_trial_duration.0) as usize;
    let most = problem.goals().iter().map(trials).max().unwrap_or(0);
    TRIALS_AT_ANY_LOAD.saturating_add(most.saturating_mul(PATIENCE))
}
