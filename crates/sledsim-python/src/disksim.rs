//! Devices and scenarios from DiskSim's parameter files.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use sledsim_disksim::{import, reference, ImportOptions};

use crate::errors;
use crate::values::to_python;

/// Imports a DiskSim parameter file. Returns the device, the files to write, and notes on parameters that are not imported.
#[pyfunction]
#[pyo3(signature = (path, *, device = None, scenario = false))]
pub fn import_disksim<'py>(
    python: Python<'py>,
    path: PathBuf,
    device: Option<&str>,
    scenario: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = ImportOptions { device, scenario, ..ImportOptions::default() };
    let found = python.detach(|| errors::catch_panic(|| import(&path, &options)))?.map_err(errors::scenario)?;
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

/// Returns the treatment of every DiskSim parameter by the import.
#[pyfunction]
pub fn disksim_reference(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(python, &reference())
}
