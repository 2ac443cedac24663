//! Moments and histograms against straightforward computations.

use proptest::prelude::*;
use sledsim::metrics::histogram::Histogram;
use sledsim::metrics::moments::Moments;
use sledsim::metrics::{Measure, Summary};
use sledsim_testing::tiers::{cases, size};

/// Durations of every magnitude, with enough small ones that values repeat.
fn durations() -> impl Strategy<Value = Vec<u64>> {
    let any_magnitude = (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift);
    prop::collection::vec(prop_oneof![any_magnitude, 0_u64..2000], 1..300)
}

fn moments_of(values: &[u64]) -> Moments {
    let mut moments = Moments::default();
    values.iter().for_each(|&value| moments.record(value));
    moments
}

fn histogram_of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(cases(size(24, 256)))]

    #[test]
    fn moments_match_two_passes(values in durations()) {
        let moments = moments_of(&values);
        let n = values.len() as f64;
        let mean = values.iter().map(|&value| u128::from(value)).sum::<u128>() as f64 / n;
        prop_assert_eq!(moments.count(), values.len() as u64);
        prop_assert_eq!(moments.min_ns(), values.iter().copied().min());
        prop_assert_eq!(moments.max_ns(), values.iter().copied().max());
        prop_assert!(close(moments.mean_ns(), mean, 1e-15));
        if values.len() > 1 {
            // The two-pass computation rounds, too: 1e-9 allows for that, not for a wrong formula.
            let variance = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
            prop_assert!(close(moments.variance_ns2(), variance, 1e-9), "{} {}", moments.variance_ns2(), variance);
            prop_assert!(close(moments.scv(), variance / (mean * mean), 1e-9) || mean == 0.0);
        }
    }

    #[test]
    fn merging_is_associative(a in durations(), b in durations(), c in durations()) {
        let all = [a.clone(), b.clone(), c.clone()].concat();
        let mut left = moments_of(&a);
        left.merge(&moments_of(&b));
        left.merge(&moments_of(&c));
        let mut tail = moments_of(&b);
        tail.merge(&moments_of(&c));
        let mut right = moments_of(&a);
        right.merge(&tail);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&left, &moments_of(&all));

        let mut histogram = histogram_of(&c);
        histogram.merge(&histogram_of(&b));
        histogram.merge(&histogram_of(&a));
        prop_assert_eq!(histogram, histogram_of(&all));
    }

    #[test]
    fn quantiles_are_within_one_part_in_512(values in durations(), p in 0.0_f64..=1.0) {
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let rank = ((p * values.len() as f64).ceil() as usize).clamp(1, values.len());
        let exact = sorted[rank - 1] as f64;
        let [estimate] = histogram_of(&values).quantiles_ns([p]).expect("values were recorded");
        prop_assert!((estimate - exact).abs() <= exact / 512.0, "{} instead of {}", estimate, exact);
    }

    #[test]
    fn bins_hold_every_value(values in durations(), bits in 0_u32..=9) {
        let bins = histogram_of(&values).bins(1 << bits);
        prop_assert_eq!(bins.edges_ns.len(), bins.counts.len() + 1);
        prop_assert!(bins.edges_ns.windows(2).all(|pair| pair[0] < pair[1]));
        for (edges, &count) in bins.edges_ns.windows(2).zip(&bins.counts) {
            let inside = |value: u64| (edges[0]..edges[1]).contains(&value) || (value == u64::MAX && edges[1] == value);
            prop_assert_eq!(values.iter().filter(|&&value| inside(value)).count() as u64, count);
        }
        prop_assert_eq!(bins.counts.iter().sum::<u64>(), values.len() as u64);
        prop_assert!(bins.counts[0] > 0 && bins.counts[bins.counts.len() - 1] > 0);
    }

    #[test]
    fn summaries_are_in_order(values in durations()) {
        let mut measure = Measure::default();
        values.iter().for_each(|&value| measure.record(value));
        let s = measure.summary().expect("values were recorded");
        let rising = [s.min_ms, s.p50_ms, s.p90_ms, s.p95_ms, s.p99_ms, s.p99_9_ms, s.max_ms];
        prop_assert!(rising.is_sorted(), "{:?}", rising);
        prop_assert!(s.min_ms <= s.mean_ms && s.mean_ms <= s.max_ms);
        prop_assert_eq!(s.ci95_low_ms.is_none(), s.ci95_note.is_some());
    }
}

#[test]
fn summary_round_trips_through_text() {
    let mut measure = Measure::default();
    (0..1000).for_each(|value| measure.record(1_000_000 + value * value));
    let summary = measure.summary().expect("values were recorded");
    let text = serde_json::to_string(&summary).expect("a summary is plain data");
    assert!(text.contains("\"p99_9_ms\""), "{text}");
    let back: Summary = serde_json::from_str(&text).expect("what was written can be read");
    // Parsing decimal numbers may change the last digit.
    assert!(close(summary.mean_ms, back.mean_ms, 1e-15) && close(summary.p99_9_ms, back.p99_9_ms, 1e-15));
    assert_eq!((summary.count, summary.ci95_note), (back.count, back.ci95_note));
}
