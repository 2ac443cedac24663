//! The course of a service: what the sled does span by span, so that an instant in the middle of it can be looked at, and its
//! power meter told.

use crate::devices::mems::energy::{Books, Power, Tally};
use crate::power::{Activity, Meter};
use crate::time::Time;

/// A pass, and the way to it.
#[derive(Clone, Copy, Debug)]
struct Pass {
    seek_ns: u64,
    /// Waiting for the bus before the pass.
    wait_ns: u64,
    tips: u32,
    /// How often the time of a row passes: once, or in a stream once for each block.
    units: u32,
}

/// A service, span by span.
#[derive(Clone, Debug, Default)]
pub struct Course {
    start: Time,
    startup_ns: u64,
    /// Their number grows with the largest request, not with the run.
    passes: Vec<Pass>,
}

impl Course {
    /// Another service begins.
    #[inline]
    pub fn begin(&mut self, start: Time, startup_ns: u64) {
        self.start = start;
        self.startup_ns = startup_ns;
        self.passes.clear();
    }

    /// When the sled is ready for it.
    #[must_use]
    pub fn awake(&self) -> Time {
        self.start + self.startup_ns
    }

    /// It goes on with a pass.
    #[inline]
    pub fn pass(&mut self, seek_ns: u64, wait_ns: u64, tips: u32, units: u32) {
        self.passes.push(Pass { seek_ns, wait_ns, tips, units });
    }

    /// Calls `visit` with each span: what the sled does, until when, with how many tips on.
    #[inline]
    fn for_each_span(&self, power: &Power, mut visit: impl FnMut(Activity, Time, u32)) {
        let (servo_ns, transfer_ns) = power.pass_ns();
        let mut at = self.awake();
        visit(Activity::STARTUP, at, 0);
        for pass in &self.passes {
            at += pass.seek_ns;
            visit(Activity::SEEK, at, 0);
            at += pass.wait_ns;
            visit(Activity::READY, at, 0);
            at += servo_ns * u64::from(pass.units);
            visit(Activity::SERVO, at, pass.tips);
            at += transfer_ns * u64::from(pass.units);
            visit(Activity::DATA, at, pass.tips);
        }
    }

    /// Tells `meter`, which knows everything before, of the service until `now`.
    pub fn tell(&self, meter: &mut Meter, power: &Power, now: Time) {
        self.for_each_span(power, |activity, until, tips| {
            let power_w = if activity == Activity::STARTUP { power.startup_w() } else { power.moving_w(tips) };
            meter.span(activity, until.min(now), power_w);
        });
    }

    /// The same of all of the service: in sums where the meter keeps nothing else.
    #[inline]
    pub fn tell_all(&self, meter: &mut Meter, power: &Power) {
        let (servo_ns, transfer_ns) = power.pass_ns();
        // Before the first service there is no course.
        let plain = servo_ns > 0 && !self.passes.is_empty();
        if !plain || !meter.only_sums_from(self.start) {
            return self.tell(meter, power, Time::MAX);
        }
        let (mut seeks, mut waits) = (0, 0);
        let mut at = self.awake();
        if self.startup_ns > 0 {
            meter.draw(at, power.startup_w());
        }
        for pass in &self.passes {
            seeks += u64::from(pass.seek_ns > 0);
            // Waiting at once, a sled that was idle goes on being it.
            let goes_on = pass.seek_ns == 0 && at == self.start && meter.activity() == Activity::READY;
            waits += u64::from(pass.wait_ns > 0 && !goes_on);
            at += pass.seek_ns + pass.wait_ns;
            meter.draw(at, power.moving_w(0));
            at += (servo_ns + transfer_ns) * u64::from(pass.units);
            meter.draw(at, power.moving_w(pass.tips));
        }
        let passes = self.passes.len() as u64;
        let startups = u64::from(self.startup_ns > 0);
        let before = [(Activity::STARTUP, startups), (Activity::SEEK, seeks), (Activity::READY, waits)];
        meter.count(&before);
        meter.count(&[(Activity::SERVO, passes), (Activity::DATA, passes)]);
    }

    /// Books of all of the service, but for the number of start-ups: one counts as soon as it begins.
    #[must_use]
    pub fn books(&self) -> Books {
        let mut books = Books { startup_ns: self.startup_ns, ..Books::default() };
        for pass in &self.passes {
            books.seek_ns += pass.seek_ns;
            books.idle_ns += pass.wait_ns;
            books.passes += u64::from(pass.units);
            books.tip_passes += u64::from(pass.tips) * u64::from(pass.units);
        }
        books
    }

    /// Books of the service until `now`.
    #[must_use]
    pub fn tally(&self, power: &Power, now: Time) -> Tally {
        let mut tally = Tally::default();
        let mut at = self.start;
        self.for_each_span(power, |activity, until, tips| {
            let until = until.min(now).max(at);
            tally.book(activity.state(), until - at, tips);
            at = until;
        });
        tally
    }
}
