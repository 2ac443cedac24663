//! The policies that ask the device, on disks: they decide as an exhaustive search, so bounds by seek and by rotation hold.

#[path = "common/disk_designs.rs"]
mod disk_designs;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "common/scenarios.rs"]
mod scenarios;

use disk_designs::{disk_design, without_buffer};
use proptest::prelude::*;
use rayon::prelude::*;
use sledsim::devices::disk::{DiskDevice, DiskParameters};
use sledsim::devices::Device;
use sledsim::engine::random::Stream;
use sledsim::request::{Flags, Op, Request};
use sledsim::schedulers::{build, SchedulerSpec};
use sledsim::time::Time;

fn device(parameters: &DiskParameters) -> DiskDevice {
    DiskDevice::new(parameters).unwrap_or_else(|error| panic!("{}: {error}", parameters.name))
}

/// The disks of the catalogue, each also with two arms and without its buffer.
fn catalogue() -> Vec<DiskParameters> {
    let disks = scenarios::disk_devices().into_iter();
    disks.flat_map(|(_, disk)| [DiskParameters { actuators: 2, ..without_buffer(&disk) }, disk]).collect()
}

/// A scattered request: reads and writes mixed, some of them next to each other.
fn request(id: u64, random: &mut Stream, capacity: u64) -> Request {
    let blocks = 1 + random.below(16).min(capacity - 1);
    let span = if random.chance(0.3) { capacity / 50 + blocks } else { capacity };
    let lbn = random.below(span.min(capacity) - blocks + 1);
    let op = if random.chance(0.6) { Op::Read } else { Op::Write };
    Request { id, arrival: Time::ZERO, lbn, blocks: blocks as u32, op, flags: Flags::NONE, origin: 0 }
}

/// What an exhaustive search minimises, ns.
fn cost_ns(spec: &SchedulerSpec, device: &DiskDevice, now: Time, ready: Time, request: &Request) -> f64 {
    let positioning_ns = device.positioning_ns(now, device.locate(request)) as f64;
    match spec {
        SchedulerSpec::Asptf { weight } => positioning_ns - weight * (now - ready) as f64,
        _ => positioning_ns,
    }
}

/// Keeps `pending` requests waiting and compares each of so many decisions with a pass over all of them.
fn decides(spec: &SchedulerSpec, parameters: &DiskParameters, pending: usize, decisions: usize) {
    let mut device = device(parameters);
    let mut scheduler = build(spec, &device);
    let mut random = Stream::new(3, "pending");
    let mut waiting: Vec<(Time, Request)> = Vec::new();
    let mut now = Time::from_ns(random.below(1 << 40));
    for id in 0..(pending + decisions) as u64 {
        let new = request(id, &mut random, device.capacity_blocks());
        scheduler.push(now, new, &device);
        waiting.push((now, new));
        if waiting.len() < pending {
            continue;
        }
        let costs = waiting.iter().map(|(ready, it)| cost_ns(spec, &device, now, *ready, it)).enumerate();
        let (first, _) = costs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("requests are pending");
        let (_, expected) = waiting.remove(first);
        assert_eq!(scheduler.pop(now, &device), Some(expected), "{spec:?} on {}", parameters.name);
        // Every fifth dispatch the arm has stood idle for a while.
        let idle_ns = if id % 5 == 0 { random.below(9_000_000) } else { 0 };
        now = device.serve(now, &expected).free + idle_ns;
    }
}

const POLICIES: [SchedulerSpec; 4] = [
    SchedulerSpec::Sptf {},
    SchedulerSpec::Asptf { weight: 0.006 },
    SchedulerSpec::Asptf { weight: 0.5 },
    SchedulerSpec::Zsptf { zones: 1 },
];

#[test]
fn deep_queues_on_the_catalogue_are_decided_as_by_an_exhaustive_search() {
    catalogue().par_iter().for_each(|disk| {
        for spec in &POLICIES {
            decides(spec, disk, 1_000, 300);
            decides(spec, disk, 30, 300);
        }
    });
}

#[test]
fn very_deep_queues_too() {
    catalogue().par_iter().for_each(|disk| decides(&SchedulerSpec::Sptf {}, disk, 10_000, 50));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_design_is_scheduled_as_by_an_exhaustive_search(
        disk in disk_design(),
        pending in 2_usize..300,
        policy in 0..POLICIES.len(),
    ) {
        decides(&POLICIES[policy], &disk, pending, 60);
    }
}
