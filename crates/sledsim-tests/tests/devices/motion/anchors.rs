//! Published numbers and limits in closed form.

use sledsim::devices::mems::motion::{
    exact_turnaround_s, rest_to_rest_s, run_out_m, settle_s, turnaround_s, y_seek, Axis, SeekModel,
};

use super::PUBLISHED;

const GRIFFIN: (f64, Axis) = PUBLISHED[0];
const G2: (f64, Axis) = PUBLISHED[2];
const EDGE_M: f64 = 50e-6;

fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!((actual - expected).abs() <= relative * expected.abs(), "{actual} is not {expected} within {relative}");
}

#[test]
fn times_equal_those_of_griffin1999() {
    let (v, axis) = GRIFFIN;
    // 2 · 0.02 / 114.8 s, printed as 0.35 ms; 1 / (2π · 220 Hz), printed as 0.72 ms.
    assert_close(turnaround_s(&axis, 0.0, v), 0.348_432e-3, 1e-5);
    assert_close(exact_turnaround_s(&axis, EDGE_M, -v), 0.348_432e-3, 1e-5);
    assert_close(settle_s(1.0, 220.0), 0.723_432e-3, 1e-5);
    assert_close(settle_s(2.0, 220.0), 2.0 * settle_s(1.0, 220.0), 1e-15);
    // Full stroke from rest: 2 √(100 µm / 114.8 m/s²).
    assert_close(rest_to_rest_s(&axis, -EDGE_M, EDGE_M), 1.866_63e-3, 1e-5);
    // Equation 4: two reversals around a full stroke back to the old direction.
    let seek = y_seek(SeekModel::FirstOrder, &axis, v, EDGE_M, v, -EDGE_M, v);
    let distance_part = 2.0 * (-v + (v * v + 114.8 * 100e-6f64).sqrt()) / 114.8;
    assert_close(seek.time_s, distance_part + 2.0 * 2.0 * v / 114.8, 1e-12);
    assert_eq!(seek.turnarounds, 2);
}

#[test]
fn spring_factor_scales_the_force_by_direction() {
    let (v, axis) = G2;
    let centre = turnaround_s(&axis, 0.0, v);
    assert_close(centre, 2.0 * v / axis.accel_m_s2, 1e-15);
    for (y, v) in [(EDGE_M, v), (-EDGE_M, -v)] {
        assert_close(turnaround_s(&axis, y, v), centre / 1.75, 1e-12);
        assert_close(turnaround_s(&axis, y, -v), centre / 0.25, 1e-12);
    }
}

#[test]
fn reversals_by_direction_and_distance() {
    let (v, axis) = G2;
    let (low, high) = (-10e-6, 20e-6);
    for (y0, v0, y1, v1, before, after) in [
        (low, v, high, v, false, false),
        (low, v, high, -v, false, true),
        (low, -v, high, v, true, false),
        (low, -v, high, -v, true, true),
        (high, v, low, v, true, true),
        (high, v, low, -v, true, false),
        (high, -v, low, v, false, true),
        (high, -v, low, -v, false, false),
        (low, v, low, v, false, false),
        (low, v, low, -v, true, false),
    ] {
        for (model, reversal) in [
            (SeekModel::FirstOrder, None),
            (SeekModel::Decomposed, Some(turnaround_s as fn(&Axis, f64, f64) -> f64)),
            (SeekModel::TimeOptimal, Some(exact_turnaround_s)),
        ] {
            let at = |y, v| reversal.map_or(2.0 * G2.0 / axis.accel_m_s2, |f| f(&axis, y, v));
            // DiskSim computes the reversal after a move from the velocity at its end.
            let v_after = if model == SeekModel::Decomposed { v1 } else { -v1 };
            let expected = if before { at(y0, v0) } else { 0.0 } + if after { at(y1, v_after) } else { 0.0 };
            let seek = y_seek(model, &axis, G2.0, y0, v0, y1, v1);
            assert_eq!(seek.turnarounds, u32::from(before) + u32::from(after));
            assert!((seek.turnaround_s - expected).abs() <= 1e-18, "{model} {y0} {v0} {y1} {v1}");
            assert_eq!(seek.time_s > seek.turnaround_s, y0 != y1);
        }
    }
}

#[test]
fn x_moves_equal_the_published_formula() {
    let (_, axis) = G2;
    let (a, kappa) = (axis.accel_m_s2, axis.kappa());
    let (omega, c) = (kappa.sqrt(), a / kappa);
    for (x0, x1) in [(-50e-6, 50e-6), (-50e-6, -20e-6), (10e-6, 45e-6), (0.0, 5e-6)] {
        let switch = (x0 + x1) / 2.0 + kappa * (x1 * x1 - x0 * x0) / (4.0 * a);
        let arcs = ((switch - c) / (x0 - c)).acos() + ((switch + c) / (x1 + c)).acos();
        // The arccosines lose precision near 1, so the implementation does not use them.
        assert_close(rest_to_rest_s(&axis, x0, x1), arcs / omega, 1e-9);
    }
}

#[test]
fn times_converge_to_those_without_springs() {
    for (v, stiff) in PUBLISHED {
        let free = Axis { spring: 0.0, ..stiff };
        for spring in [1e-6, 1e-9, 1e-12, 1e-15, 1e-30, 1e-200, 1e-300] {
            let soft = Axis { spring, ..stiff };
            // The first correction is of the order of the spring factor.
            let relative = (4.0 * spring).max(8.0 * f64::EPSILON);
            for (y0, y1) in [(-50e-6, 50e-6), (30e-6, 29.99e-6), (0.0, 40e-9), (50e-6, 49e-6), (20e-6, 20e-6)] {
                assert_close(rest_to_rest_s(&soft, y0, y1), 2.0 * ((y1 - y0).abs() / free.accel_m_s2).sqrt(), relative);
                for (v0, v1) in [(v, v), (v, -v), (-v, v), (-v, -v), (0.0, v), (0.0, -v)] {
                    let time_s = |axis| y_seek(SeekModel::TimeOptimal, axis, v, y0, v0, y1, v1).time_s;
                    assert_close(time_s(&soft), time_s(&free), relative);
                    let first_order = y_seek(SeekModel::FirstOrder, &stiff, v, y0, v0, y1, v1).time_s;
                    assert_close(time_s(&free), first_order, 8.0 * f64::EPSILON);
                }
            }
        }
    }
}

#[test]
fn tiny_distances_keep_their_precision() {
    for (v, axis) in PUBLISHED {
        for distance in [1e-9, 1e-12, 1e-15, 1e-18] {
            // At the centre, the spring has no effect on so short a move.
            assert_close(
                rest_to_rest_s(&axis, -distance / 2.0, distance / 2.0),
                2.0 * (distance / axis.accel_m_s2).sqrt(),
                1e-4 * distance / 1e-9 + 1e-14,
            );
            let pass = y_seek(SeekModel::TimeOptimal, &axis, v, 0.0, v, distance, v).time_s;
            assert_close(pass, distance / v, axis.accel_m_s2 * distance / (v * v) + 1e-14);
        }
    }
}

#[test]
fn run_out_follows_from_energy() {
    let (v, axis) = GRIFFIN;
    assert_close(run_out_m(&axis, EDGE_M, v), v * v / (2.0 * axis.accel_m_s2), 1e-15);
    let (v, axis) = G2;
    for (y, v) in [(EDGE_M, v), (EDGE_M, -v), (0.0, v), (-20e-6, -v)] {
        let stop = y + run_out_m(&axis, y, v) * v.signum();
        let work = axis.accel_m_s2 * (stop - y).abs() + 0.5 * axis.kappa() * (stop * stop - y * y);
        assert_close(work, 0.5 * v * v, 1e-12);
    }
}

#[test]
fn unreachable_speed_takes_infinite_time() {
    let axis = Axis { accel_m_s2: 800.0, spring: 0.95, range_m: 100e-6 };
    let reachable_m_s = (8.0 * (1.0 - axis.spring) / axis.kappa()).sqrt() * axis.accel_m_s2;
    assert!(axis.starts_to(0.999 * reachable_m_s) && !axis.starts_to(1.001 * reachable_m_s));
    let from_edge = |speed| y_seek(SeekModel::TimeOptimal, &axis, speed, -EDGE_M, 0.0, -EDGE_M, speed).time_s;
    assert!(from_edge(0.999 * reachable_m_s).is_finite());
    assert!(from_edge(1.001 * reachable_m_s).is_infinite());
    for (speed, axis) in PUBLISHED {
        assert!(axis.starts_to(speed));
    }
}

#[test]
fn models_parse_from_their_names() {
    for model in SeekModel::ALL {
        assert_eq!(model.name().parse(), Ok(model));
        assert_eq!(serde_json::to_value(model).ok(), Some(serde_json::Value::from(model.to_string())));
    }
    assert_eq!(SeekModel::default(), SeekModel::TimeOptimal);
    let error = "optimal".parse::<SeekModel>().map_err(|e| e.to_string());
    assert!(error.is_err_and(|text| text.contains("`optimal`") && text.contains("time-optimal")));
}
