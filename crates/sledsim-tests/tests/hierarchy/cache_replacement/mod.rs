//! Replacement policies: reference implementations, published hit ratios, and the contract of all policies.

mod contract;
mod counting;
mod memory;
mod traces;
