//! System calls that the standard library lacks. All unsafe code of this crate is here.

#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_TERMINATION_REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn request_termination(_: libc::c_int) {
    IS_TERMINATION_REQUESTED.store(true, Ordering::Relaxed);
}

/// Installs handlers of SIGTERM and SIGINT after which [`is_termination_requested`] returns true.
pub fn install_signal_handlers() {
    let handler = request_termination as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: `handler` is a function of the type that a handler has, and it only stores to an atomic, which is allowed in one.
        unsafe { libc::signal(signal, handler) };
    }
}

/// Returns true if a signal has requested the end.
#[must_use]
pub fn is_termination_requested() -> bool {
    IS_TERMINATION_REQUESTED.load(Ordering::Relaxed)
}

/// Gives the calling thread real-time priority; returns false if the system does not allow it.
pub fn set_realtime_priority() -> bool {
    let parameter = libc::sched_param { sched_priority: 10 };
    // SAFETY: 0 is the calling thread, and `parameter` is valid during the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) == 0 }
}

/// Returns true if there is one processor: a thread that waits busily keeps all others from running.
#[must_use]
pub fn has_single_processor() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1)
}

/// Keeps processors out of sleep states with a long wake-up time, until the returned file is closed; `None` if the
/// system does not allow it.
#[must_use]
pub fn keep_processors_awake() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    // The longest time to wake up, in µs.
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Locks a file until it is closed; returns false if another process has it locked. Where files have no locks, none has.
#[must_use]
pub fn try_lock(file: &File) -> bool {
    // SAFETY: the descriptor is open while `file` is borrowed, and the call takes no pointers.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    locked == 0 || io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock
}

/// Makes a range of a file a hole, which reads as zeroes, or, with `keep_space`, zeroes with space allocated.
///
/// # Errors
/// Those of the file; `EOPNOTSUPP` if its file system cannot do it.
pub fn zero_range(file: &File, offset: u64, length: u64, keep_space: bool) -> io::Result<()> {
    let how = if keep_space { libc::FALLOC_FL_ZERO_RANGE } else { libc::FALLOC_FL_PUNCH_HOLE };
    let place = |number: u64| libc::off64_t::try_from(number).map_err(io::Error::other);
    let (offset, length) = (place(offset)?, place(length)?);
    // SAFETY: the descriptor is open while `file` is borrowed, and the call takes no pointers.
    match unsafe { libc::fallocate64(file.as_raw_fd(), how | libc::FALLOC_FL_KEEP_SIZE, offset, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until a read would not block, or a signal arrives.
pub fn wait_readable(from: BorrowedFd<'_>) {
    let mut polled = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer is to one `pollfd`, as the count says, and the descriptor is open while `from` is borrowed.
    let _ = unsafe { libc::poll(&raw mut polled, 1, -1) };
}

/// Sends data as far as the socket accepts it without blocking. Returns the number of bytes, which may be 0.
///
/// # Errors
/// Those of the socket: the other end is closed.
pub fn send_nonblocking(to: BorrowedFd<'_>, data: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: `data` is valid for its length during the call, and the descriptor is open while `to` is borrowed.
    let sent = unsafe { libc::send(to.as_raw_fd(), data.as_ptr().cast(), data.len(), flags) };
    match usize::try_from(sent) {
        Ok(sent) => Ok(sent),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            error => Err(error),
        },
    }
}
