//! How long the engine thinks. Trials take seconds, so a decision may take milliseconds; simulated campaigns of
//! thousands of searches want it in microseconds.
//!
//! `cargo bench -p brimful-search` prints, for every strategy,
//!
//! * `decision/<strategy>`: one `next` and one `record` of a log that holds 500 trials at 50 loads already. The goals take
//!   121 trials of 1 s, so that the model of `straddle` still chooses;
//! * `search/<strategy>`: a whole search for two rates on a system that forwards exactly `min(load, capacity)`,
//!   21 trials of 1 s at each load. Divided by the printed number of trials it is the cost of an early decision.
//!
//! Compare ratios on one machine, before and after a change or between strategies; absolute times of another machine
//! say nothing.

use std::hint::black_box;

use brimful_search::{Controller, Problem, SearchGoal, Step, StrategyKind};
use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use criterion::{BatchSize, Criterion};

const CAPACITY: f64 = 1e6;
const SECOND: Nanoseconds = Nanoseconds(1_000_000_000);
const TRIALS: u32 = 500;
const LOADS: u32 = 50;
/// The first trials of a search look for the neighbourhood; decisions are timed after them.
const FIRST_TRIALS: u32 = 5;

fn problem(duration_sum_s: u64) -> Problem {
    let goal = |name: &str, loss_ratio| SearchGoal {
        name: name.to_owned(),
        loss_ratio,
        delay_limit: None,
        exceed_ratio: Ratio::new(1, 2).expect("a ratio"),
        final_trial_duration: SECOND,
        duration_sum: Nanoseconds(duration_sum_s * SECOND.0),
        initial_trial_duration: SECOND,
        width: Some(Ratio::new(1, 200).expect("a ratio")),
    };
    let goals = vec![
        goal("ndr", Ratio::ZERO),
        goal("pdr", Ratio::new(1, 200).expect("a ratio")),
    ];
    Problem::new(goals, load(1e3), load(1e7)).expect("goals in range")
}

fn load(per_second: f64) -> Load {
    Load::new(per_second).expect("a load")
}

fn measure(input: TrialInput) -> TrialResult {
    let sent = (input.load.per_second() * input.duration.as_seconds()).round() as u64;
    let lost = sent.saturating_sub((CAPACITY * input.duration.as_seconds()).round() as u64);
    TrialResult {
        input,
        output: TrialOutput {
            counts: Counts::new(sent, sent, lost).expect("no more lost than sent"),
            effective_duration: None,
            delay_p99: None,
            stopped_early: false,
        },
    }
}

/// A search that has seen many trials, none of which ended it: ten at each load.
fn busy(strategy: StrategyKind) -> Controller {
    let mut controller = Controller::new(problem(121), strategy);
    for trial in 0..TRIALS {
        let load = load(CAPACITY * (0.5 + f64::from(trial % LOADS) / f64::from(LOADS)));
        controller.record(measure(TrialInput { load, duration: SECOND }));
    }
    for _ in 0..FIRST_TRIALS {
        decision(&mut controller);
    }
    controller
}

fn search(strategy: StrategyKind) -> usize {
    let mut controller = Controller::new(problem(21), strategy);
    while let Step::Trial(input) = controller.next() {
        controller.record(measure(input));
    }
    controller.log().trial_count()
}

fn decision(controller: &mut Controller) {
    if let Step::Trial(input) = controller.next() {
        controller.record(measure(black_box(input)));
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for strategy in StrategyKind::ALL {
        let name = strategy.name();
        criterion.bench_function(&format!("decision/{name}"), |bencher| {
            bencher.iter_batched_ref(|| busy(strategy), decision, BatchSize::SmallInput);
        });
        let title = format!("search/{name} ({} trials)", search(strategy));
        criterion.bench_function(&title, |bencher| bencher.iter(|| search(black_box(strategy))));
    }
    criterion.final_summary();
}
