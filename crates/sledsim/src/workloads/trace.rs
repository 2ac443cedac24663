//! The keys of a trace replay in a scenario.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fit, LastBlock, MetadataSpec, Replay, ReplayMode, SourceSpec, Workload};
use crate::fault::{self, Fault};
use crate::traces::{
    is_in_memory, BlkparseEvent, ColumnMap, ColumnRef, LengthUnit, OpCodes, Place, Table, TimeUnit, TraceError,
    TraceFormat, TraceOptions, TraceReader,
};

/// The name of the parameters in the list of workloads.
pub type Spec = TraceSpec;

/// Replay of a block trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The trace file, plain or compressed; relative to the scenario file.
    pub path: String,
    /// Format of the trace, `auto` to detect it; `sledsim list formats` lists them.
    #[serde(default = "auto")]
    pub format: String,
    /// When requests arrive.
    #[serde(default)]
    pub mode: ReplayMode,
    /// Factor on all times between requests: 0.5 is twice as fast.
    #[serde(default = "one_f64")]
    #[schemars(range(min = 0.0, max = 1e9))]
    pub time_scale: f64,
    /// Requests outstanding in mode `outstanding`.
    #[serde(default = "one_u32")]
    #[schemars(range(min = 1, max = 1000000))]
    pub outstanding: u32,
    /// True if the first request arrives at time 0. If false, it arrives at its time in the trace, which suits traces that count
    /// time from the start of a run (mode `open`).
    #[serde(default = "yes")]
    pub rebase: bool,
    /// Skip records before this time after the first record.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub start_s: f64,
    /// Skip records from this time after the first record on.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub end_s: Option<f64>,
    /// Skip this many records of the selected devices first.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub first_record: u64,
    /// Replay at most this many records each time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub records: Option<u64>,
    /// Devices of the trace to replay, merged into one stream; all when empty.
    #[serde(default)]
    pub devices: Vec<u32>,
    /// Treatment of requests beyond the end of the device.
    #[serde(default)]
    pub fit: Fit,
    /// Number of replays.
    #[serde(default = "one_u64")]
    #[schemars(range(min = 1))]
    pub repeat: u64,
    /// Bad records that are skipped and counted; one more is an error.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub skip_bad: u64,
    /// Sort the records by time, in bounded memory; those of one time keep their order.
    #[serde(default)]
    pub sort: bool,
    /// Bytes in a sector, for formats that count in sectors; that of the trace or its format when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub sector_bytes: Option<u32>,
    /// Columns of a CSV trace: `time`, `device`, `offset`, `bytes` and `op`, each a column's name or number (from 0); one that
    /// is absent is found by its name in the header. `time_unit` (`s`, `ms`, `us`, `ns`, `filetime`), `offset_unit` and
    /// `length_unit` (`bytes`, `sectors`) are needed where a column's name does not state its unit. `read` and `write` are
    /// the codes of `op`, separated by commas, where they are not `R` and `W`.
    #[serde(default)]
    pub columns: Option<BTreeMap<String, String>>,
    /// Which event of a blkparse or blktrace trace is the arrival of a request.
    #[serde(default)]
    pub event: BlkparseEvent,
    /// Unit of the timestamps of a fio iolog, version 3; `us` when absent, as fio writes them.
    #[serde(default)]
    pub time_unit: Option<TimeUnit>,
    /// The bytes that a request needs in its last block.
    #[serde(default)]
    pub last_block: LastBlock,
    /// Metadata requests, which need only a few bytes; none when absent.
    #[serde(default)]
    pub metadata: Option<MetadataSpec>,
    /// True if resets of zones are replayed, because the system has zones at its root.
    #[serde(skip)]
    pub resets: bool,
    /// The trace itself, if it is in memory.
    #[serde(skip)]
    pub table: Option<Arc<Table>>,
}

impl TraceSpec {
    /// Opens the trace.
    ///
    /// # Errors
    /// The trace cannot be opened, or is no longer in memory.
    pub fn open(&self, options: &TraceOptions) -> Result<TraceReader, TraceError> {
        match &self.table {
            Some(table) => TraceReader::of_table(table, options),
            None if is_in_memory(&self.path) => Err(TraceError::Io {
                file: self.path.clone(),
                place: Place::Byte(0),
                action: "read".to_owned(),
                source: io::Error::other(
                    "this trace was in memory and is no longer there; keep its Trace object, or write it to a file with \
                     its method convert",
                ),
            }),
            None => TraceReader::open(self.path.as_ref(), options),
        }
    }
}

impl Default for TraceSpec {
    fn default() -> Self {
        Self {
            path: String::new(),
            format: auto(),
            mode: ReplayMode::default(),
            time_scale: 1.0,
            outstanding: 1,
            rebase: true,
            start_s: 0.0,
            end_s: None,
            first_record: 0,
            records: None,
            devices: Vec::new(),
            fit: Fit::default(),
            repeat: 1,
            skip_bad: 0,
            sort: false,
            sector_bytes: None,
            columns: None,
            event: BlkparseEvent::default(),
            time_unit: None,
            last_block: LastBlock::default(),
            metadata: None,
            resets: false,
            table: None,
        }
    }
}

const fn one_u32() -> u32 {
    1
}

const fn one_u64() -> u64 {
    1
}

const fn one_f64() -> f64 {
    1.0
}

const fn yes() -> bool {
    true
}

fn auto() -> String {
    "auto".into()
}

impl SourceSpec for TraceSpec {
    fn faults(&self) -> Vec<Fault> {
        let end_s = self.end_s.filter(|end_s| *end_s <= self.start_s);
        let ends =
            end_s.map(|end_s| Fault::conflict("end_s", end_s).says(" is not after ").key_is("start_s", self.start_s));
        options(self).err().into_iter().chain(ends).collect()
    }

    fn has_end(&self) -> bool {
        true
    }

    fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        Ok(Box::new(Replay::new(self.clone(), seed, capacity_blocks, block_bytes)?))
    }
}

/// The options for reading the trace of `spec`.
///
/// # Errors
/// An unknown format, or an invalid column map.
pub fn options(spec: &TraceSpec) -> Result<TraceOptions, Fault> {
    let format = match spec.format.as_str() {
        "auto" => None,
        name => Some(name.parse::<TraceFormat>()?),
    };
    let columns = spec.columns.as_ref().map(column_map).transpose().map_err(|fault| fault.within("columns"))?;
    Ok(TraceOptions {
        format,
        skip_bad: spec.skip_bad,
        columns,
        // As many requests as are wanted are kept outstanding, in the order of the trace.
        ignore_times: spec.mode == ReplayMode::Outstanding && spec.start_s == 0.0 && spec.end_s.is_none(),
        sort: spec.sort,
        sector_bytes: spec.sector_bytes,
        blkparse_event: spec.event,
        fio_time_unit: spec.time_unit,
        resets: spec.resets,
    })
}

/// The column map that the keys of `columns` describe.
///
/// # Errors
/// An unknown key or unit, or codes of one operation alone.
fn column_map(columns: &BTreeMap<String, String>) -> Result<ColumnMap, Fault> {
    const KEYS: [&str; 10] =
        ["time", "time_unit", "device", "offset", "bytes", "op", "offset_unit", "length_unit", "read", "write"];
    if let Some(unknown) = columns.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Fault::unknown_key(fault::Path::default().step(unknown), KEYS));
    }
    let text = |key: &str| columns.get(key).map(String::as_str);
    let column = |key: &str| {
        text(key).map(|name| name.parse().map_or_else(|_| ColumnRef::Name(name.to_owned()), ColumnRef::Index))
    };
    let length_unit = |key: &str| {
        let unit = text(key).map(str::parse::<LengthUnit>).transpose();
        unit.map_err(|fault| fault.placed(fault::Path::default().step(key)))
    };
    let op_codes = match (text("read"), text("write")) {
        (None, None) => None,
        (Some(read), Some(write)) => Some(OpCodes::new(read.split(','), write.split(','))),
        (None, Some(_)) => return Err(Fault::missing("read").says(": give the codes of both reads and writes")),
        (Some(_), None) => return Err(Fault::missing("write").says(": give the codes of both reads and writes")),
    };
    Ok(ColumnMap {
        time: column("time"),
        time_unit: text("time_unit").map(str::parse).transpose()?,
        device: column("device"),
        offset: column("offset"),
        offset_unit: length_unit("offset_unit")?,
        length: column("bytes"),
        length_unit: length_unit("length_unit")?,
        op: column("op"),
        op_codes,
    })
}
