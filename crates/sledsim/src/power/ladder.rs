//! The ladder of idle modes of a device, from the ready mode to the one with the least power.

use crate::fault::{Fault, Kind};
use crate::service::MODES;

/// An idle mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// Its name in reports.
    pub name: String,
    /// Power, W.
    pub power_w: f64,
    /// Idle time after which the device enters it without a policy; `None` for never, 0 for the ready mode.
    pub after_ns: Option<u64>,
    /// Time of the return to the ready mode.
    pub wake_ns: u64,
    /// Power during the return, W.
    pub wake_w: f64,
}

/// The idle modes of a device, the ready one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    modes: Vec<Mode>,
    /// Power of each mode above that of the lowest mode, W.
    above_w: [f64; MODES],
    /// Energy of the return from each mode above that of the lowest mode, J; 0 if the return draws less.
    return_j: [f64; MODES],
}

impl Ladder {
    /// A ladder of modes of descending power.
    ///
    /// # Errors
    /// There are no modes or more than [`MODES`], the first is not a ready mode, or a mode has more power than the one before it or is
    /// entered before it.
    pub fn new(modes: Vec<Mode>) -> Result<Self, Fault> {
        for pair in modes.windows(2) {
            let (upper, lower) = (&pair[0], &pair[1]);
            if lower.power_w > upper.power_w {
                let says = format!(": {:?} takes more power than {:?}, the mode above it", lower.name, upper.name);
                return Err(Fault::at(Kind::Conflict, "idle_modes").says(says));
            }
        }
        Self::of_any_power(modes)
    }

    /// A ladder whose lower modes may have more power than those above them. No policy can save energy then, but the device still
    /// enters the modes after its timeouts.
    ///
    /// # Errors
    /// Those of [`Ladder::new`], except for powers.
    pub fn of_any_power(modes: Vec<Mode>) -> Result<Self, Fault> {
        let Some(ready) = modes.first() else {
            return Err(Fault::at(Kind::Conflict, "idle_modes").says(": a device has at least one idle mode"));
        };
        if modes.len() > MODES {
            let says = format!(": {} idle modes: at most {MODES} are possible", modes.len());
            return Err(Fault::at(Kind::Conflict, "idle_modes").says(says));
        }
        if ready.wake_ns > 0 || ready.after_ns != Some(0) {
            let says =
                format!(": {:?}, the first idle mode, must be entered at once and take no time to leave", ready.name);
            return Err(Fault::at(Kind::Conflict, "idle_modes").says(says));
        }
        for pair in modes.windows(2) {
            let (upper, lower) = (&pair[0], &pair[1]);
            let (after, before) = (lower.after_ns.unwrap_or(u64::MAX), upper.after_ns.unwrap_or(u64::MAX));
            if after < before {
                let says = format!(": {:?} is entered before {:?}, the mode above it", lower.name, upper.name);
                return Err(Fault::at(Kind::Conflict, "idle_modes").says(says));
            }
        }
        let mut ladder = Self { modes, above_w: [0.0; MODES], return_j: [0.0; MODES] };
        ladder.update_energies();
        Ok(ladder)
    }

    /// Updates the powers and energies above those of the lowest mode.
    fn update_energies(&mut self) {
        let least_w = self.least_w();
        for (index, mode) in self.modes.iter().enumerate() {
            self.above_w[index] = mode.power_w - least_w;
            // A return that draws less than the lowest mode counts as 0 J. Otherwise the optimum with hindsight would be below the
            // energy of any device.
            self.return_j[index] = ((mode.wake_w - least_w) * mode.wake_ns as f64 * 1e-9).max(0.0);
        }
    }

    /// Sets the power of the ready mode, which can depend on the last request and stays the highest.
    pub fn set_ready_w(&mut self, power_w: f64) {
        self.modes[0].power_w = power_w;
        self.update_energies();
    }

    /// The modes.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Index of the lowest mode.
    #[inline]
    #[must_use]
    pub fn lowest(&self) -> usize {
        self.modes.len() - 1
    }

    /// The smallest power of a mode, W.
    #[must_use]
    pub fn least_w(&self) -> f64 {
        self.modes.iter().map(|mode| mode.power_w).fold(f64::INFINITY, f64::min)
    }

    /// Power of a mode above that of the lowest mode, W.
    #[inline]
    #[must_use]
    pub fn above_w(&self, mode: usize) -> f64 {
        self.above_w[mode]
    }

    /// Energy of the return from a mode above that of the lowest mode, J; at least 0.
    #[inline]
    #[must_use]
    pub fn return_j(&self, mode: usize) -> f64 {
        self.return_j[mode]
    }

    /// Energy of `idle_ns` in one mode above that of the lowest mode, J.
    #[inline]
    #[must_use]
    pub fn stay_j(&self, mode: usize, idle_ns: u64) -> f64 {
        self.above_w[mode] * idle_ns as f64 * 1e-9
    }

    /// Energy of an idle period of `idle_ns` in one mode and of the return from it, above that of the lowest mode, J.
    ///
    /// The device would spend the time of the return idle otherwise, at the power of the lowest mode or more.
    #[inline]
    #[must_use]
    pub fn excess_j(&self, mode: usize, idle_ns: u64) -> f64 {
        self.stay_j(mode, idle_ns) + self.return_j[mode]
    }

    /// The mode with the least energy for an idle period of `idle_ns`; the highest of several.
    #[inline]
    #[must_use]
    pub fn best(&self, idle_ns: u64) -> usize {
        let (mut best, mut least_j) = (0, self.excess_j(0, idle_ns));
        for mode in 1..self.modes.len() {
            let excess_j = self.excess_j(mode, idle_ns);
            if excess_j < least_j {
                (best, least_j) = (mode, excess_j);
            }
        }
        best
    }

    /// Idle time beyond which the lowest mode takes less energy than the ready mode; `None` if it never does.
    #[must_use]
    pub fn break_even_ns(&self) -> Option<f64> {
        let lowest = self.lowest();
        let saved_w = self.above_w[0];
        (saved_w > 0.0).then(|| self.return_j[lowest] / saved_w * 1e9)
    }
}
