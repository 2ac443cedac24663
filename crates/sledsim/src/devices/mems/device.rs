//! The sled as a device: what schedulers and drives ask of it.

use std::ops::Range;

use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::subsector::PassesOf;
use crate::devices::mems::{batch, plans, points, trial};
use crate::devices::{
    serve_as_one, serve_in_turn, Condition, IdlePolicy, Location, Mechanism, Plan, Planner, Stance, Trial,
};
use crate::engine::details::Count;
use crate::power::Meter;
use crate::request::Request;
use crate::service::{EnergyLedger, Service};
use crate::time::Time;

impl Mechanism for MemsDevice {
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
        if self.geometry.has_points() {
            return points::locate(self, request);
        }
        let place = self.geometry.place(self.extent(request).lbn);
        Location { cylinder: place.cylinder, slot: place.row }
    }

    fn coordinates_m(&self, location: Location) -> (f64, f64) {
        let row = if self.geometry.has_points() { points::row_of(location) } else { location.slot };
        (self.geometry.x_m(location.cylinder), self.geometry.row_middle_m(row))
    }

    fn position_m(&self, now: Time) -> (f64, f64) {
        let (sled, _) = self.sled_at(now);
        (self.positioning().x_place(&sled).0, self.positioning().position(&sled.y).0)
    }

    #[inline]
    fn cylinder(&self, now: Time) -> u32 {
        self.sled_at(now).0.cylinder
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let (sled, startup_ns) = self.sled_at(now);
        if self.geometry.has_points() {
            return startup_ns + self.positioning().point_bound_ns(&sled, cylinder);
        }
        startup_ns + self.positioning().x_bound_ns(sled.cylinder, cylinder)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let (sled, startup_ns) = self.sled_at(now);
        if self.geometry.has_points() {
            return startup_ns + self.positioning().approach_location(&sled, location).seek_ns;
        }
        startup_ns + self.positioning().approach(&sled, location.cylinder, location.slot).seek_ns
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        let mut run = self.begin(now);
        if self.geometry.is_stream() {
            self.stream(&mut run, request);
            return self.finish(&mut run);
        }
        let mut passes = PassesOf::new(&self.geometry, self.extent(request));
        while !passes.is_over() {
            let pass = passes.next(&self.geometry);
            let approach = self.positioning().approach(&self.sled, pass.cylinder, pass.row);
            self.pass_until_read(&mut run, &approach, pass.tips, pass.by_op(request.op));
        }
        self.finish(&mut run)
    }

    fn serve_batch(&mut self, now: Time, requests: &[Request], out: &mut Vec<Service>) {
        match requests {
            [] => {}
            // Alone, a request is served in LBN order, as outside batches.
            [only] => out.push(self.serve(now, only)),
            _ if self.geometry.has_points() => points::serve(self, now, requests, out),
            // In a stream all tips work on one block.
            _ if self.geometry.is_stream() => serve_in_turn(self, now, requests, out),
            _ => batch::serve(self, now, requests, out),
        }
    }

    fn serve_merged(&mut self, now: Time, requests: &[Request], plan: Option<&Plan>, out: &mut Vec<Service>) {
        match plan {
            Some(plan) => plans::serve(self, now, requests, plan, out),
            None if self.geometry.is_stream() => serve_as_one(self, now, requests, out),
            None => self.serve_batch(now, requests, out),
        }
    }

    fn planner(&self) -> Option<&dyn Planner> {
        (!self.geometry.is_stream() || self.geometry.has_points()).then_some(self as &dyn Planner)
    }

    fn access_subsectors(&mut self) -> bool {
        // A code over tips is one over whole blocks.
        self.subsector = !self.geometry.is_stream() && self.tips.check == 0;
        self.subsector
    }

    #[inline]
    fn condition(&self, request: &Request) -> Condition {
        let extent = self.extent(request);
        self.tips.condition(&self.geometry, extent.lbn, extent.blocks)
    }

    fn counts(&self) -> Vec<Count> {
        self.tips.counts(&self.geometry)
    }

    fn wake_ns(&self, now: Time) -> u64 {
        self.sled_at(now).1
    }

    fn idle_policy(&mut self) -> Option<&mut IdlePolicy> {
        Some(&mut self.spin_down)
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        if now < self.last.end {
            let mut books = self.books;
            books.remove_service(&self.course.books());
            let tally = books.tally(&self.power).plus(&self.course.tally(&self.power, now));
            let mut meter = self.meter.clone();
            self.course.tell(&mut meter, &self.power, now);
            // What of a start-up is still to come has not been spent yet, and would not be saved.
            let ahead_j = self.spin_down.ahead_j(1, self.course.awake() - now.min(self.course.awake()));
            let regret_j = self.regret_j + (self.last_regret_j - ahead_j).max(0.0);
            return EnergyLedger { regret_j, ..tally.ledger(&self.power, &meter) };
        }
        let idle_ns = now.saturating_since(self.last.end);
        self.idle_ledger(&self.idle_books(idle_ns, None), self.spin_down.waste_j(idle_ns))
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        if then < self.last.end {
            return self.ledger(then);
        }
        let [part_ns, whole_ns] = [then, now].map(|at| at.saturating_since(self.last.end));
        let regret_j = self.spin_down.part_regret_j(part_ns, whole_ns);
        self.idle_ledger(&self.idle_books(part_ns, Some(whole_ns)), regret_j)
    }

    fn meter(&self, now: Time) -> Option<Meter> {
        if now < self.last.end {
            let mut meter = self.meter.clone();
            self.course.tell(&mut meter, &self.power, now);
            return Some(meter);
        }
        Some(self.meter_after(&self.idle_books(now - self.last.end, None)))
    }

    fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        self.course.tell(&mut self.meter, &self.power, now);
        let idle_ns = now.saturating_since(self.last.end);
        if now > self.last.end && (self.untouched() || self.spin_down.decided(idle_ns)) {
            let idle = self.idle_books(idle_ns, Some(idle_ns));
            self.last.tell_idle(&mut self.meter, &self.power, &idle);
        }
        Some(&mut self.meter)
    }
}

impl Planner for MemsDevice {
    fn merges(&self) -> bool {
        !self.geometry.has_points()
    }

    fn plans(&self, now: Time, requests: &[Request]) -> Vec<Plan> {
        plans::plans(self, now, requests)
    }

    fn try_serve(&self, now: Time, from: Option<Stance>, request: &Request) -> Trial {
        trial::try_serve(self, now, from, request)
    }

    fn way_j(&self, from: Stance, to: Stance) -> f64 {
        trial::way_j(self, from, to)
    }

    fn about_face_j(&self) -> f64 {
        trial::about_face_j(self)
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
