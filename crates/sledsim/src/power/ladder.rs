//! Idle modes, from the one in which a device is ready down to the one that takes least power.

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
}

impl Ladder {
    /// A ladder.
    ///
    /// # Errors
    /// No modes or more than [`MODES`]; a first mode that is not ready; a mode that takes more power than the one before it, or
    /// is entered before it.
    pub fn new(modes: Vec<Mode>) -> Result<Self, String> {
        let Some(ready) = modes.first() else { return Err("a device has at least one idle mode".into()) };
        if modes.len() > MODES {
            return Err(format!("{} idle modes: at most {MODES} are possible", modes.len()));
        }
        if ready.wake_ns > 0 || ready.after_ns != Some(0) {
            return Err(format!(
                "{:?}, the first idle mode, must be entered at once and take no time to leave",
                ready.name
            ));
        }
        for pair in modes.windows(2) {
            let (upper, lower) = (&pair[0], &pair[1]);
            if lower.power_w > upper.power_w {
                return Err(format!("{:?} takes more power than {:?}, the mode above it", lower.name, upper.name));
            }
            let (after, before) = (lower.after_ns.unwrap_or(u64::MAX), upper.after_ns.unwrap_or(u64::MAX));
            if after < before {
                return Err(format!("{:?} is entered before {:?}, the mode above it", lower.name, upper.name));
            }
        }
        Ok(Self { modes })
    }

    /// The modes.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// Index of the lowest.
    #[must_use]
    pub fn lowest(&self) -> usize {
        self.modes.len() - 1
    }

    /// Power of the lowest.
    #[must_use]
    pub fn least_w(&self) -> f64 {
        self.modes[self.lowest()].power_w
    }

    /// Joules above the lowest mode's power that an idle period of `idle_ns` takes in one mode, with the return from it.
    ///
    /// A return takes time that the device would otherwise spend idle at another moment, at the lowest mode's power at least.
    #[must_use]
    pub fn excess_j(&self, mode: usize, idle_ns: u64) -> f64 {
        let Mode { power_w, wake_ns, wake_w, .. } = self.modes[mode];
        let (idle_s, wake_s) = (idle_ns as f64 * 1e-9, wake_ns as f64 * 1e-9);
        (power_w - self.least_w()) * idle_s + (wake_w - self.least_w()) * wake_s
    }

    /// The mode in which an idle period of `idle_ns` takes least energy; the upper one of equals.
    #[must_use]
    pub fn best(&self, idle_ns: u64) -> usize {
        let excess = |mode: usize| self.excess_j(mode, idle_ns);
        (1..self.modes.len()).fold(0, |best, mode| if excess(mode) < excess(best) { mode } else { best })
    }
}
