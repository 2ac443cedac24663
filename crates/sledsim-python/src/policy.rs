//! Policies of one's own: the door to Python, through which devices made from drawings come too, and classes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind, Raised};
use sledsim::request::Request as Asked;
use sledsim::scenario::{no_drawings, Door, Maker, Opened, OwnSpec};
use sledsim::schedulers::{self, OwnPolicy};
use sledsim::time::Time;

use crate::compiled::Compiled;
use crate::errors;
use crate::guard::{Guard, OverTime};
use crate::pending::{Pending, Request};
use crate::raw::{Function, Memory};
use crate::values::{document_of, from_python, held, to_python};

/// Characters of an answer that a message has room for.
const LONGEST_SHOWN: usize = 80;

/// Of a compiled policy: addresses of the functions that pick, and hear of arrivals and completions; its parameters, and how
/// much it remembers, bytes.
type Functions = (usize, Option<usize>, Option<usize>, Vec<f64>, usize);

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

    fn loaded(&self, python: Python<'_>, wanted: &OwnSpec, base: &Path) -> PyResult<Opened> {
        let loaded = self.load.bind(python).call1((to_python(python, &held(wanted))?, base))?;
        let Value::Object(parameters) = from_python(&loaded.getattr("parameters")?)? else {
            return Err(errors::misuse("parameters are no table"));
        };
        let (folder, source) = (loaded.getattr("folder")?.extract()?, loaded.getattr("source")?.extract()?);
        let (name, positioning) = (wanted.title().to_owned(), loaded.getattr("positioning")?.extract()?);
        let compiled: Option<Functions> = loaded.getattr("functions")?.extract()?;
        if let Some((pick, arrived, completed, numbers, state_bytes)) = compiled {
            let memory = Memory { parameters: numbers, state: vec![0; state_bytes.div_ceil(size_of::<u64>())] };
            let (arrived, completed) = (arrived.map(Function), completed.map(Function));
            let policy = Compiled { name, positioning, pick: Function(pick), arrived, completed, memory };
            return Ok(Opened { folder, source, parameters, maker: Arc::new(policy) });
        }
        let limit_s: f64 = loaded.getattr("limit_s")?.extract()?;
        let class = Class {
            name,
            make: loaded.getattr("make")?.unbind(),
            positioning,
            limit: Duration::try_from_secs_f64(limit_s).map_err(|error| errors::misuse(error.to_string()))?,
            hooks: loaded.getattr("hooks")?.extract()?,
        };
        Ok(Opened { folder, source, parameters, maker: Arc::new(Factory(Arc::new(class))) })
    }
}

impl Door for PythonDoor {
    fn open(&self, wanted: &OwnSpec, base: &Path) -> Result<Opened, Faults> {
        Python::attach(|python| {
            self.loaded(python, wanted, base).map_err(|error| match errors::faults_in(python, &error) {
                Some(faults) => faults,
                None => raised(python, wanted.title(), &error).into(),
            })
        })
    }

    fn drawn(&self, drawing: &Value, base: &Path) -> Result<Map<String, Value>, Faults> {
        let Some(draw) = &self.draw else { return Err(no_drawings().into()) };
        Python::attach(|python| {
            let made = to_python(python, drawing).and_then(|drawing| draw.bind(python).call1((drawing, base)));
            let error = match made.and_then(|device| document_of(&device, "device")) {
                Ok(Value::Object(device)) => return Ok(device),
                Ok(_) => errors::misuse("a device is a table"),
                Err(error) => error,
            };
            Err(errors::faults_in(python, &error).unwrap_or_else(|| raised(python, "the drawing", &error).into()))
        })
    }
}

/// What an exception of one's own code says.
fn raised(python: Python<'_>, what: &str, error: &PyErr) -> Fault {
    let kind = error.get_type(python).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let says = error.value(python).str().map(|text| text.to_string()).unwrap_or_default();
    let colon = if says.is_empty() { "" } else { ": " };
    let mut fault = Fault::new(Kind::Policy).says(format!("{what} raised {kind}{colon}{says}"));
    let traceback = traceback(python, error).unwrap_or_default();
    fault.raised = Some(Raised { traceback, ..Raised::default() });
    fault
}

fn traceback(python: Python<'_>, error: &PyErr) -> PyResult<String> {
    let raised = (error.get_type(python), error.value(python), error.traceback(python));
    let lines = python.import("traceback")?.call_method1("format_exception", raised)?;
    Ok(lines.extract::<Vec<String>>()?.concat())
}

/// A class with its parameters.
struct Class {
    name: String,
    /// Makes an instance.
    make: Py<PyAny>,
    positioning: bool,
    limit: Duration,
    /// Whether it hears of arrivals, and of completions.
    hooks: (bool, bool),
}

/// Makes instances of a class.
struct Factory(Arc<Class>);

impl Maker for Factory {
    fn scheduler(&self) -> Result<Box<dyn OwnPolicy>, Fault> {
        Python::attach(|python| {
            let guard = Guard::new(self.0.limit);
            let made = guard.call(python, || self.0.make.call0(python));
            made.and_then(|instance| PythonPolicy::new(python, &self.0, instance, guard))
                .map(|policy| Box::new(policy) as Box<dyn OwnPolicy>)
                .map_err(|error| raised(python, &self.0.name, &error))
        })
    }
}

/// An instance of a class, and its methods.
struct PythonPolicy {
    class: Arc<Class>,
    guard: Arc<Guard>,
    instance: Py<PyAny>,
    pick: Py<PyAny>,
    arrived: Option<Py<PyAny>>,
    completed: Option<Py<PyAny>>,
    /// What it sees.
    pending: Py<Pending>,
    /// Why it could not be copied.
    broken: Option<Fault>,
}

impl PythonPolicy {
    fn new(python: Python<'_>, class: &Arc<Class>, instance: Py<PyAny>, guard: Arc<Guard>) -> PyResult<Self> {
        python.import("numpy")?;
        let method = |name: &str| instance.getattr(python, name);
        Ok(Self {
            class: Arc::clone(class),
            guard,
            pick: method("pick")?,
            arrived: class.hooks.0.then(|| method("arrived")).transpose()?,
            completed: class.hooks.1.then(|| method("completed")).transpose()?,
            instance,
            pending: Py::new(python, Pending::default())?,
            broken: None,
        })
    }

    /// One that goes on as this one does.
    fn copied(&self, python: Python<'_>) -> PyResult<Self> {
        let instance = python.import("copy")?.call_method1("deepcopy", (&self.instance,))?.unbind();
        Self::new(python, &self.class, instance, Guard::new(self.class.limit))
    }

    /// Why a call of a method did not answer.
    fn stopped(&self, python: Python<'_>, method: &str, error: &PyErr) -> Stop {
        if error.is_instance_of::<PyKeyboardInterrupt>(python) {
            return Stop::Interrupted;
        }
        let mut fault = raised(python, &format!("{}.{method}", self.class.name), error);
        if error.is_instance_of::<OverTime>(python) {
            let limit_s = self.class.limit.as_secs_f64();
            let mut over = self.fault(format!("{method} did not answer within {limit_s} s"));
            over.raised = fault.raised.take();
            fault = over;
        }
        Stop::Failed(fault)
    }

    fn fault(&self, says: String) -> Fault {
        Fault::new(Kind::Policy).says(format!("{}.{says}", self.class.name))
    }

    /// What was returned is the number of no row.
    fn nonsense(&self, answer: &Bound<'_, PyAny>, rows: usize) -> Stop {
        let given = answer.repr().map_or_else(|_| "nothing that can be shown".into(), |text| text.to_string());
        let shown: String = given.chars().take(LONGEST_SHOWN).collect();
        Stop::Failed(self.fault(format!("pick returned {shown}: expected a whole number from 0 to {}", rows - 1)))
    }

    fn tell(&self, method: &str, hook: Option<&Py<PyAny>>, at: Time, request: &Asked) -> Result<(), Stop> {
        if let Some(fault) = &self.broken {
            return Err(Stop::Failed(fault.clone()));
        }
        let Some(hook) = hook else { return Ok(()) };
        Python::attach(|python| {
            let told = self.guard.call(python, || hook.call1(python, (at.ns(), Request::from(request))));
            told.map(drop).map_err(|error| self.stopped(python, method, &error))
        })
    }
}

impl Clone for PythonPolicy {
    fn clone(&self) -> Self {
        Python::attach(|python| {
            self.copied(python).unwrap_or_else(|error| Self {
                class: Arc::clone(&self.class),
                guard: Arc::clone(&self.guard),
                instance: python.None(),
                pick: python.None(),
                arrived: None,
                completed: None,
                pending: self.pending.clone_ref(python),
                broken: Some(raised(python, &format!("a copy of {}", self.class.name), &error)),
            })
        })
    }
}

impl OwnPolicy for PythonPolicy {
    fn name(&self) -> &str {
        &self.class.name
    }

    fn looks_at_positioning(&self) -> bool {
        self.class.positioning
    }

    fn pick(&mut self, now: Time, pending: &mut schedulers::Pending) -> Result<usize, Stop> {
        if let Some(fault) = &self.broken {
            return Err(Stop::Failed(fault.clone()));
        }
        Python::attach(|python| {
            let view = self.pending.bind(python);
            view.get().swap(pending);
            let answer = self.guard.call(python, || self.pick.bind(python).call1((now.ns(), view)));
            view.get().swap(pending);
            let answer = answer.map_err(|error| self.stopped(python, "pick", &error))?;
            let row = answer.extract::<i64>().ok().and_then(|row| usize::try_from(row).ok());
            row.filter(|&row| row < pending.len()).ok_or_else(|| self.nonsense(&answer, pending.len()))
        })
    }

    fn arrived(&mut self, ready: Time, request: &Asked) -> Result<(), Stop> {
        self.tell("arrived", self.arrived.as_ref(), ready, request)
    }

    fn completed(&mut self, now: Time, request: &Asked) -> Result<(), Stop> {
        self.tell("completed", self.completed.as_ref(), now, request)
    }
}
