//! Estimates and their confidence intervals.

use serde::Serialize;

use crate::metrics::interval::{self, Interval};
use crate::metrics::quantile::beta_quantile;

/// Effective number of weights, (Σw)² / Σw², from which on their mean is close enough to normal.
const FEWEST_FOR_NORMAL: f64 = 100.0;

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate; absent if nothing was observed, so that only the upper bound `high` is known.
    pub value: Option<f64>,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Returns half the width of the interval divided by the estimate; infinite without an estimate.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        self.value.map_or(f64::INFINITY, |value| 0.5 * (self.high - self.low) / value)
    }
}

/// Returns the probability of an event that occurred in `seen` of `trials`, with the exact interval of C. J. Clopper and
/// E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934. Its coverage is at
/// least `confidence`. With `seen` = 0 there is no estimate, and the interval is one-sided.
#[must_use]
pub fn binomial_interval(seen: u64, trials: u64, confidence: f64) -> Estimate {
    let (x, n, doubt) = (seen as f64, trials as f64, 1.0 - confidence);
    if trials == 0 {
        return Estimate { value: None, low: 0.0, high: 1.0 };
    }
    if seen == 0 {
        return Estimate { value: None, low: 0.0, high: -libm::expm1(libm::log(doubt) / n) };
    }
    let low = beta_quantile(0.5 * doubt, x, n - x + 1.0);
    let high = if seen == trials { 1.0 } else { beta_quantile(1.0 - 0.5 * doubt, x + 1.0, n - x) };
    Estimate { value: Some(x / n), low, high }
}

/// A sum of values, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) sum: f64,
    pub(super) squares: f64,
}

impl Sums {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// Returns the mean of `count` independent values, none of which is negative; `None` for fewer than two.
pub(super) fn mean_interval(count: u64, Sums { sum, squares }: Sums, confidence: f64) -> Option<Estimate> {
    if count < 2 {
        return None;
    }
    let n = count as f64;
    let mean = sum / n;
    let variance = (squares - sum * mean).max(0.0) / (n - 1.0);
    let Interval { low, high } = interval::mean_interval(count, mean, variance, confidence);
    Some(Estimate { value: Some(mean), low: low.max(0.0), high })
}

/// Returns the mean of `count` weights. `plain` is the estimate from the unweighted trials.
///
/// If a few large weights dominate, the distribution of the weights is unknown, and larger weights may not have been observed. The
/// upper end is then at least that of `plain`. The same holds if the weights are so small that their squares underflow.
pub(super) fn weighted_interval(count: u64, weights: Sums, plain: Estimate, confidence: f64) -> Estimate {
    let Sums { sum, squares } = weights;
    match mean_interval(count, weights, confidence) {
        Some(estimate) if squares > 0.0 && sum * sum >= FEWEST_FOR_NORMAL * squares => estimate,
        Some(estimate) if sum > 0.0 => Estimate { low: 0.0, high: estimate.high.max(plain.high), ..estimate },
        _ => Estimate { value: None, low: 0.0, high: plain.high },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::quantile::normal_quantile;

    /// Binomial distribution function, by summation.
    fn binomial_probability(most: u64, trials: u64, p: f64) -> f64 {
        let mut term = libm::exp(trials as f64 * libm::log1p(-p));
        let mut sum = term;
        for seen in 1..=most {
            term *= (trials - seen + 1) as f64 / seen as f64 * p / (1.0 - p);
            sum += term;
        }
        sum
    }

    #[test]
    fn binomial_interval_is_equal_tailed() {
        for (seen, trials) in [(1, 10), (5, 10), (9, 10), (3, 1000), (200, 400), (40, 1_000_000)] {
            for confidence in [0.9, 0.95, 0.99] {
                let interval = binomial_interval(seen, trials, confidence);
                let half = 0.5 * (1.0 - confidence);
                let above = 1.0 - binomial_probability(seen - 1, trials, interval.low);
                let below = binomial_probability(seen, trials, interval.high);
                // The sums have an absolute error below 1e-12.
                assert!((above - half).abs() < 1e-10, "{seen} of {trials}: {above} above the lower end");
                assert!((below - half).abs() < 1e-10, "{seen} of {trials}: {below} below the upper end");
            }
        }
    }

    #[test]
    fn binomial_interval_without_events_is_one_sided() {
        let bound = binomial_interval(0, 1000, 0.95);
        assert_eq!((bound.value, bound.low), (None, 0.0));
        // At the bound, 1000 trials without an event have a probability of 5 %.
        assert!((binomial_probability(0, 1000, bound.high) - 0.05).abs() < 1e-12);
        assert_eq!(binomial_interval(0, 0, 0.95).high, 1.0);
        assert_eq!(binomial_interval(7, 7, 0.95).high, 1.0);
        assert_eq!(bound.relative_half_width(), f64::INFINITY);
    }

    #[test]
    fn few_dominant_weights_widen_the_interval() {
        let plain = binomial_interval(0, 100, 0.95);
        let none = weighted_interval(1000, Sums::default(), plain, 0.95);
        assert_eq!((none.value, none.low, none.high), (None, 0.0, plain.high));
        // Three equal weights; and one large weight beside a thousand small ones.
        for (sum, squares) in [(3e-9, 3e-18), (2e-6, 1e-12)] {
            let few = weighted_interval(10_000, Sums { sum, squares }, plain, 0.95);
            assert_eq!((few.value, few.low, few.high), (Some(sum / 1e4), 0.0, plain.high));
        }
        let many = weighted_interval(1000, Sums { sum: 2e-7, squares: 2e-16 }, plain, 0.95);
        assert!(many.low > 0.0 && many.high < 3e-10);
    }

    #[test]
    fn mean_interval_of_many_values_is_normal() {
        // Half zeros, half ones: variance 1000 / 999 / 4.
        let mean = mean_interval(1000, Sums { sum: 500.0, squares: 500.0 }, 0.95).expect("two or more values");
        let half_width = normal_quantile(0.975) * (0.25 / 999.0_f64).sqrt();
        assert!((mean.high - (0.5 + half_width)).abs() < 1e-12 && (mean.low - (0.5 - half_width)).abs() < 1e-12);
        assert_eq!(mean_interval(1, Sums { sum: 1.0, squares: 1.0 }, 0.95), None);
    }
}
