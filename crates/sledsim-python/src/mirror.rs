//! Choices of a mirror's copy that are Python classes, and what they see.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::own::{self, OwnMirror};
use sledsim::request::Request as Asked;
use sledsim::time::Time;

use crate::guard::Place;
use crate::pending::{signed, Lent, Request};
use crate::policy::{methods, Class, Instance, Methods};

/// The copies that may serve a read: an array for each quantity, an entry for each copy. Valid during a call alone.
#[pyclass(frozen, module = "sledsim._core")]
#[derive(Default)]
pub struct Copies(Lent<own::Copies>);

#[pymethods]
impl Copies {
    /// Numbers of the copies, which rise.
    #[getter]
    fn copy<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| columns.copy.iter().map(|&copy| copy.into()).collect())
    }

    /// Numbers of the members that hold them.
    #[getter]
    fn member<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| columns.member.iter().map(|&member| member.into()).collect())
    }

    /// Accesses under way at each.
    #[getter]
    fn pending<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.pending))
    }

    /// Their blocks.
    #[getter]
    fn pending_blocks<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.pending_blocks))
    }

    /// The block after the last access that was sent to each.
    #[getter]
    fn next_lbn<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.next_lbn))
    }

    /// Times until the first block could be reached, ns; -1 where that can't be told, and empty for a policy that does without.
    #[getter]
    fn positioning_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.positioning_ns))
    }

    fn __len__(&self) -> usize {
        self.0.with(|columns| columns.len())
    }

    fn __repr__(&self) -> String {
        format!("<Copies: {} may serve>", self.__len__())
    }
}

/// An instance of a class.
pub struct PythonMirror {
    instance: Instance<Methods>,
    /// What it sees.
    copies: Py<Copies>,
}

impl PythonMirror {
    /// One to which nothing has happened yet.
    ///
    /// # Errors
    /// The class can't make one.
    pub fn new(class: &Arc<Class>) -> Result<Self, Fault> {
        let (instance, copies) = Instance::shown(class, methods)?;
        Ok(Self { instance, copies })
    }

    fn tell(
        &self,
        name: &'static str,
        hook: Option<&Py<PyAny>>,
        (now, member): (Time, u32),
        access: &Asked,
    ) -> Result<(), Stop> {
        let Some(hook) = hook else { return Ok(()) };
        let (arguments, place) = ((now.ns(), member, Request::from(access)), Place::at(now, Some(access.id)));
        Python::attach(|python| self.instance.call(python, (name, hook), place, arguments).map(drop))
    }
}

impl Clone for PythonMirror {
    fn clone(&self) -> Self {
        // The columns are lent for a call alone: all may show the same.
        let copies = Python::attach(|python| self.copies.clone_ref(python));
        Self { instance: self.instance.clone(), copies }
    }
}

impl OwnMirror for PythonMirror {
    fn name(&self) -> &str {
        self.instance.name()
    }

    fn looks_at_positioning(&self) -> bool {
        self.instance.class.positioning
    }

    fn pick(&mut self, now: Time, request: &Asked, copies: &mut own::Copies) -> Result<usize, Stop> {
        let method = &self.instance.methods()?.pick;
        Python::attach(|python| {
            let view = self.copies.bind(python);
            view.get().0.swap(copies);
            let (told, place) = ((now.ns(), Request::from(request), view), Place::at(now, Some(request.id)));
            let answer = self.instance.call(python, ("pick", method), place, told);
            view.get().0.swap(copies);
            self.instance.row("pick", &answer?, copies.len())
        })
    }

    fn arrived(&mut self, now: Time, member: u32, access: &Asked) -> Result<(), Stop> {
        self.tell("arrived", self.instance.methods()?.arrived.as_ref(), (now, member), access)
    }

    fn completed(&mut self, now: Time, member: u32, access: &Asked) -> Result<(), Stop> {
        self.tell("completed", self.instance.methods()?.completed.as_ref(), (now, member), access)
    }
}
