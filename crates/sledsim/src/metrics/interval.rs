//! Where the mean of independent values lies: one estimate for all who have some.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use crate::convert::to_u32;
use crate::engine::random::normal_quantile;

/// From so many degrees of freedom on the normal distribution stands for Student's t, of which the 0.975-quantile is then wider
/// by 0.12 % at most.
const NORMAL_FROM: u64 = 999;

/// Ends of the two-sided confidence interval of the mean of `count` independent values, at least two, that have this variance:
/// by Student's t.
#[must_use]
pub fn mean_interval(count: u64, mean: f64, variance: f64, confidence: f64) -> (f64, f64) {
    let half_width = students_t(confidence, count.saturating_sub(1)) * (variance / count as f64).sqrt();
    (mean - half_width, mean + half_width)
}

/// What Student's t lies within, on both sides of 0, with a probability: at 0.95 its 0.975-quantile.
///
/// Inverts the finite series for the probability between -t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4) by
/// bisection in the angle atan(t / sqrt(degrees of freedom)).
fn students_t(probability: f64, degrees_of_freedom: u64) -> f64 {
    if degrees_of_freedom >= NORMAL_FROM {
        return normal_quantile(0.5 + 0.5 * probability);
    }
    let degrees_of_freedom = to_u32(degrees_of_freedom.max(1));
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if central_probability(middle, degrees_of_freedom) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    libm::tan(low) * f64::from(degrees_of_freedom).sqrt()
}

/// Probability that Student's t lies between -t and t, where `angle` is atan(t / sqrt(degrees of freedom)).
fn central_probability(angle: f64, degrees_of_freedom: u32) -> f64 {
    let (sine, cosine) = libm::sincos(angle);
    let odd = degrees_of_freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (cosine, 0.0) } else { (1.0, 0.0) };
    let mut power = if odd { 1 } else { 0 };
    while power + 2 <= degrees_of_freedom {
        sum += term;
        power += 2;
        term *= cosine * cosine * f64::from(power - 1) / f64::from(power);
    }
    if odd {
        FRAC_2_PI * (angle + sine * sum)
    } else {
        sine * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_matches_the_tables() {
        // 0.975-quantiles from the usual printed tables, to their three decimals; the first is tan(0.475 pi).
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (9, 2.262),
            (10, 2.228),
            (19, 2.093),
            (20, 2.086),
            (30, 2.042),
            (31, 2.040),
            (63, 1.998),
            (120, 1.980),
        ];
        for (degrees_of_freedom, quantile) in table {
            let found = students_t(0.95, degrees_of_freedom);
            assert!((found - quantile).abs() <= 5.1e-4, "{degrees_of_freedom}: {found}, not {quantile}");
        }
        // Where the normal distribution begins to stand for it.
        assert!((students_t(0.95, 998) / students_t(0.95, 999) - 1.0).abs() < 1.3e-3);
    }

    #[test]
    fn students_t_agrees_with_its_asymptotic_expansion() {
        // Abramowitz and Stegun 26.7.5; the first omitted term is below 1e-5 from 19 degrees of freedom on.
        let x = normal_quantile(0.975);
        for degrees_of_freedom in 19..200 {
            let n = degrees_of_freedom as f64;
            let g1 = (x.powi(3) + x) / 4.0;
            let g2 = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
            let g3 = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
            let expansion = x + g1 / n + g2 / (n * n) + g3 / n.powi(3);
            assert!((students_t(0.95, degrees_of_freedom) - expansion).abs() < 1e-4, "{degrees_of_freedom}");
        }
    }

    #[test]
    fn an_interval_is_as_wide_as_its_confidence_asks_for() {
        // Two values: Student's t of one degree of freedom is that of Cauchy, within tan(pi / 2 * confidence).
        for confidence in [0.5, 0.9, 0.99] {
            let (low, high) = mean_interval(2, 3.0, 8.0, confidence);
            let half_width = 2.0 * (FRAC_PI_2 * confidence).tan();
            assert!((high - 3.0 - half_width).abs() < 1e-9 && (3.0 - low - half_width).abs() < 1e-9, "{confidence}");
        }
        let (low, high) = mean_interval(1000, 1.0, 10.0, 0.95);
        assert_eq!((low, high), (1.0 - normal_quantile(0.975) * 0.1, 1.0 + normal_quantile(0.975) * 0.1));
    }
}
