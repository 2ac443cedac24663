//! Spin-down: when a device without work enters its lower modes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ladder;
use crate::service::MODES;
use crate::units::NS_PER_MS;

/// When a device without work stops to save power: enters the lowest of its idle modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
// Without parameters, too, the variants have braces: serde denies unknown fields only there.
pub enum SpinDownSpec {
    /// As soon as nothing is left to do (lin2002, section 5.1).
    Immediate {},
    /// After a fixed idle time.
    Timeout {
        /// The idle time.
        #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
        after_ms: f64,
    },
    /// Never: the device stays ready.
    Never {},
    /// With hindsight: at once where the idle period turns out long enough for it to save energy, else not at all. No device
    /// can do that; it is the yardstick for those that can.
    Offline {},
}

/// A policy at work on a device.
#[derive(Clone, Debug)]
pub struct SpinDown {
    ladder: Ladder,
    /// Idle time beyond which each mode is entered, rising.
    after_ns: [u64; MODES],
    hindsight: bool,
}

impl SpinDown {
    /// A policy; the modes' own times without one.
    #[must_use]
    pub fn new(spec: Option<&SpinDownSpec>, ladder: Ladder) -> Self {
        let mut after_ns = [u64::MAX; MODES];
        after_ns[0] = 0;
        let lowest = ladder.lowest();
        for (after_ns, mode) in after_ns.iter_mut().zip(ladder.modes()) {
            *after_ns = mode.after_ns.unwrap_or(u64::MAX);
        }
        let mut policy = Self { ladder, after_ns, hindsight: false };
        match spec {
            None => {}
            Some(SpinDownSpec::Immediate {}) => policy.stop_after(0),
            Some(SpinDownSpec::Timeout { after_ms }) => policy.stop_after((after_ms * NS_PER_MS).round() as u64),
            Some(SpinDownSpec::Never {}) => policy.after_ns[1..=lowest].fill(u64::MAX),
            Some(SpinDownSpec::Offline {}) => policy.hindsight = true,
        }
        policy
    }

    /// The modes.
    #[must_use]
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// Enters the lowest mode after so long, and those between it and the first no later than by themselves.
    fn stop_after(&mut self, idle_ns: u64) {
        let lowest = self.ladder.lowest();
        if lowest > 0 {
            self.after_ns[lowest] = idle_ns;
        }
        // Modes that would come later than the lowest are passed over.
        for mode in 1..lowest {
            self.after_ns[mode] = self.after_ns[mode].min(idle_ns);
        }
    }

    /// The mode that a request finds which comes when the device has been idle for so long.
    #[inline]
    #[must_use]
    pub fn mode_at(&self, idle_ns: u64) -> usize {
        if self.hindsight {
            return self.ladder.best(idle_ns);
        }
        (1..self.ladder.modes().len()).rev().find(|&mode| idle_ns > self.after_ns[mode]).unwrap_or(0)
    }

    /// Nanoseconds in each mode during an idle period that ends, or is looked at, after so long.
    #[inline]
    #[must_use]
    pub fn spent_ns(&self, idle_ns: u64) -> [u64; MODES] {
        let mut spent_ns = [0; MODES];
        if self.hindsight {
            spent_ns[self.ladder.best(idle_ns)] = idle_ns;
            return spent_ns;
        }
        let mut until_ns = idle_ns;
        for mode in (0..self.ladder.modes().len()).rev() {
            let from_ns = self.after_ns[mode].min(until_ns);
            spent_ns[mode] = until_ns - from_ns;
            until_ns = from_ns;
        }
        spent_ns
    }

    /// Joules that the best choice with hindsight would have saved in an idle period which a request ended after so long.
    #[must_use]
    pub fn regret_j(&self, idle_ns: u64) -> f64 {
        let returning_j = self.ladder.excess_j(self.mode_at(idle_ns), 0);
        let best_j = self.ladder.excess_j(self.ladder.best(idle_ns), idle_ns);
        (self.waste_j(idle_ns) + returning_j - best_j).max(0.0)
    }

    /// Joules above the lowest mode's power in an idle period that no request has ended so far.
    #[must_use]
    pub fn waste_j(&self, idle_ns: u64) -> f64 {
        let spent_ns = self.spent_ns(idle_ns);
        let above =
            |(mode, spent_ns): (&super::Mode, u64)| (mode.power_w - self.ladder.least_w()) * spent_ns as f64 * 1e-9;
        self.ladder.modes().iter().zip(spent_ns).map(above).sum()
    }

    /// Hears that a request ended an idle period after so long.
    #[inline]
    pub fn ended(&mut self, idle_ns: u64) {
        let _ = idle_ns;
    }
}
