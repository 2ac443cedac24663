//! Lifetimes of enclosures.

use pyo3::prelude::*;
use sledsim::reliability::{self, Enclosure, Experiment};

use crate::errors;
use crate::values::{document_of, held, to_python};
use crate::watch::goes_on;

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
    let given = document_of(enclosure, "enclosure")?;
    let enclosure: Enclosure = serde_json::from_value(given).map_err(errors::scenario)?;
    let given = document_of(experiment, "experiment")?;
    let experiment: Experiment = serde_json::from_value(given).map_err(errors::scenario)?;
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
