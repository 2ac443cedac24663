//! Devices and scenarios from other simulators' files.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use sledsim::scenario::disksim::{self, ImportOptions};

use crate::errors;

/// Reads a parameter file of DiskSim; returns the device, the files to write and what is not carried over, as JSON.
#[pyfunction]
#[pyo3(signature = (path, *, device = None, scenario = false))]
pub fn import_disksim(python: Python, path: PathBuf, device: Option<&str>, scenario: bool) -> PyResult<String> {
    let options = ImportOptions { device, scenario };
    let import = python.detach(|| errors::guarded(|| disksim::import(&path, &options)))?.map_err(errors::scenario)?;
    let notes = import.notes.iter().map(|note| {
        json!({
            "file": note.file,
            "line": note.line,
            "name": note.name,
            "value": note.value,
            "reason": note.reason,
            "changes_results": note.changes_results,
        })
    });
    let found = json!({
        "name": import.name,
        "device": import.device,
        "device_toml": import.device_toml(),
        "scenario_toml": import.scenario_toml(),
        "listing": import.listing(),
        "notes": notes.collect::<Vec<_>>(),
    });
    Ok(found.to_string())
}

/// What becomes of every parameter of DiskSim, as JSON.
#[pyfunction]
pub fn disksim_reference() -> String {
    disksim::reference().to_string()
}
