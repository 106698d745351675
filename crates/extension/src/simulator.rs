use brimful_search::{Controller, Problem, Step};
use brimful_sim::{Simulator, SystemSpec};
use brimful_trial::{Load, Measurer, Nanoseconds, Ratio, TrialInput, TrialResult};
use pyo3::prelude::*;
use serde::Serialize;

use crate::controller::named_strategy;
use crate::exchange::{GoalResultText, problem, value_error};

/// Name, default and description of a parameter.
type Parameter = (String, String, String);
/// Name, description and parameters of a kind of simulated system.
type Kind = (String, String, Vec<Parameter>);

/// The kinds of simulated systems.
#[pyfunction]
pub(crate) fn simulator_kinds() -> Vec<Kind> {
    SystemSpec::kinds()
        .iter()
        .map(|kind| {
            let parameters = kind
                .parameters()
                .map(|parameter| {
                    (
                        parameter.name.to_owned(),
                        parameter.default.to_string(),
                        parameter.description.to_owned(),
                    )
                })
                .collect();
            (kind.name.to_owned(), kind.description.to_owned(), parameters)
        })
        .collect()
}

/// A simulated system under test with a clock of its own.
#[pyclass(name = "Simulator", module = "brimful._core")]
pub(crate) struct PySimulator {
    simulator: Simulator,
}

/// What one trial gave: intended, sent, lost, effective seconds, whether it stopped early, 99th percentile of the delay.
type Outcome = (u64, u64, u64, Option<f64>, bool, Option<f64>);

#[pymethods]
impl PySimulator {
    #[new]
    fn new(spec: &str) -> PyResult<Self> {
        let spec: SystemSpec = spec.parse().map_err(value_error)?;
        Ok(Self {
            simulator: Simulator::new(&spec),
        })
    }

    #[pyo3(signature = (load, duration_s, stop_above=None))]
    fn measure(&mut self, load: f64, duration_s: f64, stop_above: Option<f64>) -> PyResult<Outcome> {
        let input = TrialInput {
            load: Load::new(load).map_err(value_error)?,
            duration: Nanoseconds::from_seconds(duration_s).map_err(value_error)?,
        };
        let stop_above = stop_above.map(Ratio::from_f64).transpose().map_err(value_error)?;
        let output = self.simulator.measure(input, stop_above).map_err(value_error)?;
        let counts = output.counts;
        let effective = output.effective_duration.map(Nanoseconds::as_seconds);
        Ok((
            counts.intended(),
            counts.sent(),
            counts.lost(),
            effective,
            output.stopped_early,
            output.delay_p99.map(Nanoseconds::as_seconds),
        ))
    }

    /// Lets virtual time pass.
    fn wait(&mut self, seconds: f64) -> PyResult<()> {
        self.simulator
            .wait(Nanoseconds::from_seconds(seconds).map_err(value_error)?);
        Ok(())
    }

    /// Virtual seconds since it was made.
    fn now(&self) -> f64 {
        self.simulator.now().as_seconds()
    }

    /// The specification with every parameter that was given, in canonical order.
    fn spec(&self) -> String {
        self.simulator.spec().to_string()
    }

    /// The capacity in units per second.
    fn capacity(&self) -> f64 {
        self.simulator.capacity().per_second()
    }

    /// Whether trials come with a delay.
    fn tells_delay(&self) -> bool {
        self.simulator.describe().tells_delay
    }

    /// The link rate in units per second: no load above it makes sense.
    fn link(&self) -> f64 {
        self.simulator.spec().link().per_second()
    }
}

#[derive(Serialize)]
struct SearchText {
    seed: u64,
    capacity: f64,
    search_s: f64,
    trials: usize,
    goals: Vec<GoalResultText>,
}

/// Complete searches of simulated systems, one a seed, without leaving native code; a JSON list.
#[pyfunction]
pub(crate) fn simulate(problem_json: &str, strategy: &str, spec: &str, seeds: Vec<u64>) -> PyResult<String> {
    let problem = problem(problem_json)?;
    let strategy = named_strategy(strategy)?;
    let spec: SystemSpec = spec.parse().map_err(value_error)?;
    check_delay(&problem, &spec)?;
    let mut searches = Vec::with_capacity(seeds.len());
    for seed in seeds {
        let mut simulator = Simulator::new(&spec.clone().with_seed(seed));
        let mut controller = Controller::new(problem.clone(), strategy);
        while let Step::Trial(input) = controller.next() {
            let stop_above = controller
                .stop_above(input.load)
                .filter(|_| problem.has_early_termination());
            let output = simulator.measure(input, stop_above).map_err(value_error)?;
            controller.record(TrialResult { input, output });
        }
        searches.push(SearchText {
            seed,
            capacity: simulator.capacity().per_second(),
            search_s: simulator.now().as_seconds(),
            trials: controller.log().trial_count(),
            goals: controller.results().into_iter().map(Into::into).collect(),
        });
    }
    serde_json::to_string(&searches).map_err(value_error)
}

/// Refuses goals with a delay limit for a system that reports no delay: none of its trials could ever keep one.
fn check_delay(problem: &Problem, spec: &SystemSpec) -> PyResult<()> {
    if Simulator::new(spec).describe().tells_delay {
        return Ok(());
    }
    match problem.goals().iter().find(|goal| goal.delay_limit.is_some()) {
        Some(goal) => Err(value_error(format!(
            "goal {:?} has a delay limit, but sim:{spec} tells no delay; add delay=20us",
            goal.name
        ))),
        None => Ok(()),
    }
}
