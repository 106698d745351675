//! Simulated searches as a table of numbers: a change of behaviour shows as a change of the file.
//!
//! `BRIMFUL_UPDATE=1 cargo test -p brimful-search --test search_table` writes it anew.

#![allow(clippy::unwrap_used, clippy::type_complexity)]

use std::fmt::Write as _;
use std::path::Path;

use brimful_search::{Controller, Problem, SearchGoal, Step, StrategyKind};
use brimful_sim::{Simulator, SystemSpec};
use brimful_trial::{Load, Measurer, Nanoseconds, Ratio, TrialResult};

const KINDS: [&str; 9] = [
    "sharp",
    "soft-knee",
    "noisy",
    "stalls",
    "vhost",
    "livelock",
    "tester-limit",
    "inversion",
    "flat-loss",
];
/// Name, loss ratios, exceed ratio, seconds of a trial, seconds altogether, whether trials may be stopped.
const GOALS: [(&str, &[f64], f64, f64, f64, bool); 4] = [
    ("exceed half, 21 x 1 s", &[0.0, 0.005], 0.5, 1.0, 21.0, false),
    ("exceed nothing, 21 x 1 s", &[0.0, 0.005], 0.0, 1.0, 21.0, false),
    ("exceed nothing, 1 x 60 s", &[0.0], 0.0, 60.0, 60.0, true),
    ("three loss ratios", &[0.0, 0.001, 0.02], 0.5, 1.0, 10.0, false),
];
/// Name, delay limits in microseconds, exceed ratio, seconds of a trial, seconds altogether. No loss is allowed.
const DELAY_GOALS: [(&str, &[Option<u64>], f64, f64, f64); 3] = [
    ("1 ms, exceed half, 21 x 1 s", &[Some(1000)], 0.5, 1.0, 21.0),
    ("any delay, 200 us, 40 us", &[None, Some(200), Some(40)], 0.5, 1.0, 21.0),
    ("100 us, exceed nothing, 1 x 60 s", &[Some(100)], 0.0, 60.0, 60.0),
];

/// Goals for these loss ratios and delay limits.
fn problem(wanted: &[(f64, Option<u64>)], exceed: f64, trial: f64, sum: f64, can_stop: bool) -> Problem {
    let seconds = |seconds| Nanoseconds::from_seconds(seconds).unwrap();
    let goals = wanted.iter().enumerate().map(|(index, &(loss, delay_us))| SearchGoal {
        name: index.to_string(),
        loss_ratio: Ratio::from_f64(loss).unwrap(),
        delay_limit: delay_us.map(|us| Nanoseconds(us * 1000)),
        exceed_ratio: Ratio::from_f64(exceed).unwrap(),
        final_trial_duration: seconds(trial),
        duration_sum: seconds(sum),
        initial_trial_duration: seconds(1.0),
        width: Some(Ratio::new(1, 200).unwrap()),
    });
    let range = (Load::new(9001.0).unwrap(), Load::new(14.88e6).unwrap());
    let problem = Problem::new(goals.collect(), range.0, range.1).unwrap();
    if can_stop {
        problem.with_early_termination()
    } else {
        problem
    }
}

/// One line: what was found in how many trials and seconds. Bounds in per cent of capacity.
fn line(problem: &Problem, kind: &str, can_stop: bool) -> String {
    let mut simulator = Simulator::new(&format!("{kind},seed=42,delay=20us").parse::<SystemSpec>().unwrap());
    let mut controller = Controller::new(problem.clone(), StrategyKind::Straddle);
    while let Step::Trial(input) = controller.next() {
        let stop_above = controller.stop_above(input.load).filter(|_| can_stop);
        let output = simulator.measure(input, stop_above).unwrap();
        controller.record(TrialResult { input, output });
    }
    let capacity = simulator.capacity().per_second();
    let trials = controller.log().trial_count();
    let seconds = simulator.now().as_seconds();
    let mut line = format!("{kind:13} {trials:4} trials {seconds:6.0} s ");
    for result in controller.results() {
        let percent = |bound: Option<brimful_search::Bound>| {
            bound.map_or("-".to_owned(), |bound| {
                format!("{:.2}", 100.0 * bound.load.per_second() / capacity)
            })
        };
        let (lower, upper) = (percent(result.lower_bound), percent(result.upper_bound));
        write!(line, " {lower:>6}..{upper:6}").unwrap();
        if !result.is_regular() {
            write!(line, " ({})", result.reason.code()).unwrap();
        }
    }
    line.trim_end().to_owned()
}

#[test]
fn searches_are_as_in_the_table() {
    let mut table = String::new();
    for (name, losses, exceed, trial, sum, can_stop) in GOALS {
        writeln!(table, "{name}").unwrap();
        let wanted: Vec<_> = losses.iter().map(|&loss| (loss, None)).collect();
        let problem = problem(&wanted, exceed, trial, sum, can_stop);
        for kind in KINDS {
            writeln!(table, "  {}", line(&problem, kind, can_stop)).unwrap();
        }
    }
    for (name, limits, exceed, trial, sum) in DELAY_GOALS {
        writeln!(table, "{name}").unwrap();
        let wanted: Vec<_> = limits.iter().map(|&limit| (0.0, limit)).collect();
        let problem = problem(&wanted, exceed, trial, sum, false);
        for kind in KINDS {
            writeln!(table, "  {}", line(&problem, kind, false)).unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/search_table.txt");
    if std::env::var_os("BRIMFUL_UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(table == expected, "the searches are now:\n{table}");
}
