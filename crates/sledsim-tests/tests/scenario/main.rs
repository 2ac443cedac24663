//! Scenarios: how they are written, completed and refused.

mod bad_input;
mod bounds;
mod documents;
mod faults;
mod registries;
mod tree;
