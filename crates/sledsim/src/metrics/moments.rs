//! Exact count, mean, variance and extremes of integer nanoseconds.

use crate::convert::{to_u64, wide_product};

/// Values below this limit are small: the sum of the squares of [`SMALL_VALUES`] of them is below 2^64.
const SMALL_NS: u64 = 1 << 28;
/// Most values of a sum in 64 bits.
const SMALL_VALUES: usize = 128;

/// Running moments of a sequence of `u64` nanoseconds.
///
/// The sums are exact integers, so a result does not depend on the order of the values or on merges. Only the last step, to
/// `f64`, rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    /// Below 2^128, because there are fewer than 2^64 values below 2^64.
    sum: u128,
    squares: Wide,
    min: u64,
    max: u64,
}

/// A 192-bit unsigned integer: fewer than 2^64 squares below 2^128 can't overflow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wide {
    high: u64,
    low: u128,
}

impl Wide {
    #[inline]
    fn add(&mut self, term: u128) {
        let (low, carry) = self.low.overflowing_add(term);
        self.low = low;
        self.high += u64::from(carry);
    }

    /// `factor * term`.
    fn product(factor: u64, term: u128) -> Self {
        let (high, middle) = wide_product(factor, to_u64(term >> 64));
        let mut product = Self { high, low: u128::from(middle) << 64 };
        product.add(u128::from(factor) * (term & u128::from(u64::MAX)));
        product
    }

    /// `self - other`, which must not be negative.
    fn minus(self, other: Self) -> Self {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Self { high: self.high - other.high - u64::from(borrow), low }
    }

    fn to_f64(self) -> f64 {
        // 2^128 is a power of two: the product is exact.
        self.high as f64 * (u128::MAX as f64) + self.low as f64
    }
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, sum: 0, squares: Wide::default(), min: u64::MAX, max: 0 }
    }
}

impl Moments {
    /// Adds a value in nanoseconds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.count += 1;
        self.sum += u128::from(value_ns);
        self.squares.add(u128::from(value_ns) * u128::from(value_ns));
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
    }

    /// Adds values in nanoseconds. Sums of small values are made in 64 bits, which takes fewer instructions and is exact, too.
    pub fn record_all(&mut self, values_ns: &[u64]) {
        for values in values_ns.chunks(SMALL_VALUES) {
            let bits = values.iter().fold(0, |bits, value| bits | value);
            if bits >= SMALL_NS {
                values.iter().for_each(|&value| self.record(value));
                continue;
            }
            if bits == 0 {
                self.add(values.len() as u64, 0, 0, 0, 0);
                continue;
            }
            let (mut sum, mut squares) = (0_u64, 0_u64);
            for value in values {
                // The mask tells the compiler that the factors have 32 bits.
                let value = value & (SMALL_NS - 1);
                sum = sum.wrapping_add(value);
                squares = squares.wrapping_add(value * value);
            }
            let (min, max) = values.iter().fold((u64::MAX, 0), |(min, max), &value| (value.min(min), value.max(max)));
            self.add(values.len() as u64, sum.into(), squares.into(), min, max);
        }
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.add(other.count, other.sum, other.squares.low, other.min, other.max);
        self.squares.high += other.squares.high;
    }

    /// Adds `count` values with this sum, sum of squares, minimum and maximum.
    fn add(&mut self, count: u64, sum: u128, squares: u128, min: u64, max: u64) {
        self.count += count;
        self.sum += sum;
        self.squares.add(squares);
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// Number of values.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Arithmetic mean, ns; 0 without values.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = u128::from(self.count);
        (self.sum / count) as f64 + (self.sum % count) as f64 / self.count as f64
    }

    /// Unbiased sample variance (denominator n - 1), ns²; 0 with fewer than two values.
    #[must_use]
    pub fn variance_ns2(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        self.squared_deviations_ns2() / (self.count - 1) as f64
    }

    /// Variance of the values themselves (denominator n), ns²; 0 without values.
    #[must_use]
    pub fn population_variance_ns2(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.squared_deviations_ns2() / self.count as f64
    }

    /// Sum of the squared deviations from the mean, ns². There is at least one value.
    fn squared_deviations_ns2(&self) -> f64 {
        // With sum = n q + r, the squared deviations from the integer q add up to squares - q (sum + r), an exact
        // integer, and those from the mean q + r/n to r²/n less.
        let count = u128::from(self.count);
        let (quotient, remainder) = (self.sum / count, self.sum % count);
        let about_quotient = self.squares.minus(Wide::product(to_u64(quotient), self.sum + remainder));
        let correction = remainder as f64 * (remainder as f64 / self.count as f64);
        (about_quotient.to_f64() - correction).max(0.0)
    }

    /// Sample standard deviation, ns.
    #[must_use]
    pub fn std_ns(&self) -> f64 {
        self.variance_ns2().sqrt()
    }

    /// Squared coefficient of variation: variance / mean²; 0 when the mean is 0.
    #[must_use]
    pub fn scv(&self) -> f64 {
        let mean = self.mean_ns();
        if mean == 0.0 {
            return 0.0;
        }
        self.variance_ns2() / (mean * mean)
    }

    /// Smallest value, ns; `None` without values.
    #[must_use]
    pub const fn min_ns(&self) -> Option<u64> {
        if self.count == 0 {
            None
        } else {
            Some(self.min)
        }
    }

    /// Largest value, ns; `None` without values.
    #[must_use]
    pub const fn max_ns(&self) -> Option<u64> {
        if self.count == 0 {
            None
        } else {
            Some(self.max)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.record(value));
        moments
    }

    #[test]
    fn recording_all_equals_recording_each() {
        let small = [SMALL_NS - 1; 2 * SMALL_VALUES + 1];
        let large = [0, 7, SMALL_NS, u64::MAX, 3];
        for values in [&small[..], &large, &[], &[5]] {
            let mut moments = of(&[2, 9]);
            let mut each = moments.clone();
            moments.record_all(values);
            values.iter().for_each(|&value| each.record(value));
            assert_eq!(moments, each);
        }
    }

    #[test]
    fn moments_match_hand_calculation() {
        let moments = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(moments.mean_ns(), 5.0);
        assert_eq!(moments.variance_ns2(), 32.0 / 7.0);
        assert_eq!((moments.min_ns(), moments.max_ns()), (Some(2), Some(9)));
    }

    #[test]
    fn a_large_offset_costs_no_digits() {
        let offset = 1 << 62;
        assert_eq!(of(&[offset, offset + 1, offset + 2, offset + 3]).variance_ns2(), 5.0 / 3.0);
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        let mut moments = of(&[u64::MAX; 1000]);
        assert_eq!(moments.variance_ns2(), 0.0);
        moments.record(0);
        assert!((moments.scv() - 1001.0 / 1e6).abs() < 1e-9, "{}", moments.scv());
    }

    #[test]
    fn population_variance_matches_hand_calculation() {
        let mean = 8.0 / 6.0;
        let by_hand = (4.0 * mean * mean + (3.0 - mean) * (3.0 - mean) + (5.0 - mean) * (5.0 - mean)) / 6.0;
        assert!((of(&[0, 3, 0, 5, 0, 0]).population_variance_ns2() - by_hand).abs() < 1e-14);
        assert_eq!(of(&[]).population_variance_ns2(), 0.0);
    }

    #[test]
    fn a_small_spread_of_large_values_is_exact() {
        let offset = 1 << 40;
        assert_eq!(of(&[offset, offset + 2]).population_variance_ns2(), 1.0);
    }

    #[test]
    fn empty_moments_are_zero() {
        let moments = Moments::default();
        assert_eq!((moments.count(), moments.min_ns(), moments.max_ns()), (0, None, None));
        assert_eq!((moments.mean_ns(), moments.std_ns(), moments.scv()), (0.0, 0.0, 0.0));
    }
}
