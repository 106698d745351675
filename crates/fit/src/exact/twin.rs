//! The same fit without any cleverness: every candidate, dense least squares, sums point by point.

use proptest::prelude::*;

use crate::lines::Point;
use crate::{MIN_SEGMENT_WIDTH, Shape, penalty};

const FLOOR: f64 = 1e-9;
const SHAPES: [Shape; 4] = [
    Shape::Any,
    Shape::NonDecreasing,
    Shape::NonIncreasing,
    Shape::SinglePeak,
];

/// Vertices as pairs of a place and the number of its height.
type Candidate = Vec<(f64, usize)>;

fn score(points: &[Point], vertices: &[Point]) -> f64 {
    let squares = points
        .iter()
        .map(|point| (point.y - crate::lines::evaluate(vertices, point.x)).powi(2));
    let is_level = vertices.len() == 2 && vertices[0].y == vertices[1].y;
    let penalty = if is_level { 1.0 } else { penalty(vertices.len()) };
    squares.sum::<f64>().sqrt() / points.len() as f64 * penalty
}

fn best_score(points: &[Point], shape: Shape, step: f64) -> f64 {
    let level = points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64;
    let ends = [points[0].x, points[points.len() - 1].x];
    let level = ends.map(|x| Point::new(x, level));
    let is_peak = shape == Shape::SinglePeak && points.len() > 3;
    candidates(points, step, is_peak)
        .iter()
        .flat_map(|candidate| {
            heights(points, candidate, shape)
                .into_iter()
                .map(move |heights| (candidate, heights))
        })
        .map(|(candidate, heights)| {
            let vertices: Vec<Point> = candidate
                .iter()
                .map(|&(x, height)| Point::new(x, heights[height]))
                .collect();
            score(points, &vertices)
        })
        .fold(score(points, &level), f64::min)
}

fn candidates(points: &[Point], step: f64, is_peak: bool) -> Vec<Candidate> {
    let [start, end] = [points[0].x, points[points.len() - 1].x];
    let lattice = (1..1000).map(|index| start + step * f64::from(index));
    let midpoints = points.windows(2).map(|pair| f64::midpoint(pair[0].x, pair[1].x));
    let mut places: Vec<f64> = lattice.chain(midpoints).filter(|&at| at > start && at < end).collect();
    places.sort_by(f64::total_cmp);
    let mut found = Vec::new();
    // Which levels last for a while: those of a slope, then those of a peak.
    for flags in 0..4 {
        let levels = [(flags & 1 == 1, 0), (flags & 2 == 2, 1)];
        if flags > 0 || points.len() > 3 {
            extend(&places, vec![(start, 0)], &levels, end, &mut found);
        }
    }
    if is_peak {
        for flags in 0..8 {
            let levels = [(flags & 1 == 1, 0), (flags & 2 == 2, 1), (flags & 4 == 4, 2)];
            extend(&places, vec![(start, 0)], &levels, end, &mut found);
        }
        let meets = (1..points.len()).filter_map(|index| meet(&points[..index], &points[index..]));
        found.extend(meets.map(|at| vec![(start, 0), (at, 1), (end, 2)]));
    }
    let is_wide = |candidate: &Candidate| {
        let widths = || candidate.windows(2).map(|pair| pair[1].0 - pair[0].0);
        candidate.len() == 2 || widths().all(|width| width >= MIN_SEGMENT_WIDTH - 1e-9)
    };
    found.retain(is_wide);
    found
}

/// Add all ways to go on with the levels that are left, each a stretch or a single vertex.
fn extend(places: &[f64], so_far: Candidate, levels: &[(bool, usize)], end: f64, found: &mut Vec<Candidate>) {
    let (from, _) = so_far[so_far.len() - 1];
    let [(is_stretch, height), rest @ ..] = levels else {
        found.push(so_far);
        return;
    };
    let is_far = |at: f64| at - from >= MIN_SEGMENT_WIDTH - 1e-9;
    let next: Vec<Candidate> = match (is_stretch, rest.is_empty()) {
        (false, true) => vec![[so_far.clone(), vec![(end, *height)]].concat()],
        (false, false) if so_far.len() == 1 && *height == 0 => vec![so_far.clone()],
        (true, true) => with_each(places, &so_far, *height)
            .into_iter()
            .map(|candidate| [candidate, vec![(end, *height)]].concat())
            .collect(),
        (false, false) => with_each(places, &so_far, *height),
        (true, false) if so_far.len() == 1 && *height == 0 => with_each(places, &so_far, *height),
        (true, false) => with_each(places, &so_far, *height)
            .iter()
            .filter(|candidate| is_far(candidate[candidate.len() - 1].0))
            .flat_map(|candidate| with_each(places, candidate, *height))
            .collect(),
    };
    for candidate in next {
        extend(places, candidate, rest, end, found);
    }
}

fn with_each(places: &[f64], so_far: &Candidate, height: usize) -> Vec<Candidate> {
    let (from, _) = so_far[so_far.len() - 1];
    let places = places.iter().filter(|&&at| at - from >= MIN_SEGMENT_WIDTH - 1e-9);
    places
        .map(|&at| [so_far.clone(), vec![(at, height)]].concat())
        .collect()
}

fn meet(left: &[Point], right: &[Point]) -> Option<f64> {
    let line = |points: &[Point]| {
        let count = points.len() as f64;
        let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.x), mean(|point| point.y));
        let slope = points.iter().map(|point| (point.x - x) * (point.y - y)).sum::<f64>()
            / points.iter().map(|point| (point.x - x).powi(2)).sum::<f64>();
        (y - slope * x, slope)
    };
    let ((a, b), (c, d)) = (line(left), line(right));
    let at = (c - a) / (b - d);
    at.is_finite().then_some(at)
}

/// All stationary heights that are positive and have the shape: some held at the floor, the others free.
fn heights(points: &[Point], candidate: &Candidate, shape: Shape) -> Vec<Vec<f64>> {
    let count = candidate[candidate.len() - 1].1 + 1;
    let floor = FLOOR * points.iter().map(|point| point.y.abs()).fold(0.0, f64::max);
    let held_sets = 0..1 << count;
    held_sets
        .filter_map(|held: usize| least_squares(points, candidate, count, held, floor))
        .filter(|heights| {
            let is_bent = candidate.len() == count && count == 3;
            let rises = heights.windows(2).all(|pair| pair[0] <= pair[1]);
            let falls = heights.windows(2).all(|pair| pair[0] >= pair[1]);
            let has_shape = match (shape, count) {
                (Shape::NonDecreasing, _) => rises,
                (Shape::NonIncreasing, _) => falls,
                (_, 3) => heights[1] >= heights[0].max(heights[2]) || is_bent && (rises || falls),
                _ => true,
            };
            has_shape && heights.iter().all(|&height| height >= floor)
        })
        .collect()
}

fn least_squares(points: &[Point], candidate: &Candidate, count: usize, held: usize, floor: f64) -> Option<Vec<f64>> {
    let weights = |x: f64| {
        let unit = |height: usize| {
            let value = |of: usize| f64::from(u8::from(of == height));
            let vertices: Vec<Point> = candidate.iter().map(|&(x, of)| Point::new(x, value(of))).collect();
            crate::lines::evaluate(&vertices, x)
        };
        (0..count).map(unit).collect::<Vec<f64>>()
    };
    let mut rows = vec![vec![0.0; count + 1]; count];
    for point in points {
        let weights = weights(point.x);
        for i in 0..count {
            for j in 0..count {
                rows[i][j] += weights[i] * weights[j];
            }
            rows[i][count] += weights[i] * point.y;
        }
    }
    for i in (0..count).filter(|i| held >> i & 1 == 1) {
        rows[i] = vec![0.0; count + 1];
        rows[i][i] = 1.0;
        rows[i][count] = floor;
    }
    for pivot in 0..count {
        let best = (pivot..count).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()))?;
        rows.swap(pivot, best);
        if rows[pivot][pivot].abs() < 1e-9 {
            return None;
        }
        for other in (0..count).filter(|&other| other != pivot) {
            let factor = rows[other][pivot] / rows[pivot][pivot];
            let pivot = rows[pivot].clone();
            rows[other]
                .iter_mut()
                .zip(pivot)
                .for_each(|(value, of)| *value -= factor * of);
        }
    }
    let mut heights: Vec<f64> = (0..count).map(|i| rows[i][count] / rows[i][i]).collect();
    (0..count)
        .filter(|i| held >> i & 1 == 1)
        .for_each(|i| heights[i] = floor);
    Some(heights)
}

fn check(points: &[Point], step: f64) -> Result<(), TestCaseError> {
    if points.first().map(|point| point.x) == points.last().map(|point| point.x) {
        return Ok(());
    }
    let extent = points.iter().map(|point| point.y.abs()).fold(0.0, f64::max);
    for shape in SHAPES {
        let lines = super::fit(points, shape, step);
        let vertices = lines.vertices();
        let (found, best) = (score(points, vertices), best_score(points, shape, step));
        // What rounding leaves where a line goes through all points.
        let slack = 1e-9 * best + 2e-6 * extent;
        prop_assert!(
            (found - best).abs() <= slack,
            "{shape:?}: {found} instead of {best}, {vertices:?}"
        );
        let steps: Vec<f64> = vertices.windows(2).map(|pair| pair[1].y - pair[0].y).collect();
        let (rises, falls) = (
            steps.iter().any(|&step| step > 0.0),
            steps.iter().any(|&step| step < 0.0),
        );
        let rises_again = steps.iter().skip_while(|&&step| step >= 0.0).any(|&step| step > 0.0);
        prop_assert!(shape != Shape::NonDecreasing || !falls);
        prop_assert!(shape != Shape::NonIncreasing || !rises);
        prop_assert!(shape != Shape::SinglePeak || !rises_again);
        let is_level = !rises && !falls;
        prop_assert!(is_level || vertices.iter().all(|vertex| vertex.y > 0.0));
        let mut widths = vertices.windows(2).map(|pair| pair[1].x - pair[0].x);
        prop_assert!(widths.all(|width| width > 0.0 && (vertices.len() == 2 || width >= MIN_SEGMENT_WIDTH - 1e-6)));
    }
    Ok(())
}

/// Points that are often evenly spaced, with values that are often equal, around a level that is often near zero.
fn series() -> impl Strategy<Value = Vec<Point>> {
    let x = prop_oneof![
        (1_usize..12).prop_map(|count| (0..count).map(|i| 3.4 + 6.0 * i as f64).collect::<Vec<_>>()),
        prop::collection::vec(0.0..75.0_f64, 1..12),
        prop::collection::vec((0..15).prop_map(|i| 5.0 * f64::from(i)), 1..12),
    ];
    x.prop_flat_map(|mut x| {
        x.sort_by(f64::total_cmp);
        let value = prop_oneof![-1.0..1.0_f64, (-2..3).prop_map(|i| f64::from(i) / 2.0)];
        let level = prop_oneof![Just(0.0), Just(0.5), Just(3.0), Just(1e6)];
        let values = prop::collection::vec(value, x.len());
        (Just(x), values, level, prop::array::uniform3(-2.0..2.0_f64)).prop_map(|(x, y, level, [rise, fall, noise])| {
            let trend = |x: f64| rise * (x / 40.0).min(1.0) - fall * ((x - 40.0) / 40.0).max(0.0);
            x.iter()
                .zip(y)
                .map(|(&x, y)| Point::new(x, level + trend(x) + noise * 0.3 * y))
                .collect()
        })
    })
}

/// All five parts of a peak, with little noise.
fn peak() -> impl Strategy<Value = Vec<Point>> {
    let (steps, noise) = (0.5..2.0_f64, prop::collection::vec(-0.1..0.1_f64, 13));
    (steps.clone(), steps, 11.0..14.0_f64, noise).prop_map(|(rise, fall, foot, noise)| {
        let trend = |x: f64| rise * ((x - foot) / 14.0).clamp(0.0, 1.0) - fall * ((x - 45.0) / 15.0).clamp(0.0, 1.0);
        let point = |(index, noise): (usize, f64)| {
            let x = 6.0 * index as f64;
            Point::new(x, 3.0 + trend(x) + noise)
        };
        noise.into_iter().enumerate().map(point).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_candidate_is_better_than_the_line_found(points in prop_oneof![4 => series(), 1 => peak()], step in prop_oneof![Just(5.0), Just(6.5), Just(11.0)]) {
        check(&points, step)?;
    }
}
