//! Errors of the core as Python exceptions, which carry what is wrong as data.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use serde_json::Value;
use sledsim::fault::{self, Allowed, Faults, Keys, Kind, Path, Vocabulary};
use sledsim::time::ns_to_s;

use crate::values::{from_python, to_python};

create_exception!(sledsim._core, SledsimError, PyException, "Something a user can put right; the message says how.");
create_exception!(sledsim._core, ScenarioError, SledsimError, "A scenario that can't be used.");
create_exception!(sledsim._core, TraceError, SledsimError, "A trace that can't be read or replayed.");
create_exception!(sledsim._core, RunError, SledsimError, "A run that can't go on.");

/// What an exception tells of its first fault; all of them are in `faults`.
const ATTRIBUTES: [&str; 12] = [
    "kind",
    "path",
    "field",
    "value",
    "allowed",
    "suggestion",
    "file",
    "line",
    "setting",
    "at_s",
    "request",
    "traceback",
];

/// A scenario error.
pub fn scenario(error: impl Into<Faults>) -> PyErr {
    Python::attach(|python| raised(&python.get_type::<ScenarioError>(), error.into()))
}

/// A trace error.
pub fn trace(error: impl Into<Faults>) -> PyErr {
    Python::attach(|python| raised(&python.get_type::<TraceError>(), error.into()))
}

/// An error of a run.
pub fn run(error: impl Into<Faults>) -> PyErr {
    Python::attach(|python| raised(&python.get_type::<RunError>(), error.into()))
}

/// An error of a run that a function's arguments have, in words.
pub fn misuse(says: impl Into<String>) -> PyErr {
    run(fault::Fault::new(Kind::Misfit).says(says))
}

/// What Python tells of an exception of one's own code.
pub fn told_of(python: Python<'_>, error: &PyErr) -> fault::Raised {
    let lines = || -> PyResult<Vec<String>> {
        let raised = (error.get_type(python), error.value(python), error.traceback(python));
        python.import("traceback")?.call_method1("format_exception", raised)?.extract()
    };
    fault::Raised { traceback: lines().unwrap_or_default().concat(), ..fault::Raised::default() }
}

/// The faults that an exception carries, if it is one of these.
pub fn faults_in(python: Python<'_>, error: &PyErr) -> Option<Faults> {
    let carried = error.is_instance_of::<SledsimError>(python).then(|| error.value(python).getattr("faults"))?;
    let faults: Vec<Bound<'_, Fault>> = carried.and_then(|carried| carried.extract()).ok()?;
    (!faults.is_empty()).then(|| faults.iter().map(|fault| fault.get().0.clone()).collect())
}

/// An exception of a type, with its faults.
fn raised(kind: &Bound<'_, PyType>, faults: Faults) -> PyErr {
    let text = faults.to_string();
    let faults = faults.into_iter().map(Fault).collect();
    carrying(kind, text, faults).unwrap_or_else(|error| error)
}

fn carrying(kind: &Bound<'_, PyType>, text: String, faults: Vec<Fault>) -> PyResult<PyErr> {
    let python = kind.py();
    let exception = kind.call1((text,))?;
    let faults = PyTuple::new(python, faults)?;
    if let Ok(first) = faults.get_item(0) {
        for name in ATTRIBUTES {
            exception.setattr(name, first.getattr(name)?)?;
        }
    }
    exception.setattr("faults", faults)?;
    Ok(PyErr::from_value(exception))
}

/// An exception of a type that carries faults and says them in Python's words.
#[pyfunction]
pub fn error_of(kind: &Bound<'_, PyType>, faults: Vec<Bound<'_, Fault>>) -> PyResult<Py<PyAny>> {
    let held: Faults = faults.iter().map(|fault| fault.get().0.clone()).collect();
    let text = held.to_string();
    let error = carrying(kind, text, held.into_iter().map(Fault).collect())?;
    Ok(error.into_value(kind.py()).into_any())
}

/// Gives the exceptions their attributes where nothing is known: where Python itself raises them with words alone.
pub fn prepare(python: Python<'_>) -> PyResult<()> {
    let base = python.get_type::<SledsimError>();
    for name in ATTRIBUTES {
        base.setattr(name, python.None())?;
    }
    python.get_type::<RunError>().setattr("result", python.None())?;
    base.setattr("faults", PyTuple::empty(python))
}

/// Something wrong with what a user gave, as data.
#[pyclass(frozen, eq, module = "sledsim._core")]
#[derive(Clone, PartialEq)]
pub struct Fault(fault::Fault);

impl From<fault::Fault> for Fault {
    fn from(fault: fault::Fault) -> Self {
        Self(fault)
    }
}

impl Fault {
    /// What it holds.
    pub fn held(&self) -> &fault::Fault {
        &self.0
    }
}

#[pymethods]
impl Fault {
    #[new]
    #[pyo3(
        signature = (kind, says = None, **facts),
        text_signature = "(kind, says=None, *, path=None, value=None, allowed=None, suggestion=None, file=None, \
                          line=None, field=None, told=False)"
    )]
    fn new(kind: &str, says: Option<&Bound<'_, PyAny>>, facts: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let kind: Kind = serde_json::from_value(kind.into()).map_err(|error| misuse(error.to_string()))?;
        let mut fault = fault::Fault::new(kind);
        let mut suggestion = None;
        for (name, given) in facts.into_iter().flat_map(|facts| facts.iter()).filter(|(_, given)| !given.is_none()) {
            match name.extract::<String>()?.as_str() {
                "path" => fault.path = given.extract::<String>()?.into(),
                "value" => fault.value = Some(told_value(&given)),
                "allowed" => fault.allowed = Some(allowed_of(&given)?),
                "suggestion" => suggestion = Some(given.extract()?),
                "file" => fault.file = Some(given.extract()?),
                "line" => fault.line = Some(given.extract()?),
                "field" => fault.field = Some(given.extract()?),
                "told" => fault.told = given.extract()?,
                other => return Err(PyTypeError::new_err(format!("a fault has no {other}"))),
            }
        }
        if let Some(Allowed::Names(names)) = &fault.allowed {
            let given = fault.value.as_ref().and_then(Value::as_str).or(fault.path.last()).unwrap_or_default();
            suggestion = suggestion.or(fault::nearest(given, names.iter().map(String::as_str)).map(str::to_owned));
        }
        fault.suggestion = suggestion;
        // A text, or several and keys between them, which each reader gives in an own way.
        let parts = match says {
            Some(says) if says.is_instance_of::<PyString>() => vec![says.clone()],
            Some(says) => says.try_iter()?.collect::<PyResult<_>>()?,
            None => Vec::new(),
        };
        for part in parts {
            fault = match part.extract::<(String,)>() {
                Ok((key,)) => fault.option(key),
                Err(_) => fault.says(part.extract::<String>()?),
            };
        }
        Ok(Self(fault))
    }

    /// In what way it is wrong.
    #[getter]
    fn kind(&self) -> String {
        let name = serde_json::to_value(self.0.kind).ok();
        name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The key that is wrong.
    #[getter]
    fn path(&self) -> Option<String> {
        (!self.0.path.is_empty()).then(|| self.0.path.to_string())
    }

    /// The field of a record that is wrong.
    #[getter]
    fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// What it is.
    #[getter]
    fn value<'py>(&self, python: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.value.as_ref().map(|value| to_python(python, value)).transpose()
    }

    /// What it may be: words, bounds, or a text that says it.
    #[getter]
    fn allowed<'py>(&self, python: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.0.allowed {
            None => None,
            Some(Allowed::Names(names)) => Some(PyTuple::new(python, names)?.into_any()),
            Some(Allowed::Range(range)) => {
                let mut bounds = serde_json::to_value(range).unwrap_or_default();
                if let Some(bounds) = bounds.as_object_mut() {
                    bounds.retain(|_, bound| !bound.is_null());
                }
                Some(to_python(python, &bounds)?)
            }
            Some(Allowed::Type(words)) => Some(words.into_pyobject(python)?.into_any()),
        })
    }

    /// The allowed word most like the one given.
    #[getter]
    fn suggestion(&self) -> Option<&str> {
        self.0.suggestion.as_deref()
    }

    /// The file in which it is to be put right.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// Its line there, from 1.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// Of a policy of one's own that failed: when it did, s of simulated time.
    #[getter]
    fn at_s(&self) -> Option<f64> {
        self.0.raised.as_ref().map(|raised| ns_to_s(raised.at_ns))
    }

    /// Of a policy of one's own that failed: the number of the request at hand, or of the oldest that was pending.
    #[getter]
    fn request(&self) -> Option<u64> {
        self.0.raised.as_ref().and_then(|raised| raised.request)
    }

    /// Of a policy of one's own that raised an error: what Python tells of it.
    #[getter]
    fn traceback(&self) -> Option<&str> {
        self.0.raised.as_ref().map(|raised| raised.traceback.as_str()).filter(|text| !text.is_empty())
    }

    /// The setting on top of the document that it comes from.
    #[getter]
    fn setting(&self) -> Option<&str> {
        self.0.setting.as_deref()
    }

    /// Every key that the sentence names, the wrong one first.
    #[getter]
    fn keys<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(python, self.0.keys().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// The same fault in a table that stands at `prefix`: of that table, where no key of it is wrong by itself.
    fn within(&self, prefix: &str) -> Self {
        let mut fault = self.0.clone();
        if fault.path.is_empty() {
            fault.path = prefix.into();
            return Self(fault);
        }
        Self(fault.within(prefix))
    }

    /// The same fault, of what `about` names, `instead` of a setting that made it.
    #[pyo3(signature = (about, *, instead = false))]
    fn about(&self, about: &str, instead: bool) -> Self {
        let mut fault = self.0.clone().about(about);
        fault.setting = fault.setting.take().filter(|_| !instead);
        Self(fault)
    }

    /// The same fault, of an option of a command: no document has it.
    fn of_option(&self, option: &str) -> Self {
        let mut fault = self.0.clone();
        fault.path = Path::default().step(option);
        (fault.file, fault.line, fault.setting) = (None, None, None);
        Self(fault)
    }

    /// The sentence; `words` says how its reader gives a key, and a value if there is one.
    #[pyo3(signature = (words = None))]
    fn text(&self, words: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let Some(words) = words else { return Ok(self.0.to_string()) };
        let spoken = Spoken { words, raised: RefCell::new(None) };
        let text = self.0.text(&spoken);
        spoken.raised.into_inner().map_or(Ok(text), Err)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Fault {}: {}>", self.kind(), self.0)
    }

    /// Through what it holds, as text: one process hands it to another.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let held = serde_json::to_string(&slf.get().0).map_err(|error| misuse(error.to_string()))?;
        Ok((slf.get_type().getattr("_of")?, (held,)))
    }

    #[staticmethod]
    fn _of(held: &str) -> PyResult<Self> {
        Ok(Self(serde_json::from_str(held).map_err(|error| misuse(error.to_string()))?))
    }
}

/// A value of whatever kind; what no document could hold as text.
fn told_value(given: &Bound<'_, PyAny>) -> Value {
    let held = from_python(given).unwrap_or_default();
    if held.is_null() {
        given.str().map_or(Value::Null, |text| text.to_string().into())
    } else {
        held
    }
}

/// What is allowed: a text, bounds by name, or words.
fn allowed_of(given: &Bound<'_, PyAny>) -> PyResult<Allowed> {
    if given.is_instance_of::<PyString>() {
        return Ok(Allowed::Type(given.extract()?));
    }
    if given.is_instance_of::<PyDict>() {
        return serde_json::from_value(from_python(given)?)
            .map(Allowed::Range)
            .map_err(|error| misuse(error.to_string()));
    }
    Ok(Allowed::Names(given.extract()?))
}

/// The words of a reader, which a Python function has.
struct Spoken<'a, 'py> {
    words: &'a Bound<'py, PyAny>,
    raised: RefCell<Option<PyErr>>,
}

impl Vocabulary for Spoken<'_, '_> {
    fn setting(&self, path: &Path, value: Option<&Value>) -> String {
        let said = value.map(|value| to_python(self.words.py(), value)).transpose();
        let said = said.and_then(|value| self.words.call1((path.to_string(), value))?.extract());
        said.unwrap_or_else(|error| {
            *self.raised.borrow_mut() = Some(error);
            Keys.setting(path, value)
        })
    }
}

/// Does some of the core's work; a panic in it becomes an error, so that none crosses into Python.
///
/// What was being worked on is dropped with the panic, so nothing half-done is seen again.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let what = describe(panic.as_ref());
        let says = format!(
            "numbers beyond what the simulator can hold, or a defect in it ({what}): use less extreme parameters"
        );
        run(fault::Fault::new(Kind::OutOfRange).says(says))
    })
}

fn describe(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// So many words of `known`, those most like `given` first.
#[pyfunction]
pub fn most_like(given: &str, known: Vec<String>, count: usize) -> Vec<String> {
    let words = fault::most_like(given, known.iter().map(String::as_str));
    words.into_iter().take(count).map(str::to_owned).collect()
}

/// The word of `known` that was perhaps meant by `given`.
#[pyfunction]
pub fn nearest(given: &str, known: Vec<String>) -> Option<String> {
    fault::nearest(given, known.iter().map(String::as_str)).map(str::to_owned)
}
