//! Confidence interval of the mean of independent values.

use super::quantile::students_t;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Returns the two-sided confidence interval of the mean of `count` independent values (at least two) with this sample variance,
/// by Student's t.
#[must_use]
pub fn mean_interval(count: u64, mean: f64, variance: f64, confidence: f64) -> Interval {
    let half_width = students_t(confidence, count.saturating_sub(1)) * (variance / count as f64).sqrt();
    Interval { low: mean - half_width, high: mean + half_width }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;
    use crate::metrics::quantile::normal_quantile;

    #[test]
    fn mean_interval_has_the_width_of_its_confidence() {
        // Two values: Student's t with one degree of freedom is Cauchy's distribution, within tan(pi / 2 * confidence).
        for confidence in [0.5, 0.9, 0.99] {
            let Interval { low, high } = mean_interval(2, 3.0, 8.0, confidence);
            let half_width = 2.0 * (FRAC_PI_2 * confidence).tan();
            assert!((high - 3.0 - half_width).abs() < 1e-9 && (3.0 - low - half_width).abs() < 1e-9, "{confidence}");
        }
        let Interval { low, high } = mean_interval(1000, 1.0, 10.0, 0.95);
        assert_eq!((low, high), (1.0 - normal_quantile(0.975) * 0.1, 1.0 + normal_quantile(0.975) * 0.1));
    }
}
