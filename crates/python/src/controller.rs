use brimful_search::{Controller, Step, StopReason, StrategyKind};
use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use pyo3::prelude::*;

use crate::exchange::{AssessmentText, GoalResultText, problem, value_error};

/// The strategies by name.
#[pyfunction]
pub(crate) fn strategies() -> Vec<&'static str> {
    StrategyKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// Check the name of a strategy with its options; an error says what is wrong.
#[pyfunction]
pub(crate) fn check_strategy(text: &str) -> PyResult<()> {
    named_strategy(text).map(drop)
}

/// A search in progress.
#[pyclass(name = "Controller", module = "brimful._core")]
pub(crate) struct PyController {
    controller: Controller,
}

#[pymethods]
impl PyController {
    #[new]
    fn new(problem_json: &str, strategy: &str) -> PyResult<Self> {
        Ok(Self {
            controller: Controller::new(problem(problem_json)?, named_strategy(strategy)?),
        })
    }

    /// The next trial as (load, seconds), or nothing when the search is done.
    fn next(&mut self) -> Option<(f64, f64)> {
        match self.controller.next() {
            Step::Trial(input) => Some((input.load.per_second(), input.duration.as_seconds())),
            Step::Done => None,
        }
    }

    #[pyo3(signature = (load, duration_s, intended, sent, lost, effective_duration_s=None, stopped_early=false, delay_p99_s=None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the fields of a trial, one by one, cross the boundary"
    )]
    fn record(
        &mut self,
        load: f64,
        duration_s: f64,
        intended: u64,
        sent: u64,
        lost: u64,
        effective_duration_s: Option<f64>,
        stopped_early: bool,
        delay_p99_s: Option<f64>,
    ) -> PyResult<()> {
        let seconds = |value| Nanoseconds::from_seconds(value).map_err(value_error);
        self.controller.record(TrialResult {
            input: TrialInput {
                load: Load::new(load).map_err(value_error)?,
                duration: seconds(duration_s)?,
            },
            output: TrialOutput {
                counts: Counts::new(intended, sent, lost).map_err(value_error)?,
                effective_duration: effective_duration_s.map(seconds).transpose()?,
                delay_p99: delay_p99_s.map(seconds).transpose()?,
                stopped_early,
            },
        });
        Ok(())
    }

    /// Ends the search; the reason is a code of the record format.
    fn stop(&mut self, reason: &str) -> PyResult<()> {
        self.controller.stop(match reason {
            "time-budget" => StopReason::TimeBudget,
            "interrupted" => StopReason::Interrupted,
            "measurement-failed" => StopReason::MeasurementFailed,
            other => return Err(value_error(format!("unknown reason {other:?}"))),
        });
        Ok(())
    }

    /// The loss ratio above which a trial at this load may stop, if any.
    fn stop_above(&self, load: f64) -> PyResult<Option<f64>> {
        let load = Load::new(load).map_err(value_error)?;
        Ok(self.controller.stop_above(load).map(Ratio::as_f64))
    }

    /// (lower, upper) of each goal.
    fn bounds(&self) -> Vec<(Option<f64>, Option<f64>)> {
        (0..self.controller.problem().goals().len())
            .map(|goal| self.controller.log().relevant_bounds(goal))
            .map(|bounds| (bounds.lower.map(Load::per_second), bounds.upper.map(Load::per_second)))
            .collect()
    }

    /// A JSON list with one result a goal.
    fn results_json(&self) -> PyResult<String> {
        let results: Vec<GoalResultText> = self.controller.results().into_iter().map(Into::into).collect();
        serde_json::to_string(&results).map_err(value_error)
    }

    /// A JSON object with the verdict of a load for a goal and its sums.
    fn assess_json(&self, load: f64, goal: usize) -> PyResult<String> {
        let load = Load::new(load).map_err(value_error)?;
        let log = self.controller.log();
        if goal >= log.goals().len() {
            return Err(value_error(format!("there is no goal {goal}")));
        }
        let text = AssessmentText::new(
            log.assess(load, goal),
            log.trials_at(load).len(),
            log.conditional_throughput(load, goal),
        );
        serde_json::to_string(&text).map_err(value_error)
    }

    /// All loads measured so far, ascending.
    fn loads(&self) -> Vec<f64> {
        self.controller.log().loads().map(Load::per_second).collect()
    }

    /// The phase that the next trial belongs to, for strategies that have phases.
    fn phase(&self) -> Option<u32> {
        self.controller.phase()
    }

    /// Seconds of trials still expected.
    fn forecast(&self) -> Option<f64> {
        self.controller.forecast().map(Nanoseconds::as_seconds)
    }
}

pub(crate) fn named_strategy(name: &str) -> PyResult<StrategyKind> {
    name.parse().map_err(value_error)
}
