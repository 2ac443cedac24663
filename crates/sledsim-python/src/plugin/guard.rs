//! Time limits of custom Python code. A call that exceeds its limit gets an exception; if that has no effect, the process can be ended.

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

create_exception!(sledsim._core, OverTime, PyBaseException, "Raised in a policy that exceeds its time limit.");

/// Interval between two checks of all calls.
const INTERVAL: Duration = Duration::from_millis(50);
/// Least time for a call to end after its exception; more if its limit is longer.
const GRACE: Duration = Duration::from_secs(1);
/// Time for the output of Python's stack.
const STACK_OUTPUT: Duration = Duration::from_millis(300);
/// Exit status of a process that is ended.
const EXIT_STATUS: i32 = 2;

/// Signal that interrupts [`WAKE_THREAD`]; 0 for none.
static WAKE_SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The thread in which Python runs signal handlers.
static WAKE_THREAD: AtomicU64 = AtomicU64::new(0);
/// True if the process ends when a call can't be stopped.
static ENDS_PROCESS: AtomicBool = AtomicBool::new(false);
/// Signal at which a thread prints its stack; 0 for none.
static STACK_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Guards of policies in use, and the process with the watching thread.
static GUARDS: Mutex<Watched> = Mutex::new(Watched { guards: Vec::new(), process: 0 });

struct Watched {
    guards: Vec<Weak<Guard>>,
    process: u32,
}

/// The simulated time, the request and the key of a cache of a call, where they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    at: Option<Time>,
    request: Option<u64>,
    key: Option<u64>,
}

impl Place {
    /// Returns a place with a time and a request.
    pub fn at(now: Time, request: Option<u64>) -> Self {
        Self { at: Some(now), request, key: None }
    }

    /// Returns the place with a key.
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

/// A call in progress.
#[derive(Debug)]
struct Call {
    method: Option<&'static str>,
    place: Place,
    /// Its thread.
    thread: u64,
    began: Instant,
    /// Time at which it was found to exceed its limit.
    over_since: Option<Instant>,
    /// True if the exception was raised in it.
    is_raised: bool,
}

/// The time limit and the current call of one policy.
#[derive(Debug)]
pub struct Guard {
    /// Name in messages.
    name: String,
    /// Time limit of a call.
    limit: Duration,
    call: Mutex<Option<Call>>,
}

impl Guard {
    /// Returns a guard with a time limit, and starts the watching thread if necessary.
    pub fn new(name: &str, limit: Duration) -> Arc<Self> {
        let guard = Arc::new(Self { name: name.to_owned(), limit, call: Mutex::new(None) });
        let mut watched = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
        watched.guards.push(Arc::downgrade(&guard));
        // A forked process has the list but not the thread.
        if watched.process != std::process::id() {
            let named = std::thread::Builder::new().name("sledsim guard".into());
            if named.spawn(watch).is_ok() {
                watched.process = std::process::id();
            }
        }
        guard
    }

    /// Returns the name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn current_call(&self) -> MutexGuard<'_, Option<Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call. [`OverTime`] is raised in it if it exceeds the limit.
    pub fn call<T>(
        &self,
        python: Python<'_>,
        method: Option<&'static str>,
        place: Place,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        let (thread, began) = (raw::thread(), Instant::now());
        *self.current_call() = Some(Call { method, place, thread, began, over_since: None, is_raised: false });
        // A panic must not leave a record of a thread that may end.
        let answer = catch_unwind(AssertUnwindSafe(call));
        let ended = self.current_call().take();
        // The exception is raised by a thread that is attached to the interpreter, as this thread is now, so it is not raised later.
        if ended.is_some_and(|call| call.is_raised) {
            raw::raise_in(thread, None, python);
        }
        answer.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Returns the fault of a call that exceeded its limit.
    pub fn time_limit_fault(&self, method: Option<&str>) -> Fault {
        let limit_s = self.limit.as_secs_f64();
        Fault::new(Kind::Policy).says(match method {
            Some(method) => format!("{}.{method} did not return within {limit_s} s", self.name),
            None => format!("{} did not return within {limit_s} s", self.name),
        })
    }

    /// Returns true if the current call exceeds its limit, and records the time.
    fn is_over(&self) -> bool {
        let mut current = self.current_call();
        let Some(call) = current.as_mut().filter(|call| call.began.elapsed() > self.limit) else { return false };
        call.over_since.get_or_insert_with(Instant::now);
        true
    }

    /// Raises [`OverTime`] in the current call if it still exceeds its limit.
    fn end_call(&self, python: Python<'_>) {
        let mut current = self.current_call();
        if let Some(call) = current.as_mut().filter(|call| call.over_since.is_some()) {
            call.is_raised = true;
            raw::raise_in(call.thread, Some(&python.get_type::<OverTime>()), python);
        }
    }

    /// Sends a signal to the thread of a call that exceeds its limit. The signal interrupts a system call; Python's signal handling
    /// also releases the interpreter, so that another thread can raise the exception.
    fn wake(&self) {
        let (signal, thread) = (WAKE_SIGNAL.load(Ordering::Relaxed), WAKE_THREAD.load(Ordering::Relaxed));
        let current = self.current_call();
        if signal != 0 && current.as_ref().is_some_and(|call| call.over_since.is_some() && call.thread == thread) {
            // SAFETY: the thread is in a call, which can't return while this holds its lock.
            unsafe { raw::signal(thread, signal) };
        }
    }

    /// Ends the process if the call has not ended after the exception. Prints a message and Python's stack.
    fn end_process(&self) {
        let grace = self.limit.max(GRACE);
        let current = self.current_call();
        let Some(call) = current.as_ref() else { return };
        if call.over_since.is_none_or(|since| since.elapsed() < grace) {
            return;
        }
        let (what, place, grace_s) = (self.time_limit_fault(call.method), call.place, grace.as_secs_f64());
        let says = format!(
            "error: {what}{place}, and could not be stopped for {grace_s} s more: the process ends. Its stack:\n"
        );
        // A failed write is ignored: the process ends anyway.
        let _ = std::io::stderr().write_all(says.as_bytes());
        let signal = STACK_SIGNAL.load(Ordering::Relaxed);
        if signal != 0 {
            // SAFETY: the thread is in this call, which can't return while this holds its lock.
            unsafe { raw::signal(call.thread, signal) };
            std::thread::sleep(STACK_OUTPUT);
        }
        raw::exit(EXIT_STATUS);
    }
}

/// Watches calls until no policy is in use. It never waits for the interpreter, which a call may hold for ever.
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
        if ENDS_PROCESS.load(Ordering::Relaxed) {
            over.iter().for_each(|guard| guard.end_process());
        }
        if !over.is_empty() && ender.as_ref().is_none_or(JoinHandle::is_finished) {
            let named = std::thread::Builder::new().name("sledsim guard raise".into());
            // Attaching fails while Python shuts down.
            let end = move || Python::try_attach(|python| over.iter().for_each(|guard| guard.end_call(python)));
            ender = named.spawn(end).ok();
        }
    }
}

/// Sets the signal that interrupts the calling thread. Its handler must run Python code.
#[pyfunction]
pub fn wake_by(signal: i32) {
    WAKE_THREAD.store(raw::thread(), Ordering::Relaxed);
    WAKE_SIGNAL.store(signal, Ordering::Relaxed);
}

/// Ends this process with exit status 2 when a call of a policy can't be stopped. A thread prints its stack at `signal`.
#[pyfunction]
#[pyo3(signature = (signal=None))]
pub fn end_when_stuck(signal: Option<i32>) {
    STACK_SIGNAL.store(signal.unwrap_or(0), Ordering::Relaxed);
    ENDS_PROCESS.store(true, Ordering::Relaxed);
}

/// Calls a function with a time limit, s. `name` is its name in messages.
///
/// # Errors
/// The function exceeded its limit, or raised an exception.
#[pyfunction]
pub fn call_with_timeout<'py>(name: &str, limit_s: f64, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let python = function.py();
    let limit = Duration::try_from_secs_f64(limit_s).map_err(|error| errors::invalid_argument(error.to_string()))?;
    let guard = Guard::new(name, limit);
    guard.call(python, None, Place::default(), || function.call0()).map_err(|error| {
        if !error.is_instance_of::<OverTime>(python) {
            return error;
        }
        let mut fault = guard.time_limit_fault(None).placed("python");
        fault.policy_error = Some(errors::traceback_of(python, &error));
        errors::scenario(fault)
    })
}
