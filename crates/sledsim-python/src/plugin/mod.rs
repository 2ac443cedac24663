//! Plugins from Python: classes, and the functions and Rust plugins that a scenario names; devices made from drawings.

#![allow(unsafe_code)]

pub mod guard;
mod instance;
mod roles;
pub mod rust;
pub mod views;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::{Map, Value};
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::plugin::{no_drawings, Loaded, PluginLoader, PluginSpec, Role};
use sledsim_plugin::LibraryLoader;

use crate::errors;
use crate::values::{document_of, from_python, to_python, to_value};
use instance::Class;

/// Loads plugins, and makes devices from drawings, with Python functions.
#[derive(Debug)]
pub struct PythonLoader {
    /// Called with the role and the spec of a plugin, and the folder that its paths start from.
    load: Py<PyAny>,
    /// Called with a drawing and that folder; none if drawings are not supported.
    draw: Option<Py<PyAny>>,
}

impl PythonLoader {
    /// Returns a loader that calls `load` for plugins and `draw` for drawings.
    pub fn new(load: Py<PyAny>, draw: Option<Py<PyAny>>) -> Self {
        Self { load, draw }
    }

    fn load_class(&self, python: Python<'_>, role: Role, spec: &PluginSpec, base: &Path) -> PyResult<Loaded> {
        let loaded = self.load.bind(python).call1((role.name(), to_python(python, &to_value(spec))?, base))?;
        if let Some(address) = spec.address {
            let address = usize::try_from(address)
                .map_err(|_| errors::invalid_argument("an address is beyond this machine's"))?;
            // SAFETY: `load` rejects an address that the Python function `compiled` did not return. That function keeps the compiled
            // function alive, and its documentation asks for one that takes this role's argument.
            return unsafe { sledsim_plugin::at_address(role, spec, address) }.map_err(errors::scenario);
        }
        let Value::Object(parameters) = from_python(&loaded.getattr("parameters")?)? else {
            return Err(errors::invalid_argument("parameters are not a table"));
        };
        let (folder, source) = (loaded.getattr("folder")?.extract()?, loaded.getattr("source")?.extract()?);
        let limit_s: f64 = loaded.getattr("limit_s")?.extract()?;
        let class = Class {
            name: spec.title().to_owned(),
            make: loaded.getattr("make")?.unbind(),
            uses_positioning: loaded.getattr("positioning")?.extract()?,
            limit: Duration::try_from_secs_f64(limit_s).map_err(|error| errors::invalid_argument(error.to_string()))?,
            hooks: loaded.getattr("hooks")?.extract()?,
        };
        Ok(Loaded { folder, source, parameters, factory: Arc::new(roles::ClassFactory(Arc::new(class))) })
    }
}

impl PluginLoader for PythonLoader {
    fn load(&self, role: Role, spec: &PluginSpec, base: &Path) -> Result<Loaded, Faults> {
        if let Some(name) = &spec.rust {
            let loaded = rust::all().load(role, spec, base)?;
            let source = Python::attach(|python| {
                let hash = rust::hash_of(python, role, name);
                hash.map_err(|error| Faults::from(raised(python, name, &error)))
            })?;
            return Ok(Loaded { source, ..loaded });
        }
        if spec.library.is_some() {
            // SAFETY: SECURITY.md says that a scenario that names a library is trusted as a program is.
            return unsafe { LibraryLoader::trusted() }.load(role, spec, base);
        }
        Python::attach(|python| {
            self.load_class(python, role, spec, base).map_err(|error| match errors::faults_in(python, &error) {
                Some(faults) => faults,
                None => raised(python, spec.title(), &error).into(),
            })
        })
    }

    fn names(&self, role: Role) -> Vec<&str> {
        rust::all().of(role).map(|plugin| plugin.name).collect()
    }

    fn device_from_drawing(&self, drawing: &Value, base: &Path) -> Result<Map<String, Value>, Faults> {
        let Some(draw) = &self.draw else { return Err(no_drawings().into()) };
        Python::attach(|python| {
            let made = to_python(python, drawing).and_then(|drawing| draw.bind(python).call1((drawing, base)));
            let error = match made.and_then(|device| document_of(&device, "device")) {
                Ok(Value::Object(device)) => return Ok(device),
                Ok(_) => errors::invalid_argument("a device is a table"),
                Err(error) => error,
            };
            Err(errors::faults_in(python, &error).unwrap_or_else(|| raised(python, "the drawing", &error).into()))
        })
    }
}

/// Returns the title of a policy of a resolved scenario: a word, or a table with its name.
#[pyfunction]
pub fn policy_title(policy: &Bound<'_, PyAny>) -> PyResult<String> {
    let policy = from_python(policy)?;
    if let Ok(custom) = serde_json::from_value::<PluginSpec>(policy.clone()) {
        return Ok(custom.title().to_owned());
    }
    let name = policy.as_str().or_else(|| policy.get("name")?.as_str());
    name.map(str::to_owned).ok_or_else(|| errors::invalid_argument("a policy has a name"))
}

/// Returns the fault of an exception that `what` raised.
fn raised(python: Python<'_>, what: &str, error: &PyErr) -> Fault {
    let kind = error.get_type(python).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let says = error.value(python).str().map(|text| text.to_string()).unwrap_or_default();
    let colon = if says.is_empty() { "" } else { ": " };
    let mut fault = Fault::new(Kind::Policy).says(format!("{what} raised {kind}{colon}{says}"));
    fault.policy_error = Some(errors::traceback_of(python, error));
    fault
}
