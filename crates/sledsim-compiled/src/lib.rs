//! Compiled policies and mechanisms: functions of shared libraries that a scenario names, or at addresses of this process.
//! `sledsim_policy.h` documents their arguments and return values.

mod libraries;
mod opened;
mod policies;
mod raw;

pub use libraries::{at_address, Libraries};
