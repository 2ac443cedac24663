//! Decomposed Y seeks: reversals at constant force before and after a move (DiskSim 4.0; Griffin et al.,
//! SIGMETRICS 2000).
//!
//! A sled at rest has no reversal to decompose: its seek is the exact one-switch move of
//! [`SeekModel::TimeOptimal`](super::SeekModel::TimeOptimal).
//!
//! The reversal after a move is taken as DiskSim takes it, by the velocity the sled leaves with: there the springs act
//! with the sign opposite to the physical one, so that with springs a seek can come out shorter than the actuator
//! allows (docs/reference/validation.md has the figures). With the physical sign, mean responses of DiskSim's g1 are missed by
//! 0.6 to 0.9 %. With springs, moves are integrated as DiskSim integrates them ([`piecewise`](super::piecewise)).

use super::constant_force::Dynamics;
use super::{piecewise, Axis, Route, YSeek};

/// Time in seconds of a reversal at `y_m` with velocity `v_m_s`, the force at that place taken as constant:
/// `2|v| / (a ± spring · a · |y| / (range/2))`, plus where the sled moves outwards, minus where it moves inwards.
#[inline]
#[must_use]
pub fn turnaround_s(axis: &Axis, y_m: f64, v_m_s: f64) -> f64 {
    2.0 * v_m_s.abs() / (axis.accel_m_s2 + axis.kappa() * y_m * v_m_s.signum())
}

/// A seek that starts at access speed.
#[inline]
pub(super) fn seek(axis: &Axis, speed_m_s: f64, route: &Route) -> YSeek {
    let move_s = if axis.spring == 0.0 {
        Dynamics::of(axis).passing_move_s(speed_m_s, route.y0_m, route.y1_m)
    } else {
        piecewise::move_s(axis, speed_m_s, route.y0_m, route.y1_m)
    };
    // Before the move that is the velocity the reversal takes away, after it the one it leaves.
    let against_move_m_s = -route.direction * speed_m_s;
    route.assemble(speed_m_s, move_s, |y_m, _| turnaround_s(axis, y_m, against_move_m_s))
}
