//! Fits of series: points are pairs, methods and shapes are words.

use brimful_fit::{Lines, Method, Point, Shape};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Pair = (f64, f64);

#[pyclass(name = "Lines", module = "brimful._core", frozen)]
pub(crate) struct PyLines(Lines);

#[pymethods]
impl PyLines {
    /// A line through vertices sorted by x.
    #[new]
    fn new(vertices: Vec<Pair>) -> PyResult<Self> {
        if vertices.windows(2).any(|pair| pair[0].0 > pair[1].0) {
            return Err(PyValueError::new_err("vertices must be sorted by x"));
        }
        Ok(Self(Lines::new(points(vertices))))
    }

    #[getter]
    fn vertices(&self) -> Vec<Pair> {
        pairs(self.0.vertices())
    }

    #[getter]
    fn range(&self) -> Pair {
        self.0.range()
    }

    fn evaluate(&self, x: f64) -> f64 {
        self.0.evaluate(x)
    }

    fn clamped(&self, low: f64, high: f64) -> Option<Self> {
        self.0.clamped(low, high).map(Self)
    }
}

/// Fit a series: the line, the points kept and rejected, and the error.
#[pyfunction]
#[pyo3(signature = (data, shape, method, cut=None, reject_outliers=false))]
pub(crate) fn fit_series(
    data: Vec<Pair>,
    shape: &str,
    method: &str,
    cut: Option<f64>,
    reject_outliers: bool,
) -> PyResult<(PyLines, Vec<Pair>, Vec<Pair>, f64)> {
    let fit = brimful_fit::fit_series(
        &points(data),
        parse_shape(shape)?,
        parse_method(method)?,
        cut,
        reject_outliers,
    );
    Ok((PyLines(fit.lines), pairs(&fit.kept), pairs(&fit.rejected), fit.error))
}

fn parse_shape(name: &str) -> PyResult<Shape> {
    Ok(match name {
        "any" => Shape::Any,
        "non-decreasing" => Shape::NonDecreasing,
        "non-increasing" => Shape::NonIncreasing,
        "single-peak" => Shape::SinglePeak,
        _ => return Err(PyValueError::new_err(format!("unknown shape {name:?}"))),
    })
}

fn parse_method(name: &str) -> PyResult<Method> {
    Ok(match name {
        "compatible" => Method::Compatible,
        "exact" => Method::Exact,
        _ => {
            return Err(PyValueError::new_err(format!(
                "unknown fit {name:?}; use compatible or exact"
            )));
        }
    })
}

fn points(pairs: Vec<Pair>) -> Vec<Point> {
    pairs.into_iter().map(|(x, y)| Point::new(x, y)).collect()
}

fn pairs(points: &[Point]) -> Vec<Pair> {
    points.iter().map(|point| (point.x, point.y)).collect()
}
