//! The sled at work: pass by pass over rows, and idle in between.

use crate::devices::mems::approach::{Approach, Sled};
use crate::devices::mems::energy::{PassTime, Power, ServiceWork, IDLE, INACTIVE, STOPPED};
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::idle_modes;
use crate::devices::mems::parameters::{Idle, MemsParameters, StopAt};
use crate::devices::mems::points;
use crate::devices::mems::positioning::{Positioning, YState};
use crate::devices::mems::service_trace::ServiceTrace;
use crate::devices::mems::subsector::Extent;
use crate::devices::mems::tips::Tips;
use crate::fault::Fault;
use crate::power::{Activity, EnergyAccount, SpinDown, SpinDownSpec};
use crate::request::{Op, Request};
use crate::service::{EnergyLedger, Phases, Service};
use crate::time::{ms_to_ns, s_to_ns, Time};

/// One sled with its tips.
#[derive(Clone)]
pub struct MemsDevice {
    pub(super) geometry: Geometry,
    pub(super) tips: Tips,
    positioning: Positioning,
    pub(super) power: Power,
    pub(super) pass_time: PassTime,
    bus_ns_per_block: u64,
    pub(super) overhead_ns: u64,
    startup_ns: u64,
    sweeps: bool,
    /// Whether it stops where it is, in place of the centre.
    stops_in_place: bool,
    /// Whether only the tips that hold needed bytes are switched on.
    pub(super) subsector: bool,
    /// Its modes: idle, and stopped.
    pub(super) spin_down: SpinDown,
    /// Power of each tip of the last access while the sled is idle.
    idle_tip_w: f64,
    /// When the bus has carried everything so far.
    bus_free: Time,
    pub(super) sled: Sled,
    /// Energy that an ideal policy would have saved in the idle periods that have ended, except the last.
    pub(super) regret_j: f64,
    /// Energy that an ideal policy would have saved in the last idle period that has ended.
    pub(super) last_regret_j: f64,
    pub(super) last: LastService,
    /// The latest service.
    pub(super) trace: ServiceTrace,
    /// Includes everything before the latest service, and perhaps more.
    pub(super) account: EnergyAccount,
}

/// The latest service: it may reach beyond the present.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastService {
    pub(super) end: Time,
    /// Tips of its last pass.
    tips: u32,
}

impl LastService {
    /// Adds the idle time since the service to an account that includes the service.
    #[inline]
    pub(super) fn add_idle(&self, account: &mut EnergyAccount, idle: IdleTime) {
        account.add(IDLE, self.tips, self.end + idle.moving_ns);
        account.add(INACTIVE, 0, self.end + idle.moving_ns + idle.stopped_ns);
    }
}

/// The time of an idle period.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleTime {
    pub moving_ns: u64,
    pub stopped_ns: u64,
}

/// A service in the making.
pub(super) struct Passes {
    pub(super) start: Time,
    /// End of the last pass.
    pub(super) at: Time,
    /// When everything so far has crossed the bus.
    pub(super) bus_done: Time,
    pub(super) phases: Phases,
    tips: u32,
    positioned: bool,
    work: ServiceWork,
}

impl MemsDevice {
    /// A device at rest at the centre of travel, inactive, that stops after its own timeout.
    ///
    /// # Errors
    /// When the parameters do not fit each other: says which to change.
    pub fn new(parameters: &MemsParameters) -> Result<Self, Fault> {
        Self::with_spin_down(parameters, None, 0)
    }

    /// The same with a spin-down policy; the `sled`-th of its device, which has failed tips of its own.
    ///
    /// # Errors
    /// As [`MemsDevice::new`]; a policy where stopping saves nothing.
    pub fn with_spin_down(
        parameters: &MemsParameters,
        spin_down: Option<&SpinDownSpec>,
        sled: u32,
    ) -> Result<Self, Fault> {
        let p = parameters;
        let geometry = Geometry::new(p)?;
        let positioning = Positioning::new(p, &geometry);
        if !positioning.starts() {
            let speed_m_s = positioning.speed_m_s();
            return Err(Fault::conflict("spring_factor", p.spring_factor)
                .says(format!(
                    ": a sled at rest does not reach the access speed of {speed_m_s} m/s everywhere: lower it or "
                ))
                .option("bit_rate_kbit_s")
                .says(", or raise ")
                .option("acceleration_y_m_s2"));
        }
        if geometry.has_points() {
            points::check(p, &positioning)?;
        }
        let bit_s = 1.0 / (p.bit_rate_kbit_s * 1e3);
        // A pass is rounded as a whole: streaming then keeps the bit rate to the nanosecond per row.
        let pass_ns = s_to_ns(geometry.pitch_bits() * bit_s);
        let servo_ns = s_to_ns(geometry.servo_share_bits() * bit_s);
        let pass_time = PassTime { servo_ns, data_ns: pass_ns - servo_ns };
        let power = Power::new(p);
        Ok(Self {
            power,
            pass_time,
            bus_ns_per_block: ms_to_ns(p.bus_ms_per_block),
            overhead_ns: ms_to_ns(p.overhead_ms),
            startup_ns: ms_to_ns(p.startup_ms),
            sweeps: p.idle == Idle::Sweep,
            stops_in_place: p.stop_at == StopAt::InPlace,
            subsector: false,
            spin_down: idle_modes::policy(p, spin_down)?,
            idle_tip_w: idle_modes::idle_tip_w(p),
            sled: Sled::on(geometry.centre_cylinder(), YState::Rest),
            bus_free: Time::ZERO,
            regret_j: 0.0,
            last_regret_j: 0.0,
            last: LastService::default(),
            trace: ServiceTrace::new(pass_time),
            account: EnergyAccount::new(Activity::idle(STOPPED), power.levels(p, pass_time)),
            tips: Tips::new(p, &geometry, sled)?,
            positioning,
            geometry,
        })
    }

    pub(super) fn positioning(&self) -> &Positioning {
        &self.positioning
    }

    /// The geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The blocks that lie at the sled position of `lbn`, see [`Geometry::equivalent`].
    #[must_use]
    pub fn equivalent(&self, lbn: u64) -> Vec<u64> {
        self.geometry.equivalent(lbn)
    }

    /// Whether nothing has been served yet.
    pub(super) fn untouched(&self) -> bool {
        self.last.tips == 0
    }

    /// Where the sled is at `now`, which is not before the end of the last service, and how long it takes to wake.
    #[inline]
    pub(super) fn sled_at(&self, now: Time) -> (Sled, u64) {
        self.moved_by(now).map_or((self.sled, 0), |(sled, wake_ns)| (sled, wake_ns.unwrap_or(0)))
    }

    /// The same where the sled is not as the last service left it; it takes no time to wake where it has not stopped.
    #[inline]
    fn moved_by(&self, now: Time) -> Option<(Sled, Option<u64>)> {
        let idle_ns = now.saturating_since(self.last.end);
        if self.untouched() || self.spin_down.mode_at(idle_ns) > 0 {
            return Some((self.restarted(idle_ns), Some(self.startup_ns)));
        }
        (self.sweeps && idle_ns > 0).then(|| (self.swept(idle_ns), None))
    }

    /// The sled that has been idle for so long, and has not stopped.
    #[inline]
    fn swept(&self, idle_ns: u64) -> Sled {
        if self.sweeps && idle_ns > 0 {
            Sled { y: self.positioning.swept(&self.sled.y, idle_ns), ..self.sled }
        } else {
            self.sled
        }
    }

    /// The sled after a start-up that ends its idle time of so long.
    fn restarted(&self, idle_ns: u64) -> Sled {
        if self.stops_in_place && !self.untouched() {
            let [moving_ns, ..] = self.spin_down.spent_ns(idle_ns);
            let last = self.swept(moving_ns);
            let (y_m, _) = self.positioning.position(&last.y);
            return Sled::on(last.cylinder, YState::Free { y_m, speed_m_s: 0.0, delay_ns: 0 });
        }
        Sled::on(self.geometry.centre_cylinder(), YState::Rest)
    }

    /// Returns the first `part_ns` of the idle period after the last service, if a request ends it after `whole_ns`; `None` if it
    /// goes on.
    #[inline]
    pub(super) fn idle_time(&self, part_ns: u64, whole_ns: Option<u64>) -> IdleTime {
        if self.untouched() {
            return IdleTime { moving_ns: 0, stopped_ns: part_ns };
        }
        let [moving_ns, stopped_ns, ..] = match whole_ns {
            Some(whole_ns) => self.spin_down.part_ns(part_ns, whole_ns),
            None => self.spin_down.open_ns(part_ns),
        };
        IdleTime { moving_ns, stopped_ns }
    }

    /// Ends the idle period before a service that begins at `now`; returns how long the sled takes to be ready if it has to
    /// start up.
    #[inline]
    fn end_idle(&mut self, now: Time) -> Option<u64> {
        self.trace.add_all(&mut self.account);
        self.regret_j += self.last_regret_j;
        self.last_regret_j = 0.0;
        // Most requests of a busy device wait for it.
        if now <= self.last.end && !self.untouched() {
            return None;
        }
        let moved = self.moved_by(now);
        let idle_ns = now.saturating_since(self.last.end);
        let idle = self.idle_time(idle_ns, Some(idle_ns));
        self.last.add_idle(&mut self.account, idle);
        // No policy decides about the time before the first service.
        if !self.untouched() {
            self.last_regret_j = self.spin_down.regret_j(idle_ns);
            self.spin_down.record_idle(idle_ns);
        }
        moved.and_then(|(sled, wake_ns)| {
            self.sled = sled;
            wake_ns
        })
    }

    /// Returns the ledger after the last service and the idle time `idle` since, in which an ideal policy would save `regret_j`.
    pub(super) fn idle_ledger(&self, idle: IdleTime, regret_j: f64) -> EnergyLedger {
        let mut account = self.account_after(idle);
        let surplus_ns = account.at().saturating_since(self.last.end + idle.moving_ns + idle.stopped_ns);
        if surplus_ns > 0 {
            // The account includes more of the idle period.
            let added_ns = account.at() - self.last.end;
            let added = self.idle_time(added_ns, Some(added_ns));
            account.remove_time(IDLE, self.last.tips, added.moving_ns - idle.moving_ns);
            account.remove_time(INACTIVE, 0, added.stopped_ns - idle.stopped_ns);
        }
        let regret_j = self.regret_j + self.last_regret_j + if self.untouched() { 0.0 } else { regret_j };
        EnergyLedger { regret_j, ..account.ledger() }
    }

    /// Returns the account after the last service and the idle time since.
    pub(super) fn account_after(&self, idle: IdleTime) -> EnergyAccount {
        let mut account = self.account.clone();
        self.trace.add_until(self.last.end, &mut account);
        self.last.add_idle(&mut account, idle);
        account
    }

    /// What is accessed for `request`.
    #[inline]
    pub(super) fn extent(&self, request: &Request) -> Extent {
        debug_assert!(request.blocks > 0 && request.end_lbn() <= self.geometry.capacity_blocks(), "{request:?}");
        Extent::new(&self.geometry, request, self.subsector)
    }

    /// Wakes the device at `now` for a service.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) -> Passes {
        debug_assert!(self.untouched() || self.last.end <= now, "the sled serves until {:?}", self.last.end);
        let startup = self.end_idle(now);
        if startup.is_some() {
            // A start-up that takes no time counts, too.
            self.account.enter(Activity::STARTUP);
        }
        let startup_ns = startup.unwrap_or(0);
        let awake = now + startup_ns;
        self.trace.begin(now, startup_ns);
        Passes {
            start: now,
            at: awake,
            bus_done: self.bus_free.max(awake),
            phases: Phases { startup_ns, ..Phases::default() },
            tips: 0,
            positioned: false,
            work: ServiceWork { startup_ns, ..ServiceWork::default() },
        }
    }

    /// Passes over a row with `tips` on; so many blocks are read and so many written, one perhaps both.
    #[inline]
    pub(super) fn pass(&mut self, run: &mut Passes, approach: &Approach, tips: u32, reads: u32, writes: u32) {
        self.pass_rows(run, approach, (tips, 1), reads, writes);
    }

    /// Passes over so many rows without a stop, with `tips` on.
    #[inline]
    pub(super) fn pass_rows(
        &mut self,
        run: &mut Passes,
        approach: &Approach,
        (tips, rows): (u32, u32),
        reads: u32,
        writes: u32,
    ) {
        let units = u64::from(rows);
        let seek_ns = approach.seek_ns;
        if run.positioned {
            run.phases.turnaround_ns += seek_ns;
        } else {
            run.positioned = true;
            run.phases.seek_ns = seek_ns;
            run.phases.seek_x_ns = approach.x_ns;
            run.phases.seek_y_ns = approach.y.ns;
            run.phases.seek_turnaround_ns = approach.y.turnaround_ns;
            run.phases.settle_ns = if approach.settles { self.positioning.settle_ns() } else { 0 };
        }
        run.work.seek_ns += seek_ns;
        run.at += seek_ns;
        let mut wait_ns = 0;
        if writes > 0 {
            run.bus_done += u64::from(writes) * self.bus_ns_per_block;
            wait_ns = run.bus_done.saturating_since(run.at);
            run.phases.bus_ns += wait_ns;
            run.work.wait_ns += wait_ns;
            run.at += wait_ns;
        }
        self.trace.pass(seek_ns, wait_ns, tips, rows);
        run.tips = tips;
        run.work.passes += units;
        run.work.tip_passes += u64::from(tips) * units;
        run.phases.servo_ns += units * self.pass_time.servo_ns;
        run.phases.transfer_ns += units * self.pass_time.data_ns;
        run.at += units * self.pass_time.ns();
        if reads > 0 {
            run.bus_done = run.bus_done.max(run.at) + u64::from(reads) * self.bus_ns_per_block;
        }
        self.sled = approach.done;
    }

    /// Passes over a row for blocks of which so many are read and so many written, with the tips of all of them; and again until
    /// each is read. Tells how often it passed.
    #[inline]
    pub(super) fn pass_until_read(
        &mut self,
        run: &mut Passes,
        approach: &Approach,
        tips: u32,
        [reads, writes]: [u32; 2],
    ) -> u64 {
        let on = self.tips.on(tips, reads);
        if !self.tips.misread() {
            self.pass(run, approach, on, reads, writes);
            return 1;
        }
        let mut left = self.tips.misses(reads, false);
        self.pass(run, approach, on, reads - left, writes);
        let mut passes = 1;
        while left > 0 {
            let still = self.tips.misses(left, true);
            let again = approach.again(&self.positioning, &self.sled);
            self.pass(run, &again, left * self.geometry.tips_per_block, left - still, 0);
            (left, passes) = (still, passes + 1);
        }
        passes
    }

    /// Serves a request whose data pass as a stream: from the sooner end where it lies in one track, else in its order. Where
    /// they pass point by point, always in its order, and one block along either axis.
    pub(super) fn stream(&mut self, run: &mut Passes, request: &Request) {
        let mut place = self.geometry.place(request.lbn);
        let mut left = request.blocks;
        while left > 0 {
            let (blocks, inverted) = self.geometry.run_in_track(&place, left);
            let rows = if inverted { place.row + 1 - blocks..place.row + 1 } else { place.row..place.row + blocks };
            let downward = inverted && self.positioning.directions().len() > 1;
            let approach = if self.geometry.has_points() {
                self.positioning.approach_rows(&self.sled, place.cylinder, rows, downward, request.blocks == 1)
            } else if blocks == request.blocks {
                self.positioning.approach_to(&self.sled, place.cylinder, rows)
            } else {
                self.positioning.approach_in(&self.sled, place.cylinder, rows, downward)
            };
            let (reads, writes) = if request.op == Op::Read { (blocks, 0) } else { (0, blocks) };
            self.pass_rows(run, &approach, (self.geometry.tips_per_block, blocks), reads, writes);
            left -= blocks;
            if left > 0 {
                place = self.geometry.place(request.end_lbn() - u64::from(left));
            }
        }
    }

    /// Ends a service. The sled is free when the last pass is over; what is left of the bus transfer
    /// overlaps with whatever it does next.
    #[inline]
    pub(super) fn finish(&mut self, run: &mut Passes) -> Service {
        let bus_ns = run.bus_done.saturating_since(run.at);
        run.phases.bus_ns += bus_ns;
        self.bus_free = run.bus_done;
        self.last = LastService { end: run.at, tips: run.tips };
        if self.idle_tip_w > 0.0 {
            self.spin_down.set_ready_w(self.power.sled_w + f64::from(run.tips) * self.idle_tip_w);
        }
        debug_assert_eq!(run.phases.service_ns(), run.at + bus_ns - run.start, "each nanosecond is of one phase");
        let energy = run.work.energy(&self.power, self.pass_time);
        Service { start: run.start, end: run.at + bus_ns, free: run.at, phases: run.phases, energy }
    }
}
