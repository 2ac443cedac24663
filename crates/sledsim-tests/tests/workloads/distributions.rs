//! Samples of every distribution have its mean and variance.

use sledsim::engine::random::Stream;
use sledsim::workloads::{Distribution, WeightedValue};

const SAMPLES: usize = 1_000_000;

/// One distribution of each kind with its variance. The parameters have a small fourth moment, so that the error of the
/// sample variance is small.
fn distributions() -> Vec<(Distribution, f64)> {
    let points = [(1.0, 2.0), (10.0, 1.0), (40.0, 0.5)].map(|(value, weight)| WeightedValue { value, weight });
    let (mean, square): (f64, f64) = (32.0 / 3.5, 902.0 / 3.5);
    let weibull = |shape: f64| 4.0 * (libm::tgamma(1.0 + 2.0 / shape) / libm::tgamma(1.0 + 1.0 / shape).powi(2) - 1.0);
    vec![
        (Distribution::Fixed { value: 3.25 }, 0.0),
        (Distribution::Uniform { min: 2.0, max: 12.0 }, 100.0 / 12.0),
        (Distribution::Exponential { mean: 7.5 }, 56.25),
        (Distribution::Lognormal { mean: 4.0, scv: 0.5 }, 8.0),
        (Distribution::Erlang { mean: 4.0, k: 1 }, 16.0),
        (Distribution::Erlang { mean: 4.0, k: 40 }, 0.4),
        (Distribution::Hyperexponential { mean: 4.0, scv: 1.0 }, 16.0),
        (Distribution::Hyperexponential { mean: 4.0, scv: 6.0 }, 96.0),
        (Distribution::Gamma { mean: 9.0, scv: 0.2 }, 16.2),
        (Distribution::Gamma { mean: 9.0, scv: 3.0 }, 243.0),
        (Distribution::Weibull { mean: 2.0, shape: 0.8 }, weibull(0.8)),
        (Distribution::Weibull { mean: 2.0, shape: 3.0 }, weibull(3.0)),
        (Distribution::Pareto { mean: 5.0, shape: 12.0 }, 25.0 / 120.0),
        (Distribution::Empirical { points: points.to_vec() }, square - mean * mean),
        (Distribution::ExponentialMixture { means: points.to_vec() }, 2.0 * square - mean * mean),
    ]
}

#[test]
fn mean_and_variance_are_reached() {
    for (distribution, expected_variance) in distributions() {
        let sampler = distribution.sampler().expect("the parameters are valid");
        let mut stream = Stream::new(11, &format!("{distribution:?}"));
        let samples: Vec<f64> = (0..SAMPLES).map(|_| sampler.sample(&mut stream)).collect();
        assert!(samples.iter().all(|&sample| sample >= 0.0 && sample.is_finite()));
        let n = SAMPLES as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let central = |power| samples.iter().map(|sample| (sample - mean).powi(power)).sum::<f64>() / n;
        let (variance, fourth) = (central(2), central(4));
        // Four standard errors: a correct sampler exceeds them once in 16 000.
        let mean_tolerance = 4.0 * (variance / n).sqrt() + 1e-12;
        assert!((mean - distribution.mean()).abs() <= mean_tolerance, "{distribution:?}: mean {mean}");
        let variance_tolerance = 4.0 * ((fourth - variance * variance).max(0.0) / n).sqrt() + 1e-12;
        assert!(
            (variance - expected_variance).abs() <= variance_tolerance,
            "{distribution:?}: variance {variance}, not {expected_variance}"
        );
    }
}

#[test]
fn quantiles_match_the_distribution_functions() {
    // P(X <= x) of distributions with a closed form.
    let cases = [
        (Distribution::Uniform { min: 2.0, max: 12.0 }, 4.0, 0.2),
        (Distribution::Exponential { mean: 2.0 }, 2.0, 1.0 - (-1.0_f64).exp()),
        (Distribution::Pareto { mean: 3.0, shape: 1.5 }, 4.0, 1.0 - 0.25_f64.powf(1.5)),
        (Distribution::Weibull { mean: 2.0, shape: 2.0 }, 2.0, 1.0 - (-std::f64::consts::FRAC_PI_4).exp()),
        // The median of a lognormal is its mean / sqrt(1 + scv).
        (Distribution::Lognormal { mean: 6.0, scv: 3.0 }, 3.0, 0.5),
        // The branch of shorter values has probability 0.5 (1 + sqrt(3/5)) and mean 4 / (1 + sqrt(3/5)).
        (Distribution::Hyperexponential { mean: 4.0, scv: 4.0 }, 4.0, hyperexponential_at_mean(4.0)),
    ];
    for (distribution, x, probability) in cases {
        let sampler = distribution.sampler().expect("the parameters are valid");
        let mut stream = Stream::new(12, &format!("{distribution:?}"));
        let below = (0..SAMPLES).filter(|_| sampler.sample(&mut stream) <= x).count();
        let error = (below as f64 / SAMPLES as f64 - probability).abs();
        let tolerance = 4.0 * (probability * (1.0 - probability) / SAMPLES as f64).sqrt();
        assert!(error <= tolerance, "{distribution:?}: off by {error} at {x}");
    }
}

/// Returns the probability of a value up to the mean, for balanced means.
fn hyperexponential_at_mean(scv: f64) -> f64 {
    let p = 0.5 * (1.0 + ((scv - 1.0) / (scv + 1.0)).sqrt());
    1.0 - p * (-2.0 * p).exp() - (1.0 - p) * (-2.0 * (1.0 - p)).exp()
}

#[test]
fn the_schema_knows_every_kind_and_limit() {
    let schema = serde_json::to_value(schemars::schema_for!(Distribution)).expect("a schema is plain data");
    let kinds = schema["oneOf"].as_array().expect("one schema per kind");
    assert_eq!(kinds.len(), 11);
    let hyperexponential = kinds
        .iter()
        .find(|kind| kind["properties"]["kind"]["const"] == "hyperexponential")
        .expect("it is one of the kinds");
    assert_eq!(hyperexponential["properties"]["scv"]["minimum"], 1);
    assert_eq!(hyperexponential["properties"]["mean"]["exclusiveMinimum"], 0);
    for kind in kinds {
        for (name, property) in kind["properties"].as_object().expect("each has properties") {
            assert!(name == "kind" || property["description"].is_string(), "{name} has no description");
        }
    }
}
