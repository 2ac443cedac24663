//! Devices that violate each rule once, and the message about it.

use super::*;
use crate::devices::simple::{ConstantParameters, SimpleDevice};
use crate::devices::{Coordinates, Dimensions, Location, Together};
use crate::request::Request;

/// Changes to the answers of a plain device.
#[derive(Clone, Copy, Default)]
struct Bend {
    location: Option<Location>,
    bound_ns: u64,
    ledger: Option<fn(&mut EnergyLedger)>,
    service: Option<fn(&mut Service)>,
    omits_a_service: bool,
}

/// A plain device, of 100 blocks and 1 ms for each request, with changed answers.
#[derive(Clone)]
struct Bent(SimpleDevice, Bend);

/// A device and its checker, as a drive uses them.
struct Checked(Bent, MechanismChecker);

impl Checked {
    fn new(bend: Bend) -> Self {
        let parameters = ConstantParameters {
            name: String::new(),
            block_bytes: 512,
            capacity_blocks: 100,
            access_ms: 1.0,
            power: None,
        };
        let device = SimpleDevice::constant(&parameters).expect("they are valid");
        Self(Bent(device, bend), MechanismChecker::default())
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

impl Mechanism for Bent {
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        // The plain device asserts both in debug builds.
        let (lbn, at) = (request.lbn.min(90), now.max(Time::from_ns(self.0.ledger(Time::MAX).time_ns[2])));
        let mut service = self.0.serve(at, &Request { lbn, ..*request });
        if let Some(bend) = self.1.service {
            bend(&mut service);
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
        if let Some(bend) = self.1.ledger {
            bend(&mut ledger);
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
fn violation(bend: Bend, act: fn(&mut Checked)) -> Option<String> {
    let found = std::panic::catch_unwind(|| {
        let mut device = Checked::new(bend);
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
    assert_eq!(violation(Bend::default(), one_by_one), None);
    assert_eq!(violation(Bend::default(), together), None);
}

#[test]
fn each_violation_is_found() {
    let plain = Bend::default();
    let serves = |service: fn(&mut Service)| Bend { service: Some(service), ..plain };
    let books = |ledger: fn(&mut EnergyLedger)| Bend { ledger: Some(ledger), ..plain };
    type Act = fn(&mut Checked);
    let violations: [(&str, Bend, Act); 11] = [
        ("is not among the 100 blocks of the device", plain, |device| {
            device.serve(Time::ZERO, &Request::read(99, 2));
        }),
        ("the device is busy until", plain, |device| {
            (0..2).for_each(|_| device.serve(Time::ZERO, &Request::read(3, 2)));
        }),
        ("the device accounts for", books(|ledger| ledger.time_ns[0] += 1), one_by_one),
        ("the energy of the device", books(|ledger| ledger.energy_j[0] = -1.0), one_by_one),
        ("but the device has", Bend { location: Some(Location { cylinder: 1 << 20, slot: 0 }), ..plain }, one_by_one),
        ("less than the cylinder's bound of", Bend { bound_ns: 1, ..plain }, one_by_one),
        ("are out of order", serves(|service| service.start += 9_000_000), one_by_one),
        ("but it took", serves(|service| service.phases.bus_ns += 1), one_by_one),
        ("longer than seek_x", serves(|service| service.phases.settle_ns = u64::MAX), one_by_one),
        ("is negative or not finite", serves(|service| service.energy.data_j = f64::NAN), one_by_one),
        ("is not free at the end of", serves(|service| service.free = service.end + 1), one_by_one),
    ];
    for (words, bend, act) in violations {
        let found = violation(bend, act);
        assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
    }
    let found = violation(Bend { omits_a_service: true, ..plain }, together);
    assert!(found.as_ref().is_some_and(|found| found.contains("returned 1 services for 2 requests")), "{found:?}");
}
