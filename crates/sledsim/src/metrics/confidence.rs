//! Confidence interval of the mean of a correlated sequence, by batch means in constant memory.

use super::interval::Interval;
use super::quantile::{normal_quantile, students_t};
use crate::convert::to_usize;

/// Most batches kept. When there are as many, neighbours are merged and the batch size doubles.
const MAX_BATCHES: usize = 128;
/// Fewest batches for an interval.
pub(super) const MIN_BATCHES: usize = 20;
/// Fewest values in a batch for an interval.
const MIN_BATCH_VALUES: u64 = 16;
/// Level of the one-sided test for correlation between neighbouring batches.
const CORRELATION_LEVEL: f64 = 0.05;

/// The reason why a sequence has no confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoInterval {
    /// There are fewer values than 20 batches of 16.
    #[error("a confidence interval takes at least 320 values, not {count}")]
    TooFew {
        /// Number of values so far.
        count: u64,
    },
    /// Long batches are still correlated with their neighbours: the run is too short, or the sequence drifts.
    #[error(
        "batch means of {batch_values} values are still correlated (lag 1: {lag_1:.2}): the run is too short for a \
         confidence interval, or the system is not in a steady state"
    )]
    Correlated {
        /// Values in each of the longest batches that could be tested.
        batch_values: u64,
        /// Their lag-1 autocorrelation, as tested.
        lag_1: f64,
    },
}

/// Sums of consecutive batches of equal size. After the first 128 values there are 63 to 127 complete batches.
///
/// The interval is the classical one of batch means (A. M. Law, *Simulation Modeling and Analysis*, chapter 9):
/// Student's t around the mean of all values. Batches are merged until von Neumann's test finds no correlation between
/// neighbours (G. S. Fishman and L. S. Yarberry, "An implementation of the batch means method", 1997), and once more if at
/// least 20 remain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchMeans {
    /// Sums of the complete batches, ns.
    sums: Vec<u128>,
    batch_values: u64,
    open_values: u64,
    open_sum: u128,
}

impl Default for BatchMeans {
    fn default() -> Self {
        Self { sums: Vec::with_capacity(MAX_BATCHES), batch_values: 1, open_values: 0, open_sum: 0 }
    }
}

impl BatchMeans {
    /// Adds the next value of the sequence, ns.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.open_sum += u128::from(value_ns);
        self.open_values += 1;
        if self.open_values == self.batch_values {
            self.close_batch();
        }
    }

    /// Adds the next values of the sequence, ns.
    pub(super) fn record_all(&mut self, mut values_ns: &[u64]) {
        while !values_ns.is_empty() {
            let room = self.batch_values - self.open_values;
            let (batch, later) = values_ns.split_at(to_usize(room.min(values_ns.len() as u64)));
            // Sums of few small values fit 64 bits.
            let is_small = batch.len() <= 64 && batch.iter().fold(0, |bits, value| bits | value) < 1 << 58;
            self.open_sum += if is_small {
                u128::from(batch.iter().fold(0_u64, |sum, value| sum.wrapping_add(*value)))
            } else {
                batch.iter().copied().map(u128::from).sum()
            };
            self.open_values += batch.len() as u64;
            if self.open_values == self.batch_values {
                self.close_batch();
            }
            values_ns = later;
        }
    }

    fn close_batch(&mut self) {
        self.sums.push(self.open_sum);
        self.open_sum = 0;
        self.open_values = 0;
        if self.sums.len() == MAX_BATCHES {
            for pair in 0..MAX_BATCHES / 2 {
                self.sums[pair] = self.sums[2 * pair] + self.sums[2 * pair + 1];
            }
            self.sums.truncate(MAX_BATCHES / 2);
            self.batch_values *= 2;
        }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sums.len() as u64 * self.batch_values + self.open_values
    }

    /// Mean of all values, ns; 0 without values.
    #[must_use]
    pub fn mean_ns(&self) -> f64 {
        let sum = self.sums.iter().sum::<u128>() + self.open_sum;
        sum as f64 / self.count().max(1) as f64
    }

    /// Returns the two-sided 95 % confidence interval of the mean, ns. The lower end may be negative for a poor estimate.
    ///
    /// # Errors
    /// The sequence is too short, or its batches are correlated.
    pub fn interval95_ns(&self) -> Result<Interval, NoInterval> {
        self.interval_ns(0.95)
    }

    /// As [`BatchMeans::interval95_ns`], with another level of confidence.
    ///
    /// # Errors
    /// As for [`BatchMeans::interval95_ns`].
    pub fn interval_ns(&self, confidence: f64) -> Result<Interval, NoInterval> {
        self.interval_by(BatchRule::of_fixed_length(confidence))
    }

    /// As [`BatchMeans::interval_ns`], by a rule.
    pub(super) fn interval_by(&self, rule: BatchRule) -> Result<Interval, NoInterval> {
        let mean_ns = self.mean_ns();
        interval_of(self.size(), rule, |merged| Fit::of_means(mean_ns, self.means_ns(merged))).map(|(_, found)| found)
    }

    /// Returns the two-sided 95 % confidence interval of the mean difference from another sequence, ns. Values at the same place
    /// belong together, such as the response times of the same requests on two systems.
    ///
    /// # Errors
    /// The sequences are too short, or the batches of their differences are correlated.
    ///
    /// # Panics
    /// If the sequences differ in length.
    pub fn difference95_ns(&self, other: &Self) -> Result<Interval, NoInterval> {
        self.difference_by(other, BatchRule::of_fixed_length(0.95))
    }

    /// As [`BatchMeans::difference95_ns`], by a rule.
    pub(super) fn difference_by(&self, other: &Self, rule: BatchRule) -> Result<Interval, NoInterval> {
        assert_eq!(self.count(), other.count(), "paired sequences have the same length");
        let mean_ns = self.mean_ns() - other.mean_ns();
        let differences =
            |merged| self.means_ns(merged).iter().zip(other.means_ns(merged)).map(|(own, other)| own - other).collect();
        interval_of(self.size(), rule, |merged| Fit::of_means(mean_ns, differences(merged))).map(|(_, found)| found)
    }

    /// Number and size of the batches.
    pub(super) fn size(&self) -> BatchSize {
        BatchSize { batches: self.sums.len(), batch_values: self.batch_values, count: self.count() }
    }

    /// Returns the means of batches of `values`, a multiple of the batch size, ns.
    pub(super) fn means_of_ns(&self, values: u64) -> Vec<f64> {
        self.means_ns(to_usize(values / self.batch_values))
    }

    /// Returns the means of batches `merged` times as long as those kept, ns.
    fn means_ns(&self, merged: usize) -> Vec<f64> {
        let values = (self.batch_values * merged as u64) as f64;
        self.sums.chunks_exact(merged).map(|sums| sums.iter().sum::<u128>() as f64 / values).collect()
    }
}

/// The batches of a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSize {
    /// Number of complete batches.
    pub batches: usize,
    /// Values in each.
    pub batch_values: u64,
    /// Number of all values.
    pub count: u64,
}

/// The rule for a confidence interval from batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchRule {
    /// Level of the interval.
    pub confidence: f64,
    /// Fewest batches that must pass the test for correlation.
    pub least_tested: usize,
    /// True to widen the interval by the correlation that is left between neighbouring batches.
    pub widens: bool,
}

impl BatchRule {
    /// The rule for runs whose length does not depend on their results.
    const fn of_fixed_length(confidence: f64) -> Self {
        Self { confidence, least_tested: MIN_BATCHES, widens: false }
    }
}

/// Returns the factor by which the variance of a mean of batches exceeds that of independent batches, if they are a first-order
/// autoregressive process (A. Tafazzoli, J. R. Wilson, E. K. Lada and N. M. Steiger, "Performance of Skart: a skewness- and
/// autoregression-adjusted batch means procedure for simulation analysis", 2011). Negative correlation has no effect.
fn correlation_factor(means: &[f64]) -> f64 {
    // The estimate is too low by the reciprocal of the number of batches.
    let lag_1 = (lag_1_autocorrelation(means) + 1.0 / means.len() as f64).clamp(0.0, 0.9);
    (1.0 + lag_1) / (1.0 - lag_1)
}

/// An estimate from batches, and the residual of each batch, which are independent if the batches are long enough.
pub(super) struct Fit {
    pub estimate: f64,
    pub residuals: Vec<f64>,
    /// The means that a regression has corrected. They must be independent, too: otherwise its coefficients do not suit a long run.
    pub uncorrected: Option<Vec<f64>>,
    /// The variance of the estimate is that of a residual divided by this.
    pub divisor: f64,
    /// Number of estimated coefficients beside the mean.
    pub coefficients: usize,
}

impl Fit {
    /// The mean of all values, from the means of batches.
    pub fn of_means(mean: f64, means: Vec<f64>) -> Self {
        Self { estimate: mean, divisor: means.len() as f64, residuals: means, uncorrected: None, coefficients: 0 }
    }

    /// Returns the variance of a residual.
    pub fn residual_variance(&self) -> f64 {
        squared_deviations(&self.residuals, mean(&self.residuals)) / self.degrees_of_freedom() as f64
    }

    fn degrees_of_freedom(&self) -> u64 {
        (self.residuals.len() - 1 - self.coefficients) as u64
    }
}

/// Returns an estimate with its interval. `fit` estimates from batches that are merged by a factor.
///
/// # Errors
/// There are too few values, or the residuals are correlated.
pub(super) fn interval_of(
    size: BatchSize,
    rule: BatchRule,
    fit: impl Fn(usize) -> Fit,
) -> Result<(Fit, Interval), NoInterval> {
    let BatchSize { batches, batch_values, count } = size;
    let most_merged = batches / MIN_BATCHES;
    let mut merged = to_usize(MIN_BATCH_VALUES.div_ceil(batch_values));
    let mut reason = NoInterval::TooFew { count };
    while merged * rule.least_tested <= batches {
        let Fit { residuals, uncorrected, .. } = fit(merged);
        let tested: Vec<Vec<f64>> = std::iter::once(residuals).chain(uncorrected).collect();
        if tested.iter().all(|means| is_uncorrelated(means)) {
            let found = fit((2 * merged).min(most_merged));
            let factor = if rule.widens { correlation_factor(&found.residuals) } else { 1.0 };
            let error = (factor * found.residual_variance() / found.divisor).sqrt();
            let half_width = students_t(rule.confidence, found.degrees_of_freedom()) * error;
            let interval = Interval { low: found.estimate - half_width, high: found.estimate + half_width };
            return Ok((found, interval));
        }
        let lag_1 = tested.iter().map(|means| von_neumann_lag_1(means)).fold(f64::NEG_INFINITY, f64::max);
        reason = NoInterval::Correlated { batch_values: batch_values * merged as u64, lag_1 };
        merged *= 2;
    }
    Err(reason)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of the squared deviations from the mean.
fn squared_deviations(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Lag-1 autocorrelation; 0 for a constant sequence.
fn lag_1_autocorrelation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = squared_deviations(values, mean);
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares == 0.0 {
        0.0
    } else {
        products / squares
    }
}

/// The lag-1 autocorrelation by von Neumann's ratio: without the bias of [`lag_1_autocorrelation`] for sequences whose ends deviate, such
/// as those that drift; 0 for a constant sequence.
fn von_neumann_lag_1(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares = squared_deviations(values, mean);
    if squares == 0.0 {
        return 0.0;
    }
    let ends = (values[0] - mean).powi(2) + (values[values.len() - 1] - mean).powi(2);
    lag_1_autocorrelation(values) + ends / (2.0 * squares)
}

/// Von Neumann's test: returns true if independent values have at least this lag-1 autocorrelation with a probability above
/// [`CORRELATION_LEVEL`].
fn is_uncorrelated(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let statistic = ((n * n - 1.0) / (n - 2.0)).sqrt() * von_neumann_lag_1(values);
    statistic < normal_quantile(1.0 - CORRELATION_LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_count_and_mean_in_constant_memory() {
        let mut batches = BatchMeans::default();
        for value in 0..1_000_000 {
            batches.record(value);
            assert!(batches.sums.len() < MAX_BATCHES);
        }
        assert!(batches.sums.len() >= MAX_BATCHES / 2 - 1);
        assert_eq!(batches.count(), 1_000_000);
        assert_eq!(batches.mean_ns(), 499_999.5);
    }

    #[test]
    fn recording_all_equals_recording_each() {
        let values: Vec<u64> = (0..1000).map(|value| if value % 90 == 0 { u64::MAX } else { value }).collect();
        for size in [1, 7, 64, 200, 1000] {
            let (mut batches, mut each) = <(BatchMeans, BatchMeans)>::default();
            values.chunks(size).for_each(|chunk| batches.record_all(chunk));
            values.iter().for_each(|&value| each.record(value));
            assert_eq!(batches, each);
        }
    }

    #[test]
    fn short_and_drifting_sequences_have_no_interval() {
        let mut batches = BatchMeans::default();
        (0..319).for_each(|value| batches.record(value % 2));
        assert_eq!(batches.interval95_ns(), Err(NoInterval::TooFew { count: 319 }));
        batches.record(1);
        assert!(batches.interval95_ns().is_ok());

        let mut drifting = BatchMeans::default();
        (0..100_000).for_each(|value| drifting.record(value));
        let reason = drifting.interval95_ns();
        assert!(matches!(reason, Err(NoInterval::Correlated { lag_1, .. }) if lag_1 > 0.5), "{reason:?}");
    }

    #[test]
    fn reported_correlation_includes_the_ends_of_the_sequence() {
        // The lag-1 autocorrelation of a sequence whose first value deviates is about 0; von Neumann's ratio is not.
        let mut values = vec![0.0; 20];
        values[0] = 1.0;
        assert!(lag_1_autocorrelation(&values).abs() < 0.06 && von_neumann_lag_1(&values) > 0.4);
        assert!(!is_uncorrelated(&values));
    }

    #[test]
    fn paired_differences_have_the_interval_of_their_differences() {
        let (mut own, mut other, mut differences) = <(BatchMeans, BatchMeans, BatchMeans)>::default();
        for value in 0..10_000_u64 {
            // Both sequences drift, their difference does not.
            let difference = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
            own.record(value + difference);
            other.record(value);
            differences.record(difference);
        }
        assert!(own.interval95_ns().is_err());
        let (found, expected) = (own.difference95_ns(&other).unwrap(), differences.interval95_ns().unwrap());
        assert!((found.low - expected.low).abs() < 1e-6 && (found.high - expected.high).abs() < 1e-6);
    }

    #[test]
    fn intervals_of_correlated_batches_are_wider() {
        // Alternating values have negative, pairs of equal values positive correlation.
        let pairs: Vec<f64> = (0..60).map(|index| f64::from((index / 2 * 7919) % 101)).collect();
        let alternating: Vec<f64> = (0..60).map(|index| f64::from(index % 2)).collect();
        assert!((1.8..4.0).contains(&correlation_factor(&pairs)), "{}", correlation_factor(&pairs));
        assert_eq!(correlation_factor(&alternating), 1.0);
    }

    #[test]
    fn constant_sequence_has_zero_width_interval() {
        let mut batches = BatchMeans::default();
        (0..1000).for_each(|_| batches.record(42));
        assert_eq!(batches.interval95_ns(), Ok(Interval { low: 42.0, high: 42.0 }));
    }
}
