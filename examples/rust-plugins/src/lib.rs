//! Parts of one's own in Rust: a file for each, and a line in the list.
//!
//! All but the sled are what Sledsim has already, written once more from outside: they decide the same, request by request.

mod arc;
mod clook;
mod fcfs;
mod linear;
mod lru;
mod recency;
mod sled;
mod sptf;

use sledsim::scenario::Parts;

/// What this crate adds to the lists.
pub const PARTS: Parts = Parts(&[fcfs::PART, clook::PART, sptf::PART, lru::PART, arc::PART, linear::PART, sled::PART]);

/// The core of Sledsim as a module of Python, with the parts of this crate: `SLEDSIM_CORE=rust_plugins sledsim schedulers`.
#[cfg(feature = "python")]
#[pyo3::pymodule]
fn rust_plugins(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    sledsim_core::fill(module, PARTS)
}
