//! Reads parameter files of DiskSim 4.0: a device, with every value's place, and a list of what can't be carried over.
//!
//! It knows [`sledsim`] by its public names: what it reads becomes a [`sledsim::scenario::DeviceSpec`], and the scenario
//! around it a [`sledsim::scenario::Commented`] document.
//!
//! The meaning of blocks and parameters is that of DiskSim's `.modspec` files and manual.

mod block;
mod disk;
mod distribution;
mod draft;
mod fault;
mod grammar;
mod import;
mod mems;
mod model;
mod output;
mod overrides;
mod reference;
mod seek;
mod sources;
mod syntax;
mod system;
mod tokens;
mod workload;

pub use draft::Origin;
pub use import::{import, Entry, Import, ImportOptions, Note, Source};
pub use overrides::Override;
pub use reference::reference;
