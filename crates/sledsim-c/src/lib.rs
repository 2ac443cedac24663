//! The C interface: functions that convert, forward, and answer every misuse with a code.
//!
//! `include/sledsim.h` says what each function does, for whoever calls it. Here is how it is made:
//!
//! - A handle is a number, not an address. It carries the generation of its place in a table ([`handles`]), so that one that was
//!   closed, or made up, is known as such.
//! - What C hands over is read and written in [`memory`], and nowhere else.
//! - Every entry goes through [`codes::answered`]: a fault becomes a code and a message of the calling thread, and so does a
//!   panic, so that none crosses.
//!
//! [`disksim`] is another interface to the same sessions: the one that programs link DiskSim 4.0 for.

mod codes;
pub mod disksim;
mod handles;
mod memory;
mod opening;
pub mod session;
mod taken;
