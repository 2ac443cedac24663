//! Measurements of one quantity, and their summary in milliseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::confidence::BatchMeans;
use super::histogram::Histogram;
use super::moments::Moments;
use crate::units::ns_to_ms;

/// Measures a sequence of durations in nanoseconds, such as response times in the order of completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    moments: Moments,
    histogram: Histogram,
    batches: BatchMeans,
}

/// Summary of a sequence of durations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Arithmetic mean, ms.
    pub mean_ms: f64,
    /// Lower end of the 95 % confidence interval of the mean, ms; none where `ci95_note` says why.
    pub ci95_low_ms: Option<f64>,
    /// Upper end of the 95 % confidence interval of the mean, ms; none where `ci95_note` says why.
    pub ci95_high_ms: Option<f64>,
    /// Reason why there is no confidence interval.
    pub ci95_note: Option<String>,
    /// Sample standard deviation, ms; 0 for a single value.
    pub std_ms: f64,
    /// Squared coefficient of variation: (standard deviation / mean)²; 0 when the mean is 0.
    pub scv: f64,
    /// Smallest value, ms.
    pub min_ms: f64,
    /// Median, ms. Quantiles are off by less than 1/512.
    pub p50_ms: f64,
    /// 0.9-quantile, ms.
    pub p90_ms: f64,
    /// 0.95-quantile, ms.
    pub p95_ms: f64,
    /// 0.99-quantile, ms.
    pub p99_ms: f64,
    /// 0.999-quantile, ms.
    pub p99_9_ms: f64,
    /// Largest value, ms.
    pub max_ms: f64,
}

impl Measure {
    /// Adds the next value, ns.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.moments.record(value_ns);
        self.histogram.record(value_ns);
        self.batches.record(value_ns);
    }

    /// Adds the next values, ns.
    pub(super) fn record_all(&mut self, values_ns: &[u64]) {
        self.moments.record_all(values_ns);
        values_ns.iter().for_each(|&value| self.histogram.record(value));
        self.batches.record_all(values_ns);
    }

    /// Count, mean, variance, extremes.
    #[must_use]
    pub const fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The distribution.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns the summary, or `None` if nothing was recorded.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.moments, &self.histogram, &self.batches)
    }
}

impl Summary {
    /// Replaces the confidence interval by the reason why there is none.
    pub fn drop_interval(&mut self, reason: &str) {
        (self.ci95_low_ms, self.ci95_high_ms) = (None, None);
        self.ci95_note = Some(reason.to_owned());
    }

    /// Returns the summary of the values that all three have recorded, or `None` if there are none.
    #[must_use]
    pub fn of(moments: &Moments, histogram: &Histogram, batches: &BatchMeans) -> Option<Self> {
        let (min_ns, max_ns) = (moments.min_ns()? as f64, moments.max_ns()? as f64);
        let quantiles_ns = histogram.quantiles_ns([0.5, 0.9, 0.95, 0.99, 0.999])?;
        let [p50_ms, p90_ms, p95_ms, p99_ms, p99_9_ms] = quantiles_ns.map(|ns| ns_to_ms(ns.clamp(min_ns, max_ns)));
        let interval = batches.interval95_ns();
        Some(Self {
            count: moments.count(),
            mean_ms: ns_to_ms(moments.mean_ns()),
            ci95_low_ms: interval.ok().map(|interval| ns_to_ms(interval.low)),
            ci95_high_ms: interval.ok().map(|interval| ns_to_ms(interval.high)),
            ci95_note: interval.err().map(|reason| reason.to_string()),
            std_ms: ns_to_ms(moments.std_ns()),
            scv: moments.scv(),
            min_ms: ns_to_ms(min_ns),
            p50_ms,
            p90_ms,
            p95_ms,
            p99_ms,
            p99_9_ms,
            max_ms: ns_to_ms(max_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_measure_has_no_summary() {
        assert_eq!(Measure::default().summary(), None);
    }

    #[test]
    fn all_quantiles_of_one_value_are_that_value() {
        let mut measure = Measure::default();
        measure.record(1_234_567);
        let summary = measure.summary().expect("a value was recorded");
        for value in [summary.mean_ms, summary.min_ms, summary.p50_ms, summary.p99_9_ms, summary.max_ms] {
            assert_eq!(value, 1.234_567);
        }
        assert_eq!((summary.std_ms, summary.scv), (0.0, 0.0));
        assert_eq!(summary.ci95_low_ms, None);
        assert!(summary.ci95_note.is_some_and(|note| note.contains("320")));
    }
}
