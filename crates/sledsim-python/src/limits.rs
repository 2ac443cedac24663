//! Limits that no key of a scenario states.

use pyo3::prelude::*;
use sledsim::limits::ALL;

/// Returns the limits: name, maximum, counted quantity and reason.
#[pyfunction]
pub fn limits() -> Vec<(&'static str, u64, &'static str, &'static str)> {
    ALL.iter().map(|limit| (limit.name, limit.most, limit.of, limit.why)).collect()
}
