//! Plugins in Rust: those of this module, as registries list them.

use std::sync::OnceLock;

use pyo3::prelude::*;
use serde_json::{json, Value};
use sledsim::plugin::{Role, RustPlugin, RustPlugins};

use crate::errors;
use crate::values::to_python;

static PLUGINS: OnceLock<RustPlugins> = OnceLock::new();

/// Adds the plugins of a crate, once for a process.
///
/// # Errors
/// A name is taken.
pub fn add(plugins: RustPlugins) -> PyResult<()> {
    plugins.check().map_err(errors::scenario)?;
    PLUGINS.get_or_init(|| plugins);
    Ok(())
}

/// Returns all plugins.
pub fn all() -> RustPlugins {
    PLUGINS.get().copied().unwrap_or_default()
}

/// Returns the plugins of a role as rows of the registry of built-in policies.
pub fn listed(role: Role) -> Vec<Value> {
    let row = |plugin: &RustPlugin| {
        let parameters = plugin.parameters.schema()["properties"].take();
        json!({
            "name": plugin.name, "title": plugin.title, "description": plugin.description, "source": plugin.source,
            "parameters": if parameters.is_null() { json!({}) } else { parameters },
        })
    };
    all().of(role).map(row).collect()
}

/// Returns the mechanisms among the plugins.
#[pyfunction]
pub fn mechanisms(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(python, &listed(Role::Mechanism).into())
}

/// Returns the SHA-256 of the text of a plugin's file.
pub fn hash_of(python: Python<'_>, role: Role, name: &str) -> PyResult<Option<String>> {
    let Some(plugin) = all().find(role, name) else { return Ok(None) };
    let digest = python.import("hashlib")?.call_method1("sha256", (plugin.text.as_bytes(),))?;
    digest.call_method0("hexdigest")?.extract()
}
