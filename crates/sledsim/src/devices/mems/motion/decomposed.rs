//! Decomposed Y seeks: reversals at constant force before and after an exact move (DiskSim 4.0; Griffin et al.,
//! SIGMETRICS 2000).
//!
//! A sled at rest has no reversal to decompose: its seek is the exact one-switch move of
//! [`SeekModel::TimeOptimal`](super::SeekModel::TimeOptimal).

use super::constant_force::Dynamics;
use super::{Axis, Route, YSeek};

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
    let move_s = Dynamics::of(axis).passing_move_s(speed_m_s, route.y0_m, route.y1_m);
    route.assemble(speed_m_s, move_s, |y_m, v_m_s| turnaround_s(axis, y_m, v_m_s))
}
