//! What cannot be searched for is refused with words that say what to change.

#![allow(clippy::unwrap_used)]

mod common;

use brimful_search::{Problem, SearchGoal};
use brimful_trial::{Nanoseconds, Ratio};
use common::{goal, load, ratio, seconds, starting_at};

fn ndr() -> SearchGoal {
    starting_at(0.1, goal("ndr", 1.0, 21.0, 0.0, 0.5))
}

#[track_caller]
fn refused(goals: Vec<SearchGoal>, min: f64, max: f64, message: &str) {
    let error = Problem::new(goals, load(min), load(max)).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[track_caller]
fn goal_refused(goal: SearchGoal, message: &str) {
    refused(vec![goal], 1e3, 1e7, message);
}

// spec: MLRsearch-15 Controller Input #24
#[test]
fn no_goal() {
    refused(vec![], 1e3, 1e7, "no search goal is given");
}

// spec: MLRsearch-15 Search Result #30
#[test]
fn two_goals_of_one_name() {
    refused(vec![ndr(), ndr()], 1e3, 1e7, r#"goal name "ndr" is given twice"#);
}

// spec: MLRsearch-15 Max Load, Min Load #25
#[test]
fn crossed_limits() {
    refused(
        vec![ndr()],
        2e6,
        1e6,
        "min load 2000000 is above max load 1000000; lower the one or raise the other",
    );
}

// spec: MLRsearch-15 Max Load, Min Load #25
#[test]
fn trials_without_a_frame() {
    let message = "goal \"ndr\": a trial of 100 ms at min load 9/s has less than one unit; \
                   raise min load or the trial duration";
    refused(vec![ndr()], 9.0, 1e6, message);
    assert!(Problem::new(vec![ndr()], load(10.0), load(1e6)).is_ok());
}

// spec: MLRsearch-15 Search Goal #16
// spec: MLRsearch-15 Trial Duration #4
#[test]
fn attributes_out_of_range() {
    let one = Ratio::new(1, 1).unwrap();
    let fine = Ratio::new(1, 1_000_000_001).unwrap();
    let cases = [
        (
            SearchGoal {
                loss_ratio: one,
                ..ndr()
            },
            "loss ratio must be below 1",
        ),
        (
            SearchGoal {
                delay_limit: Some(Nanoseconds::ZERO),
                ..ndr()
            },
            "delay limit must be above 0",
        ),
        (
            SearchGoal {
                exceed_ratio: one,
                ..ndr()
            },
            "exceed ratio must be below 1",
        ),
        (
            SearchGoal {
                exceed_ratio: fine,
                ..ndr()
            },
            "exceed ratio is finer than 1e-9; round it",
        ),
        (
            SearchGoal {
                final_trial_duration: Nanoseconds::ZERO,
                ..ndr()
            },
            "final trial duration must be above 0",
        ),
        (
            SearchGoal {
                duration_sum: Nanoseconds::ZERO,
                ..ndr()
            },
            "duration sum must be above 0",
        ),
        (
            SearchGoal {
                initial_trial_duration: Nanoseconds::ZERO,
                ..ndr()
            },
            "initial trial duration must be above 0",
        ),
        (
            SearchGoal {
                initial_trial_duration: seconds(1.1),
                ..ndr()
            },
            "initial trial duration 1.1 s is above the final trial duration 1 s",
        ),
        (
            SearchGoal {
                width: Some(Ratio::ZERO),
                ..ndr()
            },
            "width is 0; it must be at least 1e-6 and below 1",
        ),
        (
            SearchGoal {
                width: Some(ratio(1e-7)),
                ..ndr()
            },
            "width is 0.0000001; it must be at least 1e-6 and below 1",
        ),
        (
            SearchGoal {
                width: Some(one),
                ..ndr()
            },
            "width is 1; it must be at least 1e-6 and below 1",
        ),
    ];
    for (goal, complaint) in cases {
        goal_refused(goal, &format!("goal \"ndr\": {complaint}"));
    }
}

#[test]
fn a_hint_stays_within_the_limits() {
    let problem = |hint| {
        Problem::new(vec![ndr()], load(1e3), load(1e6))
            .unwrap()
            .with_hint(load(hint))
    };
    assert_eq!(problem(1.0).hint(), Some(load(1e3)));
    assert_eq!(problem(5e5).hint(), Some(load(5e5)));
    assert_eq!(problem(1e9).hint(), Some(load(1e6)));
}

// spec: MLRsearch-15 Goal Duration Sum #18
#[test]
fn a_duration_sum_below_the_final_duration_is_allowed_but_one_trial_decides() {
    let goal = goal("odd", 10.0, 1.0, 0.0, 0.5);
    assert!(Problem::new(vec![goal], load(1e3), load(1e6)).is_ok());
}
