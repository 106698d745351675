//! A series with its line: cut where it stops to mean anything, outliers set apart.

use crate::lines::{Lines, Point};
use crate::{Method, Shape, fit};

/// A fitted series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesFit {
    /// The line.
    pub lines: Lines,
    /// The points that the line rests on, sorted.
    pub kept: Vec<Point>,
    /// The points that were set apart: beyond the cut, then outliers.
    pub rejected: Vec<Point>,
    /// Root of the sum of squared distances of all points, divided by their number.
    pub error: f64,
}

/// Fit a line to a series.
///
/// Points beyond `cut` are set apart and the line is drawn up to it. With `reject_outliers`, points too far from the
/// first line are set apart and the rest is fitted once more.
pub fn fit_series(
    points: &[Point],
    shape: Shape,
    method: Method,
    cut: Option<f64>,
    reject_outliers: bool,
) -> SeriesFit {
    let mut kept = points.to_vec();
    kept.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let mut rejected = Vec::new();
    if let Some(cut) = cut {
        rejected.extend(kept.extract_if(.., |point| point.x > cut));
    }
    let mut lines = fit(&kept, shape, method);
    if let Some(cut) = cut {
        lines = lines.with_range(lines.range().0, cut);
    }
    if reject_outliers {
        let distances: Vec<f64> = kept
            .iter()
            .map(|point| (point.y - lines.evaluate(point.x)).powi(2))
            .collect();
        let mut is_outlier = outliers(&distances).into_iter();
        rejected.extend(kept.extract_if(.., |_| is_outlier.next().unwrap_or(false)));
        let (low, high) = lines.range();
        lines = fit(&kept, shape, method).with_range(low, high);
    }
    let squares = kept
        .iter()
        .chain(&rejected)
        .map(|point| (point.y - lines.evaluate(point.x)).powi(2));
    let error = if points.is_empty() {
        0.0
    } else {
        squares.sum::<f64>().sqrt() / points.len() as f64
    };
    SeriesFit {
        lines,
        kept,
        rejected,
        error,
    }
}

/// Chauvenet's criterion, on the far side only: an outlier is what fewer than half a value of as many would exceed.
fn outliers(values: &[f64]) -> Vec<bool> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
    values
        .iter()
        .map(|value| exceeding((value - mean) / deviation) * count < 0.5)
        .collect()
}

/// Share of a normal distribution beyond `z` standard deviations; not a number where there is no deviation.
fn exceeding(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}
