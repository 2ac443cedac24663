//! DiskSim's parameter files.

use std::path::PathBuf;

use pyo3::prelude::*;
use sledsim::scenario::disksim;

use crate::errors;

/// The device that a parameter file describes, and what of the file is not carried over, as JSON.
#[pyfunction]
pub fn read_disksim(path: PathBuf) -> PyResult<String> {
    let import = errors::guarded(|| disksim::read_device(&path))?.map_err(errors::scenario)?;
    let notes: Vec<serde_json::Value> = import
        .notes
        .iter()
        .map(|note| {
            serde_json::json!({
                "file": note.file, "line": note.line, "name": note.name, "value": note.value,
                "reason": note.reason, "changes_results": note.changes_results,
            })
        })
        .collect();
    let read = serde_json::json!({ "name": import.name, "device": import.device, "notes": notes });
    serde_json::to_string(&read).map_err(errors::scenario)
}
