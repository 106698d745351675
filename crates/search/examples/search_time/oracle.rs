//! What no search could beat: measuring only the loads that were reported, on the same system under other weather.

use std::collections::BTreeMap;

use brimful_search::{GoalResult, Problem, TrialLog, Verdict};
use brimful_trial::{Load, Nanoseconds, TrialInput, TrialResult};

use crate::Failure;
use crate::system::System;

/// Fresh weather, far from any seed that is searched with.
const OTHER_WEATHER: u64 = 1_000_000_007;

/// What a load was reported as: lower bound of some goals, upper bound of others.
#[derive(Default)]
struct Reported {
    goals: Vec<usize>,
    is_lower: bool,
}

/// Virtual seconds to a verdict on every reported bound, each load once, loads shared between goals where one serves
/// both; loads that are upper bounds only with the shortest trials.
pub(crate) fn oracle_seconds(
    problem: &Problem,
    results: &[GoalResult],
    spec: &str,
    seed: u64,
    capacity: f64,
) -> Result<f64, Failure> {
    let weather = seed.wrapping_add(OTHER_WEATHER);
    let same = if spec.contains(",capacity=") {
        spec.to_owned()
    } else {
        format!("{spec},capacity={capacity}pps")
    };
    let mut system = System::new(&format!("{same},seed={weather}"))?;
    let mut log = TrialLog::new(problem.goals().to_vec());
    for (load, reported) in reported_loads(results) {
        let duration = reported.duration(problem);
        while reported
            .goals
            .iter()
            .any(|&goal| log.verdict(load, goal) == Verdict::Undecided)
        {
            let input = TrialInput { load, duration };
            let output = system.measure(input, None)?;
            log.add(TrialResult { input, output });
        }
    }
    Ok(system.now().as_seconds())
}

impl Reported {
    fn duration(&self, problem: &Problem) -> Nanoseconds {
        let goals = self.goals.iter().map(|&goal| &problem.goals()[goal]);
        let strict = goals.clone().all(|goal| goal.exceed_ratio.numerator() == 0);
        let lengths = goals.map(|goal| {
            if strict && !self.is_lower {
                goal.initial_trial_duration
            } else {
                goal.final_trial_duration
            }
        });
        lengths.max().unwrap_or_default()
    }
}

fn reported_loads(results: &[GoalResult]) -> BTreeMap<Load, Reported> {
    let mut loads: BTreeMap<Load, Reported> = BTreeMap::new();
    for (goal, result) in results.iter().enumerate() {
        for (bound, is_lower) in [(result.lower_bound, true), (result.upper_bound, false)] {
            if let Some(bound) = bound {
                let reported = loads.entry(bound.load).or_default();
                reported.goals.push(goal);
                reported.is_lower |= is_lower;
            }
        }
    }
    loads
}
