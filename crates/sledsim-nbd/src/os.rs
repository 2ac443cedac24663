//! What the machine is asked for beyond the standard library: the end by a signal, a turn before others, processors that are awake, a
//! file for oneself, a send that does not wait.

#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

static ENDED: AtomicBool = AtomicBool::new(false);

extern "C" fn end(_: libc::c_int) {
    ENDED.store(true, Ordering::Relaxed);
}

/// From now on SIGTERM and SIGINT ask for an end, which [`is_ended`] tells.
pub fn end_by_signals() {
    let handler = end as extern "C" fn(libc::c_int) as libc::sighandler_t;
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler stores to an atomic and does nothing else, which a handler may.
        unsafe { libc::signal(signal, handler) };
    }
}

/// Whether a signal has asked for an end.
#[must_use]
pub fn is_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Lets this thread run before all that are not real-time, if the machine allows it; says whether it does.
pub fn run_first() -> bool {
    let wish = libc::sched_param { sched_priority: 10 };
    // SAFETY: 0 is this thread, and the parameter lives as long as the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wish) == 0 }
}

/// Whether there is one processor alone, so that nobody else goes on while something waits awake.
#[must_use]
pub fn is_alone() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1)
}

/// Keeps the processors from falling asleep, from which they take long to wake, until what it gives is closed; none where the machine
/// does not allow it. Linux reads a number there: in how many µs they have to be awake.
#[must_use]
pub fn stay_awake() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Takes a file for oneself until it is closed; says whether somebody else has it. Where files can't be taken, nobody has.
#[must_use]
pub fn is_locked_elsewhere(file: &File) -> bool {
    // SAFETY: the descriptor is open as long as the file is borrowed.
    let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    taken != 0 && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

/// Waits until there is something to read, as clients that wait for several things at once do, or until a signal comes; who reads then
/// waits for the rest, or is told what is wrong.
pub fn wait_to_read(from: BorrowedFd<'_>) {
    let mut asked = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the descriptor is open as long as it is borrowed, and there is one, as is said.
    let _ = unsafe { libc::poll(&raw mut asked, 1, -1) };
}

/// Sends as much as goes at once; says how much.
///
/// # Errors
/// Where the other side has gone.
pub fn send_at_once(to: BorrowedFd<'_>, data: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the descriptor is open as long as it is borrowed, and the data are as long as is said.
    let sent = unsafe { libc::send(to.as_raw_fd(), data.as_ptr().cast(), data.len(), flags) };
    match usize::try_from(sent) {
        Ok(sent) => Ok(sent),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            error => Err(error),
        },
    }
}
