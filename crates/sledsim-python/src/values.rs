//! Values of documents to and from Python.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Value};
use sledsim::limits::NESTING;

/// A value as Python has it.
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

/// A value from Python: what a document can hold, and the text of anything else; of what is nested too deep, nothing.
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
    } else if let Some(whole) = value.cast::<PyInt>().ok().and_then(|whole| whole.extract::<i64>().ok()) {
        Ok(whole.into())
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
