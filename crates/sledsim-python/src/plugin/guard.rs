//! A time limit for calls of Python code: a call that exceeds it is made to raise. A process that asks for it is ended if the call
//! still does not return.

#![allow(unsafe_code)]

use std::fmt;
use std::io::Write;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pyo3::create_exception;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use sledsim::fault::{Fault, Kind};
use sledsim::time::Time;

use crate::{errors, raw};

create_exception!(sledsim._core, OverTime, PyBaseException, "Raised in a policy that takes too long to answer.");

/// Interval at which calls are checked.
const INTERVAL: Duration = Duration::from_millis(50);
/// Least time that a call which was made to raise has to end; otherwise as much time as its limit.
const GRACE: Duration = Duration::from_secs(1);
/// Greatest time to print Python's stack.
const SHOWING: Duration = Duration::from_millis(300);
/// The exit status of a process that is ended.
const STATUS: i32 = 2;

/// The signal that wakes a thread (0 for none), and the thread.
static WAKING: (AtomicI32, AtomicU64) = (AtomicI32::new(0), AtomicU64::new(0));
/// True if this process is to be ended, and the signal at which a thread prints its stack.
static ENDING: (AtomicBool, AtomicI32) = (AtomicBool::new(false), AtomicI32::new(0));

/// The guards of policies in use, and the id of the process whose thread checks them.
static GUARDS: Mutex<Watched> = Mutex::new(Watched { guards: Vec::new(), process: 0 });

struct Watched {
    guards: Vec<Weak<Guard>>,
    process: u32,
}

/// The subject of a call in messages: the simulated time, the request and the key of a cache, if known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    at: Option<Time>,
    request: Option<u64>,
    key: Option<u64>,
}

impl Place {
    /// Returns a time and a request.
    pub fn at(now: Time, request: Option<u64>) -> Self {
        Self { at: Some(now), request, key: None }
    }

    /// Returns the same place with a key.
    pub fn with_key(self, key: u64) -> Self {
        Self { key: Some(key), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, " at {} s", at.ns() as f64 / 1e9)?;
        }
        match (self.key, self.request) {
            (Some(key), Some(request)) => write!(f, " with key {key} of request {request}"),
            (Some(key), None) => write!(f, " with key {key}"),
            (None, Some(request)) => write!(f, " with request {request}"),
            (None, None) => Ok(()),
        }
    }
}

/// A call that has not returned yet.
#[derive(Debug)]
struct Call {
    method: Option<&'static str>,
    place: Place,
    /// The thread that makes it.
    thread: u64,
    began: Instant,
    /// When it was found to exceed its limit.
    over_since: Option<Instant>,
    /// True if it has been made to raise.
    is_fired: bool,
}

/// The time limit of the calls of one policy.
#[derive(Debug)]
pub struct Guard {
    /// The policy's name in messages.
    name: String,
    /// Time limit of a call.
    limit: Duration,
    call: Mutex<Option<Call>>,
}

impl Guard {
    /// Returns a guard of calls with a time limit.
    pub fn new(name: &str, limit: Duration) -> Arc<Self> {
        let guard = Arc::new(Self { name: name.to_owned(), limit, call: Mutex::new(None) });
        let mut watched = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
        watched.guards.push(Arc::downgrade(&guard));
        // A process that was forked has the list, but not the thread.
        if watched.process != std::process::id() {
            let named = std::thread::Builder::new().name("sledsim guard".into());
            if named.spawn(watch).is_ok() {
                watched.process = std::process::id();
            }
        }
        guard
    }

    /// Returns the policy's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn under_way(&self) -> MutexGuard<'_, Option<Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call, which raises [`OverTime`] if it takes too long.
    pub fn call<T>(
        &self,
        python: Python<'_>,
        method: Option<&'static str>,
        place: Place,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        let (thread, began) = (raw::thread(), Instant::now());
        *self.under_way() = Some(Call { method, place, thread, began, over_since: None, is_fired: false });
        // A panic must not leave a record of a thread that may end.
        let answer = catch_unwind(AssertUnwindSafe(call));
        let ended = self.under_way().take();
        // Whoever made it raise held the interpreter, as this thread does now: nothing comes between.
        if ended.is_some_and(|call| call.is_fired) {
            raw::raise_in(thread, None, python);
        }
        answer.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns the fault of a call that took too long.
    pub fn over(&self, method: Option<&str>) -> Fault {
        let limit_s = self.limit.as_secs_f64();
        Fault::new(Kind::Policy).says(match method {
            Some(method) => format!("{}.{method} did not answer within {limit_s} s", self.name),
            None => format!("{} did not end within {limit_s} s", self.name),
        })
    }

    /// Returns true if the current call exceeds its limit, and records that.
    fn is_over(&self) -> bool {
        let mut under_way = self.under_way();
        let Some(call) = under_way.as_mut().filter(|call| call.began.elapsed() > self.limit) else { return false };
        call.over_since.get_or_insert_with(Instant::now);
        true
    }

    /// Makes the current call raise if it still exceeds its limit.
    fn end_call(&self, python: Python<'_>) {
        let mut under_way = self.under_way();
        if let Some(call) = under_way.as_mut().filter(|call| call.over_since.is_some()) {
            call.is_fired = true;
            raw::raise_in(call.thread, Some(&python.get_type::<OverTime>()), python);
        }
    }

    /// Wakes the thread of a call that takes too long, where it waits for something, or holds the interpreter and looks for signals:
    /// the step of Python that a signal is heard with lets others have the interpreter, who make the call raise.
    fn wake(&self) {
        let (signal, thread) = (WAKING.0.load(Ordering::Relaxed), WAKING.1.load(Ordering::Relaxed));
        let under_way = self.under_way();
        if signal != 0 && under_way.as_ref().is_some_and(|call| call.over_since.is_some() && call.thread == thread) {
            // SAFETY: the thread is in a call, which can't return while this holds its lock.
            unsafe { raw::signal(thread, signal) };
        }
    }

    /// Ends the process if nothing ends the call: says so, and shows Python's stack.
    fn end_process(&self) {
        let grace = self.limit.max(GRACE);
        let under_way = self.under_way();
        let Some(call) = under_way.as_ref() else { return };
        if call.over_since.is_none_or(|since| since.elapsed() < grace) {
            return;
        }
        let (what, place, grace_s) = (self.over(call.method), call.place, grace.as_secs_f64());
        let says = format!(
            "error: {what}{place}, and could not be stopped for {grace_s} s more: the process ends. It was in\n"
        );
        // There is no other way to report a failure of this write.
        let _ = std::io::stderr().write_all(says.as_bytes());
        let signal = ENDING.1.load(Ordering::Relaxed);
        if signal != 0 {
            // SAFETY: the thread is in this call, which can't return while this holds its lock.
            unsafe { raw::signal(call.thread, signal) };
            std::thread::sleep(SHOWING);
        }
        raw::exit(STATUS);
    }
}

/// Checks calls until no policy is in use. It never waits for the interpreter, which a call may hold for ever.
fn watch() {
    let mut ender: Option<JoinHandle<Option<()>>> = None;
    loop {
        std::thread::sleep(INTERVAL);
        let over: Vec<Arc<Guard>> = {
            let mut watched = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
            watched.guards.retain(|guard| guard.strong_count() > 0);
            if watched.guards.is_empty() {
                watched.process = 0;
                return;
            }
            watched.guards.iter().filter_map(Weak::upgrade).filter(|guard| guard.is_over()).collect()
        };
        over.iter().for_each(|guard| guard.wake());
        if ENDING.0.load(Ordering::Relaxed) {
            over.iter().for_each(|guard| guard.end_process());
        }
        if !over.is_empty() && ender.as_ref().is_none_or(JoinHandle::is_finished) {
            let named = std::thread::Builder::new().name("sledsim guard's hand".into());
            // While Python shuts down, attaching fails.
            let end = move || Python::try_attach(|python| over.iter().for_each(|guard| guard.end_call(python)));
            ender = named.spawn(end).ok();
        }
    }
}

/// Sets the signal that wakes the calling thread; its handler has to run Python code.
#[pyfunction]
pub fn wake_by(signal: i32) {
    WAKING.1.store(raw::thread(), Ordering::Relaxed);
    WAKING.0.store(signal, Ordering::Relaxed);
}

/// Makes this process end with exit status 2 if a call of a policy can't be ended. A thread prints its stack at the signal.
#[pyfunction]
#[pyo3(signature = (signal=None))]
pub fn end_when_stuck(signal: Option<i32>) {
    ENDING.1.store(signal.unwrap_or(0), Ordering::Relaxed);
    ENDING.0.store(true, Ordering::Relaxed);
}

/// Calls a function with a time limit in seconds; `name` is for messages.
///
/// # Errors
/// It took longer, or what it raised.
#[pyfunction]
pub fn in_time<'py>(name: &str, limit_s: f64, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let python = function.py();
    let limit = Duration::try_from_secs_f64(limit_s).map_err(|error| errors::misuse(error.to_string()))?;
    let guard = Guard::new(name, limit);
    guard.call(python, None, Place::default(), || function.call0()).map_err(|error| {
        if !error.is_instance_of::<OverTime>(python) {
            return error;
        }
        let mut fault = guard.over(None).placed("python");
        fault.raised = Some(errors::told_of(python, &error));
        errors::scenario(fault)
    })
}
