//! Searches simulated systems by the hundred, for `bench/search_time.py`.
//!
//! `search_time run STRATEGY GOALS SPEC FIRST_SEED SEEDS` prints one JSON object a search; `search_time serve` lets
//! another program measure the same systems, a line in, a line out; `search_time describe SPEC` prints the features of
//! one of the random family.

mod drawn;
mod features;
mod held_out;
mod oracle;
mod system;

use std::io::{BufRead, Write};
use std::time::Instant;

use brimful_search::{Controller, GoalResult, Problem, SearchGoal, Step, StrategyKind};
use brimful_trial::{Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use oracle::oracle_seconds;
use system::System;

type Failure = Box<dyn std::error::Error>;

const MIN_LOAD: f64 = 9001.0;
const MAX_LOAD: f64 = 14.88e6;
/// A search with more trials than this runs away.
const TRIAL_LIMIT: usize = 100_000;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", strategy, goals, spec, first, count] => run(strategy, goals, spec, first.parse()?, count.parse()?),
        ["serve"] => serve(),
        ["describe", spec] => describe(spec),
        _ => Err("run STRATEGY GOALS SPEC FIRST_SEED SEEDS, serve, or describe SPEC".into()),
    }
}

fn run(strategy: &str, goals: &str, spec: &str, first: u64, count: u64) -> Result<(), Failure> {
    let kind: StrategyKind = strategy.parse()?;
    let (problem, stoppable) = goal_set(goals)?;
    let mut output = std::io::stdout().lock();
    for seed in first..first + count {
        let line = search(&problem, kind, stoppable, spec, seed)?;
        writeln!(output, "{line}")?;
    }
    Ok(())
}

fn describe(spec: &str) -> Result<(), Failure> {
    if let System::Drawn(system) = System::new(spec)? {
        writeln!(std::io::stdout(), "{}", system.features())?;
    }
    Ok(())
}

/// One search as a JSON object.
fn search(problem: &Problem, kind: StrategyKind, stoppable: bool, spec: &str, seed: u64) -> Result<String, Failure> {
    let mut simulator = System::new(&format!("{spec},seed={seed}"))?;
    let capacity = simulator.capacity();
    let verbose = std::env::var_os("TRACE").is_some();
    let mut controller = Controller::new(problem.clone(), kind);
    let (mut deciding, mut slowest) = (0.0, 0.0_f64);
    loop {
        let began = Instant::now();
        let step = controller.next();
        let took = began.elapsed().as_secs_f64();
        deciding += took;
        slowest = slowest.max(took);
        let Step::Trial(input) = step else { break };
        if controller.log().trial_count() >= TRIAL_LIMIT {
            return Err(format!("seed {seed}: no end after {TRIAL_LIMIT} trials").into());
        }
        let stop_above = if stoppable {
            controller.stop_above(input.load)
        } else {
            None
        };
        let output = simulator.measure(input, stop_above)?;
        if verbose {
            trace(&input, &output, capacity, &simulator);
        }
        let began = Instant::now();
        controller.record(TrialResult { input, output });
        deciding += began.elapsed().as_secs_f64();
    }
    let goals: Vec<String> = controller
        .results()
        .iter()
        .map(|result| goal_json(result, capacity))
        .collect();
    let seconds = simulator.now().as_seconds();
    let oracle = match simulator {
        System::Simulated(_) => oracle_seconds(problem, &controller.results(), spec, seed, capacity)?,
        System::HeldOut(_) | System::Drawn(_) => 0.0,
    };
    Ok(format!(
        r#"{{"seed":{seed},"time":{seconds},"trials":{},"loads":{},"oracle":{oracle},"cpu":{deciding},"slowest":{slowest},"goals":[{}]}}"#,
        controller.log().trial_count(),
        controller.log().loads().count(),
        goals.join(","),
    ))
}

fn goal_json(result: &GoalResult, capacity: f64) -> String {
    let share = |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{}", value / capacity));
    format!(
        r#"{{"reason":"{}","ct":{},"lower":{},"upper":{}}}"#,
        result.reason.code(),
        share(result.conditional_throughput()),
        share(result.lower_bound.map(|bound| bound.load.per_second())),
        share(result.upper_bound.map(|bound| bound.load.per_second())),
    )
}

fn trace(input: &TrialInput, output: &TrialOutput, capacity: f64, simulator: &System) {
    eprintln!(
        "{:9.1} {:6.1}s {:9.3}% lost {:9} {:8.4}%{}",
        simulator.now().as_seconds(),
        input.duration.as_seconds(),
        input.load.per_second() / capacity * 100.0,
        output.counts.missing(),
        output.counts.loss_ratio().as_f64() * 100.0,
        if output.stopped_early { " stopped" } else { "" },
    );
}

/// The goal sets of the comparison; whether the Measurer may stop trials.
fn goal_set(name: &str) -> Result<(Problem, bool), Failure> {
    let (pairs, stoppable): (Vec<SearchGoal>, bool) = match name {
        "production" => (two_goals(0.5, 1.0, 21.0)?, false),
        "e0-21" => (two_goals(0.0, 1.0, 21.0)?, false),
        "e0-60" => (two_goals(0.0, 1.0, 60.0)?, false),
        "rfc2544" => (vec![goal("ndr", 0.0, 0.0, 60.0, 60.0)?], true),
        "rfc2544-full" => (vec![goal("ndr", 0.0, 0.0, 60.0, 60.0)?], false),
        "60s" => (two_goals(0.0, 60.0, 60.0)?, false),
        "tst009" => (vec![goal("ndr", 0.0, 0.5, 60.0, 120.0)?], true),
        _ => return Err(format!("unknown goals {name}").into()),
    };
    let problem = Problem::new(pairs, Load::new(MIN_LOAD)?, Load::new(MAX_LOAD)?)?;
    Ok((
        if stoppable {
            problem.with_early_termination()
        } else {
            problem
        },
        stoppable,
    ))
}

fn two_goals(exceed: f64, duration: f64, sum: f64) -> Result<Vec<SearchGoal>, Failure> {
    Ok(vec![
        goal("ndr", 0.0, exceed, duration, sum)?,
        goal("pdr", 0.005, exceed, duration, sum)?,
    ])
}

fn goal(name: &str, loss: f64, exceed: f64, duration: f64, sum: f64) -> Result<SearchGoal, Failure> {
    Ok(SearchGoal {
        name: name.to_owned(),
        loss_ratio: Ratio::from_f64(loss)?,
        delay_limit: None,
        exceed_ratio: Ratio::from_f64(exceed)?,
        final_trial_duration: Nanoseconds::from_seconds(duration)?,
        duration_sum: Nanoseconds::from_seconds(sum)?,
        initial_trial_duration: Nanoseconds::from_seconds(1.0)?,
        width: Some(Ratio::from_f64(0.005)?),
    })
}

/// `new SPEC` makes a system and answers with its capacity; `LOAD SECONDS` measures it and answers with
/// `intended sent lost effective_s now_s`.
fn serve() -> Result<(), Failure> {
    let mut simulator = None;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if let Some(spec) = line.strip_prefix("new ") {
            let made = System::new(spec)?;
            writeln!(output, "{}", made.capacity())?;
            simulator = Some(made);
        } else {
            let (load, seconds) = line.split_once(' ').ok_or("LOAD SECONDS")?;
            let input = TrialInput {
                load: Load::new(load.parse()?)?,
                duration: Nanoseconds::from_seconds(seconds.parse()?)?,
            };
            let simulator = simulator.as_mut().ok_or("no system yet")?;
            let result = TrialResult {
                input,
                output: simulator.measure(input, None)?,
            };
            let counts = result.output.counts;
            writeln!(
                output,
                "{} {} {} {} {}",
                counts.intended(),
                counts.sent(),
                counts.lost(),
                result.effective_duration().as_seconds(),
                simulator.now().as_seconds(),
            )?;
        }
        output.flush()?;
    }
    Ok(())
}
