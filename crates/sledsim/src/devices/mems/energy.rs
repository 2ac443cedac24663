//! Power of a sled, energy of one service, and the intervals of the latest service.

use crate::devices::mems::parameters::{IdleTips, MemsParameters};
use crate::power::{Activity, EnergyAccount, Level, LevelPower, PowerTable};
use crate::request::Op;
use crate::service::RequestEnergy;
use crate::time::Time;

/// The idle mode of a stopped sled.
pub(super) const STOPPED: usize = 1;

/// Power levels of a sled. Its power does not depend on the operation.
pub(super) const STARTUP: Level = Level::startup_from(STOPPED);
pub(super) const IDLE: Level = Level::idle(0);
pub(super) const INACTIVE: Level = Level::idle(STOPPED);
pub(super) const SEEK: Level = Level::work(Activity::SEEK, Op::Read);
pub(super) const SERVO: Level = Level::work(Activity::SERVO, Op::Read);
pub(super) const DATA: Level = Level::work(Activity::DATA, Op::Read);

/// Power in watts (Schlosser et al. 2000, section 4.3; Lin et al. 2002, section 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Power {
    /// Of the moving sled.
    pub sled_w: f64,
    /// Of each active tip.
    pub tip_w: f64,
    /// Of the stopped sled.
    pub inactive_w: f64,
    /// During start-up.
    pub startup_w: f64,
}

impl Power {
    pub(super) fn new(parameters: &MemsParameters) -> Self {
        Self {
            sled_w: parameters.sled_mw * 1e-3,
            tip_w: parameters.tip_mw * 1e-3,
            inactive_w: parameters.inactive_mw * 1e-3,
            startup_w: parameters.startup_mw * 1e-3,
        }
    }

    /// Returns the power of each level. A tip that follows the servo bursts of an idle sled is on for the servo time of each pass.
    pub(super) fn levels(&self, parameters: &MemsParameters, pass: PassTime) -> PowerTable {
        let idle_duty = match parameters.idle_tips {
            IdleTips::None => 0.0,
            IdleTips::LastAccess => pass.servo_ns as f64 / pass.ns() as f64,
        };
        let moving = |tip_duty| LevelPower { base_w: self.sled_w, tip_w: self.tip_w, tip_duty };
        PowerTable::default()
            .with(STARTUP, LevelPower::constant(self.startup_w))
            .with(IDLE, moving(idle_duty))
            .with(INACTIVE, LevelPower::constant(self.inactive_w))
            .with(SEEK, moving(1.0))
            .with(SERVO, moving(1.0))
            .with(DATA, moving(1.0))
    }
}

/// The time of a pass over a row; over a block if data pass as a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassTime {
    /// Servo bursts.
    pub servo_ns: u64,
    /// Data.
    pub data_ns: u64,
}

impl PassTime {
    #[inline]
    pub(super) const fn ns(self) -> u64 {
        self.servo_ns + self.data_ns
    }
}

/// The work of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceWork {
    pub startup_ns: u64,
    /// Time of positioning, before and between passes.
    pub seek_ns: u64,
    /// Rows passed over; blocks if data pass as a stream.
    pub passes: u64,
    /// Sum of the active tips of these.
    pub tip_passes: u64,
    /// Time of waiting for the bus before passes.
    pub wait_ns: u64,
}

impl ServiceWork {
    /// Returns the energy of the service.
    #[inline]
    pub(super) fn energy(&self, power: &Power, pass: PassTime) -> RequestEnergy {
        // All numbers are below 2^63, whose conversion is faster.
        let number = |count: u64| count as i64 as f64;
        let pass_j = (number(self.passes) * power.sled_w + number(self.tip_passes) * power.tip_w) * 1e-9;
        RequestEnergy {
            startup_j: number(self.startup_ns) * 1e-9 * power.startup_w,
            seek_j: number(self.seek_ns) * 1e-9 * power.sled_w,
            rotation_j: 0.0,
            servo_j: pass_j * number(pass.servo_ns),
            data_j: pass_j * number(pass.data_ns),
            idle_j: number(self.wait_ns) * 1e-9 * power.sled_w,
        }
    }
}

/// A pass, with the positioning and the wait before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TracedPass {
    pub seek_ns: u64,
    /// Wait for the bus before the pass.
    pub wait_ns: u64,
    pub tips: u32,
    /// Number of rows; of blocks if data pass as a stream.
    pub units: u32,
}

/// The intervals of the latest service, for an energy account that may end in the middle of it: a start-up, if any, and passes.
#[derive(Clone, Debug)]
pub(super) struct ServiceTrace {
    start: Time,
    startup_ns: u64,
    /// Its size is bounded by the largest request.
    passes: Vec<TracedPass>,
    pass_time: PassTime,
}

impl ServiceTrace {
    /// Returns the trace before the first service.
    pub(super) fn new(pass_time: PassTime) -> Self {
        Self { start: Time::ZERO, startup_ns: 0, passes: Vec::new(), pass_time }
    }

    /// Begins the next service.
    #[inline]
    pub(super) fn begin(&mut self, start: Time, startup_ns: u64) {
        self.start = start;
        self.startup_ns = startup_ns;
        self.passes.clear();
    }

    /// Returns the end of the start-up.
    pub(super) fn started(&self) -> Time {
        self.start + self.startup_ns
    }

    /// Adds a pass.
    #[inline]
    pub(super) fn pass(&mut self, pass: TracedPass) {
        self.passes.push(pass);
    }

    /// Adds the service until `now` to an account.
    pub(super) fn add_until(&self, now: Time, account: &mut EnergyAccount) {
        let mut at = self.start;
        let mut add = |level: Level, tips: u32, ns: u64| {
            at += ns;
            account.add(level, tips, at.min(now));
        };
        add(STARTUP, 0, self.startup_ns);
        for pass in &self.passes {
            let units = u64::from(pass.units);
            add(SEEK, 0, pass.seek_ns);
            add(IDLE, 0, pass.wait_ns);
            add(SERVO, pass.tips, self.pass_time.servo_ns * units);
            add(DATA, pass.tips, self.pass_time.data_ns * units);
        }
    }

    /// Adds all of the service to an account: in sums, which is faster, if the account needs nothing else.
    #[inline]
    pub(super) fn add_all(&self, account: &mut EnergyAccount) {
        let PassTime { servo_ns, data_ns } = self.pass_time;
        // Before the first service there are no passes.
        let has_both = servo_ns > 0 && !self.passes.is_empty();
        if !has_both || !account.only_sums_from(self.start) {
            return self.add_until(Time::MAX, account);
        }
        let (mut seeks, mut waits) = (0, 0);
        let (mut seek_ns, mut wait_ns, mut units, mut tip_units) = (0, 0, 0, 0);
        let mut at = self.started();
        if self.startup_ns > 0 {
            account.draw(STARTUP, 0, at);
            account.add_time(STARTUP, 0, self.startup_ns);
        }
        for pass in &self.passes {
            seeks += u64::from(pass.seek_ns > 0);
            // An idle sled that waits before its first seek stays idle.
            let stays_idle = pass.seek_ns == 0 && at == self.start && account.activity() == Activity::READY;
            waits += u64::from(pass.wait_ns > 0 && !stays_idle);
            at += pass.seek_ns + pass.wait_ns;
            account.draw(SEEK, 0, at);
            let pass_units = u64::from(pass.units);
            at += self.pass_time.ns() * pass_units;
            account.draw(SERVO, pass.tips, at);
            seek_ns += pass.seek_ns;
            wait_ns += pass.wait_ns;
            units += pass_units;
            tip_units += u64::from(pass.tips) * pass_units;
        }
        account.add_time(SEEK, 0, seek_ns);
        account.add_time(IDLE, 0, wait_ns);
        for (level, unit_ns) in [(SERVO, servo_ns), (DATA, data_ns)] {
            account.add_tip_time(level, units * unit_ns, u128::from(tip_units) * u128::from(unit_ns));
        }
        let passes = self.passes.len() as u64;
        account.count(&[
            (Activity::SEEK, seeks),
            (Activity::READY, waits),
            (Activity::SERVO, passes),
            (Activity::DATA, passes),
        ]);
    }
}
