//! What a scenario consists of: every key with its unit, range and default.

pub(super) mod replacement;
pub(super) mod scenario;
pub(super) mod system;
