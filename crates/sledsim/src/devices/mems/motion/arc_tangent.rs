//! A fast arc tangent for seeks along X.

use crate::convert::trunc_to_usize;

/// Number of entries of [`TABLE`] per unit.
const STEPS: usize = 64;

/// Number of entries of [`TABLE`], for arguments up to 2.
const ENTRIES: usize = 2 * STEPS + 1;

/// atan(`i` / [`STEPS`]).
static TABLE: [f64; ENTRIES] = table();

const fn table() -> [f64; ENTRIES] {
    let mut table = [0.0; ENTRIES];
    let step = 1.0 / STEPS as f64;
    let mut entry = 1;
    while entry < table.len() {
        let (before, here) = ((entry - 1) as f64 * step, entry as f64 * step);
        table[entry] = table[entry - 1] + series(step / (1.0 + before * here));
        entry += 1;
    }
    table
}

/// Returns atan `d` for |`d`| up to 1/64; the next term of the series is below 1e-20.
#[inline]
const fn series(d: f64) -> f64 {
    let square = d * d;
    d - d * square * (1.0 / 3.0 - square * (0.2 - square * (1.0 / 7.0 - square * (1.0 / 9.0))))
}

/// Returns atan `x` for `x` of at least 0, to a relative accuracy of 1e-15.
///
/// A general arc tangent would take much of the time of a short request. A table reduces the angle to at most 1/128, and a short series
/// gives the remainder. Plain arithmetic gives the same bits on every platform.
#[inline]
pub fn arc_tangent(x: f64) -> f64 {
    let nearest = trunc_to_usize(x * STEPS as f64 + 0.5);
    let Some(&angle) = TABLE.get(nearest) else { return libm::atan(x) };
    let near = nearest as f64 * (1.0 / STEPS as f64);
    angle + series((x - near) / (1.0 + x * near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_libm_to_1e_15() {
        let steps = 1_000_003;
        for step in 0..=steps {
            let x = f64::from(step) / f64::from(steps) * 2.5;
            let (found, expected) = (arc_tangent(x), libm::atan(x));
            assert!((found - expected).abs() <= 1e-15 * expected, "{x}: {found} and {expected}");
        }
        assert_eq!(arc_tangent(1e-300), 1e-300);
        assert_eq!(arc_tangent(1e9), libm::atan(1e9));
        assert_eq!(arc_tangent(f64::INFINITY), libm::atan(f64::INFINITY));
        assert!(arc_tangent(f64::NAN).is_nan());
    }
}
