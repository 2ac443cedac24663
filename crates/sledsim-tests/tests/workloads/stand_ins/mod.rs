//! Stand-ins of the catalogue have the published statistics listed in their files.
//!
//! `cargo test --test workloads stand_ins -- --nocapture` prints the statistics of each.

mod bench;
mod statistics;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sledsim::request::Op;
use sledsim::traces::{TraceOptions, TraceReader};
use sledsim::workloads::SyntheticSpec;
use sledsim::workloads::WorkloadSpec;
use sledsim_testing::reference;
use sledsim_testing::scenarios;
use toml::Value;

use bench::Bench;
use statistics::{arrival_statistics, statistic};

/// Relative tolerance of matched statistics: sampling error, and published figures of one or two digits.
const TOLERANCE: f64 = 0.10;

/// Returns names and files of the stand-ins.
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

fn number(value: &Value) -> f64 {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).expect("a number")
}

/// Returns true if a figure agrees with the published figure or range.
fn agrees(ours: f64, published: &Value) -> bool {
    match published.as_array() {
        Some(range) => (number(&range[0])..=number(&range[1])).contains(&ours),
        None => (ours - number(published)).abs() <= TOLERANCE * number(published),
    }
}

#[test]
fn stand_ins_have_the_statistics_of_their_files() {
    let mut wrong = Vec::new();
    for (name, file) in stand_ins() {
        let bench = Bench::new(name.clone(), file);
        for entry in bench.file["statistics"].as_array().expect("a list of statistics") {
            let [id, reached] = ["id", "reached"].map(|key| entry[key].as_str().expect("a text"));
            let ours = statistic(&bench, id);
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
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn hplajw_has_its_published_burstiness() {
    let Some(path) = reference("traces/hplajw-1992-1week.srt") else { return };
    let mut reader = TraceReader::open(&path, &TraceOptions::default()).expect("a trace");
    let mut arrivals_s = Vec::new();
    while let Some(record) = reader.next().expect("good records") {
        arrivals_s.push(record.time.seconds());
    }
    let found = arrival_statistics(&arrivals_s);
    println!("hplajw: {found:.1?}");
    // Published with two to four digits; the start of the windows changes an index by a few per cent.
    check_published("hplajw1992", 0.05, &found, &["hottest"]);
}

#[test]
fn the_tpcc_sample_has_its_published_statistics() {
    let Some(path) = reference("traces/tpcc-7k.mqsim.trace") else { return };
    let mut reader = TraceReader::open(&path, &TraceOptions::default()).expect("a trace");
    let (mut arrivals_s, mut ends) = (Vec::new(), BTreeMap::new());
    let (mut of_8k, mut reads, mut sequential) = (0.0, 0.0, 0.0);
    while let Some(record) = reader.next().expect("good records") {
        arrivals_s.push(record.time.seconds());
        of_8k += f64::from(u8::from(record.bytes == 8192));
        reads += f64::from(u8::from(record.op == Op::Read));
        let end = ends.insert(record.device, record.offset_bytes + record.bytes);
        sequential += f64::from(u8::from(end == Some(record.offset_bytes)));
    }
    let count = arrivals_s.len() as f64;
    let mut found = BTreeMap::from([("interarrival-cv", arrival_statistics(&arrivals_s)["interarrival-cv"])]);
    found.extend([("size-8k", of_8k / count), ("sample-reads", reads / count), ("sequential", sequential / count)]);
    println!("sample of TPC-C: {found:.4?}");
    // Published with two or three digits.
    check_published("tavakkol2018", 0.005, &found, &[]);
}

/// Checks the statistics with the given source except those in `but`. Asserts that every measured statistic is used.
fn check_published(source: &str, tolerance: f64, found: &BTreeMap<&str, f64>, but: &[&str]) {
    let mut unused: BTreeSet<&str> = found.keys().copied().collect();
    for (name, file) in stand_ins() {
        for entry in file["statistics"].as_array().expect("a list of statistics") {
            let id = entry["id"].as_str().expect("a text");
            if entry["source"].as_str() != Some(source) || but.contains(&id) {
                continue;
            }
            let (ours, published) = (found[id], number(&entry["published"]));
            assert!((ours / published - 1.0).abs() <= tolerance, "{name}: {id}: {ours}, not {published}");
            unused.remove(id);
        }
    }
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn a_stand_in_is_selected_by_name_and_can_be_modified() {
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
    // The resolved scenario gives the same scenario; a key set to null stays absent.
    let explicit = serde_json::to_value(&scenario).expect("plain data");
    assert_eq!(scenarios::resolved(&explicit), scenario);
    let (without, scenario) = spec_of(json!({"name": "snake-like", "metadata": null}));
    assert_eq!(without.metadata, None);
    assert_eq!(scenarios::resolved(&serde_json::to_value(&scenario).expect("plain data")), scenario);
    // A run with its own limit does not get that of the stand-in.
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
        (
            whole.replace("unit = \"B\"", "unit = \"KB\""),
            "values.size_bytes.unit = \"KB\" is not known: did you mean \"B\"?",
        ),
        (whole.replace("requests = 50", "requests = 0"), "requests = 0 is out of range: expected a whole number"),
        (whole.replace("[values]", "[value]"), "unknown key value: did you mean \"values\"?"),
        (
            whole.replace("size_bytes", "size_byte"),
            "line 4: unknown key values.size_byte: did you mean \"size_bytes\"?",
        ),
        (whole.replace("arrival", "arrivals"), "unknown key values.arrivals"),
        ("requests = 50\n[values]\nread_fraction = 0.5\n".to_owned(), "values.arrival is missing"),
    ];
    for (text, message) in wrong {
        let error = resolve(&text).expect_err(message);
        assert!(error.contains(message), "{error}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let unknown = json!({"workload": "snake-lik", "system": {"device": "g2"}});
    let error = scenarios::resolve(&unknown).expect_err("no such workload");
    let message = "workload.name = \"snake-lik\" is not known: did you mean \"snake-like\"?";
    assert!(error.contains(message), "{error}");
}
