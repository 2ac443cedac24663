//! Spin-down policies: when an idle device enters its lower modes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ladder, Share};
use crate::service::MODES;
use crate::time::ms_to_ns;

/// When an idle device enters the lowest of its idle modes to save power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
// Without parameters, too, the variants have braces: serde denies unknown fields only there.
pub enum SpinDownSpec {
    /// As soon as no request is left (lin2002, section 5.1).
    Immediate {},
    /// After a fixed idle time.
    Timeout {
        /// The idle time.
        #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
        after_ms: f64,
    },
    /// Never: the device stays ready.
    Never {},
    /// After an idle time that adapts to past idle periods: the share algorithm of Helmbold, Long & Sherrod (MobiCom 1996).
    Adaptive {
        /// Number of experts with fixed timeouts. One has no timeout; the timeouts of the others double up to the longest.
        #[serde(default = "experts")]
        #[schemars(range(min = 2, max = 64))]
        experts: u32,
        /// Longest timeout of an expert; by default twice the break-even time of the lowest mode.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
        longest_ms: Option<f64>,
        /// Learning rate: the weight of an expert is multiplied by exp(-rate * loss).
        #[serde(default = "learning_rate")]
        #[schemars(range(min = 0.0, max = 1000.0))]
        learning_rate: f64,
        /// Fraction of its weight that an expert with the largest loss shares with all.
        #[serde(default = "sharing")]
        #[schemars(range(min = 0.0, max = 0.999))]
        sharing: f64,
    },
    /// With hindsight: at once if the idle period will be long enough to save energy, else not at all. No real policy can do this; it
    /// is the lower bound for others.
    Offline {},
}

impl SpinDownSpec {
    /// Its name in a scenario.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Immediate {} => "immediate",
            Self::Timeout { .. } => "timeout",
            Self::Never {} => "never",
            Self::Adaptive { .. } => "adaptive",
            Self::Offline {} => "offline",
        }
    }

    /// The adaptive policy with its defaults.
    #[must_use]
    pub const fn adaptive() -> Self {
        Self::Adaptive { experts: experts(), longest_ms: None, learning_rate: learning_rate(), sharing: sharing() }
    }
}

const fn experts() -> u32 {
    12
}

const fn learning_rate() -> f64 {
    4.0
}

const fn sharing() -> f64 {
    0.08
}

/// The spin-down policy of a device.
#[derive(Clone, Debug)]
pub struct SpinDown {
    ladder: Ladder,
    /// Idle time after which each mode is entered, in ascending order.
    after_ns: [u64; MODES],
    hindsight: bool,
    /// True for two modes and a timeout between them: the common case, for which sums over modes are simple.
    has_two_modes: bool,
    share: Option<Box<Share>>,
}

impl SpinDown {
    /// A policy; without a specification, the timeouts of the modes apply.
    #[must_use]
    pub fn new(spec: Option<&SpinDownSpec>, ladder: Ladder) -> Self {
        let mut after_ns = [u64::MAX; MODES];
        for (after_ns, mode) in after_ns.iter_mut().zip(ladder.modes()) {
            *after_ns = mode.after_ns.unwrap_or(u64::MAX);
        }
        let lowest = ladder.lowest();
        let has_two_modes = lowest == 1 && ladder.above_w(1) == 0.0 && !matches!(spec, Some(SpinDownSpec::Offline {}));
        let mut policy = Self { ladder, after_ns, hindsight: false, has_two_modes, share: None };
        match spec {
            None => {}
            Some(SpinDownSpec::Immediate {}) => policy.set_timeout(0),
            Some(SpinDownSpec::Timeout { after_ms }) => policy.set_timeout(ms_to_ns(*after_ms)),
            Some(SpinDownSpec::Never {}) => policy.after_ns[1..=lowest].fill(u64::MAX),
            Some(&SpinDownSpec::Adaptive { experts, longest_ms, learning_rate, sharing }) => {
                let share = Share::new(&policy.ladder, experts, longest_ms, learning_rate, sharing);
                policy.set_timeout(share.timeout_ns());
                policy.share = Some(Box::new(share));
            }
            Some(SpinDownSpec::Offline {}) => policy.hindsight = true,
        }
        policy
    }

    /// The modes.
    #[must_use]
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }

    /// The experts of the adaptive policy.
    #[must_use]
    pub fn share(&self) -> Option<&Share> {
        self.share.as_deref()
    }

    /// The current idle time after which the lowest mode is entered; `None` for never and with hindsight.
    #[must_use]
    pub fn timeout_ns(&self) -> Option<u64> {
        let after_ns = self.after_ns[self.ladder.lowest()];
        (!self.hindsight && after_ns < u64::MAX).then_some(after_ns)
    }

    /// Sets the power of the ready mode, which can depend on the last request, for the idle period that begins now.
    pub fn set_ready_w(&mut self, power_w: f64) {
        self.ladder.set_ready_w(power_w);
        if let Some(share) = &mut self.share {
            share.set_powers(&self.ladder);
        }
    }

    /// Sets the timeout of the lowest mode. Modes above it keep their timeouts if these are shorter.
    fn set_timeout(&mut self, idle_ns: u64) {
        let lowest = self.ladder.lowest();
        // Modes with a longer timeout than the lowest are skipped.
        for (after_ns, mode) in self.after_ns.iter_mut().zip(self.ladder.modes()).take(lowest).skip(1) {
            *after_ns = mode.after_ns.unwrap_or(u64::MAX).min(idle_ns);
        }
        if lowest > 0 {
            self.after_ns[lowest] = idle_ns;
        }
    }

    /// Sets the timeouts of all modes, `u64::MAX` for never. That of the ready mode is ignored. A mode with a longer timeout than a mode
    /// below it is skipped.
    pub fn enter_after(&mut self, after_ns: &[u64]) {
        let mut earliest_ns = u64::MAX;
        for mode in (1..=self.ladder.lowest()).rev() {
            earliest_ns = earliest_ns.min(after_ns[mode]);
            self.after_ns[mode] = earliest_ns;
        }
    }

    /// The mode of the device when a request arrives after `idle_ns` of idle time.
    #[inline]
    #[must_use]
    pub fn mode_at(&self, idle_ns: u64) -> usize {
        if self.hindsight {
            return self.ladder.best(idle_ns);
        }
        if self.has_two_modes {
            return usize::from(idle_ns > self.after_ns[1]);
        }
        // Timeouts are in ascending order.
        let below = &self.after_ns[1..=self.ladder.lowest()];
        below.iter().position(|&after_ns| idle_ns <= after_ns).unwrap_or(below.len())
    }

    /// Nanoseconds in each mode of an idle period of `idle_ns` that has ended.
    #[inline]
    #[must_use]
    pub fn spent_ns(&self, idle_ns: u64) -> [u64; MODES] {
        self.part_ns(idle_ns, idle_ns)
    }

    /// Nanoseconds in each mode of an idle period that has lasted `idle_ns` and has not ended. With hindsight it is spent in the lowest
    /// mode, which is optimal as long as no request arrives.
    #[inline]
    #[must_use]
    pub fn open_ns(&self, idle_ns: u64) -> [u64; MODES] {
        self.part_ns(idle_ns, u64::MAX)
    }

    /// Nanoseconds in each mode of the first `part_ns` of an idle period of `whole_ns`.
    #[inline]
    #[must_use]
    pub fn part_ns(&self, part_ns: u64, whole_ns: u64) -> [u64; MODES] {
        let mut spent_ns = [0; MODES];
        if self.has_two_modes {
            spent_ns[0] = part_ns.min(self.after_ns[1]);
            spent_ns[1] = part_ns - spent_ns[0];
            return spent_ns;
        }
        if self.hindsight {
            let mode = if whole_ns == u64::MAX { self.ladder.lowest() } else { self.ladder.best(whole_ns) };
            spent_ns[mode] = part_ns;
            return spent_ns;
        }
        let mut until_ns = part_ns;
        for mode in (0..=self.ladder.lowest()).rev() {
            let from_ns = self.after_ns[mode].min(until_ns);
            spent_ns[mode] = until_ns - from_ns;
            until_ns = from_ns;
        }
        spent_ns
    }

    /// Returns true if the modes in an idle period up to now no longer depend on its end.
    #[must_use]
    pub fn is_decided(&self, idle_ns: u64) -> bool {
        // If hindsight selects the lowest power for a period, it does so for all longer periods.
        !self.hindsight || self.ladder.above_w(self.ladder.best(idle_ns)) == 0.0
    }

    /// Energy that the optimum with hindsight would have saved in an idle period of `idle_ns`, J.
    #[inline]
    #[must_use]
    pub fn regret_j(&self, idle_ns: u64) -> f64 {
        if self.has_two_modes {
            let (ladder, after_ns) = (&self.ladder, self.after_ns[1]);
            let left_j = if idle_ns > after_ns { ladder.return_j(1) } else { 0.0 };
            let best_j = ladder.stay_j(0, idle_ns).min(ladder.return_j(1));
            return (ladder.stay_j(0, idle_ns.min(after_ns)) + left_j - best_j).max(0.0);
        }
        let spent_j = self.above_j(&self.spent_ns(idle_ns)) + self.ladder.return_j(self.mode_at(idle_ns));
        (spent_j - self.ladder.excess_j(self.ladder.best(idle_ns), idle_ns)).max(0.0)
    }

    /// Energy of an unfinished idle period above that of the lowest mode, J, which the optimum with hindsight would have saved.
    #[must_use]
    pub fn waste_j(&self, idle_ns: u64) -> f64 {
        self.above_j(&self.open_ns(idle_ns))
    }

    /// The part of [`SpinDown::regret_j`] of an idle period of `whole_ns` that is due to its first `part_ns`, J. It can be negative,
    /// because the optimum of the rest differs from that of the whole.
    #[must_use]
    pub fn part_regret_j(&self, part_ns: u64, whole_ns: u64) -> f64 {
        let (ladder, left_ns) = (&self.ladder, whole_ns - part_ns);
        let (whole, left) = (self.spent_ns(whole_ns), self.part_ns(part_ns, whole_ns));
        let mut remaining_ns = whole;
        for (remaining_ns, before_ns) in remaining_ns.iter_mut().zip(left) {
            *remaining_ns -= before_ns;
        }
        let spent_j = self.above_j(&remaining_ns) + ladder.return_j(self.mode_at(whole_ns));
        self.regret_j(whole_ns) - (spent_j - ladder.excess_j(ladder.best(left_ns), left_ns)).max(0.0)
    }

    /// Energy of the last `left_ns` of a return from a mode, above that of the lowest mode, J.
    #[must_use]
    pub fn return_part_j(&self, mode: usize, left_ns: u64) -> f64 {
        let wake_w = self.ladder.modes()[mode].wake_w;
        ((wake_w - self.ladder.least_w()) * left_ns as f64 * 1e-9).max(0.0)
    }

    /// Energy of the nanoseconds `spent_ns` in each mode above that of the lowest mode, J.
    #[inline]
    fn above_j(&self, spent_ns: &[u64; MODES]) -> f64 {
        (0..=self.ladder.lowest()).map(|mode| self.ladder.stay_j(mode, spent_ns[mode])).sum()
    }

    /// Records an idle period of `idle_ns` that a request has ended.
    #[inline]
    pub fn record_idle(&mut self, idle_ns: u64) {
        if self.share.is_some() {
            self.learn(idle_ns);
        }
    }

    fn learn(&mut self, idle_ns: u64) {
        if let (Some(share), true) = (&mut self.share, idle_ns > 0) {
            share.learn(&self.ladder, idle_ns);
            let timeout_ns = share.timeout_ns();
            if self.has_two_modes {
                self.after_ns[1] = timeout_ns;
            } else {
                self.set_timeout(timeout_ns);
            }
        }
    }
}
