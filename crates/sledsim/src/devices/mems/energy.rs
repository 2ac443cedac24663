//! The energy books of a sled: integer nanoseconds, passes and tips, turned into joules only when asked, so that nothing
//! is lost to rounding however long a run is.

use crate::devices::mems::parameters::{IdleTips, MemsParameters};
use crate::service::{EnergyLedger, RequestEnergy, Spell, State, STATES};

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

    /// The same by state.
    #[must_use]
    pub fn tally(&self, power: &Power) -> Tally {
        let (servo_ns, data_ns) = (self.passes * power.servo_ns, self.passes * power.transfer_ns);
        let tip_ns = |pass_ns: u64| u128::from(self.tip_passes) * u128::from(pass_ns);
        Tally {
            time_ns: [self.inactive_ns, self.startup_ns, self.seek_ns, 0, servo_ns, data_ns, self.idle_ns],
            tip_ns: [0, 0, 0, 0, tip_ns(power.servo_ns), tip_ns(power.transfer_ns), self.idle_tip_ns],
            startups: self.startups,
        }
    }

    /// Joules of one service.
    #[inline]
    #[must_use]
    pub fn service_energy(&self, power: &Power) -> RequestEnergy {
        let pass_j = (self.passes as f64 * power.sled_w + self.tip_passes as f64 * power.tip_w) * 1e-9;
        RequestEnergy {
            startup_j: self.startup_ns as f64 * 1e-9 * power.startup_w,
            seek_j: self.seek_ns as f64 * 1e-9 * power.sled_w,
            rotation_j: 0.0,
            servo_j: pass_j * power.servo_ns as f64,
            data_j: pass_j * power.transfer_ns as f64,
            idle_j: self.idle_ns as f64 * 1e-9 * power.sled_w,
        }
    }
}

/// Books by state, in the order of [`State`]: nanoseconds, and tips times nanoseconds where tips draw power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    time_ns: [u64; STATES.len()],
    tip_ns: [u128; STATES.len()],
    startups: u64,
}

impl Tally {
    /// Adds another tally to this one.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for state in 0..STATES.len() {
            self.time_ns[state] += other.time_ns[state];
            self.tip_ns[state] += other.tip_ns[state];
        }
        self.startups += other.startups;
        self
    }

    /// What is in this tally of a service once `passed_ns` of it have passed: state by state in the order a service of one
    /// pass goes through them. Of a longer service the seeks between passes come too early; every state only grows.
    #[must_use]
    pub fn first_part(&self, passed_ns: u64) -> Self {
        const ORDER: [State; STATES.len()] =
            [State::Inactive, State::Startup, State::Seek, State::Rotation, State::Idle, State::Servo, State::Data];
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
        let mut base_w = [power.sled_w; STATES.len()];
        base_w[State::Inactive as usize] = power.inactive_w;
        base_w[State::Startup as usize] = power.startup_w;
        let mut ledger = EnergyLedger { time_ns: self.time_ns, ..EnergyLedger::default() };
        ledger.entered[State::Startup as usize] = self.startups;
        for (state, base_w) in base_w.into_iter().enumerate() {
            let duty = if state == State::Idle as usize { power.idle_duty } else { 1.0 };
            let tips_j = self.tip_ns[state] as f64 * 1e-9 * power.tip_w * duty;
            ledger.energy_j[state] = self.time_ns[state] as f64 * 1e-9 * base_w + tips_j;
        }
        for (mode, state) in [State::Idle, State::Inactive].into_iter().enumerate() {
            let (time_ns, energy_j) = (ledger.time_ns[state as usize], ledger.energy_j[state as usize]);
            ledger.modes[mode] = Spell { time_ns, energy_j, entered: ledger.entered[state as usize] };
        }
        ledger
    }
}
