use brimful_search::{Controller, GoalResult, RelevantBounds, Step, StopReason, StrategyKind};
use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use pyo3::prelude::*;

use crate::exchange::{GoalResultText, problem, value_error};

/// A trial: its load and seconds; units intended, sent and lost; effective seconds; whether it was stopped early; the
/// 99th percentile of the delay in seconds.
pub(crate) type Measured = (f64, f64, u64, u64, u64, Option<f64>, bool, Option<f64>);

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

    fn record(&mut self, trial: Measured) -> PyResult<()> {
        self.controller.record(trial_result(trial)?);
        Ok(())
    }

    /// Ends the search; the reason is a code of the record format.
    fn stop(&mut self, reason: &str) -> PyResult<()> {
        self.controller.stop(stop_reason(reason)?);
        Ok(())
    }

    /// The loss ratio above which a trial at this load may stop, if any.
    fn stop_above(&self, load: f64) -> PyResult<Option<f64>> {
        let load = Load::new(load).map_err(value_error)?;
        Ok(self.controller.stop_above(load).map(Ratio::as_f64))
    }

    /// (lower, upper) of each goal.
    fn bounds(&self) -> Vec<(Option<f64>, Option<f64>)> {
        let log = self.controller.log();
        (0..log.goals().len())
            .map(|goal| loads_of(log.relevant_bounds(goal)))
            .collect()
    }

    /// A JSON list with one result a goal.
    fn results_json(&self) -> PyResult<String> {
        results_text(self.controller.results())
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

/// Reads a trial: load and seconds asked for; intended, sent and lost units; and what else is known of it.
pub(crate) fn trial_result(
    (load, duration_s, intended, sent, lost, effective_duration_s, stopped_early, delay_p99_s): Measured,
) -> PyResult<TrialResult> {
    let seconds = |value| Nanoseconds::from_seconds(value).map_err(value_error);
    Ok(TrialResult {
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
    })
}

/// Reads a code of the record format.
pub(crate) fn stop_reason(code: &str) -> PyResult<StopReason> {
    Ok(match code {
        "time-budget" => StopReason::TimeBudget,
        "interrupted" => StopReason::Interrupted,
        "measurement-failed" => StopReason::MeasurementFailed,
        "no-progress" => StopReason::NoProgress,
        other => return Err(value_error(format!("unknown reason {other:?}"))),
    })
}

pub(crate) fn loads_of(bounds: RelevantBounds) -> (Option<f64>, Option<f64>) {
    (bounds.lower.map(Load::per_second), bounds.upper.map(Load::per_second))
}

pub(crate) fn results_text(results: Vec<GoalResult>) -> PyResult<String> {
    let results: Vec<GoalResultText> = results.into_iter().map(Into::into).collect();
    serde_json::to_string(&results).map_err(value_error)
}

pub(crate) fn named_strategy(name: &str) -> PyResult<StrategyKind> {
    name.parse().map_err(value_error)
}
