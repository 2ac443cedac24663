//! Actuators that are tied to ranges of LBNs and share a spindle: they serve requests as separate drives do, and use the power of one drive.

use serde_json::{json, Value};
use sledsim::devices::disk::DiskParameters;
use sledsim::engine::random::Stream;
use sledsim::engine::ComponentId;
use sledsim::power::{IdleModeParameters, PowerParameters};
use sledsim::request::{Flags, Op};
use sledsim::scenario::testing::assemble;
use sledsim::scenario::{DeviceSpec, SystemSpec};
use sledsim::service::{EnergyLedger, State};
use sledsim::time::Time;
use sledsim_testing::disk_designs::without_buffer;
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::{device_spec, poisson, resolve};
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

fn disk(name: &str) -> DiskParameters {
    let DeviceSpec::Disk(parameters) = device_spec(name) else { panic!("a disk") };
    *parameters
}

/// A drive of two actuators, each of which has the parameters of `one`.
fn dual(one: &DiskParameters) -> DiskParameters {
    let twice = |power_w: f64| 2.0 * power_w;
    let mode = |mode: &IdleModeParameters| IdleModeParameters {
        power_w: twice(mode.power_w),
        wake_w: mode.wake_w.map(twice),
        ..mode.clone()
    };
    let power = |power: &PowerParameters| PowerParameters {
        active_read_w: twice(power.active_read_w),
        active_write_w: twice(power.active_write_w),
        seek_w: power.seek_w.map(twice),
        idle_modes: power.idle_modes.iter().map(mode).collect(),
    };
    DiskParameters {
        actuator_ranges: 2,
        surfaces: 2 * one.surfaces,
        capacity_blocks: one.capacity_blocks.map(|blocks| 2 * blocks),
        power: one.power.as_ref().map(power),
        ..one.clone()
    }
}

fn system(parameters: &DiskParameters, scheduler: &str) -> Value {
    let device = serde_json::to_value(DeviceSpec::Disk(Box::new(parameters.clone()))).expect("a device");
    json!({"kind": "drive", "device": device, "scheduler": {"name": scheduler}})
}

/// The requests of one half: mixed sizes, two thirds reads, some durable, some sequential.
struct Requests {
    random: Stream,
    blocks: u64,
    next: u64,
}

impl Requests {
    fn new(half: u64, blocks: u64) -> Self {
        Self { random: Stream::new(half, "requests of a half"), blocks, next: 0 }
    }

    fn submit(&mut self, host: &mut Host, first: u64) {
        let blocks = 8 * (1 + self.random.below(8));
        let op = if self.random.chance(0.67) { Op::Read } else { Op::Write };
        let flags = if self.random.chance(0.1) { Flags::DURABLE } else { Flags::NONE };
        let lbn = if self.random.chance(0.3) { self.next } else { self.random.below(self.blocks / 8) * 8 };
        let lbn = lbn.min(self.blocks - blocks);
        self.next = lbn + blocks;
        host.submit(op, first + lbn, blocks as u32, flags);
    }
}

/// First block in the half, and start and end of each request's response, in the order of completions.
type Responses = Vec<(u64, Time, Time)>;

fn alone(parameters: &DiskParameters, scheduler: &str, half: u64, outstanding: usize, requests: usize) -> Responses {
    let mut host = Host::new(&system(parameters, scheduler));
    let mut stream = Requests::new(half, host.capacity_blocks());
    (0..outstanding).for_each(|_| stream.submit(&mut host, 0));
    let mut responses = Vec::new();
    while responses.len() < requests {
        let done = host.completion();
        responses.push((done.request.lbn, done.request.arrival, done.service.end));
        stream.submit(&mut host, 0);
    }
    responses
}

fn together(parameters: &DiskParameters, scheduler: &str, outstanding: usize, requests: usize) -> [Responses; 2] {
    let mut host = Host::new(&system(parameters, scheduler));
    let blocks = host.capacity_blocks() / 2;
    let mut streams = [0, 1].map(|half| Requests::new(half, blocks));
    for (half, stream) in (0..).zip(&mut streams) {
        (0..outstanding).for_each(|_| stream.submit(&mut host, half * blocks));
    }
    let mut responses = [Vec::new(), Vec::new()];
    while responses.iter().any(|half| half.len() < requests) {
        let done = host.completion();
        let half = done.request.lbn / blocks;
        responses[half as usize].push((done.request.lbn % blocks, done.request.arrival, done.service.end));
        streams[half as usize].submit(&mut host, half * blocks);
    }
    responses.iter_mut().for_each(|half| half.truncate(requests));
    responses
}

#[test]
fn halves_under_independent_load_equal_two_drives() {
    let requests = size(400, 4_000);
    for name in ["hgst-7k8", "barracuda-2t", "ultrastar36z15", "cheetah9LP"] {
        // The random numbers of an actuator are not those of a drive by itself.
        let one = DiskParameters { read_retries: None, ..disk(name) };
        for (scheduler, outstanding) in [("fcfs", 1), ("sptf", 6), ("look", 40)] {
            let drives = [0, 1].map(|half| alone(&one, scheduler, half, outstanding, requests));
            let halves = together(&dual(&one), scheduler, outstanding, requests);
            assert!(drives == halves, "{name}, {scheduler}, {outstanding} outstanding");
        }
    }
}

/// MB/s of 1 MiB reads one after the other from the first block of each range.
fn sequential_mb_s(parameters: &DiskParameters, ranges: u64, requests: u64) -> f64 {
    let mut host = Host::new(&system(parameters, "fcfs"));
    let range = host.capacity_blocks() / ranges;
    let mut next = vec![1; ranges as usize];
    for first in 0..ranges {
        host.submit(Op::Read, first * range, 2048, Flags::NONE);
    }
    for _ in 0..ranges * requests {
        let at = host.completion().request.lbn / range;
        let next = &mut next[at as usize];
        host.submit(Op::Read, at * range + *next * 2048, 2048, Flags::NONE);
        *next += 1;
    }
    (ranges * requests * 2048 * 512) as f64 / 1e6 / (host.now().ns() as f64 * 1e-9)
}

#[test]
fn sequential_streams_in_both_halves_have_twice_the_rate() {
    let one = disk("hgst-7k8");
    let (single, double) = (sequential_mb_s(&one, 1, 300), sequential_mb_s(&dual(&one), 2, 300));
    assert!((double / single - 2.0).abs() < 1e-9, "{double} and {single} MB/s");
    // A stream in one half has the rate of one actuator.
    assert_eq!(sequential_mb_s(&dual(&one), 1, 300), single);
}

fn ledger(host: &Host) -> EnergyLedger {
    let components = u32::try_from(host.system.components()).expect("a few");
    let mut ledger = EnergyLedger::default();
    for id in (0..components).map(ComponentId) {
        ledger += &host.system.component(id).measured(host.now()).ledger;
    }
    ledger
}

fn power(modes: &[(f64, Option<f64>, f64, f64)]) -> PowerParameters {
    let mode = |(index, &(power_w, after_s, wake_ms, wake_w)): (usize, &(f64, Option<f64>, f64, f64))| {
        IdleModeParameters { name: format!("mode {index}"), power_w, after_s, wake_ms, wake_w: Some(wake_w) }
    };
    let mut idle_modes: Vec<IdleModeParameters> = modes.iter().enumerate().map(mode).collect();
    idle_modes[0].name = "idle".into();
    PowerParameters { active_read_w: 9.0, active_write_w: 9.0, seek_w: None, idle_modes }
}

#[test]
fn energy_counts_one_spindle() {
    let one = DiskParameters { power: Some(power(&[(5.0, None, 0.0, 5.0)])), ..without_buffer(&disk("hgst-7k8")) };
    let drive = DiskParameters { power: one.power.clone(), ..dual(&one) };
    let mut host = Host::new(&system(&drive, "fcfs"));
    host.system.advance(Time::from_ns(10_000_000_000));
    assert!((ledger(&host).total_j() - 50.0).abs() < 1e-9, "an idle drive uses 5 W");
    // Each half works for a part of the time, and adds half of what both add together.
    let mut random = Stream::new(1, "energy");
    for _ in 0..200 {
        let lbn = random.below(host.capacity_blocks() / 8) * 8;
        host.submit(Op::Read, lbn, 8, Flags::NONE);
    }
    for _ in 0..200 {
        host.completion();
    }
    let found = ledger(&host);
    let busy_s: f64 = [State::Seek, State::Rotation, State::Data]
        .map(|state| found.time_ns[state as usize] as f64 * 1e-9)
        .iter()
        .sum();
    let expected_j = 5.0 * host.now().ns() as f64 * 1e-9 + (9.0 - 5.0) / 2.0 * busy_s;
    assert!(busy_s > 1.0 && (found.total_j() - expected_j).abs() < 1e-6, "{} and {expected_j} J", found.total_j());
}

#[test]
fn actuators_stop_and_start_together() {
    let modes = [(5.0, None, 0.0, 5.0), (3.0, Some(10.0), 2_000.0, 20.0)];
    let one = without_buffer(&disk("hgst-7k8"));
    let drive = DiskParameters { power: Some(power(&modes)), write_cache: None, command_queue: None, ..dual(&one) };
    let mut host = Host::new(&system(&drive, "fcfs"));
    let half = host.capacity_blocks() / 2;
    let at_s = |host: &mut Host, s: f64| {
        host.rest();
        host.system.advance(Time::from_ns((s * 1e9) as u64));
    };
    // Requests for one actuator keep the other one running.
    for second in 1..=10 {
        at_s(&mut host, 4.0 * f64::from(second));
        assert!(host.response_ms(Op::Read, 80_000, 8, Flags::NONE) < 30.0);
    }
    let late_ms = host.response_ms(Op::Read, half + 8_000, 8, Flags::NONE);
    assert!(late_ms < 30.0, "{late_ms} ms: the platters have never stopped");
    let stopped_s = host.now().ns() as f64 * 1e-9 + 10.0;
    // The first request after the stop starts the drive; one for the other actuator waits for the rest.
    at_s(&mut host, 60.0);
    host.submit(Op::Read, 80_000, 8, Flags::NONE);
    host.system.advance(Time::from_ns(61_000_000_000));
    host.submit(Op::Read, half + 8_000, 8, Flags::NONE);
    let mut responses_ms = [0.0; 2];
    for _ in 0..2 {
        let done = host.completion();
        responses_ms[(done.request.lbn / half) as usize] = (done.service.end - done.request.arrival) as f64 * 1e-6;
    }
    assert!((2_000.0..2_030.0).contains(&responses_ms[0]), "{responses_ms:?}");
    assert!((1_000.0..1_030.0).contains(&responses_ms[1]), "{responses_ms:?}");
    let found = ledger(&host);
    assert_eq!(found.startups(), 1);
    let s = |state: State| found.time_ns[state as usize] as f64 * 1e-9;
    assert!((s(State::Inactive) - 2.0 * (60.0 - stopped_s)).abs() < 1e-8 && (s(State::Startup) - 4.0).abs() < 1e-9);
    let busy_s = s(State::Seek) + s(State::Rotation) + s(State::Data);
    let running_s = host.now().ns() as f64 * 1e-9 - (60.0 - stopped_s) - 2.0;
    let expected_j = 5.0 * running_s + 3.0 * (60.0 - stopped_s) + 2.0 * 20.0 + 2.0 * busy_s;
    assert!((found.total_j() - expected_j).abs() < 1e-6, "{} and {expected_j} J", found.total_j());
}

/// Response times of reads on the first or the second half of the blocks, and the ledger at the end. Some come while the drive works, some
/// after it has stopped.
fn reads_with_pauses(parameters: &DiskParameters, policy: &str, first: u64) -> (Vec<f64>, EnergyLedger, Time) {
    let mut document = system(parameters, "fcfs");
    document["spin_down"] = json!({"name": policy});
    let mut host = Host::new(&document);
    let (mut random, mut at) = (Stream::new(2, "pauses"), Time::ZERO);
    let mut responses_ms = Vec::new();
    for _ in 0..size(100, 1_000) {
        at += [100_000_000, 4_000_000_000, 60_000_000_000][random.below(3) as usize] + random.below(1_000_000_000);
        host.system.advance(at.max(host.now()));
        responses_ms.push(host.response_ms(Op::Read, first + random.below(8_000_000) * 8, 8, Flags::NONE));
        host.rest();
    }
    (responses_ms, ledger(&host), host.now())
}

#[test]
fn spin_down_policies_see_the_idle_periods_of_the_drive() {
    let one = without_buffer(&disk("ultrastar36z15"));
    let both = DiskParameters { power: one.power.clone(), ..dual(&one) };
    let half = one.capacity_blocks.expect("a capacity");
    for policy in ["immediate", "never", "adaptive", "offline"] {
        let (responses_ms, expected, end) = reads_with_pauses(&one, policy, 0);
        let time_s = |ledger: &EnergyLedger, state: State| ledger.time_ns[state as usize] as f64 * 1e-9;
        let busy_s =
            [State::Seek, State::Rotation, State::Data].map(|state| time_s(&expected, state)).iter().sum::<f64>();
        for first in [0, half] {
            let found = reads_with_pauses(&both, policy, first);
            assert_eq!((&found.0, found.2), (&responses_ms, end), "{policy}");
            assert_eq!(found.1.startups(), expected.startups(), "{policy}");
            // The drive at work takes 13.5 W instead of 10.2 W, half of the difference with one actuator.
            let expected_j = expected.total_j() - 0.5 * (13.5 - 10.2) * busy_s;
            let total_j = found.1.total_j();
            assert!((total_j - expected_j).abs() < 1e-9 * total_j, "{policy}: {total_j} and {expected_j} J");
            let regret_j = found.1.regret_j;
            assert!(
                (regret_j - expected.regret_j).abs() < 1e-9 * total_j,
                "{policy}: {regret_j} and {} J",
                expected.regret_j
            );
        }
        assert_eq!(expected.startups() > 10, policy != "never", "{policy}: {}", expected.startups());
    }
}

fn bed(system: &Value, seed: u64) -> TestBed {
    let spec: SystemSpec = serde_json::from_value(system.clone()).unwrap_or_else(|error| panic!("{error}"));
    TestBed::new(assemble(&spec, 1, &mut |_, id, _| id).unwrap_or_else(|error| panic!("{error}")), seed)
}

fn load(bed: &TestBed) -> Load {
    Load { span_blocks: bed.capacity_blocks(), most_blocks: 40, writes: 0.6, gap_ns: 3_000_000, outstanding: 8 }
}

fn members(count: u32) -> Value {
    json!([{"count": count, "system": {"kind": "drive", "device": small()}}])
}

#[test]
fn flushed_and_durable_writes_survive_a_power_cut() {
    for system in [
        json!({"kind": "drive", "device": small()}),
        json!({"kind": "mirror", "members": members(2)}),
        json!({"kind": "raid5", "members": members(3)}),
    ] {
        let (mut checked, mut cuts) = (0, Stream::new(3, "cuts"));
        for seed in 0..size(20, 300) {
            let mut bed = bed(&system, seed);
            let load = load(&bed);
            bed.volatile = true;
            assert!(bed.system.may_lose_writes());
            bed.system.cut_power_after(1 + cuts.below(600));
            while !bed.system.is_power_off() {
                bed.operate_durably(1, &load);
            }
            bed.cut(0, &load, 0);
            assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{system}: {:?} {:?}", bed.wrong.first(), bed.lost);
            checked += bed.checked;
        }
        assert!(checked > 1_000, "{system}: {checked} blocks");
    }
}

#[test]
fn redundant_arrays_survive_the_failure_of_a_drive_with_both_actuators() {
    for (kind, count) in [("mirror", 2), ("raid5", 3)] {
        let faults = json!([{"member": 1, "fails_at_s": 0.3}]);
        let mut bed = bed(&json!({"kind": kind, "members": members(count), "faults": faults}), 5);
        let load = load(&bed);
        bed.operate(size(400, 4_000), &load);
        bed.settle();
        assert!(bed.system.now().ns() > 600_000_000 && bed.checked > 1_000, "{kind}: {} blocks", bed.checked);
        assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{kind}: {:?} {:?}", bed.wrong.first(), bed.lost);
    }
}

/// A drive of 4,000 blocks under two actuators, with a write cache and a queue.
fn small() -> Value {
    let zone = json!({"first_cylinder": 0, "last_cylinder": 9, "sectors_per_track": 100, "track_skew_sectors": 10, "cylinder_skew_sectors": 10});
    json!({
        "mechanism": "disk", "name": "small", "surfaces": 4, "cylinders": 10, "zones": [zone], "rotation_rpm": 7200,
        "seek": {"curve": "constant", "seek_ms": 1.0}, "head_switch_ms": 0.5, "bus_ms_per_block": 0.001, "actuator_ranges": 2,
        "command_queue": {"depth": 4}, "write_cache": {"blocks": 200, "idle_ms": 5.0},
    })
}

#[test]
fn requests_across_the_border_are_served_by_both() {
    let mut host = Host::new(&json!({"kind": "drive", "device": small(), "scheduler": {"name": "fcfs"}}));
    assert_eq!(host.capacity_blocks(), 4_000);
    host.submit(Op::Read, 1_990, 20, Flags::NONE);
    let done = host.completion();
    assert_eq!((done.request.lbn, done.request.blocks), (1_990, 20));
    // Two seeks and waits at the same time take less than one after the other: at most 1 ms and a revolution, and 10 of 100 sectors.
    assert!((done.service.end.ns() as f64) < 1e6 + 1.1 * 60e9 / 7200.0 + 2e5, "{:?}", done.service);
}

#[test]
fn contradictions_are_rejected() {
    for (drive, key, word) in [
        (json!({"device": {"name": "hgst-7k8", "actuator_ranges": 2, "surfaces": 9}}), "actuator_ranges", "surfaces"),
        (
            json!({"device": {"name": "hgst-7k8", "actuator_ranges": 2, "surfaces": 10, "capacity_blocks": 1_000_001}}),
            "actuator_ranges",
            "capacity_blocks",
        ),
        (
            json!({"device": {"name": "hgst-7k8", "actuator_ranges": 2, "actuators": 2, "surfaces": 10}}),
            "actuator_ranges",
            "actuators = 1",
        ),
        (json!({"device": {"name": "hgst-7k8", "actuator_ranges": 0}}), "actuator_ranges", "0"),
        (
            json!({"device": {"name": "ultrastar36z15", "actuator_ranges": 2}, "delayed_startup": {"requests": 3, "wait_ms": 100.0}}),
            "delayed_startup",
            "start and stop together",
        ),
    ] {
        let message = resolve(&json!({"workload": poisson(1.0), "system": drive})).expect_err("a contradiction");
        assert!(message.contains(key) && message.contains(word), "{message}");
    }
}
