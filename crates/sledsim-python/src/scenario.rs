//! Scenarios: as written, and resolved with every key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::{json, Value};
use sledsim::plugin::PluginLoader;
use sledsim::scenario::{self, canonical, Catalog, Draft, Resolved};
use sledsim::workloads::WorkloadSpec;

use crate::catalog::catalog_of;
use crate::plugin::PythonLoader;
use crate::trace::{table_named, TraceTable};
use crate::values::{document_of, to_python, to_value};
use crate::{document, errors};

/// Returns the JSON Schema of a scenario: of the typed classes, or with `document`, of a file.
#[pyfunction]
#[pyo3(signature = (*, document = false))]
pub fn schema(python: Python<'_>, document: bool) -> PyResult<Bound<'_, PyAny>> {
    let schema = if document { scenario::document_schema() } else { scenario::user_schema() };
    to_python(python, &schema)
}

/// Returns the JSON Schema of the summary of a run.
#[pyfunction]
pub fn result_schema(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(python, &scenario::report_schema())
}

/// A setting: a text `path=value`, or a pair of a path and a value.
struct Setting(scenario::Setting);

impl FromPyObject<'_, '_> for Setting {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.cast::<PyString>() {
            return Ok(Self(scenario::Setting::Text(text.extract()?)));
        }
        let (path, value): (String, Bound<'_, PyAny>) = given.extract()?;
        let value = document_of(&value, &path)?;
        Ok(Self(scenario::Setting::Value(path, value)))
    }
}

/// A scenario as written, before settings and defaults. It is read once and can be resolved many times.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Written {
    draft: Draft,
    text: String,
    catalog: Catalog,
    base_dir: PathBuf,
    policies: Option<Py<PyAny>>,
}

impl Written {
    /// Returns a scenario from a document that has been read. `policies` loads custom policies, `drawings` makes devices from drawings.
    pub fn of(
        python: Python<'_>,
        draft: Draft,
        text: String,
        catalog: Vec<PathBuf>,
        base_dir: PathBuf,
        policies: Option<Py<PyAny>>,
        drawings: Option<Py<PyAny>>,
    ) -> Self {
        let mut catalog = catalog_of(catalog);
        if let Some(load) = &policies {
            catalog = catalog.with_loader(Arc::new(PythonLoader::new(load.clone_ref(python), drawings)));
        }
        Self { draft, text, catalog, base_dir, policies }
    }
}

#[pymethods]
impl Written {
    /// Reads a text or a dictionary. `name` is its name in messages.
    #[new]
    #[pyo3(signature = (written, *, format = "json", name, base_dir, catalog, policies = None, drawings = None))]
    fn new(
        written: &Bound<'_, PyAny>,
        format: &str,
        name: &str,
        base_dir: PathBuf,
        catalog: Vec<PathBuf>,
        policies: Option<Py<PyAny>>,
        drawings: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let document = document::read(written, format, name, &base_dir)?;
        let text = match written.cast::<PyString>() {
            Ok(text) => text.extract()?,
            Err(_) => document.values().to_string(),
        };
        Ok(Self::of(written.py(), Draft::of(document), text, catalog, base_dir, policies, drawings))
    }

    /// Name in messages.
    #[getter]
    fn name(&self) -> &str {
        self.draft.source()
    }

    /// The text; for a dictionary or a table, JSON.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The folder from which its relative paths start.
    #[getter]
    fn base_dir(&self) -> Cow<'_, str> {
        self.base_dir.to_string_lossy()
    }

    /// Applies settings, fills in defaults and checks the scenario. The GIL is released meanwhile. A setting is a text `path=value`, or
    /// a path and a value.
    #[pyo3(signature = (sets = Vec::new()))]
    fn resolve(&self, python: Python<'_>, sets: Vec<Setting>) -> PyResult<Scenario> {
        let sets: Vec<scenario::Setting> = sets.into_iter().map(|setting| setting.0).collect();
        let work = || self.draft.clone().set(&sets).resolve(&self.catalog, &self.base_dir);
        let mut resolved = python.detach(|| errors::catch_panic(work))?.map_err(errors::scenario)?;
        if let WorkloadSpec::Trace(trace) = &resolved.scenario().workload {
            let table = table_named(&trace.path);
            resolved.set_table(table);
        }
        let policies = self.policies.as_ref().filter(|_| resolved.has_plugins());
        Ok(Scenario { policies: policies.map(|load| load.clone_ref(python)), ..resolved.into() })
    }
}

/// A scenario with every key explicit.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Scenario {
    pub resolved: Resolved,
    /// Canonical text, which is equal for equal scenarios; made on demand.
    canonical: OnceLock<String>,
    /// Loader of custom policies, if the scenario has some.
    policies: Option<Py<PyAny>>,
}

/// The pickled state of a scenario: text, citations, loader of custom policies, and trace in memory.
type Pickled = (String, Vec<String>, Option<Py<PyAny>>, Option<TraceTable>);

impl From<Resolved> for Scenario {
    fn from(resolved: Resolved) -> Self {
        Self { resolved, canonical: OnceLock::new(), policies: None }
    }
}

impl Scenario {
    fn loader(&self, python: Python<'_>) -> Option<Py<PyAny>> {
        self.policies.as_ref().map(|load| load.clone_ref(python))
    }

    fn text(&self) -> &str {
        self.canonical.get_or_init(|| canonical(to_value(self.resolved.scenario())))
    }
}

#[pymethods]
impl Scenario {
    /// All keys, as new dictionaries and lists.
    #[getter]
    fn values<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &to_value(self.resolved.scenario()))
    }

    /// Seed of every random stream of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.resolved.scenario().seed
    }

    /// Citation keys of the sources of the devices' and the workload's values.
    #[getter]
    fn citations(&self) -> Vec<String> {
        self.resolved.citations().to_vec()
    }

    /// Names of the devices with unknown powers.
    #[getter]
    fn unpowered(&self) -> Vec<String> {
        let drives = self.resolved.scenario().system.drives();
        drives.iter().filter(|drive| !drive.device.has_powers()).map(|drive| drive.device.name().to_owned()).collect()
    }

    /// The file and the columns of the replayed trace, if there is one.
    #[getter]
    fn trace(&self) -> Option<(PathBuf, Option<BTreeMap<String, String>>)> {
        match &self.resolved.scenario().workload {
            WorkloadSpec::Trace(trace) => Some((trace.path.clone().into(), trace.columns.clone())),
            _ => None,
        }
    }

    /// The replayed trace, if it is in memory.
    #[getter]
    fn table(&self) -> Option<TraceTable> {
        match &self.resolved.scenario().workload {
            WorkloadSpec::Trace(trace) => trace.table.clone().map(|table| TraceTable { table }),
            _ => None,
        }
    }

    /// Returns the scenario with its trace in memory.
    #[pyo3(signature = (table, columns = None))]
    fn with_table(&self, python: Python<'_>, table: &TraceTable, columns: Option<BTreeMap<String, String>>) -> Self {
        let mut scenario = self.resolved.scenario().clone();
        if let WorkloadSpec::Trace(trace) = &mut scenario.workload {
            (trace.table, trace.columns) = (Some(table.table.clone()), columns);
        }
        Self { policies: self.loader(python), ..Resolved::new(scenario, self.citations()).into() }
    }

    /// Returns the canonical JSON text, which is equal for equal scenarios. `trace`, a name and a digest, replaces the path of the trace.
    #[pyo3(signature = (trace = None))]
    fn canonical(&self, trace: Option<(String, String)>) -> String {
        let Some((name, digest)) = trace else { return self.text().to_owned() };
        let mut values = to_value(self.resolved.scenario());
        if let Some(path) = values.pointer_mut("/workload/path") {
            *path = json!([name, digest]);
        }
        canonical(values)
    }

    /// Returns the tree of components.
    fn explain<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let system = &self.resolved.scenario().system;
        let explained = errors::catch_panic(|| scenario::explain(system))?.map_err(errors::scenario)?;
        to_python(python, &to_value(&explained))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.text() == other.text()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let scenario = self.resolved.scenario();
        let kind = to_value(&scenario.workload).get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let workload = scenario.workload.stand_in().unwrap_or(&kind);
        format!("<Scenario: {workload} on {}, seed {}>", scenario.system.title(), scenario.seed)
    }

    /// Pickles the scenario as its canonical text.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let scenario = slf.get();
        let state = (scenario.text().to_owned(), scenario.citations(), scenario.loader(slf.py()), scenario.table());
        Ok((slf.get_type().getattr("_of")?, state))
    }

    #[staticmethod]
    #[pyo3(signature = (text, citations, policies = None, table = None))]
    fn _of(
        python: Python<'_>,
        text: &str,
        citations: Vec<String>,
        policies: Option<Py<PyAny>>,
        table: Option<Py<TraceTable>>,
    ) -> PyResult<Self> {
        let loader = policies.as_ref().map(|load| PythonLoader::new(load.clone_ref(python), None));
        let loader = loader.as_ref().map(|loader| loader as &dyn PluginLoader);
        let mut resolved = Resolved::reread(text, citations, loader).map_err(errors::scenario)?;
        resolved.set_table(table.map(|table| table.get().table.clone()));
        Ok(Self { policies, ..resolved.into() })
    }
}
