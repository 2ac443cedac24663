//! The parts of a scenario: every key with its unit, range and default.

pub(super) mod replacement;
pub(super) mod scenario;
pub(super) mod system;
