//! Levels of histories, as tuples.

use brimful_fit::LevelSettings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Start, end, mean, number of values near it, and their sum of squared distances.
type Level = (usize, usize, f64, usize, f64);

/// The likeliest index, the lowest and the highest of the interval.
type Jump = (usize, usize, usize);

/// Find the levels of a history: deviation and correlation of its noise, levels, jumps.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list of Python has no slice to borrow")]
pub(crate) fn fit_levels(
    values: Vec<f64>,
    errors: Vec<f64>,
    penalty: f64,
    cap: f64,
) -> PyResult<(f64, f64, Vec<Level>, Vec<Jump>)> {
    if values.len() != errors.len() || values.iter().chain(&errors).any(|value| !value.is_finite()) {
        return Err(PyValueError::new_err("values and errors are as many, and finite"));
    }
    let fit = brimful_fit::fit_levels(&values, &errors, LevelSettings { penalty, cap });
    let levels = fit
        .levels
        .iter()
        .map(|level| (level.start, level.end, level.mean, level.kept, level.squares));
    let jumps = fit.jumps.iter().map(|jump| (jump.at, jump.earliest, jump.latest));
    Ok((fit.deviation, fit.correlation, levels.collect(), jumps.collect()))
}
