//! Conversions between number types that `as` would do without a check.

/// Rounds toward zero. Saturates: numbers below 0 and NaN give 0, numbers beyond the range its end.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as documented")]
pub const fn trunc_to_u64(value: f64) -> u64 {
    value as u64
}

/// Rounds toward zero. Saturates: numbers below 0 and NaN give 0, numbers beyond the range its end.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as documented")]
pub const fn trunc_to_u32(value: f64) -> u32 {
    value as u32
}

/// Rounds toward zero. Saturates: numbers below 0 and NaN give 0, numbers beyond the range its end.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as documented")]
pub const fn trunc_to_usize(value: f64) -> usize {
    value as usize
}

/// Converts an integer.
///
/// # Panics
/// The integer does not fit 32 bits.
#[inline]
#[track_caller]
pub fn to_u32(value: impl TryInto<u32>) -> u32 {
    value.try_into().unwrap_or_else(|_| out_of_range())
}

/// Converts an integer.
///
/// # Panics
/// The integer does not fit 64 bits.
#[inline]
#[track_caller]
pub fn to_u64(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or_else(|_| out_of_range())
}

/// Converts an integer to an index or a length. There is no check where addresses have 64 bits.
///
/// # Panics
/// The integer is beyond the address space.
#[inline]
#[must_use]
#[track_caller]
pub fn to_usize(value: u64) -> usize {
    usize::try_from(value).unwrap_or_else(|_| out_of_range())
}

#[cold]
#[track_caller]
fn out_of_range() -> ! {
    panic!("a number is beyond the range of its type")
}

/// Returns the high and the low 64 bits of a product.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "each half has 64 bits")]
pub const fn wide_product(a: u64, b: u64) -> (u64, u64) {
    let product = a as u128 * b as u128;
    ((product >> 64) as u64, product as u64)
}

/// Returns `a * b / divisor`, rounded down. The division of 64 bits takes fewer instructions than that of 128.
///
/// # Panics
/// The result does not fit 64 bits, or the divisor is 0.
#[inline]
#[must_use]
#[track_caller]
pub fn mul_div(a: u64, b: u64, divisor: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / divisor,
        None => to_u64(u128::from(a) * u128::from(b) / u128::from(divisor)),
    }
}

/// Returns `a * b / divisor`, rounded up.
///
/// # Panics
/// As for [`mul_div`].
#[inline]
#[must_use]
#[track_caller]
pub fn mul_div_ceil(a: u64, b: u64, divisor: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(divisor),
        None => to_u64((u128::from(a) * u128::from(b)).div_ceil(u128::from(divisor))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_divided_exactly() {
        assert_eq!((mul_div(7, 3, 4), mul_div_ceil(7, 3, 4), mul_div_ceil(8, 3, 4)), (5, 6, 6));
        let half = 1 << 63;
        assert_eq!((mul_div(half, 3, 4), mul_div_ceil(half + 1, 3, 4)), (half / 4 * 3, half / 4 * 3 + 1));
    }

    #[test]
    fn truncation_saturates() {
        assert_eq!([-1.5, f64::NAN, 2.9, 1e30].map(trunc_to_u64), [0, 0, 2, u64::MAX]);
        assert_eq!([-1.5, f64::NAN, 2.9, 1e10].map(trunc_to_u32), [0, 0, 2, u32::MAX]);
    }

    #[test]
    #[should_panic(expected = "beyond the range")]
    fn a_number_that_does_not_fit_panics() {
        let _ = to_u32(1_u64 << 32);
    }

    #[test]
    fn a_wide_product_has_two_halves() {
        assert_eq!(wide_product(u64::MAX, u64::MAX), (u64::MAX - 1, 1));
    }
}
