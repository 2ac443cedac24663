//! Quantiles of the normal, Student's t and beta distributions.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use crate::convert::to_u32;

/// From this number of degrees of freedom on, the normal distribution replaces Student's t, whose 0.975-quantile is then at most
/// 0.12 % larger.
const NORMAL_FROM: u64 = 999;
/// Most steps of [`beta_quantile`]. As many bisections between the logarithms of 1e-300 and 1 reach the precision of an `f64`.
const MAX_STEPS: u32 = 64;
/// A step of [`beta_quantile`] this small, relative to the logarithm, is the last: convergence is quadratic.
const LAST_STEP: f64 = 1e-10;
/// Most terms of the continued fraction, which needs about the square root of its larger parameter.
const MAX_TERMS: u32 = 1_000_000;

/// Quantile of the standard normal distribution for `p` in (0, 1), with a relative error of about 1e-16.
///
/// M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988, routine PPND16: three
/// rational approximations, for the centre, the shoulders and the tails.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-libm::log(tail)).sqrt();
    let magnitude = if r <= 5.0 { ratio(r - 1.6, &SHOULDER) } else { ratio(r - 5.0, &TAIL) };
    magnitude.copysign(q)
}

/// Coefficients of a numerator and a denominator, highest power first.
type Rational = ([f64; 8], [f64; 8]);

/// The quotient of two polynomials, by Horner's rule.
#[inline]
fn ratio(x: f64, (numerator, denominator): &Rational) -> f64 {
    let horner = |coefficients: &[f64; 8]| coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient);
    horner(numerator) / horner(denominator)
}

#[allow(clippy::excessive_precision, reason = "as published")]
const CENTRE: Rational = (
    [
        2_509.080_928_730_122_672_7,
        33_430.575_583_588_128_105,
        67_265.770_927_008_700_853,
        45_921.953_931_549_871_457,
        13_731.693_765_509_461_125,
        1_971.590_950_306_551_442_7,
        133.141_667_891_784_377_45,
        3.387_132_872_796_366_608,
    ],
    [
        5_226.495_278_852_854_561,
        28_729.085_735_721_942_674,
        39_307.895_800_092_710_61,
        21_213.794_301_586_595_867,
        5_394.196_021_424_751_107_7,
        687.187_007_492_057_908_3,
        42.313_330_701_600_911_252,
        1.0,
    ],
);

#[allow(clippy::excessive_precision, reason = "as published")]
const SHOULDER: Rational = (
    [
        7.745_450_142_783_414_076_4e-4,
        2.272_384_498_926_918_458_33e-2,
        2.417_807_251_774_506_117_7e-1,
        1.270_458_252_452_368_382_58,
        3.647_848_324_763_204_605_04,
        5.769_497_221_460_691_405_5,
        4.630_337_846_156_545_295_9,
        1.423_437_110_749_683_577_34,
    ],
    [
        1.050_750_071_644_416_843_24e-9,
        5.475_938_084_995_344_946e-4,
        1.519_866_656_361_645_719_66e-2,
        1.481_039_764_274_800_745_9e-1,
        6.897_673_349_851_000_045_5e-1,
        1.676_384_830_183_803_849_4,
        2.053_191_626_637_758_821_87,
        1.0,
    ],
);

#[allow(clippy::excessive_precision, reason = "as published")]
const TAIL: Rational = (
    [
        2.010_334_399_292_288_132_65e-7,
        2.711_555_568_743_487_578_15e-5,
        1.242_660_947_388_078_438_6e-3,
        2.653_218_952_657_612_309_3e-2,
        2.965_605_718_285_048_912_3e-1,
        1.784_826_539_917_291_335_8,
        5.463_784_911_164_114_369_9,
        6.657_904_643_501_103_777_2,
    ],
    [
        2.044_263_103_389_939_785_64e-15,
        1.421_511_758_316_445_888_7e-7,
        1.846_318_317_510_054_681_8e-5,
        7.868_691_311_456_132_591e-4,
        1.487_536_129_085_061_485_25e-2,
        1.369_298_809_227_358_053_1e-1,
        5.998_322_065_558_879_376_9e-1,
        1.0,
    ],
);

/// Returns the t for which Student's t lies between -t and t with a probability: for 0.95, the 0.975-quantile.
///
/// Inverts the finite series for the probability between -t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4) by
/// bisection in the angle atan(t / sqrt(degrees of freedom)).
pub fn students_t(probability: f64, degrees_of_freedom: u64) -> f64 {
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

/// Quantile of the beta distribution with parameters `a` and `b` (at least 1), for `probability` in (0, 1); at least 1e-300.
///
/// Newton's method on logarithms, with a bracket that each step narrows. A step that leaves the bracket is replaced by bisection.
#[must_use]
pub fn beta_quantile(probability: f64, a: f64, b: f64) -> f64 {
    let log_scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let (mut low, mut high) = (libm::log(1e-300), 0.0);
    let mut at = libm::log(a / (a + b));
    for _ in 0..MAX_STEPS {
        let x = libm::exp(at);
        let found = beta_probability(x, a, b, log_scale);
        if found.probability < probability {
            low = at;
        } else {
            high = at;
        }
        let next = at - (found.probability - probability) / found.slope;
        let next = if (low..=high).contains(&next) { next } else { 0.5 * (low + high) };
        let moved = (next - at).abs();
        at = next;
        if moved <= LAST_STEP * at.abs().min(1.0) {
            break;
        }
    }
    libm::exp(at)
}

/// Distribution function of the beta distribution at one point.
struct BetaProbability {
    probability: f64,
    /// Derivative by the logarithm of the argument.
    slope: f64,
}

/// Returns the regularised incomplete beta function at `x` (0 to 1), where `log_scale` is -ln B(a, b): its continued fraction
/// (Abramowitz and Stegun, 26.5.8), on the side where it converges fast.
fn beta_probability(x: f64, a: f64, b: f64, log_scale: f64) -> BetaProbability {
    if x <= 0.0 || x >= 1.0 {
        return BetaProbability { probability: if x <= 0.0 { 0.0 } else { 1.0 }, slope: 0.0 };
    }
    let front = libm::exp(log_scale + a * libm::log(x) + b * libm::log1p(-x));
    let probability = if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    };
    BetaProbability { probability, slope: front / (1.0 - x) }
}

/// Evaluates the continued fraction by the method of Lentz.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_0 = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_0(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..MAX_TERMS {
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

    #[test]
    fn normal_quantile_inverts_the_normal_distribution() {
        for step in 1..1000 {
            let p = f64::from(step) / 1000.0;
            let back = 0.5 * libm::erfc(-normal_quantile(p) / 2.0_f64.sqrt());
            assert!((back - p).abs() < 1e-15, "{p} came back as {back}");
        }
        for exponent in 4..16 {
            let p = 0.1_f64.powi(exponent);
            let back = 0.5 * libm::erfc(-normal_quantile(p) / 2.0_f64.sqrt());
            assert!((back / p - 1.0).abs() < 1e-12, "{p} came back as {back}");
        }
    }

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
        // The switch to the normal distribution.
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
    fn beta_quantile_agrees_with_bisection() {
        let counts = [1.0, 2.0, 30.0, 1e3, 3e5, 1e8];
        for (a, b) in counts.into_iter().flat_map(|a| counts.map(|b| (a, b))) {
            let log_scale = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
            for probability in [5e-5, 0.025, 0.25, 0.75, 0.975, 0.99995] {
                let (mut low, mut high) = (libm::log(1e-300), 0.0);
                for _ in 0..64 {
                    let middle = 0.5 * (low + high);
                    let below = beta_probability(libm::exp(middle), a, b, log_scale).probability < probability;
                    *if below { &mut low } else { &mut high } = middle;
                }
                let found = libm::log(beta_quantile(probability, a, b));
                assert!((found - low).abs() < 1e-11 * low.abs().max(1.0), "{probability} of {a}, {b}: {found}, {low}");
            }
        }
    }
}
