//! Replacement policies against reference implementations, against what was published of them, and against the contract
//! that each of them has to keep.

mod contract;
mod counting;
mod memory;
mod traces;
