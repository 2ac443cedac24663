//! DiskSim 4.0's interface for simulators of whole systems. `include/disksim_interface.h` documents the functions.
//!
//! `sledsim-disksim` imports the parameter file. Times are milliseconds in floating point, as in DiskSim, and are converted to
//! integer nanoseconds. The round trip is exact for the first 26 days.
//!
//! These functions can't return an error. As in DiskSim, a message goes to standard error, and the program exits with status 1.

#![allow(missing_docs, non_snake_case)] // The headers document these functions.
#![allow(unsafe_code)]

mod interface;
mod output;
mod random;

use std::ffi::{c_char, c_int, c_long, c_short, c_ulong, c_void};

use sledsim::time::Time;
use sledsim_disksim::Override;

use crate::codes::{catch_panic, Code, Error};
use crate::memory;
use interface::{instant, ms, Interface, Model, Step, INTERFACES};

/// `struct disksim_request` of `disksim_interface.h`. Programs may append their own data to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Request {
    flags: c_int,
    devno: c_short,
    blkno: c_ulong,
    bytecount: c_int,
    start: f64,
    batchno: c_int,
    batch_complete: c_int,
    reqctx: *mut c_void,
}

/// Block size of the interface, bytes, which is independent of the device's.
const BLOCK_BYTES: c_int = 512;
const READ: c_int = 1;

type Handle = *mut c_void;
type Complete = unsafe extern "C" fn(f64, *mut Request, *mut c_void);
type Callback = extern "C" fn(Handle, f64, *mut c_void);
type Schedule = unsafe extern "C" fn(Callback, f64, *mut c_void);
type Deschedule = unsafe extern "C" fn(f64, *mut c_void);

/// The program's callbacks. The caller of [`disksim_interface_initialize`] guarantees that they can be called until the interface is
/// freed.
#[derive(Clone, Copy)]
struct Callbacks {
    complete: Option<Complete>,
    schedule: Option<Schedule>,
    deschedule: Option<Deschedule>,
    /// The last argument of every call: a pointer that belongs to the program.
    context: usize,
}

/// Returns the number in a handle, which C sees as an address.
fn number(handle: Handle) -> u64 {
    handle as usize as u64
}

/// Runs the body of a call. On an error, prints it and ends the program.
fn run_or_exit<T>(call: &str, work: impl FnOnce() -> Result<T, Error>) -> T {
    catch_panic(work).and_then(|result| result).unwrap_or_else(|error| {
        eprintln!("{call}: {}", error.text());
        std::process::exit(1)
    })
}

/// Advances the session to `until`, one event at a time, and calls the program for each completion. The program may submit further
/// requests in these calls.
fn advance(handle: Handle, until: Time) -> Result<(), Error> {
    loop {
        match INTERFACES.with(number(handle), |interface| interface.step(until))? {
            Step::Completed { at_ms, request, callbacks } => {
                if let Some(complete) = callbacks.complete {
                    // SAFETY: the callback can be called, see `Callbacks`; the request is the one that the program handed in.
                    unsafe { complete(at_ms, request as *mut Request, callbacks.context as *mut c_void) };
                }
            }
            Step::Event => {}
            Step::Done => return Ok(()),
        }
    }
}

/// Schedules a call of the program at the time of the next event.
fn schedule(handle: Handle) -> Result<(), Error> {
    let (callbacks, next) =
        INTERFACES.with(number(handle), |interface| Ok((interface.callbacks, interface.next_event())))?;
    if let (Some(schedule), Some(next)) = (callbacks.schedule, next) {
        // SAFETY: the callback can be called, see `Callbacks`.
        unsafe { schedule(disksim_interface_internal_event, ms(next), callbacks.context as *mut c_void) };
    }
    Ok(())
}

/// # Safety
/// The pointers to texts are null, or point to what `disksim_interface.h` says. The callbacks can be called with `context`, from the
/// functions of this interface, until [`disksim_free_disksim`] is called.
#[no_mangle]
pub unsafe extern "C" fn disksim_interface_initialize(
    pfile: *const c_char,
    ofile: *const c_char,
    complete: Option<Complete>,
    schedule: Option<Schedule>,
    deschedule: Option<Deschedule>,
    context: *mut c_void,
    argc: c_int,
    argv: *const *const c_char,
) -> Handle {
    run_or_exit("disksim_interface_initialize", || {
        // SAFETY: as the caller guarantees.
        let (parameters, output) = unsafe { (memory::path(pfile, "pfile")?, memory::path(ofile, "ofile")?) };
        // SAFETY: as the caller guarantees.
        let words = unsafe { memory::texts(argv, usize::try_from(argc).unwrap_or(0), "argv") }?;
        if words.len() % 3 != 0 {
            let says = format!("argc = {argc}: expected three words for each override: component, parameter and value");
            return Err(Error::new(Code::Argument, says));
        }
        let overrides: Vec<Override> = words
            .chunks(3)
            .map(|each| Override { component: each[0].clone(), parameter: each[1].clone(), value: each[2].clone() })
            .collect();
        let callbacks = Callbacks { complete, schedule, deschedule, context: context as usize };
        let interface = Interface::open(&parameters, &output, &overrides, callbacks)?;
        let number = INTERFACES.insert(interface)?;
        let handle = usize::try_from(number)
            .map_err(|_| Error::new(Code::Full, "too many sessions were opened for 32-bit addresses"))?;
        Ok(handle as Handle)
    })
}

/// # Safety
/// `request` is null, or points to a request that the program keeps until it has been completed.
#[no_mangle]
pub unsafe extern "C" fn disksim_interface_request_arrive(handle: Handle, time: f64, request: *mut Request) {
    run_or_exit("disksim_interface_request_arrive", || {
        // SAFETY: as the caller guarantees.
        let Request { flags, devno, blkno, bytecount, .. } = unsafe { memory::read(request, "requestdesc") }?;
        let access = interface::Access {
            device: devno,
            block: blkno,
            blocks: bytecount / BLOCK_BYTES,
            is_read: flags & READ != 0,
        };
        let (callbacks, was_due, at) = INTERFACES.with(number(handle), |interface| {
            Ok((interface.callbacks, interface.next_event().is_some(), interface.arrival(instant(time)?)?))
        })?;
        if let Some(deschedule) = callbacks.deschedule.filter(|_| was_due) {
            // SAFETY: the callback can be called, see `Callbacks`.
            unsafe { deschedule(0.0, callbacks.context as *mut c_void) };
        }
        // Events up to the arrival come first.
        advance(handle, at)?;
        INTERFACES.with(number(handle), |interface| interface.submit(&access, at, request as usize))?;
        advance(handle, at)?;
        self::schedule(handle)
    });
}

#[no_mangle]
pub extern "C" fn disksim_interface_internal_event(handle: Handle, time: f64, _unused: *mut c_void) {
    run_or_exit("disksim_interface_internal_event", || {
        let until = INTERFACES.with(number(handle), |interface| Ok(interface.advance_time(instant(time)?)))?;
        advance(handle, until)?;
        schedule(handle)
    });
}

#[no_mangle]
pub extern "C" fn disksim_interface_dump_stats(handle: Handle, time: f64) {
    run_or_exit("disksim_interface_dump_stats", || {
        INTERFACES.with(number(handle), |interface| interface.write_statistics(instant(time)?))
    });
}

#[no_mangle]
pub extern "C" fn disksim_interface_shutdown(handle: Handle, time: f64) {
    run_or_exit("disksim_interface_shutdown", || {
        INTERFACES.with(number(handle), |interface| interface.write_statistics(instant(time)?))
    });
}

#[no_mangle]
pub extern "C" fn disksim_free_disksim(handle: Handle) {
    run_or_exit("disksim_free_disksim", || INTERFACES.remove(number(handle)).map(drop));
}

#[no_mangle]
pub extern "C" fn disksim_getdiskmodel(handle: Handle, device: c_int) -> *const Model {
    run_or_exit("disksim_getdiskmodel", || INTERFACES.with(number(handle), |interface| interface.model(device.into())))
}

#[no_mangle]
pub extern "C" fn disksim_time_to_msec(time: f64) -> f64 {
    time
}

#[no_mangle]
pub extern "C" fn disksim_time_from_msec(time: f64) -> f64 {
    time
}

#[no_mangle]
pub extern "C" fn DISKSIM_srand48(seed: c_long) {
    random::seed(seed as u32);
}

#[no_mangle]
pub extern "C" fn DISKSIM_drand48() -> f64 {
    random::fraction()
}

#[no_mangle]
pub extern "C" fn DISKSIM_lrand48() -> c_long {
    random::bits(31) as c_long
}

#[no_mangle]
pub extern "C" fn DISKSIM_mrand48() -> c_long {
    random::bits(32) as c_long
}
