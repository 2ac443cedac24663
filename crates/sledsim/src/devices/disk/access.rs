//! A disk drive as a device: what it is made of, and what the rest of the simulator asks of it.

use std::cell::Cell;

use super::background::{Freed, Task};
use super::buffer::Buffer;
use super::bus::Chunk;
use super::command::{ns, Overheads};
use super::pass::{Errand, Pass, Supply, Way};
use super::resting::Resting;
use super::work_log::{PhaseTimeline, WorkLog};
use super::writing::Set;
use super::{Arm, DiskParameters, FastWrite, Mechanics, Place, ReadAhead, Zone};
use crate::convert::trunc_to_u64;
use crate::devices::power_manager::PowerManager;
use crate::devices::{
    Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Platter, Powered, Rotating, Service, VolatileCache,
};
use crate::fault::Fault;
use crate::request::{Flags, Op, Request};
use crate::time::Time;

/// Distance of neighbouring cylinders in the coordinates of a drive, m: a track pitch, of the order of those of its time.
/// Policies that go by distance compare distances only.
const CYLINDER_M: f64 = 1e-6;

/// How head, sector and kind of a request share a [`Location::slot`].
#[derive(Clone, Copy, Debug)]
struct SlotBits {
    sector: u32,
}

impl SlotBits {
    /// Room for so many sectors on a track and so many heads, and a bit for writes.
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

/// What a drive's electronics may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub hold_bus_reading: bool,
    pub never_disconnect: bool,
    pub extra_write_disconnect: bool,
    pub read_watermark: f64,
    pub watermark_of_request: bool,
    pub read_ahead: ReadAhead,
    pub least_blocks: u64,
    pub most_blocks: Option<u64>,
    pub over_requested: i32,
    pub on_idle_hit: bool,
    pub any_order_reads: bool,
    pub any_order_writes: bool,
    /// Whether the blocks of a pass go to the host once all of it is there: a drive that keeps the bus, and takes them in any
    /// order, would have the bus wait for those that pass last.
    pub whole_passes: bool,
    pub free_blocks: bool,
    pub fast_write: FastWrite,
    pub combine_writes: bool,
    pub transfer_partial_hits: bool,
    pub almost_hits: bool,
    pub whole_hits_beside_writes: bool,
    pub partial_hits_beside_writes: bool,
}

/// A disk drive.
#[derive(Clone)]
pub struct DiskDevice {
    pub(super) mechanics: Mechanics,
    pub(super) overheads: Overheads,
    pub(super) policy: Policy,
    pub(super) buffer: Buffer,
    pub(super) stop_in_sector: bool,
    least_read_seek_ns: u64,
    /// Where the arms stand, but for the task.
    pub(super) arms: [Arm; 2],
    /// Index of the arm that moved last.
    pub(super) arm: u32,
    /// When the last pass that is booked was over.
    pub(super) free: Time,
    /// What the drive does on its own account.
    pub(super) task: Option<Task>,
    /// Whether the heads have worked on the drive's own account since a request last had them.
    pub(super) strayed: bool,
    /// Kind of the last request, and the block behind its last.
    pub(super) previous: (Op, u64),
    pub(super) work_log: WorkLog,
    /// Arrivals of the request being served: kept for its memory.
    pub(super) chunks: Vec<Chunk>,
    block_bytes: u32,
    slot_bits: SlotBits,
    /// When the arm gets free, and where from, for the instant last asked for.
    freed: Cell<Option<(Time, Freed)>>,
    /// When a request would find the drive ready, for the instant last asked for.
    pub(super) ready: Cell<Option<(Time, Time)>>,
    /// Its powers, where they are known.
    pub(super) resting: Option<Box<Resting>>,
}

impl DiskDevice {
    /// A drive of those parameters.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        let p = parameters;
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
        let mechanics = Mechanics::new(p)?;
        let sectors = p.zones.iter().map(|zone| zone.sectors_per_track).max().unwrap_or(1);
        Ok(Self {
            overheads: Overheads::new(p)?,
            policy: policy(p),
            buffer: Buffer::new(p)?,
            least_read_seek_ns: least_read_seek_ns(p, &mechanics)?,
            stop_in_sector: p.stop_read_ahead_in_sector,
            arms: [Arm::default(); 2],
            arm: 0,
            free: Time::ZERO,
            task: None,
            strayed: false,
            previous: (Op::Read, u64::MAX),
            work_log: WorkLog::new(p.power.is_some()),
            chunks: Vec::new(),
            block_bytes: p.block_bytes,
            slot_bits: SlotBits::new(sectors, p.surfaces)?,
            freed: Cell::new(None),
            ready: Cell::new(None),
            resting: p
                .power
                .as_ref()
                .map(PowerManager::new)
                .transpose()?
                .map(|manager| Box::new(Resting::new(manager))),
            mechanics,
        })
    }

    /// The mechanics.
    #[must_use]
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Least time of the first seek of a request. Reads find their track again where the heads have been elsewhere meanwhile:
    /// a drive that does nothing by itself keeps them on it.
    #[inline]
    pub(super) fn least_seek_ns(&self, op: Op) -> u64 {
        match op {
            Op::Read if self.strayed => self.least_read_seek_ns,
            Op::Read => 0,
            Op::Write | Op::Flush => self.overheads.least_seek_ns,
        }
    }

    /// Adds a pass for an operation, which ends or is stopped at `until`, to the work log, and leaves its arm there.
    #[inline]
    pub(super) fn passed(&mut self, pass: &Pass, op: Op, until: Time) {
        self.work_log.pass(pass, op, until);
        self.arms[pass.arm as usize] = pass.to;
        (self.arm, self.free) = (pass.arm, until);
    }

    /// Passes that read ahead.
    pub(super) fn reading_on(&self) -> Errand {
        Errand { op: Op::Read, any_order: false, least_seek_ns: 0, supply: Supply::READY }
    }
}

/// Least time of the first seek of a read: the one given; or the shorter of what the makers' own track skew leaves for a change
/// of tracks, in the zone where that is least, and the shortest seek.
fn least_read_seek_ns(p: &DiskParameters, mechanics: &Mechanics) -> Result<u64, Fault> {
    if let Some(ms) = p.least_read_seek_ms {
        return ns("least_read_seek_ms", ms);
    }
    let turn = |zone: &Zone| zone.track_skew_sectors / f64::from(zone.sectors_per_track);
    let skew = p.zones.iter().map(turn).fold(1.0, f64::min);
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
        read_watermark: p.read_watermark,
        watermark_of_request: p.watermark_of_request,
        read_ahead: p.read_ahead,
        least_blocks,
        most_blocks: p.read_ahead_most_blocks.map(|blocks| u64::from(blocks).max(least_blocks)),
        over_requested: p.read_ahead_over_requested,
        on_idle_hit: p.read_ahead_on_idle_hit,
        any_order_reads: p.zero_latency_reads || p.read_free_blocks && p.buffer_caching,
        any_order_writes: p.zero_latency_writes,
        whole_passes: p.zero_latency_reads && (p.hold_bus_reading || p.never_disconnect),
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

    /// `x_m` is the distance from cylinder 0 at a track pitch of a micrometre.
    fn coordinates_m(&self, location: Location) -> Coordinates {
        Coordinates { x_m: f64::from(location.cylinder) * CYLINDER_M, y_m: 0.0 }
    }

    fn position_m(&self, now: Time) -> Coordinates {
        Coordinates { x_m: f64::from(self.cylinder(now)) * CYLINDER_M, y_m: 0.0 }
    }

    /// That of the arm that moved last, when what it still does by itself is over or broken off.
    #[inline]
    fn cylinder(&self, now: Time) -> u32 {
        let freed = self.freed_at(self.ready_at(now));
        freed.arms[freed.arm as usize].cylinder
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let ready = self.ready_at(now);
        let freed = self.freed_at(ready);
        let command_ns = self.command_ns(Op::Read).min(self.command_ns(Op::Write));
        let least_ns = (ready + command_ns).max(freed.at) - now;
        let here = freed.arms[freed.arm as usize].cylinder;
        let own_ns = self.mechanics.seek_bound_ns(here.abs_diff(cylinder));
        if self.mechanics.actuators() == 1 {
            return least_ns + own_ns;
        }
        let other = freed.arms[1 - freed.arm as usize].cylinder;
        // Farther out than `cylinder` on its side, the other arm may wait.
        let beyond = if cylinder >= here { other >= cylinder } else { other <= cylinder };
        let other_ns = if beyond { 0 } else { self.mechanics.seek_bound_ns(other.abs_diff(cylinder)) };
        least_ns + own_ns.min(other_ns)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let (place, op) = self.slot_bits.unpack(location);
        let awake = self.ready_at(now);
        let freed = self.freed_at(awake);
        let errand = Errand { op, any_order: false, least_seek_ns: self.least_seek_ns(op), supply: Supply::READY };
        let (begin, ready) = match op {
            Op::Read => (awake + self.command_ns(op), awake),
            Op::Write | Op::Flush => {
                // Its first block crosses the bus first.
                let set = self.set_up_at(awake + self.overheads.request_ns, place);
                (set.command, set.connected + self.overheads.write_block_ns + errand.least_seek_ns)
            }
        };
        let begin = begin.max(freed.at);
        let to = Arm { cylinder: place.cylinder, head: place.head };
        let angle = self.mechanics.start_angle(place);
        Way::find(&self.mechanics, begin, ready, &freed.arms, to, angle, &errand).start - now
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.fits(self.mechanics.layout().capacity_blocks()), "{request:?}");
        self.freed.set(None);
        self.ready.set(None);
        self.work_log.settle(now);
        match self.resting.take() {
            None => self.serve_ready(now, request),
            Some(resting) => self.serve_awake(resting, now, request),
        }
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.ledger_at(now)
    }

    fn rotating(&self) -> Option<&dyn Rotating> {
        Some(self)
    }

    fn powered(&self) -> Option<&dyn Powered> {
        self.resting.is_some().then_some(self as &dyn Powered)
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        self.resting.is_some().then_some(self as &mut dyn Powered)
    }

    fn volatile_cache(&self) -> Option<&dyn VolatileCache> {
        (self.policy.fast_write != FastWrite::None).then_some(self as &dyn VolatileCache)
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
}

impl VolatileCache for DiskDevice {
    fn is_dirty(&self, now: Time) -> bool {
        self.task.as_ref().is_some_and(Task::writes) && self.rests_since(Time::ZERO, now).is_none()
    }
}

impl DiskDevice {
    /// Serves a request that finds the drive ready at `now`.
    #[inline]
    pub(super) fn serve_ready(&mut self, now: Time, request: &Request) -> Service {
        let at = now + self.overheads.request_ns;
        self.catch_up(at);
        let service = match request.op {
            Op::Flush => return self.write_back(now, at),
            Op::Read => self.read(now, at, request.lbn, request.end_lbn()),
            Op::Write if request.flags.contains(Flags::DURABLE) => {
                self.write_durably(now, at, request.lbn, request.end_lbn())
            }
            Op::Write => self.write(now, at, request.lbn, request.end_lbn()),
        };
        self.strayed |= self.task.is_some();
        self.previous = (request.op, request.end_lbn());
        service
    }

    /// What comes before the data of a write to a place.
    fn set_up_at(&self, at: Time, place: Place) -> Set {
        // Only a write after a write may continue it.
        if !self.policy.extra_write_disconnect && self.previous.0 != Op::Write {
            return self.set_up_once(at, u64::MAX);
        }
        let first = self.mechanics.layout().lbn(place).unwrap_or(u64::MAX - 1);
        if !self.policy.extra_write_disconnect {
            return self.set_up_once(at, first);
        }
        self.set_up(at, first, self.buffer.for_write(first, first + 1))
    }

    /// The least from the dispatch of a request that finds nothing until the arm may set off.
    #[inline]
    fn command_ns(&self, op: Op) -> u64 {
        let kind_ns = match op {
            Op::Read => self.overheads.read_miss.get(self.previous.0),
            Op::Write if self.policy.extra_write_disconnect => {
                // Whether it disconnects twice, and whether it goes on from the last write, depends on its place.
                let twice_ns = self.overheads.extra_command_ns + self.overheads.extra_seek_delay_ns;
                let onward_ns = self.write_departure_ns(self.previous.1);
                twice_ns.min(onward_ns).min(self.write_departure_ns(u64::MAX))
            }
            Op::Write | Op::Flush => self.write_departure_ns(u64::MAX).min(self.write_departure_ns(self.previous.1)),
        };
        self.overheads.request_ns + kind_ns
    }

    /// When the arms get free, and where they are then. Schedulers ask for many locations at the same instant.
    #[inline]
    fn freed_at(&self, now: Time) -> Freed {
        let Some(task) = self.task else { return Freed { at: now.max(self.free), arms: self.arms, arm: self.arm } };
        match self.freed.get() {
            Some((asked, freed)) if asked == now => freed,
            _ => {
                let freed = self.freed(task, now);
                self.freed.set(Some((now, freed)));
                freed
            }
        }
    }
}

/// A finished request.
#[inline]
pub(super) fn served(start: Time, end: Time, phases: PhaseTimeline) -> Service {
    let service = Service { start, end, free: end, phases: phases.end(end), ..Service::default() };
    debug_assert_eq!(service.phases.service_ns(), end - start, "each nanosecond is of one phase: {service:?}");
    service
}
