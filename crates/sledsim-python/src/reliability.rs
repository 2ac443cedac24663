//! Lifetimes of enclosures.

use pyo3::prelude::*;
use sledsim::reliability::{self, Enclosure, Experiment};

use crate::errors;
use crate::watch::goes_on;

/// Simulates lifetimes of an enclosure; both are given, and the outcome is returned, as JSON.
///
/// The GIL is released meanwhile. Ctrl-C ends it with the lifetimes so far; `progress` hears their number.
#[pyfunction]
#[pyo3(signature = (enclosure, experiment, *, progress = None))]
pub fn enclosure_lifetimes(
    python: Python<'_>,
    enclosure: &str,
    experiment: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let enclosure: Enclosure = serde_json::from_str(enclosure).map_err(errors::scenario)?;
    let experiment: Experiment = serde_json::from_str(experiment).map_err(errors::scenario)?;
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
    serde_json::to_string(&outcome.map_err(errors::scenario)?).map_err(errors::run)
}
