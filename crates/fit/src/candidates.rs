//! Candidates for a line, scored: the first of the best is kept.

use crate::lines::{Point, evaluate};
use crate::{Shape, mean};

/// Break points nearer to the one tried before are not tried.
pub(crate) const MIN_STEP: f64 = 0.25;

/// Share of the greatest value that rounding may change in the distance of a point from a line.
const ROUNDING: f64 = 1e-10;

const MOST_VERTICES: usize = 6;

/// The best line so far, and how good it is.
pub(crate) struct Search<'a> {
    pub(crate) points: &'a [Point],
    shape: Shape,
    pub(crate) best: Vec<Point>,
    best_score: f64,
    /// By how much the rounding of lines through the points may lessen the root of their sum of squares.
    rounding: f64,
    hopeless: [f64; MOST_VERTICES + 1],
}

impl<'a> Search<'a> {
    pub(crate) fn new(points: &'a [Point], shape: Shape) -> Self {
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

    /// A sum of squares with which a line of at least this number of vertices is certainly no better than the best so
    /// far.
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
