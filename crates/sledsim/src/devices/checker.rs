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

/// Devices that violate each rule once, and the message of the violation.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::simple::{ConstantParameters, SimpleDevice};
    use crate::devices::{Coordinates, Dimensions, Location, Together};
    use crate::request::Request;

    /// Changes to the answers of a plain device.
    #[derive(Clone, Copy, Default)]
    struct Changes {
        location: Option<Location>,
        bound_ns: u64,
        ledger: Option<fn(&mut EnergyLedger)>,
        service: Option<fn(&mut Service)>,
        omits_a_service: bool,
    }

    /// A plain device, of 100 blocks and 1 ms for each request, with changed answers.
    #[derive(Clone)]
    struct Faulty(SimpleDevice, Changes);

    /// A device and its checker, as a drive uses them.
    struct Checked(Faulty, MechanismChecker);

    impl Checked {
        fn new(changes: Changes) -> Self {
            let parameters = ConstantParameters {
                name: String::new(),
                block_bytes: 512,
                capacity_blocks: 100,
                access_ms: 1.0,
                power: None,
            };
            let device = SimpleDevice::constant(&parameters).expect("they are valid");
            Self(Faulty(device, changes), MechanismChecker::default())
        }

        fn serve(&mut self, now: Time, request: &Request) {
            let requests = std::slice::from_ref(request);
            self.1.before(&self.0, now, requests);
            let service = self.0.serve(now, request);
            self.1.after(now, requests, &[service]);
        }

        fn serve_batch(&mut self, now: Time, requests: &[Request]) {
            let mut services = Vec::new();
            self.1.before(&self.0, now, requests);
            self.0.serve_together(now, requests, Together::Batch, &mut services);
            self.1.after(now, requests, &services);
        }
    }

    impl Mechanism for Faulty {
        fn serve(&mut self, now: Time, request: &Request) -> Service {
            // The plain device asserts both in debug builds.
            let (lbn, at) = (request.lbn.min(90), now.max(Time::from_ns(self.0.ledger(Time::MAX).time_ns[2])));
            let mut service = self.0.serve(at, &Request { lbn, ..*request });
            if let Some(changes) = self.1.service {
                changes(&mut service);
            }
            service
        }

        fn serve_together(&mut self, now: Time, requests: &[Request], _how: Together<'_>, out: &mut Vec<Service>) {
            let served = requests.len() - usize::from(self.1.omits_a_service);
            let mut at = now;
            for request in &requests[..served] {
                out.push(self.serve(at, request));
                at = out[out.len() - 1].free;
            }
        }

        fn locate(&self, request: &Request) -> Location {
            self.1.location.unwrap_or_else(|| self.0.locate(request))
        }

        fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
            self.0.cylinder_bound_ns(now, cylinder) + self.1.bound_ns
        }

        fn ledger(&self, now: Time) -> EnergyLedger {
            let mut ledger = self.0.ledger(now);
            if let Some(changes) = self.1.ledger {
                changes(&mut ledger);
            }
            ledger
        }

        fn dimensions(&self) -> Dimensions {
            self.0.dimensions()
        }

        fn coordinates_m(&self, location: Location) -> Coordinates {
            self.0.coordinates_m(location)
        }

        fn position_m(&self, now: Time) -> Coordinates {
            self.0.position_m(now)
        }

        fn cylinder(&self, now: Time) -> u32 {
            self.0.cylinder(now)
        }

        fn positioning_ns(&self, now: Time, location: Location) -> u64 {
            self.0.positioning_ns(now, location)
        }
    }

    /// Returns the violation that the checker finds; with debug assertions the check itself panics, with the same message.
    fn violation(changes: Changes, act: fn(&mut Checked)) -> Option<String> {
        let found = std::panic::catch_unwind(|| {
            let mut device = Checked::new(changes);
            act(&mut device);
            device.1.violation().map(str::to_owned)
        });
        found.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned())
    }

    /// A request, then one that finds the device idle.
    fn one_by_one(device: &mut Checked) {
        for ms in [0, 2] {
            device.serve(Time::from_ns(ms * 1_000_000), &Request::read(3, 2));
        }
    }

    fn together(device: &mut Checked) {
        device.serve_batch(Time::ZERO, &[Request::read(3, 2), Request::read(7, 2)]);
    }

    #[test]
    fn a_correct_device_has_no_violation() {
        assert_eq!(violation(Changes::default(), one_by_one), None);
        assert_eq!(violation(Changes::default(), together), None);
    }

    #[test]
    fn each_violation_is_found() {
        let plain = Changes::default();
        let serves = |service: fn(&mut Service)| Changes { service: Some(service), ..plain };
        let accounts = |ledger: fn(&mut EnergyLedger)| Changes { ledger: Some(ledger), ..plain };
        type Act = fn(&mut Checked);
        let violations: [(&str, Changes, Act); 11] = [
            ("is not among the 100 blocks of the device", plain, |device| {
                device.serve(Time::ZERO, &Request::read(99, 2));
            }),
            ("the device is busy until", plain, |device| {
                (0..2).for_each(|_| device.serve(Time::ZERO, &Request::read(3, 2)));
            }),
            ("the device accounts for", accounts(|ledger| ledger.time_ns[0] += 1), one_by_one),
            ("the energy of the device", accounts(|ledger| ledger.energy_j[0] = -1.0), one_by_one),
            (
                "but the device has",
                Changes { location: Some(Location { cylinder: 1 << 20, slot: 0 }), ..plain },
                one_by_one,
            ),
            ("less than the cylinder's bound of", Changes { bound_ns: 1, ..plain }, one_by_one),
            ("are out of order", serves(|service| service.start += 9_000_000), one_by_one),
            ("but it took", serves(|service| service.phases.bus_ns += 1), one_by_one),
            ("longer than seek_x", serves(|service| service.phases.settle_ns = u64::MAX), one_by_one),
            ("is negative or not finite", serves(|service| service.energy.data_j = f64::NAN), one_by_one),
            ("is not free at the end of", serves(|service| service.free = service.end + 1), one_by_one),
        ];
        for (words, changes, act) in violations {
            let found = violation(changes, act);
            assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
        }
        let found = violation(Changes { omits_a_service: true, ..plain }, together);
        assert!(found.as_ref().is_some_and(|found| found.contains("returned 1 services for 2 requests")), "{found:?}");
    }
}
