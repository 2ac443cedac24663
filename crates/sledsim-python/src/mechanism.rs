//! Mechanisms of one's own that are Python classes.

use std::sync::Arc;

use pyo3::prelude::*;
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::own::OwnDevice;
use sledsim::request::{Op, Request};
use sledsim::time::Time;

use crate::guard::Place;
use crate::policy::{Class, Instance};

/// What is expected of an answer.
const TIME: &str = "nanoseconds, a number of at least 0";

/// An instance of a class, and its methods.
#[derive(Clone)]
pub struct PythonDevice {
    instance: Instance<Methods>,
    capacity_blocks: u64,
    block_bytes: u32,
}

/// Its methods.
struct Methods {
    positioning_ns: Py<PyAny>,
    serve: Py<PyAny>,
}

fn methods(python: Python<'_>, _class: &Class, object: &Py<PyAny>) -> PyResult<Methods> {
    Ok(Methods { positioning_ns: object.getattr(python, "positioning_ns")?, serve: object.getattr(python, "serve")? })
}

impl PythonDevice {
    /// An instance that has served nothing.
    ///
    /// # Errors
    /// The class can't make one, or its size is no number.
    pub fn new(class: &Arc<Class>) -> Result<Self, Fault> {
        let instance = Instance::new(class, |_, _| Ok(()), methods)?;
        let capacity_blocks = instance.whole("capacity_blocks")?;
        let block_bytes = u32::try_from(instance.whole("block_bytes")?).unwrap_or(u32::MAX);
        Ok(Self { instance, capacity_blocks, block_bytes })
    }

    /// The time that a method returned, ns, rounded to a whole number.
    fn time_ns(&self, method: &str, answer: &Bound<'_, PyAny>) -> Result<u64, Stop> {
        if let Ok(ns) = answer.extract::<u64>() {
            return Ok(ns);
        }
        let ns = answer.extract::<f64>().ok().filter(|ns| ns.is_finite() && *ns >= 0.0);
        ns.map(|ns| ns.round() as u64).ok_or_else(|| self.instance.nonsense(method, answer, TIME))
    }
}

impl OwnDevice for PythonDevice {
    fn name(&self) -> &str {
        self.instance.name()
    }

    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn positioning_ns(&mut self, now: Time, lbn: u64, read: bool) -> Result<u64, Stop> {
        let method = &self.instance.methods()?.positioning_ns;
        Python::attach(|python| {
            let told = (now.ns(), lbn, read);
            let answer = self.instance.call(python, ("positioning_ns", method), Place::at(now, None), told)?;
            self.time_ns("positioning_ns", &answer)
        })
    }

    fn serve(&mut self, now: Time, request: &Request) -> Result<u64, Stop> {
        let method = &self.instance.methods()?.serve;
        let told = (now.ns(), request.lbn, request.blocks, request.op == Op::Read);
        Python::attach(|python| {
            let answer = self.instance.call(python, ("serve", method), Place::at(now, Some(request.id)), told)?;
            self.time_ns("serve", &answer)
        })
    }
}
