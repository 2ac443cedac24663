//! The functions that a page calls. All memory that they return is the module's own and valid until the next call.
//!
//! A page writes a command into memory from [`sledsim_allocate`], calls [`sledsim_command`], and reads the answer. Only one thread
//! calls them, because a module of WebAssembly has one.

#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::commands::{Answer, Page};
use crate::playback::Playback;

/// The state of the module.
#[derive(Default)]
struct State {
    page: Page,
    command: Vec<u8>,
    answer: Vec<u8>,
    numbers: Vec<f64>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Returns memory for a command of this many bytes.
#[no_mangle]
pub extern "C" fn sledsim_allocate(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.command.clear();
        state.command.resize(bytes, 0);
        state.command.as_mut_ptr()
    })
}

/// Carries out the command in the allocated memory. Returns the number of bytes of the answer, negative if it is a fault.
#[no_mangle]
pub extern "C" fn sledsim_command() -> isize {
    STATE.with_borrow_mut(|state| {
        let answer = state.page.carry_out(&state.command);
        let is_fault = matches!(answer, Answer::Fault(_));
        let (Answer::Done(text) | Answer::Fault(text)) = answer;
        state.answer = text.into_bytes();
        let bytes = isize::try_from(state.answer.len()).unwrap_or(isize::MAX);
        if is_fault {
            -bytes
        } else {
            bytes
        }
    })
}

/// Returns the address of the answer.
#[no_mangle]
pub extern "C" fn sledsim_answer() -> *const u8 {
    STATE.with_borrow(|state| state.answer.as_ptr())
}

/// Writes numbers of a playback and returns their count: 0 if there is no such playback.
fn write(playback: u32, write: impl FnOnce(&mut Playback, &mut Vec<f64>)) -> usize {
    STATE.with_borrow_mut(|State { page, numbers, .. }| {
        numbers.clear();
        if let Some(playback) = page.playback(playback) {
            write(playback, numbers);
        }
        numbers.len()
    })
}

/// Writes the state of a playback at an instant, see [`Playback::state`]. Returns the count of numbers.
#[no_mangle]
pub extern "C" fn sledsim_state(playback: u32, at_ns: f64) -> usize {
    write(playback, |playback, numbers| numbers.extend(playback.state(at_ns)))
}

/// Writes the pending requests of a playback at an instant, see [`Playback::pending`]. Returns the count of numbers.
#[no_mangle]
pub extern "C" fn sledsim_pending(playback: u32, at_ns: f64) -> usize {
    write(playback, |playback, numbers| playback.pending(at_ns, numbers))
}

/// Returns the address of the numbers.
#[no_mangle]
pub extern "C" fn sledsim_numbers() -> *const f64 {
    STATE.with_borrow(|state| state.numbers.as_ptr())
}
