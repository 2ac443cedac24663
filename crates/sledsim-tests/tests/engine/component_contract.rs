//! Contract of all components: each request completes once, time never decreases, requests beyond the capacity fail,
//! and a run in two parts equals a single run.

use std::collections::VecDeque;

use serde_json::{json, Value};
use sledsim::devices::mems::{MemsDevice, MemsParameters, Timeout};
use sledsim::devices::Mechanism;
use sledsim::engine::component::Measured;
use sledsim::engine::random::Stream;
use sledsim::engine::{
    run, Completion, Component, ComponentId, EndReason, Next, Observer, RunLimits, System, Workload,
};
use sledsim::fault::Fault;
use sledsim::hierarchy::array::{ArraySpec, Level, RedundantArray};
use sledsim::hierarchy::cache::ram::{Eviction, FlushSpec, RamCacheSpec};
use sledsim::hierarchy::{
    AnticipationSpec, CachingDisk, CachingDiskSpec, Child, ComponentSpec, DelayedStartupSpec, Drive, MergeSpec,
    OutOfOrder, Partition, PartitionSpec, RamCache, Spread, SpreadLayout, Tiers, TiersSpec, Volumes, VolumesSpec,
    WriteBuffer, WriteBufferSpec, ZonedSpec,
};
use sledsim::power::SpinDownSpec;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, schema, DeviceSpec};
use sledsim::schedulers::{asptf, build, fcfs, look, sptf, SchedulerSpec};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::scenarios;
use sledsim_testing::tiers::size;

type Entry = (Request, Service);

/// Records completions.
#[derive(Default)]
struct ServiceLog(Vec<Entry>);

impl Observer for ServiceLog {
    fn served(&mut self, request: &Request, service: &Service) {
        self.0.push((*request, *service));
    }
}

/// A list of requests; checks their completions.
#[derive(Default)]
struct Listed {
    requests: VecDeque<Request>,
    under_way: Vec<u64>,
    now: Time,
    failed: Vec<u64>,
    capacity: u64,
}

impl Workload for Listed {
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(self.requests.front().map_or(Next::Ended, |request| Next::At(request.arrival)))
    }

    fn take(&mut self) -> Request {
        let request = self.requests.pop_front().expect("peek answered At");
        assert!(request.arrival >= self.now, "time decreases");
        self.now = request.arrival;
        self.under_way.push(request.id);
        request
    }

    fn completed(&mut self, completion: &Completion) {
        let Completion { request, service, .. } = completion;
        let place = self.under_way.iter().position(|&id| id == request.id);
        self.under_way.swap_remove(place.unwrap_or_else(|| panic!("{} completes without being under way", request.id)));
        assert!(service.end >= self.now, "time decreases");
        self.now = service.end;
        let fits = request.blocks > 0
            && request.lbn.checked_add(u64::from(request.blocks)).is_some_and(|end| end <= self.capacity);
        if !fits {
            self.failed.push(request.id);
            assert_eq!(service.end, request.arrival, "rejected at once");
        }
    }
}

/// Returns requests of all sizes at random times; if `hostile`, some are empty or extend beyond the capacity.
fn requests(count: u64, capacity: u64, mean_gap_ns: u64, hostile: bool) -> VecDeque<Request> {
    let mut random = Stream::new(11, "component");
    let mut arrival = Time::ZERO;
    let mut next_lbn = 0;
    let mut request = |id| {
        arrival += random.below(2 * mean_gap_ns);
        let blocks = if random.chance(0.7) { 8 } else { 1 + random.below(900) as u32 };
        let op = if random.chance(0.5) { Op::Read } else { Op::Write };
        let lbn = if random.chance(0.3) { next_lbn } else { random.below(capacity) };
        let lbn = lbn.min(capacity - u64::from(blocks));
        next_lbn = lbn + u64::from(blocks);
        let (lbn, blocks) = match random.below(10) {
            0 if hostile => (lbn, 0),
            1 if hostile => (capacity - u64::from(blocks) + 1, blocks),
            2 if hostile => (u64::MAX, u32::MAX),
            3 if hostile => (capacity, 1),
            _ => (lbn, blocks),
        };
        Request { id, arrival, op, ..Request::read(lbn, blocks) }
    };
    (0..count).map(&mut request).collect()
}

fn add_drive(system: &mut System, spec: &DeviceSpec, scheduler: SchedulerSpec, batch_max: usize) -> ComponentId {
    let device = scenario::device(spec).unwrap_or_else(|error| panic!("{error}"));
    let scheduler = build(&scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, batch_max)), &[])
}

fn add_merging_drive(
    system: &mut System,
    spec: &DeviceSpec,
    scheduler: SchedulerSpec,
    merge: MergeSpec,
) -> ComponentId {
    let device = scenario::device(spec).unwrap_or_else(|error| panic!("{error}"));
    let scheduler = build(&scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1).merging(merge)), &[])
}

/// Adds a drive with a spin-down policy (if its powers are known), which may delay its start-up, and with anticipation
/// of reads.
fn add_stopping(
    system: &mut System,
    spec: &DeviceSpec,
    policy: SpinDownSpec,
    delay: Option<DelayedStartupSpec>,
) -> ComponentId {
    let policy = spec.has_powers().then_some(policy);
    let device = scenario::device_with(spec, policy.as_ref()).unwrap_or_else(|error| panic!("{error}"));
    let scheduler = build(&sptf::POLICY.default, device.as_ref());
    let mut drive = Drive::new(device, scheduler, 1);
    if let Some(delay) = &delay {
        drive = drive.with_delayed_startup(delay).with_anticipation(AnticipationSpec { wait_ms: 0.7, requests: 3 });
    }
    system.add(Box::new(drive), &[])
}

fn add_spread(system: &mut System, children: &[ComponentId], layout: SpreadLayout, unit_blocks: u64) -> ComponentId {
    let child = system.component(children[0]);
    let spread = Spread::new(children.to_vec(), layout, unit_blocks, child.capacity_blocks(), child.block_bytes());
    system.add(Box::new(spread), children)
}

type Builder = fn(&DeviceSpec) -> System;

/// Every kind of component, alone and nested. [`every_kind_of_system_keeps_the_contract`] fails if a kind is missing
/// here.
const COMPONENTS: &[(&str, &str, Builder)] = &[
    ("drive, fcfs", "drive", |spec| {
        let mut system = System::default();
        add_drive(&mut system, spec, fcfs::POLICY.default, 1);
        system
    }),
    ("drive, sptf, batches", "drive", |spec| {
        let mut system = System::default();
        add_drive(&mut system, spec, sptf::POLICY.default, 16);
        system
    }),
    ("three sleds, split", "drive", |spec| {
        let mut system = System::default();
        let drives = [(); 3].map(|()| add_drive(&mut system, spec, look::POLICY.default, 1));
        add_spread(&mut system, &drives, SpreadLayout::Split, 1);
        system
    }),
    ("four sleds, striped, batches", "drive", |spec| {
        let mut system = System::default();
        let drives =
            [(); 4].map(|()| add_drive(&mut system, spec, SchedulerSpec::Asptf(asptf::Spec { weight: 0.1 }), 4));
        add_spread(&mut system, &drives, SpreadLayout::Striped, 7);
        system
    }),
    ("drive, sptf, adaptive, start-ups delayed", "drive", |spec| {
        let mut system = System::default();
        add_stopping(
            &mut system,
            spec,
            SpinDownSpec::adaptive(),
            Some(DelayedStartupSpec { requests: 3, wait_ms: 4.0 }),
        );
        system
    }),
    ("two sleds, split, stopping at once, start-ups delayed", "drive", |spec| {
        let mut system = System::default();
        let delay = Some(DelayedStartupSpec { requests: 2, wait_ms: 9.0 });
        let drives = [(); 2].map(|()| add_stopping(&mut system, spec, SpinDownSpec::Immediate {}, delay));
        add_spread(&mut system, &drives, SpreadLayout::Split, 1);
        system
    }),
    ("two sleds, striped, offline", "drive", |spec| {
        let mut system = System::default();
        let drives = [(); 2].map(|()| add_stopping(&mut system, spec, SpinDownSpec::Offline {}, None));
        add_spread(&mut system, &drives, SpreadLayout::Striped, 16);
        system
    }),
    ("stripes over halves over sleds", "drive", |spec| {
        let mut system = System::default();
        let halves = [(); 2].map(|()| {
            let drives = [(); 2].map(|()| add_drive(&mut system, spec, sptf::POLICY.default, 1));
            add_spread(&mut system, &drives, SpreadLayout::Split, 1)
        });
        add_spread(&mut system, &halves, SpreadLayout::Striped, 64);
        system
    }),
    ("drive, fcfs, merging neighbours", "drive", |spec| {
        let mut system = System::default();
        add_merging_drive(&mut system, spec, fcfs::POLICY.default, MergeSpec::default());
        system
    }),
    ("two sleds, striped, merging all it can", "drive", |spec| {
        let mut system = System::default();
        let merge = MergeSpec { requests: 16, anywhere: true, writes: true, rows: true, mixed: true };
        let drives = [fcfs::POLICY.default, sptf::POLICY.default]
            .map(|scheduler| add_merging_drive(&mut system, spec, scheduler, merge));
        add_spread(&mut system, &drives, SpreadLayout::Striped, 16);
        system
    }),
    ("partition of a drive", "partition", |spec| {
        let mut system = System::default();
        let drive = add_drive(&mut system, spec, sptf::POLICY.default, 1);
        let child = Child::of(&system, drive);
        let half = PartitionSpec { first_block: 9, bytes: child.capacity_blocks / 2 * u64::from(child.block_bytes) };
        let partition = Partition::new(&half, child).unwrap_or_else(|error| panic!("{error}"));
        system.add(Box::new(partition), &[drive]);
        system
    }),
    ("zones that are written in order", "zoned", |spec| {
        let mut system = System::default();
        let drive = add_drive(&mut system, spec, sptf::POLICY.default, 1);
        let child = Child::of(&system, drive);
        let zone_bytes = 2048 * u64::from(child.block_bytes);
        let zones = ZonedSpec { zone_bytes, conventional_zones: 1, out_of_order: OutOfOrder::Rewrite, full: true };
        let zones = zones.build(&[child]).unwrap_or_else(|faults| panic!("{faults:?}"));
        system.add(zones, &[drive]);
        system
    }),
    ("volumes on three drives", "volumes", |spec| {
        let mut system = System::default();
        let drives = [(); 3].map(|()| add_drive(&mut system, spec, look::POLICY.default, 1));
        let members = drives.map(|drive| Child::of(&system, drive));
        let volumes = Volumes::new(&VolumesSpec::default(), &members).unwrap_or_else(|error| panic!("{error}"));
        system.add(Box::new(volumes), &drives);
        system
    }),
    ("drives as tiers", "tiers", |spec| {
        array(spec, 2, |ids, sizes| {
            let child = |at: usize| Child { id: ids[at], capacity_blocks: sizes[at].0, block_bytes: sizes[at].1 };
            boxed(Tiers::new(&TiersSpec::default(), child(0), child(1)))
        })
    }),
    ("cache in RAM over a drive", "ram-cache", |spec| {
        let mut system = System::default();
        let drive = add_drive(&mut system, spec, sptf::POLICY.default, 1);
        let Child { capacity_blocks, block_bytes, .. } = Child::of(&system, drive);
        let cache = scenarios::ram_cache(1 << 20);
        let cache =
            RamCache::new(&cache, drive, capacity_blocks, block_bytes).unwrap_or_else(|error| panic!("{error}"));
        system.add(Box::new(cache), &[drive]);
        system
    }),
    ("cache in RAM that waits for dirty lines", "ram-cache", |spec| {
        let mut system = System::default();
        let drive = add_drive(&mut system, spec, sptf::POLICY.default, 1);
        let Child { capacity_blocks, block_bytes, .. } = Child::of(&system, drive);
        let flush = FlushSpec { demand_only: true, idle_ms: None, ..FlushSpec::default() };
        let cache = RamCacheSpec { eviction: Eviction::Wait, flush, ..scenarios::ram_cache(1 << 16) };
        let cache =
            RamCache::new(&cache, drive, capacity_blocks, block_bytes).unwrap_or_else(|error| panic!("{error}"));
        system.add(Box::new(cache), &[drive]);
        system
    }),
    ("drive as a write buffer of another", "mwb", |spec| {
        let mut system = System::default();
        let drives = [(); 2].map(|()| add_drive(&mut system, spec, fcfs::POLICY.default, 1));
        let [mems, disk] = drives.map(|drive| Child::of(&system, drive));
        let buffer = WriteBufferSpec { mems_bytes: Some(4 << 20), ..WriteBufferSpec::default() };
        let buffer = WriteBuffer::new(&buffer, mems, disk).unwrap_or_else(|error| panic!("{error}"));
        system.add(Box::new(buffer), &drives);
        system
    }),
    ("drive as a cache of another", "mcd", |spec| {
        let mut system = System::default();
        let drives = [(); 2].map(|()| add_drive(&mut system, spec, fcfs::POLICY.default, 1));
        let [mems, disk] = drives.map(|drive| Child::of(&system, drive));
        let cache = CachingDiskSpec { mems_bytes: Some(4 << 20), ..CachingDiskSpec::default() };
        let cache = CachingDisk::new(&cache, mems, disk).unwrap_or_else(|error| panic!("{error}"));
        system.add(Box::new(cache), &drives);
        system
    }),
    ("concatenated drives", "concat", |spec| array(spec, 2, |ids, sizes| boxed(Spread::concat(ids, sizes)))),
    ("striped drives", "stripe", |spec| array(spec, 3, |ids, sizes| boxed(Spread::stripe(ids, sizes, 1 << 16)))),
    ("mirrored drives", "mirror", |spec| redundant(spec, 2, Level::Mirror)),
    ("three drives and one of parity", "raid4", |spec| redundant(spec, 4, Level::Raid4)),
    ("four drives with parity", "raid5", |spec| redundant(spec, 4, Level::Raid5)),
    ("five drives with parity of two kinds", "raid6", |spec| redundant(spec, 5, Level::Raid6)),
];

type Made = Result<Box<dyn Component>, Fault>;

fn boxed(made: Result<impl Component + 'static, Fault>) -> Made {
    made.map(|component| Box::new(component) as Box<dyn Component>)
}

/// Returns `count` drives with an array over them.
fn array(spec: &DeviceSpec, count: usize, over: impl Fn(Vec<ComponentId>, &[(u64, u32)]) -> Made) -> System {
    let mut system = System::default();
    let drives: Vec<ComponentId> = (0..count).map(|_| add_drive(&mut system, spec, fcfs::POLICY.default, 1)).collect();
    let sizes = drives.iter().map(|&id| Child::of(&system, id));
    let sizes: Vec<(u64, u32)> = sizes.map(|child| (child.capacity_blocks, child.block_bytes)).collect();
    let array = over(drives.clone(), &sizes).unwrap_or_else(|error| panic!("{error}"));
    system.add(array, &drives);
    system
}

fn redundant(spec: &DeviceSpec, count: usize, level: Level) -> System {
    array(spec, count, |ids, sizes| boxed(RedundantArray::new(level, ids, sizes, &ArraySpec::default())))
}

/// Kinds with their own memory: requests served from it take no energy of a mechanism.
const REMEMBER: [&str; 3] = ["ram-cache", "mwb", "mcd"];

/// Returns a device of each mechanism, further sleds that stop when idle, and all disks.
fn devices() -> Vec<DeviceSpec> {
    let spec = |name: String| match scenarios::device_spec(&name) {
        DeviceSpec::Mems(_) if !["g1", "g2", "griffin1999"].contains(&name.as_str()) => None,
        DeviceSpec::Mems(sled) => {
            Some(DeviceSpec::Mems(Box::new(MemsParameters { inactive_after_ms: Timeout::AfterMs(20.0), ..*sled })))
        }
        other => Some(other),
    };
    scenarios::device_names().into_iter().filter_map(spec).collect()
}

fn every_component(check: impl Fn(&DeviceSpec, Builder, &str)) {
    for spec in devices() {
        for &(name, kind, builder) in COMPONENTS {
            println!("{}: {name}", spec.name());
            check(&spec, builder, kind);
        }
    }
}

fn capacity(system: &System) -> u64 {
    system.component(system.root()).capacity_blocks()
}

/// Returns the measurements of all components.
fn measured(system: &System, now: Time) -> Measured {
    let mut measured = Measured::default();
    for id in 0..=system.root().0 {
        measured.add(&system.component(ComponentId(id)).measured(now));
    }
    measured
}

#[test]
fn every_kind_of_system_keeps_the_contract() {
    let schema = schema();
    let kinds = schema.pointer("/$defs/SystemSpec/oneOf").and_then(Value::as_array).expect("kinds of systems");
    for kind in kinds {
        let kind = kind["properties"]["kind"]["const"].as_str().expect("a name");
        assert!(COMPONENTS.iter().any(|&(_, of, _)| of == kind), "no contract test builds a system of kind {kind}");
    }
}

#[test]
fn requests_complete_once_in_time_order() {
    let count = size(150, 1500);
    every_component(|spec, builder, kind| {
        let mut system = builder(spec);
        let capacity = capacity(&system);
        let mut workload =
            Listed { requests: requests(count, capacity, 700_000, false), capacity, ..Listed::default() };
        let mut heard = ServiceLog::default();
        let outcome = run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true).unwrap();
        assert_eq!((outcome.submitted, outcome.completed, outcome.failed), (count, count, 0));
        assert_eq!(outcome.end, EndReason::WorkloadEnded);
        assert!(workload.under_way.is_empty() && workload.failed.is_empty());
        for (request, service) in &heard.0 {
            assert!(service.start >= request.arrival && service.end >= service.start);
            assert_eq!(service.phases.service_ns(), service.end - service.start, "{request:?} {service:?}");
            let has_cache = matches!(spec, DeviceSpec::Disk(disk) if disk.write_cache.is_some());
            let remembered = (REMEMBER.contains(&kind) || has_cache) && service.energy.total_j() == 0.0;
            assert!(remembered || (service.energy.total_j() > 0.0) == spec.has_powers(), "{request:?} {service:?}");
        }
    });
}

#[test]
fn requests_beyond_the_capacity_fail_alone() {
    every_component(|spec, builder, _| {
        let mut system = builder(spec);
        let capacity = capacity(&system);
        let mut workload = Listed { requests: requests(600, capacity, 900_000, true), capacity, ..Listed::default() };
        let mut heard = ServiceLog::default();
        let outcome = run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true).unwrap();
        assert_eq!(outcome.submitted, 600);
        assert_eq!(outcome.completed + outcome.failed, 600);
        assert_eq!(outcome.failed, workload.failed.len() as u64);
        assert!(outcome.failed > 150 && outcome.completed > 250, "{outcome:?}");
        assert_eq!(outcome.completed, heard.0.len() as u64);
    });
}

#[test]
fn time_and_energy_are_accounted_for() {
    every_component(|spec, builder, _| {
        let mut system = builder(spec);
        let capacity = capacity(&system);
        let mut workload =
            Listed { requests: requests(size(300, 800), capacity, 4_000_000, false), capacity, ..Listed::default() };
        let mut heard = ServiceLog::default();
        let outcome = run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true).unwrap();
        let measured = measured(&system, outcome.finished);
        let elapsed_ns = outcome.finished.ns() * u64::from(measured.mechanisms);
        assert_eq!(measured.ledger.total_ns(), elapsed_ns);
        assert!(measured.busy_ns <= elapsed_ns);
        let requests_j: f64 = heard.0.iter().map(|(_, service)| service.energy.total_j()).sum();
        assert!(requests_j <= measured.ledger.total_j() * (1.0 + 1e-9));
    });
}

#[test]
fn run_in_two_parts_equals_the_whole() {
    let count = size(60, 360);
    every_component(|spec, builder, _| {
        let capacity = capacity(&builder(spec));
        let all = requests(count, capacity, 900_000, false);
        let serve = |cuts: &[u64]| {
            let mut system = builder(spec);
            let mut workload = Listed { requests: all.clone(), capacity, ..Listed::default() };
            let mut heard = ServiceLog::default();
            let mut counts = (0, 0);
            for &cut_ns in cuts {
                let limits = RunLimits { until: Some(Time::from_ns(cut_ns)), ..RunLimits::default() };
                let part = run(&mut system, &mut workload, &limits, &mut heard, &mut |_| true).unwrap();
                counts = (counts.0 + part.submitted, counts.1 + part.completed);
            }
            let rest = run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true).unwrap();
            assert_eq!((counts.0 + rest.submitted, counts.1 + rest.completed), (count, count));
            (heard.0, rest.finished, measured(&system, rest.finished))
        };
        let whole = serve(&[]);
        let middle = whole.0[count as usize / 2].1;
        let inside_ns = (middle.start.ns() + middle.end.ns()) / 2;
        let at_ns = middle.end.ns();
        for cuts in [&[inside_ns][..], &[at_ns], &[at_ns - 1], &[1, inside_ns, inside_ns, at_ns]] {
            let cut = serve(cuts);
            assert_eq!(cut.0, whole.0);
            assert_eq!(cut.1, whole.1);
            // Each part starts a new measurement.
            let last_ns = (cut.1 - Time::from_ns(cuts[cuts.len() - 1])) * u64::from(cut.2.mechanisms);
            assert_eq!(cut.2.ledger.total_ns(), last_ns);
            assert_eq!(cut.2.ledger.total_j() < whole.2.ledger.total_j(), spec.has_powers());
        }
    });
}

fn serve_one(mut system: System, request: Request) -> Service {
    let capacity = capacity(&system);
    let mut workload = Listed { requests: [request].into(), capacity, ..Listed::default() };
    let mut heard = ServiceLog::default();
    run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true).unwrap();
    heard.0[0].1
}

/// Checks a request whose parts are served by different sleds, each from rest.
fn check_parts(whole: &Service, parameters: &MemsParameters, parts: &[Request]) {
    let overhead_ns = (parameters.overhead_ms * 1e6).round() as u64;
    let services = parts.iter().map(|part| {
        let mut device = MemsDevice::new(parameters).unwrap();
        device.serve(Time::from_ns(overhead_ns), part)
    });
    let services: Vec<Service> = services.collect();
    assert_eq!(Some(whole.end), services.iter().map(|service| service.end).max());
    assert_eq!(whole.start, Time::from_ns(overhead_ns));
    let energy_j: f64 = services.iter().map(|service| service.energy.total_j()).sum();
    assert!((whole.energy.total_j() - energy_j).abs() < 1e-15);
}

#[test]
fn split_sleds_serve_their_parts_in_parallel() {
    let parameters = scenarios::mems_parameters("g2");
    let system = COMPONENTS[2].2(&DeviceSpec::Mems(Box::new(parameters.clone())));
    let sled = capacity(&system) / 3;
    assert_eq!(sled, MemsDevice::new(&parameters).unwrap().dimensions().capacity_blocks);
    let whole = serve_one(system, Request::read(sled - 30, 100));
    check_parts(&whole, &parameters, &[Request::read(sled - 30, 30), Request::read(0, 70)]);
}

#[test]
fn stripes_rotate_over_members() {
    let parameters = scenarios::mems_parameters("g2");
    let system = COMPONENTS[3].2(&DeviceSpec::Mems(Box::new(parameters.clone())));
    let sled = MemsDevice::new(&parameters).unwrap().dimensions().capacity_blocks;
    assert_eq!(capacity(&system), sled / 7 * 7 * 4);
    // Stripe units 10 to 15 of 7 blocks: unit u is unit u / 4 of sled u mod 4.
    let whole = serve_one(system, Request::read(10 * 7 + 3, 4 + 4 * 7 + 2));
    let parts = [
        Request::read(2 * 7 + 3, 4 + 7),
        Request::read(2 * 7, 7 + 2),
        Request::read(3 * 7, 7),
        Request::read(3 * 7, 7),
    ];
    check_parts(&whole, &parameters, &parts);
}

#[test]
fn several_sleds_of_a_scenario_add_up() {
    for layout in ["split", "striped"] {
        let device = json!({"name": "g2", "sleds": 3, "sled_layout": layout, "stripe_blocks": 16});
        let workload = json!({"arrival": {"kind": "poisson", "rate_per_s": 1800.0}, "size_bytes": {"kind": "exponential", "mean": 20000.0}});
        let text =
            json!({"workload": workload, "system": {"device": device, "scheduler": "sptf"}, "run": {"requests": 3000}});
        let output = scenarios::run(&scenarios::resolved(&text));
        let report = &output.report;
        assert_eq!((report.requests.completed, report.requests.failed), (3000, 0));
        let time = serde_json::to_value(&report.state_time).unwrap();
        let sum_s: f64 = time.as_object().unwrap().values().map(|seconds| seconds.as_f64().unwrap()).sum();
        assert!((sum_s - 3.0 * report.run.measured_s).abs() < 1e-6, "three sleds, each always in some state");
        for (_, service) in &output.recorder.log().expect("a log").entries {
            assert_eq!(service.phases.service_ns(), service.end - service.start);
        }
        assert!(report.utilisation.fraction > 0.2 && report.utilisation.fraction < 1.0);
    }
}
