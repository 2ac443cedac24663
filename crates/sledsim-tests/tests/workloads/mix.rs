//! Mixes of synthetic workloads, aligned regions and synchronous requests.

use std::collections::VecDeque;

use serde_json::{json, Value};
use sledsim::engine::Completion;
use sledsim::request::{Flags, Request};
use sledsim::scenario;
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim::workloads::WorkloadSpec;
use sledsim::workloads::{Mix, MixSpec, Next, Synthetic, SyntheticSpec, Workload};
use sledsim_testing::scenarios;

const CAPACITY: u64 = 100_003;
const BLOCK: u32 = 512;
const SERVICE_NS: u64 = 700_000;

fn spec(streams: Value) -> MixSpec {
    serde_json::from_value(json!({ "streams": streams })).expect("a mix")
}

fn mix(spec: &MixSpec, seed: u64) -> Mix {
    Mix::new(spec, seed, CAPACITY, BLOCK).expect("the mix fits the device")
}

/// Three open streams on parts of the device.
fn open_streams() -> Value {
    json!([
        {"arrival": {"kind": "poisson", "rate_per_s": 300.0}, "range": {"end_fraction": 0.25}, "read_fraction": 1.0},
        {"arrival": {"kind": "on-off", "burst_ms": 5.0, "idle_ms": 20.0, "rate_per_s": 1000.0},
         "range": {"start_fraction": 0.25, "end_fraction": 0.5}, "read_fraction": 0.0, "synchronous_fraction": 0.3},
        {"arrival": {"kind": "constant", "rate_per_s": 100.0}, "range": {"start_fraction": 0.5},
         "location": {"kind": "sequential"}},
    ])
}

/// Runs a workload against a server that takes [`SERVICE_NS`] for each request and serves any number concurrently.
fn drain(workload: &mut dyn Workload, count: usize) -> Vec<Request> {
    let mut taken: Vec<Request> = Vec::new();
    let mut under_way: VecDeque<(Time, Request)> = VecDeque::new();
    let mut now = Time::ZERO;
    while taken.len() < count {
        let next = workload.peek().expect("a generator can't fail");
        let finished = under_way.front().map(|&(end, _)| end);
        match next {
            Next::At(time) if finished.is_none_or(|end| time < end) => {
                assert!(time >= now, "time decreases");
                now = time;
                let request = workload.take();
                assert_eq!((request.id, request.arrival), (taken.len() as u64, time));
                assert!(request.blocks > 0 && request.end_lbn() <= CAPACITY, "{request:?}");
                under_way.push_back((now + SERVICE_NS, request));
                taken.push(request);
            }
            Next::At(_) | Next::Waiting => {
                let (end, request) = under_way.pop_front().expect("a request is outstanding");
                now = end;
                let service = Service { start: request.arrival, end, free: end, ..Service::default() };
                workload.completed(&Completion::of(request, service));
            }
            Next::Busy | Next::Ended => panic!("a mix always knows, and doesn't end"),
        }
    }
    taken
}

/// Returns the requests of one stream with all ids set to 0.
fn of_stream(requests: &[Request], origin: u32) -> Vec<Request> {
    let own = requests.iter().filter(|request| request.origin == origin);
    own.map(|request| Request { id: 0, ..*request }).collect()
}

#[test]
fn a_mix_merges_its_streams_by_arrival() {
    let all = spec(open_streams());
    let requests = drain(&mut mix(&all, 1), 20_000);
    assert_eq!(requests, drain(&mut mix(&all, 1), 20_000), "the same seed gives the same requests");
    assert_ne!(requests, drain(&mut mix(&all, 2), 20_000), "another seed gives others");
    // Rates of 300, 200 and 100/s on average; the on-off stream varies most: index of dispersion
    // 1 + 2 * 1000/s * 5 ms * (20 / 25)^2 = 7.4, over 33 s a standard deviation of 3.3 %.
    for (origin, share, part) in [(0, 3.0 / 6.0, 0.0), (1, 2.0 / 6.0, 0.25), (2, 1.0 / 6.0, 0.5)] {
        let own = of_stream(&requests, origin);
        assert!((own.len() as f64 / 20_000.0 / share - 1.0).abs() < 0.10, "stream {origin}: {}", own.len());
        assert!(own.iter().all(|request| request.lbn as f64 >= part * CAPACITY as f64 - 1.0));
    }
    let fewer = MixSpec { streams: all.streams[..2].to_vec(), ..all.clone() };
    let without = drain(&mut mix(&fewer, 1), 10_000);
    for origin in [0, 1] {
        let (whole, part) = (of_stream(&requests, origin), of_stream(&without, origin));
        let count = whole.len().min(part.len());
        assert_eq!(whole[..count], part[..count], "the other streams do not change");
    }
}

#[test]
fn a_footprint_has_the_same_size_on_every_system() {
    let with = |footprint_bytes: Value| -> MixSpec {
        let given = json!({"streams": open_streams(), "footprint_bytes": footprint_bytes});
        serde_json::from_value(given).expect("a mix")
    };
    let on = |capacity_blocks: u64, block_bytes: u32, spec: &MixSpec| {
        Mix::new(spec, 1, capacity_blocks, block_bytes).map_err(|fault| fault.to_string())
    };
    let requests =
        |capacity_blocks: u64, spec: &MixSpec| drain(&mut on(capacity_blocks, BLOCK, spec).expect("it fits"), 5000);
    // A partial block is dropped.
    let footprint = with(json!(40_000 * 512 + 511));
    let whole = requests(40_000, &with(Value::Null));
    assert_eq!([40_000, CAPACITY].map(|blocks| requests(blocks, &footprint)), [whole.clone(), whole.clone()]);
    assert!(whole.iter().map(Request::end_lbn).max() > Some(20_000));
    assert_ne!(requests(CAPACITY, &with(Value::Null)), whole, "without a footprint they are fractions of the system");
    let refused = |capacity_blocks, block_bytes| on(capacity_blocks, block_bytes, &footprint).expect_err("too small");
    let larger = ": the system has 20479488 B; give as much or less";
    assert_eq!(refused(39_999, 512), format!("footprint_bytes = 20480511{larger}"));
    assert_eq!(refused(40_000, 1 << 25), "footprint_bytes = 20480511: less than a block of 33554432 B");
    let none = with(json!(0)).validate().expect_err("none").to_string();
    assert_eq!(none, "footprint_bytes = 0 is out of range: expected a whole number of at least 1");
}

#[test]
fn the_tpcc_database_has_the_same_size_on_every_device() {
    let resolved = scenarios::resolved(&json!({"workload": "tpcc-like", "system": {"device": "g2"}}));
    let WorkloadSpec::Mix(tpcc) = &resolved.workload else { panic!("tpcc-like has streams") };
    let requests = |blocks: u64| -> Vec<Request> {
        let mut running = Mix::new(tpcc, 1, blocks, BLOCK).expect("it fits");
        (0..20_000).map(|_| running.take()).collect()
    };
    // An Atlas 10K, a disk a tenth larger than the database, and a disk of 100 GB.
    let [atlas, small, large] = [17_938_986, 2_170_000, 200_000_000].map(requests);
    assert_eq!(small, atlas);
    assert_eq!(large, atlas);
    let end = atlas.iter().map(Request::end_lbn).max().expect("requests");
    assert!((0.1099..=0.11).contains(&(end as f64 / 17_938_986.0)), "{end}");
    let less = Mix::new(tpcc, 1, 1_900_000, BLOCK).expect_err("too small").to_string();
    assert_eq!(less, "footprint_bytes = 1010323456: the system has 972800000 B; give as much or less");
}

#[test]
fn think_times_start_at_completions_of_the_same_stream() {
    let all = spec(json!([
        {"arrival": {"kind": "poisson", "rate_per_s": 3000.0}},
        {"arrival": {"kind": "closed", "outstanding": 1, "think_ms": {"kind": "fixed", "value": 1.0}}},
        {"arrival": {"kind": "closed", "outstanding": 2}},
    ]));
    let mut running = mix(&all, 3);
    assert!(!running.is_open());
    let requests = drain(&mut running, 20_000);
    let arrivals_ns: Vec<u64> = of_stream(&requests, 1).iter().map(|request| request.arrival.ns()).collect();
    assert!(arrivals_ns.len() > 1000);
    let period_ns = SERVICE_NS + 1_000_000;
    assert!(arrivals_ns.iter().enumerate().all(|(k, &at_ns)| at_ns == k as u64 * period_ns));
    let pairs: Vec<u64> = of_stream(&requests, 2).iter().map(|request| request.arrival.ns()).collect();
    assert!(pairs.iter().enumerate().all(|(k, &at_ns)| at_ns == (k / 2) as u64 * SERVICE_NS));
    // If all streams are closed, all users may be waiting at once.
    let mut users = mix(&spec(json!([{"arrival": {"kind": "closed", "outstanding": 1}}])), 3);
    users.take();
    assert_eq!(users.peek().expect("a generator can't fail"), Next::Waiting);
}

#[test]
fn time_scales_of_mix_and_stream_multiply() {
    let mut slow = spec(open_streams());
    let plain = drain(&mut mix(&slow, 1), 3000);
    slow.time_scale = 3.0;
    slow.streams.iter_mut().for_each(|stream| stream.time_scale = 2.0);
    let scaled = drain(&mut mix(&slow, 1), 3000);
    for (one, six) in plain.iter().zip(&scaled) {
        // Each arrival is rounded down to a nanosecond.
        assert!(six.arrival.ns().abs_diff(6 * one.arrival.ns()) <= 6, "{one:?} {six:?}");
        assert_eq!((one.origin, one.lbn), (six.origin, six.lbn));
    }
}

#[test]
fn invalid_mixes_are_rejected() {
    let poisson = json!({"arrival": {"kind": "poisson", "rate_per_s": 1.0}});
    let refusal = |streams: Value| {
        let document = json!({"workload": {"streams": streams}, "system": {"device": "g2"}});
        scenarios::resolve(&document).expect_err("no mix")
    };
    assert!(refusal(json!([])).contains("workload.streams"), "{}", refusal(json!([])));
    let named = json!([poisson, {"arrival": {"kind": "poisson", "rate_per_s": 1.0}, "name": "snake-like"}]);
    let message = "workload.streams.1.name = \"snake-like\": only the whole mix may have a name; remove this one";
    assert!(refusal(named.clone()).contains(message), "{}", refusal(named));
    let late = json!([poisson, poisson, {"arrival": {"kind": "poisson", "rate_per_s": -1.0}}]);
    assert!(refusal(late).contains("workload.streams.2.arrival.rate_per_s = -1"));
    let crossed = json!([{"arrival": {"kind": "closed", "outstanding": 1}, "range": {"start_fraction": 0.9, "end_fraction": 0.1}}]);
    assert!(refusal(crossed)
        .contains("workload.streams.0.range.end_fraction = 0.1 is out of range: expected a number above 0.9"));
    let misspelt = json!([{"arrivals": {}}]);
    assert!(refusal(misspelt).contains("unknown key workload.streams.0.arrivals: did you mean \"arrival\"?"));
    let fast = serde_json::from_value(
        json!({"time_scale": 1e6, "streams": [{"arrival": {"kind": "poisson", "rate_per_s": 1.0},
        "time_scale": 1e6}]}),
    );
    let fast: MixSpec = fast.expect("well-formed");
    assert!(fast.validate().expect_err("too slow").to_string().starts_with("streams.0.time_scale = "));
    let sliver = spec(json!([{"arrival": {"kind": "poisson", "rate_per_s": 1.0}, "range": {"end_fraction": 1e-9}}]));
    assert!(Mix::new(&sliver, 1, CAPACITY, BLOCK).expect_err("no block").to_string().starts_with("streams.0.range"));
}

#[test]
fn a_resolved_mix_gives_the_same_run() {
    let document = json!({"workload": {"streams": open_streams(), "time_scale": 2.0}, "system": {"device": "g2"}});
    let resolved = scenarios::resolved(&document);
    let WorkloadSpec::Mix(mix) = &resolved.workload else { panic!("streams make a mix") };
    assert_eq!((mix.streams.len(), mix.time_scale, resolved.workload.stand_in()), (3, 2.0, None));
    assert_eq!(resolved.run.requests, Some(100_000), "no limit in the scenario");
    assert_eq!(scenarios::resolved(&serde_json::to_value(&resolved).expect("plain data")), resolved);
    let setting = json!({"workload": {"name": "cello-like", "time_scale": 0.5}, "system": {"device": "atlas10k"},
        "run": {"requests": 1000}});
    let changed = scenarios::resolved(&setting);
    let WorkloadSpec::Mix(cello) = &changed.workload else { panic!("cello-like has streams") };
    assert_eq!((cello.name.as_deref(), cello.time_scale, cello.streams.len()), (Some("cello-like"), 0.5, 4));
    let first = json!({"workload": {"name": "cello-like", "streams": {"0": {"read_fraction": 0.5}}},
        "system": {"device": "atlas10k"}});
    let WorkloadSpec::Mix(other) = scenarios::resolved(&first).workload else { panic!("cello-like has streams") };
    assert_eq!(other.streams[0].read_fraction, 0.5);
    assert_eq!(other.streams[1..], cello.streams[1..]);
    let output = scenario::run(&changed, Vec::new(), true, &mut |_| true).expect("a run");
    assert_eq!((output.report.stand_in.as_deref(), output.report.run.complete), (Some("cello-like"), true));
    let unknown = json!({"workload": {"name": "cello-like", "read_fraction": 0.5}, "system": {"device": "atlas10k"}});
    assert!(scenarios::resolve(&unknown).expect_err("no such key").contains("unknown key workload.read_fraction"));
}

fn synthetic(spec: Value) -> Vec<Request> {
    let spec: SyntheticSpec = serde_json::from_value(spec).expect("a workload");
    drain(&mut Synthetic::new(&spec, 7, CAPACITY, BLOCK).expect("the workload fits the device"), 20_000)
}

#[test]
fn aligned_regions_and_spots_are_rounded_down() {
    let spots = json!([{"start_fraction": 0.1, "end_fraction": 0.2, "probability": 0.8}]);
    let kinds = [
        json!({"kind": "zipf", "exponent": 1.0, "regions": 500, "shuffle": true}),
        json!({"kind": "hot-spots", "spots": spots}),
    ];
    for location in kinds {
        let requests = |location: &Value| {
            let range = json!({"start_fraction": 0.333, "end_fraction": 0.777});
            synthetic(json!({"arrival": {"kind": "poisson", "rate_per_s": 100.0}, "location": location, "range": range,
                "size_bytes": {"kind": "uniform", "min": 512, "max": 65536}}))
        };
        let mut aligned = location.clone();
        aligned["align_bytes"] = json!(8192);
        let (first, end) = ((0.333 * CAPACITY as f64) as u64, (0.777 * CAPACITY as f64) as u64);
        let first_slot = first.next_multiple_of(16);
        for (plain, aligned) in requests(&location).iter().zip(requests(&aligned)) {
            assert_eq!(aligned.lbn, (plain.lbn / 16 * 16).max(first_slot));
            assert!(aligned.lbn >= first && aligned.end_lbn() <= end);
        }
        aligned["align_bytes"] = json!(1000);
        let spec = json!({"arrival": {"kind": "poisson", "rate_per_s": 1.0}, "location": aligned});
        let spec: SyntheticSpec = serde_json::from_value(spec).expect("well-formed");
        let error = Synthetic::new(&spec, 1, CAPACITY, BLOCK).expect_err("no multiple of a block").to_string();
        assert!(error.contains("align_bytes = 1000: must be a multiple of the block size"), "{error}");
    }
}

#[test]
fn the_synchronous_share_changes_nothing_else() {
    let requests = |fraction: f64| {
        synthetic(json!({"arrival": {"kind": "poisson", "rate_per_s": 100.0}, "synchronous_fraction": fraction,
            "metadata": {"share": 0.5}}))
    };
    let (plain, some) = (requests(0.0), requests(0.3));
    let waited = |all: &[Request]| all.iter().filter(|request| request.flags.contains(Flags::SYNCHRONOUS)).count();
    // Four standard deviations of 20,000 draws: 4 * sqrt(20,000 * 0.3 * 0.7) = 259.
    assert!(waited(&some).abs_diff(6000) <= 259, "{}", waited(&some));
    assert_eq!((waited(&plain), waited(&requests(1.0))), (0, 20_000));
    for (without, with) in plain.iter().zip(&some) {
        assert_eq!(*without, Request { flags: with.flags.without(Flags::SYNCHRONOUS), ..*with });
    }
}
