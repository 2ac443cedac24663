//! What a user may say about a trace.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::format::Carries;
use super::{TimeUnit, TraceFormat};
use crate::fault::Fault;

/// How to read a trace. The default detects the format and takes every bad record for an error.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The format; `None` detects it.
    pub format: Option<TraceFormat>,
    /// Bad records to skip and count before one is an error.
    pub skip_bad: u64,
    /// Which columns of a CSV trace mean what; `None` goes by its header. Implies [`TraceFormat::Csv`].
    pub columns: Option<ColumnMap>,
    /// Bytes in a sector, for formats that count in sectors; `None` takes what the trace or the format says.
    pub sector_bytes: Option<u32>,
    /// Which event of a blkparse trace is the arrival.
    pub blkparse_event: BlkparseEvent,
    /// Unit of the timestamps of a fio iolog version 3; `None` takes milliseconds.
    pub fio_time_unit: Option<TimeUnit>,
}

impl TraceOptions {
    /// An option that is given and has no meaning in a format.
    pub(super) fn misplaced(&self, format: TraceFormat) -> Option<&'static str> {
        let carries = format.entry().carries;
        let given = [
            ("event", Carries::Events, self.blkparse_event != BlkparseEvent::Queued),
            ("time_unit", Carries::Ticks, self.fio_time_unit.is_some()),
        ];
        given.into_iter().find(|(_, own, is_given)| *is_given && !carries.contains(own)).map(|(option, ..)| option)
    }
}

/// Which event of a blkparse trace is taken for a request's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlkparseEvent {
    /// `Q`: queued by the file system or the application, before merging.
    #[default]
    Queued,
    /// `D`: issued to the driver, after merging and scheduling.
    Dispatched,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthUnit {
    /// Bytes.
    #[default]
    Bytes,
    /// Sectors of the trace.
    Sectors,
}

/// Which columns of a CSV trace mean what. When every column is given by position, the file may lack a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    /// Arrival.
    pub time: ColumnRef,
    /// Its unit.
    pub time_unit: TimeUnit,
    /// Device number; `None` puts every request on device 0.
    pub device: Option<ColumnRef>,
    /// Where on the device the request begins.
    pub offset: ColumnRef,
    /// Its unit.
    pub offset_unit: LengthUnit,
    /// How long it is.
    pub length: ColumnRef,
    /// Its unit.
    pub length_unit: LengthUnit,
    /// Read or write.
    pub op: ColumnRef,
    /// What a read and a write look like there; `None` takes `R`, `W`, `read` and `write` in any case.
    pub op_values: Option<(String, String)>,
}
