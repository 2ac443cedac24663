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
use crate::pending::{signed, view, Lent, Request, Shared};
use crate::policy::{methods, Class, Instance, Methods};

view! {
    /// The copies that may serve a read: an array for each quantity, an entry for each copy. Valid during a call alone.
    pub struct Copies(own::Copies), "may serve";

    /// Numbers of the copies, which rise.
    copy: i64 = |columns| columns.copy.iter().map(|&copy| copy.into()).collect();

    /// Numbers of the members that hold them.
    member: i64 = |columns| columns.member.iter().map(|&member| member.into()).collect();

    /// Accesses under way at each.
    pending: i64 = |columns| signed(&columns.pending);

    /// Their blocks.
    pending_blocks: i64 = |columns| signed(&columns.pending_blocks);

    /// The block after the last access that was sent to each.
    next_lbn: i64 = |columns| signed(&columns.next_lbn);

    /// Times until the first block could be reached, ns; -1 where that can't be told, and empty for a policy that does without.
    positioning_ns: i64 = |columns| signed(&columns.positioning_ns);
}

/// An instance of a class.
#[derive(Clone)]
pub struct PythonMirror {
    instance: Instance<Methods>,
    /// What it sees.
    copies: Shared<Copies>,
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
            let view = self.copies.0.bind(python);
            let (told, place) = ((now.ns(), Request::from(request), view), Place::at(now, Some(request.id)));
            let answer = view.get().0.lend(copies, || self.instance.call(python, ("pick", method), place, told));
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
