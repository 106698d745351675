use brimful_search::{GoalResult, Problem, TrialLog};
use brimful_trial::Load;
use pyo3::prelude::*;

use crate::controller::{Measured, loads_of, results_text, stop_reason, trial_result};
use crate::exchange::{AssessmentText, problem, value_error};

/// The trials of a search, classified; no more are asked for.
#[pyclass(name = "TrialLog", module = "brimful._core")]
pub(crate) struct PyTrialLog {
    problem: Problem,
    log: TrialLog,
}

#[pymethods]
impl PyTrialLog {
    #[new]
    fn new(problem_json: &str) -> PyResult<Self> {
        let problem = problem(problem_json)?;
        Ok(Self {
            log: TrialLog::new(problem.goals().to_vec()),
            problem,
        })
    }

    fn record(&mut self, trial: Measured) -> PyResult<()> {
        self.log.add(trial_result(trial)?);
        Ok(())
    }

    /// (lower, upper) of each goal.
    fn bounds(&self) -> Vec<(Option<f64>, Option<f64>)> {
        (0..self.log.goals().len())
            .map(|goal| loads_of(self.log.relevant_bounds(goal)))
            .collect()
    }

    /// A JSON list with one result a goal; `stopped` is a code of the record format.
    #[pyo3(signature = (stopped=None))]
    fn results_json(&self, stopped: Option<&str>) -> PyResult<String> {
        let stopped = stopped.map(stop_reason).transpose()?;
        let goals = 0..self.log.goals().len();
        results_text(
            goals
                .map(|goal| GoalResult::new(&self.problem, &self.log, goal, stopped))
                .collect(),
        )
    }

    /// A JSON object with the verdict of a load for a goal and its sums.
    fn assess_json(&self, load: f64, goal: usize) -> PyResult<String> {
        let load = Load::new(load).map_err(value_error)?;
        if goal >= self.log.goals().len() {
            return Err(value_error(format!("there is no goal {goal}")));
        }
        let text = AssessmentText::new(
            self.log.assess(load, goal),
            self.log.trials_at(load).len(),
            self.log.conditional_throughput(load, goal),
        );
        serde_json::to_string(&text).map_err(value_error)
    }

    /// All loads measured so far, ascending.
    fn loads(&self) -> Vec<f64> {
        self.log.loads().map(Load::per_second).collect()
    }
}
