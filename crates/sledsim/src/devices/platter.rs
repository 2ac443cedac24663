//! The rotation of a platter and the seek times of an arm, as far as they bound positioning times.

use crate::convert::{to_u32, to_u64};

/// The platter at an instant: gives a lower bound, to within a few nanoseconds, on the time until an angle passes under a head.
///
/// Angles are fractions of a revolution in units of 2^-64, counted from any fixed mark in the order in which they pass under a
/// head. [`super::Rotating::angle`] gives the angle of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platter {
    revolution_ns: u64,
    angle: u64,
    /// Angle of a nanosecond, rounded down.
    turn_per_ns: u64,
    /// Time from now, ns, for which angle errors are well below a sixty-fourth of a revolution.
    precise_ns: u64,
}

impl Platter {
    /// Greatest error, ns, of the angles of the platter and a location and of the instants that the device rounds to whole
    /// nanoseconds, taken together.
    const TOLERANCE_NS: u64 = 2;
    /// Revolutions after which a time does not give an angle, because each adds the error of a rounded revolution.
    const PRECISE_REVOLUTIONS: u64 = 8;
    /// Shortest revolution, ns, of which a time gives an angle: a sixty-fourth is 64 ns.
    const PRECISE_REVOLUTION_NS: u64 = 1 << 12;
    /// Longest one: the angle of [`Self::PRECISE_REVOLUTIONS`] is too small by less than a nanosecond.
    const PRECISE_REVOLUTION_MOST_NS: u64 = 1 << 30;
    /// Greatest error, ns, of such an angle.
    const PRECISE_ERROR_NS: u64 = Self::TOLERANCE_NS + Self::PRECISE_REVOLUTIONS;

    /// A platter that has `angle` under a head now, and each angle again after `revolution_ns` (rounded down). With several arms
    /// a revolution is the time from one arm to the next. `None` if the revolution is too short compared with the tolerance.
    #[must_use]
    pub const fn new(revolution_ns: u64, angle: u64) -> Option<Self> {
        if revolution_ns <= 4 * Self::TOLERANCE_NS {
            return None;
        }
        let turn_per_ns = u64::MAX / revolution_ns;
        let is_precise =
            revolution_ns >= Self::PRECISE_REVOLUTION_NS && revolution_ns <= Self::PRECISE_REVOLUTION_MOST_NS;
        let precise_ns = if is_precise { revolution_ns * Self::PRECISE_REVOLUTIONS } else { 0 };
        Some(Self { revolution_ns, angle, turn_per_ns, precise_ns })
    }

    /// Returns the sixty-fourth of a revolution that an angle lies in, as a single bit.
    #[inline]
    #[must_use]
    pub const fn sixty_fourth(angle: u64) -> u64 {
        1 << (angle >> 58)
    }

    /// Returns a mask of sixty-fourths of a revolution: at least those that pass under a head from `from_ns` to `to_ns` from now.
    #[inline]
    #[must_use]
    pub fn window(&self, from_ns: u64, to_ns: u64) -> u64 {
        let passing_ns = to_ns.saturating_sub(from_ns);
        if passing_ns >= self.revolution_ns || to_ns >= self.precise_ns {
            return u64::MAX;
        }
        let first = self.angle.wrapping_add(from_ns.wrapping_mul(self.turn_per_ns)) >> 58;
        // At each end a part of a sixty-fourth, and one for the error of the angle.
        let count = ((passing_ns * self.turn_per_ns) >> 58) + 4;
        match 1_u64.checked_shl(to_u32(count)) {
            Some(end) => (end - 1).rotate_left(to_u32(first)).rotate_right(1),
            None => u64::MAX,
        }
    }

    /// Returns `part / whole` in units of 2^-64; `part` is below `whole`.
    #[must_use]
    pub fn fraction(part: u64, whole: u64) -> u64 {
        to_u64((u128::from(part) << 64) / u128::from(whole))
    }

    /// Returns a lower bound on the time until `angle` passes under a head that is on its track `on_track_ns` from now or later.
    #[inline]
    #[must_use]
    pub fn passes_ns(&self, angle: u64, on_track_ns: u64) -> u64 {
        if on_track_ns < self.precise_ns {
            let turned = on_track_ns.wrapping_mul(self.turn_per_ns);
            let wait_ns = self.wait_ns(angle.wrapping_sub(turned), Self::PRECISE_ERROR_NS);
            return on_track_ns + wait_ns.saturating_sub(Self::PRECISE_ERROR_NS + Self::TOLERANCE_NS + 1);
        }
        let first_ns = self.wait_ns(angle, Self::TOLERANCE_NS);
        let latest_ns = first_ns + Self::TOLERANCE_NS;
        // Rounded down, a revolution is too short by less than a nanosecond.
        let revolutions = match on_track_ns.saturating_sub(latest_ns) {
            0 => 0,
            late_ns => late_ns.div_ceil(self.revolution_ns + 1),
        };
        let passes_ns = first_ns + revolutions * self.revolution_ns;
        on_track_ns.max(passes_ns.saturating_sub(2 * Self::TOLERANCE_NS + 1))
    }

    /// Returns the time until `angle` passes, plus `error_ns`: an angle that is just passing does not count as one that has just passed.
    #[inline]
    fn wait_ns(&self, angle: u64, error_ns: u64) -> u64 {
        let ahead = angle.wrapping_sub(self.angle).wrapping_add(self.turn_per_ns.wrapping_mul(error_ns));
        ((u128::from(ahead) * u128::from(self.revolution_ns)) >> 64) as u64
    }
}

/// The bounds on positioning times of all cylinders at an instant.
#[derive(Clone, Copy, Debug)]
pub struct CylinderBounds<'a> {
    /// Bound of the arm's own cylinder, ns.
    pub(super) least_ns: u64,
    /// Cylinder of the arm.
    pub(super) cylinder: u32,
    /// Part of each seek time that a request may not need, ns.
    pub(super) spare_ns: u64,
    /// Shortest seek time of each distance on the device and all greater ones, ns.
    pub(super) seeks_ns: &'a [u32],
}

impl CylinderBounds<'_> {
    /// Returns the cylinder of the arm.
    #[must_use]
    pub const fn cylinder(&self) -> u32 {
        self.cylinder
    }

    /// Returns the bound of a cylinder, ns.
    #[inline]
    #[must_use]
    pub fn bound_ns(&self, cylinder: u32) -> u64 {
        let seek_ns = self.seeks_ns[self.cylinder.abs_diff(cylinder) as usize];
        self.least_ns + u64::from(seek_ns).saturating_sub(self.spare_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against exact rational arithmetic: a revolution of `numerator / denominator` ns, sectors on it, whole nanoseconds.
        #[test]
        fn passes_ns_is_a_tight_lower_bound(
            (numerator, denominator) in (60_000_u64..60_000_000_000, 1_u64..1_000),
            sectors in 1_u64..2_000,
            sector in any::<u64>(),
            (now_ns, passing) in (0_u64..1 << 50, any::<bool>()),
            on_track_ns in prop_oneof![Just(0), 0_u64..30_000_000, 0_u64..100_000_000_000],
        ) {
            let (sector, sectors) = (u128::from(sector % sectors), u128::from(sectors));
            let (numerator, denominator) = (u128::from(numerator), u128::from(denominator));
            // In units of 1 / (denominator * sectors) ns.
            let unit = denominator * sectors;
            let revolution = numerator * sectors;
            let phase = sector * numerator;
            // Half of the time, an instant at which the sector is just passing.
            let passed = (u128::from(now_ns) * unit).saturating_sub(phase) / revolution * revolution + phase;
            let now_ns = if passing { (passed / unit) as u64 + now_ns % 3 } else { now_ns };
            let on_track = u128::from(now_ns + on_track_ns) * unit;
            let passes = phase + on_track.saturating_sub(phase).div_ceil(revolution) * revolution;
            let exact_ns = (passes.div_ceil(unit) - u128::from(now_ns)) as u64;
            let turned = u128::from(now_ns) * unit % revolution;
            let angle = |part: u128| Platter::fraction(part as u64, revolution as u64);
            let revolution_ns = (numerator / denominator) as u64;
            let bound_ns = Platter::new(revolution_ns, angle(turned)).expect("long enough").passes_ns(angle(phase), on_track_ns);
            prop_assert!(bound_ns <= exact_ns, "{} after {}", bound_ns, exact_ns);
            let platter = Platter::new(revolution_ns, angle(turned)).expect("long enough");
            let bit = Platter::sixty_fourth(angle(phase));
            for (from_ns, to_ns) in [(on_track_ns, exact_ns), (exact_ns, exact_ns), (0, exact_ns + 1_000_000)] {
                prop_assert!(platter.window(from_ns, to_ns) & bit != 0, "{} passes from {} to {}", bit, from_ns, to_ns);
            }
            prop_assert!(!(1 << 12..1 << 30).contains(&revolution_ns) || on_track_ns > 4 * revolution_ns || platter.window(on_track_ns, on_track_ns).count_ones() == 4);
            // Each whole revolution in between is rounded down by less than a nanosecond.
            let early_ns = 2 * Platter::PRECISE_ERROR_NS + 2 + on_track_ns / revolution_ns + 1;
            let just_missed = exact_ns < on_track_ns + revolution_ns + early_ns && exact_ns + early_ns > on_track_ns + revolution_ns;
            prop_assert!(bound_ns + early_ns >= exact_ns || just_missed, "{} before {}", bound_ns, exact_ns);
        }
    }
}
