//! Converts DiskSim's distributions of times and sizes.

use serde_json::{json, Value as Json};
use sledsim::fault::{Allowed, Kind};

use super::block::number;
use super::fault::Fault;
use super::syntax::{Block, Content};

/// Number of steps that approximate a distribution without a counterpart.
const STEPS: u32 = 400;
/// Maximum number of sizes of a distribution.
const MAX_SIZES: usize = 2000;

/// DiskSim's names of distributions.
const SHAPES: [&str; 5] = ["uniform", "normal", "exponential", "poisson", "twovalue"];

/// A distribution of DiskSim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    Uniform {
        least: f64,
        most: f64,
    },
    /// DiskSim multiplies a standard normal value by its third number, which it calls a variance.
    Normal {
        mean: f64,
        deviation: f64,
    },
    Exponential {
        base: f64,
        mean: f64,
    },
    Poisson {
        base: f64,
        mean: f64,
    },
    TwoValue {
        usual: f64,
        other: f64,
        probability: f64,
    },
}

/// A distribution of times in a scenario.
pub(super) struct Times {
    pub distribution: Json,
    /// True if steps approximate a continuous distribution.
    pub in_steps: bool,
}

impl Times {
    fn exact(distribution: Json) -> Self {
        Self { distribution, in_steps: false }
    }
}

impl Shape {
    /// Returns the distribution of a parameter such as `[ exponential, 0.0, 8.0 ]`.
    pub fn read(block: &Block, name: &str) -> Result<Self, Fault> {
        let items = block.list(name)?;
        let kind = match items.first().map(|first| &first.content) {
            Some(Content::Text(kind)) => kind.as_str(),
            _ => "",
        };
        let mut numbers = Vec::new();
        for (index, item) in items.iter().enumerate().skip(1) {
            numbers.push(number(item).ok_or_else(|| block.fault_of(name, index).expects("a number"))?);
        }
        let shape = match (kind, numbers.as_slice()) {
            ("uniform", &[least, most]) => Self::Uniform { least, most },
            ("normal", &[mean, deviation]) => Self::Normal { mean, deviation },
            ("exponential", &[base, mean]) => Self::Exponential { base, mean },
            ("poisson", &[base, mean]) => Self::Poisson { base, mean },
            ("twovalue", &[usual, other, probability]) => Self::TwoValue { usual, other, probability },
            _ if SHAPES.contains(&kind) => {
                let count = if kind == "twovalue" { 3 } else { 2 };
                return Err(block.fault(name).expects(Allowed::Type(format!("{kind} and {count} numbers"))));
            }
            _ => return Err(block.fault_of(name, 0).one_of(kind, SHAPES)),
        };
        if shape.is_possible() {
            Ok(shape)
        } else {
            let says = ": its numbers leave no value that is not negative";
            Err(block.fault(name).kind(Kind::OutOfRange).says(says))
        }
    }

    /// Returns true if there are values of at least 0, and all numbers can be computed with.
    fn is_possible(self) -> bool {
        let sane = |number: f64| number.abs() <= 1e12;
        match self {
            Self::Uniform { least, most } => sane(least) && sane(most) && least <= most && most >= 0.0,
            Self::Normal { mean, deviation } => {
                sane(mean) && sane(deviation) && deviation >= 0.0 && mean >= -4.0 * deviation
            }
            Self::Exponential { base, mean } => sane(base) && sane(mean) && base >= 0.0 && mean >= 0.0,
            Self::Poisson { base, mean } => sane(base) && base >= 0.0 && (0.0..=700.0).contains(&mean),
            Self::TwoValue { usual, other, probability } => {
                (0.0..=1e12).contains(&usual) && (0.0..=1e12).contains(&other) && (0.0..=1.0).contains(&probability)
            }
        }
    }

    /// Returns the mean of the values of at least 0: approximate for uniform and normal distributions, exact for the others.
    pub fn mean(self) -> f64 {
        match self {
            Self::Uniform { least, most } => 0.5 * (least.max(0.0) + most),
            Self::Normal { mean, .. } => mean.max(0.0),
            Self::Exponential { base, mean } | Self::Poisson { base, mean } => base + mean,
            Self::TwoValue { usual, other, probability } => usual + probability * (other - usual),
        }
    }

    /// Returns the value if there is only one.
    pub fn fixed(self) -> Option<f64> {
        match self {
            Self::Uniform { least, most } if least == most => Some(least),
            Self::Normal { mean, deviation: 0.0 } => Some(mean.max(0.0)),
            Self::Exponential { base, mean: 0.0 } | Self::Poisson { base, mean: 0.0 } => Some(base),
            Self::TwoValue { usual, other, probability } if usual == other || probability == 0.0 => Some(usual),
            _ => None,
        }
    }

    /// Returns the probability of a value below `x`.
    fn below(self, x: f64) -> f64 {
        match self {
            Self::Uniform { least, most } if most > least => ((x - least) / (most - least)).clamp(0.0, 1.0),
            Self::Normal { mean, deviation } if deviation > 0.0 => {
                0.5 * libm::erfc((mean - x) / (deviation * std::f64::consts::SQRT_2))
            }
            Self::Exponential { base, mean } if mean > 0.0 => -(-((x - base).max(0.0)) / mean).exp_m1(),
            Self::Poisson { base, mean } => poisson_below(x - base, mean),
            Self::TwoValue { usual, other, probability } => {
                let part = |value: f64, weight: f64| if value < x { weight } else { 0.0 };
                part(usual, 1.0 - probability) + part(other, probability)
            }
            _ => f64::from(u8::from(self.fixed().unwrap_or(0.0) < x)),
        }
    }

    /// Returns the distribution of times, in ms. Times below 0 are drawn again, as in DiskSim.
    pub fn times_ms(self, scale: f64) -> Times {
        if let Some(value) = self.fixed() {
            return Times::exact(json!({"kind": "fixed", "value": value * scale}));
        }
        match self {
            Self::Exponential { base: 0.0, mean } => Times::exact(json!({"kind": "exponential", "mean": mean * scale})),
            Self::Uniform { least, most } => {
                Times::exact(json!({"kind": "uniform", "min": least.max(0.0) * scale, "max": most * scale}))
            }
            Self::TwoValue { usual, other, probability } => {
                let point = |value: f64, weight: f64| json!({"value": value * scale, "weight": weight});
                let points = [point(usual, 1.0 - probability), point(other, probability)];
                Times::exact(json!({"kind": "empirical", "points": points}))
            }
            _ => {
                let points: Vec<Json> = (0..STEPS)
                    .map(|step| self.quantile((f64::from(step) + 0.5) / f64::from(STEPS)) * scale)
                    .map(|value| json!({"value": value, "weight": 1.0}))
                    .collect();
                Times { distribution: json!({"kind": "empirical", "points": points}), in_steps: true }
            }
        }
    }

    /// Returns the quantile of `p` among the values of at least 0.
    fn quantile(self, p: f64) -> f64 {
        let first = self.below(0.0);
        let target = first + p * (1.0 - first);
        let (mut least, mut most) = (0.0, 1.0);
        while self.below(most) < target && most < 1e15 {
            most *= 2.0;
        }
        for _ in 0..100 {
            let middle = 0.5 * (least + most);
            if self.below(middle) < target {
                least = middle;
            } else {
                most = middle;
            }
        }
        0.5 * (least + most)
    }

    /// Returns the distribution of sizes in bytes, from values in blocks: the integer part, rounded up to multiples of `factor` blocks. Sizes of 0
    /// are drawn again.
    pub fn sizes_bytes(self, factor: f64, block_bytes: f64) -> Json {
        let unit = factor * block_bytes;
        let mut points = Vec::new();
        let mut from = self.below(1.0);
        let total = 1.0 - from;
        for count in 1..=MAX_SIZES {
            let to = self.below(count as f64 * factor + 1.0);
            let is_last = count == MAX_SIZES || 1.0 - to < 1e-9 * total;
            // Larger sizes count as the last one.
            let weight = if is_last { 1.0 - from } else { to - from };
            if weight > 0.0 {
                points.push((count as f64 * unit, weight / total));
            }
            if is_last {
                break;
            }
            from = to;
        }
        match points.as_slice() {
            [] => json!({"kind": "fixed", "value": unit}),
            [(size, _)] => json!({"kind": "fixed", "value": size}),
            _ => {
                let points: Vec<Json> =
                    points.iter().map(|(value, weight)| json!({"value": value, "weight": weight})).collect();
                json!({"kind": "empirical", "points": points})
            }
        }
    }
}

/// Probability that a Poisson count is below `x`.
fn poisson_below(x: f64, mean: f64) -> f64 {
    let (mut term, mut sum, mut count) = ((-mean).exp(), 0.0, 0.0);
    // Far beyond the mean, the terms are negligible.
    while count < x && count < mean + 40.0 * mean.sqrt() + 100.0 {
        sum += term;
        count += 1.0;
        term *= mean / count;
    }
    if count < x {
        1.0
    } else {
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_what_disksim_draws() {
        // Whole part of an exponential of mean 8, rounded up to 8: 8 from 1 up to below 9, 16 up to below 17, and so on,
        // each e times as rare as the one before.
        let sizes = Shape::Exponential { base: 0.0, mean: 8.0 }.sizes_bytes(8.0, 512.0);
        let points = sizes["points"].as_array().expect("a list");
        assert_eq!((points[0]["value"].as_f64(), points[1]["value"].as_f64()), (Some(4096.0), Some(8192.0)));
        let weight = |i: usize| points[i]["weight"].as_f64().expect("a number");
        assert!(
            (weight(0) - (1.0 - (-1.0_f64).exp())).abs() < 1e-12
                && (weight(0) / weight(1) - 1.0_f64.exp()).abs() < 1e-9
        );
        let sum: f64 = (0..points.len()).map(weight).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert_eq!(
            Shape::Uniform { least: 16.0, most: 16.0 }.sizes_bytes(8.0, 512.0),
            json!({"kind": "fixed", "value": 8192.0})
        );
    }

    #[test]
    fn steps_keep_the_mean() {
        // 400 steps of a normal of deviation 10, hardly cut off at 0: the mean to a thousandth of the deviation.
        let Times { distribution: times, in_steps } = Shape::Normal { mean: 50.0, deviation: 10.0 }.times_ms(1.0);
        let points = times["points"].as_array().expect("a list");
        let mean = points.iter().filter_map(|point| point["value"].as_f64()).sum::<f64>() / points.len() as f64;
        assert!(in_steps && (mean - 50.0).abs() < 0.01, "{mean}");
        let Times { distribution: times, in_steps } = Shape::Exponential { base: 0.0, mean: 5.0 }.times_ms(2.0);
        assert_eq!((times, in_steps), (json!({"kind": "exponential", "mean": 10.0}), false));
        assert!((poisson_below(3.0, 2.0) - 5.0 * (-2.0_f64).exp()).abs() < 1e-12);
    }
}
