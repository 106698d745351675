//! Plain bisection: the searches of RFC 2544 and TST009 as special cases, its limits and its end.

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{Controller, Problem, Reason, SearchGoal, Step, StrategyKind, Verdict};
use brimful_trial::{Load, TrialInput, TrialOutput, TrialResult};
use common::{arbitrary, goal, load, problem, ratio, search, seconds, sharp, starting_at, whole};
use proptest::prelude::*;

fn bisect(goals: Vec<SearchGoal>) -> Controller {
    Controller::new(problem(goals), StrategyKind::Bisect)
}

fn attempt(controller: &mut Controller, lost: u64) -> Load {
    let Step::Trial(input) = controller.next() else {
        panic!("the search is over");
    };
    let output = whole(input, lost);
    controller.record(TrialResult { input, output });
    input.load
}

fn loads(trials: &[TrialResult]) -> Vec<Load> {
    trials.iter().map(|trial| trial.input.load).collect()
}

// spec: MLRsearch-15 Relationship to RFC 2544 #2
#[test]
fn rfc_2544_measures_each_load_once_and_halves() {
    let mut controller = bisect(vec![goal("throughput", 60.0, 60.0, 0.0, 0.0)]);
    let trials = search(&mut controller, sharp(1e6));
    assert!(trials.iter().all(|trial| trial.input.duration == seconds(60.0)));
    let loads = loads(&trials);
    assert_eq!(loads[0], load(1e7));
    assert_eq!(loads[1], load(f64::midpoint(1e3, 1e7)));
    for (index, at) in loads.iter().enumerate() {
        assert!(!loads[..index].contains(at), "{at:?} is measured twice");
    }
    let result = controller.results()[0];
    assert!(result.is_regular());
    assert_eq!(
        result.conditional_throughput(),
        result.lower_bound.map(|bound| bound.load.per_second())
    );
}

#[test]
fn tst009_repeats_a_lossy_trial_once_and_accepts_the_first_clean_one() {
    let mut controller = bisect(vec![goal("verified", 60.0, 120.0, 0.0, 0.5)]);
    let first = attempt(&mut controller, 1);
    assert_eq!(attempt(&mut controller, 1), first, "a lossy trial is repeated");
    let second = attempt(&mut controller, 1);
    assert!(second < first, "two lossy trials are enough");
    assert_eq!(attempt(&mut controller, 0), second, "a lossy trial is repeated");
    let third = attempt(&mut controller, 0);
    assert!(third > second, "the repetition without loss is accepted");
    let fourth = attempt(&mut controller, 0);
    assert!(fourth > third, "a first trial without loss is accepted");
    assert_eq!(controller.log().trials_at(first).len(), 2);
    assert_eq!(controller.log().trials_at(second).len(), 2);
    assert_eq!(controller.log().trials_at(third).len(), 1);
}

#[test]
fn n_attempts_are_a_duration_sum_of_n_and_an_exceed_ratio_of_one_less() {
    for attempts in 1..=9_u32 {
        let exceed = f64::from(attempts - 1) / f64::from(attempts);
        let one = goal("attempts", 60.0, 60.0 * f64::from(attempts), 0.0, exceed);
        for clean_at in 1..=attempts {
            let mut controller = bisect(vec![one.clone()]);
            let at = load(1e7);
            for count in 1..=clean_at {
                assert_eq!(
                    controller.log().verdict(at, 0),
                    Verdict::Undecided,
                    "{count} of {attempts}"
                );
                assert_eq!(attempt(&mut controller, u64::from(count < clean_at)), at);
            }
            assert_eq!(controller.log().verdict(at, 0), Verdict::LowerBound);
        }
        let mut controller = bisect(vec![one]);
        for _ in 0..attempts {
            assert_eq!(attempt(&mut controller, 1), load(1e7));
        }
        assert_eq!(controller.log().verdict(load(1e7), 0), Verdict::UpperBound);
    }
}

#[test]
fn initial_durations_play_no_part() {
    let mut controller = bisect(vec![starting_at(1.0, goal("throughput", 60.0, 60.0, 0.0, 0.0))]);
    let trials = search(&mut controller, sharp(1e6));
    assert!(trials.iter().all(|trial| trial.input.duration == seconds(60.0)));
}

// spec: MLRsearch-15 Irregular Goal Result #28
#[test]
fn a_clean_max_load_is_all_there_is_to_find() {
    let mut controller = bisect(vec![goal("throughput", 60.0, 60.0, 0.0, 0.0)]);
    assert_eq!(search(&mut controller, sharp(1e8)).len(), 1);
    let result = controller.results()[0];
    assert_eq!(result.reason, Reason::MaxLoadIsLowerBound);
    assert_eq!(result.lower_bound.map(|bound| bound.load), Some(load(1e7)));
    assert_eq!(result.conditional_throughput(), Some(1e7));
    assert_eq!(result.upper_bound, None);
}

// spec: MLRsearch-15 Irregular Goal Result #28
#[test]
fn a_lossy_min_load_ends_the_search() {
    let mut controller = bisect(vec![goal("throughput", 60.0, 60.0, 0.0, 0.0)]);
    let trials = search(&mut controller, sharp(10.0));
    assert_eq!(trials.last().unwrap().input.load, load(1e3));
    let result = controller.results()[0];
    assert_eq!(result.reason, Reason::MinLoadIsUpperBound);
    assert_eq!(result.lower_bound, None);
    assert_eq!(result.upper_bound.map(|bound| bound.load), Some(load(1e3)));
}

#[test]
fn limits_that_are_one_load_are_decided() {
    let only = load(1e6);
    for (capacity, reason) in [(2e6, Reason::MaxLoadIsLowerBound), (5e5, Reason::MinLoadIsUpperBound)] {
        let one = Problem::new(vec![goal("throughput", 1.0, 2.0, 0.0, 0.5)], only, only).unwrap();
        let mut controller = Controller::new(one, StrategyKind::Bisect);
        search(&mut controller, sharp(capacity));
        assert_eq!(controller.results()[0].reason, reason);
    }
}

#[test]
fn a_goal_takes_loads_that_another_goal_measured() {
    let goals = vec![goal("short", 1.0, 1.0, 0.0, 0.0), goal("long", 60.0, 60.0, 0.0, 0.0)];
    let mut controller = bisect(goals);
    let trials = search(&mut controller, sharp(1.2e6));
    let is_short = |trial: &TrialResult| trial.input.duration == seconds(1.0);
    let (short, long): (Vec<TrialResult>, Vec<TrialResult>) = trials.into_iter().partition(is_short);
    let short_loads = loads(&short);
    assert!(!long.is_empty());
    assert!(long.iter().all(|trial| short_loads.contains(&trial.input.load)));
}

// spec: MLRsearch-15 Goal Width #20
#[test]
fn a_goal_without_width_ends_at_the_default_width() {
    let one = SearchGoal {
        width: None,
        ..goal("throughput", 60.0, 60.0, 0.0, 0.0)
    };
    let mut controller = bisect(vec![one]);
    search(&mut controller, sharp(1e6));
    let result = controller.results()[0];
    let (lower, upper) = (result.lower_bound.unwrap().load, result.upper_bound.unwrap().load);
    assert!(result.is_regular());
    assert!((upper.per_second() - lower.per_second()) / upper.per_second() <= 0.005);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn it_ends_whatever_is_measured(seed in any::<u64>(), exceed in 0_u32..4, with_width in any::<bool>()) {
        let width = with_width.then(|| ratio(0.001));
        let goals = [(1.0, 3.0, 0.0), (2.0, 5.0, 0.004), (0.5, 4.0, 0.1)].map(|(final_s, sum_s, loss)| {
            let name = format!("{final_s}");
            SearchGoal { width, ..goal(&name, final_s, sum_s, loss, f64::from(exceed) / 4.0) }
        });
        let problem = Problem::new(goals.to_vec(), load(10.0), load(1e6)).unwrap();
        let mut controller = Controller::new(problem, StrategyKind::Bisect);
        search(&mut controller, arbitrary(seed));
        for result in controller.results() {
            prop_assert!(matches!(
                result.reason,
                Reason::Regular | Reason::MaxLoadIsLowerBound | Reason::MinLoadIsUpperBound
            ));
        }
    }
}

#[test]
fn the_forecast_of_a_steady_system_is_about_right() {
    let mut controller = bisect(vec![goal("throughput", 60.0, 60.0, 0.0, 0.0)]);
    let forecast = controller.forecast().unwrap().as_seconds();
    let mut took = 0.0;
    search(&mut controller, |input: TrialInput| -> TrialOutput {
        took += input.duration.as_seconds();
        sharp(1e6)(input)
    });
    assert!((0.5..2.0).contains(&(forecast / took)), "{forecast} {took}");
    assert_eq!(controller.forecast(), Some(seconds(0.0)));
}
