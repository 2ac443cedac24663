//! Time-optimal Y seeks: the shortest time under `|u| ≤ a`.
//!
//! Of the paths with one switch of force, the fastest is the one whose first force points in the direction of the move. The force of a reversal
//! points in that direction, too, before or after the move. So a seek that starts at access speed consists of exact reversals and an exact move
//! between them, divided where it passes its start or its end at access speed. It differs from the decomposed model only in the reversals, and
//! never exceeds that model with the physical sign of the springs (see [`exact_turnaround_s`](super::exact_turnaround_s)).
//!
//! A test verifies that no other force is faster, with any number of switches: it separates the target from all states that can be reached
//! sooner.

use super::constant_force::Dynamics;
use super::{Axis, Route, YSeek};

/// The force of a time-optimal seek: full force one way, then full force the other way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// +1 or −1: direction of the first force along the axis. The second is the opposite.
    pub first_force_sign: f64,
    /// Duration of the first force in seconds.
    pub first_s: f64,
    /// Duration of the second force in seconds.
    pub second_s: f64,
}

impl Profile {
    /// Returns the time of the seek in seconds.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.first_s + self.second_s
    }
}

/// Returns the force profile of the time-optimal seek; arguments as for [`y_seek`](super::y_seek). Both durations are infinite if the access
/// speed can't be reached from rest ([`Axis::starts_to`]).
#[must_use]
pub fn time_optimal_profile(axis: &Axis, speed_m_s: f64, y0_m: f64, v0_m_s: f64, y1_m: f64, v1_m_s: f64) -> Profile {
    let dynamics = Dynamics::of(axis);
    if v0_m_s == 0.0 {
        return from_rest(&dynamics, speed_m_s, y0_m, y1_m, v1_m_s);
    }
    let route = Route::between(y0_m, v0_m_s, y1_m, v1_m_s);
    let switch = dynamics.passing_switch(speed_m_s, y0_m, y1_m);
    let skew = route.direction * switch.sigma;
    let mut first_s = dynamics.arc_s(switch.half_m * (1.0 + skew) / switch.sum_m_s);
    let mut second_s = dynamics.arc_s(switch.half_m * (1.0 - skew) / switch.sum_m_s);
    if route.reverses_before {
        first_s += dynamics.reversal_s(y0_m, -route.direction * speed_m_s);
    }
    if route.reverses_after {
        second_s += dynamics.reversal_s(y1_m, route.direction * speed_m_s);
    }
    Profile { first_force_sign: route.direction, first_s, second_s }
}

/// Returns a seek that starts at access speed.
#[inline]
pub(super) fn seek(axis: &Axis, speed_m_s: f64, route: &Route) -> YSeek {
    let dynamics = Dynamics::of(axis);
    let move_s = dynamics.passing_move_s(speed_m_s, route.y0_m, route.y1_m);
    route.assemble(speed_m_s, move_s, |y_m, v_m_s| dynamics.reversal_s(y_m, v_m_s))
}

/// Returns a seek from rest: a direct move if the distance suffices to gain the speed, otherwise one that begins backwards.
///
/// Positions are along the direction of arrival. `D = h (1 − σ) − v²/(4a)` is the length of the second force in a direct move, and minus the
/// length of the first in a move that begins backwards.
pub(super) fn from_rest(dynamics: &Dynamics, speed_m_s: f64, y0_m: f64, y1_m: f64, v1_m_s: f64) -> Profile {
    let Dynamics { a, kappa, .. } = *dynamics;
    let arrival = v1_m_s.signum();
    let (x0, x1) = (arrival * y0_m, arrival * y1_m);
    let v = speed_m_s;
    let half_m = 0.5 * (x1 - x0);
    let sigma = 0.5 * kappa * (x0 + x1) / a;
    let run_up_m = 0.25 * v * v / a;
    let margin_m = half_m * (1.0 - sigma) - run_up_m;
    if margin_m >= 0.0 {
        let peak_m_s = (v * v + margin_m * (2.0 * a + kappa * (2.0 * x1 - margin_m))).sqrt();
        return Profile {
            first_force_sign: arrival,
            first_s: dynamics.arc_s((half_m * (1.0 + sigma) + run_up_m) / peak_m_s),
            second_s: dynamics.arc_s(margin_m / (v + peak_m_s)),
        };
    }
    let back_m = -margin_m;
    let peak_square = back_m * (2.0 * a + kappa * (2.0 * x0 - back_m));
    if peak_square <= 0.0 {
        // The springs stop the sled before it is far enough back.
        return Profile { first_force_sign: -arrival, first_s: f64::INFINITY, second_s: f64::INFINITY };
    }
    let peak_m_s = peak_square.sqrt();
    Profile {
        first_force_sign: -arrival,
        first_s: dynamics.arc_s(back_m / peak_m_s),
        second_s: dynamics.arc_s((v + peak_m_s) / (2.0 * a - kappa * (x0 - back_m + x1))),
    }
}
