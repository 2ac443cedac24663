//! Contract of all mechanisms, on all devices of the catalogue and random designs.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sledsim::devices::disk::DiskParameters;
use sledsim::devices::simple::{ConstantParameters, LinearParameters};
use sledsim::devices::{EnergyLedger, Location, Mechanism, Service, State, STATES};
use sledsim::engine::random::Stream;
use sledsim::power::SpinDownSpec;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec};
use sledsim::time::Time;
use sledsim_testing::disk_designs::{disk_design, extreme_design, without_buffer, without_overheads};
use sledsim_testing::mems_designs::{mems_design, points_design, with_options};
use sledsim_testing::powers::{policies, power};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::{cases, size};

const YEAR_NS: u64 = 365 * 24 * 3_600 * 1_000_000_000;

fn device(spec: &DeviceSpec, policy: Option<&SpinDownSpec>) -> Box<dyn Mechanism> {
    scenario::device_with(spec, policy).unwrap_or_else(|error| panic!("{}: {error}", spec.name()))
}

/// How well `positioning_ns` predicts the time before the first bit of a service.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Exactly: there is no buffer and no background work.
    Exactly,
    /// Exactly, except that the phases include overheads after the last bit, and that a write can lose a revolution if
    /// its data arrive late over the bus.
    UpToOverheads,
    /// As above for reads. Writes that disconnect twice have a different command overhead, and whether they do depends
    /// on the buffer.
    OfReads,
    /// Not at all: the buffer may already hold the data, or the mechanism may be busy.
    Hardly,
}

impl Known {
    fn of(spec: &DeviceSpec) -> Self {
        match spec {
            DeviceSpec::Disk(drive) if without_buffer(drive) != **drive => Self::Hardly,
            DeviceSpec::Disk(drive) if without_overheads(drive) == **drive => Self::Exactly,
            DeviceSpec::Disk(drive) if drive.extra_write_disconnect => Self::OfReads,
            DeviceSpec::Disk(_) => Self::UpToOverheads,
            _ => Self::Exactly,
        }
    }
}

/// Requests and their times: random, sequential, or repeated.
struct Walk {
    random: Stream,
    capacity: u64,
    last: Request,
}

impl Walk {
    fn new(device: &dyn Mechanism, seed: u64) -> Self {
        let last = Request::read(0, 1);
        Self { random: Stream::new(seed, "walk"), capacity: device.dimensions().capacity_blocks, last }
    }

    /// Returns the idle time before a request: usually zero or short, sometimes longer than every timeout and
    /// read-ahead.
    fn gap_ns(&mut self) -> u64 {
        match self.random.below(6) {
            0 | 1 => 0,
            2 => 1,
            3 => self.random.below(1_000_000),
            4 => self.random.below(20_000_000),
            _ => self.random.below(3_000_000_000),
        }
    }

    fn request(&mut self) -> Request {
        let blocks = if self.random.chance(0.5) { 1 + self.random.below(4) } else { 1 + self.random.below(150) };
        let blocks = blocks.min(self.capacity);
        let lbn = match self.random.below(8) {
            0 | 1 => self.last.end_lbn(),
            2 => self.last.lbn,
            3 => self.last.lbn + self.random.below(40),
            _ => self.random.below(self.capacity),
        };
        let op = if self.random.chance(0.6) { Op::Read } else { Op::Write };
        let lbn = lbn.min(self.capacity - blocks);
        self.last = Request { id: self.last.id + 1, lbn, blocks: blocks as u32, op, ..self.last };
        self.last
    }
}

fn check_services(spec: &DeviceSpec, policy: Option<&SpinDownSpec>, began: Time, requests: usize) {
    let mut device = device(spec, policy);
    let known = Known::of(spec);
    let mut walk = Walk::new(device.as_ref(), 7);
    let mut before = device.ledger(began);
    let mut free = began;
    let mut requests_j = 0.0;
    for _ in 0..requests {
        let now = free + walk.gap_ns();
        let request = walk.request();
        check_ledger(device.as_ref(), &mut before, [free, now], |at| {
            device.powered().map_or_else(|| device.ledger(at), |powered| powered.ledger_before(at, now))
        });
        check_bounds(device.as_ref(), now, &mut walk.random);
        let location = device.locate(&request);
        assert!(location.cylinder < device.dimensions().cylinders);
        let (expected_ns, wake_ns) =
            (device.positioning_ns(now, location), device.powered().map_or(0, |powered| powered.wake_ns(now)));
        let service = device.serve(now, &request);
        check_service(&service, now, &request);
        assert_eq!(service.phases.startup_ns, wake_ns, "the start-up time differs from its estimate");
        check_positioning(known, request.op, expected_ns, &service);
        check_ledger(device.as_ref(), &mut before, [now, service.free], |at| device.ledger(at));
        requests_j += service.energy.total_j();
        free = service.free;
    }
    let total_j = before.total_j();
    assert!(requests_j <= total_j * (1.0 + 1e-9), "{requests_j} J of {total_j} J");
    assert!(spec.has_powers() || total_j == 0.0, "unknown powers");
}

fn check_service(service: &Service, now: Time, request: &Request) {
    let phases = &service.phases;
    assert_eq!(service.start, now);
    assert!(service.start <= service.free && service.free <= service.end, "{request:?} {service:?}");
    assert_eq!(service.end - service.start, phases.service_ns(), "phases do not add up: {request:?} {service:?}");
    let energy = &service.energy;
    let joules = [energy.startup_j, energy.seek_j, energy.rotation_j, energy.servo_j, energy.data_j, energy.idle_j];
    assert!(joules.iter().all(|&part_j| part_j >= 0.0), "{energy:?}");
}

fn check_positioning(known: Known, op: Op, expected_ns: u64, service: &Service) {
    let phases = &service.phases;
    let mechanical_ns = phases.startup_ns + phases.seek_ns + phases.rotation_ns;
    let all_ns = mechanical_ns + phases.command_ns;
    if known != Known::Hardly {
        assert_eq!(phases.background_ns, 0, "{phases:?}");
    }
    match known {
        Known::Exactly => assert_eq!(expected_ns, all_ns, "positioning differs from its estimate: {phases:?}"),
        Known::OfReads if op == Op::Write => {}
        Known::UpToOverheads | Known::OfReads => assert!(
            expected_ns <= all_ns && (op == Op::Write || mechanical_ns <= expected_ns),
            "positioning differs from its estimate of {expected_ns} ns: {phases:?}"
        ),
        Known::Hardly => {}
    }
}

/// Checks bounds: the bound of a cylinder is at most every positioning time there and rises with distance; so is the
/// bound that includes rotation.
fn check_bounds(device: &dyn Mechanism, now: Time, random: &mut Stream) {
    let here = device.cylinder(now);
    assert!(here < device.dimensions().cylinders);
    let bound = |cylinder| device.cylinder_bound_ns(now, cylinder);
    let bounds = device.rotating().and_then(|rotating| rotating.cylinder_bounds(now));
    let rotating = device.rotating().and_then(|rotating| Some((rotating, rotating.platter(now)?)));
    for _ in 0..4 {
        let lbn = random.below(device.dimensions().capacity_blocks);
        let op = if random.chance(0.5) { Op::Read } else { Op::Write };
        let request = Request { arrival: now, op, ..Request::read(lbn, 1) };
        let location = device.locate(&request);
        let cylinder = location.cylinder;
        let positioning_ns = device.positioning_ns(now, location);
        assert_eq!(positioning_ns, device.positioning_ns(now, location), "queries change nothing");
        assert!(bound(cylinder) <= positioning_ns, "{location:?}: {} > {positioning_ns}", bound(cylinder));
        if let Some(bounds) = bounds {
            assert_eq!(bounds.bound_ns(cylinder), bound(cylinder), "the table equals the function");
        }
        if let Some((rotating, platter)) = &rotating {
            let turned_ns = platter.passes_ns(rotating.angle(location), bound(cylinder));
            assert!(turned_ns <= positioning_ns, "{location:?}: {turned_ns} > {positioning_ns}");
        }
        let nearer = if cylinder < here { cylinder + 1 } else { cylinder.saturating_sub(1).max(here) };
        assert!(bound(nearer) <= bound(cylinder), "from {here}: {nearer} costs more than {cylinder}");
        let halfway = ((u64::from(here) + u64::from(cylinder)) / 2) as u32;
        assert!(bound(halfway) <= bound(cylinder), "from {here}: {halfway} costs more than {cylinder}");
        check_coordinates(device, location, halfway);
    }
}

/// The first coordinate depends only on the cylinder and is monotonic in it.
fn check_coordinates(device: &dyn Mechanism, location: Location, other: u32) {
    let x_m = |cylinder, slot| device.coordinates_m(Location { cylinder, slot }).x_m;
    assert_eq!(x_m(location.cylinder, location.slot), x_m(location.cylinder, 0));
    let last = device.dimensions().cylinders - 1;
    let mut on_the_way = [0, location.cylinder, other, last];
    on_the_way.sort_unstable();
    let passed_m = on_the_way.map(|cylinder| x_m(cylinder, 0));
    assert!(passed_m.is_sorted() || passed_m.is_sorted_by(|a, b| a >= b), "{on_the_way:?}: {passed_m:?}");
}

/// Checks that the ledger between `from` and `to` never decreases in any state and accounts for every nanosecond and
/// every idle mode.
fn check_ledger(
    device: &dyn Mechanism,
    before: &mut EnergyLedger,
    [from, to]: [Time; 2],
    ledger_at: impl Fn(Time) -> EnergyLedger,
) {
    let length_ns = to - from;
    let mut instants: BTreeSet<u64> = (0..6).map(|part| length_ns / 6 * part).collect();
    instants.extend((0..3).flat_map(|near| [near, length_ns.saturating_sub(near)]).filter(|&at| at <= length_ns));
    for at in instants {
        let now = from + at;
        let ledger = ledger_at(now);
        assert_eq!(ledger.total_ns(), now.ns(), "{ledger:?}");
        let undecided = device.ledger(now);
        assert_eq!(undecided.total_ns(), now.ns(), "{ledger:?}");
        check_modes(&ledger);
        check_meter(device, now, undecided.total_j());
        for state in 0..STATES.len() {
            assert!(ledger.time_ns[state] >= before.time_ns[state], "at {now:?}: {before:?} then {ledger:?}");
            let (now_j, before_j) = (ledger.energy_j[state], before.energy_j[state]);
            assert!(now_j >= before_j && before_j >= 0.0, "at {now:?}: {before:?} then {ledger:?}");
        }
        assert!(ledger.startups() >= before.startups());
        *before = ledger;
    }
}

/// Checks that the energy account is up to date and equals the ledger.
fn check_meter(device: &dyn Mechanism, now: Time, total_j: f64) {
    let Some(account) = device.powered().map(|powered| powered.energy_account(now)) else { return };
    assert_eq!(account.at(), now);
    // One is a sum of products, the other a product of sums, so rounding differs.
    assert!((account.energy_j() - total_j).abs() <= 1e-9 * total_j, "{} J, not {total_j} J", account.energy_j());
}

/// Checks that the idle modes add up to the idle and inactive states.
fn check_modes(ledger: &EnergyLedger) {
    let [ready, lower @ ..] = &ledger.modes;
    let [idle, inactive] = [State::Idle, State::Inactive].map(|state| state as usize);
    if ledger.total_j() == 0.0 && ready.time_ns == 0 {
        // The power is not known, or the device is unused.
        return;
    }
    assert_eq!((ready.time_ns, ready.energy_j), (ledger.time_ns[idle], ledger.energy_j[idle]), "{ledger:?}");
    assert_eq!(lower.iter().map(|spell| spell.time_ns).sum::<u64>(), ledger.time_ns[inactive], "{ledger:?}");
    assert_eq!(lower.iter().map(|spell| spell.energy_j).sum::<f64>(), ledger.energy_j[inactive], "{ledger:?}");
    // The possible saving is a difference of large energies: tens of watts over seconds.
    assert!(ledger.regret_j <= ledger.total_j() * (1.0 + 1e-9) + 1e-12, "{ledger:?}");
}

/// Checks that queries between requests do not change service times, and that the last block can be served.
fn check_determinism(spec: &DeviceSpec, policy: Option<&SpinDownSpec>, requests: usize) {
    let serve = |curious: bool| {
        let mut device = device(spec, policy);
        let mut walk = Walk::new(device.as_ref(), 11);
        let mut free = Time::ZERO;
        let mut services = Vec::new();
        for _ in 0..requests {
            let now = free + walk.gap_ns();
            let request = walk.request();
            if curious {
                let there = device.locate(&request);
                let _ = (device.positioning_ns(now, there), device.ledger(free), device.cylinder(now));
            }
            services.push(device.serve(now, &request));
            free = services[services.len() - 1].free;
        }
        let end = device.dimensions().capacity_blocks;
        for blocks in [1, end.min(700)] {
            services.push(device.serve(free, &Request { lbn: end - blocks, blocks: blocks as u32, ..walk.request() }));
            free = services[services.len() - 1].free;
        }
        services
    };
    assert_eq!(serve(false), serve(true), "{}", spec.name());
}

fn check_under(spec: &DeviceSpec, policy: Option<&SpinDownSpec>, requests: usize) {
    for began in [Time::ZERO, Time::from_ns(5 * YEAR_NS + 123_456_789)] {
        check_services(spec, policy, began, requests);
    }
    check_determinism(spec, policy, requests);
}

/// Checks the device under the spin-down policy selected by `drawn`, or without one if its powers are unknown.
fn check_all(spec: &DeviceSpec, drawn: usize, requests: usize) {
    let policies = policies();
    let policy = policies[drawn % policies.len()].as_ref().filter(|_| spec.has_powers());
    check_under(spec, policy, requests);
}

/// Returns a disk, the disk without its buffer, and that without overheads.
fn disk_specs(drive: &DiskParameters) -> [DeviceSpec; 3] {
    let bare = without_buffer(drive);
    [drive.clone(), bare.clone(), without_overheads(&bare)].map(|drive| DeviceSpec::Disk(Box::new(drive)))
}

#[test]
fn catalogue_accounts_for_every_nanosecond() {
    for name in scenarios::device_names() {
        println!("{name}");
        match scenarios::device_spec(&name) {
            DeviceSpec::Disk(mut drive) => {
                // A write of a part of a physical sector begins before its first block, with the read of the sector.
                drive.physical_sector_blocks = 1;
                disk_specs(&drive).iter().for_each(|spec| check_all(spec, 0, 300));
            }
            spec => check_all(&spec, 0, 300),
        }
    }
}

#[test]
fn catalogue_accounts_under_every_spin_down_policy() {
    for name in scenarios::device_names() {
        let spec = scenarios::device_spec(&name);
        for policy in policies().iter().filter(|_| spec.has_powers()).flatten() {
            println!("{name} {}", policy.name());
            check_under(&spec, Some(policy), 100);
        }
    }
}

fn simple_design() -> impl Strategy<Value = DeviceSpec> {
    let shape = (prop_oneof![Just(512_u32), 1_u32..9_000], 2_u64..1_000_000_000_000_000);
    let kind = (any::<bool>(), prop::option::of(power()));
    (shape, 0.0_f64..20.0, 0.0_f64..20.0, kind).prop_map(|(shape, near_ms, more_ms, (constant, power))| {
        let (block_bytes, capacity_blocks) = shape;
        let power = power.map(|power| serde_json::from_value(power).expect("powers"));
        let name = "random".to_owned();
        if constant {
            let access_ms = near_ms;
            DeviceSpec::SimplediskConstant(ConstantParameters { name, block_bytes, capacity_blocks, access_ms, power })
        } else {
            DeviceSpec::SimplediskLinear(LinearParameters {
                name,
                block_bytes,
                capacity_blocks,
                nearest_ms: near_ms,
                farthest_ms: near_ms + more_ms,
                power,
            })
        }
    })
}

proptest! {
    #![proptest_config(cases(size(100, 300)))]

    #[test]
    fn disks_account_for_every_nanosecond(design in disk_design(), drawn in 0_usize..1000) {
        disk_specs(&design).iter().for_each(|spec| check_all(spec, drawn, 40));
    }
}

proptest! {
    #![proptest_config(cases(size(12, 48)))]

    #[test]
    fn extreme_disks_account_for_every_nanosecond(
        design in extreme_design(),
        drawn in 0_usize..1000,
    ) {
        disk_specs(&design).iter().for_each(|spec| check_all(spec, drawn, 12));
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn sleds_account_for_every_nanosecond(design in mems_design(), drawn in 0_usize..1000) {
        check_all(&DeviceSpec::Mems(Box::new(design)), drawn, 30);
    }

    #[test]
    fn sleds_with_options_account_for_every_nanosecond(
        design in mems_design(),
        options in 1_u32..8,
        drawn in 0_usize..1000,
    ) {
        check_all(&DeviceSpec::Mems(Box::new(with_options(&design, options))), drawn, 30);
    }

    #[test]
    fn sleds_with_points_account_for_every_nanosecond(design in points_design(), drawn in 0_usize..1000) {
        check_all(&DeviceSpec::Mems(Box::new(design)), drawn, 20);
    }

    #[test]
    fn simple_devices_account_for_every_nanosecond(design in simple_design(), drawn in 0_usize..1000) {
        check_all(&design, drawn, 40);
    }
}
