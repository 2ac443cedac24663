//! Parts that a crate in Rust brings in: those of this module, and how they are listed.

use std::sync::OnceLock;

use pyo3::prelude::*;
use serde_json::{json, Value};
use sledsim::own::Role;
use sledsim::scenario::Parts;

use crate::errors;
use crate::values::to_python;

static PARTS: OnceLock<Parts> = OnceLock::new();

/// Adds those of a crate, once for a process.
///
/// # Errors
/// A name is taken.
pub fn add(parts: Parts) -> PyResult<()> {
    parts.check().map_err(errors::scenario)?;
    PARTS.get_or_init(|| parts);
    Ok(())
}

/// All of them.
pub fn all() -> Parts {
    PARTS.get().copied().unwrap_or_default()
}

/// Those of a role as lists have them, beside those of the simulator.
pub fn listed(role: Role) -> Vec<Value> {
    let row = |part: &sledsim::scenario::Part| {
        let parameters = part.parameters.schema()["properties"].take();
        json!({
            "name": part.name, "title": part.title, "description": part.description, "source": part.source,
            "parameters": if parameters.is_null() { json!({}) } else { parameters },
        })
    };
    all().of(role).map(row).collect()
}

/// The mechanisms.
#[pyfunction]
pub fn mechanisms(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(python, &listed(Role::Device).into())
}

/// SHA-256 of the text of a part's file.
pub fn hash_of(python: Python<'_>, role: Role, name: &str) -> PyResult<Option<String>> {
    let Some(part) = all().find(role, name) else { return Ok(None) };
    let digest = python.import("hashlib")?.call_method1("sha256", (part.text.as_bytes(),))?;
    digest.call_method0("hexdigest")?.extract()
}
