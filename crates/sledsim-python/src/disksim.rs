//! Devices and scenarios from DiskSim's parameter files.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use sledsim_disksim::{import, reference, ImportOptions};

use crate::errors;

/// Reads a parameter file of DiskSim; returns the device, the files to write and what is not carried over, as JSON.
#[pyfunction]
#[pyo3(signature = (path, *, device = None, scenario = false))]
pub fn import_disksim(python: Python, path: PathBuf, device: Option<&str>, scenario: bool) -> PyResult<String> {
    let options = ImportOptions { device, scenario };
    let found = python.detach(|| errors::guarded(|| import(&path, &options)))?.map_err(errors::scenario)?;
    let notes = found.notes.iter().map(|note| {
        json!({
            "file": note.file,
            "line": note.line,
            "name": note.name,
            "value": note.value,
            "reason": note.reason,
            "changes_results": note.changes_results,
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
    Ok(read.to_string())
}

/// What becomes of every parameter of DiskSim, as JSON.
#[pyfunction]
pub fn disksim_reference() -> String {
    reference().to_string()
}
