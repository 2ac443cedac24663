//! A disk drive as a device.

use super::command::Overheads;
use super::layout::{Place, Run};
use super::mechanics::{Arm, Mechanics};
use super::rotation::Angle;
use super::DiskParameters;
use crate::devices::{Device, EnergyLedger, Location, Phases, Service, State, STATES};
use crate::request::{Op, Request};
use crate::time::Time;

/// Distance of neighbouring cylinders in the coordinates of a drive, m: a track pitch, of the order of those of its time.
/// Policies that go by distance compare distances only.
const CYLINDER_M: f64 = 1e-6;

/// What a drive's mechanism carries from one request to the next.
#[derive(Clone, Copy, Debug)]
struct Position {
    /// Where the arms are; the second is used by drives that have it.
    arms: [Arm; 2],
    /// Index of the arm that moved last.
    arm: u32,
    /// Kind of the last request.
    last: Op,
}

/// How head, sector and kind of a request share a [`Location::slot`].
#[derive(Clone, Copy, Debug)]
struct SlotBits {
    sector: u32,
}

impl SlotBits {
    /// Room for so many sectors on a track and so many heads, and a bit for writes.
    fn new(sectors: u32, surfaces: u32) -> Result<Self, String> {
        let bits = |count: u32| u32::BITS - (count - 1).leading_zeros();
        let (sector, head) = (bits(sectors), bits(surfaces));
        if sector + head + 1 > u32::BITS {
            return Err(format!("surfaces = {surfaces} with {sectors} sectors on a track: too many to tell apart"));
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

/// Time by state, in the order of [`State`].
type Times = [u64; STATES.len()];

/// Follows a service through its states.
trait Record {
    /// The mechanism is in `state` for `ns`.
    fn spend(&mut self, state: State, ns: u64);
}

/// Books everything.
impl Record for Times {
    #[inline]
    fn spend(&mut self, state: State, ns: u64) {
        self[state as usize] += ns;
    }
}

/// Books what happens up to an instant.
struct Clipped {
    times: Times,
    left_ns: u64,
}

impl Record for Clipped {
    fn spend(&mut self, state: State, ns: u64) {
        let ns = ns.min(self.left_ns);
        self.left_ns -= ns;
        self.times[state as usize] += ns;
    }
}

/// A disk drive.
pub struct DiskDevice {
    mechanics: Mechanics,
    overheads: Overheads,
    slot_bits: SlotBits,
    block_bytes: u32,
    bus_ns_per_block: u64,
    position: Position,
    /// Times of all services so far, and the end of the last.
    times: Times,
    free: Time,
    /// The last service: its request, when it began, and the position before.
    last: Option<(Request, Time, Position)>,
}

impl DiskDevice {
    /// A drive of those parameters; its arms at cylinder 0, surface 0.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn new(parameters: &DiskParameters) -> Result<Self, String> {
        let p = parameters;
        let mechanics = Mechanics::new(p)?;
        let sectors = p.zones.iter().map(|zone| zone.sectors_per_track).max().unwrap_or(1);
        Ok(Self {
            mechanics,
            overheads: Overheads::new(p)?,
            slot_bits: SlotBits::new(sectors, p.surfaces)?,
            block_bytes: p.block_bytes,
            bus_ns_per_block: super::command::ns("bus_ms_per_block", p.bus_ms_per_block)?,
            position: Position { arms: [Arm::default(); 2], arm: 0, last: Op::Read },
            times: Times::default(),
            free: Time::ZERO,
            last: None,
        })
    }

    /// The mechanics.
    #[must_use]
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// Serves a request from a position on, and says when each state was spent.
    #[inline]
    fn access<R: Record>(&self, position: &mut Position, now: Time, request: &Request, record: &mut R) -> Service {
        let command_ns = self.overheads.command_ns(request.op, position.last);
        record.spend(State::Idle, command_ns);
        let mut access = Access {
            drive: self,
            at: now + command_ns,
            bus: now + command_ns,
            phases: Phases { command_ns, ..Phases::default() },
            record,
        };
        let (mut lbn, end) = (request.lbn, request.end_lbn());
        let mut first = true;
        while lbn < end {
            let mut run = self.mechanics.layout().run(lbn);
            run.blocks = run.blocks.min(end - lbn);
            lbn += run.blocks;
            match request.op {
                Op::Read => access.read(position, &run, first),
                Op::Write => access.write(position, &run, first),
            }
            first = false;
        }
        position.last = request.op;
        access.finish(now, request.op)
    }
}

/// A service under way.
struct Access<'a, R> {
    drive: &'a DiskDevice,
    /// When the mechanism is where it has come so far.
    at: Time,
    /// When the bus has carried what it has so far.
    bus: Time,
    phases: Phases,
    record: &'a mut R,
}

impl<R: Record> Access<'_, R> {
    /// Positions to a run whose first sector is not to pass before `ready`; returns its angle.
    #[inline]
    fn position(&mut self, position: &mut Position, run: &Run, ready: Time, op: Op, first: bool) -> Angle {
        let mechanics = &self.drive.mechanics;
        let angle = mechanics.angle_in(run.zone as usize, run.place);
        let to = Arm { cylinder: run.place.cylinder, head: run.place.head };
        // The arm that took up a request stays with it.
        let approach = if first {
            mechanics.approach(self.at, ready, &position.arms, to, angle, op)
        } else {
            let arm = position.arm;
            mechanics.approach_by(self.at, ready, arm, position.arms[arm as usize], to, angle, op)
        };
        position.arm = approach.arm;
        position.arms[approach.arm as usize] = to;
        if first {
            self.phases.seek_ns = approach.seek_ns;
            self.phases.rotation_ns = approach.wait_ns;
        } else {
            self.phases.turnaround_ns += approach.total_ns();
        }
        self.record.spend(State::Seek, approach.seek_ns);
        self.record.spend(State::Rotation, approach.wait_ns);
        self.at += approach.total_ns();
        angle
    }

    /// Passes over so many sectors from an angle on.
    #[inline]
    fn pass(&mut self, position: &Position, run: &Run, angle: Angle, sectors: u64) {
        let mechanics = &self.drive.mechanics;
        let pass_ns = mechanics.pass_ns(self.at, position.arm, angle, mechanics.turn(run.zone as usize, sectors));
        self.phases.transfer_ns += pass_ns;
        self.record.spend(State::Data, pass_ns);
        self.at += pass_ns;
    }

    /// Reads a run. Blocks cross the bus in order, each once it is whole in the buffer.
    #[inline]
    fn read(&mut self, position: &mut Position, run: &Run, first: bool) {
        let angle = self.position(position, run, self.at, Op::Read, first);
        let begun = self.at;
        self.pass(position, run, angle, run.blocks);
        let bus_ns = self.drive.bus_ns_per_block;
        // The bus may be behind from the start, or held up by the first block, or by the last; sectors come evenly.
        let first_block = begun + (self.at - begun).div_ceil(run.blocks);
        self.bus = (self.bus.max(first_block) + run.blocks * bus_ns).max(self.at + bus_ns);
    }

    /// Writes a run. Blocks cross the bus in order from the command on; a block that has not when its sector comes round
    /// waits for it to come again.
    #[inline]
    fn write(&mut self, position: &mut Position, run: &Run, first: bool) {
        let bus_ns = self.drive.bus_ns_per_block;
        let mut rest = *run;
        let mut first = first;
        while rest.blocks > 0 {
            let angle = self.position(position, &rest, self.bus + bus_ns, Op::Write, first);
            first = false;
            let sectors = self.in_time(&rest);
            self.pass(position, &rest, angle, sectors);
            self.bus += sectors * bus_ns;
            rest.place.sector += sectors as u32;
            rest.blocks -= sectors;
        }
    }

    /// How many sectors of a run whose first begins now have their blocks in the buffer when they begin.
    #[inline]
    fn in_time(&self, run: &Run) -> u64 {
        let bus_ns = self.drive.bus_ns_per_block;
        let mechanics = &self.drive.mechanics;
        let pass_ns = mechanics.spindle().time_ns(mechanics.turn(run.zone as usize, run.blocks));
        // The block after `n` others is there at `bus + (n + 1) * bus_ns`, its sector at `at + n * pass_ns / blocks`.
        let ahead_ns = self.at.saturating_since(self.bus + bus_ns);
        let (lost_ns, passed_ns) = (bus_ns * run.blocks, pass_ns);
        if lost_ns <= passed_ns {
            return run.blocks;
        }
        let sectors = u128::from(ahead_ns) * u128::from(run.blocks) / u128::from(lost_ns - passed_ns) + 1;
        run.blocks.min(u64::try_from(sectors).unwrap_or(u64::MAX))
    }

    /// The bus carries the rest of a read, and the drive reports.
    #[inline]
    fn finish(mut self, now: Time, op: Op) -> Service {
        let completion_ns = self.drive.overheads.completion_ns(op);
        self.phases.bus_ns = self.bus.saturating_since(self.at);
        self.phases.command_ns += completion_ns;
        self.record.spend(State::Idle, self.phases.bus_ns + completion_ns);
        let end = self.at + (self.phases.bus_ns + completion_ns);
        Service { start: now, end, free: end, phases: self.phases, ..Service::default() }
    }
}

impl Device for DiskDevice {
    fn capacity_blocks(&self) -> u64 {
        self.mechanics.layout().capacity_blocks()
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn command_overhead_ns(&self) -> u64 {
        0
    }

    fn cylinders(&self) -> u32 {
        self.mechanics.layout().cylinders()
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        let place = self.mechanics.layout().place(request.lbn);
        Location { cylinder: place.cylinder, slot: self.slot_bits.pack(place, request.op) }
    }

    /// The first is the distance from cylinder 0 at a track pitch of a micrometre; the second is 0.
    fn coordinates_m(&self, location: Location) -> (f64, f64) {
        (f64::from(location.cylinder) * CYLINDER_M, 0.0)
    }

    fn position_m(&self, now: Time) -> (f64, f64) {
        (f64::from(self.cylinder(now)) * CYLINDER_M, 0.0)
    }

    /// That of the arm that moved last.
    #[inline]
    fn cylinder(&self, _now: Time) -> u32 {
        self.position.arms[self.position.arm as usize].cylinder
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let least_ns = self.overheads.least_command_ns(self.position.last);
        let here = self.cylinder(now);
        let own_ns = self.mechanics.seek_bound_ns(here.abs_diff(cylinder));
        if self.mechanics.actuators() == 1 {
            return least_ns + own_ns;
        }
        let other = self.position.arms[1 - self.position.arm as usize].cylinder;
        // Farther out than `cylinder` on its side, the other arm may wait.
        let beyond = if cylinder >= here { other >= cylinder } else { other <= cylinder };
        let other_ns = if beyond { 0 } else { self.mechanics.seek_bound_ns(other.abs_diff(cylinder)) };
        least_ns + own_ns.min(other_ns)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let (place, op) = self.slot_bits.unpack(location);
        let command_ns = self.overheads.command_ns(op, self.position.last);
        let at = now + command_ns;
        let ready = if op == Op::Write { at + self.bus_ns_per_block } else { at };
        let to = Arm { cylinder: place.cylinder, head: place.head };
        let angle = self.mechanics.start_angle(place);
        command_ns + self.mechanics.approach(at, ready, &self.position.arms, to, angle, op).total_ns()
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        self.times[State::Idle as usize] += now.saturating_since(self.free);
        let (before, mut position, mut times) = (self.position, self.position, self.times);
        let service = self.access(&mut position, now, request, &mut times);
        (self.position, self.times, self.free) = (position, times, service.end);
        self.last = Some((*request, now, before));
        service
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        let mut times = self.times;
        match &self.last {
            Some((request, start, before)) if now < self.free => {
                // Takes back the whole of the last service, and goes through it again as far as it has come.
                let mut whole = Times::default();
                self.access(&mut before.clone(), *start, request, &mut whole);
                let mut part = Clipped { times: Times::default(), left_ns: now.saturating_since(*start) };
                self.access(&mut before.clone(), *start, request, &mut part);
                for (time, (whole, part)) in times.iter_mut().zip(whole.into_iter().zip(part.times)) {
                    *time = *time - whole + part;
                }
            }
            _ => times[State::Idle as usize] += now.saturating_since(self.free),
        }
        EnergyLedger { time_ns: times, ..EnergyLedger::default() }
    }
}
