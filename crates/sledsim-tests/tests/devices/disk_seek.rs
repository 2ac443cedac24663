//! Seek curves: given points and lower bounds.

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::disk::{DiskParameters, Seek};
use sledsim::fault::Fault;
use sledsim_testing::tiers::{cases, size};

/// Returns the seek times of a drive with a number of cylinders.
fn seek(cylinders: u32, curve: &Value) -> Result<Seek, Fault> {
    let drive = json!({
        "name": "small", "surfaces": 1, "cylinders": cylinders,
        "zones": [{"first_cylinder": 0, "last_cylinder": 0, "sectors_per_track": 10,
                   "track_skew_sectors": 0.0, "cylinder_skew_sectors": 0.0}],
        "rotation_rpm": 6000.0, "seek": curve, "head_switch_ms": 0.0, "bus_ms_per_block": 0.0,
    });
    let drive: DiskParameters = serde_json::from_value(drive).expect("a drive");
    Seek::new(&drive)
}

fn times(cylinders: u32, curve: &Value, distances: &[u32]) -> Vec<u64> {
    let seek = seek(cylinders, curve).expect("a curve");
    distances.iter().map(|distance| seek.time_ns(*distance)).collect()
}

#[test]
fn tables_are_interpolated_and_extrapolated_linearly() {
    let curve = json!({"curve": "table", "points": [[2.0, 1.0], [4.0, 2.0], [8.0, 1.8], [10.0, 3.0]]});
    // Before the first point and after the last, the line through the nearest two points continues.
    assert_eq!(
        times(20, &curve, &[0, 1, 2, 3, 4, 6, 8, 9, 10, 12]),
        [0, 500_000, 1_000_000, 1_500_000, 2_000_000, 1_900_000, 1_800_000, 2_400_000, 3_000_000, 4_200_000]
    );
    assert_eq!(
        times(20, &json!({"curve": "table", "points": [[5.0, 1.5]]}), &[0, 1, 5, 19]),
        [0, 1_500_000, 1_500_000, 1_500_000]
    );
    // A line that would become negative.
    assert_eq!(
        times(20, &json!({"curve": "table", "points": [[1.0, 2.0], [2.0, 1.0]]}), &[1, 2, 3, 4]),
        [2_000_000, 1_000_000, 0, 0]
    );
}

#[test]
fn hpl_is_a_square_root_then_linear() {
    // The HP C2200A of Ruemmler and Wilkes (1994): 3.45 + 0.597 sqrt(d) up to 616 cylinders, 10.8 + 0.012 d from there.
    let mut curve = json!({"curve": "hpl", "short_below": 616.0, "short_constant_ms": 3.45, "short_sqrt_ms": 0.597,
                           "long_constant_ms": 10.8, "long_linear_ms": 0.012});
    let far = [615_f64, 616.0, 1448.0];
    let expected = [3.45 + 0.597 * far[0].sqrt(), 10.8 + 0.012 * far[1], 10.8 + 0.012 * far[2]]
        .map(|ms| (ms * 1e6).round() as u64);
    assert_eq!(times(1449, &curve, &[0, 1, 4]), [0, 4_047_000, 4_644_000]);
    assert_eq!(times(1449, &curve, &[615, 616, 1448]), expected);
    curve["first_ms"] = json!([1.0, 2.5]);
    assert_eq!(times(1449, &curve, &[0, 1, 2, 4]), [0, 1_000_000, 2_500_000, 4_644_000]);
}

#[test]
fn three_point_curves_pass_through_their_points() {
    let three = |curve: &str| json!({"curve": curve, "single_ms": 2.0, "average_ms": 8.0, "full_ms": 15.0});
    let cylinders = 3001;
    let lee = seek(cylinders, &three("lee")).expect("a curve");
    assert_eq!([1, 3000].map(|distance| lee.time_ns(distance)), [2_000_000, 15_000_000]);
    // The average over pairs of random cylinders: distance d > 0 occurs 2 (n - d) times in n^2.
    let (mut sum, mut pairs) = (0.0, 0.0);
    for distance in 1..cylinders {
        let times = f64::from(cylinders - distance);
        sum += times * lee.time_ns(distance) as f64;
        pairs += times;
    }
    // Lee's coefficients are exact only in the limit of many cylinders.
    assert!((sum / pairs / 8e6 - 1.0).abs() < 2e-3, "{}", sum / pairs);
    let lines = seek(cylinders, &three("three-point")).expect("a curve");
    assert_eq!([1, 3000].map(|distance| lines.time_ns(distance)), [2_000_000, 15_000_000]);
    assert!(lines.time_ns(1000).abs_diff(8_000_000) < 10_000, "{}", lines.time_ns(1000));
    // Lee's coefficient of the root would be negative, so lines are used instead.
    let dull = json!({"single_ms": 2.0, "average_ms": 3.0, "full_ms": 15.0});
    let with = |curve: &str| {
        let mut dull = dull.clone();
        dull["curve"] = curve.into();
        times(cylinders, &dull, &[1, 500, 1000, 2000, 3000])
    };
    assert_eq!(with("lee"), with("three-point"));
}

#[test]
fn linear_and_constant_curves() {
    let line = json!({"curve": "linear", "single_ms": 1.0, "full_ms": 11.0});
    assert_eq!(times(102, &line, &[0, 1, 51, 101]), [0, 1_000_000, 6_000_000, 11_000_000]);
    assert_eq!(times(102, &json!({"curve": "constant", "seek_ms": 3.0}), &[0, 1, 101]), [0, 3_000_000, 3_000_000]);
    // A drive of one or two cylinders has at most one seek distance.
    for cylinders in [1, 2] {
        for curve in [&line, &json!({"curve": "lee", "single_ms": 1.0, "average_ms": 2.0, "full_ms": 4.0})] {
            assert_eq!(times(cylinders, curve, &[0, 1]), [0, 1_000_000]);
        }
    }
}

#[test]
fn invalid_curves_are_rejected() {
    let table =
        |points: Value| seek(100, &json!({"curve": "table", "points": points})).expect_err("no curve").to_string();
    assert!(table(json!([])).contains("no point"));
    assert!(table(json!([[1.0, 1.0], [1.0, 2.0]])).contains("seek.points.1.0 = 1: this distance follows one of 1"));
    assert!(table(json!([[5.0, 1.0], [3.0, 2.0]])).contains("seek.points.1.0 = 3: this distance follows one of 5"));
    assert!(table(json!([[-1.0, 1.0]])).contains("-1"));
}

fn curve() -> impl Strategy<Value = Value> {
    let table = prop::collection::vec((0.3_f64..40.0, -1.0_f64..9.0), 1..12).prop_map(|steps| {
        let mut distance = 0.0;
        let mut point = |(step, ms): (f64, f64)| {
            distance += step;
            json!([distance, ms])
        };
        json!({"curve": "table", "points": steps.into_iter().map(&mut point).collect::<Vec<_>>()})
    });
    let numbers = (0.0_f64..200.0, -2.0_f64..5.0, -0.4_f64..0.5, -2.0_f64..5.0, -0.02_f64..0.03);
    let hpl = (numbers, prop::collection::vec(-1.0_f64..5.0, 0..12)).prop_map(|((below, a, b, c, e), first_ms)| {
        json!({"curve": "hpl", "short_below": below, "short_constant_ms": a, "short_sqrt_ms": b,
               "long_constant_ms": c, "long_linear_ms": e, "first_ms": first_ms})
    });
    let three = (prop_oneof![Just("lee"), Just("three-point")], prop::array::uniform3(0.0_f64..9.0))
        .prop_map(|(curve, [a, b, c])| json!({"curve": curve, "single_ms": a, "average_ms": b, "full_ms": c}));
    let linear =
        (0.0_f64..9.0, 0.0_f64..9.0).prop_map(|(a, b)| json!({"curve": "linear", "single_ms": a, "full_ms": b}));
    prop_oneof![table, hpl, three, linear]
}

proptest! {
    #![proptest_config(cases(size(500, 1500)))]

    /// The bound of a distance is the least time of it and all greater distances.
    #[test]
    fn bounds_are_minima_of_greater_distances(cylinders in 1_u32..300, curve in curve()) {
        let seek = seek(cylinders, &curve).expect("a curve");
        prop_assert_eq!(seek.time_ns(0), 0);
        let mut least_ns = u64::MAX;
        for distance in (1..cylinders).rev() {
            least_ns = least_ns.min(seek.time_ns(distance));
            prop_assert_eq!(seek.bound_ns(distance), least_ns, "{} of {}", distance, cylinders);
        }
        prop_assert_eq!(seek.bound_ns(0), 0);
    }
}

proptest! {
    // Each case fills a table of a million distances.
    #![proptest_config(cases(40))]

    /// Beyond the tables, computed times continue the same curve.
    #[test]
    fn distances_beyond_the_table(curve in curve(), picks in prop::collection::vec((1_u32 << 20) - 5..3 << 20, 20)) {
        let seek = seek(3 << 20, &curve).expect("a curve");
        let mut picks = picks;
        picks.sort_unstable();
        for pair in picks.windows(2) {
            prop_assert!(seek.bound_ns(pair[0]) <= seek.bound_ns(pair[1]), "{:?}", pair);
            prop_assert!(seek.bound_ns(pair[0]) <= seek.time_ns(pair[1]), "{:?}", pair);
        }
    }
}
