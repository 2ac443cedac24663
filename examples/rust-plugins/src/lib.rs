//! Plugins in Rust: a file for each, and a line in the list.
//!
//! All but the sled reimplement built-in policies: they decide the same, request by request.

mod arc;
mod clook;
mod fcfs;
mod linear;
mod lru;
mod recency;
mod sled;
mod sptf;

use sledsim::plugin::RustPlugins;

/// The plugins of this crate.
pub const PLUGINS: RustPlugins =
    RustPlugins(&[fcfs::PLUGIN, clook::PLUGIN, sptf::PLUGIN, lru::PLUGIN, arc::PLUGIN, linear::PLUGIN, sled::PLUGIN]);

/// The core of Sledsim as a module of Python, with the plugins of this crate: `SLEDSIM_CORE=rust_plugins sledsim list schedulers`.
#[cfg(feature = "python")]
#[pyo3::pymodule]
fn rust_plugins(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    sledsim_core::fill(module, PLUGINS)
}
