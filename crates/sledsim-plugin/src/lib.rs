//! Compiled policies and mechanisms: functions of shared libraries that a scenario names, or at addresses of this process.
//! `sledsim_policy.h` documents their arguments and return values.

mod library;
mod loader;
mod policies;
mod raw;

pub use loader::{at_address, LibraryLoader};
