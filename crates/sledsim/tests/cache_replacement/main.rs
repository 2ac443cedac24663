//! Replacement policies against reference implementations, against what was published of them, and against the contract
//! that each of them has to keep.

#[path = "../common/mod.rs"]
mod common;
mod contract;
mod memory;
mod reference;
mod traces;
