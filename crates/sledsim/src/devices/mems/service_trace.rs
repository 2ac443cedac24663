//! The intervals of the latest service, for an energy account that may end in the middle of it.

use crate::devices::mems::energy::{PassTime, DATA, IDLE, SEEK, SERVO, STARTUP};
use crate::power::{Activity, EnergyAccount, Level};
use crate::time::Time;

/// A pass, with the positioning and the wait before it.
#[derive(Clone, Copy, Debug)]
struct Pass {
    seek_ns: u64,
    /// Wait for the bus before the pass.
    wait_ns: u64,
    tips: u32,
    /// Rows; blocks if data pass as a stream.
    units: u32,
}

/// A service: a start-up, if any, and passes.
#[derive(Clone, Debug)]
pub(super) struct ServiceTrace {
    start: Time,
    startup_ns: u64,
    /// Their number grows with the largest request, not with the run.
    passes: Vec<Pass>,
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
    pub(super) fn pass(&mut self, seek_ns: u64, wait_ns: u64, tips: u32, units: u32) {
        self.passes.push(Pass { seek_ns, wait_ns, tips, units });
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
            // A sled that was idle and waits at once stays idle.
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
