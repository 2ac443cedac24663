//! Arithmetic in the field of 256 elements, for the parity of RAID-6.
//!
//! Bytes are polynomials over the field of two elements, modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11d), as in H. P. Anvin, "The
//! mathematics of RAID-6", 2004. Addition is exclusive or; 2 generates all elements but 0.

/// x^8 + x^4 + x^3 + x^2 + 1.
const POLYNOMIAL: u16 = 0x11d;

/// Powers of 2, two periods, so that sums of two logarithms need no reduction.
const POWERS: [u8; 510] = powers();

/// Logarithms to base 2; that of 0 is not used.
const LOGARITHMS: [u8; 256] = logarithms();

#[expect(clippy::cast_possible_truncation, reason = "the polynomial takes each power below 256")]
const fn powers() -> [u8; 510] {
    let mut powers = [0; 510];
    let (mut power, mut i) = (1_u16, 0);
    while i < 510 {
        powers[i] = power as u8;
        power <<= 1;
        if power & 0x100 != 0 {
            power ^= POLYNOMIAL;
        }
        i += 1;
    }
    powers
}

#[expect(clippy::cast_possible_truncation, reason = "logarithms are below 255")]
const fn logarithms() -> [u8; 256] {
    let mut logarithms = [0; 256];
    let mut i = 0;
    while i < 255 {
        logarithms[POWERS[i] as usize] = i as u8;
        i += 1;
    }
    logarithms
}

/// The `n`-th power of 2.
pub(super) const fn power_of_two(n: u64) -> u8 {
    POWERS[(n % 255) as usize]
}

/// Product.
pub(super) const fn product(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    POWERS[LOGARITHMS[a as usize] as usize + LOGARITHMS[b as usize] as usize]
}

/// The inverse of `a`, which must not be 0.
const fn inverse(a: u8) -> u8 {
    POWERS[255 - LOGARITHMS[a as usize] as usize]
}

/// Adds `factor` times `bytes` to `sum`.
pub(super) fn add_product(sum: &mut [u8], factor: u8, bytes: &[u8]) {
    match factor {
        0 => {}
        1 => sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte),
        _ => sum.iter_mut().zip(bytes).for_each(|(sum, &byte)| *sum ^= product(factor, byte)),
    }
}

/// Returns the factors whose products with the `known` vectors add up to `target`, or `None` if there are none. The number of
/// vectors equals their length.
pub(super) fn combination(known: &[Vec<u8>], target: &[u8]) -> Option<Vec<u8>> {
    let n = target.len();
    // One equation for each component of the vectors, followed by that of the target.
    let mut equations: Vec<Vec<u8>> =
        (0..n).map(|place| known.iter().map(|vector| vector[place]).chain([target[place]]).collect()).collect();
    for i in 0..n {
        let pivot = (i..n).find(|&row| equations[row][i] != 0)?;
        equations.swap(i, pivot);
        let scale = inverse(equations[i][i]);
        equations[i].iter_mut().for_each(|entry| *entry = product(scale, *entry));
        let pivot = equations[i].clone();
        for (row, equation) in equations.iter_mut().enumerate() {
            if row != i {
                let factor = equation[i];
                add_product(equation, factor, &pivot);
            }
        }
    }
    Some(equations.into_iter().map(|equation| equation[n]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplication by definition: product of polynomials, and remainder.
    fn long_product(a: u8, b: u8) -> u8 {
        let mut product = (0..8).filter(|bit| b >> bit & 1 == 1).fold(0_u16, |sum, bit| sum ^ u16::from(a) << bit);
        for bit in (8..16).rev() {
            if product >> bit & 1 == 1 {
                product ^= POLYNOMIAL << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn products_are_those_of_polynomials() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(product(a, b), long_product(a, b), "{a} * {b}");
            }
            assert!(a == 0 || product(a, inverse(a)) == 1, "{a}");
        }
        // Anvin 2004, section 2: 2 to the 8th is 0x1d, to the 255th 1.
        assert_eq!((power_of_two(8), power_of_two(255)), (0x1d, 1));
    }

    #[test]
    fn combinations_add_up_to_their_target() {
        let known = vec![vec![1, 1, 1], vec![1, 2, 4], vec![0, 1, 0]];
        let target = [1, 0, 0];
        let factors = combination(&known, &target).expect("independent vectors");
        let mut sum = [0; 3];
        for (vector, &factor) in known.iter().zip(&factors) {
            add_product(&mut sum, factor, vector);
        }
        assert_eq!(sum, target);
        assert_eq!(combination(&[vec![1, 1], vec![1, 1]], &[1, 0]), None);
    }
}
