//! Flushes: on every system, flushed data and durable writes survive power cuts, and a flush waits for nothing but
//! volatile data.

use rayon::prelude::*;
use serde_json::{json, Value};
use sledsim::engine::random::Stream;
use sledsim::engine::{ComponentId, System};
use sledsim::request::{Op, Request};
use sledsim::scenario::testing::assemble;
use sledsim::scenario::{DeviceSpec, SystemSpec};
use sledsim::time::Time;
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::kinds;
use sledsim_testing::scenarios::device_spec;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

/// Blocks that requests go to.
const BLOCKS: u64 = 72;

const LOAD: Load = Load { span_blocks: BLOCKS, most_blocks: 6, writes: 0.7, gap_ns: 150_000, outstanding: 0 };

/// A disk that acknowledges writes once they are in its buffer, with small blocks.
fn disk(_blocks: u64) -> Value {
    let DeviceSpec::Disk(mut parameters) = device_spec("atlas10k") else { panic!("a disk") };
    parameters.block_bytes = kinds::BLOCK as u32;
    let device = serde_json::to_value(DeviceSpec::Disk(parameters)).expect("a device");
    json!({"kind": "drive", "device": device, "scheduler": {"name": "sptf"}})
}

/// A disk with a command queue and a volatile write cache, with small blocks.
fn caching_drive(_blocks: u64) -> Value {
    let DeviceSpec::Disk(mut parameters) = device_spec("barracuda-2t") else { panic!("a disk") };
    parameters.block_bytes = kinds::BLOCK as u32;
    let device = serde_json::to_value(DeviceSpec::Disk(parameters)).expect("a device");
    json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}})
}

/// A volatile cache over `below`, whose lines stay dirty until eviction or a flush.
fn cached(blocks: u64, below: &dyn Fn(u64) -> Value) -> Value {
    let mut cache = kinds::over("ram-cache", blocks, below);
    cache["flush"]["idle_ms"] = Value::Null;
    cache
}

/// Removes member failures, which lose data in other ways.
fn without_faults(system: &mut Value) {
    match system {
        Value::Object(keys) => {
            keys.entry("faults").and_modify(|faults| *faults = json!([]));
            keys.values_mut().for_each(without_faults);
        }
        Value::Array(items) => items.iter_mut().for_each(without_faults),
        _ => {}
    }
}

/// Every kind, and every kind over every kind, over disks with write buffers and over volatile caches.
fn systems() -> Vec<(String, Value)> {
    let leaf = |name: &'static str, blocks| match name {
        "disk" => disk(blocks),
        "caching drive" => caching_drive(blocks),
        "cache" => cached(blocks, &kinds::drive),
        _ => cached(blocks, &disk),
    };
    let composite = || kinds::all().into_iter().filter(|kind| kind != "drive");
    let mut systems = Vec::new();
    for name in ["disk", "caching drive", "cache", "cached disk"] {
        let below = |blocks| leaf(name, blocks);
        systems.push((name.to_owned(), below(BLOCKS)));
        for outer in composite() {
            systems.push((format!("{outer} over {name}"), kinds::over(&outer, BLOCKS, &below)));
            for inner in composite() {
                let between = |blocks| {
                    let mut system = kinds::over(&inner, blocks, &below);
                    // A log can't be recovered from mirrors or parity arrays that are inconsistent after a power cut.
                    if ["mwb", "mcd"].contains(&outer.as_str()) && system.get("spares").is_some() {
                        system["journal"] = json!({"size_bytes": 4096, "access_us": 3.0});
                    }
                    system
                };
                systems.push((format!("{outer} over {inner} over {name}"), kinds::over(&outer, BLOCKS, &between)));
            }
        }
    }
    systems.iter_mut().for_each(|(_, system)| without_faults(system));
    systems
}

fn built(system: &Value, mut between: impl FnMut(&mut System, ComponentId) -> ComponentId) -> System {
    let spec: SystemSpec = serde_json::from_value(system.clone()).unwrap_or_else(|error| panic!("{error}\n{system:#}"));
    assemble(&spec, 1, &mut |system, id, _| between(system, id)).unwrap_or_else(|error| panic!("{error}\n{system:#}"))
}

/// Cuts the power of each system during writes and flushes; only once, because mirrors without a journal may be
/// inconsistent afterwards. Stops at the first error. Returns it and the number of correct blocks.
fn cut(system: &System, cuts: u64) -> (Option<String>, u64) {
    let mut stream = Stream::new(11, "cuts");
    let mut checked = 0;
    for seed in 0..cuts {
        let mut bed = TestBed::new(system.clone(), seed);
        bed.volatile = bed.system.may_lose_writes();
        bed.system.cut_power_after(1 + stream.below(600));
        while !bed.system.is_power_off() {
            bed.operate_durably(1, &LOAD);
        }
        bed.cut(0, &LOAD, 0);
        assert!(bed.lost.is_empty(), "{:?}", bed.lost);
        checked += bed.checked;
        if let Some(wrong) = bed.wrong.pop() {
            return (Some(wrong), checked);
        }
    }
    (None, checked)
}

#[test]
fn flushed_and_durable_writes_survive_a_power_cut() {
    systems().par_iter().for_each(|(name, document)| {
        let (wrong, checked) = cut(&built(document, |_, id| id), size(5, 300));
        assert_eq!(wrong, None, "{name}");
        assert!(checked > 100, "{name}: {checked} blocks");
    });
}

/// A bug at every drive or every cache is detected wherever it loses data.
fn found(bug: Bug, kind: &str) -> Vec<String> {
    // In arrays over arrays over disks, a write takes a hundred accesses, so that many cuts are needed to hit the
    // critical moment.
    let of_kind = systems().into_iter().filter(|(name, _)| name.ends_with(kind) && name.matches("over").count() < 2);
    let volatile = of_kind.filter(|(_, document)| built(document, |_, id| id).may_lose_writes());
    let missed = volatile.collect::<Vec<_>>().into_par_iter().filter_map(|(name, document)| {
        let plant = |system: &mut System, id| {
            let details = system.component(id).details(Time::ZERO);
            let is_lossy = details.is_none_or(|details| ["ram-cache", "drive"].contains(&details.kind));
            if is_lossy {
                BuggyComponent::over(system, id, bug)
            } else {
                id
            }
        };
        cut(&built(&document, plant), 400).0.is_none().then_some(name)
    });
    missed.collect()
}

#[test]
fn flushes_that_complete_early_are_detected_in_every_system() {
    assert_eq!(found(Bug::LyingFlush, "disk"), Vec::<String>::new(), "no error was detected");
    assert_eq!(found(Bug::LyingFlush, "caching drive"), Vec::<String>::new(), "no error was detected");
    assert_eq!(found(Bug::LyingFlush, "cache"), Vec::<String>::new(), "no error was detected");
}

#[test]
fn ignored_durable_flags_are_detected_in_every_system() {
    assert_eq!(found(Bug::ForgetDurable, "disk"), Vec::<String>::new(), "no error was detected");
    assert_eq!(found(Bug::ForgetDurable, "caching drive"), Vec::<String>::new(), "no error was detected");
    assert_eq!(found(Bug::ForgetDurable, "cache"), Vec::<String>::new(), "no error was detected");
}

/// Submits requests at their arrivals. Returns their completion times, ns.
fn ends(system: &mut System, requests: &[Request]) -> Vec<u64> {
    let mut ends = vec![0; requests.len()];
    let mut hear = |completion: &sledsim::engine::Completion| {
        assert!(completion.is_served(), "{completion:?}");
        ends[completion.request.id as usize] = completion.service.end.ns();
    };
    for (id, &request) in (0..).zip(requests) {
        while system.next_time().is_some_and(|next| next <= request.arrival) {
            system.step(&mut hear);
        }
        system.submit(Request { id, ..request }, &mut hear);
    }
    while system.next_time().is_some() && system.in_flight() > 0 {
        system.step(&mut hear);
    }
    ends
}

fn at(ns: u64, request: Request) -> Request {
    Request { arrival: Time::from_ns(ns), ..request }
}

fn write(lbn: u64, blocks: u32) -> Request {
    Request { op: Op::Write, ..Request::read(lbn, blocks) }
}

#[test]
fn flushes_take_no_time_without_volatile_data() {
    for kind in kinds::all() {
        let mut document = kinds::over(&kind, BLOCKS, &kinds::drive);
        without_faults(&mut document);
        if kind == "ram-cache" {
            document["volatile"] = false.into();
        }
        let mut system = built(&document, |_, id| id);
        let ends = ends(&mut system, &[write(3, 2), at(5, write(40, 2)), at(7, Request::flush())]);
        assert!(ends[2] == 7 && ends[0] > 7, "{kind}: {ends:?}");
    }
}

#[test]
fn a_disk_flush_ends_when_reported_writes_are_on_the_medium() {
    let flushed = |requests: &[Request]| ends(&mut built(&disk(0), |_, id| id), requests);
    // An ordinary write completes before it is on the medium, a durable one after that.
    let reported = flushed(&[write(1_000_000, 8)])[0];
    let lasting = Request { flags: sledsim::request::Flags::DURABLE, ..write(1_000_000, 8) };
    let written = flushed(&[lasting])[0];
    assert!(reported < written, "{reported} {written}");
    let flush = at(reported, Request::flush());
    let ended = flushed(&[write(1_000_000, 8), flush])[1];
    assert!(ended > reported && ended.abs_diff(written) < 1_000_000, "{ended} {written}");
    // A later flush has nothing to do; a flush does not wait for pending reads.
    assert_eq!(flushed(&[write(1_000_000, 8), at(100_000_000, Request::flush())])[1], 100_000_000);
    let mut many = vec![write(1_000_000, 8)];
    many.extend((0..30).map(|number| at(reported, Request::read(number * 300_000, 8))));
    many.push(flush);
    let ends = flushed(&many);
    let before = ends[1..31].iter().filter(|&&end| end < ends[31]).count();
    assert!(before <= 1, "{before} reads were served before the flush");
    let alone = flushed(&[at(reported, Request::flush())])[0];
    assert_eq!(alone, reported, "nothing was written");
}

/// Drives with accesses of 0.1 ms; four runs of dirty blocks, two of which are written concurrently.
#[test]
fn a_cache_flush_writes_exactly_the_dirty_blocks() {
    let mut cache = cached(BLOCKS, &kinds::drive);
    (cache["access_us"], cache["flush"]["high_water"]) = (json!(0.0), json!(1.0));
    let mut requests: Vec<Request> = (0..4).map(|number| at(number, write(number * 12, 2))).collect();
    requests.push(at(10, Request::flush()));
    // Blocks written meanwhile are dirty again; the next flush writes them.
    requests.push(at(50_000, write(0, 2)));
    requests.push(at(1_000_000, Request::flush()));
    let mut system = built(&cache, |_, id| id);
    let ends = ends(&mut system, &requests);
    assert_eq!(ends[4..], [10 + 400_000, 50_000, 1_000_000 + 100_000]);
}

/// Repeated writes of the same blocks do not delay a flush forever.
#[test]
fn a_flush_ends_even_if_its_blocks_are_rewritten() {
    let mut requests: Vec<Request> = (0..2000).map(|number| at(number * 10_000, write(number % 3, 2))).collect();
    requests.insert(500, at(4_995_000, Request::flush()));
    let ends = ends(&mut built(&cached(BLOCKS, &kinds::drive), |_, id| id), &requests);
    assert!(ends[500] < 4_995_000 + 400_000, "{}", ends[500]);
}
