//! Systems under test and the loop that searches them, for all tests of the engine.

#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "every test file uses its own part")]

pub(crate) mod twin;

use brimful_search::{ClassicOptions, Controller, Problem, SearchGoal, Step, StrategyKind};
use brimful_trial::{Counts, Load, Nanoseconds, Ratio, TrialInput, TrialOutput, TrialResult};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

/// More trials than any search in these tests needs.
pub(crate) const MANY_TRIALS: usize = 20_000;

pub(crate) fn load(per_second: f64) -> Load {
    Load::new(per_second).unwrap()
}

pub(crate) fn seconds(seconds: f64) -> Nanoseconds {
    Nanoseconds::from_seconds(seconds).unwrap()
}

pub(crate) fn ratio(value: f64) -> Ratio {
    Ratio::from_f64(value).unwrap()
}

/// A goal as the tables of the specification write it; trials are never shorter than `final_s`.
pub(crate) fn goal(name: &str, final_s: f64, sum_s: f64, loss: f64, exceed: f64) -> SearchGoal {
    SearchGoal {
        name: name.to_owned(),
        loss_ratio: ratio(loss),
        delay_limit: None,
        exceed_ratio: ratio(exceed),
        final_trial_duration: seconds(final_s),
        duration_sum: seconds(sum_s),
        initial_trial_duration: seconds(final_s),
        width: Some(ratio(0.005)),
    }
}

pub(crate) fn starting_at(initial_s: f64, goal: SearchGoal) -> SearchGoal {
    SearchGoal {
        initial_trial_duration: seconds(initial_s),
        ..goal
    }
}

/// A goal that also wants the delay kept.
pub(crate) fn within(limit_us: u64, goal: SearchGoal) -> SearchGoal {
    SearchGoal {
        delay_limit: Some(Nanoseconds(limit_us * 1000)),
        ..goal
    }
}

/// Delay limits with and without their like among loss ratios.
pub(crate) fn delay_limited() -> Vec<SearchGoal> {
    vec![
        goal("ndr", 1.0, 5.0, 0.0, 0.5),
        within(1000, goal("fast", 1.0, 5.0, 0.0, 0.5)),
        within(100, goal("faster", 1.0, 5.0, 0.0, 0.5)),
        within(400, starting_at(0.5, goal("strict", 4.0, 4.0, 0.005, 0.0))),
    ]
}

/// Non-drop and partial drop rate as the algorithm of 2018 has them.
pub(crate) fn two_rates() -> Vec<SearchGoal> {
    vec![
        starting_at(1.0, goal("ndr", 30.0, 30.0, 0.0, 0.0)),
        starting_at(1.0, goal("pdr", 30.0, 30.0, 0.005, 0.0)),
    ]
}

/// Many short trials, half of which may fail.
pub(crate) fn many_short() -> Vec<SearchGoal> {
    vec![goal("ndr", 1.0, 21.0, 0.0, 0.5), goal("pdr", 1.0, 21.0, 0.005, 0.5)]
}

pub(crate) fn problem(goals: Vec<SearchGoal>) -> Problem {
    Problem::new(goals, load(1e3), load(1e7)).unwrap()
}

/// Every way to search, with options that matter.
pub(crate) fn strategies() -> Vec<StrategyKind> {
    let classic = |intermediate_phases| {
        StrategyKind::Classic(ClassicOptions {
            intermediate_phases,
            timeout: None,
        })
    };
    let mut all = StrategyKind::ALL.to_vec();
    all.extend([classic(0), classic(1), classic(5)]);
    all
}

/// Frames that a trial means to send.
pub(crate) fn frames(input: TrialInput) -> u64 {
    (input.load.per_second() * input.duration.as_seconds()).round() as u64
}

/// The output of a whole trial that lost this number of frames.
pub(crate) fn whole(input: TrialInput, lost: u64) -> TrialOutput {
    let sent = frames(input);
    TrialOutput {
        counts: Counts::new(sent, sent, lost.min(sent)).unwrap(),
        effective_duration: None,
        delay_p99: None,
        stopped_early: false,
    }
}

/// The same with the delay of a queue in front of this capacity: 20 us without load, a full buffer makes it 20 ms.
pub(crate) fn queued(capacity: f64, input: TrialInput, lost: u64) -> TrialOutput {
    let idle_share = (1.0 - input.load.per_second() / capacity).max(1e-3);
    TrialOutput {
        delay_p99: (lost < frames(input)).then_some(Nanoseconds((20_000.0 / idle_share) as u64)),
        ..whole(input, lost)
    }
}

/// A system that forwards exactly `min(load, capacity)`.
pub(crate) fn sharp(capacity: f64) -> impl FnMut(TrialInput) -> TrialOutput {
    move |input| {
        let forwarded = input.load.per_second().min(capacity) * input.duration.as_seconds();
        let lost = frames(input) - (forwarded.round() as u64).min(frames(input));
        queued(capacity, input, lost)
    }
}

/// Random numbers that a test can name.
#[derive(Clone)]
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn share(&mut self) -> f64 {
        self.0.random()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit
    }
}

/// A sharp system whose capacity moves by up to a tenth from trial to trial, with stray losses.
pub(crate) fn unsteady(capacity: f64, seed: u64) -> impl FnMut(TrialInput) -> TrialOutput {
    let mut dice = Dice::new(seed);
    move |input| {
        let stray = u64::from(dice.share() < 0.05);
        let capacity = capacity * (0.9 + 0.1 * dice.share());
        let lost = sharp(capacity)(input).counts.lost() + stray;
        queued(capacity, input, lost.min(frames(input)))
    }
}

/// Loses nothing, a little, or much, and is fast, slow, or silent about it, whatever the load.
pub(crate) fn arbitrary(seed: u64) -> impl FnMut(TrialInput) -> TrialOutput {
    let (mut dice, mut delays) = (Dice::new(seed), Dice::new(!seed));
    move |input| {
        let share = [0.0, 0.0, 0.003, 0.5][dice.below(4) as usize];
        TrialOutput {
            delay_p99: [Some(20_000), Some(20_000), Some(500_000), None][delays.below(4) as usize].map(Nanoseconds),
            ..whole(input, (frames(input) as f64 * share).ceil() as u64)
        }
    }
}

/// Searches until the controller is done; the trials in their order.
pub(crate) fn search(
    controller: &mut Controller,
    mut system: impl FnMut(TrialInput) -> TrialOutput,
) -> Vec<TrialResult> {
    let mut trials = Vec::new();
    while let Step::Trial(input) = controller.next() {
        assert!(trials.len() < MANY_TRIALS, "the search does not end");
        let result = TrialResult {
            input,
            output: system(input),
        };
        controller.record(result);
        trials.push(result);
    }
    trials
}
