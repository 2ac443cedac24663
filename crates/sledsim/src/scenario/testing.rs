//! For tests: the system of a scenario with additional components between its own.

pub use super::assemble::{assemble, Between};
