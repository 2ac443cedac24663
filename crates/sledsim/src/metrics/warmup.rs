//! Detection of the warm-up: the first values of a run, which depend on its initial state.

/// Values in a batch of [`StartUp`].
const BATCH: u64 = 5;

/// Sums of consecutive batches of five values, for the rule MSER-5.
#[derive(Clone, Debug, Default)]
pub struct StartUp {
    sums: Vec<u64>,
    open_sum: u64,
    open_values: u64,
}

impl StartUp {
    /// Adds the next value of the sequence, ns.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.open_sum = self.open_sum.saturating_add(value_ns);
        self.open_values += 1;
        if self.open_values == BATCH {
            self.sums.push(self.open_sum);
            (self.open_sum, self.open_values) = (0, 0);
        }
    }

    /// Returns the number of values that belong to the warm-up by MSER-5: without them, the squared standard error of the mean of
    /// the remaining batches is smallest. `None` if the warm-up found is longer than a quarter of the sequence: then the sequence
    /// is too short to tell.
    ///
    /// K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five steady-state truncation heuristics for simulation", 2000.
    #[must_use]
    pub fn warmup(&self) -> Option<u64> {
        let count = self.sums.len();
        let (mut sum, mut squares, mut remaining) = (0.0, 0.0, 0.0);
        let mut best = (f64::INFINITY, 0);
        // Deviations from the last batch, so that a constant sequence has a variance of exactly 0.
        let origin = self.sums.last().copied().unwrap_or_default() as f64;
        for (index, &batch) in self.sums.iter().enumerate().rev() {
            let deviation = batch as f64 - origin;
            sum += deviation;
            squares += deviation * deviation;
            remaining += 1.0;
            let error = (squares - sum * sum / remaining).max(0.0) / (remaining * remaining);
            // Of equal errors the shortest warm-up is the best.
            if index <= count / 2 && error <= best.0 {
                best = (error, index);
            }
        }
        (count > 0 && best.1 <= count / 4).then_some(best.1 as u64 * BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmup(values: impl IntoIterator<Item = u64>) -> Option<u64> {
        let mut start_up = StartUp::default();
        values.into_iter().for_each(|value| start_up.record(value));
        start_up.warmup()
    }

    /// A pseudo-random number below 1000.
    fn noise(index: u64) -> u64 {
        (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 1000
    }

    #[test]
    fn a_shifted_beginning_is_the_warmup() {
        assert_eq!(
            warmup((0..1000).map(|index| 10_000 + noise(index) + if index < 100 { 5000 } else { 0 })),
            Some(100)
        );
    }

    #[test]
    fn a_constant_sequence_has_no_warmup() {
        assert_eq!(warmup([7; 1000]), Some(0));
    }

    #[test]
    fn a_trend_leaves_the_warmup_unknown() {
        assert_eq!(warmup((0..1000).map(|index| 1_000_000 - 100 * index + noise(index))), None);
        assert_eq!(warmup([]), None);
    }
}
