//! Recorded runs of DiskSim 4.0, and their repetition.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;

use rayon::prelude::*;
use sledsim::scenario::Report;
use sledsim_testing::scenario_runs;

/// The row of a run in a list, by column name.
pub type Row = HashMap<String, String>;

/// Response times of single requests in the order of arrival, ms: DiskSim's, ours.
pub type Responses = Vec<(f64, f64)>;

/// A request of a recorded run; the first four fields are the recorded text.
struct Recorded {
    arrival_ms: String,
    lbn: String,
    blocks: String,
    read: String,
    /// DiskSim's response time, ms.
    response_ms: f64,
}

/// Returns the results of `replay` for the `count` runs of a list; its arguments are the run's row, the list's folder and one for traces.
pub fn loaded<C: Send>(list: &Path, count: usize, replay: impl Fn(&Row, &Path, &Path) -> C + Sync) -> Vec<C> {
    let mut reader = csv::Reader::from_path(list).expect("the list of cases can be read");
    let rows: Vec<Row> = reader.deserialize().collect::<Result<_, _>>().expect("well-formed rows");
    let folder = list.parent().expect("a file lies in a folder");
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let cases: Vec<C> = rows.par_iter().map(|row| replay(row, folder, temporary.path())).collect();
    assert_eq!(cases.len(), count, "cases in {}", list.display());
    cases
}

/// Repeats the run of a row with its settings (as for `sledsim run --set`) in addition to those of all runs. Returns
/// the report and the response times of both simulators.
pub fn repeated(row: &Row, folder: &Path, temporary: &Path, settings: Vec<String>) -> (Report, Responses) {
    let requests = recorded(&folder.join(format!("{}.csv.gz", row["id"])));
    let trace = temporary.join(format!("{}.trace", row["id"]));
    write_trace(&requests, &trace);
    let mut all = vec![
        format!("workload.path={:?}", trace.display().to_string()),
        "workload.format=disksim-ascii".to_owned(),
        // DiskSim includes the time before the first request, which affects the angle of the platters.
        "workload.rebase=false".to_owned(),
        format!("scheduler={}", row["scheduler"]),
    ];
    all.extend(settings);
    let output = scenario_runs::run(&all, true);
    let log = output.recorder.log().expect("a log was asked for");
    assert_eq!(log.entries.len(), requests.len(), "{}: requests completed", row["id"]);
    let mut responses_ms: Responses = requests.iter().map(|request| (request.response_ms, f64::NAN)).collect();
    for (request, service) in &log.entries {
        responses_ms[request.id as usize].1 = (service.end - request.arrival) as f64 * 1e-6;
    }
    (output.report, responses_ms)
}

/// Share of requests whose response is within `tolerance_ms` of DiskSim's.
pub fn share_within(responses_ms: &[(f64, f64)], tolerance_ms: f64) -> f64 {
    let within = responses_ms.iter().filter(|(theirs, ours)| (theirs - ours).abs() <= tolerance_ms).count();
    within as f64 / responses_ms.len() as f64
}

/// Asserts that all named deviations are within a percentage.
pub fn assert_within<'a>(deviations: impl Iterator<Item = (&'a str, f64)>, percent: f64, what: &str) {
    let mut checked = 0;
    let mut failures = Vec::new();
    for (name, deviation) in deviations {
        checked += 1;
        if deviation.abs() > percent || deviation.is_nan() {
            failures.push(format!("{name} {deviation:+.3} %"));
        }
    }
    assert!(checked > 0, "{what}: nothing to check");
    assert!(failures.is_empty(), "{what} within {percent} %: {}", failures.join(", "));
}

/// The requests of a run.
fn recorded(path: &Path) -> Vec<Recorded> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file of text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("arrival_ms,lbn,blocks,read,response_ms"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [arrival_ms, lbn, blocks, read] = [0, 1, 2, 3].map(|cell| cells[cell].to_owned());
            Recorded { arrival_ms, lbn, blocks, read, response_ms: cells[4].parse().expect("a response time") }
        })
        .collect()
}

/// The requests as a DiskSim ASCII trace.
fn write_trace(requests: &[Recorded], path: &Path) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("the temporary folder can be written"));
    for Recorded { arrival_ms, lbn, blocks, read, .. } in requests {
        writeln!(file, "{arrival_ms} 0 {lbn} {blocks} {read}").expect("the temporary folder can be written");
    }
    file.flush().expect("the temporary folder can be written");
}

/// A number of a row.
pub fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|error| panic!("{}: {column}: {error}", row["id"]))
}
