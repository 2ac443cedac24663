//! A device that is watched: what it is given it can serve, and what it says of it adds up.

use super::{Condition, EnergyLedger, IdlePolicy, Location, Mechanism, Plan, Planner, Platter, Service};
use crate::engine::details::Count;
use crate::engine::Stop;
use crate::power::Meter;
use crate::request::Request;
use crate::service::PHASES;
use crate::time::Time;

/// A device, and what it and whoever drives it owe each other.
#[derive(Clone)]
pub struct Checked {
    device: Box<dyn Mechanism>,
    /// When it is done with all that it has been given.
    free: Time,
    broken: Option<String>,
}

/// What is wrong with what a device says of a request that was dispatched at `now`, alone or with others.
#[must_use]
pub fn flaw(now: Time, request: &Request, service: &Service) -> Option<String> {
    let Service { start, end, free, phases, energy } = service;
    if !(now <= *start && start <= end && start <= free) {
        return Some(format!("the times of {request:?}, dispatched at {now:?}, are in no order: {service:?}"));
    }
    if phases.service_ns() != *end - *start {
        let (sum, took) = (phases.service_ns(), *end - *start);
        return Some(format!("the phases of {request:?} are {sum} ns together, and it took {took} ns: {phases:?}"));
    }
    let values_ns = phases.values_ns();
    let named = |name: &str| PHASES.iter().position(|phase| phase.name == name).map_or(0, |whole| values_ns[whole]);
    let part = PHASES.iter().zip(values_ns).find(|(part, ns)| !part.within.is_empty() && *ns > named(part.within));
    if let Some((part, ns)) = part {
        return Some(format!("{} of {request:?} takes {ns} ns, longer than {}: {phases:?}", part.name, part.within));
    }
    let joules = [energy.startup_j, energy.seek_j, energy.rotation_j, energy.servo_j, energy.data_j, energy.idle_j];
    is_no_energy(joules).then(|| format!("the energy of {request:?} is none that anything spends: {energy:?}"))
}

fn is_no_energy(joules: impl IntoIterator<Item = f64>) -> bool {
    joules.into_iter().any(|joules| !(joules.is_finite() && joules >= 0.0))
}

impl Checked {
    /// Watches a device that has served nothing yet.
    #[must_use]
    pub fn new(device: Box<dyn Mechanism>) -> Self {
        Self { device, free: Time::ZERO, broken: None }
    }

    fn expect(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            let rule = rule();
            debug_assert!(false, "{rule}");
            self.broken.get_or_insert(rule);
        }
    }

    /// Requests are about to be served together, or one alone.
    fn given(&mut self, now: Time, requests: &[Request]) {
        let free = self.free;
        self.expect(now >= free, || format!("the device serves until {free:?}, and is given {requests:?} at {now:?}"));
        let ledger = self.device.ledger(now);
        self.expect(ledger.total_ns() == now.ns(), || {
            format!("the device accounts for {} ns at {now:?}: {:?}", ledger.total_ns(), ledger.time_ns)
        });
        self.expect(!is_no_energy(ledger.energy_j), || {
            format!("the device has spent what nothing spends by {now:?}: {:?} J", ledger.energy_j)
        });
        let blocks = self.device.capacity_blocks();
        for request in requests {
            let fits = request.fits(blocks);
            self.expect(fits, || format!("{request:?} is not among the {blocks} blocks of the device"));
            if fits && !request.is_flush() {
                self.placed(now, request);
            }
        }
    }

    /// Schedulers rely on where a device says that requests are.
    fn placed(&mut self, now: Time, request: &Request) {
        let (location, cylinders) = (self.device.locate(request), self.device.cylinders());
        self.expect(location.cylinder < cylinders, || {
            format!("{request:?} is at {location:?}, and the device has {cylinders} cylinders")
        });
        let bound_ns = self.device.cylinder_bound_ns(now, location.cylinder);
        let positioning_ns = self.device.positioning_ns(now, location);
        self.expect(bound_ns <= positioning_ns, || {
            format!(
                "{location:?} is {positioning_ns} ns away at {now:?}, and all of its cylinder at least {bound_ns} ns"
            )
        });
    }

    /// Those requests have been served.
    fn served(&mut self, now: Time, requests: &[Request], services: &[Service]) {
        self.expect(requests.len() == services.len(), || {
            format!("the device is given {} requests together, and tells of {}", requests.len(), services.len())
        });
        for (request, service) in requests.iter().zip(services) {
            let flaw = flaw(now, request, service);
            self.expect(flaw.is_none(), || flaw.unwrap_or_default());
            self.free = self.free.max(service.free);
        }
    }

    fn together(
        &mut self,
        now: Time,
        requests: &[Request],
        out: &mut Vec<Service>,
        serve: impl FnOnce(&mut dyn Mechanism, &mut Vec<Service>),
    ) {
        let before = out.len();
        self.given(now, requests);
        serve(self.device.as_mut(), out);
        self.served(now, requests, out.get(before..).unwrap_or_default());
    }
}

impl Mechanism for Checked {
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        let alone = std::slice::from_ref(request);
        self.given(now, alone);
        let service = self.device.serve(now, request);
        self.served(now, alone, std::slice::from_ref(&service));
        self.expect(service.free <= service.end, || {
            format!("the device is not free when {request:?}, which it serves alone, has ended: {service:?}")
        });
        service
    }

    fn serve_batch(&mut self, now: Time, requests: &[Request], out: &mut Vec<Service>) {
        self.together(now, requests, out, |device, out| device.serve_batch(now, requests, out));
    }

    fn serve_merged(&mut self, now: Time, requests: &[Request], plan: Option<&Plan>, out: &mut Vec<Service>) {
        self.together(now, requests, out, |device, out| device.serve_merged(now, requests, plan, out));
    }

    fn check(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn condition(&self, request: &Request) -> Condition {
        self.device.condition(request)
    }

    fn counts(&self) -> Vec<Count> {
        self.device.counts()
    }

    fn capacity_blocks(&self) -> u64 {
        self.device.capacity_blocks()
    }

    fn block_bytes(&self) -> u32 {
        self.device.block_bytes()
    }

    fn command_overhead_ns(&self) -> u64 {
        self.device.command_overhead_ns()
    }

    fn cylinders(&self) -> u32 {
        self.device.cylinders()
    }

    fn locate(&self, request: &Request) -> Location {
        self.device.locate(request)
    }

    fn coordinates_m(&self, location: Location) -> (f64, f64) {
        self.device.coordinates_m(location)
    }

    fn position_m(&self, now: Time) -> (f64, f64) {
        self.device.position_m(now)
    }

    fn cylinder(&self, now: Time) -> u32 {
        self.device.cylinder(now)
    }

    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        self.device.cylinder_bound_ns(now, cylinder)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.device.positioning_ns(now, location)
    }

    fn platter(&self, now: Time) -> Option<Platter> {
        self.device.platter(now)
    }

    fn angle(&self, location: Location) -> u64 {
        self.device.angle(location)
    }

    fn access_subsectors(&mut self) -> bool {
        self.device.access_subsectors()
    }

    fn planner(&self) -> Option<&dyn Planner> {
        self.device.planner()
    }

    fn owes_writes(&self, now: Time) -> bool {
        self.device.owes_writes(now)
    }

    fn may_lose_writes(&self) -> bool {
        self.device.may_lose_writes()
    }

    fn is_own(&self) -> bool {
        self.device.is_own()
    }

    fn is_broken(&self) -> bool {
        self.device.is_broken()
    }

    fn stop(&self, waiting: &[Request]) -> Option<Stop> {
        self.device.stop(waiting)
    }

    fn wake_ns(&self, now: Time) -> u64 {
        self.device.wake_ns(now)
    }

    fn idle_policy(&mut self) -> Option<&mut IdlePolicy> {
        self.device.idle_policy()
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.device.ledger(now)
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        self.device.ledger_before(then, now)
    }

    fn meter(&self, now: Time) -> Option<Meter> {
        self.device.meter(now)
    }

    fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        self.device.settle_meter(now)
    }
}

#[cfg(test)]
mod tests;
