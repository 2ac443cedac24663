//! The sled as a [`Mechanism`]: its state, idle periods and energy account.

use std::ops::Range;

use crate::devices::mems::buffer::RowBuffer;
use crate::devices::mems::energy::{PassTime, Power, ServiceTrace, IDLE, INACTIVE, STOPPED};
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::parameters::{Idle, MemsParameters, RowDirection, StopAt, Transfer, WriteTransfer};
use crate::devices::mems::positioning::{Positioning, SledState, YState};
use crate::devices::mems::subsector::{BlockCounts, RowPasses};
use crate::devices::mems::tips::Tips;
use crate::devices::mems::{batch, idle_modes, plans, points};
use crate::devices::{
    serve_in_turn, BatchAccess, Condition, Coordinates, Defects, Dimensions, Estimate, Location, Mechanism,
    MechanismState, MotionLog, Plan, Powered, Together,
};
use crate::engine::details::Count;
use crate::fault::Fault;
use crate::power::{Activity, EnergyAccount, SpinDown, SpinDownSpec};
use crate::request::{Op, Request};
use crate::service::{EnergyLedger, Service};
use crate::time::{ms_to_ns, s_to_ns, Time};
use crate::units::M_PER_UM;

/// One sled with its tips.
#[derive(Clone)]
pub struct MemsDevice {
    pub(super) geometry: Geometry,
    pub(super) tips: Tips,
    positioning: Positioning,
    pub(super) power: Power,
    pub(super) pass_time: PassTime,
    pub(super) bus_ns_per_block: u64,
    /// True if a pass writes only blocks that have crossed the bus before the sled moves to the row.
    pub(super) writes_crossed_blocks: bool,
    pub(super) overhead_ns: u64,
    startup_ns: u64,
    /// True if an idle sled sweeps.
    sweeps: bool,
    /// True if the sled stops where it is, false if at the centre.
    stops_in_place: bool,
    /// True if only the tips with needed bytes are active.
    pub(super) subsector: bool,
    /// Policy for its idle modes: moving, and stopped.
    pub(super) spin_down: SpinDown,
    /// Power of each tip of the last access while the sled is idle.
    pub(super) idle_tip_w: f64,
    /// End of the bus transfer of all services so far.
    pub(super) bus_free: Time,
    pub(super) buffer: RowBuffer,
    pub(super) sled: SledState,
    /// Energy that an ideal policy would have saved in the idle periods that have ended, except the last.
    pub(super) regret_j: f64,
    /// Energy that an ideal policy would have saved in the last idle period that has ended.
    pub(super) last_regret_j: f64,
    pub(super) last: LastService,
    /// Intervals of the latest service.
    pub(super) trace: ServiceTrace,
    /// Includes all time before the latest service, and possibly more.
    pub(super) account: EnergyAccount,
    pub(super) motion: MotionLog,
}

/// Returns the greatest access speed from which the actuator and the springs stop the sled within `gap_um` beyond its travel, in
/// metres per second (Schlosser et al. 2000, section 2.3): their work over that distance equals the kinetic energy of the sled.
pub(super) fn access_speed_limit_m_s(p: &MemsParameters, gap_um: f64) -> f64 {
    let (gap_m, half_m) = (gap_um * M_PER_UM, p.y_range_um * M_PER_UM / 2.0);
    let spring_m = p.spring_factor * gap_m * (1.0 + gap_m / (2.0 * half_m));
    (2.0 * p.acceleration_y_m_s2 * (gap_m + spring_m)).sqrt()
}

/// Checks that the fingers of the actuator do not touch at the access speed.
///
/// # Errors
/// The sled is too fast.
fn check_access_speed(p: &MemsParameters, speed_m_s: f64) -> Result<(), Fault> {
    let Some(gap_um) = p.finger_gap_um else { return Ok(()) };
    let limit_m_s = access_speed_limit_m_s(p, gap_um);
    if speed_m_s <= limit_m_s {
        return Ok(());
    }
    Err(Fault::conflict("finger_gap_um", gap_um)
        .says(format!(
            ": the actuator stops the sled within it from {} mm/s at most, but the access speed is {} mm/s: raise it or ",
            (limit_m_s * 1e3).round(),
            (speed_m_s * 1e3).round()
        ))
        .option("acceleration_y_m_s2")
        .says(", or lower ")
        .option("bit_rate_kbit_s"))
}

/// The latest service, which may not have ended yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastService {
    pub(super) end: Time,
    /// Active tips of its last pass; 0 before the first service.
    pub(super) tips: u32,
}

impl LastService {
    /// Adds the idle time since the service to an account that includes the service.
    #[inline]
    pub(super) fn add_idle(&self, account: &mut EnergyAccount, idle: IdleTime) {
        account.add(IDLE, self.tips, self.end + idle.moving_ns);
        account.add(INACTIVE, 0, self.end + idle.moving_ns + idle.stopped_ns);
    }
}

/// The sled at the start of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadySled {
    pub sled: SledState,
    /// Start-up time, if the sled was stopped.
    pub startup_ns: Option<u64>,
}

impl ReadySled {
    /// Returns the time until the sled is ready.
    #[inline]
    fn wake_ns(&self) -> u64 {
        self.startup_ns.unwrap_or(0)
    }
}

/// The time of an idle period by mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleTime {
    pub moving_ns: u64,
    pub stopped_ns: u64,
}

/// If directions are fixed by the track, [`Location::slot`] is the row times this, plus 1 if the track has its rows in reverse order.
const DIRECTIONS: u32 = 2;

/// Checks options of writes and directions that exclude other values.
fn check_effects(p: &MemsParameters) -> Result<(), Fault> {
    if p.write_transfer == WriteTransfer::Before && p.bus_ms_per_block == 0.0 {
        return Err(Fault::conflict("write_transfer", "before")
            .says(" has no effect with ")
            .key_is("bus_ms_per_block", 0.0)
            .says(": leave it out, or give blocks a time on the bus"));
    }
    if p.row_direction == RowDirection::ByTrack && !p.bidirectional {
        return Err(Fault::conflict("row_direction", "by-track")
            .says(" has no effect with ")
            .key_is("bidirectional", false)
            .says(": leave it out, or write ")
            .set("bidirectional", true));
    }
    Ok(())
}

/// Checks options of rows and tips that exclude a kind of transfer.
fn check_transfer(p: &MemsParameters) -> Result<(), Fault> {
    let (crossed, fixed) = (p.write_transfer == WriteTransfer::Before, p.row_direction == RowDirection::ByTrack);
    let fault = match p.transfer {
        Transfer::Fluid | Transfer::Points if crossed => Fault::conflict("write_transfer", "before"),
        Transfer::Points if fixed => Fault::conflict("row_direction", "by-track"),
        Transfer::Points if p.tip_deflection_nm > 0.0 => Fault::conflict("tip_deflection_nm", p.tip_deflection_nm),
        _ => return Ok(()),
    };
    let transfer = if p.transfer == Transfer::Fluid { "fluid" } else { "points" };
    Err(fault
        .says(" has no effect with ")
        .key_is("transfer", transfer)
        .says(": leave it out, or write ")
        .set("transfer", "rows"))
}

impl MemsDevice {
    /// Returns a device that is stopped at the centre of travel, and stops after its timeout.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub fn new(parameters: &MemsParameters) -> Result<Self, Fault> {
        Self::with_spin_down(parameters, None, 0)
    }

    /// Returns the sled of index `sled`, which decides its failed tips, with a spin-down policy.
    ///
    /// # Errors
    /// As [`MemsDevice::new`]; or a policy for a sled that saves no power when stopped.
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
        check_transfer(p)?;
        check_effects(p)?;
        check_access_speed(p, positioning.speed_m_s())?;
        if geometry.has_points() {
            points::check(p, &positioning)?;
        }
        if geometry.is_stream() && p.buffer_rows > 0 {
            return Err(Fault::conflict("buffer_rows", p.buffer_rows)
                .says(": the buffer holds rows, so data must pass in rows: write ")
                .key_is("transfer", "rows")
                .says(", or ")
                .key_is("buffer_rows", 0));
        }
        let bit_s = 1.0 / (p.bit_rate_kbit_s * 1e3);
        // The whole pass is rounded, so that streaming keeps the bit rate to a nanosecond per row.
        let pass_ns = s_to_ns(geometry.pitch_bits() * bit_s);
        let servo_ns = s_to_ns(geometry.servo_share_bits() * bit_s);
        let pass_time = PassTime { servo_ns, data_ns: pass_ns - servo_ns };
        let power = Power::new(p);
        Ok(Self {
            power,
            pass_time,
            bus_ns_per_block: ms_to_ns(p.bus_ms_per_block),
            writes_crossed_blocks: p.write_transfer == WriteTransfer::Before,
            overhead_ns: ms_to_ns(p.overhead_ms),
            startup_ns: ms_to_ns(p.startup_ms),
            sweeps: p.idle == Idle::Sweep,
            stops_in_place: p.stop_at == StopAt::InPlace,
            subsector: false,
            spin_down: idle_modes::policy(p, spin_down)?,
            idle_tip_w: idle_modes::idle_tip_w(p),
            sled: SledState::on(geometry.centre_cylinder(), YState::Rest),
            bus_free: Time::ZERO,
            buffer: RowBuffer::new(p.buffer_rows),
            regret_j: 0.0,
            last_regret_j: 0.0,
            last: LastService::default(),
            trace: ServiceTrace::new(pass_time),
            account: EnergyAccount::new(Activity::idle(STOPPED), power.levels(p, pass_time)),
            motion: MotionLog::default(),
            tips: Tips::new(p, &geometry, sled)?,
            positioning,
            geometry,
        })
    }

    /// Returns the positioning.
    #[inline]
    pub(super) fn positioning(&self) -> &Positioning {
        &self.positioning
    }

    /// Returns the geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the blocks at the sled position of `lbn`, see [`Geometry::equivalent`].
    #[must_use]
    pub fn equivalent(&self, lbn: u64) -> Vec<u64> {
        self.geometry.equivalent(lbn)
    }

    /// Returns true before the first service.
    pub(super) fn is_unused(&self) -> bool {
        self.last.tips == 0
    }

    /// Returns the sled as a service at `now` finds it; `now` is not before the end of the last service.
    #[inline]
    pub(super) fn sled_at(&self, now: Time) -> ReadySled {
        self.sled_after_idle(now).unwrap_or(ReadySled { sled: self.sled, startup_ns: None })
    }

    /// Returns the sled as a service at `now` finds it; `None` if it is as the last service left it.
    #[inline]
    fn sled_after_idle(&self, now: Time) -> Option<ReadySled> {
        let idle_ns = now.saturating_since(self.last.end);
        if self.is_unused() || self.spin_down.mode_at(idle_ns) > 0 {
            return Some(ReadySled { sled: self.restarted(idle_ns), startup_ns: Some(self.startup_ns) });
        }
        (self.sweeps && idle_ns > 0).then(|| ReadySled { sled: self.swept(idle_ns), startup_ns: None })
    }

    /// Returns the sled after an idle time without a stop.
    #[inline]
    fn swept(&self, idle_ns: u64) -> SledState {
        if self.sweeps && idle_ns > 0 {
            SledState { y: self.positioning.after_sweep(&self.sled.y, idle_ns), ..self.sled }
        } else {
            self.sled
        }
    }

    /// Returns the sled after a start-up that ends an idle time.
    fn restarted(&self, idle_ns: u64) -> SledState {
        if self.stops_in_place && !self.is_unused() {
            let [moving_ns, ..] = self.spin_down.spent_ns(idle_ns);
            let last = self.swept(moving_ns);
            let y_m = self.positioning.y_state(&last.y).position_m;
            return SledState::on(last.cylinder, YState::Free { y_m, speed_m_s: 0.0, delay_ns: 0 });
        }
        SledState::on(self.geometry.centre_cylinder(), YState::Rest)
    }

    /// Returns the first `part_ns` of the idle period after the last service, if a request ends it after `whole_ns`;
    /// `None` if the period has not ended.
    #[inline]
    pub(super) fn idle_time(&self, part_ns: u64, whole_ns: Option<u64>) -> IdleTime {
        if self.is_unused() {
            return IdleTime { moving_ns: 0, stopped_ns: part_ns };
        }
        let [moving_ns, stopped_ns, ..] = match whole_ns {
            Some(whole_ns) => self.spin_down.part_ns(part_ns, whole_ns),
            None => self.spin_down.open_ns(part_ns),
        };
        IdleTime { moving_ns, stopped_ns }
    }

    /// Ends the idle period before a service that begins at `now`; returns the start-up time if the sled has to start up.
    #[inline]
    pub(super) fn end_idle(&mut self, now: Time) -> Option<u64> {
        self.trace.add_all(&mut self.account);
        self.regret_j += self.last_regret_j;
        self.last_regret_j = 0.0;
        // The common case on a busy device.
        if now <= self.last.end && !self.is_unused() {
            return None;
        }
        let ready = self.sled_after_idle(now);
        let idle_ns = now.saturating_since(self.last.end);
        let idle = self.idle_time(idle_ns, Some(idle_ns));
        self.last.add_idle(&mut self.account, idle);
        // No policy decides about the time before the first service.
        if !self.is_unused() {
            self.last_regret_j = self.spin_down.regret_j(idle_ns);
            self.spin_down.record_idle(idle_ns);
        }
        ready.and_then(|ready| {
            self.sled = ready.sled;
            ready.startup_ns
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
        let regret_j = self.regret_j + self.last_regret_j + if self.is_unused() { 0.0 } else { regret_j };
        EnergyLedger { regret_j, ..account.ledger() }
    }

    /// Returns the account after the last service and the idle time since.
    pub(super) fn account_after(&self, idle: IdleTime) -> EnergyAccount {
        let mut account = self.account.clone();
        self.trace.add_until(self.last.end, &mut account);
        self.last.add_idle(&mut account, idle);
        account
    }
}

impl Mechanism for MemsDevice {
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            capacity_blocks: self.geometry.capacity_blocks(),
            block_bytes: self.geometry.block_bytes,
            cylinders: self.geometry.cylinders,
            command_overhead_ns: self.overhead_ns,
        }
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        if self.geometry.has_points() {
            return points::locate(self, request);
        }
        let place = self.geometry.place(self.extent(request).lbn);
        if self.positioning().directions_are_fixed() {
            let is_reversed = self.geometry.is_reversed(place.cylinder, place.track);
            return Location { cylinder: place.cylinder, slot: DIRECTIONS * place.row + u32::from(is_reversed) };
        }
        Location { cylinder: place.cylinder, slot: place.row }
    }

    fn coordinates_m(&self, location: Location) -> Coordinates {
        let row = if self.geometry.has_points() { points::row_of(location) } else { self.row_of(location).0 };
        Coordinates { x_m: self.geometry.x_m(location.cylinder), y_m: self.geometry.row_middle_m(row) }
    }

    fn position_m(&self, now: Time) -> Coordinates {
        let sled = self.sled_at(now).sled;
        let positioning = self.positioning();
        Coordinates { x_m: positioning.x_state(&sled).position_m, y_m: positioning.y_state(&sled.y).position_m }
    }

    #[inline]
    fn cylinder(&self, now: Time) -> u32 {
        self.sled_at(now).sled.cylinder
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let ready = self.sled_at(now);
        let (sled, startup_ns) = (ready.sled, ready.wake_ns());
        if self.geometry.has_points() {
            return startup_ns + self.positioning().point_bound_ns(&sled, cylinder);
        }
        startup_ns + self.positioning().x_bound_ns(sled.cylinder, cylinder)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let ready = self.sled_at(now);
        let (sled, startup_ns) = (ready.sled, ready.wake_ns());
        if self.geometry.has_points() {
            return startup_ns + self.positioning().approach_location(&sled, location).seek_ns;
        }
        let (row, is_reversed) = self.row_of(location);
        startup_ns + self.positioning().approach_row(&sled, location.cylinder, row, is_reversed).seek_ns
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        if self.buffer.exists() && request.op == Op::Read {
            return self.serve_buffered(now, request);
        }
        let mut run = self.begin(now);
        if self.geometry.is_stream() {
            self.stream(&mut run, request);
            return self.finish(&mut run);
        }
        let mut passes = RowPasses::new(&self.geometry, self.extent(request));
        while !passes.is_done() {
            let pass = passes.next_pass(&self.geometry, self.pass_limit(&run, request.op, &passes));
            let approach = self.positioning().approach_row(&self.sled, pass.cylinder, pass.row, pass.is_reversed);
            self.pass_until_read(&mut run, &approach, pass.tips, BlockCounts::of(request.op, pass.blocks));
        }
        self.finish(&mut run)
    }

    fn serve_together(&mut self, now: Time, requests: &[Request], how: Together<'_>, out: &mut Vec<Service>) {
        match (how, requests) {
            (Together::Merged(Some(plan)), _) => plans::serve(self, now, requests, plan, out),
            (Together::Merged(None), _) if self.serves_in_turn() || self.geometry.has_points() => {
                how.serve_one_by_one(self, now, requests, out)
            }
            (_, []) => {}
            // A single request is served in LBN order, as without a batch.
            (_, [only]) => out.push(self.serve(now, only)),
            _ if self.geometry.has_points() => points::serve(self, now, requests, out),
            _ if self.serves_in_turn() => serve_in_turn(self, now, requests, out),
            _ => batch::serve(self, now, requests, out),
        }
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        if now < self.last.end {
            let mut account = self.account.clone();
            self.trace.add_until(now, &mut account);
            // The part of a start-up that is still to come has not been spent, and an ideal policy would not save it.
            let ahead_j = self.spin_down.return_part_j(STOPPED, self.trace.started().saturating_since(now));
            let regret_j = self.regret_j + (self.last_regret_j - ahead_j).max(0.0);
            return EnergyLedger { regret_j, ..account.ledger() };
        }
        let idle_ns = now.saturating_since(self.last.end);
        self.idle_ledger(self.idle_time(idle_ns, None), self.spin_down.waste_j(idle_ns))
    }

    fn batch_access(&self) -> Option<&dyn BatchAccess> {
        (!self.serves_in_turn()).then_some(self as &dyn BatchAccess)
    }

    fn powered(&self) -> Option<&dyn Powered> {
        Some(self)
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        Some(self)
    }

    fn motion_log(&mut self) -> Option<&mut MotionLog> {
        // Approaches to points move along both axes in ways of their own.
        (!self.geometry.has_points()).then_some(&mut self.motion)
    }

    fn power_cut(&mut self, _now: Time) {
        self.buffer.clear();
    }

    fn defects(&self) -> Option<&dyn Defects> {
        self.tips.have_failed().then_some(self as &dyn Defects)
    }
}

impl Powered for MemsDevice {
    fn wake_ns(&self, now: Time) -> u64 {
        self.sled_at(now).wake_ns()
    }

    fn wakes_for(&self, now: Time, request: &Request) -> bool {
        !self.is_buffered(request) && self.wake_ns(now) > 0
    }

    fn idle_ns(&self, now: Time) -> u64 {
        if self.is_unused() {
            0
        } else {
            now.saturating_since(self.last.end)
        }
    }

    fn spin_down(&self) -> &SpinDown {
        &self.spin_down
    }

    fn spin_down_mut(&mut self) -> &mut SpinDown {
        &mut self.spin_down
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        if then < self.last.end {
            return self.ledger(then);
        }
        let [part_ns, whole_ns] = [then, now].map(|at| at.saturating_since(self.last.end));
        let regret_j = self.spin_down.part_regret_j(part_ns, whole_ns);
        self.idle_ledger(self.idle_time(part_ns, Some(whole_ns)), regret_j)
    }

    fn energy_account(&self, now: Time) -> EnergyAccount {
        if now < self.last.end {
            let mut account = self.account.clone();
            self.trace.add_until(now, &mut account);
            return account;
        }
        self.account_after(self.idle_time(now - self.last.end, None))
    }

    fn settle_energy_account(&mut self, now: Time) -> &mut EnergyAccount {
        self.trace.add_until(now, &mut self.account);
        let idle_ns = now.saturating_since(self.last.end);
        if now > self.last.end && (self.is_unused() || self.spin_down.is_decided(idle_ns)) {
            let idle = self.idle_time(idle_ns, Some(idle_ns));
            self.last.add_idle(&mut self.account, idle);
        }
        &mut self.account
    }
}

impl Defects for MemsDevice {
    #[inline]
    fn condition(&self, request: &Request) -> Condition {
        let extent = self.extent(request);
        self.tips.condition(&self.geometry, extent.lbn, extent.blocks)
    }

    fn counts(&self) -> Vec<Count> {
        self.tips.counts(&self.geometry)
    }
}

impl MemsDevice {
    /// Returns true if passes cannot access blocks of several requests: in a stream all tips access one block, and blocks of several tracks
    /// have no common direction if directions are fixed.
    fn serves_in_turn(&self) -> bool {
        !self.geometry.has_points() && (self.geometry.is_stream() || self.positioning().directions_are_fixed())
    }

    /// Returns the row of a location, and true if its track has its rows in reverse order.
    #[inline]
    fn row_of(&self, location: Location) -> (u32, bool) {
        if self.positioning().directions_are_fixed() {
            (location.slot / DIRECTIONS, location.slot % DIRECTIONS == 1)
        } else {
            (location.slot, false)
        }
    }

    /// Sets the device to access only the bytes that requests need, see [`Request::needed`]. Returns `false` if it can't access
    /// less than a block.
    pub fn access_subsectors(&mut self) -> bool {
        // The buffer holds whole rows, and an erasure code over tips covers whole blocks.
        self.subsector = !self.geometry.is_stream() && self.tips.check == 0 && !self.buffer.exists();
        self.subsector
    }
}

impl BatchAccess for MemsDevice {
    fn plans_merges(&self) -> bool {
        !self.geometry.has_points()
    }

    fn plans(&self, now: Time, requests: &[Request]) -> Vec<Plan> {
        plans::plans(self, now, requests)
    }

    fn estimate(&self, now: Time, from: Option<MechanismState>, request: &Request) -> Estimate {
        plans::estimate(self, now, from, request)
    }

    fn move_j(&self, from: MechanismState, to: MechanismState) -> f64 {
        plans::move_j(self, from, to)
    }

    fn max_turnaround_j(&self) -> f64 {
        plans::max_turnaround_j(self)
    }

    fn for_each_companion(&self, request: &Request, visit: &mut dyn FnMut(Range<u64>)) {
        if self.geometry.has_points() {
            return points::for_each_companion(self, request, visit);
        }
        let extent = self.extent(request);
        self.geometry.for_each_companion(extent.lbn, extent.blocks, visit);
    }

    fn shares_pass(&self, first: &Request, other: &Request) -> bool {
        let other = self.extent(other);
        let mut shares = false;
        self.for_each_companion(first, &mut |range| {
            shares |= other.lbn < range.end && range.start < other.lbn + u64::from(other.blocks);
        });
        shares
    }
}
