//! The sled as a [`Mechanism`].

use std::ops::Range;

use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::energy::STOPPED;
use crate::devices::mems::subsector::PassesOf;
use crate::devices::mems::{batch, estimate, plans, points};
use crate::devices::{
    serve_in_turn, BatchAccess, Condition, Coordinates, Defects, Dimensions, Estimate, Location, Mechanism,
    MechanismState, Plan, Powered, Together,
};
use crate::engine::details::Count;
use crate::power::{EnergyAccount, SpinDown};
use crate::request::Request;
use crate::service::{EnergyLedger, Service};
use crate::time::Time;

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
        Location { cylinder: place.cylinder, slot: place.row }
    }

    fn coordinates_m(&self, location: Location) -> Coordinates {
        let row = if self.geometry.has_points() { points::row_of(location) } else { location.slot };
        Coordinates { x_m: self.geometry.x_m(location.cylinder), y_m: self.geometry.row_middle_m(row) }
    }

    fn position_m(&self, now: Time) -> Coordinates {
        let (sled, _) = self.sled_at(now);
        Coordinates { x_m: self.positioning().x_place(&sled).0, y_m: self.positioning().position(&sled.y).0 }
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

    fn serve_together(&mut self, now: Time, requests: &[Request], how: Together<'_>, out: &mut Vec<Service>) {
        match (how, requests) {
            (Together::Merged(Some(plan)), _) => plans::serve(self, now, requests, plan, out),
            (Together::Merged(None), _) if self.geometry.is_stream() => how.serve_one_by_one(self, now, requests, out),
            (_, []) => {}
            // Alone, a request is served in LBN order, as outside batches.
            (_, [only]) => out.push(self.serve(now, only)),
            _ if self.geometry.has_points() => points::serve(self, now, requests, out),
            // In a stream all tips work on one block.
            _ if self.geometry.is_stream() => serve_in_turn(self, now, requests, out),
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
        (!self.geometry.is_stream() || self.geometry.has_points()).then_some(self as &dyn BatchAccess)
    }

    fn powered(&self) -> Option<&dyn Powered> {
        Some(self)
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        Some(self)
    }

    fn defects(&self) -> Option<&dyn Defects> {
        self.tips.have_failed().then_some(self as &dyn Defects)
    }
}

impl Powered for MemsDevice {
    fn wake_ns(&self, now: Time) -> u64 {
        self.sled_at(now).1
    }

    fn idle_ns(&self, now: Time) -> u64 {
        if self.untouched() {
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
        if now > self.last.end && (self.untouched() || self.spin_down.is_decided(idle_ns)) {
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
    /// Sets the device to access only the bytes that requests need, see [`Request::needed`]. Returns `false` if it can't access
    /// less than a block.
    pub fn access_subsectors(&mut self) -> bool {
        // A code over tips is one over whole blocks.
        self.subsector = !self.geometry.is_stream() && self.tips.check == 0;
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
        estimate::estimate(self, now, from, request)
    }

    fn move_j(&self, from: MechanismState, to: MechanismState) -> f64 {
        estimate::move_j(self, from, to)
    }

    fn max_turnaround_j(&self) -> f64 {
        estimate::max_turnaround_j(self)
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
