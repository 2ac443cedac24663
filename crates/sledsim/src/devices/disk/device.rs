//! A disk drive as a [`Mechanism`].

use std::cell::Cell;

use super::background::{ReleasedArms, Task};
use super::buffer::Buffer;
use super::bus::Chunk;
use super::command::{ns, Overheads};
use super::layout::BlockRange;
use super::pass::{ArmMove, DataArrival, Pass, PassOptions, Target};
use super::power::PoweredState;
use super::retries::Retries;
use super::work_log::{PhaseTimeline, WorkLog};
use super::writing::WriteSetup;
use super::{Arm, CommandQueue, DiskParameters, FastWrite, Mechanics, Place, ReadAhead, WriteCache, Zone};
use crate::convert::trunc_to_u64;
use crate::devices::power_manager::PowerManager;
use crate::devices::{
    Arc, Coordinates, CylinderBounds, Dimensions, EnergyLedger, Location, Mechanism, MotionLog, Movement, Platter,
    Powered, Rotating, Service, VolatileCache, WriteCaching,
};
use crate::engine::random::Stream;
use crate::fault::{Fault, Range};
use crate::power::SharedSpindle;
use crate::request::{Flags, Op, Request};
use crate::time::{ns_to_s, Time};

/// Distance between neighbouring cylinders in the coordinates of a drive, m. Policies only compare distances, so the order of
/// magnitude of a track pitch is enough.
const CYLINDER_M: f64 = 1e-6;

/// The bits of head, sector and operation in a [`Location::slot`].
#[derive(Clone, Copy, Debug)]
struct SlotBits {
    sector: u32,
}

impl SlotBits {
    /// Returns the bits for tracks of at most `sectors` sectors under `surfaces` heads.
    ///
    /// # Errors
    /// A slot has too few bits.
    fn new(sectors: u32, surfaces: u32) -> Result<Self, Fault> {
        let bits = |count: u32| u32::BITS - (count - 1).leading_zeros();
        let (sector, head) = (bits(sectors), bits(surfaces));
        if sector + head + 1 > u32::BITS {
            let says = format!(" with {sectors} sectors on a track: too many to tell apart");
            return Err(Fault::conflict("surfaces", surfaces).says(says));
        }
        Ok(Self { sector })
    }

    #[inline]
    fn pack(self, place: Place, op: Op) -> u32 {
        (((place.head << self.sector) | place.sector) << 1) | u32::from(op == Op::Write)
    }

    #[inline]
    fn unpack(self, location: Location) -> (Place, Op) {
        let (track, write) = (location.slot >> 1, location.slot & 1);
        let (head, sector) = (track >> self.sector, track & ((1 << self.sector) - 1));
        (Place { cylinder: location.cylinder, head, sector }, if write == 1 { Op::Write } else { Op::Read })
    }
}

/// The part of a read that has to be in the buffer before the drive reconnects.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadWatermark {
    /// A number of blocks, at least 1.
    Blocks(u64),
    /// A share of the request, or of a segment if that is smaller.
    OfRequest(f64),
}

/// Behaviour of a drive's electronics; see the parameters of the same names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub hold_bus_reading: bool,
    pub never_disconnect: bool,
    pub extra_write_disconnect: bool,
    pub read_watermark: ReadWatermark,
    pub read_ahead: ReadAhead,
    pub least_blocks: u64,
    pub most_blocks: Option<u64>,
    pub over_requested: i32,
    pub on_idle_hit: bool,
    pub any_order_reads: bool,
    pub any_order_writes: bool,
    /// True if the blocks of a pass are transferred after its end: a drive that holds the bus, and reads in any order, would
    /// otherwise hold it while it waits for the last blocks.
    pub transfers_after_pass: bool,
    pub free_blocks: bool,
    pub fast_write: FastWrite,
    pub combine_writes: bool,
    pub transfer_partial_hits: bool,
    pub almost_hits: bool,
    pub whole_hits_beside_writes: bool,
    pub partial_hits_beside_writes: bool,
}

/// A request that a drive processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    /// When the drive received it, ready.
    pub start: Time,
    /// `start` plus the overhead of every request.
    pub at: Time,
    /// The requested blocks.
    pub blocks: BlockRange,
}

/// The request before the current one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreviousRequest {
    pub op: Op,
    /// Block after its last.
    pub end: u64,
}

/// The start of a search for the next request.
#[derive(Clone, Copy, Debug)]
struct SearchStart {
    now: Time,
    /// Lower bound on the time until an arm may leave.
    least_ns: u64,
    /// Cylinder of the arm that moved last.
    here: u32,
    /// Cylinder of the other arm, if there is one.
    other: Option<u32>,
}

/// A disk drive.
#[derive(Clone)]
pub struct DiskDevice {
    pub(super) mechanics: Mechanics,
    pub(super) overheads: Overheads,
    pub(super) policy: Policy,
    pub(super) buffer: Buffer,
    pub(super) stops_in_sector: bool,
    least_read_seek_ns: u64,
    /// Positions of the arms, without the work of the task.
    pub(super) arms: [Arm; 2],
    /// Index of the arm that moved last.
    pub(super) arm: u32,
    /// End of the last recorded pass.
    pub(super) free: Time,
    /// Read-ahead or write-behind under way.
    pub(super) task: Option<Task>,
    /// True if the heads have done background work since the last access for a request.
    pub(super) moved_in_background: bool,
    pub(super) previous: PreviousRequest,
    pub(super) work_log: WorkLog,
    motion: MotionLog,
    /// Arrivals of the blocks of the request being served; kept to reuse its memory.
    pub(super) chunks: Vec<Chunk>,
    block_bytes: u32,
    pub(super) physical_sector_blocks: u64,
    /// Set if reads can fail at first.
    pub(super) retries: Option<Retries>,
    pub(super) command_queue: Option<CommandQueue>,
    /// Set if the cache holds anything.
    pub(super) write_cache: Option<WriteCache>,
    /// True while the drive serves a write-back of its cache.
    pub(super) is_write_back: bool,
    slot_bits: SlotBits,
    /// [`DiskDevice::released_arms`] at the instant of the last call.
    released_arms: Cell<Option<(Time, ReleasedArms)>>,
    /// [`DiskDevice::ready_at`] at the instant of the last call.
    pub(super) ready: Cell<Option<(Time, Time)>>,
    /// [`DiskDevice::search_start`] at the instant of the last call.
    search_start: Cell<Option<SearchStart>>,
    /// Set if the power is known.
    pub(super) powered_state: Option<Box<PoweredState>>,
}

impl DiskDevice {
    /// Returns a drive that has served nothing; of a drive with several ranges of LBNs, the part under one actuator.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        let share = parameters.of_one_actuator()?;
        let p = share.as_ref();
        let (ahead, behind) = (p.read_ahead != ReadAhead::None, p.fast_write != FastWrite::None);
        if !p.buffer_caching && (ahead || behind) {
            let fault = Fault::conflict("buffer_caching", false)
                .says(": a buffer that keeps nothing can't read ahead or write behind; with it goes ");
            return Err(match (ahead, behind) {
                (true, true) => fault.key_is("read_ahead", "none").says(" with ").key_is("fast_write", "none"),
                (true, false) => fault.set("read_ahead", "none"),
                _ => fault.set("fast_write", "none"),
            });
        }
        let write_cache = p.write_cache.filter(|cache| cache.blocks > 0);
        if write_cache.is_some() && behind {
            return Err(Fault::conflict("write_cache.blocks", write_cache.map_or(0, |cache| cache.blocks))
                .says(": a drive with a write cache does not write behind by itself; with it goes ")
                .key_is("fast_write", "none"));
        }
        if p.physical_sector_blocks == 0 {
            return Err(Fault::out_of_range("physical_sector_blocks", 0, Range::at_least(1.0)));
        }
        let mechanics = Mechanics::new(p)?;
        let sectors = p.zones.iter().map(|zone| zone.sectors_per_track).max().unwrap_or(1);
        Ok(Self {
            overheads: Overheads::new(p)?,
            policy: policy(p),
            buffer: Buffer::new(p)?,
            least_read_seek_ns: least_read_seek_ns(p, &mechanics)?,
            stops_in_sector: p.stop_read_ahead_in_sector,
            arms: [Arm::default(); 2],
            arm: 0,
            free: Time::ZERO,
            task: None,
            moved_in_background: false,
            previous: PreviousRequest { op: Op::Read, end: u64::MAX },
            work_log: WorkLog::new(p.power.is_some()),
            motion: MotionLog::default(),
            chunks: Vec::new(),
            block_bytes: p.block_bytes,
            physical_sector_blocks: u64::from(p.physical_sector_blocks),
            retries: Retries::new(p.read_retries)?,
            command_queue: p.command_queue,
            write_cache,
            is_write_back: false,
            slot_bits: SlotBits::new(sectors, p.surfaces)?,
            released_arms: Cell::new(None),
            ready: Cell::new(None),
            search_start: Cell::new(None),
            powered_state: p
                .power
                .as_ref()
                .map(PowerManager::new)
                .transpose()?
                .map(|manager| Box::new(PoweredState::new(manager))),
            mechanics,
        })
    }

    /// Returns the mechanics.
    #[must_use]
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Returns the minimum time of the first seek of a request. A read has to settle on its track again if the heads did background
    /// work meanwhile; otherwise they stay on it.
    #[inline]
    pub(super) fn least_seek_ns(&self, op: Op) -> u64 {
        match op {
            Op::Read if self.moved_in_background => self.least_read_seek_ns,
            Op::Read => 0,
            Op::Write | Op::Flush | Op::Reset => self.overheads.least_seek_ns,
        }
    }

    /// Records a pass for an operation, which ends or is stopped at `until`: its work, and the position of its arm.
    #[inline]
    pub(super) fn record_pass(&mut self, pass: &Pass, op: Op, until: Time) {
        self.work_log.pass(pass, op, until);
        if self.motion.is_recording() {
            self.record_motion(pass, until);
        }
        self.arms[pass.arm as usize] = pass.to;
        (self.arm, self.free) = (pass.arm, until);
    }
}

impl DiskDevice {
    /// Records the motion of an arm. The model has the time of a seek but not its path, which here has constant acceleration up to
    /// the middle and constant deceleration from there.
    #[cold]
    fn record_motion(&mut self, pass: &Pass, until: Time) {
        let axis = pass.arm as usize;
        let [from_m, to_m] = [self.arms[axis], pass.to].map(|arm| f64::from(arm.cylinder) * CYLINDER_M);
        let (begin, on_track, start) = (pass.begin, pass.on_track, pass.start.min(until));
        let half_s = 0.5 * ns_to_s(on_track - begin);
        if half_s > 0.0 {
            let accel_m_s2 = (to_m - from_m) / (half_s * half_s);
            let first = Arc { time_s: half_s, position_m: from_m, speed_m_s: 0.0, accel_m_s2, kappa: 0.0 };
            let middle = first.end();
            let (position_m, speed_m_s) = (middle.position_m, middle.speed_m_s);
            let second = Arc { time_s: half_s, position_m, speed_m_s, accel_m_s2: -accel_m_s2, kappa: 0.0 };
            self.motion.add(axis, begin, Movement::Seek, [first, second]);
        }
        let wait_s = ns_to_s(start.saturating_since(on_track));
        self.motion.add(axis, on_track, Movement::Hold, [Arc::rest(to_m, wait_s)]);
        let access_s = ns_to_s(until.saturating_since(start.max(on_track)));
        self.motion.add(axis, start.max(on_track), Movement::Access, [Arc::rest(to_m, access_s)]);
    }
}

/// Returns the minimum time of the first seek of a read: the parameter, or else the shorter of the smallest track skew, which is
/// the time that the maker allows for a change of tracks, and of a seek by one cylinder.
fn least_read_seek_ns(p: &DiskParameters, mechanics: &Mechanics) -> Result<u64, Fault> {
    if let Some(ms) = p.least_read_seek_ms {
        return ns("least_read_seek_ms", ms);
    }
    let skew = |zone: &Zone| zone.track_skew_sectors / f64::from(zone.sectors_per_track);
    let skew = p.zones.iter().map(skew).fold(1.0, f64::min);
    let skew_ns = trunc_to_u64(skew * mechanics.spindle().period_ns() as f64);
    Ok(skew_ns.min(mechanics.seek_ns(Arm::default(), Arm { cylinder: 1, head: 0 }, Op::Read)))
}

fn policy(p: &DiskParameters) -> Policy {
    let reads_ahead = p.read_ahead != ReadAhead::None;
    let least_blocks = if reads_ahead { u64::from(p.read_ahead_least_blocks) } else { 0 };
    Policy {
        hold_bus_reading: p.hold_bus_reading || p.never_disconnect,
        never_disconnect: p.never_disconnect,
        extra_write_disconnect: p.extra_write_disconnect && !p.never_disconnect,
        read_watermark: if p.watermark_of_request {
            ReadWatermark::OfRequest(p.read_watermark)
        } else {
            ReadWatermark::Blocks(trunc_to_u64((f64::from(p.segment_blocks) * p.read_watermark).ceil()).max(1))
        },
        read_ahead: p.read_ahead,
        least_blocks,
        most_blocks: p.read_ahead_most_blocks.map(|blocks| u64::from(blocks).max(least_blocks)),
        over_requested: p.read_ahead_over_requested,
        on_idle_hit: p.read_ahead_on_idle_hit,
        any_order_reads: p.zero_latency_reads || p.read_free_blocks && p.buffer_caching,
        any_order_writes: p.zero_latency_writes,
        transfers_after_pass: p.zero_latency_reads && (p.hold_bus_reading || p.never_disconnect),
        free_blocks: p.read_free_blocks && p.buffer_caching,
        fast_write: p.fast_write,
        combine_writes: p.combine_writes,
        transfer_partial_hits: p.transfer_partial_hits,
        almost_hits: p.almost_read_hits,
        whole_hits_beside_writes: p.whole_hits_beside_writes,
        partial_hits_beside_writes: p.partial_hits_beside_writes,
    }
}

impl Mechanism for DiskDevice {
    fn dimensions(&self) -> Dimensions {
        let layout = self.mechanics.layout();
        Dimensions {
            capacity_blocks: layout.capacity_blocks(),
            block_bytes: self.block_bytes,
            cylinders: layout.cylinders(),
            command_overhead_ns: 0,
        }
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        let place = self.mechanics.layout().place(request.lbn);
        Location { cylinder: place.cylinder, slot: self.slot_bits.pack(place, request.op) }
    }

    /// `x_m` is the distance from cylinder 0 at a track pitch of 1 um.
    fn coordinates_m(&self, location: Location) -> Coordinates {
        Coordinates { x_m: f64::from(location.cylinder) * CYLINDER_M, y_m: 0.0 }
    }

    fn position_m(&self, now: Time) -> Coordinates {
        Coordinates { x_m: f64::from(self.cylinder(now)) * CYLINDER_M, y_m: 0.0 }
    }

    /// Returns the cylinder of the arm that moved last, once a request can have it.
    #[inline]
    fn cylinder(&self, now: Time) -> u32 {
        let released = self.released_arms(self.ready_at(now));
        released.arms[released.arm as usize].cylinder
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let SearchStart { least_ns, here, other, .. } = self.search_start(now);
        let seek_ns = self.mechanics.seek_bound_ns(here.abs_diff(cylinder));
        let Some(other) = other else { return least_ns + seek_ns };
        // The bound may not fall as the distance grows. It is 0 from the start up to the cylinder of the other arm.
        let beyond = if cylinder >= here { other >= cylinder } else { other <= cylinder };
        let other_ns = if beyond { 0 } else { self.mechanics.seek_bound_ns(other.abs_diff(cylinder)) };
        least_ns + seek_ns.min(other_ns)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let (place, op) = self.slot_bits.unpack(location);
        let awake = self.ready_at(now);
        let released = self.released_arms(awake);
        let least_seek_ns = self.least_seek_ns(op);
        let options = PassOptions { op, any_order: false, least_seek_ns, data: DataArrival::COMPLETE };
        let (begin, earliest) = match op {
            Op::Read => (awake + self.command_ns(op), awake),
            Op::Write | Op::Flush | Op::Reset => {
                // The first block has to arrive over the bus.
                let setup = self.write_setup_at(awake + self.overheads.request_ns, place);
                (setup.arm_leaves, setup.connected + self.overheads.write_block_ns + least_seek_ns)
            }
        };
        let begin = begin.max(released.at);
        let to = Arm { cylinder: place.cylinder, head: place.head };
        let target = Target { to, angle: self.mechanics.start_angle(place) };
        ArmMove::quickest(&self.mechanics, begin, earliest, &released.arms, target, &options).start - now
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.fits(self.mechanics.layout().capacity_blocks()), "{request:?}");
        self.forget_estimates();
        self.work_log.settle(now);
        match self.powered_state.take() {
            None => self.serve_ready(now, request),
            Some(state) => self.serve_with_wake_up(state, now, request),
        }
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.ledger_at(now)
    }

    fn rotating(&self) -> Option<&dyn Rotating> {
        Some(self)
    }

    fn powered(&self) -> Option<&dyn Powered> {
        self.powered_state.is_some().then_some(self as &dyn Powered)
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        self.powered_state.is_some().then_some(self as &mut dyn Powered)
    }

    fn shared_spindle(&mut self) -> Option<&mut dyn SharedSpindle> {
        self.powered_state.is_some().then_some(self as &mut dyn SharedSpindle)
    }

    fn motion_log(&mut self) -> Option<&mut MotionLog> {
        Some(&mut self.motion)
    }

    /// Stops background work and empties the buffer.
    fn power_cut(&mut self, now: Time) {
        self.catch_up(now);
        self.task.iter_mut().for_each(|task| task.least = 0);
        self.stop_task(now);
        self.buffer.clear();
        (self.released_arms, self.ready, self.search_start) = Default::default();
    }

    fn volatile_cache(&self) -> Option<&dyn VolatileCache> {
        (self.policy.fast_write != FastWrite::None).then_some(self as &dyn VolatileCache)
    }

    fn command_queue(&self) -> Option<CommandQueue> {
        self.command_queue
    }

    fn set_random(&mut self, stream: Stream) {
        if let Some(retries) = &mut self.retries {
            retries.set_random(stream);
        }
    }

    fn write_caching(&self) -> Option<&dyn WriteCaching> {
        self.write_cache.is_some().then_some(self as &dyn WriteCaching)
    }

    fn write_caching_mut(&mut self) -> Option<&mut dyn WriteCaching> {
        self.write_cache.is_some().then_some(self as &mut dyn WriteCaching)
    }
}

impl Rotating for DiskDevice {
    fn platter(&self, now: Time) -> Option<Platter> {
        self.mechanics.platter(now)
    }

    #[inline]
    fn angle(&self, location: Location) -> u64 {
        self.mechanics.passing_angle(self.slot_bits.unpack(location).0)
    }

    fn cylinder_bounds(&self, now: Time) -> Option<CylinderBounds<'_>> {
        let SearchStart { least_ns, here, other, .. } = self.search_start(now);
        self.mechanics.cylinder_bounds(least_ns, here).filter(|_| other.is_none())
    }
}

impl VolatileCache for DiskDevice {
    fn is_dirty(&self, now: Time) -> bool {
        self.task.as_ref().is_some_and(Task::writes) && self.idle_since(Time::ZERO, now).is_none()
    }
}

impl DiskDevice {
    /// Drops what was computed for an instant, because the state changes.
    #[inline]
    pub(super) fn forget_estimates(&self) {
        self.released_arms.set(None);
        self.ready.set(None);
        self.search_start.set(None);
    }

    /// Serves a request that finds the drive ready at `now`.
    #[inline]
    pub(super) fn serve_ready(&mut self, now: Time, request: &Request) -> Service {
        if self.is_write_back {
            self.catch_up(now);
            return self.write_back_blocks(now, BlockRange { first: request.lbn, end: request.end_lbn() });
        }
        let at = now + self.overheads.request_ns;
        self.catch_up(at);
        let end = request.end_lbn();
        let command = Command { start: now, at, blocks: BlockRange { first: request.lbn, end } };
        let service = match request.op {
            Op::Flush => return self.flush(now, at),
            Op::Reset => unreachable!("only zoned components accept resets"),
            Op::Read => self.read(command),
            Op::Write if request.flags.contains(Flags::DURABLE) => self.write_durably(command),
            Op::Write => self.write(command),
        };
        self.moved_in_background |= self.task.is_some();
        self.previous = PreviousRequest { op: request.op, end };
        service
    }

    /// Returns the setup of a write at a place.
    fn write_setup_at(&self, at: Time, place: Place) -> WriteSetup {
        if self.policy.extra_write_disconnect {
            let first = self.mechanics.layout().lbn(place).unwrap_or(u64::MAX - 1);
            return self.write_setup(at, first, self.buffer.segment_for_write(BlockRange { first, end: first + 1 }));
        }
        // The LBN of a write that does not continue the previous one does not matter.
        self.single_write_setup(at, if self.continues_write(place) { self.previous.end } else { u64::MAX })
    }

    /// Returns a lower bound on the time from the dispatch of a request that misses until the arm may leave.
    #[inline]
    fn command_ns(&self, op: Op) -> u64 {
        let PreviousRequest { op: previous, end } = self.previous;
        let op_ns = match op {
            Op::Read => self.overheads.read_miss.after(previous),
            Op::Write if self.policy.extra_write_disconnect => {
                // Its LBN decides if it disconnects twice, and if it continues the previous write.
                let twice_ns = self.overheads.extra_command_ns + self.overheads.extra_seek_delay_ns;
                twice_ns.min(self.arm_delay_ns(end)).min(self.arm_delay_ns(u64::MAX))
            }
            Op::Write | Op::Flush | Op::Reset => self.arm_delay_ns(u64::MAX).min(self.arm_delay_ns(end)),
        };
        self.overheads.request_ns + op_ns
    }

    /// Returns true if a write at `place` continues the previous one.
    #[inline]
    fn continues_write(&self, place: Place) -> bool {
        let PreviousRequest { op, end } = self.previous;
        let layout = self.mechanics.layout();
        op == Op::Write && end < layout.mapped_blocks() && layout.place(end) == place
    }

    /// Returns the start of a search for a request to dispatch at `now`. Schedulers use it for many cylinders at the same instant.
    #[inline]
    fn search_start(&self, now: Time) -> SearchStart {
        match self.search_start.get() {
            Some(start) if start.now == now => start,
            _ => {
                let ready = self.ready_at(now);
                let released = self.released_arms(ready);
                let command_ns = self.command_ns(Op::Read).min(self.command_ns(Op::Write));
                let cylinder = |arm: u32| released.arms[arm as usize].cylinder;
                let start = SearchStart {
                    now,
                    least_ns: (ready + command_ns).max(released.at) - now,
                    here: cylinder(released.arm),
                    other: (self.mechanics.actuators() > 1).then(|| cylinder(1 - released.arm)),
                };
                self.search_start.set(Some(start));
                start
            }
        }
    }

    /// Returns the arms as a request dispatched at `now` gets them. Schedulers call it for many locations at the same instant.
    #[inline]
    pub(super) fn released_arms(&self, now: Time) -> ReleasedArms {
        match (&self.task, self.released_arms.get()) {
            (None, _) => ReleasedArms { at: now.max(self.free), arms: self.arms, arm: self.arm },
            (Some(_), Some((at, released))) if at == now => released,
            (Some(task), _) => {
                let released = self.arms_after_task(*task, now);
                self.released_arms.set(Some((now, released)));
                released
            }
        }
    }
}

/// Returns the service of a finished request.
#[inline]
pub(super) fn service(start: Time, end: Time, phases: PhaseTimeline) -> Service {
    let service = Service { start, end, free: end, phases: phases.end(end), ..Service::default() };
    debug_assert_eq!(service.phases.service_ns(), end - start, "each nanosecond is in one phase: {service:?}");
    service
}
