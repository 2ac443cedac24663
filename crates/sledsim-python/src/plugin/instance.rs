//! Instances of Python classes: calls of their methods, with a time limit and errors as faults.

use std::sync::Arc;
use std::time::Duration;

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Kind};

use super::guard::{Guard, OverTime, Place};
use super::raised;
use super::views::Shared;
use crate::errors;
use crate::values::load_numpy;

/// Greatest number of characters of an answer in a message.
const LONGEST_SHOWN: usize = 80;

/// The name of copying an instance in messages.
const COPIED: &str = "__deepcopy__";

/// A class with its parameters.
pub struct Class {
    pub name: String,
    /// Makes an instance.
    pub make: Py<PyAny>,
    pub uses_positioning: bool,
    /// Time limit of a call.
    pub limit: Duration,
    /// Names of the optional methods that the class defines.
    pub hooks: Vec<String>,
}

/// The methods of a role.
pub struct Methods {
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

/// The bound methods of an object.
type Bindings = Vec<(&'static str, Py<PyAny>)>;

/// An instance of a class.
pub struct Instance {
    class: Arc<Class>,
    guard: Arc<Guard>,
    object: Py<PyAny>,
    methods: &'static Methods,
    /// The error of copying the instance, if it failed.
    bound: Result<Bindings, Fault>,
}

impl Instance {
    /// Makes an instance and calls `start` with it.
    ///
    /// # Errors
    /// The class raised an error, or lacks a method.
    pub fn new(
        class: &Arc<Class>,
        methods: &'static Methods,
        start: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<()>,
    ) -> Result<Self, Fault> {
        Python::attach(|python| {
            let guard = Guard::new(&class.name, class.limit);
            let made = guard.call(python, Some("__init__"), Place::default(), || {
                let object = class.make.call0(python)?;
                start(python, &object)?;
                Ok((bind(python, class, methods, &object)?, object))
            });
            let (bound, object) = made.map_err(|error| failed(python, &guard, None, &error))?;
            Ok(Self { class: Arc::clone(class), guard, object, methods, bound: Ok(bound) })
        })
    }

    /// Makes an instance, and a view of arrays for its calls.
    ///
    /// # Errors
    /// As [`Instance::new`].
    pub fn with_view<V>(class: &Arc<Class>, methods: &'static Methods) -> Result<(Self, Shared<V>), Fault>
    where
        V: Default + Into<PyClassInitializer<V>> + PyClass,
    {
        let instance = Self::new(class, methods, |python, _| load_numpy(python))?;
        let view = Python::attach(|python| {
            Py::new(python, V::default()).map_err(|error| raised(python, &class.name, &error))
        })?;
        Ok((instance, Shared(view)))
    }

    pub fn class(&self) -> &Class {
        &self.class
    }

    /// Returns the value of an attribute that is a whole number.
    ///
    /// # Errors
    /// It is not, or reading it raised an error.
    pub fn whole_number(&self, name: &'static str) -> Result<u64, Fault> {
        Python::attach(|python| {
            let value =
                self.guard.call(python, Some(name), Place::default(), || self.object.bind(python).getattr(name));
            let value = value.map_err(|error| failed(python, &self.guard, Some(name), &error))?;
            value
                .extract::<u64>()
                .map_err(|_| self.fault(&format!("{name} is {}: expected a whole number", shown(&value))))
        })
    }

    /// Returns true if the class defines an optional method.
    pub fn has(&self, name: &str) -> bool {
        self.bound.as_ref().is_ok_and(|bound| bound.iter().any(|(known, _)| *known == name))
    }

    /// Calls a method; `None` if it is an optional method that the class does not define.
    ///
    /// # Errors
    /// The method raised an error or took too long, or the instance could not be copied.
    pub fn call<'py, A: PyCallArgs<'py>>(
        &self,
        python: Python<'py>,
        name: &'static str,
        place: Place,
        arguments: A,
    ) -> Result<Option<Bound<'py, PyAny>>, Stop> {
        let bound = self.bound.as_ref().map_err(|fault| Stop::Failed(fault.clone()))?;
        let Some((_, method)) = bound.iter().find(|(known, _)| *known == name) else { return Ok(None) };
        let answer = self.guard.call(python, Some(name), place, || method.bind(python).call1(arguments));
        answer.map(Some).map_err(|error| self.stop(python, name, &error))
    }

    /// Calls a method and converts its answer.
    ///
    /// # Errors
    /// As [`Instance::call`], or the answer is invalid: with a description of valid ones.
    pub fn ask<'py, A: PyCallArgs<'py>, T>(
        &self,
        python: Python<'py>,
        name: &'static str,
        place: Place,
        arguments: A,
        convert: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, String>,
    ) -> Result<T, Stop> {
        let answer = self.call(python, name, place, arguments)?;
        let answer = answer.unwrap_or_else(|| python.None().into_bound(python));
        convert(&answer).map_err(|expected| {
            let says = format!("{name} returned {}: expected {expected}", shown(&answer));
            Stop::Failed(self.fault(&says))
        })
    }

    /// Calls a method without a result, if the class defines it.
    ///
    /// # Errors
    /// As [`Instance::call`].
    pub fn notify<A: for<'py> PyCallArgs<'py>>(
        &self,
        name: &'static str,
        place: Place,
        arguments: impl FnOnce(Python<'_>) -> A,
    ) -> Result<(), Stop> {
        if self.bound.is_ok() && !self.has(name) {
            return Ok(());
        }
        Python::attach(|python| self.call(python, name, place, arguments(python)).map(drop))
    }

    /// Returns the stop of a method that raised an error.
    pub fn stop(&self, python: Python<'_>, method: &str, error: &PyErr) -> Stop {
        if error.is_instance_of::<PyKeyboardInterrupt>(python) {
            return Stop::Interrupted;
        }
        Stop::Failed(failed(python, &self.guard, Some(method), error))
    }

    fn fault(&self, says: &str) -> Fault {
        Fault::new(Kind::Policy).says(format!("{}.{says}", self.class.name))
    }

    fn copy(&self, python: Python<'_>) -> PyResult<(Py<PyAny>, Bindings)> {
        self.guard.call(python, Some(COPIED), Place::default(), || {
            let object = python.import("copy")?.call_method1("deepcopy", (&self.object,))?.unbind();
            let bound = bind(python, &self.class, self.methods, &object)?;
            Ok((object, bound))
        })
    }
}

impl Clone for Instance {
    /// A copy by `copy.deepcopy`. If that fails, each call of the copy returns the error.
    fn clone(&self) -> Self {
        let class = Arc::clone(&self.class);
        Python::attach(|python| {
            let copied = match &self.bound {
                Err(fault) => Err(fault.clone()),
                Ok(_) => self.copy(python).map_err(|error| {
                    if error.is_instance_of::<OverTime>(python) {
                        failed(python, &self.guard, Some(COPIED), &error)
                    } else {
                        raised(python, &format!("a copy of {}", class.name), &error)
                    }
                }),
            };
            let (object, bound) = match copied {
                Ok((object, bound)) => (object, Ok(bound)),
                Err(fault) => (python.None(), Err(fault)),
            };
            Self { guard: Guard::new(&class.name, class.limit), class, object, methods: self.methods, bound }
        })
    }
}

fn bind(python: Python<'_>, class: &Class, methods: &Methods, object: &Py<PyAny>) -> PyResult<Bindings> {
    let hooks = methods.optional.iter().filter(|name| class.hooks.iter().any(|hook| hook == *name));
    methods.required.iter().chain(hooks).map(|&name| Ok((name, object.getattr(python, name)?))).collect()
}

/// Returns the fault of a call of a class, or of one of its methods, that raised an error.
fn failed(python: Python<'_>, guard: &Guard, method: Option<&str>, error: &PyErr) -> Fault {
    if error.is_instance_of::<OverTime>(python) {
        let mut over = guard.time_limit_fault(method.or(Some("__init__")));
        over.policy_error = Some(errors::traceback_of(python, error));
        return over;
    }
    let what = method.map(|method| format!(".{method}")).unwrap_or_default();
    raised(python, &format!("{}{what}", guard.name()), error)
}

/// Returns the start of a value's representation.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let whole = value.repr().map_or_else(|_| "a value without a representation".into(), |text| text.to_string());
    whole.chars().take(LONGEST_SHOWN).collect()
}
