//! Lifetimes of enclosures.

use pyo3::prelude::*;
use sledsim::reliability::{self, Enclosure, Experiment};

use crate::errors;
use crate::values::{document_of, held, to_python};
use crate::watch::goes_on;

/// What can be asked of simulated lifetimes of an enclosure: whether losses can be forced, and how many lifetimes such an
/// experiment may have.
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
/// The GIL is released meanwhile. Ctrl-C ends it with the lifetimes so far; `progress` hears their number.
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
    let mut keep_going = |lifetimes: u64| {
        Python::attach(|python| {
            goes_on(python, progress.as_ref(), (lifetimes,)).unwrap_or_else(|error| {
                raised = Some(error);
                false
            })
        })
    };
    let outcome =
        python.detach(|| errors::guarded(|| reliability::simulate(&enclosure, &experiment, &mut keep_going)))?;
    if let Some(error) = raised {
        return Err(error);
    }
    to_python(python, &held(&outcome.map_err(errors::scenario)?))
}
