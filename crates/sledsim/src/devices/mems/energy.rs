//! The energy books of a sled: integer nanoseconds, passes and tips, turned into joules only when asked, so that nothing
//! is lost to rounding however long a run is.

use crate::devices::mems::parameters::{IdleTips, MemsParameters};
use crate::service::{EnergyLedger, State, STATES};

/// Power figures in watts (Schlosser et al. 2000, section 4.3; Lin et al. 2002, section 3), and the times of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    sled_w: f64,
    tip_w: f64,
    inactive_w: f64,
    startup_w: f64,
    /// Share of the idle time in which a tip that follows the servo bursts is on.
    idle_duty: f64,
    servo_ns: u64,
    transfer_ns: u64,
}

impl Power {
    /// From parameters, and the servo and data time of a pass.
    #[must_use]
    pub fn new(parameters: &MemsParameters, servo_ns: u64, transfer_ns: u64) -> Self {
        let idle_duty = match parameters.idle_tips {
            IdleTips::None => 0.0,
            IdleTips::LastAccess => servo_ns as f64 / (servo_ns + transfer_ns) as f64,
        };
        Self {
            sled_w: parameters.sled_mw * 1e-3,
            tip_w: parameters.tip_mw * 1e-3,
            inactive_w: parameters.inactive_mw * 1e-3,
            startup_w: parameters.startup_mw * 1e-3,
            idle_duty,
            servo_ns,
            transfer_ns,
        }
    }
}

/// What a sled has done so far, or in one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Nanoseconds starting up.
    pub startup_ns: u64,
    /// Nanoseconds inactive.
    pub inactive_ns: u64,
    /// Nanoseconds positioning, before and between passes.
    pub seek_ns: u64,
    /// Number of passes.
    pub passes: u64,
    /// Active tips, summed over passes.
    pub tip_passes: u64,
    /// Nanoseconds idle, or waiting for the bus.
    pub idle_ns: u64,
    /// Tips that follow servo bursts while idle, times nanoseconds.
    pub idle_tip_ns: u128,
    /// Number of start-ups.
    pub startups: u64,
}

impl Books {
    /// Adds other books to these.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.startup_ns += other.startup_ns;
        self.inactive_ns += other.inactive_ns;
        self.seek_ns += other.seek_ns;
        self.passes += other.passes;
        self.tip_passes += other.tip_passes;
        self.idle_ns += other.idle_ns;
        self.idle_tip_ns += other.idle_tip_ns;
        self.startups += other.startups;
    }

    /// Takes out books that were added before.
    pub fn remove(&mut self, other: &Self) {
        self.startup_ns -= other.startup_ns;
        self.inactive_ns -= other.inactive_ns;
        self.seek_ns -= other.seek_ns;
        self.passes -= other.passes;
        self.tip_passes -= other.tip_passes;
        self.idle_ns -= other.idle_ns;
        self.idle_tip_ns -= other.idle_tip_ns;
        self.startups -= other.startups;
    }

    /// Time by state, in the order of [`State`].
    #[must_use]
    pub fn time_ns(&self, power: &Power) -> [u64; STATES.len()] {
        let (servo_ns, data_ns) = (self.passes * power.servo_ns, self.passes * power.transfer_ns);
        [self.inactive_ns, self.startup_ns, self.seek_ns, servo_ns, data_ns, self.idle_ns]
    }

    /// Time and joules by state.
    #[must_use]
    pub fn ledger(&self, power: &Power) -> EnergyLedger {
        let time_ns = self.time_ns(power);
        let base_w = [power.inactive_w, power.startup_w, power.sled_w, power.sled_w, power.sled_w, power.sled_w];
        let mut energy_j = [0.0; STATES.len()];
        for (state, base_w) in base_w.into_iter().enumerate() {
            energy_j[state] = time_ns[state] as f64 * 1e-9 * base_w;
        }
        let tip_j = |tip_ns: f64| tip_ns * 1e-9 * power.tip_w;
        energy_j[State::Servo as usize] += tip_j(self.tip_passes as f64 * power.servo_ns as f64);
        energy_j[State::Data as usize] += tip_j(self.tip_passes as f64 * power.transfer_ns as f64);
        energy_j[State::Idle as usize] += tip_j(self.idle_tip_ns as f64) * power.idle_duty;
        EnergyLedger { time_ns, energy_j, startups: self.startups }
    }

    /// Joules of one service: as the ledger's total, in fewer steps.
    #[inline]
    #[must_use]
    pub fn service_j(&self, power: &Power) -> f64 {
        let pass_ns = (power.servo_ns + power.transfer_ns) as f64;
        let moving_ns = (self.seek_ns + self.idle_ns) as f64 + self.passes as f64 * pass_ns;
        let tip_ns = self.tip_passes as f64 * pass_ns;
        (self.startup_ns as f64 * power.startup_w + moving_ns * power.sled_w + tip_ns * power.tip_w) * 1e-9
    }
}

/// The first `part_ns` of what `ledger` accounts for, every state in proportion: what has passed of a service when time
/// stands inside it.
#[must_use]
pub fn first_part(ledger: &EnergyLedger, part_ns: u64) -> EnergyLedger {
    let whole_ns = ledger.total_ns().max(1);
    let mut part = EnergyLedger { startups: ledger.startups, ..EnergyLedger::default() };
    for state in 0..STATES.len() {
        let share = u128::from(ledger.time_ns[state]) * u128::from(part_ns) / u128::from(whole_ns);
        part.time_ns[state] = share as u64;
        part.energy_j[state] = ledger.energy_j[state] * (part_ns as f64 / whole_ns as f64);
    }
    // Rounding down left a few nanoseconds: they go where most of the time is.
    if let Some(most) = (0..STATES.len()).max_by_key(|&state| ledger.time_ns[state]) {
        part.time_ns[most] += part_ns - part.total_ns();
    }
    part
}
