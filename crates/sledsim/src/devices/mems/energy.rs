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

    /// What is in these books of a service once `passed_ns` of it have passed: state by state in the order a service of
    /// one pass goes through them. Of a longer service the seeks between passes come too early; every state only grows.
    #[must_use]
    pub fn first_part(&self, passed_ns: u64) -> Self {
        const ORDER: [State; STATES.len()] =
            [State::Inactive, State::Startup, State::Seek, State::Idle, State::Servo, State::Data];
        let mut part = Self { startups: self.startups, ..Self::default() };
        let mut left_ns = passed_ns;
        for state in ORDER.map(|state| state as usize) {
            let (whole_ns, part_ns) = (self.time_ns[state], self.time_ns[state].min(left_ns));
            part.time_ns[state] = part_ns;
            part.tip_ns[state] = self.tip_ns[state] * u128::from(part_ns) / u128::from(whole_ns.max(1));
            left_ns -= part_ns;
        }
        part
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
