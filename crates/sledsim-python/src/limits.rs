//! What is bounded though no key says so.

use pyo3::prelude::*;
use sledsim::limits::ALL;

/// The bounds: name, the most that is allowed, what is counted, and why there is no more.
#[pyfunction]
pub fn limits() -> Vec<(&'static str, u64, &'static str, &'static str)> {
    ALL.iter().map(|limit| (limit.name, limit.most, limit.of, limit.why)).collect()
}
