//! Reports on runs and on systems.

pub(super) mod components;
pub(super) mod energy;
pub(super) mod explain;
pub(super) mod idle_modes;
pub(super) mod numbers;
pub(super) mod power_cuts;
pub(super) mod precision;
pub(super) mod summary;
