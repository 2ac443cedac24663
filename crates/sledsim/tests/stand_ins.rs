//! Stand-ins of the catalogue: they reach the published statistics that their files say they were matched to.
//!
//! `cargo test --test stand_ins -- --nocapture` prints what each reaches.

mod common;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "common/scenarios.rs"]
mod scenarios;

use std::collections::{BTreeMap, VecDeque};

use serde_json::json;
use sledsim::metrics::recorder::Recorder;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{self, WorkloadSpec};
use sledsim::service::Service;
use sledsim::traces::{TraceOptions, TraceReader};
use sledsim::workloads::SyntheticSpec;
use toml::Value;

/// What a matched statistic may miss its published figure by: sampling error, and figures given to one or two digits.
const TOLERANCE: f64 = 0.10;

/// A disk of the time, on which queues are looked at.
const DISK: &str = "hp_c2247a";

/// Names and files of the stand-ins.
fn stand_ins() -> Vec<(String, toml::Table)> {
    let folder = scenarios::catalog_folder().join("workloads");
    let files = std::fs::read_dir(&folder).expect("the catalogue has workloads");
    let mut found: Vec<(String, toml::Table)> = files
        .map(|file| {
            let path = file.expect("a readable folder").path();
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!found.is_empty());
    found
}

/// The requests of a stand-in with seed 1, and how a disk of the time serves them.
fn run(name: &str) -> Recorder {
    let scenario = scenarios::resolved(&json!({"workload": name, "system": {"device": DISK}}));
    assert!(matches!(&scenario.workload, WorkloadSpec::Synthetic(spec) if spec.name.as_deref() == Some(name)));
    let output = scenario::run(&scenario, Vec::new(), true, &mut |_| true).expect("the stand-in fits the disk");
    assert_eq!(output.report.stand_in.as_deref(), Some(name));
    output.recorder
}

/// Standard deviation over mean.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    variance.sqrt() / mean
}

/// Variance over mean of the numbers of arrivals in successive windows.
fn dispersion(arrivals_s: &[f64], window_s: f64) -> f64 {
    let windows = (arrivals_s.last().expect("arrivals") / window_s) as usize + 1;
    let mut counts = vec![0.0; windows];
    arrivals_s.iter().for_each(|at_s| counts[(at_s / window_s) as usize] += 1.0);
    let mean = counts.iter().sum::<f64>() / windows as f64;
    counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / windows as f64 / mean
}

/// What the arrivals of any workload are like.
fn arrival_statistics(arrivals_s: &[f64]) -> BTreeMap<&'static str, f64> {
    let gaps_s: Vec<f64> = arrivals_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    BTreeMap::from([
        ("interarrival-cv", variation(&gaps_s)),
        ("dispersion-1s", dispersion(arrivals_s, 1.0)),
        ("dispersion-10s", dispersion(arrivals_s, 10.0)),
        ("dispersion-60s", dispersion(arrivals_s, 60.0)),
        ("dispersion-1h", dispersion(arrivals_s, 3600.0)),
    ])
}

/// Requests that each arrival finds, itself included, in ascending order.
fn queues(log: &[(Request, Service)]) -> Vec<usize> {
    let mut present: VecDeque<u64> = VecDeque::new();
    let mut queues: Vec<usize> = Vec::with_capacity(log.len());
    // First come, first served: the order of arrival is that of completion.
    for (request, service) in log {
        while present.front().is_some_and(|&end_ns| end_ns <= request.arrival.ns()) {
            present.pop_front();
        }
        present.push_back(service.end.ns());
        queues.push(present.len());
    }
    queues.sort_unstable();
    queues
}

/// Share of the accesses that go to the hottest hundredth of `regions` equal parts of the blocks.
fn hottest(log: &[(Request, Service)], regions: usize, blocks: u64) -> f64 {
    let mut counts = vec![0_u32; regions];
    log.iter().for_each(|(request, _)| counts[(request.lbn * regions as u64 / blocks) as usize] += 1);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    f64::from(counts[..regions / 100].iter().sum::<u32>()) / log.len() as f64
}

/// Every statistic that a file may name.
fn statistics(log: &[(Request, Service)], regions: usize, blocks: u64) -> BTreeMap<&'static str, f64> {
    let arrivals_s: Vec<f64> = log.iter().map(|(request, _)| request.arrival.seconds()).collect();
    let mut found = arrival_statistics(&arrivals_s);
    let count = log.len() as f64;
    let share = |of: &dyn Fn(&Request) -> bool| log.iter().filter(|(request, _)| of(request)).count() as f64 / count;
    let going_on = |op: Op| {
        let goes_on = |pair: &[(Request, Service)]| {
            pair[1].0.op == op && pair[0].0.op == op && pair[1].0.lbn == pair[0].0.end_lbn()
        };
        log.windows(2).filter(|pair| goes_on(pair)).count() as f64 / (share(&|request| request.op == op) * count)
    };
    let queues = queues(log);
    found.extend([
        ("requests", count),
        ("length", arrivals_s.last().expect("arrivals") / 3600.0),
        ("size", log.iter().map(|(request, _)| f64::from(request.blocks) * 0.5).sum::<f64>() / count),
        ("metadata", share(&|request| request.flags.contains(Flags::METADATA))),
        ("writes", share(&|request| request.op == Op::Write)),
        ("sequential-reads", going_on(Op::Read)),
        ("sequential-writes", going_on(Op::Write)),
        ("queue-mean", queues.iter().sum::<usize>() as f64 / count),
        ("queue-p95", queues[queues.len() * 95 / 100] as f64),
        ("queue-max", *queues.last().expect("arrivals") as f64),
        ("hottest", hottest(log, regions, blocks)),
    ]);
    found
}

fn number(value: &Value) -> f64 {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).expect("a number")
}

/// Whether a figure is what was published, one figure or a range.
fn agrees(ours: f64, published: &Value) -> bool {
    match published.as_array() {
        Some(range) => (number(&range[0])..=number(&range[1])).contains(&ours),
        None => (ours / number(published) - 1.0).abs() <= TOLERANCE,
    }
}

#[test]
fn stand_ins_reach_what_their_files_say() {
    let mut wrong = Vec::new();
    for (name, file) in stand_ins() {
        let recorder = run(&name);
        let log = &recorder.log().expect("a log was asked for").entries;
        let regions = file["values"]["location"]["value"]["regions"].as_integer().expect("regions") as usize;
        let blocks = scenario::device(&scenarios::device_spec(DISK)).expect("a disk").capacity_blocks();
        let mut found = statistics(log, regions, blocks);
        for entry in file["statistics"].as_array().expect("a list of statistics") {
            let [id, reached] = ["id", "reached"].map(|key| entry[key].as_str().expect("a text"));
            let ours = found.remove(id).unwrap_or_else(|| panic!("{name}: no statistic {id:?}"));
            println!("{name}: {id}: published {}, reached {ours:.4}", entry["published"]);
            let decimals = reached.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            if format!("{ours:.decimals$}") != reached {
                wrong.push(format!("{name}: {id}: {ours:.decimals$}, not {reached} as its file says"));
            }
            let matched = entry["matched"].as_bool().expect("true or false");
            if agrees(ours, &entry["published"]) != matched {
                wrong.push(format!("{name}: {id}: {ours} and {}: matched = {matched}", entry["published"]));
            }
            assert!(matched || entry.get("note").is_some(), "{name}: {id}: what is not matched is explained");
        }
        assert!(found.is_empty(), "{name} says nothing of {:?}", found.keys());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn hplajw_has_the_burstiness_that_is_ascribed_to_it() {
    let Some(path) = common::reference("traces/hplajw-1992-1week.srt") else { return };
    let mut reader = TraceReader::open(&path, &TraceOptions::default()).expect("a trace");
    let mut arrivals_s = Vec::new();
    while let Some(record) = reader.next().expect("good records") {
        arrivals_s.push(record.time.seconds());
    }
    let found = arrival_statistics(&arrivals_s);
    println!("hplajw: {found:.1?}");
    let ascribed = stand_ins().into_iter().flat_map(|(_, file)| {
        let list = file["statistics"].as_array().expect("a list of statistics").clone();
        list.into_iter().filter(|entry| entry["source"].as_str() == Some("hplajw1992"))
    });
    let mut checked = 0;
    for entry in ascribed {
        let id = entry["id"].as_str().expect("a text");
        if let Some(ours) = found.get(id) {
            let published = number(&entry["published"]);
            // Printed to two to four digits; where the windows begin moves an index by a few per cent.
            assert!((ours / published - 1.0).abs() < 0.05, "{id}: {ours}");
            checked += 1;
        }
    }
    assert_eq!(checked, found.len());
}

#[test]
fn a_stand_in_is_named_and_may_be_changed() {
    let spec_of = |workload: serde_json::Value| {
        let scenario = scenarios::resolved(&json!({"workload": workload, "system": {"device": "g2"}}));
        let WorkloadSpec::Synthetic(spec) = scenario.workload.clone() else { panic!("a generator") };
        (spec, scenario)
    };
    let (plain, scenario) = spec_of(json!("snake-like"));
    assert_eq!((plain.name.as_deref(), scenario.run.requests), (Some("snake-like"), Some(77_372)));
    assert_eq!(spec_of(json!({"name": "snake-like"})).0, plain);
    let (changed, _) = spec_of(json!({"name": "snake-like", "time_scale": 0.1, "continuation": {"reads": 0.5}}));
    assert_eq!(changed.time_scale, 0.1);
    assert_eq!(changed.continuation.map(|shares| (shares.reads, shares.writes)), Some((0.5, 0.1)));
    assert_eq!(SyntheticSpec { time_scale: 1.0, continuation: plain.continuation, ..changed }, plain);
    // With every key explicit it is the same again; what was taken away stays away.
    let explicit = serde_json::to_value(&scenario).expect("plain data");
    assert_eq!(scenarios::resolved(&explicit), scenario);
    let (without, scenario) = spec_of(json!({"name": "snake-like", "metadata": null}));
    assert_eq!(without.metadata, None);
    assert_eq!(scenarios::resolved(&serde_json::to_value(&scenario).expect("plain data")), scenario);
    // A run that says when it ends is not told otherwise.
    let document = json!({"workload": "snake-like", "system": {"device": "g2"}, "run": {"time_s": 10}});
    assert_eq!(scenarios::resolved(&document).run.requests, None);
    let generated = json!({"workload": {"arrival": {"kind": "poisson", "rate_per_s": 1}}, "system": {"device": "g2"}});
    assert_eq!(scenarios::resolved(&generated).workload.stand_in(), None);
}

#[test]
fn a_workload_can_come_from_a_file() {
    let folder = std::env::temp_dir().join(format!("sledsim-workloads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let resolve = |text: &str| {
        std::fs::write(folder.join("mine.toml"), text).expect("a file");
        scenarios::resolve_in(&json!({"workload": "mine.toml", "system": {"device": "g2"}}), &folder)
    };
    let whole =
        "requests = 50\n[values]\narrival = {kind = \"poisson\", rate_per_s = 5}\nsize_bytes = {value = {kind = \
                 \"fixed\", value = 512}, unit = \"B\"}\n";
    let scenario = resolve(whole).expect("a workload");
    let path = folder.join("mine.toml");
    assert_eq!((scenario.workload.stand_in(), scenario.run.requests), (path.to_str(), Some(50)));
    let bare =
        whole.replace("{value = {kind = \"fixed\", value = 512}, unit = \"B\"}", "{kind = \"fixed\", value = 512}");
    assert_eq!(resolve(&bare).expect("a workload"), scenario);
    let wrong = [
        (whole.replace("unit = \"B\"", "unit = \"KB\""), "values.size_bytes.unit = \"KB\": expected \"B\""),
        (whole.replace("requests = 50", "requests = 0"), "requests = 0: expected a whole number above 0"),
        (whole.replace("[values]", "[value]"), "there is no table [values] with the workload's parameters"),
        (whole.replace("size_bytes", "size_byte"), "unknown key workload.size_byte: did you mean \"size_bytes\"?"),
        (whole.replace("arrival", "arrivals"), "unknown key workload.arrivals"),
        ("requests = 50\n[values]\nread_fraction = 0.5\n".to_owned(), "workload.arrival is missing"),
    ];
    for (text, message) in wrong {
        let error = resolve(&text).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let unknown = json!({"workload": "snake-lik", "system": {"device": "g2"}});
    let error = scenarios::resolve(&unknown).expect_err("no such workload");
    let message = "workload.name: workload \"snake-lik\" is not in the catalogue: did you mean \"snake-like\"?";
    assert!(error.contains(message), "{error}");
}
