//! Caches: what they keep, how often a trace would find it there, and a cache over a component.

pub mod hit_ratio;
pub mod ram;
pub mod replacement;

pub use ram::{RamCache, RamCacheSpec};
