//! First-order Y seeks: constant acceleration, no springs (Griffin et al. 1999, equations 4 and 5).

use super::constant_force::Dynamics;
use super::{time_optimal, Axis, Route, YSeek};

/// Returns a seek that starts at access speed: `2 (−v + √(v² + a |Δy|)) / a`, and `2v/a` for each reversal.
#[inline]
pub(super) fn seek(axis: &Axis, speed_m_s: f64, route: &Route) -> YSeek {
    let a = axis.accel_m_s2;
    let distance_m = (route.y1_m - route.y0_m).abs();
    // The published difference −v + √(v² + a|Δy|), written without cancellation for short distances.
    let move_s = 2.0 * distance_m / (speed_m_s + (speed_m_s * speed_m_s + a * distance_m).sqrt());
    route.assemble(speed_m_s, move_s, |_, _| 2.0 * speed_m_s / a)
}

/// Returns the time of a seek from rest, which the paper does not define: the exact one-switch move of a sled without springs.
pub(super) fn from_rest_s(axis: &Axis, speed_m_s: f64, y0_m: f64, y1_m: f64, v1_m_s: f64) -> f64 {
    let free = Dynamics::of(&Axis { spring: 0.0, ..*axis });
    time_optimal::from_rest(&free, speed_m_s, y0_m, y1_m, v1_m_s).total_s()
}
