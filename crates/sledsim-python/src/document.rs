//! Documents: read as written with what they are based on, and checked against a schema.

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

/// The keys of a kind of document, as a JSON Schema has them: read once, for however many documents.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Schema(Value);

#[pymethods]
impl Schema {
    #[new]
    fn new(schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        document_of(schema, "schema").map(Self)
    }

    /// What is wrong with the keys of a table.
    fn faults(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Fault>> {
        let mut keys = document_of(keys, "keys")?;
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
    /// Reads a text in a notation, or a dictionary, and what it is based on; puts in settings, and checks it all against a schema.
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
        let checked = errors::guarded(|| document.check(&sets, prefix, &schema.0))?;
        Ok(Self { document, faults: checked.err().into_iter().flatten().collect() })
    }

    /// What it says, quantities as numbers.
    #[getter]
    fn values<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &self.document.values())
    }

    /// What is wrong with it.
    #[getter]
    fn faults(&self) -> Vec<Fault> {
        self.faults.iter().cloned().map(Fault::from).collect()
    }

    /// The scenario that the table at a key is: its faults stand where the table does.
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
        let part = errors::guarded(|| self.document.part(key, &base_dir))?.map_err(errors::scenario)?;
        let text = part.values().to_string();
        Ok(Written::of(python, Draft::of(part), text, catalog, base_dir, policies, drawings))
    }

    /// A fault with the setting, or the file and line, that it comes from.
    fn located(&self, fault: &Bound<'_, Fault>) -> Fault {
        self.document.located(fault.get().held().clone()).into()
    }
}

/// Reads a text in a notation, or a dictionary, which messages call `source`, and what it is based on.
pub fn read(written: &Bound<'_, PyAny>, format: &str, source: &str, folder: &Path) -> PyResult<scenario::Document> {
    let read = match written.cast::<PyString>() {
        Ok(text) => {
            let text: String = text.extract()?;
            let notation = Notation::named(format).map_err(errors::scenario)?;
            errors::guarded(|| scenario::Document::read(&text, notation, source, folder))?
        }
        Err(_) => {
            let values = document_of(written, source)?;
            errors::guarded(|| scenario::Document::of_values(values, source, folder))?
        }
    };
    read.map_err(errors::scenario)
}

/// A number with a unit in another unit of its dimension.
#[pyfunction]
pub fn quantity(text: &str, unit: &str) -> PyResult<f64> {
    scenario::parse_with_unit(text, unit).map_err(|expected| PyValueError::new_err(format!("expected {expected}")))
}

/// The number of a text that is a quantity, and its unit, empty where it has none; nothing where it is no quantity.
#[pyfunction]
pub fn split_quantity(text: &str) -> Option<(f64, &str)> {
    scenario::split_quantity(text)
}
