//! DiskSim 4.0's own interface: what a program links DiskSim for when it is the simulator of a whole system.
//!
//! `include/disksim_interface.h` says what each function does. A parameter file is imported on the way, by `sledsim-disksim`.
//! Times are ms in floating point, as in DiskSim; within, they are whole nanoseconds, and the way there and back is exact for the
//! first 26 days.
//!
//! These functions have no way to answer an error. As in DiskSim, a message goes to standard error and the program ends with
//! status 1.

#![allow(missing_docs, non_snake_case)] // The headers document these functions.
#![allow(unsafe_code)]

mod interface;
mod output;
mod random;

use std::ffi::{c_char, c_int, c_long, c_short, c_ulong, c_void};

use sledsim::time::Time;
use sledsim_disksim::Override;

use crate::codes::{guarded, Code, Refusal};
use crate::memory;
use interface::{instant, ms, Interface, Model, Step, INTERFACES};

/// A request, as `disksim_interface.h` has it. Programs may have more behind it, which stays theirs.
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

/// DiskSim's size of a block, whatever the device has.
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
struct Calls {
    complete: Option<Complete>,
    schedule: Option<Schedule>,
    deschedule: Option<Deschedule>,
    /// The last argument of every call: an address of the program's.
    context: usize,
}

/// The number behind what a program takes for an address.
fn number(handle: Handle) -> u64 {
    handle as usize as u64
}

/// Does the work of a call, or ends the program with a message.
fn done<T>(call: &str, work: impl FnOnce() -> Result<T, Refusal>) -> T {
    guarded(work).and_then(|done| done).unwrap_or_else(|refusal| {
        eprintln!("{call}: {}", refusal.text());
        std::process::exit(1)
    })
}

/// Lets everything happen that is due by an instant, one event after the other, and tells the program of what comes back. The
/// program may hand in more meanwhile.
fn let_pass(handle: Handle, until: Time) -> Result<(), Refusal> {
    loop {
        match INTERFACES.with(number(handle), |interface| interface.step(until))? {
            Step::Back { at_ms, request, calls } => {
                if let Some(complete) = calls.complete {
                    // SAFETY: the callback can be called, see `Calls`; the request is the one that the program handed in.
                    unsafe { complete(at_ms, request as *mut Request, calls.context as *mut c_void) };
                }
            }
            Step::Further => {}
            Step::There => return Ok(()),
        }
    }
}

/// Asks to be called when something happens next.
fn schedule(handle: Handle) -> Result<(), Refusal> {
    let (calls, next) = INTERFACES.with(number(handle), |interface| Ok((interface.calls, interface.next_event())))?;
    if let (Some(schedule), Some(next)) = (calls.schedule, next) {
        // SAFETY: the callback can be called, see `Calls`.
        unsafe { schedule(disksim_interface_internal_event, ms(next), calls.context as *mut c_void) };
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
    done("disksim_interface_initialize", || {
        // SAFETY: as the caller guarantees.
        let (parameters, output) = unsafe { (memory::path(pfile, "pfile")?, memory::path(ofile, "ofile")?) };
        // SAFETY: as the caller guarantees.
        let words = unsafe { memory::texts(argv, usize::try_from(argc).unwrap_or(0), "argv") }?;
        if words.len() % 3 != 0 {
            let says = format!("argc = {argc}: expected a component, a parameter and a value for each override");
            return Err(Refusal::new(Code::Argument, says));
        }
        let overrides: Vec<Override> = words
            .chunks(3)
            .map(|each| Override { component: each[0].clone(), parameter: each[1].clone(), value: each[2].clone() })
            .collect();
        let calls = Calls { complete, schedule, deschedule, context: context as usize };
        let interface = Interface::open(&parameters, &output, &overrides, calls)?;
        let number = INTERFACES.put(interface)?;
        let handle = usize::try_from(number).map_err(|_| Refusal::new(Code::Full, "addresses have 32 bits here"))?;
        Ok(handle as Handle)
    })
}

/// # Safety
/// `request` is null, or points to a request that the program keeps until it has been completed.
#[no_mangle]
pub unsafe extern "C" fn disksim_interface_request_arrive(handle: Handle, time: f64, request: *mut Request) {
    done("disksim_interface_request_arrive", || {
        // SAFETY: as the caller guarantees.
        let Request { flags, devno, blkno, bytecount, .. } = unsafe { memory::read(request, "requestdesc") }?;
        let asked = interface::Asked {
            device: devno,
            block: blkno,
            blocks: bytecount / BLOCK_BYTES,
            is_read: flags & READ != 0,
        };
        let (calls, was_due, at) = INTERFACES.with(number(handle), |interface| {
            Ok((interface.calls, interface.next_event().is_some(), interface.arrival(instant(time)?)?))
        })?;
        if let Some(deschedule) = calls.deschedule.filter(|_| was_due) {
            // SAFETY: the callback can be called, see `Calls`.
            unsafe { deschedule(0.0, calls.context as *mut c_void) };
        }
        // What is due by then happens before it arrives.
        let_pass(handle, at)?;
        INTERFACES.with(number(handle), |interface| interface.submit(&asked, at, request as usize))?;
        let_pass(handle, at)?;
        self::schedule(handle)
    });
}

#[no_mangle]
pub extern "C" fn disksim_interface_internal_event(handle: Handle, time: f64, _unused: *mut c_void) {
    done("disksim_interface_internal_event", || {
        let until = INTERFACES.with(number(handle), |interface| Ok(interface.reach(instant(time)?)))?;
        let_pass(handle, until)?;
        schedule(handle)
    });
}

#[no_mangle]
pub extern "C" fn disksim_interface_dump_stats(handle: Handle, time: f64) {
    done("disksim_interface_dump_stats", || {
        INTERFACES.with(number(handle), |interface| interface.write_statistics(instant(time)?))
    });
}

#[no_mangle]
pub extern "C" fn disksim_interface_shutdown(handle: Handle, time: f64) {
    done("disksim_interface_shutdown", || {
        INTERFACES.with(number(handle), |interface| interface.write_statistics(instant(time)?))
    });
}

#[no_mangle]
pub extern "C" fn disksim_free_disksim(handle: Handle) {
    done("disksim_free_disksim", || INTERFACES.take(number(handle)).map(drop));
}

#[no_mangle]
pub extern "C" fn disksim_getdiskmodel(handle: Handle, device: c_int) -> *const Model {
    done("disksim_getdiskmodel", || INTERFACES.with(number(handle), |interface| interface.model(device.into())))
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
