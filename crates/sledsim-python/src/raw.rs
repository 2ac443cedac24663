//! All that Rust can't check: the one file with `unsafe` code. Everything here is said in safe terms to the rest.

use std::ffi::c_long;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The number by which Python knows this thread.
pub fn thread() -> u64 {
    // Asks the system; there is nothing to get wrong. As wide as the system's own numbers, on some not as this one.
    let ident = unsafe { ffi::PyThread_get_thread_ident() };
    #[allow(clippy::useless_conversion)]
    ident.into()
}

/// Has a thread of Python raise an exception at its next step, or no longer raise the one that it was to.
pub fn raise_in(thread: u64, exception: Option<&Bound<'_, PyType>>, _python: Python<'_>) {
    let raised = exception.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // Whoever calls holds the interpreter; a thread that has ended is not found, and the type is kept by Python itself.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread as c_long, raised) };
}

/// Sends a thread that has not ended a signal.
#[cfg(unix)]
pub fn signal(thread: u64, signal: i32) {
    // Whoever calls keeps the thread from ending; a signal that there is none of is refused.
    unsafe { libc::pthread_kill(thread as libc::pthread_t, signal) };
}

/// Elsewhere threads have no signals.
#[cfg(not(unix))]
pub fn signal(_thread: u64, _signal: i32) {}

/// Ends the process at once: what would run at its end may wait for ever for a thread that is stuck.
pub fn exit(status: i32) -> ! {
    // It takes nothing and gives nothing back.
    #[cfg(unix)]
    unsafe {
        libc::_exit(status)
    };
    #[cfg(not(unix))]
    std::process::exit(status)
}
