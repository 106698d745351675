//! Fits of noisy series: piecewise-linear ones whose shape is known beforehand (non-decreasing, non-increasing, with one
//! peak), and levels with jumps between them ([`fit_levels`]).
//!
//! Lines have two methods: [`Method::Compatible`] gives the answers of the published block-device results, its two defects
//! included; [`Method::Exact`] gives the best line of the shape that is asked for.
//!
//! ```
//! use brimful_fit::{Method, Point, Shape, fit};
//!
//! let points: Vec<Point> = (0..10).map(|i| Point::new(f64::from(i) * 10.0, 1.0 + f64::from(i.min(5)))).collect();
//! let lines = fit(&points, Shape::NonDecreasing, Method::Compatible);
//! assert_eq!(lines.evaluate(90.0), 6.0);
//! ```

// Flat segments, shared ends and equal positions are recognised by equality, as in the published results.
#![allow(clippy::float_cmp)]

mod candidates;
mod compatible;
mod exact;
mod levels;
mod lines;
mod peak;
mod series;
mod straight;

pub use levels::{INTERVAL, Jump, LEAST_DEVIATION, Level, LevelFit, LevelSettings, fit_levels};
pub use lines::{Lines, Point};
pub use series::{SeriesFit, fit_series};

/// What a line must look like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// No constraint.
    Any,
    /// Never falls.
    NonDecreasing,
    /// Never rises.
    NonIncreasing,
    /// Never rises after it fell.
    SinglePeak,
}

/// How the line is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    /// As the published results were fitted.
    Compatible,
    /// The line with the lowest score of all whose break points lie on a lattice of [`LATTICE_STEP`], or half-way
    /// between two points.
    Exact,
}

/// Distance between the break points that [`Method::Exact`] tries, in units of x; doubled until there are at most 1024.
pub const LATTICE_STEP: f64 = 0.25;

/// Each vertex beyond the first makes the score worse by this factor, so that a bend must earn its place.
const VERTEX_PENALTY: f64 = 1.025;

/// No segment is narrower than this, in units of x, or it would follow the noise.
pub(crate) const MIN_SEGMENT_WIDTH: f64 = 10.0;

/// A single-peak line needs more points than this; with fewer, the other families are used.
pub(crate) const FEW_POINTS: usize = 3;

/// Fit a line to points sorted by x.
///
/// Empty without points; of a single vertex where all points have the same x. Points that are not finite give a line
/// that is of no use, but never a panic.
pub fn fit(points: &[Point], shape: Shape, method: Method) -> Lines {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Lines::default();
    };
    if first.x == last.x {
        return Lines::new(vec![Point::new(first.x, mean(points))]);
    }
    match method {
        Method::Compatible => compatible::fit(points, shape),
        Method::Exact => exact::fit(points, shape, LATTICE_STEP),
    }
}

/// Sum from left to right: the order of a sum decides its last bit, and the last bit decides between equal fits.
pub(crate) fn mean(points: &[Point]) -> f64 {
    points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64
}

/// What the score of a line with this number of vertices is multiplied with.
pub(crate) fn penalty(vertices: usize) -> f64 {
    VERTEX_PENALTY.powi(i32::try_from(vertices).unwrap_or(i32::MAX) - 1)
}
