//! The energy books of a sled: integer nanoseconds and tip-nanoseconds, turned into joules only when asked, so that
//! nothing is lost to rounding however long a run is.

use crate::devices::mems::parameters::{IdleTips, MemsParameters};
use crate::service::{EnergyLedger, State, STATES};

/// Power figures in watts (Schlosser et al. 2000, section 4.3; Lin et al. 2002, section 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    sled_w: f64,
    tip_w: f64,
    inactive_w: f64,
    startup_w: f64,
    /// Share of the idle time in which a tip that follows the servo bursts is on.
    idle_duty: f64,
}

impl Power {
    /// From parameters and the servo and data bits of a row.
    #[must_use]
    pub fn new(parameters: &MemsParameters, servo_bits: u32, data_bits: u32) -> Self {
        let idle_duty = match parameters.idle_tips {
            IdleTips::None => 0.0,
            IdleTips::LastAccess => f64::from(servo_bits) / f64::from(servo_bits + data_bits),
        };
        Self {
            sled_w: parameters.sled_mw * 1e-3,
            tip_w: parameters.tip_mw * 1e-3,
            inactive_w: parameters.inactive_mw * 1e-3,
            startup_w: parameters.startup_mw * 1e-3,
            idle_duty,
        }
    }
}

/// Time in each state, and tips times time where tips draw power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    time_ns: [u64; STATES.len()],
    tip_ns: [u128; STATES.len()],
    startups: u64,
}

impl Books {
    /// Books `time_ns` in `state` with `tips` following the media.
    #[inline]
    pub fn book(&mut self, state: State, time_ns: u64, tips: u32) {
        self.time_ns[state as usize] += time_ns;
        self.tip_ns[state as usize] += u128::from(time_ns) * u128::from(tips);
    }

    /// Counts a start-up.
    pub fn count_startup(&mut self) {
        self.startups += 1;
    }

    /// Adds other books to these.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        for state in 0..STATES.len() {
            self.time_ns[state] += other.time_ns[state];
            self.tip_ns[state] += other.tip_ns[state];
        }
        self.startups += other.startups;
    }

    /// Takes out books that were added before.
    pub fn remove(&mut self, other: &Self) {
        for state in 0..STATES.len() {
            self.time_ns[state] -= other.time_ns[state];
            self.tip_ns[state] -= other.tip_ns[state];
        }
        self.startups -= other.startups;
    }

    /// The first `numerator / denominator` of these books: what has passed of a service when time stands inside it.
    #[must_use]
    pub fn first_part(&self, numerator: u64, denominator: u64) -> Self {
        let mut part = *self;
        let mut left = numerator;
        for state in 0..STATES.len() {
            let share = u128::from(self.time_ns[state]) * u128::from(numerator) / u128::from(denominator.max(1));
            part.time_ns[state] = (share as u64).min(left);
            left -= part.time_ns[state];
            part.tip_ns[state] = self.tip_ns[state] * u128::from(numerator) / u128::from(denominator.max(1));
        }
        // Rounding down left a few nanoseconds: they go where most of the time is.
        if let Some(most) = (0..STATES.len()).max_by_key(|&state| self.time_ns[state]) {
            part.time_ns[most] += left;
        }
        part
    }

    /// Nanoseconds over all states.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.time_ns.iter().sum()
    }

    /// Time and joules by state.
    #[must_use]
    pub fn ledger(&self, power: &Power) -> EnergyLedger {
        let base_w = [power.inactive_w, power.startup_w, power.sled_w, power.sled_w, power.sled_w, power.sled_w];
        let mut ledger = EnergyLedger { time_ns: self.time_ns, startups: self.startups, ..EnergyLedger::default() };
        for (state, base_w) in base_w.into_iter().enumerate() {
            let duty = if state == State::Idle as usize { power.idle_duty } else { 1.0 };
            let tips_j = self.tip_ns[state] as f64 * 1e-9 * power.tip_w * duty;
            ledger.energy_j[state] = self.time_ns[state] as f64 * 1e-9 * base_w + tips_j;
        }
        ledger
    }

    /// Joules over all states.
    #[must_use]
    pub fn total_j(&self, power: &Power) -> f64 {
        self.ledger(power).total_j()
    }
}
