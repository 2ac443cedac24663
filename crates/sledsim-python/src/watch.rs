//! Signals and progress of work that runs without the GIL.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Checks for signals and calls `progress`. Returns false after Ctrl-C, including one during `progress`; the caller then returns an
/// incomplete result.
///
/// # Errors
/// Any other exception of a signal handler or of `progress`.
pub fn keep_going<'py>(
    python: Python<'py>,
    progress: Option<&Py<PyAny>>,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<bool> {
    let called = python
        .check_signals()
        .and_then(|()| progress.map_or(Ok(()), |progress| progress.call1(python, arguments).map(drop)));
    match called {
        Ok(()) => Ok(true),
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(python) => Ok(false),
        Err(error) => Err(error),
    }
}
