//! The fit of the published results: every candidate from a family of lines, scored, the first of the best kept.
//!
//! The order of the candidates and of every sum is part of the answer: scores tie, and the first of equals wins.

use crate::lines::{Lines, Point, evaluate};
use crate::{MIN_SEGMENT_WIDTH, Shape, mean, peak};

/// Break points nearer to the one tried before are not tried.
pub(crate) const MIN_STEP: f64 = 0.25;

/// Share of the greatest value that rounding may change in the distance of a point from a line.
const ROUNDING: f64 = 1e-10;

const MOST_VERTICES: usize = 6;

/// A single-peak line needs more points than this; with fewer, the other families are used.
pub(crate) const FEW_POINTS: usize = 3;

pub(crate) fn fit(points: &[Point], shape: Shape) -> Lines {
    let mut search = Search::new(points, shape);
    if shape == Shape::SinglePeak && points.len() > FEW_POINTS {
        peak::try_all(&mut search);
    } else {
        try_straight(&mut search);
        try_one_bend(&mut search);
        try_two_bends(&mut search);
    }
    Lines::new(search.best)
}

/// The best line so far, and how good it is.
pub(crate) struct Search<'a> {
    pub(crate) points: &'a [Point],
    shape: Shape,
    best: Vec<Point>,
    best_score: f64,
    /// By how much the rounding of lines through the points may lessen the root of their sum of squares.
    rounding: f64,
    hopeless: [f64; MOST_VERTICES + 1],
}

impl<'a> Search<'a> {
    fn new(points: &'a [Point], shape: Shape) -> Self {
        let level = mean(points);
        let best = vec![
            Point::new(points[0].x, level),
            Point::new(points[points.len() - 1].x, level),
        ];
        let best_score = root_of_squares(points, &best, f64::INFINITY);
        let greatest = points.iter().map(|point| point.y.abs()).fold(0.0, f64::max);
        let mut search = Self {
            points,
            shape,
            best,
            best_score,
            rounding: ROUNDING * greatest * (points.len() as f64).sqrt(),
            hopeless: [0.0; MOST_VERTICES + 1],
        };
        search.set_hopeless();
        search
    }

    /// A sum of squares with which a line of at least so many vertices is certainly no better than the best so far.
    pub(crate) fn hopeless(&self, vertices: usize) -> f64 {
        self.hopeless[vertices]
    }

    fn set_hopeless(&mut self) {
        let count = self.points.len() as f64;
        for (vertices, hopeless) in self.hopeless.iter_mut().enumerate() {
            let root = self.best_score / crate::penalty(vertices.max(2)) * count;
            *hopeless = (root + self.rounding).powi(2) * (1.0 + 1e-6);
        }
    }

    pub(crate) fn start(&self) -> f64 {
        self.points[0].x
    }

    pub(crate) fn end(&self) -> f64 {
        self.points[self.points.len() - 1].x
    }

    /// Where a break point before the point `index` lies: half-way, or at an end of the data.
    pub(crate) fn divide(&self, index: usize) -> f64 {
        match index {
            0 => self.start(),
            index if index == self.points.len() => self.end(),
            index => f64::midpoint(self.points[index - 1].x, self.points[index].x),
        }
    }

    /// Keep a candidate if it is positive, has the shape, and is strictly better.
    pub(crate) fn offer(&mut self, vertices: &[Point]) {
        if vertices.iter().any(|vertex| vertex.y <= 0.0) || !self.has_shape(vertices) {
            return;
        }
        let penalty = crate::penalty(vertices.len());
        let score = root_of_squares(self.points, vertices, self.best_score / penalty) * penalty;
        if score < self.best_score {
            self.best_score = score;
            self.best.clear();
            self.best.extend_from_slice(vertices);
            self.set_hopeless();
        }
    }

    fn has_shape(&self, vertices: &[Point]) -> bool {
        match self.shape {
            // The published results were made with a test for a single peak that lets every line through.
            Shape::Any | Shape::SinglePeak => true,
            Shape::NonDecreasing => !vertices.windows(2).any(|pair| pair[1].y < pair[0].y),
            Shape::NonIncreasing => !vertices.windows(2).any(|pair| pair[1].y > pair[0].y),
        }
    }
}

/// Half-way places between neighbours.
pub(crate) fn midpoints(points: &[Point]) -> impl Iterator<Item = f64> {
    points.windows(2).map(|pair| f64::midpoint(pair[0].x, pair[1].x))
}

/// Root of the sum of squared distances, divided by their number; infinite once it is certain to exceed `limit`.
fn root_of_squares(points: &[Point], vertices: &[Point], limit: f64) -> f64 {
    let count = points.len() as f64;
    // Slack for rounding: what lies between is decided by the caller's comparison.
    let most = (limit * count).powi(2) * (1.0 + 1e-9);
    let mut sum = 0.0;
    for point in points {
        sum += (point.y - evaluate(vertices, point.x)).powi(2);
        if sum > most {
            return f64::INFINITY;
        }
    }
    sum.sqrt() / count
}

fn try_straight(search: &mut Search) {
    if search.points.len() <= FEW_POINTS {
        return;
    }
    let line = Straight::least_squares(search.points);
    let vertices = [line.at(search.start()), line.at(search.end())];
    search.offer(&vertices);
}

fn try_one_bend(search: &mut Search) {
    let (points, start, end) = (search.points, search.start(), search.end());
    let mut last = f64::NEG_INFINITY;
    for index in 0..points.len() {
        let at = search.divide(index);
        if at < last + MIN_STEP || at < start + MIN_SEGMENT_WIDTH || at > end - MIN_SEGMENT_WIDTH {
            continue;
        }
        last = at;
        let hinge = Point::new(at, mean(&points[..index]));
        if let Some(line) = Straight::through(hinge, &points[index..]) {
            search.offer(&[Point::new(start, hinge.y), hinge, line.at(end)]);
        }
        let hinge = Point::new(at, mean(&points[index..]));
        if let Some(line) = Straight::through(hinge, &points[..index]) {
            search.offer(&[line.at(start), hinge, Point::new(end, hinge.y)]);
        }
    }
}

fn try_two_bends(search: &mut Search) {
    let (points, start, end) = (search.points, search.start(), search.end());
    let mut last = f64::NEG_INFINITY;
    for left in 0..points.len() {
        let left_at = search.divide(left);
        if left_at < last + MIN_STEP || left_at < start + MIN_SEGMENT_WIDTH {
            continue;
        }
        last = left_at;
        let left_level = mean(&points[..left]);
        let mut last_right = f64::NEG_INFINITY;
        for right in left..points.len() {
            let right_at = search.divide(right);
            if right_at < last_right + MIN_STEP
                || right_at - left_at < MIN_SEGMENT_WIDTH
                || right_at > end - MIN_SEGMENT_WIDTH
            {
                continue;
            }
            last_right = right_at;
            let right_level = mean(&points[right..]);
            search.offer(&[
                Point::new(start, left_level),
                Point::new(left_at, left_level),
                Point::new(right_at, right_level),
                Point::new(end, right_level),
            ]);
        }
    }
}

/// A line without ends.
#[derive(Clone, Copy)]
pub(crate) struct Straight {
    pub(crate) through: Point,
    pub(crate) slope: f64,
}

impl Straight {
    pub(crate) fn least_squares(points: &[Point]) -> Self {
        let count = points.len() as f64;
        let middle = Point::new(points.iter().map(|point| point.x).sum::<f64>() / count, mean(points));
        Self {
            through: middle,
            slope: slope_through(middle, points),
        }
    }

    /// The best line through a hinge; nothing where it would be flat.
    fn through(hinge: Point, points: &[Point]) -> Option<Self> {
        let slope = slope_through(hinge, points);
        (slope != 0.0).then_some(Self { through: hinge, slope })
    }

    /// Where two lines cross.
    pub(crate) fn meet(self, other: Self) -> f64 {
        let offset = |line: Self| line.through.y - line.slope * line.through.x;
        (offset(other) - offset(self)) / (self.slope - other.slope)
    }

    pub(crate) fn at(self, x: f64) -> Point {
        Point::new(x, self.through.y + self.slope * (x - self.through.x))
    }
}

/// Slope of the least-squares line through a hinge.
pub(crate) fn slope_through(hinge: Point, points: &[Point]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for point in points {
        products += (point.x - hinge.x) * (point.y - hinge.y);
        squares += (point.x - hinge.x).powi(2);
    }
    products / squares
}
