//! Extension module `brimful._core`: the engine for Python. Numbers and JSON text cross the boundary; there is no
//! logic here.

mod controller;
mod exchange;
mod fit;
mod histogram;
mod levels;
mod simulator;
mod trial_log;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<controller::PyController>()?;
    module.add_class::<simulator::PySimulator>()?;
    module.add_class::<trial_log::PyTrialLog>()?;
    module.add_class::<fit::PyLines>()?;
    module.add_function(wrap_pyfunction!(fit::fit_series, module)?)?;
    module.add_function(wrap_pyfunction!(histogram::decode_histogram, module)?)?;
    module.add_function(wrap_pyfunction!(levels::fit_levels, module)?)?;
    module.add_function(wrap_pyfunction!(controller::check_strategy, module)?)?;
    module.add_function(wrap_pyfunction!(controller::strategies, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulator::simulator_kinds, module)?)?;
    Ok(())
}
