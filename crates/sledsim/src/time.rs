//! Simulated time: an integer number of nanoseconds from the start of the run.

use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::convert::trunc_to_u64;
use crate::units::NS_PER_MS;

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// An instant, in nanoseconds from the start of the run (range: 584 years).
///
/// Differences between instants are plain `u64` nanoseconds, in names that end in `_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than all events of a run.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the instant `ns` nanoseconds after the start.
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns nanoseconds since the start.
    #[inline]
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Returns seconds since the start.
    #[must_use]
    pub fn seconds(self) -> f64 {
        ns_to_s(self.0)
    }

    /// Returns the nanoseconds from `earlier` to `self`, or 0 if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Time {
    type Output = Self;
    #[inline]
    fn add(self, ns: u64) -> Self {
        Self(self.0 + ns)
    }
}

impl AddAssign<u64> for Time {
    #[inline]
    fn add_assign(&mut self, ns: u64) {
        self.0 += ns;
    }
}

impl Sub for Time {
    type Output = u64;
    #[inline]
    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

/// Converts seconds (non-negative, finite) to nanoseconds, to the nearest.
#[inline]
#[must_use]
pub fn s_to_ns(seconds: f64) -> u64 {
    debug_assert!(seconds >= 0.0 && seconds.is_finite(), "{seconds} s");
    // Truncation after adding a half is round-half-up: exact and much faster than `round`.
    trunc_to_u64(seconds * 1e9 + 0.5)
}

/// Converts milliseconds (non-negative, finite) to nanoseconds, to the nearest.
#[must_use]
pub fn ms_to_ns(ms: f64) -> u64 {
    trunc_to_u64((ms * NS_PER_MS).round())
}

/// Converts nanoseconds to seconds.
#[inline]
#[must_use]
pub fn ns_to_s(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_undoes_sum() {
        let t = Time::from_ns(5) + 7;
        assert_eq!(t - Time::from_ns(2), 10);
        assert_eq!(Time::ZERO.saturating_since(t), 0);
    }

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(s_to_ns(1.4e-9), 1);
        assert_eq!(s_to_ns(1.6e-9), 2);
        assert_eq!(s_to_ns(90.0 / 0.7e6), 128_571);
        assert!((ns_to_s(1_500_000_000) - 1.5).abs() < 1e-15);
    }
}
