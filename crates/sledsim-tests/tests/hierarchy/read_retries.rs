//! Retries of reads in systems: independent for each drive and actuator, reproducible from the seed, and compatible with queues and caches.

use serde_json::{json, Value};
use sledsim::engine::random::Stream;
use sledsim::request::{Flags, Op};
use sledsim::time::Time;
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::{poisson, resolve, run};

const REVOLUTION_NS: u64 = 10_000_000;
/// Blocks of the drive: 50 cylinders of four tracks of 120 blocks.
const BLOCKS: u64 = 50 * 4 * 120;

/// A drive that turns in 10 ms, whose reads fail with a probability of 0.3 unless other retries are given.
fn drive(values: &Value) -> Value {
    let mut device = json!({
        "mechanism": "disk", "name": "small", "surfaces": 4, "cylinders": 50,
        "zones": [{"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": 120,
                   "track_skew_sectors": 10.0, "cylinder_skew_sectors": 20.0}],
        "rotation_rpm": 6000.0, "seek": {"curve": "linear", "single_ms": 1.0, "full_ms": 9.0}, "head_switch_ms": 0.5,
        "bus_ms_per_block": 0.01, "buffer_caching": false,
        "read_retries": {"probability": 0.3, "mean_revolutions": 3.0},
    });
    for (key, value) in values.as_object().expect("a table") {
        device[key] = value.clone();
    }
    json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}})
}

/// Ids and ends of random reads below `span`, with a number of them outstanding.
fn reads(system: &Value, outstanding: usize, span: u64, number: usize) -> Vec<(u64, Time)> {
    let (mut host, mut random) = (Host::new(system), Stream::new(2, "reads"));
    let mut submit = |host: &mut Host| host.submit(Op::Read, random.below(span / 8) * 8, 8, Flags::NONE);
    (0..outstanding).for_each(|_| {
        submit(&mut host);
    });
    let completions = (0..number).map(|_| {
        let done = host.completion();
        submit(&mut host);
        (done.request.id, done.service.end)
    });
    completions.collect()
}

/// A delay of whole revolutions changes no angle, so that the queue chooses the same commands.
#[test]
fn retries_delay_a_command_queue_by_whole_revolutions_and_keep_its_order() {
    for outstanding in [1, 4, 32] {
        let queue = json!({"command_queue": {"depth": 32}});
        let plain = json!({"command_queue": {"depth": 32}, "read_retries": null});
        let [retried, plain] = [queue, plain].map(|values| reads(&drive(&values), outstanding, BLOCKS, 400));
        let mut delay_ns = 0;
        for (retried, plain) in retried.iter().zip(&plain) {
            assert_eq!(retried.0, plain.0, "{outstanding} outstanding");
            let later_ns = retried.1 - plain.1;
            assert!(later_ns >= delay_ns && later_ns % REVOLUTION_NS == 0, "{later_ns} ns after {delay_ns} ns");
            delay_ns = later_ns;
        }
        // 0.9 revolutions a read; the standard deviation of 400 is 32.
        let revolutions = delay_ns / REVOLUTION_NS;
        assert!((200..520).contains(&revolutions), "{revolutions} revolutions");
    }
}

/// Revolutions that each of 100 equal reads takes longer than the quickest, one at a time from `first` on.
fn added_revolutions(system: &Value, first: u64) -> Vec<u64> {
    let mut host = Host::new(system);
    let ms: Vec<f64> = (0..100).map(|_| host.response_ms(Op::Read, first, 8, Flags::NONE)).collect();
    let least_ms = ms.iter().copied().fold(f64::INFINITY, f64::min);
    ms.iter().map(|ms| ((ms - least_ms) / 10.0).round() as u64).collect()
}

#[test]
fn each_drive_and_actuator_has_random_numbers_of_its_own() {
    let halves = drive(&json!({"actuator_ranges": 2}));
    let members = json!([{"count": 2, "system": drive(&json!({}))}]);
    let stripe = json!({"kind": "stripe", "members": members, "unit_bytes": BLOCKS * 512});
    for (system, second) in [(halves, BLOCKS / 2), (stripe, BLOCKS)] {
        let [one, other] = [0, second].map(|first| added_revolutions(&system, first));
        assert_ne!(one, other, "{system}");
        assert!([&one, &other].iter().all(|added| added.iter().any(|&revolutions| revolutions > 0)));
        assert_eq!(added_revolutions(&system, 0), one);
    }
}

#[test]
fn retries_follow_the_seed_of_the_scenario() {
    let report = |seed: u64| {
        let document =
            json!({"seed": seed, "workload": poisson(5.0), "system": drive(&json!({})), "run": {"requests": 300}});
        let output = run(&resolve(&document).expect("a scenario"));
        let phases: Vec<u64> =
            output.recorder.log().expect("a log").entries.iter().map(|entry| entry.1.phases.turnaround_ns).collect();
        phases
    };
    assert_eq!(report(1), report(1));
    assert_ne!(report(1), report(2));
}

#[test]
fn writes_through_a_write_cache_are_not_retried() {
    let times = |retries: Value| {
        let cache = json!({"write_cache": {"blocks": 64}, "physical_sector_blocks": 8, "read_retries": retries});
        let (mut host, mut random, mut times) = (Host::new(&drive(&cache)), Stream::new(3, "writes"), Vec::new());
        for _ in 0..20 {
            for _ in 0..10 {
                let (lbn, blocks) = (random.below(BLOCKS - 16), 1 + random.below(16) as u32);
                times.push(host.response_ms(Op::Write, lbn, blocks, Flags::NONE));
            }
            times.push(host.flush_ms());
        }
        times
    };
    assert_eq!(times(json!({"probability": 1.0, "mean_revolutions": 5.0})), times(Value::Null));
}
