//! Whole searches of what behaves as it is set up.

use brimful_search::{Controller, Problem, Reason, SearchGoal, Step, StrategyKind};
use brimful_sim::Simulator;
use brimful_trial::{Counts, Load, Measurer, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};

/// What a trial loses: a share of what was intended, from how many trials there were before, its load as a share of
/// max load, and a random number.
pub(crate) type Behaviour = fn(usize, f64, f64) -> f64;

pub(crate) const BEHAVIOURS: [(&str, Behaviour); 14] = [
    ("clean everywhere", |_, _, _| 0.0),
    ("lossy everywhere", |_, _, _| 0.3),
    ("a little lossy everywhere", |_, _, _| 0.001),
    ("all is lost", |_, _, _| 1.0),
    ("sharp", |_, load, _| (1.0 - 0.4 / load).max(0.0)),
    ("a coin", |_, _, random| if random < 0.5 { 0.01 } else { 0.0 }),
    (
        "a loaded coin",
        |_, load, random| if random < load { 0.01 } else { 0.0 },
    ),
    ("any amount", |_, _, random| random * random),
    ("getting worse", |trial, load, _| {
        (1.0 - 0.9_f64.powi(trial as i32 / 10) / load).max(0.0)
    }),
    ("getting better", |trial, load, _| {
        (1.0 - (0.1 + trial as f64 * 0.005) / load).max(0.0)
    }),
    ("upside down", |_, load, _| if load < 0.7 { 0.02 } else { 0.0 }),
    ("striped", |_, load, _| {
        if ((load * 40.0) as u64).is_multiple_of(2) {
            0.0
        } else {
            0.02
        }
    }),
    (
        "alternating",
        |trial, _, _| if trial.is_multiple_of(2) { 0.0 } else { 0.02 },
    ),
    ("jumping", |trial, load, _| {
        (1.0 - [0.2, 0.8, 0.5][trial / 17 % 3] / load).max(0.0)
    }),
];

pub(crate) fn goal(name: &str, loss: f64, exceed: f64, trial: f64, sum: f64, initial: f64, width: f64) -> SearchGoal {
    let seconds = |seconds| Nanoseconds::from_seconds(seconds).unwrap();
    SearchGoal {
        name: name.to_owned(),
        loss_ratio: Ratio::from_f64(loss).unwrap(),
        delay_limit: None,
        exceed_ratio: Ratio::from_f64(exceed).unwrap(),
        final_trial_duration: seconds(trial),
        duration_sum: seconds(sum),
        initial_trial_duration: seconds(initial),
        width: Some(Ratio::from_f64(width).unwrap()),
    }
}

pub(crate) fn ndr_and_pdr(exceed: f64) -> Problem {
    let goals = vec![
        goal("ndr", 0.0, exceed, 1.0, 21.0, 1.0, 0.005),
        goal("pdr", 0.005, exceed, 1.0, 21.0, 1.0, 0.005),
    ];
    Problem::new(goals, load(9001.0), load(14.88e6)).unwrap()
}

pub(crate) fn load(per_second: f64) -> Load {
    Load::new(per_second).unwrap()
}

/// Random numbers that are the same in every run.
pub(crate) fn draw(seed: u64, index: usize) -> f64 {
    let mut state = seed ^ (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for _ in 0..3 {
        state = (state ^ state >> 31).wrapping_mul(0x94D0_49BB_1331_11EB);
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

/// `weight` is the effective duration as a share of the intended one.
pub(crate) fn result_of(input: TrialInput, loss: f64, weight: f64) -> TrialResult {
    let sent = (input.load.per_second() * input.duration.as_seconds()).round().max(1.0) as u64;
    let lost = (sent as f64 * loss).ceil().min(sent as f64) as u64;
    let effective = Nanoseconds::from_seconds(input.duration.as_seconds() * weight).unwrap();
    TrialResult {
        input,
        output: TrialOutput {
            counts: Counts::new(sent, sent, lost).unwrap(),
            effective_duration: Some(effective),
            delay_p99: None,
            stopped_early: false,
        },
    }
}

/// Searches to the end and checks what must hold.
pub(crate) fn search(problem: &Problem, behaviour: Behaviour, seed: u64, weight: f64) -> Controller {
    let mut controller = Controller::new(problem.clone(), StrategyKind::Straddle);
    let limit = trial_limit(problem, weight);
    let mut trials = 0;
    while let Step::Trial(input) = controller.next() {
        assert!(input.load >= problem.min_load() && input.load <= problem.max_load());
        let mut goals = problem.goals().iter();
        assert!(goals.any(|goal| input.duration >= goal.initial_trial_duration));
        assert_eq!(controller.next(), Step::Trial(input), "asking again changes nothing");
        let share = input.load.per_second() / problem.max_load().per_second();
        let loss = behaviour(trials, share, draw(seed, trials));
        let mut result = result_of(input, loss, weight);
        // Delays of the same kind as the losses, 0 to 50 ns.
        let delay = behaviour(trials, share * 1.2, draw(!seed, trials)) * 50.0;
        result.output.delay_p99 = Some(Nanoseconds(delay as u64));
        controller.record(result);
        trials += 1;
        assert!(trials <= limit, "{trials} trials");
    }
    check(problem, &controller);
    controller
}

/// How many trials searches take, for capacities all over the range; `loss` is by trial and share of the capacity.
pub(crate) fn trial_counts(problem: &Problem, loss: impl Fn(usize, f64) -> f64) -> Vec<usize> {
    trial_counts_of(problem, 20, loss)
}

pub(crate) fn trial_counts_of(problem: &Problem, searches: u64, loss: impl Fn(usize, f64) -> f64) -> Vec<usize> {
    (0..searches)
        .map(|seed| {
            let mut controller = Controller::new(problem.clone(), StrategyKind::Straddle);
            let capacity = (0.2 + 0.6 * draw(seed, 0)) * problem.max_load().per_second();
            while let Step::Trial(input) = controller.next() {
                let loss = loss(controller.log().trial_count(), input.load.per_second() / capacity);
                controller.record(result_of(input, loss, 1.0));
            }
            controller.log().trial_count()
        })
        .collect()
}

/// A whole search of one of the simulator's systems.
pub(crate) fn simulated(problem: &Problem, system: &str) -> Controller {
    let mut system = Simulator::new(&system.parse().unwrap());
    let mut controller = Controller::new(problem.clone(), StrategyKind::Straddle);
    while let Step::Trial(input) = controller.next() {
        let output = system.measure(input, None).unwrap();
        controller.record(TrialResult { input, output });
    }
    controller
}

/// Some 60 loads a goal, each measured to its verdict.
pub(crate) fn trial_limit(problem: &Problem, weight: f64) -> usize {
    let goals = problem.goals().iter();
    goals
        .map(|goal| {
            let trials = goal.duration_sum.as_seconds() / goal.final_trial_duration.as_seconds() / weight;
            60 * (trials.ceil() as usize + 4)
        })
        .sum()
}

pub(crate) fn check(problem: &Problem, controller: &Controller) {
    for (goal, result) in problem.goals().iter().zip(controller.results()) {
        let lower = result.lower_bound.map(|bound| bound.load);
        let upper = result.upper_bound.map(|bound| bound.load);
        match result.reason {
            Reason::Regular => {
                let (lower, upper) = (lower.unwrap().per_second(), upper.unwrap().per_second());
                assert!(lower < upper);
                assert!(upper - lower <= goal.width.unwrap().as_f64() * upper);
            }
            Reason::MaxLoadIsLowerBound => assert_eq!(lower, Some(problem.max_load())),
            Reason::MinLoadIsUpperBound => assert_eq!(upper, Some(problem.min_load())),
            reason => panic!("{reason:?}"),
        }
    }
}
