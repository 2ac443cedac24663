//! Caches: what they keep, and how often a trace would find it there.

pub mod hit_ratio;
pub mod replacement;
