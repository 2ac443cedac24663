//! For tests: the system of a scenario with something put between its components.

pub use super::assemble::{assemble, Between};
