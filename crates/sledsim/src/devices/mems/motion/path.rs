//! The path of a seek: its position at every instant, for drawings.

use super::constant_force::Dynamics;
use super::decomposed::turnaround_s;
use super::time_optimal::{from_rest, time_optimal_profile, Profile};
use super::{moves_exactly, piecewise, Axis, Route, SeekModel};
use crate::devices::Arc;

/// Returns the path of a move along X from rest at `x0_m` to rest at `x1_m`, which takes [`x_move_s`](super::x_move_s).
#[must_use]
pub fn x_path(model: SeekModel, axis: &Axis, x0_m: f64, x1_m: f64) -> Vec<Arc> {
    if x0_m == x1_m {
        return Vec::new();
    }
    if !moves_exactly(model, axis) {
        return piecewise::path(axis, 0.0, x0_m, x1_m);
    }
    let dynamics = Dynamics::of(axis);
    let profile = from_rest(&dynamics, 0.0, x0_m, x1_m, x1_m - x0_m);
    switched(&dynamics, &profile, x0_m, 0.0)
}

/// Returns the path of a seek along Y, which takes [`y_seek`](super::y_seek) of the same arguments. In the *decomposed* model with
/// springs, pieces have constant acceleration as in DiskSim, and the speed jumps where they do not fit together.
#[must_use]
pub fn y_path(
    model: SeekModel,
    axis: &Axis,
    speed_m_s: f64,
    y0_m: f64,
    v0_m_s: f64,
    y1_m: f64,
    v1_m_s: f64,
) -> Vec<Arc> {
    let axis = Axis { spring: if model == SeekModel::FirstOrder { 0.0 } else { axis.spring }, ..*axis };
    if v0_m_s == 0.0 || moves_exactly(model, &axis) {
        let profile = time_optimal_profile(&axis, speed_m_s, y0_m, v0_m_s, y1_m, v1_m_s);
        return switched(&Dynamics::of(&axis), &profile, y0_m, v0_m_s.signum() * speed_m_s * f64::from(v0_m_s != 0.0));
    }
    let route = Route::between(y0_m, v0_m_s, y1_m, v1_m_s);
    let reversal = |y_m: f64, v_m_s: f64| {
        let time_s = turnaround_s(&axis, y_m, -route.direction * speed_m_s);
        Arc { time_s, position_m: y_m, speed_m_s: v_m_s, accel_m_s2: -2.0 * v_m_s / time_s, kappa: 0.0 }
    };
    let mut path = Vec::new();
    if route.reverses_before {
        path.push(reversal(y0_m, -route.direction * speed_m_s));
    }
    if y0_m != y1_m {
        path.extend(piecewise::path(&axis, speed_m_s, y0_m, y1_m));
    }
    if route.reverses_after {
        path.push(reversal(y1_m, route.direction * speed_m_s));
    }
    path
}

/// Returns the two arcs of a force profile.
fn switched(dynamics: &Dynamics, profile: &Profile, position_m: f64, speed_m_s: f64) -> Vec<Arc> {
    let accel_m_s2 = profile.first_force_sign * dynamics.a;
    let kappa = dynamics.kappa;
    let first = Arc { time_s: profile.first_s, position_m, speed_m_s, accel_m_s2, kappa };
    let switch = first.end();
    let (position_m, speed_m_s) = (switch.position_m, switch.speed_m_s);
    vec![first, Arc { time_s: profile.second_s, position_m, speed_m_s, accel_m_s2: -accel_m_s2, kappa }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::mems::motion::{x_move_s, y_seek};
    use proptest::prelude::*;

    /// Positions and times of floating point arithmetic over 100 um and 1 ms.
    const TOLERANCE_M: f64 = 1e-15;
    const TOLERANCE_S: f64 = 1e-12;

    fn total_s(path: &[Arc]) -> f64 {
        path.iter().map(|arc| arc.time_s).sum()
    }

    /// Checks that arcs follow each other, and that the force of the actuator is within its bound.
    fn check(path: &[Arc], axis: &Axis) {
        for arcs in path.windows(2) {
            let gap_m = arcs[1].position_m - arcs[0].end().position_m;
            assert!(gap_m.abs() < TOLERANCE_M, "{arcs:?}");
        }
        for arc in path.iter().filter(|arc| arc.kappa > 0.0) {
            assert!(arc.accel_m_s2.abs() <= axis.accel_m_s2 * (1.0 + 1e-12), "{arc:?}");
        }
    }

    proptest! {
        #[test]
        fn paths_take_the_time_of_the_seek_and_end_at_its_target(
            model in prop::sample::select(&SeekModel::ALL[..]),
            spring in prop_oneof![Just(0.0), 0.01..0.9],
            (from, to) in (-1.0..1.0, -1.0..1.0),
            (before, after) in (prop::sample::select(&[-1.0, 0.0, 1.0][..]), prop::sample::select(&[-1.0, 1.0][..])),
        ) {
            let spring = if model == SeekModel::FirstOrder { 0.0 } else { spring };
            let axis = Axis { accel_m_s2: 803.6, spring, range_m: 100e-6 };
            let (y0, y1, v) = (from * 49e-6, to * 49e-6, 0.028);
            let path = y_path(model, &axis, v, y0, before * v, y1, after * v);
            check(&path, &axis);
            let seek = y_seek(model, &axis, v, y0, before * v, y1, after * v);
            prop_assert!((total_s(&path) - seek.time_s).abs() < TOLERANCE_S);
            if let Some(last) = path.last() {
                prop_assert!((last.end().position_m - y1).abs() < TOLERANCE_M);
                prop_assert!((last.end().speed_m_s - after * v).abs() < 1e-9);
            }
            let path = x_path(model, &axis, y0, y1);
            check(&path, &axis);
            prop_assert!((total_s(&path) - x_move_s(model, &axis, y0, y1)).abs() < TOLERANCE_S);
            let end = path.last().expect("the distance is not 0").end();
            prop_assert!((end.position_m - y1).abs() < TOLERANCE_M && end.speed_m_s.abs() < 1e-9, "{end:?}");
        }
    }
}
