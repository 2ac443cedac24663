//! Requests of recorded runs of DiskSim 4.0.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;

/// A request of a recorded run: the first four as they were written.
pub struct Recorded {
    arrival_ms: String,
    lbn: String,
    blocks: String,
    read: String,
    /// DiskSim's response time, ms.
    pub response_ms: f64,
}

/// The rows of a list of runs, by the names of the columns.
pub fn rows(list: &Path) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(list).expect("the list of cases can be read");
    reader.deserialize().collect::<Result<_, _>>().expect("well-formed rows")
}

/// The requests of a run.
pub fn recorded(path: &Path) -> Vec<Recorded> {
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
pub fn write_trace(requests: &[Recorded], path: &Path) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("the temporary folder can be written"));
    for Recorded { arrival_ms, lbn, blocks, read, .. } in requests {
        writeln!(file, "{arrival_ms} 0 {lbn} {blocks} {read}").expect("the temporary folder can be written");
    }
    file.flush().expect("the temporary folder can be written");
}

/// A number of a row.
pub fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|error| panic!("{}: {column}: {error}", row["id"]))
}
