//! Policies of one's own: the door to Python, through which devices made from drawings come too, and classes.

#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};
use serde_json::{Map, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::own::{
    self, no_drawings, Door, Maker, Opened, OwnDevice, OwnMirror, OwnReplacement, OwnScheduler, OwnSpec, OwnSpinDown,
    Role,
};
use sledsim::request::Request as Asked;
use sledsim::time::Time;
use sledsim_compiled::Libraries;

use crate::errors;
use crate::guard::{Guard, OverTime, Place};
use crate::mechanism::PythonDevice;
use crate::mirror::PythonMirror;
use crate::parts;
use crate::pending::{Pending, Request, Shared};
use crate::replacement::PythonReplacement;
use crate::spin_down::PythonSpinDown;
use crate::values::{document_of, from_python, load_numpy, to_python, to_value};

/// Characters of an answer that a message has room for.
const LONGEST_SHOWN: usize = 80;

/// What messages call the copying of an instance.
const COPIED: &str = "__deepcopy__";

/// Finds policies, and makes devices from drawings, with functions of Python's.
#[derive(Debug)]
pub struct PythonDoor {
    /// Called with what the scenario says of a policy, and the folder from which its paths start.
    load: Py<PyAny>,
    /// Called with what the scenario says of a drawing, and that folder; none where every device is made already.
    draw: Option<Py<PyAny>>,
}

impl PythonDoor {
    /// A door that asks `load` for policies, and `draw` for devices.
    pub fn new(load: Py<PyAny>, draw: Option<Py<PyAny>>) -> Self {
        Self { load, draw }
    }

    fn loaded(&self, python: Python<'_>, role: Role, wanted: &OwnSpec, base: &Path) -> PyResult<Opened> {
        let loaded = self.load.bind(python).call1((role.name(), to_python(python, &to_value(wanted))?, base))?;
        if let Some(address) = wanted.address {
            let address = usize::try_from(address)?;
            // SAFETY: `load` rejects an address that the Python function `compiled` did not return. That function keeps the compiled
            // function alive, and its documentation asks for one that takes this role's argument.
            return unsafe { sledsim_compiled::at_address(role, wanted, address) }.map_err(errors::scenario);
        }
        let Value::Object(parameters) = from_python(&loaded.getattr("parameters")?)? else {
            return Err(errors::invalid_argument("parameters are no table"));
        };
        let (folder, source) = (loaded.getattr("folder")?.extract()?, loaded.getattr("source")?.extract()?);
        let (name, positioning) = (wanted.title().to_owned(), loaded.getattr("positioning")?.extract()?);
        let limit_s: f64 = loaded.getattr("limit_s")?.extract()?;
        let class = Class {
            name,
            make: loaded.getattr("make")?.unbind(),
            positioning,
            limit: Duration::try_from_secs_f64(limit_s).map_err(|error| errors::invalid_argument(error.to_string()))?,
            hooks: loaded.getattr("hooks")?.extract()?,
        };
        Ok(Opened { folder, source, parameters, maker: Arc::new(Factory(Arc::new(class))) })
    }
}

impl Door for PythonDoor {
    fn open(&self, role: Role, wanted: &OwnSpec, base: &Path) -> Result<Opened, Faults> {
        if let Some(name) = &wanted.rust {
            let opened = parts::all().open(role, wanted, base)?;
            let source = Python::attach(|python| {
                let hash = parts::hash_of(python, role, name);
                hash.map_err(|error| Faults::from(raised(python, name, &error)))
            })?;
            return Ok(Opened { source, ..opened });
        }
        if wanted.library.is_some() {
            // SAFETY: SECURITY.md says that a scenario that names a library is trusted as a program is.
            return unsafe { Libraries::trusted() }.open(role, wanted, base);
        }
        Python::attach(|python| {
            self.loaded(python, role, wanted, base).map_err(|error| match errors::faults_in(python, &error) {
                Some(faults) => faults,
                None => raised(python, wanted.title(), &error).into(),
            })
        })
    }

    fn names(&self, role: Role) -> Vec<&str> {
        parts::all().of(role).map(|part| part.name).collect()
    }

    fn drawn(&self, drawing: &Value, base: &Path) -> Result<Map<String, Value>, Faults> {
        let Some(draw) = &self.draw else { return Err(no_drawings().into()) };
        Python::attach(|python| {
            let made = to_python(python, drawing).and_then(|drawing| draw.bind(python).call1((drawing, base)));
            let error = match made.and_then(|device| document_of(&device, "device")) {
                Ok(Value::Object(device)) => return Ok(device),
                Ok(_) => errors::invalid_argument("a device is a table"),
                Err(error) => error,
            };
            Err(errors::faults_in(python, &error).unwrap_or_else(|| raised(python, "the drawing", &error).into()))
        })
    }
}

/// What reports call a policy, as a resolved scenario has it: a word, or a table with its name.
#[pyfunction]
pub fn policy_title(policy: &Bound<'_, PyAny>) -> PyResult<String> {
    let policy = from_python(policy)?;
    if let Ok(own) = serde_json::from_value::<OwnSpec>(policy.clone()) {
        return Ok(own.title().to_owned());
    }
    let name = policy.as_str().or_else(|| policy.get("name")?.as_str());
    name.map(str::to_owned).ok_or_else(|| errors::invalid_argument("a policy has a name"))
}

/// What an exception of one's own code says.
fn raised(python: Python<'_>, what: &str, error: &PyErr) -> Fault {
    let kind = error.get_type(python).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let says = error.value(python).str().map(|text| text.to_string()).unwrap_or_default();
    let colon = if says.is_empty() { "" } else { ": " };
    let mut fault = Fault::new(Kind::Policy).says(format!("{what} raised {kind}{colon}{says}"));
    fault.raised = Some(errors::traceback_of(python, error));
    fault
}

/// Why a call of one's own class, or of a method of it, did not answer.
fn failed(python: Python<'_>, guard: &Guard, method: Option<&str>, error: &PyErr) -> Fault {
    if error.is_instance_of::<OverTime>(python) {
        let mut over = guard.time_limit_fault(method.or(Some("__init__")));
        over.raised = Some(errors::traceback_of(python, error));
        return over;
    }
    let what = method.map(|method| format!(".{method}")).unwrap_or_default();
    raised(python, &format!("{}{what}", guard.name()), error)
}

/// A value as messages have room for.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let whole = value.repr().map_or_else(|_| "nothing that can be shown".into(), |text| text.to_string());
    whole.chars().take(LONGEST_SHOWN).collect()
}

/// A class with its parameters.
pub struct Class {
    name: String,
    /// Makes an instance.
    make: Py<PyAny>,
    pub positioning: bool,
    limit: Duration,
    /// Whether it has the two methods that a class may go without.
    pub hooks: (bool, bool),
}

/// Makes instances of a class.
struct Factory(Arc<Class>);

impl Maker for Factory {
    fn scheduler(&self) -> Result<Box<dyn OwnScheduler>, Fault> {
        Ok(Box::new(PythonPolicy::new(&self.0)?))
    }

    fn replacement(&self, slots: u32) -> Result<Box<dyn OwnReplacement>, Fault> {
        Ok(Box::new(PythonReplacement::new(&self.0, slots)?))
    }

    fn mirror(&self) -> Result<Box<dyn OwnMirror>, Fault> {
        Ok(Box::new(PythonMirror::new(&self.0)?))
    }

    fn spin_down(&self) -> Result<Box<dyn OwnSpinDown>, Fault> {
        Ok(Box::new(PythonSpinDown::new(&self.0)?))
    }

    fn device(&self) -> Result<Box<dyn OwnDevice>, Fault> {
        Ok(Box::new(PythonDevice::new(&self.0)?))
    }
}

/// Which methods of an object are called: bound once.
pub type Bind<M> = fn(Python<'_>, &Class, &Py<PyAny>) -> PyResult<M>;

/// An instance of a class, with those of its methods that are called.
pub struct Instance<M> {
    pub class: Arc<Class>,
    guard: Arc<Guard>,
    object: Py<PyAny>,
    bind: Bind<M>,
    /// Why there are none: it could not be copied.
    methods: Result<M, Fault>,
}

impl<M> Instance<M> {
    /// A new one, once it has `started`.
    pub fn new(
        class: &Arc<Class>,
        started: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<()>,
        bind: Bind<M>,
    ) -> Result<Self, Fault> {
        Python::attach(|python| {
            let guard = Guard::new(&class.name, class.limit);
            let made = guard.call(python, Some("__init__"), Place::default(), || {
                let object = class.make.call0(python)?;
                started(python, &object)?;
                Ok((bind(python, class, &object)?, object))
            });
            let (methods, object) = made.map_err(|error| failed(python, &guard, None, &error))?;
            Ok(Self { class: Arc::clone(class), guard, object, bind, methods: Ok(methods) })
        })
    }

    /// A new one, and what it is shown arrays with.
    pub fn shown<V>(class: &Arc<Class>, bind: Bind<M>) -> Result<(Self, Shared<V>), Fault>
    where
        V: Default + Into<PyClassInitializer<V>> + PyClass,
    {
        let instance = Self::new(class, |python, _| load_numpy(python), bind)?;
        let view = Python::attach(|python| {
            Py::new(python, V::default()).map_err(|error| raised(python, &class.name, &error))
        })?;
        Ok((instance, Shared(view)))
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.class.name
    }

    /// A whole number that it has as an attribute.
    pub fn whole(&self, name: &'static str) -> Result<u64, Fault> {
        Python::attach(|python| {
            let value =
                self.guard.call(python, Some(name), Place::default(), || self.object.bind(python).getattr(name));
            let value = value.map_err(|error| failed(python, &self.guard, Some(name), &error))?;
            value
                .extract::<u64>()
                .map_err(|_| self.fault(format!("{name} is {}: expected a whole number", shown(&value))))
        })
    }

    /// Its methods.
    pub fn methods(&self) -> Result<&M, Stop> {
        self.methods.as_ref().map_err(|fault| Stop::Failed(fault.clone()))
    }

    /// Calls one of them.
    pub fn call<'py, A: PyCallArgs<'py>>(
        &self,
        python: Python<'py>,
        (name, method): (&'static str, &Py<PyAny>),
        place: Place,
        arguments: A,
    ) -> Result<Bound<'py, PyAny>, Stop> {
        let answer = self.guard.call(python, Some(name), place, || method.bind(python).call1(arguments));
        answer.map_err(|error| self.stopped(python, name, &error))
    }

    /// Why a call of a method did not answer.
    pub fn stopped(&self, python: Python<'_>, method: &str, error: &PyErr) -> Stop {
        if error.is_instance_of::<PyKeyboardInterrupt>(python) {
            return Stop::Interrupted;
        }
        Stop::Failed(failed(python, &self.guard, Some(method), error))
    }

    fn fault(&self, says: String) -> Fault {
        Fault::new(Kind::Policy).says(format!("{}.{says}", self.class.name))
    }

    /// What a method returned is no answer.
    pub fn nonsense(&self, method: &str, answer: &Bound<'_, PyAny>, expected: &str) -> Stop {
        Stop::Failed(self.fault(format!("{method} returned {}: expected {expected}", shown(answer))))
    }

    /// The row, of so many, that a method returned.
    pub fn row(&self, method: &str, answer: &Bound<'_, PyAny>, count: usize) -> Result<usize, Stop> {
        let row = answer.extract::<i64>().ok().and_then(|row| usize::try_from(row).ok());
        row.filter(|&row| row < count).ok_or_else(|| {
            let expected = format!("a whole number from 0 to {}", count - 1);
            self.nonsense(method, answer, &expected)
        })
    }

    fn copied(&self, python: Python<'_>) -> PyResult<(Py<PyAny>, M)> {
        self.guard.call(python, Some(COPIED), Place::default(), || {
            let object = python.import("copy")?.call_method1("deepcopy", (&self.object,))?.unbind();
            let methods = (self.bind)(python, &self.class, &object)?;
            Ok((object, methods))
        })
    }
}

impl<M> Clone for Instance<M> {
    /// One that goes on as this one does.
    fn clone(&self) -> Self {
        let (class, bind) = (Arc::clone(&self.class), self.bind);
        Python::attach(|python| {
            let (object, methods) = match (&self.methods, self.copied(python)) {
                (Err(fault), _) => (python.None(), Err(fault.clone())),
                (Ok(_), Ok((object, methods))) => (object, Ok(methods)),
                (Ok(_), Err(error)) if error.is_instance_of::<OverTime>(python) => {
                    (python.None(), Err(failed(python, &self.guard, Some(COPIED), &error)))
                }
                (Ok(_), Err(error)) => {
                    let what = format!("a copy of {}", self.class.name);
                    (python.None(), Err(raised(python, &what, &error)))
                }
            };
            Self { guard: Guard::new(&class.name, class.limit), class, object, bind, methods }
        })
    }
}

/// A scheduler.
#[derive(Clone)]
struct PythonPolicy {
    instance: Instance<Methods>,
    /// What it sees.
    pending: Shared<Pending>,
}

/// Those of the methods that a class which picks has.
pub struct Methods {
    pub pick: Py<PyAny>,
    pub arrived: Option<Py<PyAny>>,
    pub completed: Option<Py<PyAny>>,
}

/// Binds them.
pub fn methods(python: Python<'_>, class: &Class, object: &Py<PyAny>) -> PyResult<Methods> {
    let method = |name: &str| object.getattr(python, name);
    Ok(Methods {
        pick: method("pick")?,
        arrived: class.hooks.0.then(|| method("arrived")).transpose()?,
        completed: class.hooks.1.then(|| method("completed")).transpose()?,
    })
}

impl PythonPolicy {
    fn new(class: &Arc<Class>) -> Result<Self, Fault> {
        let (instance, pending) = Instance::shown(class, methods)?;
        Ok(Self { instance, pending })
    }

    fn tell(&self, name: &'static str, hook: Option<&Py<PyAny>>, at: Time, request: &Asked) -> Result<(), Stop> {
        let Some(hook) = hook else { return Ok(()) };
        let (arguments, place) = ((at.ns(), Request::from(request)), Place::at(at, Some(request.id)));
        Python::attach(|python| self.instance.call(python, (name, hook), place, arguments).map(drop))
    }
}

impl OwnScheduler for PythonPolicy {
    fn name(&self) -> &str {
        self.instance.name()
    }

    fn looks_at_positioning(&self) -> bool {
        self.instance.class.positioning
    }

    fn pick(&mut self, now: Time, pending: &mut own::Pending) -> Result<usize, Stop> {
        let method = &self.instance.methods()?.pick;
        Python::attach(|python| {
            let view = self.pending.0.bind(python);
            let place = Place::at(now, pending.id.first().copied());
            let told = (now.ns(), view);
            let answer = view.get().0.lend(pending, || self.instance.call(python, ("pick", method), place, told));
            self.instance.row("pick", &answer?, pending.len())
        })
    }

    fn arrived(&mut self, ready: Time, request: &Asked) -> Result<(), Stop> {
        self.tell("arrived", self.instance.methods()?.arrived.as_ref(), ready, request)
    }

    fn completed(&mut self, now: Time, request: &Asked) -> Result<(), Stop> {
        self.tell("completed", self.instance.methods()?.completed.as_ref(), now, request)
    }
}
