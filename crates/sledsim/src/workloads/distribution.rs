//! Distributions of sizes and times, and their sampling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alias::AliasTable;
use crate::engine::random::Stream;
use crate::fault::{Fault, Range};

/// Largest value or mean, in any unit: 10^15 ms are 31 700 years, 10^15 bytes a petabyte.
const LARGEST: f64 = 1e15;

/// Distribution of a non-negative quantity. Values are in the unit of the key that holds the distribution.
///
/// `scv` is the squared coefficient of variation, variance / mean².
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// Always the same value.
    Fixed {
        /// The value.
        #[schemars(range(min = 0, max = 1e15))]
        value: f64,
    },
    /// Every value between two bounds is equally likely.
    Uniform {
        /// Lower bound.
        #[schemars(range(min = 0, max = 1e15))]
        min: f64,
        /// Upper bound, not below `min`.
        #[schemars(range(min = 0, max = 1e15))]
        max: f64,
    },
    /// Exponential; scv 1.
    Exponential {
        /// Mean.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
    },
    /// Lognormal, by its mean and variability.
    Lognormal {
        /// Mean.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Squared coefficient of variation.
        #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
        scv: f64,
    },
    /// Sum of `k` independent exponentials; scv 1 / k.
    Erlang {
        /// Mean of the sum.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Number of exponentials.
        #[schemars(range(min = 1, max = 1000))]
        k: u32,
    },
    /// One of two exponentials, chosen so that both contribute half of the mean ("balanced means"); scv at least 1.
    Hyperexponential {
        /// Mean.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Squared coefficient of variation.
        #[schemars(range(min = 1, max = 1e6))]
        scv: f64,
    },
    /// One of listed exponentials, by weight: short gaps within bursts, long ones between them.
    ExponentialMixture {
        /// Means of the exponentials and their weights.
        #[schemars(length(min = 1))]
        means: Vec<WeightedValue>,
    },
    /// Gamma, by its mean and variability.
    Gamma {
        /// Mean.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Squared coefficient of variation: 1 / shape.
        #[schemars(range(max = 1e3), extend("exclusiveMinimum" = 0))]
        scv: f64,
    },
    /// Weibull: heavier than exponential for shapes below 1, lighter above.
    Weibull {
        /// Mean.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Shape.
        #[schemars(range(min = 0.1, max = 100))]
        shape: f64,
    },
    /// Pareto: the probability of a value above x falls as x to the power of minus the shape. The variance is infinite
    /// for shapes up to 2.
    Pareto {
        /// Mean.
        #[schemars(range(max = 1e15), extend("exclusiveMinimum" = 0))]
        mean: f64,
        /// Shape.
        #[schemars(range(max = 1e3), extend("exclusiveMinimum" = 1))]
        shape: f64,
    },
    /// One of listed values, by weight.
    Empirical {
        /// The values and their weights.
        #[schemars(length(min = 1))]
        points: Vec<WeightedValue>,
    },
}

/// A value and its weight among others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedValue {
    /// The value.
    #[schemars(range(min = 0, max = 1e15))]
    pub value: f64,
    /// Relative frequency; the weights need not add up to 1.
    #[schemars(range(min = 0, max = 1e15))]
    pub weight: f64,
}

pub(super) fn within(key: &str, value: f64, min: f64, max: f64) -> Result<(), Fault> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(Fault::out_of_range(key, value, Range::from_to(min, max)))
}

pub(super) fn above(key: &str, value: f64, min: f64, max: f64) -> Result<(), Fault> {
    if value > min && value <= max {
        return Ok(());
    }
    Err(Fault::out_of_range(key, value, Range::above_to(min, max)))
}

impl Distribution {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A key is out of range.
    pub fn validate(&self) -> Result<(), Fault> {
        let mean_above_0 = |mean| above("mean", mean, 0.0, LARGEST);
        match *self {
            Self::Fixed { value } => within("value", value, 0.0, LARGEST),
            Self::Uniform { min, max } => {
                within("min", min, 0.0, LARGEST)?;
                within("max", max, min, LARGEST)
            }
            Self::Exponential { mean } => mean_above_0(mean),
            Self::Lognormal { mean, scv } => {
                mean_above_0(mean)?;
                above("scv", scv, 0.0, 1e6)
            }
            Self::Erlang { mean, k } => {
                mean_above_0(mean)?;
                within("k", f64::from(k), 1.0, 1000.0)
            }
            Self::Hyperexponential { mean, scv } => {
                mean_above_0(mean)?;
                within("scv", scv, 1.0, 1e6)
            }
            Self::Gamma { mean, scv } => {
                mean_above_0(mean)?;
                above("scv", scv, 0.0, 1e3)
            }
            Self::Weibull { mean, shape } => {
                mean_above_0(mean)?;
                within("shape", shape, 0.1, 100.0)
            }
            Self::Pareto { mean, shape } => {
                mean_above_0(mean)?;
                above("shape", shape, 1.0, 1e3)
            }
            Self::Empirical { ref points } | Self::ExponentialMixture { means: ref points } => {
                let list = if matches!(self, Self::Empirical { .. }) { "points" } else { "means" };
                for (entry, point) in points.iter().enumerate() {
                    within(&format!("{list}.{entry}.value"), point.value, 0.0, LARGEST)?;
                    within(&format!("{list}.{entry}.weight"), point.weight, 0.0, LARGEST)?;
                }
                AliasTable::new(&weights(points)).map(|_| ()).map_err(|fault| fault.within(list))
            }
        }
    }

    /// The mean, in the unit of the values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed { value } => value,
            Self::Uniform { min, max } => 0.5 * (min + max),
            Self::Exponential { mean }
            | Self::Lognormal { mean, .. }
            | Self::Erlang { mean, .. }
            | Self::Hyperexponential { mean, .. }
            | Self::Gamma { mean, .. }
            | Self::Weibull { mean, .. }
            | Self::Pareto { mean, .. } => mean,
            Self::Empirical { ref points } | Self::ExponentialMixture { means: ref points } => {
                weighted_mean(points, |value| value)
            }
        }
    }

    /// Prepares sampling.
    ///
    /// # Errors
    /// As [`Distribution::validate`].
    pub fn sampler(&self) -> Result<Sampler, Fault> {
        self.validate()?;
        Ok(Sampler(match *self {
            Self::Fixed { value } => Form::Fixed(value),
            Self::Uniform { min, max } => Form::Uniform { min, span: max - min },
            Self::Exponential { mean } => Form::Exponential { mean },
            Self::Lognormal { mean, scv } => {
                let variance = libm::log1p(scv);
                Form::Lognormal { mu: libm::log(mean) - 0.5 * variance, sigma: variance.sqrt() }
            }
            Self::Erlang { mean, k } => Form::Erlang { scale: mean / f64::from(k), k },
            Self::Hyperexponential { mean, scv } => {
                let likely = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
                Form::Hyperexponential {
                    likely,
                    likely_mean: 0.5 * mean / likely,
                    // For scv 1 both branches are the same; for large ones this form does not cancel.
                    unlikely_mean: mean * likely * (scv + 1.0),
                }
            }
            // The shape would be infinite; the value is the mean in every digit.
            Self::Gamma { mean, scv } if (1.0 / scv).is_infinite() => Form::Fixed(mean),
            Self::Gamma { mean, scv } => Form::Gamma { shape: 1.0 / scv, scale: mean * scv },
            Self::Weibull { mean, shape } => {
                Form::Weibull { scale: mean / libm::tgamma(1.0 + 1.0 / shape), power: 1.0 / shape }
            }
            Self::Pareto { mean, shape } => Form::Pareto { scale: mean * (shape - 1.0) / shape, power: -1.0 / shape },
            Self::Empirical { ref points } => Form::Empirical {
                table: AliasTable::new(&weights(points))?,
                values: points.iter().map(|point| point.value).collect(),
            },
            Self::ExponentialMixture { ref means } => Form::ExponentialMixture {
                table: AliasTable::new(&weights(means))?,
                means: means.iter().map(|point| point.value).collect(),
            },
        }))
    }
}

fn weights(points: &[WeightedValue]) -> Vec<f64> {
    points.iter().map(|point| point.weight).collect()
}

fn weighted_mean(points: &[WeightedValue], of: impl Fn(f64) -> f64) -> f64 {
    let total: f64 = points.iter().map(|point| point.weight).sum();
    points.iter().map(|point| point.weight / total * of(point.value)).sum()
}

/// A distribution prepared for sampling: parameters transformed, tables built.
#[derive(Clone, Debug)]
pub struct Sampler(Form);

#[derive(Clone, Debug)]
enum Form {
    Fixed(f64),
    Uniform { min: f64, span: f64 },
    Exponential { mean: f64 },
    Lognormal { mu: f64, sigma: f64 },
    Erlang { scale: f64, k: u32 },
    Hyperexponential { likely: f64, likely_mean: f64, unlikely_mean: f64 },
    Gamma { shape: f64, scale: f64 },
    Weibull { scale: f64, power: f64 },
    Pareto { scale: f64, power: f64 },
    Empirical { table: AliasTable, values: Vec<f64> },
    ExponentialMixture { table: AliasTable, means: Vec<f64> },
}

impl Sampler {
    /// The value of a fixed distribution.
    #[must_use]
    pub const fn fixed(&self) -> Option<f64> {
        match self.0 {
            Form::Fixed(value) => Some(value),
            _ => None,
        }
    }

    /// Draws a value. It is not negative; from the far tail of a heavy distribution it may be infinite. Does not allocate.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self.0 {
            Form::Fixed(value) => value,
            Form::Uniform { min, span } => min + span * stream.unit(),
            Form::Exponential { mean } => mean * stream.exponential(),
            Form::Lognormal { mu, sigma } => libm::exp(mu + sigma * stream.normal()),
            Form::Erlang { scale, k } => scale * erlang(k, stream),
            Form::Hyperexponential { likely, likely_mean, unlikely_mean } => {
                let mean = if stream.chance(likely) { likely_mean } else { unlikely_mean };
                mean * stream.exponential()
            }
            Form::Gamma { shape, scale } => scale * stream.gamma(shape),
            Form::Weibull { scale, power } => scale * libm::pow(stream.exponential(), power),
            Form::Pareto { scale, power } => scale * libm::pow(stream.positive_unit(), power),
            Form::Empirical { ref table, ref values } => values[table.sample(stream)],
            Form::ExponentialMixture { ref table, ref means } => means[table.sample(stream)] * stream.exponential(),
        }
    }
}

/// Sum of `k` exponentials of mean 1: minus the logarithm of a product of uniforms, taken before the product can
/// underflow.
fn erlang(k: u32, stream: &mut Stream) -> f64 {
    /// 2^-53 to this power is still a normal number.
    const FACTORS: u32 = 16;
    let mut sum = 0.0;
    let mut left = k;
    while left > 0 {
        let factors = left.min(FACTORS);
        let product: f64 = (0..factors).map(|_| stream.positive_unit()).product();
        sum -= libm::log(product);
        left -= factors;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_key_value_and_limits() {
        let message = Distribution::Hyperexponential { mean: 1.0, scv: 0.5 }.validate();
        assert_eq!(message, Err(Fault::out_of_range("scv", 0.5, Range::from_to(1.0, 1e6))));
        let message = Distribution::Exponential { mean: 0.0 }.validate();
        assert_eq!(message, Err(Fault::out_of_range("mean", 0.0, Range::above_to(0.0, LARGEST))));
    }

    #[test]
    fn a_gamma_of_tiny_scv_is_drawn_quickly() {
        for scv in [f64::from_bits(1), 1e-308, 1e-300, 1e-20] {
            let sampler = Distribution::Gamma { mean: 3.0, scv }.sampler().expect("it is in range");
            let drawn = sampler.sample(&mut Stream::new(1, "gamma"));
            assert!((drawn - 3.0).abs() < 1e-6, "{scv}: {drawn}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = [
            Distribution::Fixed { value: -1.0 },
            Distribution::Fixed { value: f64::NAN },
            Distribution::Uniform { min: 2.0, max: 1.0 },
            Distribution::Exponential { mean: f64::INFINITY },
            Distribution::Lognormal { mean: 1.0, scv: 0.0 },
            Distribution::Erlang { mean: 1.0, k: 0 },
            Distribution::Gamma { mean: 1.0, scv: -1.0 },
            Distribution::Weibull { mean: 1.0, shape: 0.0 },
            Distribution::Pareto { mean: 1.0, shape: 1.0 },
            Distribution::Empirical { points: Vec::new() },
            Distribution::ExponentialMixture { means: Vec::new() },
            Distribution::Empirical { points: vec![WeightedValue { value: -1.0, weight: 1.0 }] },
        ];
        for distribution in refused {
            assert!(distribution.sampler().is_err(), "{distribution:?}");
        }
    }

    #[test]
    fn text_form_is_tagged_and_strict() {
        let parse = |text| serde_json::from_str::<Distribution>(text);
        let parsed = parse(r#"{"kind": "erlang", "mean": 2.5, "k": 3}"#).expect("a valid distribution");
        assert_eq!(parsed, Distribution::Erlang { mean: 2.5, k: 3 });
        assert!(parse(r#"{"kind": "erlang", "mean": 2.5, "k": 3, "scv": 1}"#).is_err());
        assert!(parse(r#"{"kind": "erlang", "mean": 2.5}"#).is_err());
    }
}
