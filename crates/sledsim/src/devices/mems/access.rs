//! Serving requests: pass by pass over the rows they cover.

use std::ops::Range;

use crate::devices::mems::energy::{Books, Power};
use crate::devices::mems::geometry::{Geometry, Place};
use crate::devices::mems::parameters::{Idle, MemsParameters, Timeout};
use crate::devices::mems::positioning::{Entry, Positioning, YState, YTime};
use crate::devices::mems::{batch, merged, trial};
use crate::devices::{Device, Location, Stance, Trial};
use crate::request::{Op, Request};
use crate::service::{EnergyLedger, Phases, Service};
use crate::time::{s_to_ns, Time};
use crate::units::NS_PER_MS;

/// One sled with its tips.
pub struct MemsDevice {
    pub(super) geometry: Geometry,
    positioning: Positioning,
    pub(super) power: Power,
    pub(super) bidirectional: bool,
    servo_ns: u64,
    transfer_ns: u64,
    bus_ns_per_block: u64,
    overhead_ns: u64,
    startup_ns: u64,
    sweeps: bool,
    inactive_after_ns: Option<u64>,
    /// When the bus has carried everything so far.
    bus_free: Time,
    pub(super) sled: Sled,
    /// Everything up to the end of the last service.
    books: Books,
    last: LastService,
}

/// Where the sled is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sled {
    pub(super) cylinder: u32,
    pub(super) y: YState,
}

/// The latest service: it may reach beyond the present.
#[derive(Clone, Copy, Debug, Default)]
struct LastService {
    start: Time,
    end: Time,
    /// Tips of its last pass.
    tips: u32,
    books: Books,
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
    books: Books,
}

/// The quickest way to a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    pub(super) cylinder: u32,
    pub(super) entry: Entry,
    x_ns: u64,
    y: YTime,
    pub(super) seek_ns: u64,
}

/// The passes over the blocks of a request, in LBN order.
pub(super) struct PassesOf {
    place: Place,
    left: u32,
}

impl PassesOf {
    #[inline]
    pub(super) fn new(geometry: &Geometry, request: &Request) -> Self {
        Self { place: geometry.place(request.lbn), left: request.blocks }
    }

    /// Cylinder, row and number of blocks of the next pass.
    #[inline]
    pub(super) fn next(&mut self, geometry: &Geometry) -> Option<(u32, u32, u32)> {
        if self.left == 0 {
            return None;
        }
        let (cylinder, row) = (self.place.cylinder, self.place.row);
        let mut blocks = 0;
        // Where a track ends and the next begins at one row, other tips read on in the same pass.
        while self.left > 0
            && blocks < geometry.blocks_per_row
            && (self.place.cylinder, self.place.row) == (cylinder, row)
        {
            let taken = self.left.min(geometry.blocks_per_row - self.place.slot.max(blocks));
            blocks += taken;
            self.left -= taken;
            if self.left > 0 {
                self.place = geometry.after(&self.place, taken);
            }
        }
        Some((cylinder, row, blocks))
    }
}

impl Approach {
    /// The sled after the pass.
    #[inline]
    pub(super) fn done(&self) -> Sled {
        Sled { cylinder: self.cylinder, y: YState::Gate(self.entry.to) }
    }
}

impl MemsDevice {
    /// A device at rest at the centre of travel, inactive.
    ///
    /// # Errors
    /// When the parameters do not fit each other: says which to change.
    pub fn new(parameters: &MemsParameters) -> Result<Self, String> {
        let p = parameters;
        let geometry = Geometry::new(p)?;
        let positioning = Positioning::new(p, &geometry);
        if !positioning.starts() {
            return Err(format!(
                "the springs (spring_factor = {}) keep a sled at rest from reaching the access speed of {} m/s everywhere: \
                 lower spring_factor or bit_rate_kbit_s, or raise acceleration_y_m_s2",
                p.spring_factor,
                positioning.speed_m_s()
            ));
        }
        let bit_s = 1.0 / (p.bit_rate_kbit_s * 1e3);
        // A pass is rounded as a whole: streaming then keeps the bit rate to the nanosecond per row.
        let pass_ns = s_to_ns(f64::from(geometry.pitch_bits()) * bit_s);
        let servo_ns = s_to_ns(f64::from(geometry.servo_bits) * bit_s);
        let ms = |value: f64| (value * NS_PER_MS).round() as u64;
        Ok(Self {
            power: Power::new(p, servo_ns, pass_ns - servo_ns),
            bidirectional: p.bidirectional,
            servo_ns,
            transfer_ns: pass_ns - servo_ns,
            bus_ns_per_block: ms(p.bus_ms_per_block),
            overhead_ns: ms(p.overhead_ms),
            startup_ns: ms(p.startup_ms),
            sweeps: p.idle == Idle::Sweep,
            inactive_after_ns: match p.inactive_after_ms {
                Timeout::AfterMs(value) => Some(ms(value)),
                Timeout::Never => None,
            },
            sled: Sled { cylinder: geometry.centre_cylinder(), y: YState::Rest },
            bus_free: Time::ZERO,
            books: Books::default(),
            last: LastService::default(),
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
    fn untouched(&self) -> bool {
        self.last.tips == 0
    }

    /// Where the sled is at `now`, which is not before the end of the last service, and how long it takes to wake.
    #[inline]
    pub(super) fn sled_at(&self, now: Time) -> (Sled, u64) {
        let idle_ns = now.saturating_since(self.last.end);
        if self.untouched() || self.inactive_after_ns.is_some_and(|limit| idle_ns > limit) {
            let sled = Sled { cylinder: self.geometry.centre_cylinder(), y: YState::Rest };
            return (sled, self.startup_ns);
        }
        if self.sweeps && idle_ns > 0 {
            return (Sled { y: self.positioning.swept(&self.sled.y, idle_ns), ..self.sled }, 0);
        }
        (self.sled, 0)
    }

    /// What the sled did between the last service and `now`.
    #[inline]
    fn idle_books(&self, now: Time) -> Books {
        let idle_ns = now.saturating_since(self.last.end);
        if self.untouched() {
            return Books { inactive_ns: idle_ns, ..Books::default() };
        }
        let moving_ns = self.inactive_after_ns.map_or(idle_ns, |limit| idle_ns.min(limit));
        Books {
            idle_ns: moving_ns,
            idle_tip_ns: u128::from(moving_ns) * u128::from(self.last.tips),
            inactive_ns: idle_ns - moving_ns,
            ..Books::default()
        }
    }

    /// The way from `sled` to a pass over a row of a cylinder.
    #[inline]
    pub(super) fn approach_by(&self, sled: &Sled, cylinder: u32, entry: Entry) -> Approach {
        let x_ns = self.positioning.x_ns(sled.cylinder, cylinder);
        self.approach_beside(x_ns, sled, cylinder, entry)
    }

    #[inline]
    fn approach_beside(&self, x_ns: u64, sled: &Sled, cylinder: u32, entry: Entry) -> Approach {
        let y = self.positioning.y_ns(&sled.y, entry.from);
        Approach { cylinder, entry, x_ns, y, seek_ns: y.ns.max(x_ns) }
    }

    /// The quickest way from `sled` to a row; where both directions are as quick, downward (DiskSim's choice).
    #[inline]
    pub(super) fn approach(&self, sled: &Sled, cylinder: u32, row: u32) -> Approach {
        let x_ns = self.positioning.x_ns(sled.cylinder, cylinder);
        let up = self.approach_beside(x_ns, sled, cylinder, self.positioning.upward(row));
        if !self.bidirectional {
            return up;
        }
        let down = self.approach_beside(x_ns, sled, cylinder, self.positioning.downward(row));
        if down.seek_ns <= up.seek_ns {
            down
        } else {
            up
        }
    }

    /// Servo and data time of one pass.
    pub(super) fn pass_ns(&self) -> (u64, u64) {
        (self.servo_ns, self.transfer_ns)
    }

    /// Wakes the device at `now` for a service.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) -> Passes {
        if self.untouched() || self.inactive_after_ns.is_some() {
            self.books.add(&self.idle_books(now));
        } else {
            // The common case of the same books: the sled was idle all the time.
            let idle_ns = now.saturating_since(self.last.end);
            self.books.idle_ns += idle_ns;
            self.books.idle_tip_ns += u128::from(idle_ns) * u128::from(self.last.tips);
        }
        let (sled, startup_ns) = self.sled_at(now);
        self.sled = sled;
        let startups = u64::from(matches!(sled.y, YState::Rest));
        let books = Books { startup_ns, startups, ..Books::default() };
        let awake = now + startup_ns;
        Passes {
            start: now,
            at: awake,
            bus_done: self.bus_free.max(awake),
            phases: Phases { startup_ns, ..Phases::default() },
            tips: 0,
            positioned: false,
            books,
        }
    }

    /// Passes over a row with so many tips; so many blocks are read and so many written, one perhaps both.
    #[inline]
    pub(super) fn pass(&mut self, run: &mut Passes, approach: &Approach, tips: u32, reads: u32, writes: u32) {
        let Approach { cylinder, seek_ns, .. } = *approach;
        if run.positioned {
            run.phases.turnaround_ns += seek_ns;
        } else {
            run.positioned = true;
            run.phases.seek_ns = seek_ns;
            run.phases.seek_x_ns = approach.x_ns;
            run.phases.seek_y_ns = approach.y.ns;
            run.phases.seek_turnaround_ns = approach.y.turnaround_ns;
            run.phases.settle_ns = if cylinder == self.sled.cylinder { 0 } else { self.positioning.settle_ns() };
        }
        run.books.seek_ns += seek_ns;
        run.at += seek_ns;
        if writes > 0 {
            run.bus_done += u64::from(writes) * self.bus_ns_per_block;
            let wait_ns = run.bus_done.saturating_since(run.at);
            run.phases.bus_ns += wait_ns;
            run.books.idle_ns += wait_ns;
            run.at += wait_ns;
        }
        run.tips = tips;
        run.books.passes += 1;
        run.books.tip_passes += u64::from(tips);
        run.phases.servo_ns += self.servo_ns;
        run.phases.transfer_ns += self.transfer_ns;
        run.at += self.servo_ns + self.transfer_ns;
        if reads > 0 {
            run.bus_done = run.bus_done.max(run.at) + u64::from(reads) * self.bus_ns_per_block;
        }
        self.sled = approach.done();
    }

    /// Ends a service and books it. The sled is free when the last pass is over; what is left of the bus transfer
    /// overlaps with whatever it does next.
    #[inline]
    pub(super) fn finish(&mut self, run: &mut Passes) -> Service {
        let bus_ns = run.bus_done.saturating_since(run.at);
        run.phases.bus_ns += bus_ns;
        self.bus_free = run.bus_done;
        self.books.add(&run.books);
        self.last = LastService { start: run.start, end: run.at, tips: run.tips, books: run.books };
        let energy = run.books.service_energy(&self.power);
        Service { start: run.start, end: run.at + bus_ns, free: run.at, phases: run.phases, energy }
    }
}

impl Device for MemsDevice {
    fn capacity_blocks(&self) -> u64 {
        self.geometry.capacity_blocks()
    }

    fn block_bytes(&self) -> u32 {
        self.geometry.block_bytes
    }

    fn command_overhead_ns(&self) -> u64 {
        self.overhead_ns
    }

    fn cylinders(&self) -> u32 {
        self.geometry.cylinders
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        let place = self.geometry.place(request.lbn);
        Location { cylinder: place.cylinder, slot: place.row }
    }

    fn coordinates_m(&self, location: Location) -> (f64, f64) {
        (self.geometry.x_m(location.cylinder), self.geometry.row_middle_m(location.slot))
    }

    fn position_m(&self, now: Time) -> (f64, f64) {
        let (sled, _) = self.sled_at(now);
        (self.geometry.x_m(sled.cylinder), self.positioning.position(&sled.y).0)
    }

    #[inline]
    fn cylinder(&self, now: Time) -> u32 {
        self.sled_at(now).0.cylinder
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let (sled, startup_ns) = self.sled_at(now);
        startup_ns + self.positioning.x_bound_ns(sled.cylinder, cylinder)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let (sled, startup_ns) = self.sled_at(now);
        startup_ns + self.approach(&sled, location.cylinder, location.slot).seek_ns
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        let mut run = self.begin(now);
        let mut passes = PassesOf::new(&self.geometry, request);
        while let Some((cylinder, row, blocks)) = passes.next(&self.geometry) {
            let (reads, writes) = if request.op == Op::Read { (blocks, 0) } else { (0, blocks) };
            let approach = self.approach(&self.sled, cylinder, row);
            self.pass(&mut run, &approach, blocks * self.geometry.tips_per_block, reads, writes);
        }
        self.finish(&mut run)
    }

    fn serve_batch(&mut self, now: Time, requests: &[Request], out: &mut Vec<Service>) {
        match requests {
            [] => {}
            // Alone, a request is served in LBN order, as outside batches.
            [only] => out.push(self.serve(now, only)),
            _ => batch::serve(self, now, requests, out),
        }
    }

    fn serve_merged(&mut self, now: Time, requests: &[Request], way: usize, out: &mut Vec<Service>) {
        match requests {
            [] => {}
            [only] => out.push(self.serve(now, only)),
            _ => merged::serve(self, now, requests, way, out),
        }
    }

    fn stance(&self, now: Time) -> Option<Stance> {
        self.sled_at(now).0.stance()
    }

    fn try_serve(&self, now: Time, from: Option<Stance>, request: &Request) -> Option<Trial> {
        trial::try_serve(self, now, from, request)
    }

    fn try_merged(&self, now: Time, requests: &[Request], out: &mut Vec<Trial>) {
        merged::try_merged(self, now, requests, out);
    }

    fn way_j(&self, from: Stance, to: Stance) -> f64 {
        trial::way_j(self, from, to)
    }

    fn for_each_companion(&self, request: &Request, visit: &mut dyn FnMut(Range<u64>)) {
        self.geometry.for_each_companion(request.lbn, request.blocks, visit);
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        let mut books = self.books;
        let tally = if now < self.last.end {
            books.remove(&self.last.books);
            let passed_ns = now.saturating_since(self.last.start);
            books.tally(&self.power).plus(&self.last.books.tally(&self.power).first_part(passed_ns))
        } else {
            books.add(&self.idle_books(now));
            books.tally(&self.power)
        };
        tally.ledger(&self.power)
    }
}
