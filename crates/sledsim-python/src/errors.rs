//! Errors of the core as Python exceptions.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::{PyErr, PyResult};

create_exception!(sledsim._core, SledsimError, PyException, "Something a user can put right; the message says how.");
create_exception!(sledsim._core, ScenarioError, SledsimError, "A scenario that can't be used.");
create_exception!(sledsim._core, TraceError, SledsimError, "A trace that can't be read or replayed.");
create_exception!(sledsim._core, RunError, SledsimError, "A run that can't go on.");

/// A scenario error.
pub fn scenario(error: impl ToString) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// A trace error.
pub fn trace(error: impl ToString) -> PyErr {
    TraceError::new_err(error.to_string())
}

/// An error of a run.
pub fn run(error: impl ToString) -> PyErr {
    RunError::new_err(error.to_string())
}

/// Does some of the core's work; a panic in it becomes an error, so that none crosses into Python.
///
/// What was being worked on is dropped with the panic, so nothing half-done is seen again.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let what = describe(panic.as_ref());
        run(format!(
            "numbers beyond what the simulator can hold, or a defect in it ({what}): use less extreme parameters"
        ))
    })
}

fn describe(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
