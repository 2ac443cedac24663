//! Errors of the core as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::PyErr;

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
