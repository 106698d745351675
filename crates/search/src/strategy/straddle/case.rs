//! A search and its log for tests of single parts.

use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};

use super::View;
use super::account::Account;
use super::belief::{Belief, Observation};
use super::goals::{GoalFacts, Standing};
use super::loads::Loads;
use crate::{Problem, SearchGoal, TrialLog};

/// A search for a load of which 60 seconds lose nothing, between 10 kpps and 1 Mpps, and its log.
pub(super) struct Case {
    pub(super) problem: Problem,
    pub(super) log: TrialLog,
    pub(super) goals: Vec<GoalFacts>,
    pub(super) loads: Loads,
    pub(super) belief: Belief,
    pub(super) seen: Vec<Observation>,
}

pub(super) fn load(per_second: f64) -> Load {
    Load::new(per_second).unwrap()
}

pub(super) fn half() -> Ratio {
    Ratio::new(1, 2).unwrap()
}

pub(super) fn seconds(seconds: f64) -> Nanoseconds {
    Nanoseconds::from_seconds(seconds).unwrap()
}

impl Case {
    pub(super) fn new(exceed_ratio: Ratio, final_trial_s: f64) -> Self {
        let goal = SearchGoal {
            name: "goal".to_owned(),
            loss_ratio: Ratio::ZERO,
            delay_limit: None,
            exceed_ratio,
            final_trial_duration: seconds(final_trial_s),
            duration_sum: seconds(60.0),
            initial_trial_duration: seconds(1.0),
            width: Ratio::new(1, 200).ok(),
        };
        let problem = Problem::new(vec![goal], load(1e4), load(1e6)).unwrap();
        let loads = Loads::new(&problem);
        Self {
            log: TrialLog::new(problem.goals().to_vec()),
            goals: GoalFacts::all(&problem, &loads.grid),
            belief: Belief::new(&problem, loads.grid, 60.0),
            seen: Vec::new(),
            loads,
            problem,
        }
    }

    pub(super) fn log_step(&self) -> f64 {
        self.loads.grid.log_step()
    }

    pub(super) fn standing(&self) -> Standing<'_> {
        Standing::new(&self.goals[0], &self.log, &self.loads.grid)
    }

    /// What follows from a view of the case, if this is the account of its goal.
    pub(super) fn with_view<T>(&self, account: &Account, act: impl FnOnce(&View) -> T) -> T {
        act(&View {
            problem: &self.problem,
            log: &self.log,
            open: &[self.standing()],
            loads: &self.loads,
            belief: &self.belief,
            accounts: std::slice::from_ref(account),
        })
    }

    /// Adds trials of a second: loads and how many frames they lost.
    pub(super) fn add(&mut self, trials: &[(f64, u64)]) {
        for &(per_second, lost) in trials {
            self.add_long(per_second, lost, 1.0);
        }
    }

    /// Adds a trial of another duration.
    pub(super) fn add_long(&mut self, per_second: f64, lost: u64, duration_s: f64) {
        let sent = (per_second * duration_s) as u64;
        let input = TrialInput {
            load: load(per_second),
            duration: seconds(duration_s),
        };
        let output = TrialOutput {
            counts: Counts::new(sent, sent, lost).unwrap(),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        };
        let result = TrialResult { input, output };
        self.log.add(result);
        self.belief.learn(&result);
        self.seen.push(Observation::new(&result, &self.loads.grid, &[]));
    }
}
