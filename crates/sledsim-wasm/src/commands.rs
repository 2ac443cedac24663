//! Commands of a page, as JSON.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{json, Map, Value};
use sledsim::devices::Location;
use sledsim::engine::Progress;
use sledsim::request::Request;
use sledsim::scenario::{self, BuiltIn, Catalog, Draft, Keep, Report, Resolved, Subject};
use sledsim::schedulers::POLICIES;
use sledsim::time::Time;
use sledsim::traces::{Column, Table, TraceError, TraceOptions, TraceReader, TraceRecord};
use sledsim::workloads::WorkloadSpec;

use crate::playback::{system_description, NotOpened, Playback};

/// The files of the catalogue, by path.
static CATALOG: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// Points of a seek surface along each axis.
const SEEK_POINTS: u32 = 48;

/// Most requests of a run, so that a page does not stop for minutes.
const MOST_REQUESTS: u64 = 5_000_000;

/// A command.
#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    /// Version, devices, schedulers, and the schema of scenarios.
    About {},
    /// A device of the catalogue: each value with its source.
    Device { name: String },
    /// Runs a scenario and returns its report.
    Run { scenario: Value },
    /// Runs a scenario and returns each number of its report by path, such as `response.mean_ms`.
    Numbers { scenario: Value },
    /// Runs a scenario and opens a playback of it. Without a drawn motion, the answer has no number of a playback.
    Open { scenario: Value, most_requests: u64 },
    /// Closes a playback.
    Close { playback: u32 },
    /// Reads the first `most_records` of a trace, for scenarios that replay it by its path `memory:NAME`.
    Trace { name: String, text: String, most_records: usize },
    /// Positioning times of a new device from its centre to points on its medium.
    Seeks { scenario: Value },
}

/// The answer to a command.
#[derive(Debug)]
pub enum Answer {
    /// JSON.
    Done(String),
    /// A message.
    Fault(String),
}

/// The playbacks and the trace of a page.
#[derive(Default)]
pub struct Page {
    playbacks: Vec<Option<Playback>>,
    trace: Option<Arc<Table>>,
}

impl Page {
    /// Carries out a command.
    pub fn carry_out(&mut self, command: &[u8]) -> Answer {
        let done = serde_json::from_slice(command)
            .map_err(|error| format!("not a command of the page: {error}"))
            .and_then(|command| self.answer(command));
        match done {
            Ok(value) => Answer::Done(value.to_string()),
            Err(fault) => Answer::Fault(fault),
        }
    }

    /// Returns an open playback.
    pub fn playback(&mut self, number: u32) -> Option<&mut Playback> {
        self.playbacks.get_mut(number as usize)?.as_mut()
    }

    fn answer(&mut self, command: Command) -> Result<Value, String> {
        match command {
            Command::About {} => Ok(about()),
            Command::Device { name } => {
                let entry =
                    catalog().entry(Subject::Device, &name, Path::new("")).map_err(|faults| faults.to_string())?;
                Ok(entry.to_value())
            }
            Command::Run { scenario } => {
                serde_json::to_value(run(&self.resolve(scenario)?)?).map_err(|error| error.to_string())
            }
            Command::Numbers { scenario } => {
                let numbers = run(&self.resolve(scenario)?)?.numbers();
                Ok(numbers.into_iter().map(|(path, number)| (path, json!(number))).collect::<Map<_, _>>().into())
            }
            Command::Open { scenario, most_requests } => {
                let resolved = self.resolve(scenario)?;
                let playback = match Playback::new(&resolved, most_requests) {
                    Ok(playback) => playback,
                    Err(NotOpened::NotDrawn(reason)) => return system_description(&resolved, most_requests, reason),
                    Err(NotOpened::Failed(message)) => return Err(message),
                };
                let free = self.playbacks.iter().position(Option::is_none).unwrap_or_else(|| {
                    self.playbacks.push(None);
                    self.playbacks.len() - 1
                });
                let mut description = playback.description();
                description["playback"] = json!(free);
                self.playbacks[free] = Some(playback);
                Ok(description)
            }
            Command::Close { playback } => {
                if let Some(place) = self.playbacks.get_mut(playback as usize) {
                    *place = None;
                }
                Ok(Value::Null)
            }
            Command::Trace { name, text, most_records } => {
                let (table, facts) = read_trace(&name, text, most_records)?;
                self.trace = Some(Arc::new(table));
                Ok(facts)
            }
            Command::Seeks { scenario } => seeks(&self.resolve(scenario)?),
        }
    }

    /// Reads and completes a scenario, which may replay the page's trace.
    fn resolve(&self, scenario: Value) -> Result<Resolved, String> {
        let mut resolved = resolve(scenario)?;
        let named = |table: &&Arc<Table>| match &resolved.scenario().workload {
            WorkloadSpec::Trace(spec) => spec.path == table.name(),
            _ => false,
        };
        let table = self.trace.as_ref().filter(named).cloned();
        resolved.set_table(table);
        Ok(resolved)
    }
}

fn catalog() -> Catalog {
    Catalog::default().with_built_in(CATALOG)
}

/// Reads and completes a scenario.
pub(crate) fn resolve(scenario: Value) -> Result<Resolved, String> {
    Draft::new(scenario, "scenario").resolve(&catalog(), Path::new("")).map_err(|faults| faults.to_string())
}

fn about() -> Value {
    let devices: Vec<Value> = catalog()
        .names(Subject::Device)
        .into_iter()
        .filter_map(|(name, _)| {
            let entry = catalog().entry(Subject::Device, &name, Path::new("")).ok()?;
            Some(json!({"name": name, "mechanism": entry.mechanism(), "title": entry.to_value()["title"]}))
        })
        .collect();
    let schedulers: Vec<Value> = POLICIES
        .iter()
        .map(|policy| json!({"name": policy.name, "title": policy.title, "description": policy.description}))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "devices": devices,
        "schedulers": schedulers,
        "schema": scenario::schema(),
    })
}

/// Reads the first records of a trace into a table.
fn read_trace(name: &str, text: String, most_records: usize) -> Result<(Table, Value), String> {
    let shown = |error: TraceError| error.to_string();
    let mut reader =
        TraceReader::from_reader(name, Box::new(Cursor::new(text)), &TraceOptions::default()).map_err(shown)?;
    let mut records = Vec::new();
    reader.read_batch(most_records, &mut records).map_err(shown)?;
    let numbers = |of: fn(&TraceRecord) -> u64| Column::Unsigned(records.iter().map(of).collect());
    let words = ["R", "W", "F"].map(str::to_owned).to_vec();
    let codes = records.iter().map(|record| record.op as u32).collect();
    let columns = vec![
        ("t_ns".to_owned(), numbers(|record| record.time.ns())),
        ("device".to_owned(), numbers(|record| u64::from(record.device))),
        ("offset_bytes".to_owned(), numbers(|record| record.offset_bytes)),
        ("bytes".to_owned(), numbers(|record| record.bytes)),
        ("op".to_owned(), Column::Text { words, codes }),
    ];
    let facts =
        json!({"records": records.len(), "format": reader.format().name(), "detected_by": reader.detected_by()});
    let table = Table::new(format!("memory:{name}"), columns).map_err(|fault| fault.to_string())?;
    Ok((table, facts))
}

/// Returns the report of a scenario.
pub(crate) fn run(resolved: &Resolved) -> Result<Report, String> {
    let mut is_too_long = false;
    let mut keep_going = |progress: Progress| {
        is_too_long |= progress.submitted > MOST_REQUESTS;
        !is_too_long
    };
    let output = resolved.run(&Keep::default(), &mut keep_going).map_err(|error| error.to_string())?;
    if is_too_long {
        let message =
            "the page runs up to 5,000,000 requests: lower run.requests or run.time_s, or use sledsim run on the command line";
        return Err(message.to_owned());
    }
    Ok(output.report)
}

/// Returns the positioning times from the centre of the medium, in the state after a read there, to a grid of points.
fn seeks(resolved: &Resolved) -> Result<Value, String> {
    let drive = resolved.scenario().system.drive().ok_or("seek times need a system of one drive")?;
    let mut device = scenario::device(&drive.device).map_err(|fault| fault.to_string())?;
    let dimensions = device.dimensions();
    let request = Request::read(dimensions.capacity_blocks / 2, 1);
    let now = device.serve(Time::ZERO, &request).free;
    let places = |count: u64| {
        let points = u64::from(SEEK_POINTS).min(count);
        (0..points).map(move |point| point * (count - 1) / (points - 1).max(1))
    };
    // The last block of the device gives the number of the last row.
    let blocks_per_cylinder = dimensions.capacity_blocks / u64::from(dimensions.cylinders);
    let middle = u64::from(dimensions.cylinders / 2) * blocks_per_cylinder;
    let slots: Vec<Location> = match &drive.device {
        scenario::DeviceSpec::Mems(parameters) => {
            let rows = sledsim::devices::mems::Geometry::new(parameters).map_err(|fault| fault.to_string())?.rows;
            places(u64::from(rows)).map(|row| Location { cylinder: 0, slot: u32::try_from(row).unwrap_or(0) }).collect()
        }
        _ => places(blocks_per_cylinder.max(1))
            .map(|block| device.locate(&Request::read((middle + block).min(dimensions.capacity_blocks - 1), 1)))
            .collect(),
    };
    let cylinders: Vec<u32> = places(u64::from(dimensions.cylinders)).filter_map(|at| u32::try_from(at).ok()).collect();
    let rows: Vec<Vec<f64>> = slots
        .iter()
        .map(|slot| {
            let at = |cylinder: u32| device.positioning_ns(now, Location { cylinder, ..*slot }) as f64 * 1e-6;
            cylinders.iter().map(|&cylinder| at(cylinder)).collect()
        })
        .collect();
    let mechanism = drive.device.mechanism();
    Ok(
        json!({"mechanism": mechanism, "cylinders": cylinders, "cylinder": device.cylinder(now), "positioning_ms": rows}),
    )
}
