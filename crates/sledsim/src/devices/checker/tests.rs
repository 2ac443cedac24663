//! Devices that break each rule once, and what is said of it.

use super::*;
use crate::devices::simple::{ConstantParameters, SimpleDevice};
use crate::request::Request;

/// What is bent of what a plain device says.
#[derive(Clone, Copy, Default)]
struct Bend {
    location: Option<Location>,
    bound_ns: u64,
    ledger: Option<fn(&mut EnergyLedger)>,
    service: Option<fn(&mut Service)>,
    forgets: bool,
}

/// A plain device, of 100 blocks and 1 ms for each request, but for what is bent.
#[derive(Clone)]
struct Bent(SimpleDevice, Bend);

impl Bent {
    fn watched(bend: Bend) -> Checked {
        let parameters = ConstantParameters {
            name: String::new(),
            block_bytes: 512,
            capacity_blocks: 100,
            access_ms: 1.0,
            power: None,
        };
        Checked::new(Box::new(Self(SimpleDevice::constant(&parameters).expect("they are valid"), bend)))
    }
}

impl Mechanism for Bent {
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        // The plain device itself minds both.
        let (lbn, at) = (request.lbn.min(90), now.max(Time::from_ns(self.0.ledger(Time::MAX).time_ns[2])));
        let mut service = self.0.serve(at, &Request { lbn, ..*request });
        if let Some(bend) = self.1.service {
            bend(&mut service);
        }
        service
    }

    fn serve_batch(&mut self, now: Time, requests: &[Request], out: &mut Vec<Service>) {
        let told = requests.len() - usize::from(self.1.forgets);
        let mut at = now;
        for request in &requests[..told] {
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

    fn capacity_blocks(&self) -> u64 {
        self.0.capacity_blocks()
    }

    fn block_bytes(&self) -> u32 {
        self.0.block_bytes()
    }

    fn command_overhead_ns(&self) -> u64 {
        0
    }

    fn cylinders(&self) -> u32 {
        self.0.cylinders()
    }

    fn coordinates_m(&self, location: Location) -> (f64, f64) {
        self.0.coordinates_m(location)
    }

    fn position_m(&self, now: Time) -> (f64, f64) {
        self.0.position_m(now)
    }

    fn cylinder(&self, now: Time) -> u32 {
        self.0.cylinder(now)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.0.positioning_ns(now, location)
    }
}

/// What is said of a device; with debug assertions the breach itself panics, and says the same.
fn told(bend: Bend, act: fn(&mut Checked)) -> Option<String> {
    let told = std::panic::catch_unwind(|| {
        let mut device = Bent::watched(bend);
        act(&mut device);
        device.check().err()
    });
    told.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned())
}

/// A request, then one that finds the device ready.
fn one_by_one(device: &mut Checked) {
    for ms in [0, 2] {
        device.serve(Time::from_ns(ms * 1_000_000), &Request::read(3, 2));
    }
}

fn together(device: &mut Checked) {
    device.serve_batch(Time::ZERO, &[Request::read(3, 2), Request::read(7, 2)], &mut Vec::new());
}

#[test]
fn a_device_that_keeps_to_the_rules_is_let_be() {
    assert_eq!(told(Bend::default(), one_by_one), None);
    assert_eq!(told(Bend::default(), together), None);
}

/// Each breach of a rule, and a word of what is said of it.
#[test]
fn every_breach_is_told() {
    let plain = Bend::default();
    let serves = |service: fn(&mut Service)| Bend { service: Some(service), ..plain };
    let books = |ledger: fn(&mut EnergyLedger)| Bend { ledger: Some(ledger), ..plain };
    type Act = fn(&mut Checked);
    let breaches: [(&str, Bend, Act); 11] = [
        ("is not among the 100 blocks of the device", plain, |device| {
            _ = device.serve(Time::ZERO, &Request::read(99, 2))
        }),
        ("the device serves until", plain, |device| {
            (0..2).for_each(|_| _ = device.serve(Time::ZERO, &Request::read(3, 2)));
        }),
        ("the device accounts for", books(|ledger| ledger.time_ns[0] += 1), one_by_one),
        ("the device has spent what nothing spends", books(|ledger| ledger.energy_j[0] = -1.0), one_by_one),
        ("and the device has", Bend { location: Some(Location { cylinder: 1 << 20, slot: 0 }), ..plain }, one_by_one),
        ("and all of its cylinder at least", Bend { bound_ns: 1, ..plain }, one_by_one),
        ("are in no order", serves(|service| service.start += 9_000_000), one_by_one),
        ("and it took", serves(|service| service.phases.bus_ns += 1), one_by_one),
        ("longer than seek_x", serves(|service| service.phases.settle_ns = u64::MAX), one_by_one),
        ("is none that anything spends", serves(|service| service.energy.data_j = f64::NAN), one_by_one),
        ("is not free when", serves(|service| service.free = service.end + 1), one_by_one),
    ];
    for (word, bend, act) in breaches {
        let told = told(bend, act);
        assert!(told.as_ref().is_some_and(|told| told.contains(word)), "{word}: {told:?}");
    }
    let told = told(Bend { forgets: true, ..plain }, together);
    assert!(told.as_ref().is_some_and(|told| told.contains("requests together, and tells of")), "{told:?}");
}
