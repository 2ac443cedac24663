//! Documents: read as written with what they are based on, and checked against a schema.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use sledsim::fault;
use sledsim::scenario::{self, Notation};

use crate::errors::{self, Fault};
use crate::values::to_python;

/// The keys of a kind of document, as a JSON Schema has them: read once, for however many documents.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Schema(Value);

#[pymethods]
impl Schema {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self(serde_json::from_str(text).map_err(errors::scenario)?))
    }

    /// What is wrong with the keys of a table, as JSON.
    fn faults(&self, keys: &str) -> PyResult<Vec<Fault>> {
        let mut keys = Notation::Json.read(keys, "keys").map_err(errors::scenario)?;
        let found = scenario::check(&mut keys, &self.0);
        Ok(found.err().into_iter().flatten().map(Fault::from).collect())
    }
}

/// A document: its values, and where each stands.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Document {
    document: scenario::Document,
    faults: Vec<fault::Fault>,
}

#[pymethods]
impl Document {
    /// Reads a text, and what it is based on; puts in settings, and checks it all against a schema.
    #[new]
    #[pyo3(signature = (text, *, format, source, base_dir, schema, sets = Vec::new(), prefix = ""))]
    #[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
    fn new(
        text: &str,
        format: &str,
        source: &str,
        base_dir: PathBuf,
        schema: &Schema,
        sets: Vec<String>,
        prefix: &str,
    ) -> PyResult<Self> {
        let notation = Notation::named(format).map_err(errors::scenario)?;
        let read = errors::guarded(|| {
            let mut document = scenario::Document::read(text, notation, source, &base_dir)?;
            let faults = document.check(&sets, prefix, &schema.0);
            Ok::<_, fault::Fault>(Self { document, faults })
        })?;
        read.map_err(errors::scenario)
    }

    /// What it says, quantities as numbers.
    #[getter]
    fn values<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, self.document.values())
    }

    /// What is wrong with it.
    #[getter]
    fn faults(&self) -> Vec<Fault> {
        self.faults.iter().cloned().map(Fault::from).collect()
    }

    /// A fault with the setting, or the file and line, that it comes from.
    fn located(&self, fault: &Bound<'_, Fault>) -> Fault {
        self.document.located(fault.get().held().clone()).into()
    }
}

/// A number with a unit in another unit of its dimension.
#[pyfunction]
pub fn quantity(text: &str, unit: &str) -> PyResult<f64> {
    scenario::parse_with_unit(text, unit).map_err(|expected| PyValueError::new_err(format!("expected {expected}")))
}
