//! Schedulers: what every policy keeps to, and each against a search of all that is pending.

mod contract;
mod disk;
mod mems;
mod policies;
mod registry;
