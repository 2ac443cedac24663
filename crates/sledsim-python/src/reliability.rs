//! Lifetimes of enclosures.

use pyo3::prelude::*;
use sledsim::reliability::{self, Enclosure, Experiment};

use crate::errors;
use crate::values::{document_of, to_python, to_value};
use crate::watch::keep_going;

/// Returns whether losses of an enclosure can be forced, and the largest number of lifetimes of the experiment.
#[pyfunction]
pub fn enclosure_reach(enclosure: &Bound<'_, PyAny>, experiment: &Bound<'_, PyAny>) -> PyResult<(bool, u64)> {
    let (enclosure, experiment) = read(enclosure, experiment)?;
    Ok((reliability::can_be_forced(&enclosure), experiment.most_lifetimes(&enclosure)))
}

fn read(enclosure: &Bound<'_, PyAny>, experiment: &Bound<'_, PyAny>) -> PyResult<(Enclosure, Experiment)> {
    let enclosure = serde_json::from_value(document_of(enclosure, "enclosure")?).map_err(errors::scenario)?;
    let experiment = serde_json::from_value(document_of(experiment, "experiment")?).map_err(errors::scenario)?;
    Ok((enclosure, experiment))
}

/// Simulates lifetimes of an enclosure.
///
/// The GIL is released during the simulation. After Ctrl-C the result is that of the lifetimes so far. `progress` is called with the
/// number of lifetimes.
#[pyfunction]
#[pyo3(signature = (enclosure, experiment, *, progress = None))]
pub fn enclosure_lifetimes<'py>(
    python: Python<'py>,
    enclosure: &Bound<'py, PyAny>,
    experiment: &Bound<'py, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (enclosure, experiment) = read(enclosure, experiment)?;
    let mut raised = None;
    let mut watch = |lifetimes: u64| {
        Python::attach(|python| {
            keep_going(python, progress.as_ref(), (lifetimes,)).unwrap_or_else(|error| {
                raised = Some(error);
                false
            })
        })
    };
    let outcome =
        python.detach(|| errors::catch_panic(|| reliability::simulate(&enclosure, &experiment, &mut watch)))?;
    if let Some(error) = raised {
        return Err(error);
    }
    to_python(python, &to_value(&outcome.map_err(errors::scenario)?))
}
