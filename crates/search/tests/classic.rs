//! The classic strategy, decision by decision (docs/explanation/classic.md).

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{
    ClassicOptions, Controller, Problem, Reason, SearchGoal, Step, StopReason, StrategyKind, Verdict,
};
use brimful_trial::{Load, TrialInput, TrialOutput, TrialResult};
use common::{
    Dice, arbitrary, frames, goal, load, many_short, problem, ratio, search, seconds, sharp, starting_at, two_rates,
    whole,
};
use proptest::prelude::*;

fn classic(goals: Vec<SearchGoal>) -> Controller {
    Controller::new(problem(goals), StrategyKind::Classic(ClassicOptions::default()))
}

fn with_options(goals: Vec<SearchGoal>, options: ClassicOptions) -> Controller {
    Controller::new(problem(goals), StrategyKind::Classic(options))
}

fn two_phases_and(timeout: Option<f64>) -> ClassicOptions {
    ClassicOptions {
        timeout: timeout.map(seconds),
        ..ClassicOptions::default()
    }
}

/// Phase, load and duration of every trial.
fn trace(controller: &mut Controller, mut system: impl FnMut(TrialInput) -> TrialOutput) -> Vec<(u32, f64, f64)> {
    let mut trace = Vec::new();
    while let Step::Trial(input) = controller.next() {
        let phase = controller.phase().unwrap();
        trace.push((phase, input.load.per_second(), input.duration.as_seconds()));
        let output = system(input);
        controller.record(TrialResult { input, output });
    }
    trace
}

fn time(trials: &[TrialResult]) -> f64 {
    trials.iter().map(|trial| trial.input.duration.as_seconds()).sum()
}

/// Within the rounding to the load grid.
fn near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= wanted * 0.0015
}

#[test]
fn the_initial_phase_follows_the_forwarding_rate() {
    let overloaded = |input: TrialInput| {
        let at = input.load.per_second();
        whole(
            input,
            (frames(input) as f64
                * if at > 4e6 {
                    0.6
                } else if at > 3e6 {
                    0.25
                } else {
                    0.0
                }) as u64,
        )
    };
    let trace = trace(&mut classic(two_rates()), overloaded);
    for (&(phase, at, duration), wanted) in trace.iter().zip([1e7, 4e6, 3e6]) {
        assert!(phase == 0 && near(at, wanted), "{at} in phase {phase} is not {wanted}");
        assert_eq!(seconds(duration), seconds(1.0));
    }
    assert_eq!(trace[3].0, 1);
}

// Deviation 5: enough room for the first phase, although the second trial forwards everything.
#[test]
fn the_initial_interval_is_as_wide_as_the_first_width_goal() {
    let trace = trace(&mut classic(two_rates()), sharp(1e6));
    let (upper, lower) = (trace[1].1, trace[2].1);
    assert!(near(upper, 1e6));
    assert!(near(lower / upper, 0.995_f64.powi(4)), "{lower} {upper}");
}

#[test]
fn trials_lengthen_geometrically_and_phases_only_go_forward() {
    let trace = trace(&mut classic(two_rates()), sharp(1e6));
    let durations = [1.0, 1.0, 30_f64.sqrt(), 30.0];
    for (phase, _, duration) in &trace {
        assert_eq!(seconds(*duration), seconds(durations[*phase as usize]));
    }
    assert!(trace.is_sorted_by_key(|&(phase, ..)| phase));
    assert_eq!(trace.last().unwrap().0, 3);
}

#[test]
fn any_number_of_intermediate_phases_works() {
    for intermediate_phases in [0, 1, 3, 9, 255] {
        let options = ClassicOptions {
            intermediate_phases,
            timeout: None,
        };
        let mut controller = with_options(two_rates(), options);
        let trials = trace(&mut controller, sharp(1e6));
        assert!(controller.results().iter().all(brimful_search::GoalResult::is_regular));
        assert_eq!(controller.phase(), Some(u32::from(intermediate_phases) + 1));
        assert_eq!(seconds(trials.last().unwrap().2), seconds(30.0));
    }
}

// Deviation 1: the middle of 2 and 8 is 4.
#[test]
fn intervals_are_halved_in_logarithms() {
    let wide = |input: TrialInput| {
        let at = input.load.per_second();
        whole(
            input,
            if at > 8.5e6 {
                frames(input) / 5
            } else if at > 5e6 {
                frames(input) * 3 / 4
            } else {
                0
            },
        )
    };
    let mut controller = classic(vec![starting_at(1.0, goal("ndr", 30.0, 30.0, 0.0, 0.0))]);
    let trace = trace(&mut controller, wide);
    assert!(
        near(trace[1].1, 8e6) && near(trace[2].1, 2e6) && near(trace[3].1, 4e6),
        "{trace:?}"
    );
}

// The priorities: invalid lower bounds of all goals first.
#[test]
fn an_external_search_goes_down_by_two_widths_and_doubles() {
    let mut controller = classic(vec![starting_at(1.0, goal("ndr", 30.0, 30.0, 0.0, 0.0))]);
    let narrow_hope = |input: TrialInput| {
        let at = input.load.per_second();
        let lost = if at > 9e6 {
            0.5
        } else if at > 1e6 {
            0.02
        } else {
            0.0
        };
        whole(input, (frames(input) as f64 * lost) as u64)
    };
    let loads: Vec<f64> = trace(&mut controller, narrow_hope)
        .iter()
        .map(|&(_, at, _)| at)
        .collect();
    let logs: Vec<f64> = loads.iter().map(|at| at.ln()).collect();
    let steps: Vec<f64> = logs.windows(2).skip(1).take(4).map(|pair| pair[0] - pair[1]).collect();
    for pair in steps.windows(2) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 0.05, "{steps:?}");
    }
}

// Deviation 2 and ambiguity 8: max load accepted by all is an interval of one point, measured once a phase.
#[test]
fn a_clean_max_load_is_measured_once_a_phase() {
    let mut controller = classic(two_rates());
    let trace = trace(&mut controller, sharp(1e8));
    assert!(trace.iter().all(|&(_, at, _)| load(at) == load(1e7)));
    // The trial of the initial phase serves the first intermediate phase too.
    let durations: Vec<_> = trace.iter().map(|&(.., duration)| seconds(duration)).collect();
    assert_eq!(durations, [seconds(1.0), seconds(30_f64.sqrt()), seconds(30.0)]);
    for result in controller.results() {
        assert_eq!(result.reason, Reason::MaxLoadIsLowerBound);
    }
}

#[test]
fn a_max_load_that_only_short_trials_accept_is_left_downwards() {
    let tires = |input: TrialInput| {
        let tired = input.duration > seconds(2.0) && input.load > load(6e6);
        whole(input, if tired { 1000 } else { 0 })
    };
    let mut controller = classic(two_rates());
    let trials = search(&mut controller, tires);
    let results = controller.results();
    assert!(results[0].is_regular());
    assert!(
        near(results[0].lower_bound.unwrap().load.per_second(), 6e6)
            || results[0].lower_bound.unwrap().load < load(6e6)
    );
    assert_eq!(results[1].reason, Reason::MaxLoadIsLowerBound);
    assert!(trials.len() < 40);
}

// Deviation 3 and ambiguity 9.
#[test]
fn a_lossy_min_load_ends_the_search() {
    let mut controller = classic(two_rates());
    let trials = search(&mut controller, sharp(10.0));
    assert_eq!(controller.results()[0].reason, Reason::MinLoadIsUpperBound);
    let at_min = trials.iter().filter(|trial| trial.input.load == load(1e3)).count();
    assert_eq!(at_min, 1, "at exceed ratio 0 the verdict is for good");
}

#[test]
fn a_lossy_min_load_is_measured_again_in_the_next_phase() {
    // Too much loss in the first trials at every load, none afterwards.
    let mut calls = 0;
    let late_riser = |input: TrialInput| {
        calls += 1;
        whole(input, if calls < 30 { frames(input) } else { 0 })
    };
    let mut controller = classic(vec![goal("ndr", 1.0, 60.0, 0.0, 0.5)]);
    let trace = trace(&mut controller, late_riser);
    let phases_at_min: Vec<u32> = trace
        .iter()
        .filter(|step| load(step.1) == load(1e3))
        .map(|step| step.0)
        .collect();
    assert!(
        phases_at_min.contains(&1) || phases_at_min.contains(&0),
        "{phases_at_min:?}"
    );
    assert!(phases_at_min.contains(&2), "{phases_at_min:?}");
    assert!(controller.results()[0].is_regular() || controller.results()[0].reason == Reason::MaxLoadIsLowerBound);
}

// Deviation 4: loss below the lower bound always counts, success above the upper bound never does.
#[test]
fn loss_inversion_ends_below_the_lowest_loss() {
    let hole = |input: TrialInput| {
        let at = input.load.per_second();
        whole(
            input,
            u64::from((2e6..2.2e6).contains(&at) || at > 4e6) * frames(input) / 10,
        )
    };
    let mut controller = classic(two_rates());
    for at in [2.1e6, 3e6] {
        let input = TrialInput {
            load: load(at),
            duration: seconds(30.0),
        };
        controller.record(TrialResult {
            input,
            output: hole(input),
        });
    }
    search(&mut controller, hole);
    for result in controller.results() {
        assert!(result.is_regular());
        assert!(result.upper_bound.unwrap().load <= load(2.1e6));
        assert!(result.lower_bound.unwrap().load < load(2e6));
    }
}

// Ambiguity 1: a short lossy trial is not forgotten because a long one was clean.
#[test]
fn accumulated_verdicts_overrule_the_latest_trial() {
    let mut dice = Dice::new(7);
    let rare = move |input: TrialInput| {
        let lost = u64::from(dice.below(6) == 0);
        let output = sharp(1e6)(input);
        whole(input, output.counts.lost() + lost)
    };
    let mut controller = classic(two_rates());
    search(&mut controller, rare);
    let log = controller.log();
    for (goal, result) in controller.results().iter().enumerate() {
        assert!(result.is_regular());
        assert_eq!(log.verdict(result.lower_bound.unwrap().load, goal), Verdict::LowerBound);
        assert_eq!(log.verdict(result.upper_bound.unwrap().load, goal), Verdict::UpperBound);
    }
}

// Deviation 6.
#[test]
fn the_time_out_counts_the_trials_handed_out() {
    for timeout in [0.5, 1.0, 3.0, 20.0, 1e6] {
        let mut controller = with_options(two_rates(), two_phases_and(Some(timeout)));
        let trials = search(&mut controller, sharp(1e6));
        assert!(time(&trials) <= timeout);
        for result in controller.results() {
            let finished = timeout > 1000.0;
            let timed_out = Reason::Stopped(StopReason::TimeBudget);
            assert_eq!(
                result.reason,
                if finished { Reason::Regular } else { timed_out },
                "{timeout}"
            );
        }
    }
    let mut nothing = with_options(two_rates(), two_phases_and(Some(0.0)));
    assert_eq!(nothing.next(), Step::Done);
}

#[test]
fn goals_may_be_more_than_two_and_in_any_order() {
    let named = |name: &str, loss: f64| starting_at(1.0, goal(name, 10.0, 10.0, loss, 0.0));
    let mut goals = vec![
        named("one", 0.01),
        named("none", 0.0),
        named("ten", 0.1),
        named("half", 0.005),
    ];
    let mut found: Vec<Vec<(String, Option<f64>)>> = Vec::new();
    for _ in 0..4 {
        goals.rotate_left(1);
        let mut controller = classic(goals.clone());
        search(&mut controller, sharp(1e6));
        let named = goals.iter().zip(controller.results());
        let mut results: Vec<_> = named
            .map(|(goal, result)| (goal.name.clone(), result.conditional_throughput()))
            .collect();
        results.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(
            results
                .iter()
                .all(|(_, throughput)| throughput.is_some_and(|rate| near(rate, 1e6) || rate < 1e6))
        );
        found.push(results);
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
}

// Published: at most a half of the time of two bisections where the system is steady.
#[test]
fn it_takes_less_than_half_the_time_of_bisection_on_a_steady_system() {
    for capacity in [2.1e5, 1e6, 6.54321e6] {
        let goals = vec![
            starting_at(1.0, goal("ndr", 30.0, 30.0, 0.0, 0.0)),
            starting_at(1.0, goal("pdr", 30.0, 30.0, 0.005, 0.0)),
        ];
        let classic_time = time(&search(&mut classic(goals.clone()), sharp(capacity)));
        let bisection = |one: &SearchGoal| {
            time(&search(
                &mut Controller::new(problem(vec![one.clone()]), StrategyKind::Bisect),
                sharp(capacity),
            ))
        };
        let bisect_time: f64 = goals.iter().map(bisection).sum();
        assert!(classic_time < 0.5 * bisect_time, "{classic_time} {bisect_time}");
    }
}

#[test]
fn the_forecast_of_a_steady_system_is_about_right() {
    for goals in [two_rates(), many_short()] {
        let mut controller = classic(goals);
        assert_eq!(controller.forecast(), None);
        let mut forecasts: Vec<(f64, f64)> = Vec::new();
        let (mut spent, mut system) = (0.0, sharp(1e6));
        while let Step::Trial(input) = controller.next() {
            if let Some(forecast) = controller.forecast() {
                forecasts.push((spent, forecast.as_seconds()));
            }
            let output = system(input);
            controller.record(TrialResult { input, output });
            spent += input.duration.as_seconds();
        }
        assert_eq!(controller.forecast(), Some(seconds(0.0)));
        for (at, forecast) in forecasts {
            assert!(
                at + forecast < 2.0 * spent && at + forecast > 0.3 * spent,
                "{at} {forecast} {spent}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn it_ends_with_relevant_bounds_whatever_is_measured(
        seed in any::<u64>(), phases in 0_u8..6, exceed in 0_u32..4, widths in prop::array::uniform3(1_u32..200),
        span in 0.0..4.0_f64,
    ) {
        let goals: Vec<SearchGoal> = [(1.0, 3.0, 0.0), (2.0, 5.0, 0.004), (0.5, 4.0, 0.1)]
            .into_iter()
            .zip(widths)
            .map(|((final_s, sum_s, loss), width)| SearchGoal {
                width: Some(ratio(f64::from(width) / 1000.0)),
                ..starting_at(0.25, goal(&format!("{loss}"), final_s, sum_s, loss, f64::from(exceed) / 4.0))
            })
            .collect();
        let problem = Problem::new(goals, load(1e3), Load::new(1e3 * 10_f64.powf(span)).unwrap()).unwrap();
        let options = ClassicOptions { intermediate_phases: phases, timeout: None };
        let mut controller = Controller::new(problem, StrategyKind::Classic(options));
        search(&mut controller, arbitrary(seed));
        for result in controller.results() {
            prop_assert!(matches!(
                result.reason,
                Reason::Regular | Reason::MaxLoadIsLowerBound | Reason::MinLoadIsUpperBound
            ), "{:?}", result);
        }
    }
}
