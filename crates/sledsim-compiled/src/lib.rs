//! Policies and mechanisms of one's own that are compiled: functions of a shared library that a scenario names, or at addresses of
//! the program at hand. `sledsim_policy.h` says what they are given, and what they answer.

mod libraries;
mod opened;
mod policies;
mod raw;

pub use libraries::{at_address, Libraries};
