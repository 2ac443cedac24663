//! Fast division by a constant.

/// A divisor, at least 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    value: u64,
    /// `(2^64 - 1) / value`, rounded down.
    reciprocal: u64,
}

impl Divisor {
    /// Returns the divisor `value`, at least 1.
    pub(super) fn new(value: u64) -> Self {
        Self { value, reciprocal: u64::MAX / value }
    }

    /// Returns the divisor.
    #[inline]
    pub(super) fn value(self) -> u64 {
        self.value
    }

    /// Returns quotient and remainder.
    #[inline]
    pub(super) fn div_rem(self, dividend: u64) -> (u64, u64) {
        // The reciprocal is too small by less than 2^-64, so the quotient is too small by at most one.
        let quotient = ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64;
        let remainder = dividend.wrapping_sub(quotient.wrapping_mul(self.value));
        if remainder < self.value {
            (quotient, remainder)
        } else {
            (quotient + 1, remainder - self.value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        #[test]
        fn equals_machine_division(
            value in prop_oneof![1_u64..1_000, any::<u64>().prop_map(|value| value.max(1)), Just(u64::MAX)],
            dividend in prop_oneof![0_u64..1_000_000, any::<u64>(), Just(u64::MAX)],
        ) {
            prop_assert_eq!(Divisor::new(value).div_rem(dividend), (dividend / value, dividend % value));
        }
    }
}
