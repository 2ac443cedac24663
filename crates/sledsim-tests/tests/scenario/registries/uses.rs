//! Additions of one file and one line each are listed, described, checked, and used by scenarios.

use std::path::{Path, PathBuf};

use serde_json::{json, Value};
use sledsim::hierarchy::cache::hit_ratio::{hit_ratios, CacheSpec};
use sledsim::hierarchy::cache::replacement;
use sledsim::request::Request;
use sledsim::scenario::{self, RunOutput};
use sledsim::schedulers;
use sledsim::traces::{TraceFormat, TraceOptions, TraceReader};
use sledsim_testing::scenarios::{resolve, resolved, run};

/// Four reads within the 0.88 ms that the first one takes, at two positions on the way to a third and back.
fn trace(folder: &Path) -> PathBuf {
    let path = folder.join("four");
    std::fs::write(&path, "0:0:512\n100:512:512\n200:1024:512\n300:0:512\n").expect("a folder to write to");
    path
}

fn document(trace: &Path, scheduler: Value) -> Value {
    json!({"workload": {"path": trace}, "system": {"device": "simpledisk-constant", "scheduler": scheduler}})
}

/// Returns the requests of a run in the order of service.
fn log(output: &RunOutput) -> Vec<Request> {
    output.recorder.log().expect("a log was asked for").entries.iter().map(|(request, _)| *request).collect()
}

/// Returns request numbers in the order of service.
fn served(document: &Value) -> Vec<u64> {
    log(&run(&resolved(document))).iter().map(|request| request.id).collect()
}

fn option<'a>(schema: &'a Value, definition: &str, name: &str) -> Option<&'a Value> {
    let options = schema["$defs"][definition]["oneOf"].as_array()?;
    options.iter().find(|option| option["properties"]["name"]["const"] == name)
}

#[test]
fn a_scheduler_of_one_file_and_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(folder.path());
    assert_eq!(served(&document(&trace, json!("fcfs"))), [0, 1, 2, 3]);
    assert_eq!(served(&document(&trace, json!("lifo"))), [0, 3, 2, 1]);
    assert_eq!(served(&document(&trace, json!({"name": "lifo", "oldest": 2}))), [0, 1, 3, 2]);

    let listed = schedulers::POLICIES.iter().find(|policy| policy.name == "lifo").expect("it is listed");
    assert_eq!((listed.title, listed.default.name()), ("LIFO", "lifo"));
    let described = option(scenario::schema(), "SchedulerSpec", "lifo").expect("it is described");
    assert_eq!(described["properties"]["oldest"]["maximum"], 100);
    let error = resolve(&document(&trace, json!({"name": "lifo", "oldest": 101}))).expect_err("too many");
    assert!(error.contains("oldest = 101"), "{error}");
    let error = resolve(&document(&trace, json!("lifoo"))).expect_err("no such policy");
    assert!(error.contains("\"lifo\""), "{error}");
}

#[test]
fn a_replacement_policy_of_one_file_and_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let hits = |policy: &str| {
        let policy = scenario::replacement(json!(policy), None, Path::new("")).expect("it is listed");
        let mut reader = TraceReader::open(&trace(folder.path()), &TraceOptions::default()).expect("a trace");
        let caches = [CacheSpec { policy, pages: 2 }];
        hit_ratios(&mut reader, Some(512), &caches, &mut |_, _| true).expect("the trace is good").caches[0].hits
    };
    assert_eq!([hits("lru"), hits("newest")], [0, 1]);
    assert!(replacement::POLICIES.iter().any(|policy| policy.name == "newest" && policy.source == "made up"));
    assert!(option(scenario::schema(), "ReplacementSpec", "newest").is_some());

    let cached = |policy: &str| {
        let child = json!({"device": "simpledisk-constant"});
        let system = json!({"kind": "ram-cache", "bytes": 1024, "line_bytes": 512, "policy": policy, "child": child});
        run(&resolved(&json!({"workload": {"path": trace(folder.path()), "time_scale": 100}, "system": system})))
            .report
            .response
            .expect("four requests")
            .mean_ms
    };
    assert!(cached("newest") < cached("lru"));
}

#[test]
fn a_trace_format_of_one_file_and_one_line() {
    let format: TraceFormat = "colons".parse().expect("it is listed");
    assert!(TraceFormat::ALL.contains(&format) && format.has_times());
    let reader = TraceReader::from_reader("it", Box::new(format.example()), &TraceOptions::default()).expect("a trace");
    assert_eq!(reader.format(), format, "detected");
    let times: Vec<u64> = reader.map(|record| record.expect("a good record").time.ns()).collect();
    assert_eq!(times, [0, 25_000]);
}

#[test]
fn a_workload_of_one_file_and_one_line() {
    let countdown =
        |from: u64| json!({"workload": {"kind": "countdown", "from": from}, "system": "simpledisk-constant"});
    let output = run(&resolved(&countdown(3)));
    let lbns: Vec<u64> = log(&output).iter().map(|request| request.lbn).collect();
    assert_eq!(lbns, [3, 2, 1, 0]);
    let error = resolve(&countdown(1001)).expect_err("too far");
    assert!(error.contains("workload.from = 1001"), "{error}");
}

#[test]
fn arrivals_and_a_location_of_one_file_and_one_line_each() {
    let document = |every_ms: f64| {
        let arrival = json!({"kind": "pairs", "every_ms": every_ms});
        let workload = json!({"arrival": arrival, "location": {"kind": "last"}});
        json!({"workload": workload, "system": "simpledisk-constant", "run": {"requests": 4}})
    };
    let output = run(&resolved(&document(2.0)));
    let asked: Vec<(u64, u64)> = log(&output).iter().map(|request| (request.arrival.ns(), request.lbn)).collect();
    let last = 6_750_000 - 8;
    assert_eq!(asked, [(2_000_000, last), (2_000_000, last), (4_000_000, last), (4_000_000, last)]);
    let error = resolve(&document(0.0)).expect_err("at once");
    assert!(error.contains("every_ms = 0"), "{error}");
    let kinds = |definition: &str| scenario::schema()["$defs"][definition]["oneOf"].to_string();
    assert!(kinds("ArrivalSpec").contains("\"pairs\"") && kinds("LocationSpec").contains("\"last\""));
}
