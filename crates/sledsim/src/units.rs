//! Factors between the units people read and the SI units of the core.

/// Metres in a nanometre.
pub const M_PER_NM: f64 = 1e-9;
/// Metres in a micrometre.
pub const M_PER_UM: f64 = 1e-6;
/// Nanoseconds in a millisecond.
pub const NS_PER_MS: f64 = 1e6;
/// Bytes in a (decimal) megabyte.
pub const BYTES_PER_MB: f64 = 1e6;

/// Milliseconds from nanoseconds.
#[inline]
#[must_use]
pub fn ns_to_ms(ns: f64) -> f64 {
    ns / NS_PER_MS
}
