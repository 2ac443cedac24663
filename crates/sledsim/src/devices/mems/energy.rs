//! The energy books of a sled: integer nanoseconds, passes and tips, turned into joules only when asked, so that nothing
//! is lost to rounding however long a run is.

use crate::devices::mems::parameters::{IdleTips, MemsParameters};
use crate::power::Meter;
use crate::service::{EnergyLedger, ModeTotals, RequestEnergy, State, STATES};

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
    /// Both as numbers to multiply by.
    pass_ns: (f64, f64),
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
            pass_ns: (servo_ns as f64, transfer_ns as f64),
        }
    }

    /// Servo and data time of a row; of a block where data pass as a stream.
    #[inline]
    #[must_use]
    pub fn pass_ns(&self) -> (u64, u64) {
        (self.servo_ns, self.transfer_ns)
    }

    /// Power while starting up.
    #[inline]
    #[must_use]
    pub fn startup_w(&self) -> f64 {
        self.startup_w
    }

    /// Power of the moving sled with so many tips on.
    #[inline]
    #[must_use]
    pub fn moving_w(&self, tips: u32) -> f64 {
        self.sled_w + f64::from(tips) * self.tip_w
    }

    /// Mean power of the idle sled after an access with so many tips.
    #[inline]
    #[must_use]
    pub fn idle_w(&self, tips: u32) -> f64 {
        self.sled_w + f64::from(tips) * self.tip_w * self.idle_duty
    }

    /// Power of the stopped sled.
    #[inline]
    #[must_use]
    pub fn inactive_w(&self) -> f64 {
        self.inactive_w
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
    /// Number of rows passed over; of blocks where data pass as a stream.
    pub passes: u64,
    /// Active tips, summed over these.
    pub tip_passes: u64,
    /// Nanoseconds idle, or waiting for the bus.
    pub idle_ns: u64,
    /// Tips that follow servo bursts while idle, times nanoseconds.
    pub idle_tip_ns: u128,
    /// Number of start-ups.
    pub startups: u64,
}

impl Books {
    /// Adds those of a service.
    #[inline]
    pub fn add_service(&mut self, service: &Self) {
        self.startup_ns += service.startup_ns;
        self.seek_ns += service.seek_ns;
        self.passes += service.passes;
        self.tip_passes += service.tip_passes;
        self.idle_ns += service.idle_ns;
        self.startups += service.startups;
    }

    /// Adds an idle spell.
    #[inline]
    pub fn add_idle(&mut self, idle: &Self) {
        self.idle_ns += idle.idle_ns;
        self.idle_tip_ns += idle.idle_tip_ns;
        self.inactive_ns += idle.inactive_ns;
    }

    /// Takes those of a service out again.
    pub fn remove_service(&mut self, service: &Self) {
        self.startup_ns -= service.startup_ns;
        self.seek_ns -= service.seek_ns;
        self.passes -= service.passes;
        self.tip_passes -= service.tip_passes;
        self.idle_ns -= service.idle_ns;
        self.startups -= service.startups;
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
        // All of it is below 2^63, whose conversion is the quicker one.
        let number = |count: u64| count as i64 as f64;
        let pass_j = (number(self.passes) * power.sled_w + number(self.tip_passes) * power.tip_w) * 1e-9;
        RequestEnergy {
            startup_j: number(self.startup_ns) * 1e-9 * power.startup_w,
            seek_j: number(self.seek_ns) * 1e-9 * power.sled_w,
            rotation_j: 0.0,
            servo_j: pass_j * power.pass_ns.0,
            data_j: pass_j * power.pass_ns.1,
            idle_j: number(self.idle_ns) * 1e-9 * power.sled_w,
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

    /// Books time in a state with so many tips on.
    #[inline]
    pub fn book(&mut self, state: State, ns: u64, tips: u32) {
        self.time_ns[state as usize] += ns;
        self.tip_ns[state as usize] += u128::from(ns) * u128::from(tips);
    }

    /// Time and joules by state; the meter says how often each was entered.
    #[must_use]
    pub fn ledger(&self, power: &Power, meter: &Meter) -> EnergyLedger {
        let mut base_w = [power.sled_w; STATES.len()];
        base_w[State::Inactive as usize] = power.inactive_w;
        base_w[State::Startup as usize] = power.startup_w;
        let mut ledger = EnergyLedger { time_ns: self.time_ns, ..EnergyLedger::default() };
        for (state, base_w) in base_w.into_iter().enumerate() {
            let duty = if state == State::Idle as usize { power.idle_duty } else { 1.0 };
            let tips_j = self.tip_ns[state] as f64 * 1e-9 * power.tip_w * duty;
            ledger.energy_j[state] = self.time_ns[state] as f64 * 1e-9 * base_w + tips_j;
        }
        meter.book_entries(&mut ledger);
        // A start-up that takes no time is one, too.
        ledger.entered[State::Startup as usize] = self.startups;
        for (mode, state) in [State::Idle, State::Inactive].into_iter().enumerate() {
            let (time_ns, energy_j) = (ledger.time_ns[state as usize], ledger.energy_j[state as usize]);
            ledger.modes[mode] = ModeTotals { time_ns, energy_j, ..ledger.modes[mode] };
        }
        ledger
    }
}
