//! Caches: replacement policies, hit ratios of traces, and a RAM cache over a component.

pub mod hit_ratio;
pub mod ram;
pub mod replacement;

pub use ram::{RamCache, RamCacheSpec};
