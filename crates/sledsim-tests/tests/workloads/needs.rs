//! Needed bytes of generated and replayed requests.

use std::path::PathBuf;

use serde_json::{json, Value};
use sledsim::engine::{Completion, Next, Workload};
use sledsim::fault::Kind;
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::service::Service;
use sledsim::traces::TraceFormat;
use sledsim::workloads::{LastBlock, MetadataSpec, Replay, Synthetic, SyntheticSpec, TraceSpec};
use sledsim_testing::scenarios;

const BLOCK: u32 = 512;
const CAPACITY_BLOCKS: u64 = 100_000;

/// Returns `count` requests of a generator of 8 KB requests, half of them reads, with additional keys.
fn generated(count: usize, keys: &Value) -> Vec<Request> {
    let mut spec = json!({"arrival": {"kind": "poisson", "rate_per_s": 100.0}, "read_fraction": 0.5,
        "size_bytes": {"kind": "fixed", "value": 8192.0}});
    for (key, value) in keys.as_object().expect("keys") {
        spec[key] = value.clone();
    }
    let spec: SyntheticSpec = serde_json::from_value(spec).expect("a workload");
    let mut workload = Synthetic::new(&spec, 7, CAPACITY_BLOCKS, BLOCK).expect("the workload fits the device");
    (0..count).map(|_| workload.take()).collect()
}

/// Returns the first needed byte and the number of needed bytes.
fn needs(request: &Request, block_bytes: u32) -> (u64, u64) {
    let needed = request.needed(block_bytes);
    let first = (needed.lbn - request.lbn) * u64::from(block_bytes) + u64::from(needed.front_bytes);
    (first, needed.bytes(block_bytes))
}

/// Returns the requests without padding and flags.
fn plain(requests: &[Request]) -> Vec<Request> {
    requests.iter().map(|&request| Request { padding: Padding::NONE, flags: Flags::NONE, ..request }).collect()
}

/// Asserts that outcomes are equally frequent: chi-square is below its mean plus four standard deviations, which a
/// correct generator exceeds about once in a thousand.
#[track_caller]
fn assert_uniform(counts: &[u32]) {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    assert!(expected > 10.0, "too few expected for a chi-square test");
    let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    let degrees_of_freedom = counts.len() as f64 - 1.0;
    let limit = degrees_of_freedom + 4.0 * (2.0 * degrees_of_freedom).sqrt();
    assert!(chi_square < limit, "chi-square {chi_square} above {limit}: {counts:?}");
}

#[test]
fn needed_parts_of_last_blocks_are_uniform() {
    let requests = generated(64_000, &json!({"last_block": "uniform"}));
    let mut counts = [0_u32; 64];
    for request in &requests {
        let (first, bytes) = needs(request, BLOCK);
        let last = bytes - 15 * 512;
        assert_eq!((first, last % 8), (0, 0));
        counts[(last / 8 - 1) as usize] += 1;
    }
    assert_uniform(&counts);
    // Successive draws are independent.
    let mut pairs = [0_u32; 16];
    for pair in requests.windows(2) {
        let quarter = |request: &Request| ((needs(request, BLOCK).1 - 15 * 512 - 8) / 128) as usize;
        pairs[4 * quarter(&pair[0]) + quarter(&pair[1])] += 1;
    }
    assert_uniform(&pairs);
}

/// The needed part of a last block is rounded up to bytes and is at least one byte.
#[test]
fn parts_of_a_last_block_end_with_a_byte() {
    let keys = json!({"last_block": "uniform", "size_bytes": {"kind": "fixed", "value": 1000.0}});
    let mut seen = std::collections::BTreeSet::new();
    for request in generated(5000, &keys) {
        let (first, bytes) = needs(&request, BLOCK);
        assert_eq!((first, request.blocks), (0, 2));
        seen.insert(bytes - 512);
    }
    // 1000 bytes end 488 bytes into the second block.
    let expected = (1..=64_u64).map(|k| (488 * k).div_ceil(64)).collect();
    assert_eq!(seen, expected);
}

#[test]
fn sizes_in_bytes_set_the_needed_bytes() {
    for (bytes, needed) in [(0.0, 1), (100.0, 100), (512.0, 512), (700.5, 701), (1e15, CAPACITY_BLOCKS * 512)] {
        let request = generated(1, &json!({"size_bytes": {"kind": "fixed", "value": bytes}}))[0];
        assert_eq!(needs(&request, BLOCK), (0, needed));
    }
}

#[test]
fn metadata_has_its_share_and_random_offsets() {
    let count = 100_000;
    let requests = generated(count, &json!({"metadata": {"share": 0.72}, "last_block": "uniform"}));
    let mut inodes = [[0_u32; 64]; 2];
    let mut metadata = 0;
    for request in &requests {
        let (first, bytes) = needs(request, BLOCK);
        if !request.flags.contains(Flags::METADATA) {
            assert!(first == 0 && bytes > 15 * 512);
            continue;
        }
        metadata += 1;
        assert_eq!(bytes, if request.op == Op::Read { 128 } else { 66 });
        assert_eq!(first % 128, 0, "an update starts at the start of its inode");
        inodes[usize::from(request.op == Op::Read)][(first / 128) as usize] += 1;
    }
    // Four standard deviations of a binomial count.
    let deviation = (count as f64 * 0.72 * 0.28).sqrt();
    assert!((f64::from(metadata) - 72_000.0).abs() < 4.0 * deviation, "{metadata} of {count} are metadata");
    inodes.iter().for_each(|counts| assert_uniform(counts));
}

#[test]
fn metadata_of_other_sizes_is_aligned() {
    let places = |size: f64, bytes: u32| -> Vec<(u64, u64)> {
        let keys = json!({"metadata": {"share": 1.0, "read_bytes": bytes, "write_bytes": bytes},
            "size_bytes": {"kind": "fixed", "value": size}});
        let mut places: Vec<_> = generated(2000, &keys).iter().map(|request| needs(request, BLOCK)).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let steps = |range: std::ops::Range<u64>, step: usize, bytes: u64| -> Vec<(u64, u64)> {
        range.step_by(step).map(|first| (first, bytes)).collect()
    };
    assert_eq!(places(512.0, 4), steps(0..512, 4, 4));
    assert_eq!(places(1024.0, 200), steps(0..1024, 256, 200));
    assert_eq!(places(1024.0, 300), steps(0..1024, 512, 300), "one inode per block");
    assert_eq!(places(2048.0, 512), steps(0..2048, 512, 512));
    assert_eq!(places(2048.0, 700), steps(0..1500, 512, 700), "starts at block boundaries, within the request");
    assert_eq!(places(2048.0, 2048), [(0, 2048)]);
    assert_eq!(places(2048.0, 1 << 20), [(0, 2048)], "all of it");
    assert_eq!(places(100.0, 128), [(0, 100)], "the whole request");
}

/// The options change nothing else in requests and use independent random numbers.
#[test]
fn options_change_nothing_else() {
    let sizes = json!({"kind": "exponential", "mean": 6000.0});
    let with = |last_block: &str, metadata: Option<f64>| {
        let metadata = metadata.map(|share| json!({"share": share}));
        generated(3000, &json!({"last_block": last_block, "metadata": metadata, "size_bytes": sizes}))
    };
    let (none, parts, both) = (with("whole", None), with("uniform", None), with("uniform", Some(0.4)));
    let more = with("uniform", Some(0.6));
    assert_eq!(plain(&parts), plain(&none));
    assert_eq!(plain(&both), plain(&none));
    assert_eq!(with("uniform", Some(0.0)), parts);
    for ((part, both), more) in parts.iter().zip(&both).zip(&more) {
        if !both.flags.contains(Flags::METADATA) {
            assert_eq!(both, part);
        } else {
            assert_eq!(more, both, "a larger share includes the requests of a smaller one");
        }
    }
}

struct Trace {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn trace(name: &str, content: &[u8]) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    Trace { path, _folder: folder }
}

/// Records of 16 blocks on three devices.
fn records(count: u64) -> Trace {
    let lines: String = (0..count)
        .map(|i| format!("{},{},{},8192,{}\n", i * 1_000_000, i % 3, 8192 * i, if i % 2 == 0 { 'W' } else { 'R' }))
        .collect();
    trace("trace.csv", format!("t_ns,device,offset_bytes,bytes,op\n{lines}").as_bytes())
}

fn replayed(trace: &Trace, options: TraceSpec) -> Result<Vec<Request>, String> {
    replayed_by(3, trace, options)
}

fn replayed_by(seed: u64, trace: &Trace, options: TraceSpec) -> Result<Vec<Request>, String> {
    let spec = TraceSpec { path: trace.path.display().to_string(), ..options };
    let mut replay = Replay::new(spec, seed, CAPACITY_BLOCKS, BLOCK).map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    loop {
        match replay.peek().map_err(|error| error.to_string())? {
            Next::Ended => return Ok(requests),
            Next::At(end) => {
                let request = replay.take();
                requests.push(request);
                replay.completed(&Completion::of(request, Service { end, free: end, ..Service::default() }));
            }
            Next::Busy | Next::Waiting => {}
        }
    }
}

fn inodes(share: Option<f64>) -> MetadataSpec {
    MetadataSpec { share, read_bytes: 128, write_bytes: 66 }
}

fn drawn() -> TraceSpec {
    let (last_block, metadata) = (LastBlock::Uniform, Some(inodes(Some(0.5))));
    TraceSpec { last_block, metadata, ..TraceSpec::default() }
}

#[test]
fn replays_draw_like_generators() {
    let trace = records(6000);
    let requests = replayed(&trace, drawn()).unwrap();
    assert_eq!(plain(&requests), plain(&replayed(&trace, TraceSpec::default()).unwrap()));
    let (metadata, others): (Vec<_>, Vec<_>) =
        requests.iter().partition(|request| request.flags.contains(Flags::METADATA));
    // Four standard deviations of a binomial count: 155.
    assert!(metadata.len().abs_diff(3000) < 155, "{} of 6000 are metadata", metadata.len());
    let bytes = |request: &Request| if request.op == Op::Read { 128 } else { 66 };
    assert!(metadata.iter().all(|request| needs(request, BLOCK).1 == bytes(request)));
    let mut quarters = [0_u32; 4];
    for request in others {
        let (first, bytes) = needs(&request, BLOCK);
        assert_eq!(first, 0);
        quarters[((bytes - 15 * 512 - 8) / 128) as usize] += 1;
    }
    assert_uniform(&quarters);
    assert_ne!(requests, replayed_by(4, &trace, drawn()).unwrap());
}

/// Needed bytes of a record do not depend on the replayed slice or the repetition.
#[test]
fn needed_bytes_do_not_depend_on_the_slice() {
    let trace = records(300);
    let needs = |options: TraceSpec| -> Vec<(u64, Padding, Flags)> {
        let requests = replayed(&trace, options).unwrap();
        requests.iter().map(|request| (request.lbn, request.padding, request.flags)).collect()
    };
    let whole = needs(drawn());
    for cut in [1, 100, 299] {
        let head = needs(TraceSpec { records: Some(cut), ..drawn() });
        let tail = needs(TraceSpec { first_record: cut, ..drawn() });
        assert_eq!([head, tail].concat(), whole);
    }
    assert_eq!(needs(TraceSpec { start_s: 0.05, ..drawn() }), whole[50..]);
    let of_device: Vec<_> = whole.iter().copied().skip(1).step_by(3).collect();
    assert_eq!(needs(TraceSpec { devices: vec![1], ..drawn() }), of_device);
    assert_eq!(needs(TraceSpec { repeat: 3, ..drawn() }), whole.repeat(3));
    assert_eq!(needs(TraceSpec { time_scale: 0.5, ..drawn() }), whole);
}

/// For partial blocks, only the recorded bytes are needed.
#[test]
fn a_record_needs_the_recorded_bytes() {
    let text = "t_ns,device,offset_bytes,bytes,op\n0,0,1000,100,R\n1,0,512,1024,W\n2,0,256,700,R\n3,0,1280,3,W\n";
    let requests = replayed(&trace("bytes.csv", text.as_bytes()), TraceSpec::default()).unwrap();
    let of = |request: &Request| (request.lbn, request.blocks, needs(request, BLOCK));
    let expected = [(1, 2, (488, 100)), (1, 2, (0, 1024)), (0, 2, (256, 700)), (2, 1, (256, 3))];
    assert_eq!(requests.iter().map(of).collect::<Vec<_>>(), expected);
    // The option reduces the recorded bytes of the last block only.
    let options = TraceSpec { last_block: LastBlock::Uniform, ..TraceSpec::default() };
    for (request, whole) in replayed(&trace("bytes.csv", text.as_bytes()), options).unwrap().iter().zip(&requests) {
        let ((first, bytes), (whole_first, whole_bytes)) = (needs(request, BLOCK), needs(whole, BLOCK));
        assert_eq!(first, whole_first);
        assert!(bytes <= whole_bytes && bytes > 0);
    }
}

#[test]
fn metadata_flags_of_a_trace_are_used() {
    let text = "  8,0 3 1 0.1 697 Q WSM 2000 + 8 [x]\n  8,0 3 1 0.2 697 Q R 3000 + 8 [x]\n  8,0 3 1 0.3 697 Q RM 4000 + 8 [x]\n";
    let trace = trace("blk", text.as_bytes());
    let bytes = |share| -> Vec<u64> {
        let options = TraceSpec { metadata: Some(inodes(share)), ..TraceSpec::default() };
        replayed(&trace, options).unwrap().iter().map(|request| needs(request, BLOCK).1).collect()
    };
    assert_eq!(bytes(None), [66, 4096, 128]);
    assert_eq!(bytes(Some(0.0)), [4096; 3], "a given share overrides the flags of the trace");
    assert_eq!(bytes(Some(1.0)), [66, 128, 128]);
    let options = TraceSpec { metadata: Some(inodes(Some(0.0))), ..TraceSpec::default() };
    let flags: Vec<_> = replayed(&trace, options).unwrap().iter().map(|request| request.flags).collect();
    assert_eq!(flags, [Flags::SYNCHRONOUS; 3]);
}

#[test]
fn metadata_without_a_share_requires_a_format_with_metadata_flags() {
    for &format in TraceFormat::ALL {
        let trace = trace("example", format.example());
        let metadata = json!({"read_bytes": 128, "write_bytes": 66});
        let workload = json!({"path": trace.path, "format": format.name(), "fit": "wrap", "metadata": metadata});
        let scenario = scenarios::resolved(&json!({"workload": workload, "system": {"device": "g2"}}));
        let outcome = scenarios::try_run(&scenario);
        if format.has_metadata() {
            assert!(outcome.is_ok());
            continue;
        }
        let error = outcome.err().unwrap_or_default();
        let said = format!(
            "workload.metadata.share is missing, and a trace of format {} does not mark metadata",
            format.name()
        );
        assert!(error.contains(&said), "{error}");
    }
}

/// Returns the error of a scenario with this workload on this system.
fn error(workload: &Value, system: &Value) -> String {
    match scenarios::resolve(&json!({"workload": workload, "system": system})) {
        Ok(scenario) => panic!("{scenario:?}"),
        Err(error) => error,
    }
}

#[test]
fn errors_name_key_value_and_remedy() {
    let workload = |metadata: Value| {
        let mut workload = scenarios::poisson(10.0);
        workload["metadata"] = metadata;
        workload
    };
    let system = json!({"device": "g2"});
    for (metadata, words) in [
        (json!({}), vec!["workload.metadata.share", "missing", "from 0 to 1"]),
        (json!({"share": 1.5}), vec!["workload.metadata.share = 1.5", "from 0 to 1"]),
        (json!({"share": -0.1}), vec!["workload.metadata.share = -0.1", "from 0 to 1"]),
        (json!({"share": 0.5, "read_bytes": 0}), vec!["workload.metadata.read_bytes = 0", "from 1 to"]),
        (json!({"share": 0.5, "write_bytes": 1_048_577}), vec!["workload.metadata.write_bytes = 1048577", "1048576"]),
        (json!({"share": 0.5, "bytes": 4}), vec!["workload.metadata", "bytes"]),
    ] {
        let error = error(&workload(metadata), &system);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    let mut last_block = scenarios::poisson(10.0);
    last_block["last_block"] = json!("half");
    let message = error(&last_block, &system);
    assert!(message.contains("workload.last_block") && message.contains("half"), "{message}");
    for device in ["atlas10k", "simpledisk-constant"] {
        let message = error(&scenarios::poisson(10.0), &json!({"device": device, "subsector": true}));
        let words = ["system.subsector = true", device, "leave it out, or take a MEMS device"];
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
        let off = json!({"device": device, "subsector": false});
        assert!(scenarios::resolve(&json!({"workload": scenarios::poisson(10.0), "system": off})).is_ok());
    }
    let of_code = MetadataSpec { share: Some(f64::NAN), read_bytes: 1, write_bytes: 1 };
    let fault = of_code.validate().expect_err("no share");
    assert_eq!((fault.kind, fault.location.path.to_string()), (Kind::OutOfRange, "metadata.share".to_owned()));
}
