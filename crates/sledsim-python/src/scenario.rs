//! Scenarios with every key: what is written crosses the border once, and is handed about whole from then on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::{json, Value};
use sledsim::own::Door;
use sledsim::scenario::{self, canonical, Catalog, Draft, Resolved};
use sledsim::workloads::WorkloadSpec;

use crate::policy::PythonDoor;
use crate::values::{held, to_python};
use crate::{document, errors};

/// JSON Schema of a scenario as a user writes it: as typed classes hold it, or as a file may.
#[pyfunction]
#[pyo3(signature = (*, document = false))]
pub fn schema(python: Python<'_>, document: bool) -> PyResult<Bound<'_, PyAny>> {
    let schema = if document { scenario::document_schema() } else { scenario::user_schema() };
    to_python(python, &schema)
}

/// JSON Schema of a run's summary, with a description of every key.
#[pyfunction]
pub fn result_schema(python: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(python, &scenario::report_schema())
}

/// A scenario as written, before settings and defaults: read once, resolved as often as one likes.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Written {
    draft: Draft,
    text: String,
    catalog: Catalog,
    base_dir: PathBuf,
    policies: Option<Py<PyAny>>,
}

impl Written {
    /// A document that has been read; `policies` finds policies of one's own, `drawings` makes devices from drawings.
    pub fn of(
        python: Python<'_>,
        draft: Draft,
        text: String,
        catalog: Vec<PathBuf>,
        base_dir: PathBuf,
        policies: Option<Py<PyAny>>,
        drawings: Option<Py<PyAny>>,
    ) -> Self {
        let mut catalog = Catalog::new(catalog);
        if let Some(load) = &policies {
            catalog = catalog.with_door(Arc::new(PythonDoor::new(load.clone_ref(python), drawings)));
        }
        Self { draft, text, catalog, base_dir, policies }
    }
}

#[pymethods]
impl Written {
    /// Reads a text in a notation, or a dictionary, which messages call `name`.
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

    /// What messages call it.
    #[getter]
    fn name(&self) -> &str {
        self.draft.source()
    }

    /// The text; of a dictionary or a table, what it says as JSON.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The folder from which its relative paths start.
    #[getter]
    fn base_dir(&self) -> Cow<'_, str> {
        self.base_dir.to_string_lossy()
    }

    /// Lays settings over it, fills in every default and checks all. The GIL is released meanwhile.
    #[pyo3(signature = (sets = Vec::new()))]
    fn resolve(&self, python: Python<'_>, sets: Vec<String>) -> PyResult<Scenario> {
        let work = || self.draft.clone().set(&sets).resolve(&self.catalog, &self.base_dir);
        let resolved = python.detach(|| errors::guarded(work))?.map_err(errors::scenario)?;
        let policies = self.policies.as_ref().filter(|_| resolved.has_own_policies());
        Ok(Scenario { policies: policies.map(|load| load.clone_ref(python)), ..resolved.into() })
    }
}

/// A scenario with every key explicit.
#[pyclass(frozen, module = "sledsim._core")]
pub struct Scenario {
    pub resolved: Resolved,
    /// The text that only equal scenarios have, once somebody asked for it.
    canonical: OnceLock<String>,
    /// What finds its policies of one's own, where it has some.
    policies: Option<Py<PyAny>>,
}

/// What one process tells another of a scenario: its text, what it cites, and what finds its policies.
type Told = (String, Vec<String>, Option<Py<PyAny>>);

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
        self.canonical.get_or_init(|| canonical(held(self.resolved.scenario())))
    }
}

#[pymethods]
impl Scenario {
    /// Every key, as plain dictionaries and lists that are the caller's own.
    #[getter]
    fn values<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(python, &held(self.resolved.scenario()))
    }

    /// Seed of every random stream of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.resolved.scenario().seed
    }

    /// Keys of the works that the values of the devices and of the workload are taken from.
    #[getter]
    fn citations(&self) -> Vec<String> {
        self.resolved.citations().to_vec()
    }

    /// Names of the devices whose powers are not known.
    #[getter]
    fn unpowered(&self) -> Vec<String> {
        let drives = self.resolved.scenario().system.drives();
        drives.iter().filter(|drive| !drive.device.has_powers()).map(|drive| drive.device.name().to_owned()).collect()
    }

    /// The file and the columns of the trace that it replays, if it replays one.
    #[getter]
    fn trace(&self) -> Option<(PathBuf, Option<BTreeMap<String, String>>)> {
        match &self.resolved.scenario().workload {
            WorkloadSpec::Trace(trace) => Some((trace.path.clone().into(), trace.columns.clone())),
            _ => None,
        }
    }

    /// The same with another file of the same trace, in a format.
    fn with_trace(&self, python: Python<'_>, path: String, format: String) -> Self {
        let mut scenario = self.resolved.scenario().clone();
        if let WorkloadSpec::Trace(trace) = &mut scenario.workload {
            (trace.path, trace.format) = (path, format);
        }
        Self { policies: self.loader(python), ..Resolved::new(scenario, self.citations()).into() }
    }

    /// The one text that equal scenarios have, in JSON; with a name and a digest in the place of its trace's path.
    #[pyo3(signature = (trace = None))]
    fn canonical(&self, trace: Option<(String, String)>) -> String {
        let Some((name, digest)) = trace else { return self.text().to_owned() };
        let mut values = held(self.resolved.scenario());
        if let Some(path) = values.pointer_mut("/workload/path") {
            *path = json!([name, digest]);
        }
        canonical(values)
    }

    /// The components as a tree.
    fn explain<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let system = &self.resolved.scenario().system;
        let explained = errors::guarded(|| scenario::explain(system))?.map_err(errors::scenario)?;
        to_python(python, &held(&explained))
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
        let kind = held(&scenario.workload).get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let workload = scenario.workload.stand_in().unwrap_or(&kind);
        format!("<Scenario: {workload} on {}, seed {}>", scenario.system.title(), scenario.seed)
    }

    /// Through its text: one process hands it to another.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Told)> {
        let scenario = slf.get();
        let told = (scenario.text().to_owned(), scenario.citations(), scenario.loader(slf.py()));
        Ok((slf.get_type().getattr("_of")?, told))
    }

    #[staticmethod]
    #[pyo3(signature = (text, citations, policies = None))]
    fn _of(python: Python<'_>, text: &str, citations: Vec<String>, policies: Option<Py<PyAny>>) -> PyResult<Self> {
        let door = policies.as_ref().map(|load| PythonDoor::new(load.clone_ref(python), None));
        let door = door.as_ref().map(|door| door as &dyn Door);
        let resolved = Resolved::reread(text, citations, door).map_err(errors::scenario)?;
        Ok(Self { policies, ..resolved.into() })
    }
}
