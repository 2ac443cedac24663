//! What looks after work that goes on without the GIL.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Looks for signals and tells `progress` how far work is; says whether it is to go on.
///
/// Ctrl-C ends it, also where it strikes while `progress` is told: it is the caller's to see that the result is incomplete.
///
/// # Errors
/// Whatever else a signal's handler or `progress` raises.
pub fn goes_on<'py>(python: Python<'py>, progress: Option<&Py<PyAny>>, told: impl PyCallArgs<'py>) -> PyResult<bool> {
    let heard = python
        .check_signals()
        .and_then(|()| progress.map_or(Ok(()), |progress| progress.call1(python, told).map(drop)));
    match heard {
        Ok(()) => Ok(true),
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(python) => Ok(false),
        Err(error) => Err(error),
    }
}
