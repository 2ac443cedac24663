//! Scenarios: notations, defaults and errors.

mod bad_input;
mod bounds;
mod component_kinds;
mod documents;
mod faults;
mod limits;
mod plugins;
mod power_cuts;
mod tree;
