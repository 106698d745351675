//! The compatible fit against a plain transcription of how the published results were fitted: every candidate in
//! order, every sum from left to right, nothing left out early. The vertices must be the same to the last bit.

// To the last bit.
#![allow(clippy::float_cmp)]

use brimful_fit::{Method, Point, Shape, fit};
use proptest::prelude::*;

const PENALTY: f64 = 1.025;
const STEP: f64 = 0.25;
const WIDTH: f64 = 10.0;

struct Twin<'a> {
    points: &'a [Point],
    shape: Shape,
    best: Vec<Point>,
    score: f64,
}

fn mean(points: &[Point]) -> f64 {
    points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64
}

fn slope(hinge: Point, points: &[Point]) -> f64 {
    let products: f64 = points
        .iter()
        .map(|point| (point.x - hinge.x) * (point.y - hinge.y))
        .fold(0.0, |a, b| a + b);
    let squares: f64 = points
        .iter()
        .map(|point| (point.x - hinge.x).powi(2))
        .fold(0.0, |a, b| a + b);
    products / squares
}

fn on_line(through: Point, slope: f64, x: f64) -> Point {
    Point::new(x, through.y + slope * (x - through.x))
}

fn height(vertices: &[Point], x: f64) -> f64 {
    if x <= vertices[0].x {
        return vertices[0].y;
    }
    for pair in vertices.windows(2) {
        if x <= pair[1].x {
            return if pair[0].y == pair[1].y {
                pair[0].y
            } else if x == pair[1].x {
                pair[1].y
            } else {
                pair[0].y + (pair[1].y - pair[0].y) / (pair[1].x - pair[0].x) * (x - pair[0].x)
            };
        }
    }
    vertices[vertices.len() - 1].y
}

fn error(points: &[Point], vertices: &[Point]) -> f64 {
    let squares = points.iter().map(|point| (point.y - height(vertices, point.x)).powi(2));
    squares.fold(0.0, |a, b| a + b).sqrt() / points.len() as f64
}

impl Twin<'_> {
    fn fit(points: &[Point], shape: Shape) -> Vec<Point> {
        if points.is_empty() {
            return Vec::new();
        }
        let (start, end) = (points[0].x, points[points.len() - 1].x);
        if start == end {
            return vec![Point::new(start, mean(points))];
        }
        let best = vec![Point::new(start, mean(points)), Point::new(end, mean(points))];
        let score = error(points, &best);
        let mut twin = Twin {
            points,
            shape,
            best,
            score,
        };
        if shape == Shape::SinglePeak && points.len() > 3 {
            twin.peaks();
        } else {
            twin.slopes();
        }
        twin.best
    }

    fn start(&self) -> f64 {
        self.points[0].x
    }

    fn end(&self) -> f64 {
        self.points[self.points.len() - 1].x
    }

    fn divide(&self, index: usize) -> f64 {
        if index == 0 {
            self.start()
        } else if index == self.points.len() {
            self.end()
        } else {
            f64::midpoint(self.points[index - 1].x, self.points[index].x)
        }
    }

    fn offer(&mut self, vertices: &[Point]) {
        let falls = vertices.windows(2).any(|pair| pair[1].y < pair[0].y);
        let rises = vertices.windows(2).any(|pair| pair[1].y > pair[0].y);
        let has_shape = match self.shape {
            Shape::NonDecreasing => !falls,
            Shape::NonIncreasing => !rises,
            Shape::Any | Shape::SinglePeak => true,
        };
        if !has_shape || vertices.iter().any(|vertex| vertex.y <= 0.0) {
            return;
        }
        let bends = i32::try_from(vertices.len() - 1).expect("a few vertices");
        let score = error(self.points, vertices) * PENALTY.powi(bends);
        if score < self.score {
            self.score = score;
            self.best = vertices.to_vec();
        }
    }

    fn slopes(&mut self) {
        let (points, start, end) = (self.points, self.start(), self.end());
        if points.len() > 3 {
            let (middle, slope) = least_squares(points);
            self.offer(&[on_line(middle, slope, start), on_line(middle, slope, end)]);
        }
        let mut last = f64::NEG_INFINITY;
        for i in 0..points.len() {
            let at = self.divide(i);
            if at < last + STEP || at < start + WIDTH || at > end - WIDTH {
                continue;
            }
            last = at;
            let hinge = Point::new(at, mean(&points[..i]));
            let rise = slope(hinge, &points[i..]);
            if rise != 0.0 {
                self.offer(&[Point::new(start, hinge.y), hinge, on_line(hinge, rise, end)]);
            }
            let hinge = Point::new(at, mean(&points[i..]));
            let rise = slope(hinge, &points[..i]);
            if rise != 0.0 {
                self.offer(&[on_line(hinge, rise, start), hinge, Point::new(end, hinge.y)]);
            }
        }
        let mut last = f64::NEG_INFINITY;
        for i in 0..points.len() {
            let left = self.divide(i);
            if left < last + STEP || left < start + WIDTH {
                continue;
            }
            last = left;
            let mut last_right = f64::NEG_INFINITY;
            for j in i..points.len() {
                let right = self.divide(j);
                if right < last_right + STEP || right - left < WIDTH || right > end - WIDTH {
                    continue;
                }
                last_right = right;
                let (low, high) = (mean(&points[..i]), mean(&points[j..]));
                let corners = [(start, low), (left, low), (right, high), (end, high)];
                self.offer(&corners.map(|(x, y)| Point::new(x, y)));
            }
        }
    }

    fn peaks(&mut self) {
        let n = self.points.len();
        let (start, end) = (self.start(), self.end());
        let mut lasts = [f64::NEG_INFINITY; 4];
        for ll in 0..=n {
            let at0 = self.divide(ll);
            if ll > 0 && (at0 < lasts[0] + STEP || at0 < start + WIDTH) {
                continue;
            }
            lasts[0] = at0;
            lasts[1] = f64::NEG_INFINITY;
            for l in ll..=n {
                let at1 = self.divide(l);
                if l > ll && (at1 < lasts[1] + STEP || at1 - at0 < WIDTH) {
                    continue;
                }
                lasts[1] = at1;
                lasts[2] = f64::NEG_INFINITY;
                for r in l..=n {
                    let at2 = self.divide(r);
                    if r > l && (at2 < lasts[2] + STEP || at2 - at1 < WIDTH) {
                        continue;
                    }
                    lasts[2] = at2;
                    lasts[3] = f64::NEG_INFINITY;
                    for rr in r..=n {
                        let at3 = self.divide(rr);
                        if rr > r && at3 - at2 < WIDTH {
                            continue;
                        }
                        if rr > r && rr < n - 1 && (at3 < lasts[3] + STEP || at3 > end - WIDTH) {
                            continue;
                        }
                        lasts[3] = at3;
                        self.peak([ll, l, r, rr]);
                    }
                }
            }
        }
    }

    fn peak(&mut self, index: [usize; 4]) {
        let (points, start, end) = (self.points, self.start(), self.end());
        let n = points.len();
        let [ll, l, r, rr] = index;
        let mut levels: [Option<f64>; 4] = [None; 4];
        let assign = |levels: &mut [Option<f64>; 4], at: usize, y: f64| {
            for corner in 0..4 {
                if index[corner] == at {
                    levels[corner] = Some(y);
                }
            }
        };
        if ll > 0 {
            assign(&mut levels, ll, mean(&points[..ll]));
        }
        if rr < n {
            assign(&mut levels, rr, mean(&points[rr..]));
        }
        if l < r {
            assign(&mut levels, l, mean(&points[l..r]));
            assign(&mut levels, r, mean(&points[l..r]));
        }
        if levels == [None; 4] {
            self.two_slopes(l);
            return;
        }
        for (near, far) in [(0, 1), (2, 3), (0, 1)] {
            for (known, unknown) in [(near, far), (far, near)] {
                if let (Some(y), None) = (levels[known], levels[unknown]) {
                    // The first defect: one point and a far place, both taken by the number of the corner.
                    let hinge = Point::new(self.divide(index[known]), y);
                    let slope = slope(hinge, &points[near..far]);
                    assign(
                        &mut levels,
                        index[unknown],
                        on_line(hinge, slope, self.divide(unknown)).y,
                    );
                }
            }
        }
        let Some(levels) = levels.into_iter().collect::<Option<Vec<f64>>>() else {
            return;
        };
        let mut vertices = Vec::new();
        if self.divide(ll) > start {
            vertices.push(Point::new(start, levels[0]));
        }
        for corner in 0..4 {
            let at = self.divide(index[corner]);
            if corner == 0 || at != self.divide(index[corner - 1]) {
                vertices.push(Point::new(at, levels[corner]));
            }
        }
        if self.divide(rr) < end {
            vertices.push(Point::new(end, levels[3]));
        }
        if vertices.windows(2).all(|pair| pair[0].x < pair[1].x) {
            self.offer(&vertices);
        }
    }

    fn two_slopes(&mut self, index: usize) {
        let (points, start, end) = (self.points, self.start(), self.end());
        if index == 0 || index == points.len() {
            let (middle, slope) = least_squares(points);
            self.offer(&[on_line(middle, slope, start), on_line(middle, slope, end)]);
            return;
        }
        let (left, left_slope) = least_squares(&points[..index]);
        let (right, right_slope) = least_squares(&points[index..]);
        let at = ((right.y - right_slope * right.x) - (left.y - left_slope * left.x)) / (left_slope - right_slope);
        if at > start && at < end {
            let (peak, last) = (on_line(left, left_slope, at), on_line(right, right_slope, end));
            self.offer(&[on_line(left, left_slope, start), peak, last]);
        }
    }
}

fn least_squares(points: &[Point]) -> (Point, f64) {
    let x = points.iter().map(|point| point.x).sum::<f64>() / points.len() as f64;
    let middle = Point::new(x, mean(points));
    (middle, slope(middle, points))
}

const SHAPES: [Shape; 4] = [
    Shape::Any,
    Shape::NonDecreasing,
    Shape::NonIncreasing,
    Shape::SinglePeak,
];

fn check(points: &[Point]) -> Result<(), TestCaseError> {
    let bits = |vertices: &[Point]| {
        vertices
            .iter()
            .map(|p| [p.x.to_bits(), p.y.to_bits()])
            .collect::<Vec<_>>()
    };
    for shape in SHAPES {
        let (lines, twin) = (fit(points, shape, Method::Compatible), Twin::fit(points, shape));
        prop_assert_eq!(
            bits(lines.vertices()),
            bits(&twin),
            "{:?}: {:?} {:?}",
            shape,
            lines.vertices(),
            twin
        );
    }
    Ok(())
}

/// Points at any places, often some at the same, with values that are often equal and of any size.
fn series(most: usize) -> impl Strategy<Value = Vec<Point>> {
    let x = prop_oneof![
        (0..=most).prop_map(|count| (0..count).map(|i| 2.43 + 5.0 * i as f64).collect::<Vec<_>>()),
        prop::collection::vec(0.0..125.0_f64, 0..=most),
        prop::collection::vec((0..25).prop_map(|i| 5.0 * f64::from(i)), 0..=most),
    ];
    let level = prop_oneof![Just(0.0), Just(1.5), Just(1e6), Just(-1.0)];
    let shape = prop::array::uniform3(-2.0..2.0_f64);
    (x, level, shape, prop_oneof![Just(1.0), Just(1e-9), Just(1e9)]).prop_flat_map(|(mut x, level, shape, scale)| {
        x.sort_by(f64::total_cmp);
        let value = prop_oneof![4 => -1.0..1.0_f64, 1 => (-2..3).prop_map(|i| f64::from(i) / 2.0)];
        let [rise, fall, noise] = shape;
        let trend = move |x: f64| rise * (x / 50.0).min(1.0) - fall * ((x - 70.0) / 40.0).clamp(0.0, 1.0);
        prop::collection::vec(value, x.len()).prop_map(move |y| {
            let points = x.iter().zip(y);
            points
                .map(|(&x, y)| Point::new(x, scale * (level + trend(x) + 0.5 * noise * y)))
                .collect()
        })
    })
}

/// A pointed peak, with points so far apart that the slopes may meet beyond the next one.
fn peak() -> impl Strategy<Value = Vec<Point>> {
    let gaps_and_noise = prop::collection::vec((3.0..25.0_f64, -0.05..0.05_f64), 5..9);
    (gaps_and_noise, 20.0..60.0_f64).prop_map(|(steps, at)| {
        let mut x = 0.0;
        let point = |(gap, noise): (f64, f64)| {
            x += gap;
            Point::new(x, 3.0 - (x - at).abs() / 40.0 + noise)
        };
        steps.into_iter().map(point).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn the_vertices_are_those_of_the_plain_fit(points in prop_oneof![series(16), peak()]) {
        check(&points)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_vertices_of_a_published_series_are_those_of_the_plain_fit(points in series(32)) {
        check(&points)?;
    }
}

#[test]
fn equal_values_give_the_level_line() {
    for count in 0..8 {
        let points: Vec<Point> = (0..count).map(|i| Point::new(f64::from(i) * 12.0, 2.0)).collect();
        check(&points).expect("the same as the plain fit");
        assert!(
            fit(&points, Shape::SinglePeak, Method::Compatible)
                .vertices()
                .iter()
                .all(|vertex| vertex.y == 2.0)
        );
    }
}
