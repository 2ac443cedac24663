//! Schedulers: the contract of all policies, and each against an exhaustive search.

mod contract;
mod disk;
mod mems;
mod policies;
mod registry;
