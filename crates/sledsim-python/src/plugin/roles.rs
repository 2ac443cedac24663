//! The roles of Python classes.

use std::sync::Arc;

use pyo3::prelude::*;
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::plugin::{
    self, CustomMechanism, CustomMirror, CustomReplacement, CustomScheduler, CustomSpinDown, Factory,
};
use sledsim::power::Mode;
use sledsim::request::{Op, Request as Served};
use sledsim::time::Time;

use super::guard::Place;
use super::instance::{Class, Instance, Methods};
use super::views::{Copies, Modes, Pending, Request, Shared};

const SCHEDULER: Methods = Methods { required: &["pick"], optional: &["arrived", "completed"] };
const MIRROR: Methods = SCHEDULER;
const REPLACEMENT: Methods = Methods { required: &["victim", "admitted", "hit"], optional: &["admits", "removed"] };
const SPIN_DOWN: Methods = Methods { required: &["after_ns"], optional: &["ended", "served"] };
const MECHANISM: Methods = Methods { required: &["positioning_ns", "serve"], optional: &["power_cut"] };

/// Makes instances of a class.
pub struct ClassFactory(pub Arc<Class>);

impl Factory for ClassFactory {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        let (instance, pending) = Instance::with_view(&self.0, &SCHEDULER)?;
        Ok(Box::new(PythonScheduler { instance, pending }))
    }

    fn mirror(&self) -> Result<Box<dyn CustomMirror>, Fault> {
        let (instance, copies) = Instance::with_view(&self.0, &MIRROR)?;
        Ok(Box::new(PythonMirror { instance, copies }))
    }

    fn replacement(&self, slots: u32) -> Result<Box<dyn CustomReplacement>, Fault> {
        let instance = Instance::new(&self.0, &REPLACEMENT, |python, object| {
            object.call_method1(python, "started", (slots,)).map(drop)
        })?;
        Ok(Box::new(PythonReplacement { instance, slots, place: Place::default() }))
    }

    fn spin_down(&self) -> Result<Box<dyn CustomSpinDown>, Fault> {
        let (instance, modes) = Instance::with_view(&self.0, &SPIN_DOWN)?;
        Ok(Box::new(PythonSpinDown { instance, modes }))
    }

    fn mechanism(&self) -> Result<Box<dyn CustomMechanism>, Fault> {
        let instance = Instance::new(&self.0, &MECHANISM, |_, _| Ok(()))?;
        let capacity_blocks = instance.whole_number("capacity_blocks")?;
        let block_bytes = u32::try_from(instance.whole_number("block_bytes")?).unwrap_or(u32::MAX);
        Ok(Box::new(PythonMechanism { instance, capacity_blocks, block_bytes }))
    }
}

/// Converts the row, of `count`, that a method returned.
fn row(answer: &Bound<'_, PyAny>, count: usize) -> Result<usize, String> {
    let row = answer.extract::<i64>().ok().and_then(|row| usize::try_from(row).ok());
    row.filter(|&row| row < count).ok_or_else(|| format!("a whole number from 0 to {}", count - 1))
}

/// Converts a time that a method returned, in ns, to a whole number.
fn time_ns(answer: &Bound<'_, PyAny>) -> Result<u64, String> {
    if let Ok(ns) = answer.extract::<u64>() {
        return Ok(ns);
    }
    let ns = answer.extract::<f64>().ok().filter(|ns| ns.is_finite() && *ns >= 0.0);
    ns.map(|ns| ns.round() as u64).ok_or_else(|| "nanoseconds, a number of at least 0".to_owned())
}

#[derive(Clone)]
struct PythonScheduler {
    instance: Instance,
    pending: Shared<Pending>,
}

impl PythonScheduler {
    fn notify(&self, name: &'static str, at: Time, request: &Served) -> Result<(), Stop> {
        let place = Place::at(at, Some(request.id));
        self.instance.notify(name, place, |_| (at.ns(), Request::from(request)))
    }
}

impl CustomScheduler for PythonScheduler {
    fn name(&self) -> &str {
        &self.instance.class().name
    }

    fn uses_positioning(&self) -> bool {
        self.instance.class().uses_positioning
    }

    fn pick(&mut self, now: Time, pending: &mut plugin::Pending) -> Result<usize, Stop> {
        let (count, place) = (pending.len(), Place::at(now, pending.id.first().copied()));
        Python::attach(|python| {
            let view = self.pending.0.bind(python);
            view.get().0.lend(pending, || {
                self.instance.ask(python, "pick", place, (now.ns(), view), |answer| row(answer, count))
            })
        })
    }

    fn arrived(&mut self, ready: Time, request: &Served) -> Result<(), Stop> {
        self.notify("arrived", ready, request)
    }

    fn completed(&mut self, now: Time, request: &Served) -> Result<(), Stop> {
        self.notify("completed", now, request)
    }
}

#[derive(Clone)]
struct PythonMirror {
    instance: Instance,
    copies: Shared<Copies>,
}

impl PythonMirror {
    fn notify(&self, name: &'static str, now: Time, member: u32, access: &Served) -> Result<(), Stop> {
        let place = Place::at(now, Some(access.id));
        self.instance.notify(name, place, |_| (now.ns(), member, Request::from(access)))
    }
}

impl CustomMirror for PythonMirror {
    fn name(&self) -> &str {
        &self.instance.class().name
    }

    fn uses_positioning(&self) -> bool {
        self.instance.class().uses_positioning
    }

    fn pick(&mut self, now: Time, request: &Served, copies: &mut plugin::Copies) -> Result<usize, Stop> {
        let (count, place) = (copies.len(), Place::at(now, Some(request.id)));
        Python::attach(|python| {
            let view = self.copies.0.bind(python);
            let arguments = (now.ns(), Request::from(request), view);
            view.get()
                .0
                .lend(copies, || self.instance.ask(python, "pick", place, arguments, |answer| row(answer, count)))
        })
    }

    fn arrived(&mut self, now: Time, member: u32, access: &Served) -> Result<(), Stop> {
        self.notify("arrived", now, member, access)
    }

    fn completed(&mut self, now: Time, member: u32, access: &Served) -> Result<(), Stop> {
        self.notify("completed", now, member, access)
    }
}

#[derive(Clone)]
struct PythonReplacement {
    instance: Instance,
    slots: u32,
    /// Time and request of the next calls; empty for a cache without a clock.
    place: Place,
}

impl CustomReplacement for PythonReplacement {
    fn name(&self) -> &str {
        &self.instance.class().name
    }

    fn set_context(&mut self, now: Time, request: Option<u64>) {
        self.place = Place::at(now, request);
    }

    fn chooses_admissions(&self) -> bool {
        self.instance.has("admits")
    }

    fn admits(&mut self, key: u64) -> Result<bool, Stop> {
        Python::attach(|python| match self.instance.call(python, "admits", self.place.with_key(key), (key,))? {
            None => Ok(true),
            Some(answer) => answer.is_truthy().map_err(|error| self.instance.stop(python, "admits", &error)),
        })
    }

    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop> {
        Python::attach(|python| {
            self.instance.ask(python, "victim", self.place.with_key(key), (key, after), |answer| {
                let slot = answer.extract::<i64>().ok().and_then(|slot| u32::try_from(slot).ok());
                slot.filter(|&slot| slot < self.slots).ok_or_else(|| format!("a slot from 0 to {}", self.slots - 1))
            })
        })
    }

    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop> {
        self.instance.notify("admitted", self.place.with_key(key), |_| (slot, key, evicted))
    }

    fn hit(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.instance.notify("hit", self.place.with_key(key), |_| (slot, key))
    }

    fn removed(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.instance.notify("removed", self.place.with_key(key), |_| (slot, key))
    }
}

#[derive(Clone)]
struct PythonSpinDown {
    instance: Instance,
    modes: Shared<Modes>,
}

impl CustomSpinDown for PythonSpinDown {
    fn name(&self) -> &str {
        &self.instance.class().name
    }

    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop> {
        Python::attach(|python| {
            let arguments = (now.ns(), mode, self.modes.showing(python, modes));
            self.instance.ask(python, "after_ns", Place::at(now, None), arguments, |answer| {
                answer
                    .extract::<Option<u64>>()
                    .map_err(|_| "None or a whole number of nanoseconds of at least 0".to_owned())
            })
        })
    }

    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        self.instance.notify("ended", Place::at(now, None), |python| {
            (now.ns(), idle_ns, self.modes.showing(python, modes).clone().unbind())
        })
    }

    fn served(&mut self, now: Time, request: &Served) -> Result<(), Stop> {
        let place = Place::at(now, Some(request.id));
        self.instance.notify("served", place, |_| (now.ns(), Request::from(request)))
    }
}

#[derive(Clone)]
struct PythonMechanism {
    instance: Instance,
    capacity_blocks: u64,
    block_bytes: u32,
}

impl CustomMechanism for PythonMechanism {
    fn name(&self) -> &str {
        &self.instance.class().name
    }

    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn positioning_ns(&mut self, now: Time, lbn: u64, read: bool) -> Result<u64, Stop> {
        let arguments = (now.ns(), lbn, read);
        Python::attach(|python| self.instance.ask(python, "positioning_ns", Place::at(now, None), arguments, time_ns))
    }

    fn serve(&mut self, now: Time, request: &Served) -> Result<u64, Stop> {
        let arguments = (now.ns(), request.lbn, request.blocks, request.op == Op::Read);
        Python::attach(|python| {
            self.instance.ask(python, "serve", Place::at(now, Some(request.id)), arguments, time_ns)
        })
    }

    fn power_cut(&mut self, now: Time) -> Result<(), Stop> {
        self.instance.notify("power_cut", Place::at(now, None), |_| (now.ns(),))
    }
}
