//! Decomposed Y seeks: reversals at constant force before and after a move (DiskSim 4.0; Griffin et al.,
//! SIGMETRICS 2000).
//!
//! A sled at rest has no reversal to decompose: its seek is the exact one-switch move of
//! [`SeekModel::TimeOptimal`](super::SeekModel::TimeOptimal).
//!
//! The reversal after a move has the sign of DiskSim, that of the velocity at which the sled leaves: there the springs act
//! with the sign opposite to the physical one, so that with springs a seek can come out shorter than the actuator
//! allows (docs/reference/validation.md has the figures). With the physical sign, mean responses differ from those of DiskSim's g1
//! by 0.6 to 0.9 %. With springs, moves are integrated as in DiskSim ([`piecewise`](super::piecewise)).

use super::constant_force::Dynamics;
use super::{piecewise, Axis, Route, YSeek};

/// Returns the time in seconds of a reversal at `y_m` with velocity `v_m_s`, with the force at that position as a constant:
/// `2|v| / (a ± spring · a · |y| / (range/2))`, with plus if the sled moves outwards, minus if it moves inwards.
#[inline]
#[must_use]
pub fn turnaround_s(axis: &Axis, y_m: f64, v_m_s: f64) -> f64 {
    2.0 * v_m_s.abs() / (axis.accel_m_s2 + axis.kappa() * y_m * v_m_s.signum())
}

/// Returns a seek that starts at access speed.
#[inline]
pub(super) fn seek(axis: &Axis, speed_m_s: f64, route: &Route) -> YSeek {
    let move_s = if axis.spring == 0.0 {
        Dynamics::of(axis).passing_move_s(speed_m_s, route.y0_m, route.y1_m)
    } else {
        piecewise::move_s(axis, speed_m_s, route.y0_m, route.y1_m)
    };
    // For a reversal before the move this is its initial velocity, for one after the move its final one.
    let against_move_m_s = -route.direction * speed_m_s;
    route.assemble(speed_m_s, move_s, |y_m, _| turnaround_s(axis, y_m, against_move_m_s))
}
