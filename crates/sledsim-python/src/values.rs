//! Converts values of documents to and from Python.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use serde::Serialize;
use serde_json::{Map, Value};
use sledsim::fault::{self, Fault, Kind};
use sledsim::limits::NESTING;

use crate::errors;

/// Loads NumPy's C interface.
///
/// A signal handler can run while NumPy's module is imported, and the array code panics on an exception from it. So NumPy is loaded
/// before long work, after a check for signals.
///
/// # Errors
/// NumPy can't be loaded, or a signal handler raised an exception.
pub fn load_numpy(python: Python<'_>) -> PyResult<()> {
    static LOADED: PyOnceLock<()> = PyOnceLock::new();
    LOADED.get_or_try_init(python, || {
        python.import("numpy")?;
        python.check_signals()?;
        PyArray1::<u8>::from_vec(python, Vec::new());
        Ok::<(), PyErr>(())
    })?;
    Ok(())
}

/// Converts an object of the core to a value.
pub fn to_value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

/// Returns the schemas of the parameters of one policy, from the schema of all policies.
pub fn parameters_of(schema: &Value, policy: &str) -> Value {
    let options = schema["oneOf"].as_array().into_iter().flatten();
    let found = options.map(|option| &option["properties"]).find(|keys| keys["name"]["const"] == policy);
    let mut parameters = found.cloned().unwrap_or_default();
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.shift_remove("name");
    }
    parameters
}

/// Converts a value to Python.
pub fn to_python<'py>(python: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => python.None().into_bound(python),
        Value::Bool(flag) => flag.into_pyobject(python)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_pyobject(python)?.into_any(),
            (None, Some(whole)) => whole.into_pyobject(python)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(python)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(python)?.into_any(),
        Value::Array(items) => {
            let items: PyResult<Vec<_>> = items.iter().map(|item| to_python(python, item)).collect();
            PyList::new(python, items?)?.into_any()
        }
        Value::Object(table) => {
            let keys = PyDict::new(python);
            for (key, item) in table {
                keys.set_item(key, to_python(python, item)?)?;
            }
            keys.into_any()
        }
    })
}

/// Converts a document from Python. `source` is its name in messages. Paths, `timedelta`, classes, objects with `_in_scenario` or
/// `to_dict`, and arrays and numbers of NumPy are converted to the values that a text would have.
pub fn document_of(value: &Bound<'_, PyAny>, source: &str) -> PyResult<Value> {
    read(value, NESTING.most).map_err(|error| match error {
        ConversionError::Raised(error) => error,
        ConversionError::Invalid(fault) => errors::scenario(fault.in_file(source)),
    })
}

/// The reason why a Python value can't be in a document.
enum ConversionError {
    Raised(PyErr),
    Invalid(Fault),
}

impl From<PyErr> for ConversionError {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl ConversionError {
    fn invalid(says: String) -> Self {
        Self::Invalid(Fault::new(Kind::WrongType).says(says))
    }

    fn within(self, key: &str) -> Self {
        match self {
            Self::Invalid(mut fault) => {
                fault.location.path = fault::Path::default().step(key).join(&fault.location.path);
                Self::Invalid(fault)
            }
            raised => raised,
        }
    }
}

fn read(value: &Bound<'_, PyAny>, depth: u64) -> Result<Value, ConversionError> {
    if depth == 0 {
        return Err(ConversionError::invalid(format!(": nested deeper than {} tables and lists", NESTING.most)));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.extract::<f64>()?;
        return if number.is_finite() {
            Ok(number.into())
        } else {
            Err(ConversionError::invalid(format!(": {} is not a finite number", value.repr()?)))
        };
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let items = table.iter().map(|(key, item)| {
            let key = key.str()?.to_string();
            let item = read(&item, depth - 1).map_err(|error| error.within(&key))?;
            Ok((key, item))
        });
        return Ok(Value::Object(items.collect::<Result<Map<_, _>, ConversionError>>()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.enumerate();
        let items =
            items.map(|(place, item)| read(&item?, depth - 1).map_err(|error| error.within(&place.to_string())));
        return Ok(Value::Array(items.collect::<Result<_, ConversionError>>()?));
    }
    if value.is_none() || value.is_instance_of::<PyInt>() || value.is_instance_of::<PyString>() {
        // Python's integers have any length, and its texts may have unpaired surrogates.
        let unrepresentable = |_| ConversionError::invalid(": can't be represented in a document".to_owned());
        return from_python(value).map_err(unrepresentable);
    }
    if let Ok(class) = value.cast::<PyType>() {
        return Ok(format!("{}:{}", class.module()?, class.qualname()?).into());
    }
    if value.hasattr("__fspath__")? {
        return Ok(value.str()?.to_string().into());
    }
    if value.hasattr("total_seconds")? {
        let seconds: f64 = value.call_method0("total_seconds")?.extract()?;
        return Ok(format!("{seconds:?} s").into());
    }
    for plain in ["_in_scenario", "to_dict", "tolist"] {
        if value.hasattr(plain)? {
            return read(&value.call_method0(plain)?, depth - 1);
        }
    }
    let kind = value.get_type().name()?;
    Err(ConversionError::invalid(format!(": {kind} {} has no place in a scenario", value.repr()?)))
}

/// Converts a Python value. Types that no document can hold are converted to text, and values nested too deep to null.
pub fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    converted(value, NESTING.most)
}

fn converted(value: &Bound<'_, PyAny>, depth_left: u64) -> PyResult<Value> {
    if value.is_none() || depth_left == 0 {
        Ok(Value::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(value.extract::<bool>()?.into())
    } else if value.is_instance_of::<PyString>() {
        Ok(value.extract::<String>()?.into())
    } else if let Ok(whole) = value.cast::<PyInt>() {
        let (signed, unsigned) = (whole.extract::<i64>().ok(), whole.extract::<u64>().ok());
        Ok(match (signed, unsigned) {
            (Some(whole), _) => whole.into(),
            (None, Some(whole)) => whole.into(),
            (None, None) => whole.extract::<f64>()?.into(),
        })
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(number.extract::<f64>()?.into())
    } else if let Ok(table) = value.cast::<PyDict>() {
        let items = table.iter().map(|(key, item)| Ok((key.str()?.to_string(), converted(&item, depth_left - 1)?)));
        Ok(Value::Object(items.collect::<PyResult<Map<_, _>>>()?))
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| converted(&item?, depth_left - 1));
        Ok(Value::Array(items.collect::<PyResult<_>>()?))
    } else {
        Ok(value.str()?.to_string().into())
    }
}
