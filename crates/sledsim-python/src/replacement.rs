//! Replacement policies of one's own that are Python classes.

use std::sync::Arc;

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::own::OwnReplacement;
use sledsim::time::Time;

use crate::guard::Place;
use crate::policy::{Class, Instance};

/// An instance of a class, and its methods.
#[derive(Clone)]
pub struct PythonReplacement {
    instance: Instance<Methods>,
    slots: u32,
    /// Where the run is; a cache without a clock does not say.
    place: Place,
}

/// Those of the methods that the class has.
struct Methods {
    victim: Py<PyAny>,
    admitted: Py<PyAny>,
    hit: Py<PyAny>,
    admits: Option<Py<PyAny>>,
    removed: Option<Py<PyAny>>,
}

fn methods(python: Python<'_>, class: &Class, object: &Py<PyAny>) -> PyResult<Methods> {
    let method = |name: &str| object.getattr(python, name);
    Ok(Methods {
        victim: method("victim")?,
        admitted: method("admitted")?,
        hit: method("hit")?,
        admits: class.hooks.0.then(|| method("admits")).transpose()?,
        removed: class.hooks.1.then(|| method("removed")).transpose()?,
    })
}

impl PythonReplacement {
    /// An instance for a cache of so many slots.
    ///
    /// # Errors
    /// The class can't make one.
    pub fn new(class: &Arc<Class>, slots: u32) -> Result<Self, Fault> {
        let started =
            |python: Python<'_>, object: &Py<PyAny>| object.call_method1(python, "started", (slots,)).map(drop);
        Ok(Self { instance: Instance::new(class, started, methods)?, slots, place: Place::default() })
    }

    fn tell<A: for<'py> PyCallArgs<'py>>(
        &self,
        name: &'static str,
        method: impl FnOnce(&Methods) -> Option<&Py<PyAny>>,
        key: u64,
        arguments: A,
    ) -> Result<(), Stop> {
        let Some(method) = method(self.instance.methods()?) else { return Ok(()) };
        let place = self.place.with_key(key);
        Python::attach(|python| self.instance.call(python, (name, method), place, arguments).map(drop))
    }
}

impl OwnReplacement for PythonReplacement {
    fn name(&self) -> &str {
        self.instance.name()
    }

    fn at(&mut self, now: Time, request: Option<u64>) {
        self.place = Place::at(now, request);
    }

    fn chooses_admissions(&self) -> bool {
        self.instance.methods().is_ok_and(|methods| methods.admits.is_some())
    }

    fn admits(&mut self, key: u64) -> Result<bool, Stop> {
        let Some(method) = &self.instance.methods()?.admits else { return Ok(true) };
        Python::attach(|python| {
            let answer = self.instance.call(python, ("admits", method), self.place.with_key(key), (key,))?;
            answer.is_truthy().map_err(|error| self.instance.stopped(python, "admits", &error))
        })
    }

    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop> {
        let method = &self.instance.methods()?.victim;
        Python::attach(|python| {
            let answer = self.instance.call(python, ("victim", method), self.place.with_key(key), (key, after))?;
            let slot = answer.extract::<i64>().ok().and_then(|slot| u32::try_from(slot).ok());
            slot.filter(|&slot| slot < self.slots).ok_or_else(|| {
                let expected = format!("a slot from 0 to {}", self.slots - 1);
                self.instance.nonsense("victim", &answer, &expected)
            })
        })
    }

    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop> {
        self.tell("admitted", |methods| Some(&methods.admitted), key, (slot, key, evicted))
    }

    fn hit(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.tell("hit", |methods| Some(&methods.hit), key, (slot, key))
    }

    fn removed(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.tell("removed", |methods| methods.removed.as_ref(), key, (slot, key))
    }
}
