//! Imports parameter files of DiskSim 4.0: a device, the file and line of each value, and a list of the parameters that can't be carried
//! over.
//!
//! A device becomes a [`sledsim::scenario::DeviceSpec`], and the scenario around it a [`sledsim::scenario::Commented`] document.
//!
//! Blocks and parameters have the meaning of DiskSim's `.modspec` files and manual.

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
