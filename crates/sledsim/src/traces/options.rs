//! Options of reading a trace.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::format::Carries;
use super::text::whole_number;
use super::{TimeUnit, TraceFormat};
use crate::fault::Fault;
use crate::request::Op;

/// Options for reading a trace. By default the format is detected and a bad record is an error.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The format; `None` detects it.
    pub format: Option<TraceFormat>,
    /// Bad records that are skipped and counted; one more is an error.
    pub skip_bad: u64,
    /// Which columns of a CSV trace hold what; `None` goes by its header. Implies [`TraceFormat::Csv`].
    pub columns: Option<ColumnMap>,
    /// Gives requests in the order of the trace, whatever their times: their order is not checked, and a CSV trace needs no
    /// column of times.
    pub ignore_times: bool,
    /// Sorts records by time, in bounded memory; those of one time keep their order.
    pub sort: bool,
    /// Bytes in a sector, for formats that count in sectors; `None` means the size that the trace or the format states.
    pub sector_bytes: Option<u32>,
    /// Which event of a blkparse trace is the arrival.
    pub blkparse_event: BlkparseEvent,
    /// Unit of the timestamps of a fio iolog version 3; `None` means microseconds, as fio writes them.
    pub fio_time_unit: Option<TimeUnit>,
    /// Gives resets of zones, which are left out and counted otherwise.
    pub resets: bool,
}

impl TraceOptions {
    /// An option that is given but has no meaning for a format.
    pub(super) fn misplaced(&self, format: TraceFormat) -> Option<&'static str> {
        let carries = format.entry().carries;
        let given = [
            ("event", Carries::Events, self.blkparse_event != BlkparseEvent::Queued),
            ("time_unit", Carries::Ticks, self.fio_time_unit.is_some()),
        ];
        given
            .into_iter()
            .find(|(_, needed, is_given)| *is_given && !carries.contains(needed))
            .map(|(option, ..)| option)
    }
}

/// Which event of a blkparse trace is the arrival of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlkparseEvent {
    /// `Q`: queued by the file system or the application, before merging.
    #[default]
    Queued,
    /// `D`: issued to the driver, after merging and scheduling.
    Dispatched,
}

impl BlkparseEvent {
    /// Its name as a key's value.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Dispatched => "dispatched",
        }
    }
}

impl FromStr for BlkparseEvent {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "queued" => Ok(Self::Queued),
            "dispatched" => Ok(Self::Dispatched),
            _ => Err(Fault::unknown_name("event", text, ["queued", "dispatched"])),
        }
    }
}

/// A column of a CSV trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRef {
    /// By its name in the header, in any case.
    Name(String),
    /// By its position, from 0.
    Index(usize),
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::Index(index) => write!(f, "{index} (from 0)"),
        }
    }
}

/// Unit of an offset or a length in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// Bytes.
    Bytes,
    /// Sectors of the trace.
    Sectors,
}

impl fmt::Display for LengthUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Sectors => "sectors",
        })
    }
}

impl FromStr for LengthUnit {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "bytes" => Ok(Self::Bytes),
            "sectors" => Ok(Self::Sectors),
            _ => Err(Fault::unknown_name("length_unit", text, ["bytes", "sectors"])),
        }
    }
}

/// Which columns of a CSV trace hold what. A column that is not mapped is found by its name in the header. A unit that is
/// not given is the one that the column's name states; a trace of which it states none cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMap {
    /// Arrival.
    pub time: Option<ColumnRef>,
    /// Unit of the arrival.
    pub time_unit: Option<TimeUnit>,
    /// Device number; every request is on device 0 if there is no such column.
    pub device: Option<ColumnRef>,
    /// First byte or sector on the device.
    pub offset: Option<ColumnRef>,
    /// Unit of the offset; `None` means [`ColumnMap::length_unit`] where the column's name states none.
    pub offset_unit: Option<LengthUnit>,
    /// Length.
    pub length: Option<ColumnRef>,
    /// Unit of the length.
    pub length_unit: Option<LengthUnit>,
    /// Read or write.
    pub op: Option<ColumnRef>,
    /// Codes of reads and of writes; `None` means `R`, `W`, `read` and `write` in any case.
    pub op_codes: Option<OpCodes>,
}

impl ColumnMap {
    /// Returns true if a column is given by its name, so that the trace must have a header.
    pub(super) fn has_named_column(&self) -> bool {
        let columns = [&self.time, &self.device, &self.offset, &self.length, &self.op];
        columns.into_iter().flatten().any(|column| matches!(column, ColumnRef::Name(_)))
    }
}

/// Codes of reads and of writes in a column of operations, such as `28` and `2a` of SCSI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCodes {
    reads: Vec<String>,
    writes: Vec<String>,
}

impl OpCodes {
    /// The codes of reads, and those of writes.
    pub fn new<'a>(reads: impl IntoIterator<Item = &'a str>, writes: impl IntoIterator<Item = &'a str>) -> Self {
        let owned = |code: &str| code.trim().to_owned();
        Self { reads: reads.into_iter().map(owned).collect(), writes: writes.into_iter().map(owned).collect() }
    }

    /// The operation of a code, in any case; `1.0` is the code 1.
    pub(super) fn op(&self, cell: &[u8]) -> Option<Op> {
        let is_in = |codes: &[String]| codes.iter().any(|code| cell.eq_ignore_ascii_case(code.as_bytes()));
        if is_in(&self.reads) {
            return Some(Op::Read);
        }
        if is_in(&self.writes) {
            return Some(Op::Write);
        }
        let written_as_decimal = whole_number(cell).map(|code| code.to_string()).filter(|code| code.as_bytes() != cell);
        written_as_decimal.and_then(|code| self.op(code.as_bytes()))
    }
}

impl fmt::Display for OpCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (read) or {} (write)", self.reads.join(", "), self.writes.join(", "))
    }
}
