//! The platters' rotation.
//!
//! The angle is a function of absolute time, 0 at time 0, in units of 2^-64 of a revolution. A revolution takes `60e9 / rpm` ns, which
//! has no finite binary form. The angle at `t` ns is `t * f` with `f`, the revolutions in a nanosecond, in 128 binary places; whole
//! revolutions overflow. `f` is too small by less than 2^-128, so the angle is too small by less than 2^-63 of a revolution after the
//! 2^64 ns that a run can last.

use super::{DiskParameters, RotationModel};
use crate::convert::trunc_to_u64;
use crate::fault::Fault;

/// Nanoseconds in a minute.
const NS_PER_MINUTE: u128 = 60_000_000_000;

/// Binary places of the period in ns.
const PERIOD_PLACES: u32 = 26;

/// An angle in units of 2^-64 of a revolution.
pub type Angle = u64;

/// A spindle that turns at constant speed.
#[derive(Clone, Copy, Debug)]
pub struct Spindle {
    /// Revolutions in a nanosecond, in units of 2^-128.
    turn_per_ns: u128,
    /// Time of a revolution, in units of 2^-26 ns.
    period: u64,
    /// Angle of half a nanosecond.
    half_ns: Angle,
    /// Half a revolution, if every wait takes that.
    average_wait_ns: Option<u64>,
}

impl Spindle {
    /// Returns the spindle of a drive: `rotation_rpm * (1 + rotation_error_percent / 100)` revolutions in a minute.
    ///
    /// # Errors
    /// The speed is outside 0.5 to 1.5 million rpm.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        let rpm = parameters.rotation_rpm * (1.0 + parameters.rotation_error_percent / 100.0);
        if !(0.5..=1.5e6).contains(&rpm) {
            return Err(Fault::conflict("rotation_rpm", parameters.rotation_rpm)
                .says(", ")
                .key_is("rotation_error_percent", parameters.rotation_error_percent)
                .says(": from 0.5 to 1.5 million rpm"));
        }
        let turn_per_ns = ratio(rpm, NS_PER_MINUTE);
        // Rounded to the nearest. The speed range keeps the period within 2^37 ns.
        let period = trunc_to_u64(60e9 / rpm * f64::from(1u32 << PERIOD_PLACES) + 0.5);
        Ok(Self {
            turn_per_ns,
            period,
            half_ns: (turn_per_ns >> 65) as u64,
            average_wait_ns: match parameters.rotation {
                RotationModel::Phase => None,
                RotationModel::Average => Some(period >> (PERIOD_PLACES + 1)),
            },
        })
    }

    /// Returns the time of a revolution, ns.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        self.time_ns(1 << 64)
    }

    /// Returns the time of a revolution divided by `parts`, ns, rounded down.
    #[must_use]
    pub fn part_ns(&self, parts: u32) -> u64 {
        (self.period / u64::from(parts)) >> PERIOD_PLACES
    }

    /// Returns true if waits follow from the angle; otherwise each takes half a revolution.
    #[inline]
    #[must_use]
    pub fn keeps_phase(&self) -> bool {
        self.average_wait_ns.is_none()
    }

    /// Returns the angle of half a nanosecond, the greatest error of an instant that is rounded to a nanosecond.
    #[inline]
    #[must_use]
    pub fn half_ns(&self) -> Angle {
        self.half_ns
    }

    /// Returns the angle that is under a head at angle 0, `ns` after the start of the run.
    #[inline]
    #[must_use]
    pub fn angle(&self, ns: u64) -> Angle {
        (u128::from(ns).wrapping_mul(self.turn_per_ns) >> 64) as u64
    }

    /// Returns the time of an angle of up to a few revolutions (in units of 2^-64), to the nearest nanosecond.
    #[inline]
    #[must_use]
    pub fn time_ns(&self, turn: u128) -> u64 {
        debug_assert!(turn < 1 << 72, "{turn} is more than 256 revolutions");
        // The product of an angle and the period could exceed 128 bits, so the lowest eight bits of the angle are dropped.
        let turn = (turn >> 8) & u128::from(u64::MAX);
        ((turn * u128::from(self.period) + (1 << (PERIOD_PLACES + 55))) >> (PERIOD_PLACES + 56)) as u64
    }

    /// Returns the time from `ns` after the start of the run until `angle` comes under the head at angle 0.
    ///
    /// Instants are rounded to the nearest nanosecond, so the wait for an angle that passed less than half a nanosecond ago is 0.
    #[inline]
    #[must_use]
    pub fn wait_ns(&self, ns: u64, angle: Angle) -> u64 {
        if let Some(wait_ns) = self.average_wait_ns {
            return wait_ns;
        }
        let turn = angle.wrapping_sub(self.angle(ns)).wrapping_add(self.half_ns);
        ((u128::from(turn) * u128::from(self.period)) >> (PERIOD_PLACES + 64)) as u64
    }

    /// Returns the time from `ns`, the rounded instant at which `angle` is under the head, until an angle of `turn` has passed, to the nearest
    /// nanosecond.
    #[inline]
    #[must_use]
    pub fn pass_ns(&self, ns: u64, angle: Angle, turn: u128) -> u64 {
        if self.average_wait_ns.is_some() {
            return self.time_ns(turn);
        }
        // The angle by which the rounded instant is early (positive) or late.
        let ahead = angle.wrapping_sub(self.angle(ns)) as i64;
        self.time_ns(turn.saturating_add_signed(i128::from(ahead)))
    }
}

/// Returns `value / divisor` in 128 binary places, rounded down. `value` is a normal number of at least 2^-75, and the quotient is
/// below 1.
fn ratio(value: f64, divisor: u128) -> u128 {
    // value = mantissa * 2^exponent, exactly.
    let bits = value.to_bits();
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    let exponent = (bits >> 52) as i32 - 1075;
    let mut quotient = mantissa / divisor;
    let mut remainder = mantissa % divisor;
    for _ in 0..128 + exponent {
        remainder <<= 1;
        quotient = (quotient << 1) | u128::from(remainder >= divisor);
        if remainder >= divisor {
            remainder -= divisor;
        }
    }
    quotient
}
