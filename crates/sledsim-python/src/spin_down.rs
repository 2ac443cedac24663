//! Spin-down policies that are Python classes, and what they see.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::own::OwnSpinDown;
use sledsim::power::Mode;
use sledsim::request::Request as Asked;
use sledsim::time::Time;

use crate::guard::Place;
use crate::pending::{Lent, Request, Shared};
use crate::policy::{Class, Instance};

/// The idle modes of a device, the ready one first: an array for each quantity, an entry for each mode.
#[pyclass(frozen, module = "sledsim._core")]
#[derive(Default)]
pub struct Modes(Lent<Vec<Mode>>);

#[pymethods]
impl Modes {
    /// What reports call them.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.with(|modes| modes.iter().map(|mode| mode.name.clone()).collect())
    }

    /// Powers in them, W.
    #[getter]
    fn power_w<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.array(python, |modes| modes.iter().map(|mode| mode.power_w).collect())
    }

    /// Idle times after which the device enters them by itself, ns; -1 for never.
    #[getter]
    fn after_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let after_ns = |mode: &Mode| mode.after_ns.map_or(-1, |after_ns| after_ns as i64);
        self.0.array(python, |modes| modes.iter().map(after_ns).collect())
    }

    /// Times to be ready again, ns.
    #[getter]
    fn wake_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |modes| modes.iter().map(|mode| mode.wake_ns as i64).collect())
    }

    /// Powers during those times, W.
    #[getter]
    fn wake_w<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.array(python, |modes| modes.iter().map(|mode| mode.wake_w).collect())
    }

    fn __len__(&self) -> usize {
        self.0.with(|modes| modes.len())
    }

    fn __repr__(&self) -> String {
        format!("<Modes: {}>", self.names().join(", "))
    }
}

/// An instance of a class.
#[derive(Clone)]
pub struct PythonSpinDown {
    instance: Instance<Methods>,
    /// What it sees.
    modes: Shared<Modes>,
}

/// Those of the methods that the class has.
struct Methods {
    after_ns: Py<PyAny>,
    ended: Option<Py<PyAny>>,
    served: Option<Py<PyAny>>,
}

fn methods(python: Python<'_>, class: &Class, object: &Py<PyAny>) -> PyResult<Methods> {
    let method = |name: &str| object.getattr(python, name);
    Ok(Methods {
        after_ns: method("after_ns")?,
        ended: class.hooks.0.then(|| method("ended")).transpose()?,
        served: class.hooks.1.then(|| method("served")).transpose()?,
    })
}

impl PythonSpinDown {
    /// One to which nothing has happened yet.
    ///
    /// # Errors
    /// The class can't make one.
    pub fn new(class: &Arc<Class>) -> Result<Self, Fault> {
        let (instance, modes) = Instance::shown(class, methods)?;
        Ok(Self { instance, modes })
    }

    /// What shows the modes of the device.
    fn shown<'a, 'py>(&'a self, python: Python<'py>, modes: &[Mode]) -> &'a Bound<'py, Modes> {
        let view = self.modes.0.bind(python);
        view.get().0.with(|held| {
            if held != modes {
                *held = modes.to_vec();
            }
        });
        view
    }
}

impl OwnSpinDown for PythonSpinDown {
    fn name(&self) -> &str {
        self.instance.name()
    }

    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop> {
        let method = &self.instance.methods()?.after_ns;
        Python::attach(|python| {
            let arguments = (now.ns(), mode, self.shown(python, modes));
            let answer = self.instance.call(python, ("after_ns", method), Place::at(now, None), arguments)?;
            answer.extract::<Option<u64>>().map_err(|_| {
                self.instance.nonsense("after_ns", &answer, "None or a whole number of nanoseconds of at least 0")
            })
        })
    }

    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        let Some(method) = &self.instance.methods()?.ended else { return Ok(()) };
        Python::attach(|python| {
            let arguments = (now.ns(), idle_ns, self.shown(python, modes));
            self.instance.call(python, ("ended", method), Place::at(now, None), arguments).map(drop)
        })
    }

    fn served(&mut self, now: Time, request: &Asked) -> Result<(), Stop> {
        let Some(method) = &self.instance.methods()?.served else { return Ok(()) };
        let (arguments, place) = ((now.ns(), Request::from(request)), Place::at(now, Some(request.id)));
        Python::attach(|python| self.instance.call(python, ("served", method), place, arguments).map(drop))
    }
}
