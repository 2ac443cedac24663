//! Documents: read with their bases, and checked against a schema.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;
use sledsim::fault;
use sledsim::scenario::{self, Draft, Notation};

use crate::errors::{self, Fault};
use crate::scenario::Written;
use crate::values::{document_of, to_python};

/// A JSON Schema of a kind of document, converted once for many documents.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Schema(Value);

#[pymethods]
impl Schema {
    #[new]
    fn new(schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        document_of(schema, "schema").map(Self)
    }

    /// Returns the faults of the keys of a table.
    fn faults(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Fault>> {
        let mut keys = document_of(keys, "keys")?;
        let found = scenario::check(&mut keys, &self.0);
        Ok(found.err().into_iter().flatten().map(Fault::from).collect())
    }
}

/// A document: its values, and the position of each.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Document {
    document: scenario::Document,
    faults: Vec<fault::Fault>,
}

#[pymethods]
impl Document {
    /// Reads a text or a dictionary and its bases, applies settings, and checks the result against a schema.
    #[new]
    #[pyo3(signature = (written, *, format = "json", source, base_dir, schema, sets = Vec::new(), prefix = ""))]
    #[allow(clippy::too_many_arguments)] // Keyword arguments of a Python function.
    fn new(
        written: &Bound<'_, PyAny>,
        format: &str,
        source: &str,
        base_dir: PathBuf,
        schema: &Schema,
        sets: Vec<String>,
        prefix: &str,
    ) -> PyResult<Self> {
        let mut document = read(written, format, source, &base_dir)?;
        let checked = errors::catch_panic(|| document.check(&sets, prefix, &schema.0))?;
        Ok(Self { document, faults: checked.err().into_iter().flatten().collect() })
    }

    /// The values; quantities are numbers.
    #[getter]
    fn values<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &self.document.values())
    }

    /// The faults.
    #[getter]
    fn faults(&self) -> Vec<Fault> {
        self.faults.iter().cloned().map(Fault::from).collect()
    }

    /// Returns the scenario in the table at a key. Its faults have the positions of this document.
    #[pyo3(signature = (key, *, base_dir, catalog, policies = None, drawings = None))]
    fn part(
        &self,
        python: Python<'_>,
        key: &str,
        base_dir: PathBuf,
        catalog: Vec<PathBuf>,
        policies: Option<Py<PyAny>>,
        drawings: Option<Py<PyAny>>,
    ) -> PyResult<Written> {
        let part = errors::catch_panic(|| self.document.part(key, &base_dir))?.map_err(errors::scenario)?;
        let text = part.values().to_string();
        Ok(Written::of(python, Draft::of(part), text, catalog, base_dir, policies, drawings))
    }

    /// Returns a fault with the setting, or the file and line, of its key.
    fn located(&self, fault: &Bound<'_, Fault>) -> Fault {
        self.document.located(fault.get().inner().clone()).into()
    }
}

/// Reads a text or a dictionary and its bases. `source` is its name in messages.
pub fn read(written: &Bound<'_, PyAny>, format: &str, source: &str, folder: &Path) -> PyResult<scenario::Document> {
    let read = match written.cast::<PyString>() {
        Ok(text) => {
            let text: String = text.extract()?;
            let notation = Notation::named(format).map_err(errors::scenario)?;
            errors::catch_panic(|| scenario::Document::read(&text, notation, source, folder))?
        }
        Err(_) => {
            let values = document_of(written, source)?;
            errors::catch_panic(|| scenario::Document::of_values(values, source, folder))?
        }
    };
    read.map_err(errors::scenario)
}

/// Converts a number with a unit to another unit of the same dimension.
#[pyfunction]
pub fn quantity(text: &str, unit: &str) -> PyResult<f64> {
    scenario::parse_with_unit(text, unit).map_err(|expected| PyValueError::new_err(format!("expected {expected}")))
}

/// Splits a quantity into its number and its unit, which may be empty. Returns `None` for a text that is not a quantity.
#[pyfunction]
pub fn split_quantity(text: &str) -> Option<(f64, &str)> {
    scenario::split_quantity(text)
}
