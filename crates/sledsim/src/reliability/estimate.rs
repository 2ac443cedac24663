//! Estimates and their confidence intervals.

use serde::Serialize;

use crate::metrics::interval;

/// Equal weights that would scatter as the weights seen do, from which on their mean is close enough to normal.
const FEWEST_FOR_NORMAL: f64 = 100.0;
/// Steps towards a logarithm between those of 1e-300 and 1: as many halvings leave less than a double has digits.
const MOST_STEPS: u32 = 64;
/// A step so small, beside a logarithm, is the last: what is left after it goes by its square.
const CLOSE: f64 = 1e-10;
/// Terms of the continued fraction at most; it needs about the square root of its larger parameter.
const MOST_TERMS: u32 = 1_000_000;

/// A quantity and what it lies between, with the confidence asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate; none where nothing was seen, and `high` is then all that is known.
    pub value: Option<f64>,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// Half the width of the interval over the estimate; infinite without one.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        self.value.map_or(f64::INFINITY, |value| 0.5 * (self.high - self.low) / value)
    }
}

/// The share of trials in which something happens, from how often it did: the interval of C. J. Clopper and E. S. Pearson,
/// "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934, which covers at least as
/// often as it claims. Without any, there is no estimate, and the whole of the doubt goes into the upper end.
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

/// The mean of `count` independent values from their sum and the sum of their squares; none of fewer than two.
///
/// None of what is counted here is below 0, and neither is the lower end.
pub(super) fn mean_interval(count: u64, sum: f64, squares: f64, confidence: f64) -> Option<Estimate> {
    if count < 2 {
        return None;
    }
    let n = count as f64;
    let mean = sum / n;
    let variance = (squares - sum * mean).max(0.0) / (n - 1.0);
    let (low, high) = interval::mean_interval(count, mean, variance, confidence);
    Some(Estimate { value: Some(mean), low: low.max(0.0), high })
}

/// The mean of `count` weights from their sum and the sum of their squares, and from a part of the trials in which the same
/// was counted without weights.
///
/// A few large weights among many small ones tell little of how weights are spread, and where they were met, larger ones may
/// have been missed. Then the upper end is that of the unweighted trials if it is larger; also where weights are so small that
/// their squares are lost.
pub(super) fn weighted_interval(count: u64, (sum, squares): (f64, f64), plain: Estimate, confidence: f64) -> Estimate {
    match mean_interval(count, sum, squares, confidence) {
        Some(estimate) if squares > 0.0 && sum * sum >= FEWEST_FOR_NORMAL * squares => estimate,
        Some(estimate) if sum > 0.0 => Estimate { low: 0.0, high: estimate.high.max(plain.high), ..estimate },
        _ => Estimate { value: None, low: 0.0, high: plain.high },
    }
}

/// The value below which a beta variable lies with this probability: Newton's method over logarithms, within bounds that each
/// step narrows, and halved where it leaves them or gains too little.
fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    let log_scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let (mut low, mut high) = (libm::log(1e-300), 0.0);
    let mut at = libm::log(a / (a + b));
    for _ in 0..MOST_STEPS {
        let x = libm::exp(at);
        let (found, slope) = beta_probability(x, a, b, log_scale);
        if found < probability {
            low = at;
        } else {
            high = at;
        }
        let next = at - (found - probability) / slope;
        let next = if (low..=high).contains(&next) { next } else { 0.5 * (low + high) };
        let moved = (next - at).abs();
        at = next;
        if moved <= CLOSE * at.abs().min(1.0) {
            break;
        }
    }
    libm::exp(at)
}

/// Probability that a beta variable lies below `x`, from 0 to 1, and its slope over the logarithm of `x`: the regularised
/// incomplete beta function, by its continued fraction (Abramowitz and Stegun, 26.5.8), on the side on which it converges fast.
fn beta_probability(x: f64, a: f64, b: f64, log_scale: f64) -> (f64, f64) {
    if x <= 0.0 || x >= 1.0 {
        return (if x <= 0.0 { 0.0 } else { 1.0 }, 0.0);
    }
    let front = libm::exp(log_scale + a * libm::log(x) + b * libm::log1p(-x));
    let below = if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    };
    (below, front / (1.0 - x))
}

/// The continued fraction, evaluated by the method of Lentz.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_0 = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_0(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_0(1.0 + coefficient * d);
            c = away_from_0(1.0 + coefficient / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::normal_quantile;

    /// Probability of at most `most` out of `trials`, by its definition.
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
    fn the_ends_of_a_binomial_interval_leave_half_the_doubt_on_each_side() {
        for (seen, trials) in [(1, 10), (5, 10), (9, 10), (3, 1000), (200, 400), (40, 1_000_000)] {
            for confidence in [0.9, 0.95, 0.99] {
                let interval = binomial_interval(seen, trials, confidence);
                let half = 0.5 * (1.0 - confidence);
                let above = 1.0 - binomial_probability(seen - 1, trials, interval.low);
                let below = binomial_probability(seen, trials, interval.high);
                // The sums by definition are good to twelve digits of 1.
                assert!((above - half).abs() < 1e-10, "{seen} of {trials}: {above} above the lower end");
                assert!((below - half).abs() < 1e-10, "{seen} of {trials}: {below} below the upper end");
            }
        }
    }

    /// Whoever halves 64 times finds the same.
    #[test]
    fn steps_lead_to_where_a_beta_variable_has_the_probability() {
        let counts = [1.0, 2.0, 30.0, 1e3, 3e5, 1e8];
        for (a, b) in counts.into_iter().flat_map(|a| counts.map(|b| (a, b))) {
            let log_scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
            for probability in [5e-5, 0.025, 0.25, 0.75, 0.975, 0.99995] {
                let (mut low, mut high) = (libm::log(1e-300), 0.0);
                for _ in 0..64 {
                    let middle = 0.5 * (low + high);
                    let below = beta_probability(libm::exp(middle), a, b, log_scale).0 < probability;
                    *if below { &mut low } else { &mut high } = middle;
                }
                let found = libm::log(beta_quantile(probability, a, b));
                assert!((found - low).abs() < 1e-11 * low.abs().max(1.0), "{probability} of {a}, {b}: {found}, {low}");
            }
        }
    }

    #[test]
    fn nothing_seen_is_an_upper_bound() {
        let bound = binomial_interval(0, 1000, 0.95);
        assert_eq!((bound.value, bound.low), (None, 0.0));
        // Below the bound, 1000 trials without any would be a surprise of less than 5 %.
        assert!((binomial_probability(0, 1000, bound.high) - 0.05).abs() < 1e-12);
        assert_eq!(binomial_interval(0, 0, 0.95).high, 1.0);
        assert_eq!(binomial_interval(7, 7, 0.95).high, 1.0);
        assert_eq!(bound.relative_half_width(), f64::INFINITY);
    }

    #[test]
    fn few_weights_above_0_get_a_wide_interval() {
        let plain = binomial_interval(0, 100, 0.95);
        let none = weighted_interval(1000, (0.0, 0.0), plain, 0.95);
        assert_eq!((none.value, none.low, none.high), (None, 0.0, plain.high));
        // Three weights, and a thousand small ones beside a large one.
        for (sum, squares) in [(3e-9, 3e-18), (2e-6, 1e-12)] {
            let few = weighted_interval(10_000, (sum, squares), plain, 0.95);
            assert_eq!((few.value, few.low, few.high), (Some(sum / 1e4), 0.0, plain.high));
        }
        let many = weighted_interval(1000, (2e-7, 2e-16), plain, 0.95);
        assert!(many.low > 0.0 && many.high < 3e-10);
    }

    #[test]
    fn a_mean_has_the_interval_of_the_normal_distribution() {
        // Half zeros, half ones: variance 1000 / 999 / 4.
        let mean = mean_interval(1000, 500.0, 500.0, 0.95).expect("a thousand values have a mean");
        let half_width = normal_quantile(0.975) * (0.25 / 999.0_f64).sqrt();
        assert!((mean.high - (0.5 + half_width)).abs() < 1e-12 && (mean.low - (0.5 - half_width)).abs() < 1e-12);
        assert_eq!(mean_interval(1, 1.0, 1.0, 0.95), None);
    }
}
