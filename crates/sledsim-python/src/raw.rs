//! Calls of the system and of Python's C interface: the only `unsafe` code of this crate beside the loading of compiled policies.

#![allow(unsafe_code)]

use std::ffi::c_long;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Returns Python's identifier of this thread.
pub fn thread() -> u64 {
    // SAFETY: the function has no preconditions.
    let ident = unsafe { ffi::PyThread_get_thread_ident() };
    // The C type is `unsigned long`, which has 32 bits on some systems.
    #[allow(clippy::useless_conversion)]
    ident.into()
}

/// Makes a Python thread raise `exception` at its next step; `None` cancels an exception that is still pending. No effect if the thread
/// has ended.
pub fn raise_in(thread: u64, exception: Option<&Bound<'_, PyType>>, _python: Python<'_>) {
    let exception = exception.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: `_python` proves that this thread is attached to the interpreter. Python looks the thread up by its identifier, and takes a
    // reference of its own to the exception.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread as c_long, exception) };
}

/// Sends a signal to a thread. The system rejects a signal that does not exist.
///
/// # Safety
/// `thread` is what [`thread`] returned in a thread that has not ended.
#[cfg(all(unix, not(target_os = "emscripten")))]
pub unsafe fn signal(thread: u64, signal: i32) {
    // SAFETY: the caller guarantees that the thread exists; its identifier is its `pthread_t` on systems with POSIX threads.
    unsafe { libc::pthread_kill(thread as libc::pthread_t, signal) };
}

/// Does nothing, as threads have no signals on this system.
///
/// # Safety
/// Always safe; the signature is that of other systems.
#[cfg(not(all(unix, not(target_os = "emscripten"))))]
pub unsafe fn signal(_thread: u64, _signal: i32) {}

/// Ends the process at once, without exit handlers, which could wait for ever for a stuck thread.
pub fn exit(status: i32) -> ! {
    #[cfg(unix)]
    // SAFETY: the function has no preconditions and does not return.
    unsafe {
        libc::_exit(status)
    };
    #[cfg(not(unix))]
    std::process::exit(status)
}
