//! Decomposed Y seeks: reversals at constant force before and after an exact move (DiskSim 4.0; Griffin et al.,
//! SIGMETRICS 2000).
//!
//! A sled at rest has no reversal to decompose: its seek is the exact one-switch move of
//! [`SeekModel::TimeOptimal`](super::SeekModel::TimeOptimal).
//!
//! Where DiskSim differs: it moves in eight chunks per phase, which takes 2 to 4 µs longer on average with a spring
//! factor of 0.75 and up to 20 µs; and for the reversal after a move it asks whether the sled moves inwards or outwards
//! once it has turned, so there the spring acts with the wrong sign. Here a reversal always goes by the velocity that it
//! takes away, without which it could be faster than the actuator allows. Without springs neither difference exists.

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
