//! Devices and scenarios from DiskSim's parameter files.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use sledsim_disksim::{import, reference, ImportOptions};

use crate::errors;
use crate::values::to_python;

/// Reads a parameter file of DiskSim; returns the device, the files to write and what is not carried over.
#[pyfunction]
#[pyo3(signature = (path, *, device = None, scenario = false))]
pub fn import_disksim<'py>(
    python: Python<'py>,
    path: PathBuf,
    device: Option<&str>,
    scenario: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = ImportOptions { device, scenario, ..ImportOptions::default() };
    let found = python.detach(|| errors::guarded(|| import(&path, &options)))?.map_err(errors::scenario)?;
    let notes = found.notes.iter().map(|note| {
        json!({
            "file": note.file,
            "line": note.line,
            "name": note.name,
            "value": note.value,
            "reason": note.reason,
            "changes_results": note.changes_results,
            "decides": note.decides,
        })
    });
    let read = json!({
        "name": found.name,
        "device": found.device,
        "device_toml": found.device_toml(),
        "scenario_toml": found.scenario_toml(),
        "listing": found.listing(),
        "notes": notes.collect::<Vec<_>>(),
    });
    to_python(python, &read)
}

/// What becomes of every parameter of DiskSim.
#[pyfunction]
pub fn disksim_reference(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(python, &reference())
}
