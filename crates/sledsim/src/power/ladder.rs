//! Idle modes, from the one in which a device is ready down to the one that takes least power.

use crate::fault::{Fault, Kind};
use crate::service::MODES;

/// An idle mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// What reports call it.
    pub name: String,
    /// Power in it.
    pub power_w: f64,
    /// Idle time after which a device enters it by itself; `None` for never, 0 for the ready mode.
    pub after_ns: Option<u64>,
    /// Time to be ready again.
    pub wake_ns: u64,
    /// Power during that time.
    pub wake_w: f64,
}

/// The idle modes of a device, the ready one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    modes: Vec<Mode>,
    /// Power above the lowest mode's, in each mode.
    above_w: [f64; MODES],
    /// Energy above the lowest mode's, of the return from each mode; 0 where a return draws less.
    return_j: [f64; MODES],
}

impl Ladder {
    /// A ladder: every mode takes no more power than the one above it.
    ///
    /// # Errors
    /// No modes or more than [`MODES`]; a first mode that is not ready; a mode that takes more power than the one before it, or
    /// is entered before it.
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

    /// A ladder whose lower modes may take more power than those above them. No policy can save anything there, but a device
    /// with timeouts of its own goes down it all the same.
    ///
    /// # Errors
    /// As for [`Ladder::new`], powers apart.
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
        ladder.weigh();
        Ok(ladder)
    }

    /// Takes powers above the least.
    fn weigh(&mut self) {
        let least_w = self.least_w();
        for (index, mode) in self.modes.iter().enumerate() {
            self.above_w[index] = mode.power_w - least_w;
            // A return that draws less than rest costs nothing: no choice is credited with it, or the least with hindsight
            // would fall below what any device takes.
            self.return_j[index] = ((mode.wake_w - least_w) * mode.wake_ns as f64 * 1e-9).max(0.0);
        }
    }

    /// Changes the power of the ready mode, where it depends on what the device did last; it stays the highest.
    pub fn set_ready_w(&mut self, power_w: f64) {
        self.modes[0].power_w = power_w;
        self.weigh();
    }

    /// The modes.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Index of the lowest.
    #[inline]
    #[must_use]
    pub fn lowest(&self) -> usize {
        self.modes.len() - 1
    }

    /// The least power of a mode: the lowest one's.
    #[must_use]
    pub fn least_w(&self) -> f64 {
        self.modes.iter().map(|mode| mode.power_w).fold(f64::INFINITY, f64::min)
    }

    /// Power of a mode above the lowest mode's.
    #[inline]
    #[must_use]
    pub fn above_w(&self, mode: usize) -> f64 {
        self.above_w[mode]
    }

    /// Joules of the return from a mode, above the lowest mode's power; at least 0.
    #[inline]
    #[must_use]
    pub fn return_j(&self, mode: usize) -> f64 {
        self.return_j[mode]
    }

    /// Joules above the lowest mode's power that `idle_ns` in one mode take.
    #[inline]
    #[must_use]
    pub fn stay_j(&self, mode: usize, idle_ns: u64) -> f64 {
        self.above_w[mode] * idle_ns as f64 * 1e-9
    }

    /// Joules above the lowest mode's power that an idle period of `idle_ns` takes in one mode, with the return from it.
    ///
    /// A return takes time that the device would otherwise spend idle at another moment, at the lowest mode's power at least.
    #[inline]
    #[must_use]
    pub fn excess_j(&self, mode: usize, idle_ns: u64) -> f64 {
        self.stay_j(mode, idle_ns) + self.return_j[mode]
    }

    /// The mode in which an idle period of `idle_ns` takes least energy; the upper one of equals.
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

    /// Idle time beyond which the lowest mode takes less energy than the ready one; `None` where it never does.
    #[must_use]
    pub fn break_even_ns(&self) -> Option<f64> {
        let lowest = self.lowest();
        let saved_w = self.above_w[0];
        (saved_w > 0.0).then(|| self.return_j[lowest] / saved_w * 1e9)
    }
}
