//! The C interface of the simulator. `include/sledsim.h` documents the functions.
//!
//! - A handle is a number, not an address. It contains the generation of its slot in a table ([`handles`]), so that a handle that
//!   was closed or invented is detected.
//! - Text and arrays of the caller are accessed in [`memory`] only.
//! - Every function runs in [`codes::run_call`], which converts an error or a panic to a code and a message of the calling thread.
//!
//! [`disksim`] is a second interface to the same sessions: that of DiskSim 4.0.

mod codes;
pub mod disksim;
mod fetched;
mod handles;
mod memory;
mod opening;
pub mod session;
