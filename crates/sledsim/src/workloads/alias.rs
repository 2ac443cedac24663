//! Weighted random choice in constant time.

use crate::convert::{to_u32, to_usize, trunc_to_u64, wide_product};
use crate::engine::random::Stream;
use crate::fault::{Fault, Kind, Range};

/// Draws an index with a probability proportional to its weight.
///
/// The alias method of A. J. Walker in M. D. Vose's form ("A linear algorithm for generating random numbers with a
/// given distribution", 1991): each column holds one item up to its threshold and another, its alias, above.
#[derive(Clone, Debug)]
pub(super) struct AliasTable {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    /// In units of 2^-64.
    threshold: u64,
    alias: u32,
}

impl AliasTable {
    /// A table for these weights.
    ///
    /// # Errors
    /// A weight is negative or not finite, none is positive, or there are more than 2^32 - 1.
    pub(super) fn new(weights: &[f64]) -> Result<Self, Fault> {
        let n =
            u32::try_from(weights.len()).map_err(|_| Fault::new(Kind::Misfit).says("more than 2^32 - 1 weights"))?;
        if let Some(entry) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            let key = format!("{entry}.weight");
            return Err(Fault::out_of_range(key, weights[entry], Range::at_least(0.0)));
        }
        let largest = weights.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            return Err(Fault::at(Kind::Conflict, "0.weight").says(": at least one weight must be above 0"));
        }
        // Dividing by the largest first keeps the sum finite.
        let sum: f64 = weights.iter().map(|weight| weight / largest).sum();
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / largest / sum * f64::from(n)).collect();
        let mut columns: Vec<Column> = (0..n).map(|alias| Column { threshold: u64::MAX, alias }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) = (0..n).partition(|&item| shares[item as usize] < 1.0);
        while let (Some(&lesser), Some(&greater)) = (small.last(), large.last()) {
            small.pop();
            let share = shares[lesser as usize];
            columns[lesser as usize] = Column { threshold: trunc_to_u64(share * TWO_POW_64), alias: greater };
            shares[greater as usize] -= 1.0 - share;
            if shares[greater as usize] < 1.0 {
                large.pop();
                small.push(greater);
            }
        }
        // Items left in `small` are short of a full column only by rounding, except those of weight 0.
        if let Some(heaviest) = weights.iter().position(|&weight| weight == largest) {
            for item in small.into_iter().filter(|&item| weights[item as usize] == 0.0) {
                columns[item as usize] = Column { threshold: 0, alias: to_u32(heaviest) };
            }
        }
        Ok(Self { columns })
    }

    /// Draws an index. Takes one number from the stream.
    #[inline]
    pub(super) fn sample(&self, stream: &mut Stream) -> usize {
        let (index, below) = wide_product(stream.bits(), self.columns.len() as u64);
        let index = to_usize(index);
        let column = self.columns[index];
        if below < column.threshold || column.alias as usize == index {
            index
        } else {
            column.alias as usize
        }
    }
}

/// 2^64.
const TWO_POW_64: f64 = 18_446_744_073_709_551_616.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_drawn_in_proportion_to_their_weights() {
        let weights = [0.0, 1.0, 5.0, 0.5, 3.5];
        let table = AliasTable::new(&weights).expect("the weights are valid");
        let mut stream = Stream::new(5, "alias");
        let mut counts = [0_u32; 5];
        for _ in 0..100_000 {
            counts[table.sample(&mut stream)] += 1;
        }
        assert_eq!(counts[0], 0);
        let chi_square: f64 =
            (1..5).map(|i| (f64::from(counts[i]) - weights[i] * 1e4).powi(2) / (weights[i] * 1e4)).sum();
        assert!(chi_square < 16.3, "{chi_square} has a probability below 0.001 with 3 degrees of freedom");
    }

    #[test]
    fn extreme_weights_do_not_overflow() {
        let table = AliasTable::new(&[f64::MAX, f64::MAX, f64::MIN_POSITIVE]).expect("the weights are valid");
        let mut stream = Stream::new(6, "alias");
        assert!((0..1000).all(|_| table.sample(&mut stream) < 2));
    }

    #[test]
    fn invalid_weights_are_refused() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(AliasTable::new(weights).is_err(), "{weights:?}");
        }
    }
}
