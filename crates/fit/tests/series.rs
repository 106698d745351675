//! Series from end to end, and values that no device gives.

// Ends, cuts and rejected points are exact.
#![allow(clippy::float_cmp)]

use brimful_fit::{Method, Point, Shape, fit, fit_series};
use proptest::prelude::*;

const SHAPES: [Shape; 4] = [
    Shape::Any,
    Shape::NonDecreasing,
    Shape::NonIncreasing,
    Shape::SinglePeak,
];
const METHODS: [Method; 2] = [Method::Compatible, Method::Exact];

/// A rise and a level part, with a bend that is no midpoint of two points.
fn rise(x: f64) -> f64 {
    1.0 + 0.02 * x.min(41.25)
}

fn points(xs: impl IntoIterator<Item = f64>, y: impl Fn(f64) -> f64) -> Vec<Point> {
    xs.into_iter().map(|x| Point::new(x, y(x))).collect()
}

fn every(step: f64, count: u32) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| step * f64::from(index))
}

fn close(line: &[Point], expected: &[(f64, f64)]) -> bool {
    line.len() == expected.len()
        && line
            .iter()
            .zip(expected)
            .all(|(a, b)| (a.x - b.0).abs() < 1e-9 && (a.y - b.1).abs() < 1e-9)
}

#[test]
fn the_exact_fit_finds_a_line_that_is_on_the_lattice() {
    let lines = fit(&points(every(5.0, 21), rise), Shape::NonDecreasing, Method::Exact);
    assert!(
        close(lines.vertices(), &[(0.0, 1.0), (41.25, 1.825), (100.0, 1.825)]),
        "{lines:?}"
    );

    let peak = |x: f64| 2.0 + 0.05 * ((x - 12.25) / 0.5).clamp(0.0, 50.0) - 0.125 * ((x - 60.5) / 0.5).clamp(0.0, 40.0);
    let lines = fit(&points(every(5.0, 25), peak), Shape::SinglePeak, Method::Exact);
    let corners = [
        (0.0, 2.0),
        (12.25, 2.0),
        (37.25, 4.5),
        (60.5, 4.5),
        (80.5, -0.5),
        (120.0, -0.5),
    ];
    let lifted = points(every(5.0, 25), |x| peak(x) + 1.0);
    assert!(
        lines.vertices().iter().all(|vertex| vertex.y > 0.0),
        "no line goes below zero"
    );
    let lines = fit(&lifted, Shape::SinglePeak, Method::Exact);
    assert!(
        close(lines.vertices(), &corners.map(|(x, y)| (x, y + 1.0))),
        "{lines:?}"
    );
}

#[test]
fn a_small_ripple_on_a_high_level_is_fitted_as_well() {
    let ripple = |x: f64| 1e9 + 1e-3 * rise(x);
    let lines = fit(&points(every(5.0, 21), ripple), Shape::NonDecreasing, Method::Exact);
    let bend = lines.vertices()[1].x;
    assert!((bend - 41.25).abs() <= 0.5, "{lines:?}");
}

#[test]
fn a_single_peak_may_fall_first_only_in_the_compatible_fit() {
    let valley = points(every(5.0, 25), |x| 1.0 + (x - 60.0).abs() / 60.0);
    let compatible = fit(&valley, Shape::SinglePeak, Method::Compatible);
    assert!(compatible.evaluate(60.0) < compatible.evaluate(0.0).min(compatible.evaluate(120.0)));
    let exact = fit(&valley, Shape::SinglePeak, Method::Exact);
    let heights: Vec<f64> = exact.vertices().iter().map(|vertex| vertex.y).collect();
    let mut steps = heights
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .skip_while(|&step| step >= 0.0);
    assert!(steps.all(|step| step <= 0.0), "{exact:?}");
}

#[test]
fn the_exact_fit_is_no_worse_than_a_compatible_one_of_the_shape() {
    let noisy = points(every(5.0, 21), |x| rise(x) + 0.1 * (x * 7.3).sin());
    let error = |method| fit_series(&noisy, Shape::NonDecreasing, method, None, false).error;
    assert!(error(Method::Exact) < error(Method::Compatible));
}

#[test]
fn points_beyond_the_cut_are_set_apart_and_count_to_the_error() {
    let mut series = points(every(5.0, 9), |_| 2.0);
    series.push(Point::new(50.0, 7.0));
    for method in METHODS {
        let fitted = fit_series(&series, Shape::NonDecreasing, method, Some(45.0), false);
        assert_eq!(fitted.rejected, [Point::new(50.0, 7.0)]);
        assert_eq!(fitted.kept.len(), 9);
        assert_eq!(fitted.lines.range(), (0.0, 45.0));
        assert_eq!(fitted.error, 5.0 / 10.0);
    }
}

#[test]
fn one_point_far_off_is_an_outlier_and_the_line_keeps_its_range() {
    let mut series = points(every(5.0, 20), |x| rise(x) + 1e-3 * (x * 7.3).sin());
    series[10].y += 3.0;
    for method in METHODS {
        let fitted = fit_series(&series, Shape::NonDecreasing, method, None, true);
        assert_eq!(fitted.rejected, [series[10]]);
        assert_eq!(fitted.lines.range(), (0.0, 95.0));
        assert!((fitted.lines.evaluate(95.0) - 1.825).abs() < 0.01);
    }
}

#[test]
fn points_need_not_be_sorted_and_may_be_missing() {
    let sorted = points(every(5.0, 12), rise);
    let mut shuffled = sorted.clone();
    shuffled.reverse();
    for method in METHODS {
        let series = |points: &[Point]| fit_series(points, Shape::SinglePeak, method, None, false);
        assert_eq!(series(&shuffled), series(&sorted));
        assert_eq!(series(&[]).error, 0.0);
        assert_eq!(
            series(&[Point::new(3.0, 4.0); 2]).lines.vertices(),
            [Point::new(3.0, 4.0)]
        );
    }
}

/// A lattice so wide would have billions of places.
#[test]
fn many_points_over_a_wide_range_are_fitted() {
    let wide = points(every(1e6, 100), |x| 3.0 + (x * 1e-7).sin() + 0.5 * (x * 7.3).sin());
    for shape in SHAPES {
        for method in METHODS {
            assert_eq!(fit(&wide, shape, method).range(), (0.0, 9.9e7));
        }
    }
}

fn strange() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0..10.0_f64,
        1 => prop::sample::select(vec![
            0.0, -0.0, 1e300, -1e300, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, f64::NAN, f64::INFINITY,
            f64::NEG_INFINITY,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn strange_values_give_some_line(
        values in prop::collection::vec(strange(), 0..12),
        places in prop::collection::vec(prop_oneof![9 => 0.0..125.0_f64, 1 => strange()], 12),
        reject_outliers: bool,
        cut in prop::option::of(0.0..125.0_f64),
    ) {
        let series: Vec<Point> = places.into_iter().zip(values).map(|(x, y)| Point::new(x, y)).collect();
        for (shape, method) in SHAPES.iter().flat_map(|shape| METHODS.map(|method| (*shape, method))) {
            let fitted = fit_series(&series, shape, method, cut, reject_outliers);
            prop_assert_eq!(fitted.kept.len() + fitted.rejected.len(), series.len());
        }
    }
}

/// Whether a line is level, rising, level, falling, level with parts left out, or two slopes of one direction.
fn is_promised(vertices: &[Point]) -> bool {
    let mut steps: Vec<i32> = vertices
        .windows(2)
        .map(|pair| i32::from(pair[1].y > pair[0].y) - i32::from(pair[1].y < pair[0].y))
        .collect();
    if matches!(steps[..], [1, 1] | [-1, -1]) {
        return true;
    }
    steps.dedup_by(|next, step| *next == 0 && *step == 0);
    let mut order = [0, 1, 0, -1, 0].iter();
    steps.iter().all(|step| order.any(|next| next == step))
}

fn score(points: &[Point], vertices: &[Point]) -> f64 {
    let lines = brimful_fit::Lines::new(vertices.to_vec());
    let squares: f64 = points
        .iter()
        .map(|point| (point.y - lines.evaluate(point.x)).powi(2))
        .sum();
    let is_level = vertices.iter().all(|vertex| vertex.y == vertices[0].y);
    let bends = if is_level { 0 } else { vertices.len() - 1 };
    squares.sqrt() * 1.025_f64.powi(i32::try_from(bends).expect("a few vertices"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_compatible_line_of_the_shape_is_better_than_the_exact_one(
        noise in prop::collection::vec(-0.5..0.5_f64, 4..26),
        [rise, fall, scale] in prop::array::uniform3(0.0..2.0_f64),
    ) {
        let trend = |x: f64| 2.5 + rise * (x / 50.0).min(1.0) - fall * ((x - 65.0) / 35.0).clamp(0.0, 1.0);
        let width = 120.0 / noise.len() as f64;
        let series: Vec<Point> = noise.iter().enumerate().map(|(index, noise)| {
            let x = 2.43 + width * index as f64;
            Point::new(x, trend(x) + scale * noise)
        }).collect();
        for shape in SHAPES {
            let [compatible, exact] = METHODS.map(|method| fit(&series, shape, method));
            let is_wide = compatible.vertices().windows(2).all(|pair| pair[1].x - pair[0].x >= 10.0);
            if is_wide && (shape != Shape::SinglePeak || is_promised(compatible.vertices())) {
                let (least, found) = (score(&series, compatible.vertices()), score(&series, exact.vertices()));
                prop_assert!(found <= least * (1.0 + 1e-9) + 1e-12, "{shape:?} {compatible:?} {exact:?}");
            }
        }
    }
}
