//! A guard against Python code of one's own that does not come back: after a while it is made to raise.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use pyo3::create_exception;
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;

use crate::raw;

create_exception!(sledsim._core, OverTime, PyBaseException, "Raised in a policy that takes too long to answer.");

/// How often calls are looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// Whether no call is under way.
const NONE: u64 = 0;

/// What is known of the calls of one policy.
#[derive(Debug)]
pub struct Guard {
    /// How long a call may take.
    limit: Duration,
    /// When the call under way began: nanoseconds, from 1, since the first guard was made; [`NONE`] between calls.
    since_ns: AtomicU64,
    /// The thread that it is in.
    thread: AtomicU64,
    /// Whether it has been made to raise.
    fired: AtomicBool,
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Guards of policies that are in use, and the process in which somebody looks after them.
static GUARDS: Mutex<Watched> = Mutex::new(Watched { guards: Vec::new(), process: 0 });

struct Watched {
    guards: Vec<Weak<Guard>>,
    process: u32,
}

fn now_ns() -> u64 {
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX - 1) + 1
}

impl Guard {
    /// A guard of calls that may take so long.
    pub fn new(limit: Duration) -> Arc<Self> {
        let guard = Arc::new(Self {
            limit,
            since_ns: AtomicU64::new(NONE),
            thread: AtomicU64::new(0),
            fired: AtomicBool::new(false),
        });
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

    /// Makes a call, which raises [`OverTime`] where it takes too long.
    pub fn call<T>(&self, python: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.thread.store(raw::thread(), Ordering::Relaxed);
        self.since_ns.store(now_ns(), Ordering::Release);
        let answer = call();
        self.since_ns.store(NONE, Ordering::Release);
        // Whoever made it raise held the interpreter, as this thread does now: nothing comes between.
        if self.fired.swap(false, Ordering::AcqRel) {
            raw::raise_in(raw::thread(), None, python);
        }
        answer
    }

    fn is_over(&self) -> bool {
        let since_ns = self.since_ns.load(Ordering::Acquire);
        since_ns != NONE && u128::from(now_ns().saturating_sub(since_ns)) > self.limit.as_nanos()
    }

    /// Ends the call under way if it is still over its time.
    fn end_call(&self, python: Python<'_>) {
        if self.is_over() {
            self.fired.store(true, Ordering::Release);
            let thread = self.thread.load(Ordering::Relaxed);
            raw::raise_in(thread, Some(&python.get_type::<OverTime>()), python);
        }
    }
}

/// Looks after calls until no policy is in use any more.
fn watch() {
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
        if !over.is_empty() {
            // While Python ends there is nobody to attach to.
            Python::try_attach(|python| over.iter().for_each(|guard| guard.end_call(python)));
        }
    }
}
