//! The power of a sled, and the energy of one service.

use crate::devices::mems::parameters::{IdleTips, MemsParameters};
use crate::power::{Activity, Level, LevelPower, PowerTable};
use crate::request::Op;
use crate::service::RequestEnergy;

/// The idle mode in which the sled stands still.
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
