//! A search and its log for tests of single parts.

use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};

use super::buffer::Buffer;
use super::observation::Observation;
use super::target::Target;
use crate::grid::LoadGrid;
use crate::{Problem, SearchGoal, TrialLog};

/// A search for a load of which 60 seconds lose nothing, between 10 kpps and 1 Mpps, and its log.
pub(super) struct Case {
    pub(super) problem: Problem,
    pub(super) log: TrialLog,
    pub(super) seen: Vec<Observation>,
    pub(super) grid: LoadGrid,
    pub(super) target: Target,
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
        let grid = LoadGrid::new(problem.min_load(), problem.max_load(), 0.005);
        Self {
            log: TrialLog::new(problem.goals().to_vec()),
            seen: Vec::new(),
            target: Target::new(&problem, &grid, 0),
            problem,
            grid,
        }
    }

    /// Adds trials of a second: loads and how many frames they lost.
    pub(super) fn add(&mut self, trials: &[(f64, u64)]) {
        for &(per_second, lost) in trials {
            self.add_one(per_second, lost, seconds(1.0));
        }
    }

    pub(super) fn no_buffer(&self) -> Buffer {
        Buffer::none(self.target.duration_s, self.grid.log_step())
    }

    /// Adds a trial of another duration.
    pub(super) fn add_long(&mut self, per_second: f64, lost: u64, duration_s: f64) {
        self.add_one(per_second, lost, seconds(duration_s));
    }

    fn add_one(&mut self, per_second: f64, lost: u64, duration: Nanoseconds) {
        let sent = (per_second * duration.as_seconds()) as u64;
        let input = TrialInput {
            load: load(per_second),
            duration,
        };
        let output = TrialOutput {
            counts: Counts::new(sent, sent, lost).unwrap(),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        };
        let result = TrialResult { input, output };
        self.log.add(result);
        self.seen
            .push(Observation::new(&result, &self.grid, &[]));
        self.target.refresh(&self.log, &self.grid);
    }
}
