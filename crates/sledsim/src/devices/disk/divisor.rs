//! Division by a number that stays the same.

/// A divisor, at least 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    value: u64,
    /// `2^64 / value`, rounded down (from one less for 1).
    reciprocal: u64,
}

impl Divisor {
    /// That number, at least 1.
    pub(super) fn new(value: u64) -> Self {
        Self { value, reciprocal: u64::MAX / value }
    }

    /// The number.
    #[inline]
    pub(super) fn value(self) -> u64 {
        self.value
    }

    /// Quotient and rest.
    #[inline]
    pub(super) fn divide(self, dividend: u64) -> (u64, u64) {
        // The reciprocal is short by less than 2^-64 of one, hence the quotient by at most one.
        let quotient = ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = dividend - quotient * self.value;
        if rest < self.value {
            (quotient, rest)
        } else {
            (quotient + 1, rest - self.value)
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
        fn divides_as_the_machine_does(
            value in prop_oneof![1_u64..1_000, any::<u64>().prop_map(|value| value.max(1)), Just(u64::MAX)],
            dividend in prop_oneof![0_u64..1_000_000, any::<u64>(), Just(u64::MAX)],
        ) {
            prop_assert_eq!(Divisor::new(value).divide(dividend), (dividend / value, dividend % value));
        }
    }
}
