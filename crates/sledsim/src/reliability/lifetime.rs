//! Lifetime distributions.

use std::f64::consts::{PI, SQRT_2};

use crate::engine::random::Stream;

use super::parameters::Lifetime;

/// Beyond this number of standard deviations, the normal tail comes from its asymptotic series: `erfc` underflows at 38.
const FAR_TAIL: f64 = 30.0;

/// The lifetime distribution of one device. Ages are in hours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Exponential.
    Exponential {
        /// Mean, h.
        mean_h: f64,
    },
    /// Weibull: survival exp(-(age / scale)^shape).
    Weibull {
        /// Scale, h.
        scale_h: f64,
        /// Shape.
        shape: f64,
    },
    /// Lognormal: ln(age / median) / sigma is standard normal.
    Lognormal {
        /// Median, h.
        median_h: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Law {
    /// Returns the distribution with this mean (h) and shape.
    #[must_use]
    pub fn new(mean_h: f64, lifetime: Lifetime) -> Self {
        match lifetime {
            Lifetime::Exponential => Self::Exponential { mean_h },
            // The mean is scale times gamma(1 + 1 / shape).
            Lifetime::Weibull { shape } => Self::Weibull { scale_h: mean_h / libm::tgamma(1.0 + 1.0 / shape), shape },
            // The mean is median times exp(sigma² / 2).
            Lifetime::Lognormal { sigma } => {
                Self::Lognormal { median_h: mean_h * libm::exp(-0.5 * sigma * sigma), sigma }
            }
        }
    }

    /// Draws a lifetime, h.
    #[inline]
    pub fn sample_h(&self, stream: &mut Stream) -> f64 {
        match *self {
            Self::Exponential { mean_h } => mean_h * stream.exponential(),
            Self::Weibull { scale_h, shape } => scale_h * libm::pow(stream.exponential(), 1.0 / shape),
            Self::Lognormal { median_h, sigma } => median_h * libm::exp(sigma * stream.normal()),
        }
    }

    /// Returns the cumulative hazard from `age_h` to `age_h + time_h`: minus the logarithm of the probability to survive this time.
    #[must_use]
    pub fn hazard_over(&self, age_h: f64, time_h: f64) -> f64 {
        match *self {
            Self::Exponential { mean_h } => time_h / mean_h,
            Self::Weibull { scale_h, shape } if age_h > 0.0 => {
                // A difference of two powers would be inaccurate for a short time at a high age.
                libm::pow(age_h / scale_h, shape) * libm::expm1(shape * libm::log1p(time_h / age_h))
            }
            Self::Weibull { scale_h, shape } => libm::pow(time_h / scale_h, shape),
            Self::Lognormal { median_h, sigma } => {
                let hazard = |age_h: f64| -log_normal_tail(libm::log(age_h / median_h) / sigma);
                (hazard(age_h + time_h) - hazard(age_h)).max(0.0)
            }
        }
    }

    /// Returns the hazard rate at an age, per h; infinite at age 0 for a Weibull shape below 1.
    #[must_use]
    pub fn hazard_rate(&self, age_h: f64) -> f64 {
        match *self {
            Self::Exponential { mean_h } => 1.0 / mean_h,
            Self::Weibull { scale_h, shape } => shape / scale_h * libm::pow(age_h / scale_h, shape - 1.0),
            Self::Lognormal { .. } if age_h <= 0.0 => 0.0,
            Self::Lognormal { median_h, sigma } => {
                let z = libm::log(age_h / median_h) / sigma;
                let log_density = -0.5 * z * z - 0.5 * libm::log(2.0 * PI);
                libm::exp(log_density - log_normal_tail(z)) / (sigma * age_h)
            }
        }
    }
}

/// Logarithm of the probability that a standard normal variable exceeds `z`; 0 at minus infinity.
fn log_normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return libm::log1p(-0.5 * libm::erfc(-z / SQRT_2));
    }
    if z < FAR_TAIL {
        return libm::log(0.5 * libm::erfc(z / SQRT_2));
    }
    // Mills' ratio; the next term of the series is 105 / z^8 < 2e-10 of a logarithm of -450.
    let inverse = 1.0 / (z * z);
    let series = -inverse * (1.0 - inverse * (3.0 - 15.0 * inverse));
    -0.5 * z * z - libm::log(z) - 0.5 * libm::log(2.0 * PI) + libm::log1p(series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::quantile::normal_quantile;

    fn laws() -> Vec<Law> {
        let kinds = [
            Lifetime::Exponential,
            Lifetime::Weibull { shape: 0.7 },
            Lifetime::Weibull { shape: 3.0 },
            Lifetime::Lognormal { sigma: 1.2 },
        ];
        kinds.into_iter().map(|kind| Law::new(1000.0, kind)).collect()
    }

    #[test]
    fn drawn_lifetimes_match_mean_and_survival_function() {
        const DRAWS: usize = 200_000;
        for law in laws() {
            let mut stream = Stream::new(1, "law");
            let lives: Vec<f64> = (0..DRAWS).map(|_| law.sample_h(&mut stream)).collect();
            let mean = lives.iter().sum::<f64>() / DRAWS as f64;
            let variance = lives.iter().map(|life| (life - mean) * (life - mean)).sum::<f64>() / DRAWS as f64;
            // Four standard errors: one such test in 16,000 would fail by chance; the seed is fixed.
            assert!((mean - 1000.0).abs() < 4.0 * (variance / DRAWS as f64).sqrt(), "{law:?}: mean {mean}");
            for age_h in [10.0, 500.0, 2000.0] {
                let survival = libm::exp(-law.hazard_over(0.0, age_h));
                let seen = lives.iter().filter(|&&life| life > age_h).count() as f64 / DRAWS as f64;
                let error = (survival * (1.0 - survival) / DRAWS as f64).sqrt();
                assert!((seen - survival).abs() < 4.0 * error, "{law:?} at {age_h}: {seen}, not {survival}");
            }
        }
    }

    #[test]
    fn hazard_is_additive_and_rate_is_its_derivative() {
        for law in laws() {
            for (age_h, time_h) in [(1.0, 2.0), (100.0, 300.0), (5000.0, 1.0)] {
                let parts = law.hazard_over(0.0, age_h) + law.hazard_over(age_h, time_h);
                let whole = law.hazard_over(0.0, age_h + time_h);
                assert!((parts / whole - 1.0).abs() < 1e-12, "{law:?}: {parts}, not {whole}");
                // The midpoint rule over a 10,000th of the age is off by less than a millionth.
                let step_h = 1e-4 * age_h;
                let slope = law.hazard_over(age_h - 0.5 * step_h, step_h) / step_h;
                let rate = law.hazard_rate(age_h);
                assert!((slope / rate - 1.0).abs() < 1e-6, "{law:?} at {age_h}: {rate}, not {slope}");
            }
        }
    }

    #[test]
    fn log_normal_tail_is_continuous() {
        for z in [0.0, FAR_TAIL] {
            let (below, above) = (log_normal_tail(z - 1e-9), log_normal_tail(z + 1e-9));
            // The slope is at most z + 1 / z there.
            assert!((below - above).abs() < 1e-6 && below > above, "{z}: {below} and {above}");
        }
        assert!((normal_quantile(-libm::expm1(log_normal_tail(1.5))) - 1.5).abs() < 1e-12);
    }
}
