//! Policies that use positioning times, on disks: they decide as an exhaustive search, so the seek and rotation bounds
//! are correct.

use std::cell::Cell;

use proptest::prelude::*;
use rayon::prelude::*;
use sledsim::devices::disk::{DiskDevice, DiskParameters};
use sledsim::devices::{Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Rotating, Service};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::schedulers::{asptf, build, sptf, zsptf, SchedulerSpec};
use sledsim::time::Time;
use sledsim_testing::disk_designs::{disk_design, without_buffer};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::{cases, size};

fn device(parameters: &DiskParameters) -> DiskDevice {
    DiskDevice::new(parameters).unwrap_or_else(|error| panic!("{}: {error}", parameters.name))
}

/// The disks of the catalogue, each also with two arms and without its buffer.
fn catalogue() -> Vec<DiskParameters> {
    let disks = scenarios::disk_devices().into_iter();
    disks.flat_map(|(_, disk)| [DiskParameters { actuators: 2, ..without_buffer(&disk) }, disk]).collect()
}

/// Returns a random request: reads and writes, some of them adjacent.
fn request(id: u64, random: &mut Stream, capacity: u64) -> Request {
    let blocks = 1 + random.below(16).min(capacity - 1);
    let span = if random.chance(0.3) { capacity / 50 + blocks } else { capacity };
    let lbn = random.below(span.min(capacity) - blocks + 1);
    let op = if random.chance(0.6) { Op::Read } else { Op::Write };
    Request { id, op, ..Request::read(lbn, blocks as u32) }
}

/// Returns the value that an exhaustive search minimises, ns.
fn cost_ns(spec: &SchedulerSpec, device: &DiskDevice, now: Time, ready: Time, request: &Request) -> f64 {
    let positioning_ns = device.positioning_ns(now, device.locate(request)) as f64;
    match spec {
        SchedulerSpec::Asptf(asptf::Spec { weight }) => positioning_ns - weight * (now - ready) as f64,
        _ => positioning_ns,
    }
}

/// Keeps `pending` requests in the queue, and compares each decision with a search of all of them.
fn decides(spec: &SchedulerSpec, parameters: &DiskParameters, pending: usize, decisions: usize) {
    let mut device = device(parameters);
    let mut scheduler = build(spec, &device);
    let mut random = Stream::new(3, "pending");
    let mut waiting: Vec<(Time, Request)> = Vec::new();
    let mut now = Time::from_ns(random.below(1 << 40));
    for id in 0..(pending + decisions) as u64 {
        let new = request(id, &mut random, device.dimensions().capacity_blocks);
        scheduler.push(now, new, &device);
        waiting.push((now, new));
        if waiting.len() < pending {
            continue;
        }
        let costs = waiting.iter().map(|(ready, it)| cost_ns(spec, &device, now, *ready, it)).enumerate();
        let (first, _) = costs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("requests are pending");
        let (_, expected) = waiting.remove(first);
        assert_eq!(scheduler.pop(now, &device), Some(expected), "{spec:?} on {}", parameters.name);
        // Before every fifth dispatch, the drive is idle for a while.
        let idle_ns = if id % 5 == 0 { random.below(9_000_000) } else { 0 };
        now = device.serve(now, &expected).free + idle_ns;
    }
}

const POLICIES: [SchedulerSpec; 4] = [
    sptf::POLICY.default,
    SchedulerSpec::Asptf(asptf::Spec { weight: 0.006 }),
    SchedulerSpec::Asptf(asptf::Spec { weight: 0.5 }),
    SchedulerSpec::Zsptf(zsptf::Spec { zones: 1 }),
];

#[test]
fn deep_catalogue_queues_equal_an_exhaustive_search() {
    catalogue().par_iter().for_each(|disk| {
        for spec in &POLICIES {
            decides(spec, disk, 1_000, size(60, 300));
            decides(spec, disk, 30, 300);
        }
    });
}

#[test]
fn very_deep_queues_equal_an_exhaustive_search() {
    catalogue().par_iter().for_each(|disk| decides(&sptf::POLICY.default, disk, 10_000, size(6, 50)));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn random_designs_equal_an_exhaustive_search(
        disk in disk_design(),
        pending in 2_usize..300,
        policy in 0..POLICIES.len(),
    ) {
        decides(&POLICIES[policy], &disk, pending, 60);
    }
}

/// A disk that counts positioning queries and may hide its rotation.
#[derive(Clone)]
struct Counted {
    disk: DiskDevice,
    asked: Cell<u64>,
    turns: bool,
}

impl Mechanism for Counted {
    fn dimensions(&self) -> Dimensions {
        self.disk.dimensions()
    }
    fn locate(&self, request: &Request) -> Location {
        self.disk.locate(request)
    }
    fn coordinates_m(&self, location: Location) -> Coordinates {
        self.disk.coordinates_m(location)
    }
    fn position_m(&self, now: Time) -> Coordinates {
        self.disk.position_m(now)
    }
    fn cylinder(&self, now: Time) -> u32 {
        self.disk.cylinder(now)
    }
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        self.disk.cylinder_bound_ns(now, cylinder)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.asked.set(self.asked.get() + 1);
        self.disk.positioning_ns(now, location)
    }

    fn serve(&mut self, now: Time, request: &Request) -> Service {
        self.disk.serve(now, request)
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.disk.ledger(now)
    }

    fn rotating(&self) -> Option<&dyn Rotating> {
        self.disk.rotating().filter(|_| self.turns)
    }
}

/// Returns the mean number of positioning queries per dispatch with `pending` random reads in the queue.
fn asked(spec: &SchedulerSpec, name: &str, pending: u64, turns: bool) -> f64 {
    const DISPATCHES: u64 = 2_000;
    let (_, parameters) = scenarios::disk_devices().into_iter().find(|(it, _)| it == name).expect("in the catalogue");
    let mut device = Counted { disk: device(&parameters), asked: Cell::new(0), turns };
    let mut scheduler = build(spec, &device);
    let mut random = Stream::new(5, "scattered");
    let mut now = Time::ZERO;
    let mut counted = 0;
    for id in 0..pending + DISPATCHES {
        let lbn = random.below(device.dimensions().capacity_blocks - 16);
        scheduler.push(now, Request { id, lbn, blocks: 16, ..read() }, &device);
        if id >= pending {
            let before = device.asked.get();
            let next = scheduler.pop(now, &device).expect("requests are pending");
            counted += device.asked.get() - before;
            now = device.serve(now, &next).free;
        }
    }
    counted as f64 / DISPATCHES as f64
}

fn read() -> Request {
    Request::read(0, 1)
}

#[test]
fn few_positioning_times_of_a_long_queue_are_computed() {
    // An exhaustive search makes a query for each request. The limits are about twice the numbers of these queues.
    for (spec, limits) in [
        (sptf::POLICY.default, [6.0, 7.0, 8.0]),
        (SchedulerSpec::Asptf(asptf::Spec { weight: 0.006 }), [30.0, 60.0, 30.0]),
    ] {
        for (pending, limit) in [100, 1_000, 10_000].into_iter().zip(limits) {
            let [with, without] = [true, false].map(|turns| asked(&spec, "atlas10k", pending, turns));
            println!("{spec:?}, {pending} pending: asks {with:.1} times; {without:.1} without the platter");
            assert!(with < limit, "{spec:?} with {pending} pending asks {with} times");
            assert!(with <= without);
        }
    }
}
