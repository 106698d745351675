//! Levels of histories, and values that no history has. That the levels are the cheapest is tested against a twin in
//! Python (`tests/trend/test_levels.py`).

use brimful_fit::{LevelFit, LevelSettings, fit_levels};
use proptest::prelude::*;

const SETTINGS: LevelSettings = LevelSettings {
    penalty: 16.0,
    cap: 9.0,
};

fn fit(values: &[f64]) -> LevelFit {
    fit_levels(values, &vec![0.0; values.len()], SETTINGS)
}

/// A level with a little noise that has no period.
fn level(height: f64, count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| height + 0.01 * (f64::from(index * index + index) * 0.7).sin())
}

#[test]
fn a_jump_is_found_where_it_is() {
    let values: Vec<f64> = level(0.0, 40).chain(level(0.1, 20)).collect();
    let fit = fit(&values);
    assert_eq!(fit.jumps.len(), 1);
    assert_eq!((fit.jumps[0].at, fit.levels[0].end, fit.levels[1].end), (40, 40, 60));
}

#[test]
fn an_odd_value_is_no_level() {
    let mut values: Vec<f64> = level(0.0, 40).collect();
    values[20] = 9.0;
    let fit = fit(&values);
    assert_eq!((fit.jumps.len(), fit.levels[0].kept), (0, 39));
}

#[test]
fn values_far_apart_take_few_lines_of_the_grid() {
    // With the whole grid these would be 10^12 lines.
    let values: Vec<f64> = (0..40).map(|index| if index < 30 { 0.0 } else { 1e6 }).collect();
    assert_eq!(fit(&values).jumps[0].at, 30);
}

#[test]
fn values_that_are_not_finite_have_no_levels() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(fit(&[0.0, odd, 0.0]), LevelFit::default());
        assert_eq!(fit_levels(&[0.0, 0.0], &[0.0, odd], SETTINGS), LevelFit::default());
    }
    assert!(fit(&[]).levels.is_empty());
}

proptest! {
    #[test]
    fn levels_cover_every_value_once(
        values in proptest::collection::vec(prop_oneof![-1.0..1.0, -1e9..1e9, Just(0.0)], 1..60),
        errors in proptest::collection::vec(prop_oneof![Just(0.0), 0.0..1e6], 0..60),
    ) {
        let fit = fit_levels(&values, &errors, SETTINGS);
        prop_assert_eq!(fit.levels[0].start, 0);
        prop_assert_eq!(fit.levels[fit.levels.len() - 1].end, values.len());
        for (pair, jump) in fit.levels.windows(2).zip(&fit.jumps) {
            prop_assert_eq!((pair[0].end, pair[1].start), (jump.at, jump.at));
            prop_assert!(pair[0].start < jump.earliest && jump.earliest <= jump.at);
            prop_assert!(jump.at <= jump.latest && jump.latest < pair[1].end);
        }
        prop_assert_eq!(fit.levels.len(), fit.jumps.len() + 1);
        prop_assert!(fit.levels.iter().all(|level| level.mean.is_finite() && level.squares >= 0.0));
    }
}
