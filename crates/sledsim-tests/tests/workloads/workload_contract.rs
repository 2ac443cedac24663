//! Contract of all workloads, and trace replay in particular: modes, slices, devices, mapping, repetition, errors.

use std::path::PathBuf;

use serde_json::{json, Value};
use sledsim::engine::{Completion, Next, Workload};
use sledsim::request::{Op, Request};
use sledsim::scenario::RunOutput;
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim::workloads::{Fit, Replay, ReplayMode, Synthetic, SyntheticSpec, TraceSpec};
use sledsim_testing::scenarios;

const CAPACITY: u64 = 1000;
const BLOCK: u32 = 512;

/// A temporary folder with a trace.
struct Trace {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn trace(name: &str, text: &str) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    Trace { path, _folder: folder }
}

/// Returns records of (time in ms, device, block, blocks, op) as CSV.
fn csv(records: &[(u64, u32, u64, u64, char)]) -> Trace {
    let lines = records.iter().map(|&(ms, device, block, blocks, op)| {
        format!("{},{device},{},{},{op}\n", ms * 1_000_000, block * u64::from(BLOCK), blocks * u64::from(BLOCK))
    });
    trace("trace.csv", &(String::from("t_ns,device,offset_bytes,bytes,op\n") + &lines.collect::<String>()))
}

fn ten() -> Trace {
    let records: Vec<_> =
        (0..10).map(|i| (10 * i, (i % 3) as u32, 50 * i, 1 + i, if i % 4 == 0 { 'W' } else { 'R' })).collect();
    csv(&records)
}

fn replay(trace: &Trace, options: TraceSpec) -> Result<Replay, String> {
    let path = trace.path.display().to_string();
    Replay::new(TraceSpec { path, ..options }, 1, CAPACITY, BLOCK).map_err(|error| error.to_string())
}

/// Runs a workload against a server that takes `service_ns` for each request and serves any number concurrently, and
/// checks the contract.
fn drain(workload: &mut dyn Workload, service_ns: u64, most: usize) -> Result<Vec<Request>, String> {
    let mut taken: Vec<Request> = Vec::new();
    let mut under_way: Vec<(Time, Request)> = Vec::new();
    let mut now = Time::ZERO;
    while taken.len() < most {
        let next = workload.peek().map_err(|error| error.to_string())?;
        if next == Next::Busy {
            continue;
        }
        assert_eq!(workload.peek().map_err(|error| error.to_string())?, next, "`peek` changes the next request");
        let finished = under_way.first().map(|&(end, _)| end);
        match (next, finished) {
            (Next::At(time), _) if finished.is_none_or(|end| time < end) => {
                assert!(time >= now, "time decreases");
                now = time;
                let request = workload.take();
                assert_eq!((request.id, request.arrival), (taken.len() as u64, time));
                assert!(request.blocks > 0 && request.end_lbn() <= CAPACITY, "{request:?}");
                under_way.push((now + service_ns, request));
                taken.push(request);
            }
            (Next::Ended, None) => break,
            (Next::Waiting, None) => panic!("waits for a completion that never comes"),
            (_, None) => unreachable!("an arrival with nothing under way is taken"),
            (_, Some(end)) => {
                now = end;
                let (end, request) = under_way.remove(0);
                let service = Service { start: request.arrival, end, free: end, ..Service::default() };
                workload.completed(&Completion::of(request, service));
            }
        }
    }
    Ok(taken)
}

fn replayed(trace: &Trace, options: TraceSpec) -> Vec<Request> {
    drain(&mut replay(trace, options).unwrap(), 1_000_000, usize::MAX).unwrap()
}

fn arrivals_ms(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.arrival.ns() / 1_000_000).collect()
}

fn lbns(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.lbn).collect()
}

#[test]
fn synthetic_workloads_keep_the_contract() {
    let arrivals = [
        json!({"kind": "poisson", "rate_per_s": 800.0}),
        json!({"kind": "constant", "rate_per_s": 800.0}),
        json!({"kind": "renewal", "interarrival_ms": {"kind": "pareto", "mean": 1.0, "shape": 1.5}}),
        json!({"kind": "on-off", "burst_ms": 5.0, "idle_ms": 20.0, "rate_per_s": 4000.0}),
        json!({"kind": "closed", "outstanding": 7, "think_ms": {"kind": "exponential", "mean": 3.0}}),
    ];
    let locations = [
        json!({"kind": "uniform", "align_bytes": 4096}),
        json!({"kind": "sequential", "run_requests": 8.0}),
        json!({"kind": "local-walk", "scale_bytes": 10000.0}),
        json!({"kind": "zipf", "exponent": 1.1, "regions": 20, "shuffle": true}),
        json!({"kind": "hot-spots", "spots": [{"start_fraction": 0.1, "end_fraction": 0.2, "probability": 0.8}]}),
    ];
    for arrival in &arrivals {
        for location in &locations {
            let spec = json!({"arrival": arrival, "location": location, "read_fraction": 0.3,
                "size_bytes": {"kind": "exponential", "mean": 3000.0}});
            let spec: SyntheticSpec = serde_json::from_value(spec).unwrap();
            let run =
                |seed| drain(&mut Synthetic::new(&spec, seed, CAPACITY, BLOCK).unwrap(), 1_000_000, 3000).unwrap();
            let requests = run(1);
            assert_eq!(requests.len(), 3000);
            assert_eq!(requests, run(1), "the same seed gives the same requests");
            assert_ne!(requests, run(2), "another seed gives others");
        }
    }
}

#[test]
fn an_open_replay_uses_the_times_of_the_trace() {
    let requests = replayed(&ten(), TraceSpec::default());
    assert_eq!(arrivals_ms(&requests), [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    assert_eq!(lbns(&requests), (0..10).map(|i| 50 * i).collect::<Vec<_>>());
    assert!(requests.iter().enumerate().all(|(i, request)| request.blocks == 1 + i as u32));
    assert!(requests.iter().enumerate().all(|(i, request)| (request.op == Op::Write) == (i % 4 == 0)));
    assert!(requests.iter().enumerate().all(|(i, request)| request.origin == i as u32 % 3));
}

#[test]
fn a_trace_may_keep_the_time_of_its_first_record() {
    let later = trace("later.txt", "8.0 0 0 1 1\n12.0 0 8 1 1\n13.5 0 8 1 1\n");
    let kept = TraceSpec { rebase: false, ..TraceSpec::default() };
    assert_eq!(arrivals_ms(&replayed(&later, TraceSpec::default())), [0, 4, 5]);
    assert_eq!(arrivals_ms(&replayed(&later, kept.clone())), [8, 12, 13]);
    let halved = TraceSpec { time_scale: 0.5, first_record: 1, ..kept };
    assert_eq!(arrivals_ms(&replayed(&later, halved)), [6, 6]);
}

#[test]
fn times_scale() {
    for (time_scale, expected) in [(0.5, [0, 5, 10]), (2.0, [0, 20, 40]), (0.0, [0, 0, 0])] {
        let requests = replayed(&ten(), TraceSpec { time_scale, records: Some(3), ..TraceSpec::default() });
        assert_eq!(arrivals_ms(&requests), expected);
    }
}

#[test]
fn slices_by_time_and_by_count_start_at_zero() {
    let of = |options| replayed(&ten(), options);
    let by_time = of(TraceSpec { start_s: 0.025, end_s: Some(0.06), ..TraceSpec::default() });
    assert_eq!((lbns(&by_time), arrivals_ms(&by_time)), (vec![150, 200, 250], vec![0, 10, 20]));
    let by_count = of(TraceSpec { first_record: 4, records: Some(2), ..TraceSpec::default() });
    assert_eq!((lbns(&by_count), arrivals_ms(&by_count)), (vec![200, 250], vec![0, 10]));
    let both = of(TraceSpec { start_s: 0.02, first_record: 1, records: Some(2), ..TraceSpec::default() });
    assert_eq!(lbns(&both), [150, 200]);
    let device = of(TraceSpec { devices: vec![1], first_record: 1, ..TraceSpec::default() });
    assert_eq!((lbns(&device), arrivals_ms(&device)), (vec![200, 350], vec![0, 30]));
}

#[test]
fn slices_add_up_to_the_whole() {
    let whole = replayed(&ten(), TraceSpec::default());
    for cut in 1..10 {
        let head = replayed(&ten(), TraceSpec { records: Some(cut), ..TraceSpec::default() });
        let tail = replayed(&ten(), TraceSpec { first_record: cut, ..TraceSpec::default() });
        let base = whole[cut as usize].arrival.ns();
        let together: Vec<Request> = head
            .into_iter()
            .chain(tail.into_iter().map(|it| Request { id: it.id + cut, arrival: it.arrival + base, ..it }))
            .collect();
        assert_eq!(together, whole);
    }
}

#[test]
fn devices_are_selected_and_merged() {
    let of = |devices: &[u32]| replayed(&ten(), TraceSpec { devices: devices.to_vec(), ..TraceSpec::default() }).len();
    assert_eq!([of(&[]), of(&[0]), of(&[1]), of(&[2]), of(&[0, 2]), of(&[2, 1, 0])], [10, 4, 3, 3, 7, 10]);
}

#[test]
fn outstanding_limits_concurrent_requests() {
    for outstanding in [1, 2, 4, 20] {
        let options = TraceSpec { mode: ReplayMode::Outstanding, outstanding, ..TraceSpec::default() };
        let requests = replayed(&ten(), options);
        // The server takes a millisecond, so that `outstanding` requests arrive every millisecond.
        let expected: Vec<u64> = (0..10).map(|i| i / u64::from(outstanding)).collect();
        assert_eq!(arrivals_ms(&requests), expected);
    }
}

#[test]
fn a_closed_replay_uses_the_recorded_gaps() {
    let text = "R Miss 10 2 1000 5000\nW Hit 20 4 900 0\nR Miss 30 8 1000 2000\nR Hit 40 1 100 7000\n";
    let validate = trace("trace.validate", text);
    let requests = replayed(&validate, TraceSpec::default());
    assert_eq!(arrivals_ms(&requests), [0, 6, 7, 10], "gaps of 5, 0 and 2 ms after services of 1 ms");
    let doubled = replayed(&validate, TraceSpec { time_scale: 2.0, ..TraceSpec::default() });
    assert_eq!(arrivals_ms(&doubled), [0, 11, 12, 17]);
    let error = |options| replay(&validate, options).err().expect("refused");
    let open = error(TraceSpec { mode: ReplayMode::Open, ..TraceSpec::default() });
    assert!(open.ends_with(
        "trace.validate: mode = \"open\": the trace has no arrival times, which this mode needs: use mode = \"auto\" or mode = \"outstanding\""
    ), "{open}");
    let closed = replay(&ten(), TraceSpec { mode: ReplayMode::Closed, ..TraceSpec::default() });
    let closed = closed.err().expect("refused");
    assert!(closed.contains("mode = \"closed\": the trace has no gaps between requests"), "{closed}");
}

#[test]
fn closed_replay_takes_gaps_from_recorded_responses() {
    // Completions at 3, 4, 12 and 25 ms; the second arrives while the first is outstanding.
    let text = "t_ns,device,offset_bytes,bytes,op,response_ns\n0,0,0,512,R,3000000\n1000000,0,5120,512,R,3000000\n\
                9000000,0,10240,512,W,3000000\n20000000,0,15360,512,R,5000000\n";
    let recorded = trace("responses.csv", text);
    let of =
        |mode, time_scale| arrivals_ms(&replayed(&recorded, TraceSpec { mode, time_scale, ..TraceSpec::default() }));
    assert_eq!(of(ReplayMode::Auto, 1.0), [0, 1, 9, 20], "by default requests arrive at the recorded times");
    assert_eq!(of(ReplayMode::Closed, 1.0), [0, 1, 7, 16], "gaps of 0, 5 and 8 ms after services of 1 ms");
    assert_eq!(of(ReplayMode::Closed, 2.0), [0, 1, 12, 29]);
}

#[test]
fn traces_without_times_are_replayed_as_fast_as_possible() {
    let lists = trace("trace.lis", "1 1 0 0\n5 2 0 1\n9 3 0 2\n");
    assert_eq!(arrivals_ms(&replayed(&lists, TraceSpec::default())), [0, 1, 2]);
}

#[test]
fn requests_beyond_the_device_fail_wrap_or_scale() {
    let far = csv(&[(0, 0, 100, 10, 'R'), (1, 0, 2500, 10, 'R'), (2, 0, 3990, 10, 'R'), (3, 0, 995, 10, 'R')]);
    let of = |fit| drain(&mut replay(&far, TraceSpec { fit, ..TraceSpec::default() }).unwrap(), 1, 99);
    assert_eq!(lbns(&of(Fit::Wrap).unwrap()), [100, 500, 990, 990], "a request never crosses the end of the device");
    assert_eq!(lbns(&of(Fit::Scale).unwrap()), [25, 625, 990, 248], "4000 blocks scaled to 1000");
    let error = of(Fit::Error).unwrap_err();
    let expected = format!(
        "{}: record 2: blocks 2500 to 2509 lie beyond the device, which has 1000 blocks of 512 bytes: the \
         trace takes 1.536 MB more; replay on a larger device, or map addresses with fit = \"wrap\" or \
         fit = \"scale\"; or replay only what comes before, with records = 1",
        far.path.display()
    );
    assert_eq!(error, expected);
    for fit in [Fit::Error, Fit::Wrap, Fit::Scale] {
        let giant = csv(&[(0, 0, 0, 1, 'R'), (1, 0, 0, 1001, 'R')]);
        let workload = replay(&giant, TraceSpec { fit, ..TraceSpec::default() });
        let error = drain(&mut workload.unwrap(), 1, 99).unwrap_err();
        assert!(error.contains("record 2: blocks 0 to 1000 lie beyond the device"), "{error}");
    }
}

/// Records larger than the largest request, and at the end of the range of offsets.
#[test]
fn numbers_at_the_end_of_their_range_are_errors() {
    let error = |offset_bytes: u64, bytes: u64, capacity_blocks: u64| {
        let text = format!("t_ns,device,offset_bytes,bytes,op\n0,0,{offset_bytes},{bytes},R\n");
        let trace = trace("end.csv", &text);
        let path = trace.path.display().to_string();
        let replay = Replay::new(TraceSpec { path, ..TraceSpec::default() }, 1, capacity_blocks, BLOCK);
        drain(&mut replay.expect("a trace"), 1, 9).expect_err("a request that does not fit")
    };
    let error_of_size = error(0, 1 << 42, 1 << 40);
    assert!(
        error_of_size.ends_with("record 1: 8589934592 blocks are more than the 4294967295 of a request"),
        "{error_of_size}"
    );
    let far = error(u64::MAX - 513, 512, CAPACITY);
    assert!(far.contains("lie beyond the device") && far.contains("the trace takes 18446744"), "{far}");
}

/// The search for the end of a long trace checks for interruptions.
#[test]
fn a_search_for_the_end_of_a_trace_can_be_interrupted() {
    let records: Vec<_> = (0..60_000).map(|i| (i, (i % 3) as u32, 990 + i, 1, 'R')).collect();
    let far = csv(&records);
    let mut workload = replay(&far, TraceSpec::default()).unwrap();
    assert_eq!(drain(&mut workload, 1, 10).unwrap().len(), 10);
    let mut busy = 0;
    let error = loop {
        match workload.peek() {
            Ok(Next::Busy) => busy += 1,
            Ok(next) => panic!("{next:?}"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(busy > 10, "{busy}");
    assert!(error.contains("record 11: blocks 1000 to 1000 lie beyond the device"), "{error}");
    assert!(error.contains("the trace takes 30.715 MB more; replay on a larger device, choose one device"), "{error}");
    assert!(error.ends_with("or replay only what comes before, with records = 10"), "{error}");
}

#[test]
fn bytes_become_the_overlapping_blocks() {
    let text =
        "t_ns,device,offset_bytes,bytes,op\n0,0,0,1,R\n1,0,256,256,R\n2,0,256,257,R\n3,0,1023,2,R\n4,0,512,1024,R\n";
    let requests = replayed(&trace("bytes.csv", text), TraceSpec::default());
    let touched: Vec<(u64, u32)> = requests.iter().map(|request| (request.lbn, request.blocks)).collect();
    assert_eq!(touched, [(0, 1), (0, 1), (0, 2), (1, 2), (1, 2)]);
}

/// Sectors of 256 bytes, as in the hplajw trace: odd sectors start within a block.
#[test]
fn small_sectors_become_the_overlapping_blocks() {
    let ascii = trace("trace.ascii", "0.5 0 0 2 1\n1.5 0 1 1 1\n2.5 0 1 2 0\n3.5 0 7 3 1\n");
    let requests = replayed(&ascii, TraceSpec { sector_bytes: Some(256), ..TraceSpec::default() });
    let touched: Vec<(u64, u32)> = requests.iter().map(|request| (request.lbn, request.blocks)).collect();
    assert_eq!(touched, [(0, 1), (0, 1), (0, 2), (3, 2)]);
}

#[test]
fn repetitions_follow_at_the_mean_interarrival_time() {
    let options = |repeat, mode| TraceSpec { repeat, mode, records: Some(3), ..TraceSpec::default() };
    let requests = replayed(&ten(), options(3, ReplayMode::Open));
    assert_eq!(arrivals_ms(&requests), [0, 10, 20, 30, 40, 50, 60, 70, 80]);
    assert_eq!(lbns(&requests), [0, 50, 100].repeat(3));
    assert_eq!(replayed(&ten(), options(4, ReplayMode::Outstanding)).len(), 12);
}

#[test]
fn errors_of_traces_have_location_and_remedy() {
    let message = |trace: &Trace, options: TraceSpec| {
        let drained = replay(trace, options).and_then(|mut workload| drain(&mut workload, 1, usize::MAX));
        drained.expect_err("a bad trace")
    };
    let cases = [
        (
            "zero.csv",
            "t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n5,0,0,0,R\n",
            &["line 3", "bytes", "zero length"][..],
        ),
        ("back.csv", "t_ns,device,offset_bytes,bytes,op\n9,0,0,512,R\n5,0,0,512,R\n", &["line 2", "time"]),
        ("mixed.trace", "0 0 0 8 1\n1 0 8 8 1\n0,0,0,512,R\n", &["line 3", "mqsim"]),
        ("empty.csv", "", &["contains no records", "the file is empty"]),
        ("head.csv", "t_ns,device,offset_bytes,bytes,op\n", &["contains no requests: give the whole file"]),
        (
            "scenario.toml",
            "# A scenario\ntitle = \"none\"\n",
            &["a document by its name", "`sledsim run` takes scenarios"],
        ),
        ("prose.txt", "It was a dark and stormy night.\n", &["no known trace format", "format"]),
    ];
    for (name, text, parts) in cases {
        let error = message(&trace(name, text), TraceSpec::default());
        assert!(error.contains(name), "{error}");
        for part in parts {
            assert!(error.contains(part), "{name}: {part}: {error}");
        }
    }
    let none = message(&ten(), TraceSpec { devices: vec![9], ..TraceSpec::default() });
    assert!(
        none.ends_with("no record of the trace is selected: check devices, start_s, end_s, first_record"),
        "{none}"
    );
    let missing = Replay::new(TraceSpec { path: "no/such.trace".into(), ..TraceSpec::default() }, 1, 9, BLOCK);
    let missing = missing.err().expect("no such file").to_string();
    assert!(missing.contains("no/such.trace") && missing.contains("cannot open"), "{missing}");
}

/// Times beyond the range of the clock are errors and do not wrap.
#[test]
fn times_beyond_the_clock_are_errors() {
    let error = |trace: &Trace, options: TraceSpec| {
        drain(&mut replay(trace, options).unwrap(), 1_000_000, usize::MAX).expect_err("too long")
    };
    let long = trace("long.csv", &format!("t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n{},0,0,512,R\n", u64::MAX));
    let scaled = TraceSpec { time_scale: 1e9, ..TraceSpec::default() };
    for (trace, options) in [
        (&long, TraceSpec::default()),
        (&long, scaled.clone()),
        (&long, TraceSpec { repeat: 3, time_scale: 0.45, ..TraceSpec::default() }),
        (&trace("gap.validate", "R Miss 1 1 10 9000000000000000\nR Miss 1 1 10 10\nR Miss 1 1 10 10\n"), scaled),
    ] {
        let error = error(trace, options);
        assert!(error.contains("record ") && error.contains("years: lower time_scale or repeat"), "{error}");
    }
}

fn scenario_run(trace: &Trace, slice: Value) -> RunOutput {
    let mut workload = json!({"kind": "trace", "path": trace.path});
    workload.as_object_mut().unwrap().extend(slice.as_object().unwrap().clone());
    let device = json!({"name": "g2", "inactive_after_ms": 5.0});
    scenarios::run(&scenarios::resolved(&json!({"workload": workload, "system": {"device": device}})))
}

/// If the trace is split while the device is stopped, two slices serve every request as a whole replay does.
#[test]
fn a_replay_in_two_slices_equals_the_whole() {
    let records: Vec<_> =
        (0..40).map(|i| (3 * i + if i >= 25 { 500 } else { 0 }, 0, 8191 * i % 99_991, 8, 'R')).collect();
    let trace = csv(&records);
    let whole = scenario_run(&trace, json!({}));
    let parts = [scenario_run(&trace, json!({"records": 25})), scenario_run(&trace, json!({"first_record": 25}))];
    let times = |output: &RunOutput| -> Vec<(u64, u32, Service)> {
        let entries = &output.recorder.log().expect("a log").entries;
        let rebased = |request: &Request, service: &Service| {
            let from = request.arrival.ns();
            let at = |time: Time| Time::from_ns(time.ns() - from);
            Service { start: at(service.start), end: at(service.end), free: at(service.free), ..*service }
        };
        entries.iter().map(|(request, service)| (request.lbn, request.blocks, rebased(request, service))).collect()
    };
    assert_eq!([times(&parts[0]), times(&parts[1])].concat(), times(&whole));
    let startups = |output: &RunOutput| output.report.energy.as_ref().expect("known powers").startups;
    assert_eq!(startups(&whole), parts.iter().map(startups).sum::<u64>());
}
