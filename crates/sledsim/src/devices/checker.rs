//! A check that a mechanism, and the drive that uses it, keep the contract of [`Mechanism`].

use super::{EnergyLedger, Mechanism, Service};
use crate::request::Request;
use crate::service::PHASES;
use crate::time::Time;

/// Checks each service of one mechanism, from before its first.
///
/// Call [`MechanismChecker::before`] with the requests that are about to be served, then [`MechanismChecker::after`] with the
/// services.
#[derive(Clone, Debug, Default)]
pub struct MechanismChecker {
    /// When the mechanism is free after all services so far.
    free: Time,
    violation: Option<String>,
}

/// Returns a description of an error in `service`, reported for a request that was dispatched at `now`.
#[must_use]
pub fn service_error(now: Time, request: &Request, service: &Service) -> Option<String> {
    let Service { start, end, free, phases, energy } = service;
    if !(now <= *start && start <= end && start <= free) {
        return Some(format!("times of {request:?}, dispatched at {now:?}, are out of order: {service:?}"));
    }
    if phases.service_ns() != *end - *start {
        let (sum, took) = (phases.service_ns(), *end - *start);
        return Some(format!("phases of {request:?} add up to {sum} ns, but it took {took} ns: {phases:?}"));
    }
    let values_ns = phases.values_ns();
    let named = |name: &str| PHASES.iter().position(|phase| phase.name == name).map_or(0, |whole| values_ns[whole]);
    let part = PHASES.iter().zip(values_ns).find(|(part, ns)| !part.within.is_empty() && *ns > named(part.within));
    if let Some((part, ns)) = part {
        return Some(format!("{} of {request:?} takes {ns} ns, longer than {}: {phases:?}", part.name, part.within));
    }
    let joules = [energy.startup_j, energy.seek_j, energy.rotation_j, energy.servo_j, energy.data_j, energy.idle_j];
    has_impossible_energy(joules).then(|| format!("energy of {request:?} is negative or not finite: {energy:?}"))
}

fn has_impossible_energy(joules: impl IntoIterator<Item = f64>) -> bool {
    joules.into_iter().any(|joules| !(joules.is_finite() && joules >= 0.0))
}

impl MechanismChecker {
    /// Returns the first violation of the contract.
    #[must_use]
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    fn expect(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            let rule = rule();
            debug_assert!(false, "{rule}");
            self.violation.get_or_insert(rule);
        }
    }

    /// Checks the state of the mechanism, and that it can serve `requests` at `now`.
    pub fn before(&mut self, mechanism: &dyn Mechanism, now: Time, requests: &[Request]) {
        let free = self.free;
        self.expect(now >= free, || {
            format!("the device is busy until {free:?}, but {requests:?} dispatched at {now:?}")
        });
        let EnergyLedger { time_ns, energy_j, .. } = mechanism.ledger(now);
        let total_ns: u64 = time_ns.iter().sum();
        self.expect(total_ns == now.ns(), || format!("the device accounts for {total_ns} ns at {now:?}: {time_ns:?}"));
        self.expect(!has_impossible_energy(energy_j), || {
            format!("the energy of the device at {now:?} is negative or not finite: {energy_j:?} J")
        });
        let blocks = mechanism.dimensions().capacity_blocks;
        for request in requests {
            let fits = request.fits(blocks);
            self.expect(fits, || format!("{request:?} is not among the {blocks} blocks of the device"));
            if fits && !request.is_flush() {
                self.check_location(mechanism, now, request);
            }
        }
    }

    /// Checks what schedulers rely on.
    fn check_location(&mut self, mechanism: &dyn Mechanism, now: Time, request: &Request) {
        let (location, cylinders) = (mechanism.locate(request), mechanism.dimensions().cylinders);
        self.expect(location.cylinder < cylinders, || {
            format!("{request:?} is at {location:?}, but the device has {cylinders} cylinders")
        });
        let bound_ns = mechanism.cylinder_bound_ns(now, location.cylinder);
        let positioning_ns = mechanism.positioning_ns(now, location);
        self.expect(bound_ns <= positioning_ns, || {
            format!("positioning to {location:?} at {now:?} takes {positioning_ns} ns, less than the cylinder's bound of {bound_ns} ns")
        });
    }

    /// Checks the services of `requests`, which were dispatched at `now`.
    pub fn after(&mut self, now: Time, requests: &[Request], services: &[Service]) {
        self.expect(requests.len() == services.len(), || {
            format!("the device returned {} services for {} requests", services.len(), requests.len())
        });
        for (request, service) in requests.iter().zip(services) {
            let error = service_error(now, request, service);
            self.expect(error.is_none(), || error.unwrap_or_default());
            self.free = self.free.max(service.free);
        }
        if let ([request], [service]) = (requests, services) {
            self.expect(service.free <= service.end, || {
                format!("the device is not free at the end of {request:?}, served alone: {service:?}")
            });
        }
    }
}

#[cfg(test)]
mod tests;
