//! Every key of a drive has an effect: on some drive, another value changes service times.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{json, Value};
use sledsim::devices::disk::{DiskDevice, DiskParameters};
use sledsim::devices::Mechanism;
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::time::Time;
use sledsim_testing::disk_designs;

/// Keys that do not affect service times: the name and the block size, and what the drive component does with the device.
const WITHOUT_EFFECT: [&str; 4] = ["name", "block_bytes", "command_queue", "write_cache"];

/// Number of random drives; far more than needed until one uses the rarer keys.
const DESIGNS: usize = 1500;

/// Returns the completion times of requests that continue, repeat or overlap each other or are random, with gaps of all
/// sizes.
fn ends(drive: &DiskParameters) -> Option<Vec<Time>> {
    let mut device = DiskDevice::new(drive).ok()?;
    let capacity = device.dimensions().capacity_blocks;
    let mut random = Stream::new(3, "walk");
    let (mut now, mut last) = (Time::ZERO, 0);
    let mut ends = Vec::new();
    for id in 0..60 {
        let most = if random.chance(0.7) { 12 } else { 150 };
        let blocks = (1 + random.below(most)).min(capacity);
        let lbn = match random.below(4) {
            0 => random.below(capacity),
            1 => last + random.below(20),
            2 => last.saturating_sub(random.below(30)),
            _ => last,
        };
        let lbn = lbn.min(capacity - blocks);
        let op = if random.chance(0.6) { Op::Read } else { Op::Write };
        let request = Request { id, arrival: now, op, ..Request::read(lbn, blocks as u32) };
        let service = device.serve(now, &request);
        ends.push(service.end);
        last = request.end_lbn();
        now = service.end + [0, 1_000_000, 30_000_000][random.below(3) as usize];
    }
    Some(ends)
}

/// Returns other values to try for a key.
fn others(key: &str, value: &Value) -> Vec<Value> {
    match (key, value) {
        ("mapping", _) => {
            ["cylinder", "serpentine-by-zone", "serpentine", "seek-first-serpentine"].map(Value::from).to_vec()
        }
        ("sparing", _) => ["sectors-per-track", "sectors-per-zone"].map(Value::from).to_vec(),
        ("rotation", _) => ["phase", "average"].map(Value::from).to_vec(),
        ("read_ahead", _) => ["none", "track", "cylinder", "segment", "next-track"].map(Value::from).to_vec(),
        ("fast_write", _) => ["none", "sequential", "full"].map(Value::from).to_vec(),
        ("seek", _) => vec![json!({"curve": "constant", "seek_ms": 1.5})],
        ("zones", zones) => {
            let mut zones = zones.clone();
            zones[0]["sectors_per_track"] = 61.into();
            vec![zones]
        }
        ("read_retries", _) => vec![json!({"probability": 1.0, "mean_revolutions": 1.0}), Value::Null],
        // A drive that is slow to return, and one with constant power.
        ("power", power) => {
            let mode = json!({"name": "lower", "power_w": 0.0, "after_s": 0.0, "wake_ms": 7.0});
            let slow = json!({"active_read_w": 1.0, "active_write_w": 1.0,
                              "idle_modes": [{"name": "ready", "power_w": 1.0}, mode]});
            if power.is_null() {
                vec![slow]
            } else {
                vec![slow, Value::Null]
            }
        }
        (_, Value::Bool(on)) => vec![(!on).into()],
        (_, Value::Null) => vec![1.into(), 25.into()],
        (_, Value::Number(number)) => {
            let whole = number.as_i64().map(|whole| [whole - 1, whole + 1, whole + 20].map(Value::from).to_vec());
            let real = || [0.0, 0.35, 0.9].map(Value::from).to_vec();
            whole.unwrap_or_else(|| if key.ends_with("rpm") { vec![7_000.0.into()] } else { real() })
        }
        (key, value) => panic!("{key} = {value}: a kind of value that this test does not know"),
    }
}

#[test]
fn every_key_has_an_effect() {
    let mut random = TestRunner::deterministic();
    let designs = disk_designs::disk_design();
    let mut idle: Vec<String> = Vec::new();
    for drawn in 0..DESIGNS {
        let drive = designs.new_tree(&mut random).expect("a drive").current();
        let values = serde_json::to_value(&drive).expect("numbers");
        if drawn == 0 {
            idle = values.as_object().expect("a table").keys().cloned().collect();
            idle.retain(|key| !WITHOUT_EFFECT.contains(&key.as_str()));
        }
        let before = ends(&drive).expect("it can be built");
        idle.retain(|key| {
            !others(key, &values[key]).into_iter().any(|other| {
                let mut changed = values.clone();
                changed[key] = other;
                let changed = serde_json::from_value::<DiskParameters>(changed).ok();
                changed.and_then(|drive| ends(&drive)).is_some_and(|after| after != before)
            })
        });
        if idle.is_empty() {
            return;
        }
    }
    panic!("no effect on any of {DESIGNS} drives: {}", idle.join(", "));
}
