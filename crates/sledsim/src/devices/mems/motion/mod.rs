//! Motion of a MEMS sled: times between states of position and velocity.
//!
//! The axes move independently. On each of them `x'' = u − κ x` with `|u| ≤ a`: the actuator's acceleration against
//! springs that pull it back to the centre of travel (`κ = spring · a / (range / 2)`). Everything here is a pure function
//! of positions in metres from the centre of travel and speeds in m/s; transcendental functions come from `libm` or are made
//! of plain arithmetic, so the same inputs give the same bits on every platform.
//!
//! | here | Griffin et al. 1999, section 4.1 | meaning |
//! | --- | --- | --- |
//! | `accel_m_s2` | `a_x`, `a_y` | acceleration by the actuator |
//! | `speed_m_s` | `v_access` | speed at which media pass the tips |
//! | `settle_s` | `time_settle`, equation 3 | damping after an X move |
//! | `turnaround_s` | `time_turnaround`, equation 5 | reversal of direction (there without springs) |
//! | `kappa`, `omega` | – | stiffness per mass `κ`, and `ω = √κ` |
//!
//! # One switch
//!
//! Under constant force the sled runs on a circle about `±a/κ` in the plane of `x` and `x'/ω`, and the chord between two
//! of its states gives the time without subtracting nearly equal angles:
//! `tan(ω t / 2) = ω (x₂ − x₁) / (v₁ + v₂) = ω (v₂ − v₁) / (2u − κ (x₁ + x₂))`.
//! A move at full force one way, then the other, switches where the energies meet. With half distance `h` and
//! `σ = κ (x₀ + x₁) / (2a)` the switch lies `h (1 + σ)` from the start and `h (1 − σ)` from the end, seen in the
//! direction of the move. All forms stay accurate as `κ → 0`, where they become those of constant acceleration.
//!
//! # Bounds of travel
//!
//! Positions given lie within the travel (`|x| ≤ range / 2`). In between the sled leaves the span between start and end
//! only to turn round, by at most [`run_out_m`] at that place; the reach `y + run_out_m(y)` grows with `y`, so no seek
//! goes further out than a reversal at the edge of travel does.

mod arc_tangent;
mod constant_force;
mod decomposed;
mod first_order;
mod path;
mod piecewise;
mod time_optimal;

pub use constant_force::{exact_turnaround_s, run_out_m};
pub use decomposed::turnaround_s;
pub use path::{x_path, y_path};
pub use time_optimal::{time_optimal_profile, Profile};

use core::fmt;
use core::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use arc_tangent::arc_tangent;
use constant_force::Dynamics;

/// Model of the time of a Y seek.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeekModel {
    /// No springs: constant acceleration, and `2v/a` for each reversal (Griffin et al. 1999, equations 4 and 5).
    FirstOrder,
    /// Springs as in DiskSim 4.0: a move in pieces of constant force, between reversals at constant force.
    Decomposed,
    /// Springs: the shortest time of any force within the actuator's bound.
    #[default]
    TimeOptimal,
}

impl SeekModel {
    /// All models, in the order of increasing detail.
    pub const ALL: [Self; 3] = [Self::FirstOrder, Self::Decomposed, Self::TimeOptimal];

    /// Returns the name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstOrder => "first-order",
            Self::Decomposed => "decomposed",
            Self::TimeOptimal => "time-optimal",
        }
    }
}

impl fmt::Display for SeekModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a [`SeekModel`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown seek model `{0}`: expected first-order, decomposed or time-optimal")]
pub struct UnknownSeekModel(pub String);

impl FromStr for SeekModel {
    type Err = UnknownSeekModel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| UnknownSeekModel(name.to_owned()))
    }
}

/// One axis of a sled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Acceleration by the actuator in m/s², above 0.
    pub accel_m_s2: f64,
    /// Fraction of the actuator's force with which the springs pull back at full displacement: from 0 (no springs) to
    /// below 1.
    pub spring: f64,
    /// Full travel in metres, above 0: positions lie within half of it on either side of the centre.
    pub range_m: f64,
}

impl Axis {
    /// Returns the stiffness of the springs per mass of the sled, `κ`, in 1/s².
    #[inline]
    #[must_use]
    pub fn kappa(&self) -> f64 {
        self.spring * self.accel_m_s2 / (0.5 * self.range_m)
    }

    /// Returns true if a sled at rest anywhere in its travel can reach `speed_m_s` at any other position with one switch of force, and so
    /// within the bounds of travel.
    ///
    /// The two circles of such a move meet if `(3 + x₀/c)² ≥ (1 − x₁/c)² + κ v²/a²` with `c = a/κ`; the worst case is
    /// start and end at one edge. Published devices stay below a hundredth of the limit. [`y_seek`] from rest at a place
    /// from which the speed is out of reach is infinite; a move that starts at speed needs no such condition.
    #[must_use]
    pub fn starts_to(&self, speed_m_s: f64) -> bool {
        let a = self.accel_m_s2;
        self.kappa() * speed_m_s * speed_m_s <= 8.0 * (1.0 - self.spring) * a * a
    }
}

/// Duration of a seek along Y, and the part spent in reversals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YSeek {
    /// Time of the whole seek in seconds.
    pub time_s: f64,
    /// Part of `time_s` spent in reversals, in seconds: from passing a position at access speed to passing it at access speed in the other
    /// direction. 0 for a start from rest.
    pub turnaround_s: f64,
    /// Number of reversals in `turnaround_s`: 0, 1 or 2.
    pub turnarounds: u32,
}

/// Returns the time in seconds of an exact move from rest at `x0_m` to rest at `x1_m`, without settling; see [`RestToRest`].
#[inline]
#[must_use]
pub fn rest_to_rest_s(axis: &Axis, x0_m: f64, x1_m: f64) -> f64 {
    RestToRest::on(axis).time_s(x0_m, x1_m)
}

/// Exact moves from rest to rest along an axis.
///
/// Full force towards the target, switched once: `tan(ω T / 2) = (ω / a) √(h (2a + κ h) / (1 − σ²))` (symbols in the
/// [module](self) documentation), and `2 √(|Δx| / a)` without springs (Griffin et al. 1999, equation 2).
#[derive(Clone, Copy, Debug)]
pub struct RestToRest {
    a: f64,
    kappa: f64,
    /// `ω / a`.
    omega_per_a: f64,
    /// `2 / ω`.
    two_per_omega: f64,
}

impl RestToRest {
    /// Returns the moves along an axis.
    #[inline]
    #[must_use]
    pub fn on(axis: &Axis) -> Self {
        let (a, kappa) = (axis.accel_m_s2, axis.kappa());
        let omega = kappa.sqrt();
        Self { a, kappa, omega_per_a: omega / a, two_per_omega: 2.0 / omega }
    }

    /// Returns the time in seconds, without settling.
    #[inline]
    #[must_use]
    pub fn time_s(&self, x0_m: f64, x1_m: f64) -> f64 {
        let Self { a, kappa, .. } = *self;
        let distance_m = (x1_m - x0_m).abs();
        if kappa == 0.0 {
            return 2.0 * (distance_m / a).sqrt();
        }
        let half_m = 0.5 * distance_m;
        let sigma = 0.5 * kappa * (x0_m + x1_m) / a;
        let tangent = self.omega_per_a * (half_m * (2.0 * a + kappa * half_m) / (1.0 - sigma * sigma)).sqrt();
        self.two_per_omega * arc_tangent(tangent)
    }
}

/// Returns the time in seconds of a move along X from rest at `x0_m` to rest at `x1_m`, without settling: exact, except in the
/// *decomposed* model, which integrates it like DiskSim.
#[inline]
#[must_use]
pub fn x_move_s(model: SeekModel, axis: &Axis, x0_m: f64, x1_m: f64) -> f64 {
    if moves_exactly(model, axis) {
        rest_to_rest_s(axis, x0_m, x1_m)
    } else {
        piecewise::move_s(axis, 0.0, x0_m, x1_m)
    }
}

/// Returns true if `model` has exact moves along X, see [`x_move_s`].
#[inline]
#[must_use]
pub fn moves_exactly(model: SeekModel, axis: &Axis) -> bool {
    model != SeekModel::Decomposed || axis.spring == 0.0
}

/// Returns a lower bound in seconds on [`x_move_s`] that never falls as the distance from `x0_m` grows.
#[inline]
#[must_use]
pub fn x_move_bound_s(model: SeekModel, axis: &Axis, x0_m: f64, x1_m: f64) -> f64 {
    if moves_exactly(model, axis) {
        rest_to_rest_s(axis, x0_m, x1_m)
    } else {
        piecewise::rest_to_rest_bound_s(axis, x0_m, x1_m)
    }
}

/// Returns the settling time in seconds after an X move of at least one cylinder: `constants / (2 π f)` with the sled's resonance `f` in Hz
/// (Griffin et al. 1999, equation 3).
#[inline]
#[must_use]
pub fn settle_s(constants: f64, resonance_hz: f64) -> f64 {
    constants / (2.0 * core::f64::consts::PI * resonance_hz)
}

/// Returns the seek along Y from `y0_m` to `y1_m`, where it arrives at the access speed.
///
/// `speed_m_s` is the access speed `v` > 0. Of `v0_m_s` (`+v`, `−v`, or 0 for a sled at rest) and `v1_m_s` (`+v` or `−v`) only the sign
/// counts. A seek to the current state takes no time, but one to a position slightly behind takes two reversals. Positions of adjacent rows
/// therefore have to come from the same arithmetic.
#[inline]
#[must_use]
pub fn y_seek(model: SeekModel, axis: &Axis, speed_m_s: f64, y0_m: f64, v0_m_s: f64, y1_m: f64, v1_m_s: f64) -> YSeek {
    if v0_m_s == 0.0 {
        let time_s = match model {
            SeekModel::FirstOrder => first_order::from_rest_s(axis, speed_m_s, y0_m, y1_m, v1_m_s),
            SeekModel::Decomposed | SeekModel::TimeOptimal => {
                time_optimal::from_rest(&Dynamics::of(axis), speed_m_s, y0_m, y1_m, v1_m_s).total_s()
            }
        };
        return YSeek { time_s, turnaround_s: 0.0, turnarounds: 0 };
    }
    let route = Route::between(y0_m, v0_m_s, y1_m, v1_m_s);
    match model {
        SeekModel::FirstOrder => first_order::seek(axis, speed_m_s, &route),
        SeekModel::Decomposed => decomposed::seek(axis, speed_m_s, &route),
        SeekModel::TimeOptimal => time_optimal::seek(axis, speed_m_s, &route),
    }
}

/// The move between two passes at access speed, and the reversals that it needs.
#[derive(Clone, Copy, Debug)]
struct Route {
    y0_m: f64,
    y1_m: f64,
    /// +1 or −1: direction of the move between the reversals.
    direction: f64,
    /// True if the sled moves in the wrong direction at the start, and reverses before the move.
    reverses_before: bool,
    /// True if the sled moves in the wrong direction at the end, and reverses after the move.
    reverses_after: bool,
}

impl Route {
    #[inline]
    fn between(y0_m: f64, v0_m_s: f64, y1_m: f64, v1_m_s: f64) -> Self {
        let distance_m = y1_m - y0_m;
        // Without a distance only the direction at the end counts.
        let direction = (if distance_m == 0.0 { v1_m_s } else { distance_m }).signum();
        Self {
            y0_m,
            y1_m,
            direction,
            reverses_before: v0_m_s.signum() != direction,
            reverses_after: v1_m_s.signum() != direction,
        }
    }

    /// Returns the seek, given the time of the move and the model's time of a reversal by position and incoming velocity.
    #[inline]
    fn assemble(&self, speed_m_s: f64, move_s: f64, reversal_s: impl Fn(f64, f64) -> f64) -> YSeek {
        let (mut turnaround_s, mut turnarounds) = (0.0, 0);
        if self.reverses_before {
            turnaround_s += reversal_s(self.y0_m, -self.direction * speed_m_s);
            turnarounds += 1;
        }
        if self.reverses_after {
            turnaround_s += reversal_s(self.y1_m, self.direction * speed_m_s);
            turnarounds += 1;
        }
        YSeek { time_s: move_s + turnaround_s, turnaround_s, turnarounds }
    }
}
