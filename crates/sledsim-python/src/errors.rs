//! Converts errors of the core to Python exceptions with faults as data.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use serde_json::Value;
use sledsim::fault::{self, Allowed, Faults, Keys, Kind, Path, Vocabulary};
use sledsim::time::ns_to_s;

use crate::values::{from_python, to_python};

create_exception!(
    sledsim._core,
    SledsimError,
    PyException,
    "An error that the user can correct; the message says how."
);
create_exception!(sledsim._core, ScenarioError, SledsimError, "An invalid scenario.");
create_exception!(sledsim._core, TraceError, SledsimError, "A trace that can't be read or replayed.");
create_exception!(sledsim._core, RunError, SledsimError, "A run that can't be continued.");

/// Attributes of an exception, which are those of its first fault. `faults` has all.
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

/// Returns a `ScenarioError`.
pub fn scenario(error: impl Into<Faults>) -> PyErr {
    Python::attach(|python| exception(&python.get_type::<ScenarioError>(), error.into()))
}

/// Returns a `TraceError`.
pub fn trace(error: impl Into<Faults>) -> PyErr {
    Python::attach(|python| exception(&python.get_type::<TraceError>(), error.into()))
}

/// Returns a `RunError`.
pub fn run(error: impl Into<Faults>) -> PyErr {
    Python::attach(|python| exception(&python.get_type::<RunError>(), error.into()))
}

/// Returns a `RunError` for invalid arguments of a function.
pub fn invalid_argument(says: impl Into<String>) -> PyErr {
    run(fault::Fault::new(Kind::Misfit).says(says))
}

/// Returns the traceback of an exception of custom code.
pub fn traceback_of(python: Python<'_>, error: &PyErr) -> fault::PolicyError {
    let lines = || -> PyResult<Vec<String>> {
        let raised = (error.get_type(python), error.value(python), error.traceback(python));
        python.import("traceback")?.call_method1("format_exception", raised)?.extract()
    };
    fault::PolicyError { traceback: lines().unwrap_or_default().concat(), ..fault::PolicyError::default() }
}

/// Returns the faults of an exception, if it is a `SledsimError`.
pub fn faults_in(python: Python<'_>, error: &PyErr) -> Option<Faults> {
    let carried = error.is_instance_of::<SledsimError>(python).then(|| error.value(python).getattr("faults"))?;
    let faults: Vec<Bound<'_, Fault>> = carried.and_then(|carried| carried.extract()).ok()?;
    (!faults.is_empty()).then(|| faults.iter().map(|fault| fault.get().0.clone()).collect())
}

/// Returns an exception of a type with its faults.
fn exception(kind: &Bound<'_, PyType>, faults: Faults) -> PyErr {
    let text = faults.to_string();
    let faults = faults.into_iter().map(Fault).collect();
    exception_with_text(kind, text, faults).unwrap_or_else(|error| error)
}

fn exception_with_text(kind: &Bound<'_, PyType>, text: String, faults: Vec<Fault>) -> PyResult<PyErr> {
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

/// Returns an exception of a type with these faults.
#[pyfunction]
pub fn error_of(kind: &Bound<'_, PyType>, faults: Vec<Bound<'_, Fault>>) -> PyResult<Py<PyAny>> {
    let held: Faults = faults.iter().map(|fault| fault.get().0.clone()).collect();
    let text = held.to_string();
    let error = exception_with_text(kind, text, held.into_iter().map(Fault).collect())?;
    Ok(error.into_value(kind.py()).into_any())
}

/// Gives the exception classes default attributes, for exceptions that Python code raises with a message only.
pub fn prepare(python: Python<'_>) -> PyResult<()> {
    let base = python.get_type::<SledsimError>();
    for name in ATTRIBUTES {
        base.setattr(name, python.None())?;
    }
    python.get_type::<RunError>().setattr("result", python.None())?;
    base.setattr("faults", PyTuple::empty(python))
}

/// A fault in the user's input, as data.
#[pyclass(frozen, eq, module = "sledsim._core")]
#[derive(Clone, PartialEq)]
pub struct Fault(fault::Fault);

impl From<fault::Fault> for Fault {
    fn from(fault: fault::Fault) -> Self {
        Self(fault)
    }
}

impl Fault {
    /// Returns the fault of the core.
    pub fn inner(&self) -> &fault::Fault {
        &self.0
    }
}

#[pymethods]
impl Fault {
    #[new]
    #[pyo3(
        signature = (kind, says = None, **facts),
        text_signature = "(kind, says=None, *, path=None, value=None, allowed=None, suggestion=None, file=None, \
                          line=None, field=None, message_is_complete=False)"
    )]
    fn new(kind: &str, says: Option<&Bound<'_, PyAny>>, facts: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let kind: Kind = serde_json::from_value(kind.into()).map_err(|error| invalid_argument(error.to_string()))?;
        let mut fault = fault::Fault::new(kind);
        let mut suggestion = None;
        for (name, given) in facts.into_iter().flat_map(|facts| facts.iter()).filter(|(_, given)| !given.is_none()) {
            match name.extract::<String>()?.as_str() {
                "path" => fault.location.path = given.extract::<String>()?.into(),
                "value" => fault.value = Some(value_or_text(&given)),
                "allowed" => fault.allowed = Some(allowed_of(&given)?),
                "suggestion" => suggestion = Some(given.extract()?),
                "file" => fault.location.file = Some(given.extract()?),
                "line" => fault.location.line = Some(given.extract()?),
                "field" => fault.location.field = Some(given.extract()?),
                "message_is_complete" => fault.message_is_complete = given.extract()?,
                other => return Err(PyTypeError::new_err(format!("a fault has no attribute {other}"))),
            }
        }
        if let Some(Allowed::Names(names)) = &fault.allowed {
            let given = fault.value.as_ref().and_then(Value::as_str).or(fault.location.path.last()).unwrap_or_default();
            suggestion = suggestion.or(fault::nearest(given, names.iter().map(String::as_str)).map(str::to_owned));
        }
        fault.suggestion = suggestion;
        // A text, or a list of texts and keys. Keys are 1-tuples: each reader formats them in its own way.
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

    /// The kind of fault.
    #[getter]
    fn kind(&self) -> String {
        let name = serde_json::to_value(self.0.kind).ok();
        name.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The path of the key.
    #[getter]
    fn path(&self) -> Option<String> {
        (!self.0.location.path.is_empty()).then(|| self.0.location.path.to_string())
    }

    /// The field of the trace record.
    #[getter]
    fn field(&self) -> Option<&str> {
        self.0.location.field.as_deref()
    }

    /// The value.
    #[getter]
    fn value<'py>(&self, python: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.value.as_ref().map(|value| to_python(python, value)).transpose()
    }

    /// The allowed values: names, bounds, or a text.
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

    /// The allowed name that is most similar to the given one.
    #[getter]
    fn suggestion(&self) -> Option<&str> {
        self.0.suggestion.as_deref()
    }

    /// The file with the fault.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.0.location.file.as_deref()
    }

    /// The line in the file, from 1.
    #[getter]
    fn line(&self) -> Option<u64> {
        self.0.location.line
    }

    /// The simulated time at which a custom policy failed, s.
    #[getter]
    fn at_s(&self) -> Option<f64> {
        self.0.policy_error.as_ref().map(|raised| ns_to_s(raised.at_ns))
    }

    /// The number of the request with which a custom policy failed, or of the oldest pending request.
    #[getter]
    fn request(&self) -> Option<u64> {
        self.0.policy_error.as_ref().and_then(|raised| raised.request)
    }

    /// The traceback of the exception that a custom policy raised.
    #[getter]
    fn traceback(&self) -> Option<&str> {
        self.0.policy_error.as_ref().map(|raised| raised.traceback.as_str()).filter(|text| !text.is_empty())
    }

    /// The setting with the fault.
    #[getter]
    fn setting(&self) -> Option<&str> {
        self.0.location.setting.as_deref()
    }

    /// All keys in the message, that of the fault first.
    #[getter]
    fn keys<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(python, self.0.keys().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// Returns the fault with `prefix` before its path. A fault without a path gets the path `prefix`.
    fn within(&self, prefix: &str) -> Self {
        let mut fault = self.0.clone();
        if fault.location.path.is_empty() {
            fault.location.path = prefix.into();
            return Self(fault);
        }
        Self(fault.within(prefix))
    }

    /// Returns the fault with the subject `about`; with `instead`, without its setting.
    #[pyo3(signature = (about, *, instead = false))]
    fn about(&self, about: &str, instead: bool) -> Self {
        let mut fault = self.0.clone().about(about);
        fault.location.setting = fault.location.setting.take().filter(|_| !instead);
        Self(fault)
    }

    /// Returns the fault for an option of a command, without file, line and setting.
    fn of_option(&self, option: &str) -> Self {
        let mut fault = self.0.clone();
        fault.location.path = Path::default().step(option);
        (fault.location.file, fault.location.line, fault.location.setting) = (None, None, None);
        Self(fault)
    }

    /// Returns the message. `words` formats a key with an optional value for the reader.
    #[pyo3(signature = (words = None))]
    fn text(&self, words: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
        let Some(words) = words else { return Ok(self.0.to_string()) };
        let vocabulary = PythonVocabulary { words, raised: RefCell::new(None) };
        let text = self.0.text(&vocabulary);
        vocabulary.raised.into_inner().map_or(Ok(text), Err)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Fault {}: {}>", self.kind(), self.0)
    }

    /// Pickles the fault as JSON.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = serde_json::to_string(&slf.get().0).map_err(|error| invalid_argument(error.to_string()))?;
        Ok((slf.get_type().getattr("_of")?, (text,)))
    }

    #[staticmethod]
    fn _of(text: &str) -> PyResult<Self> {
        Ok(Self(serde_json::from_str(text).map_err(|error| invalid_argument(error.to_string()))?))
    }
}

/// Converts a value; a value that no document can hold is converted to text.
fn value_or_text(given: &Bound<'_, PyAny>) -> Value {
    let value = from_python(given).unwrap_or_default();
    if value.is_null() {
        given.str().map_or(Value::Null, |text| text.to_string().into())
    } else {
        value
    }
}

/// Converts the allowed values: a text, a dictionary of bounds, or names.
fn allowed_of(given: &Bound<'_, PyAny>) -> PyResult<Allowed> {
    if given.is_instance_of::<PyString>() {
        return Ok(Allowed::Type(given.extract()?));
    }
    if given.is_instance_of::<PyDict>() {
        return serde_json::from_value(from_python(given)?)
            .map(Allowed::Range)
            .map_err(|error| invalid_argument(error.to_string()));
    }
    Ok(Allowed::Names(given.extract()?))
}

/// Formats keys by a Python function.
struct PythonVocabulary<'a, 'py> {
    words: &'a Bound<'py, PyAny>,
    raised: RefCell<Option<PyErr>>,
}

impl Vocabulary for PythonVocabulary<'_, '_> {
    fn setting(&self, path: &Path, value: Option<&Value>) -> String {
        let value_in_python = value.map(|value| to_python(self.words.py(), value)).transpose();
        let text = value_in_python.and_then(|value| self.words.call1((path.to_string(), value))?.extract());
        text.unwrap_or_else(|error| {
            *self.raised.borrow_mut() = Some(error);
            Keys.setting(path, value)
        })
    }
}

/// Simulations that may run within each other: a custom policy can run another one. Each takes a part of the thread's stack.
const MOST_NESTED: u32 = 8;

thread_local! {
    /// Number of simulations that run within each other on this thread.
    static NESTED: Cell<u32> = const { Cell::new(0) };
}

/// Runs `work` of the core, and converts a panic to an error. It is also an error if simulations are nested too deep.
///
/// The callers drop the object that `work` used, so its state is not used again.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let depth = NESTED.get();
    if depth >= MOST_NESTED {
        let says =
            format!("simulations are nested deeper than {MOST_NESTED}: does a custom policy run its own scenario?");
        return Err(run(fault::Fault::new(Kind::Unsupported).says(says)));
    }
    NESTED.set(depth + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    NESTED.set(depth);
    outcome.map_err(|panic| {
        let what = describe(panic.as_ref());
        let says = format!("a number overflowed, or the simulator has a defect ({what}): use less extreme parameters");
        run(fault::Fault::new(Kind::OutOfRange).says(says))
    })
}

fn describe(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Returns the `count` names of `known` that are most similar to `given`, the most similar first.
#[pyfunction]
pub fn most_like(given: &str, known: Vec<String>, count: usize) -> Vec<String> {
    let words = fault::most_like(given, known.iter().map(String::as_str));
    words.into_iter().take(count).map(str::to_owned).collect()
}

/// Returns the name of `known` that `given` is probably a misspelling of.
#[pyfunction]
pub fn nearest(given: &str, known: Vec<String>) -> Option<String> {
    fault::nearest(given, known.iter().map(String::as_str)).map(str::to_owned)
}
