//! The line with the lowest score of all that have the shape.
//!
//! A candidate is a set of break points and the word which segments are flat; its heights are the least-squares ones over
//! all points. Where those break the shape, the best heights that keep it make two of them equal, which is a line with
//! fewer vertices that is tried anyway. What may not be positive is held at a floor just above zero.
//!
//! Many candidates are scored from sums in constant time; only those that seem to be better than the best so far are
//! fitted point by point, and that decides.

mod envelope;
mod form;
mod peaks;
mod places;
mod slopes;

use crate::FEW_POINTS;
use crate::lines::{Lines, Point};
use crate::{Shape, mean, penalty};
use form::Form;
use places::Places;

/// Vertices are at least this share of the greatest distance from zero: all lines are positive, and there is a best one.
const FLOOR: f64 = 1e-9;

/// Sums of squares closer than this are equal: what rounding leaves of sums over values between -1 and 1.
const ROUNDING: f64 = 1e-12;

/// How much coarser the first lattice is, measured to be fast.
const COARSER: f64 = 8.0;

pub(crate) fn fit(points: &[Point], shape: Shape, step: f64) -> Lines {
    let level = mean(points);
    let Some(data) = Data::new(points, level) else {
        let ends = [points[0].x, points[points.len() - 1].x];
        return Lines::new(ends.map(|x| Point::new(x, level)).to_vec());
    };
    let places = Places::new(points, &data, step);
    let mut search = Search::new(&data, shape);
    slopes::try_all(&mut search, &places);
    if shape == Shape::SinglePeak && points.len() > FEW_POINTS {
        // A good line is found soon on a coarse lattice, and with it most others need not be looked at.
        peaks::try_all(&mut search, &Places::new(points, &data, COARSER * step));
        peaks::try_all(&mut search, &places);
    }
    search.into_lines()
}

/// The points, their heights moved and scaled to lie between -1 and 1: sums over them lose little, and do not overflow.
struct Data {
    points: Vec<Point>,
    level: f64,
    height: f64,
    /// The least height of a vertex, scaled like the points.
    floor: f64,
}

impl Data {
    /// Nothing where no line can be better than the level one, or where the values overflow.
    fn new(points: &[Point], level: f64) -> Option<Self> {
        let width = points[points.len() - 1].x - points[0].x;
        let greatest = |value: fn(f64) -> f64| points.iter().map(|point| value(point.y)).fold(0.0, f64::max);
        let height = points.iter().map(|point| (point.y - level).abs()).fold(0.0, f64::max);
        let usable = points.iter().all(|point| point.x.is_finite() && point.y.is_finite())
            && [width, height].iter().all(|extent| extent.is_normal() && *extent > 0.0);
        usable.then(|| Self {
            points: points
                .iter()
                .map(|point| Point::new(point.x, (point.y - level) / height))
                .collect(),
            level,
            height,
            floor: (FLOOR * greatest(f64::abs) - level) / height,
        })
    }

    fn count(&self) -> f64 {
        self.points.len() as f64
    }
}

/// The best line so far, and how good it is.
struct Search<'a> {
    data: &'a Data,
    shape: Shape,
    best: Vec<Point>,
    best_score: f64,
}

impl<'a> Search<'a> {
    /// Begin with the level line, to which the number of its vertices does not count.
    fn new(data: &'a Data, shape: Shape) -> Self {
        let squares: f64 = data.points.iter().map(|point| point.y.powi(2)).sum();
        let ends = [data.points[0].x, data.points[data.points.len() - 1].x];
        Self {
            data,
            shape,
            best: ends.map(|x| Point::new(x, 0.0)).to_vec(),
            best_score: squares.sqrt() / data.count(),
        }
    }

    /// The sum of squares below which a line with this number of vertices is the best so far.
    fn limit(&self, vertices: usize) -> f64 {
        (self.best_score / penalty(vertices) * self.data.count()).powi(2) - ROUNDING
    }

    /// Fit the heights of a candidate, and keep it if it is strictly better.
    fn offer(&mut self, form: &Form) {
        let Some((heights, squares)) = form.fit(self.data, self.shape) else {
            return;
        };
        let score = squares.sqrt() / self.data.count() * penalty(form.vertices());
        if score < self.best_score {
            self.best_score = score;
            self.best = form.line(heights).collect();
        }
    }

    fn into_lines(self) -> Lines {
        let data = self.data;
        Lines::new(
            self.best
                .iter()
                .map(|vertex| Point::new(vertex.x, data.level + data.height * vertex.y))
                .collect(),
        )
    }
}

#[cfg(test)]
mod twin;
