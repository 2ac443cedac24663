//! Block traces: streaming readers, one file per format, and one detector.
//!
//! Every reader works in constant memory, takes gzip, zstd, bzip2 and xz by their magic bytes, rebases time so that the
//! first record stands at 0, and answers a malformed record with an error that names file, place, field, finding,
//! expectation and remedy. Times must not run backwards, every request but a flush has at least one byte, none ends beyond
//! 2^64 bytes, and all together have fewer; all four are checked in one place, for every format.
//!
//! The formats are [`TraceFormat::ALL`]; what a record of each looks like its file says, and [`TraceFormat::description`].
//!
//! # Detection
//!
//! A format is recognised by content, never by the file's name. Binary formats are told by their magic or by the version
//! in every record. For a text format the first 16 lines are offered to its parser; the format that accepts most of them
//! wins if it accepts at least half. Ties go to the narrower shape: five integers of which the last is 0 or 1 are MQSim
//! rather than DiskSim ASCII, whose times have decimals in practice; five integers between commas are Tencent.
//! A DiskSim ASCII trace of whole milliseconds must therefore be named with [`TraceOptions::format`].
//!
//! # Order
//!
//! Records are given in the order of the trace, and a record whose time lies before that of the record above it is a bad
//! record, in every format: a trace out of order has to be sorted first. All of the published traces that this module is
//! tested with are in order.
//!
//! # A new format
//!
//! One file here with a parser and an `ENTRY`, and one line in the list. Detection, error handling, information and the
//! contract tests pick it up from there.

mod error;
mod format;
mod info;
mod intern;
mod options;
mod reader;
mod source;
mod text;
mod writer;

format::formats! {
    HpSrt => hp_srt,
    Vscsi => vscsi,
    Fio => fio,
    Blkparse => blkparse,
    DisksimValidate => disksim_validate,
    Mqsim => mqsim,
    DisksimAscii => disksim_ascii,
    Arc => arc,
    Msr => msr,
    Spc => spc,
    Alibaba => alibaba,
    Tencent => tencent,
    Csv => csv,
}

pub use error::{BadRecord, Place, TraceError, UnknownUnit};
pub use info::TraceInfo;
pub use options::{BlkparseEvent, ColumnMap, ColumnRef, LengthUnit, OpCodes, TraceOptions};
pub use reader::TraceReader;
pub(crate) use reader::{Look, RECORDS_AT_ONCE};
pub use text::TimeUnit;
pub use writer::{convert, write, TraceWriter};

use crate::request::{Flags, Op};
use crate::time::Time;
use error::Failure;
use source::Input;

/// Bytes in a sector, wherever a format does not say otherwise.
pub(crate) const DEFAULT_SECTOR_BYTES: u32 = 512;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Arrival, from the first record; 0 for every record of a trace without times.
    pub time: Time,
    /// The device it went to, as the trace numbers devices.
    pub device: u32,
    /// First byte on that device.
    pub offset_bytes: u64,
    /// Length, at least 1 byte; 0 of a flush.
    pub bytes: u64,
    /// Read, write or flush.
    pub op: Op,
    /// Hints, where the format has any.
    pub flags: Flags,
    /// What it took where the trace was recorded, from arrival to completion, where the trace says so: in closed-loop
    /// (validation) traces its service time.
    pub response_ns: Option<u64>,
    /// Time between the completion of this request and the arrival of the next, in closed-loop traces.
    pub gap_ns: Option<u64>,
    /// What the real drive's buffer did, in closed-loop traces.
    pub outcome: Option<Outcome>,
}

/// What the buffer of a real drive did for a request, as a closed-loop trace records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request was found in the buffer; some traces say so of every request.
    Hit,
    /// It was not.
    Miss,
    /// `Doub`, in the trace of the HP C2247A, for writes.
    Doub,
    /// `Trip`, in the trace of the HP C2247A, for writes.
    Trip,
}

impl Outcome {
    /// Every outcome that published traces contain.
    pub const ALL: [Self; 4] = [Self::Hit, Self::Miss, Self::Doub, Self::Trip];

    /// Its word in the trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hit => "Hit",
            Self::Miss => "Miss",
            Self::Doub => "Doub",
            Self::Trip => "Trip",
        }
    }
}

impl TraceRecord {
    /// A record without flags and without closed-loop times. `time_ns` is what the trace says, not yet rebased.
    const fn new(time_ns: u64, device: u32, offset_bytes: u64, bytes: u64, op: Op) -> Self {
        Self {
            time: Time::from_ns(time_ns),
            device,
            offset_bytes,
            bytes,
            op,
            flags: Flags::NONE,
            response_ns: None,
            gap_ns: None,
            outcome: None,
        }
    }

    /// A flush, which has no place.
    const fn flush(time_ns: u64, device: u32) -> Self {
        Self::new(time_ns, device, 0, 0, Op::Flush)
    }

    /// Its place and its size in sectors of [`DEFAULT_SECTOR_BYTES`].
    const fn in_sectors(&self) -> (u64, u64) {
        let sector = DEFAULT_SECTOR_BYTES as u64;
        (self.offset_bytes / sector, self.bytes / sector)
    }
}

/// What one record of a trace turned out to be.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A request.
    Request(TraceRecord),
    /// A flush, and a request that comes with it.
    FlushAnd(TraceRecord),
    /// A line without anything.
    Blank,
    /// A well-formed record of something else: a discard, another event, a header line.
    Other,
    /// A record that its own trace marks as unreliable.
    Suspect,
}

/// Turns a content into records; one implementation per family of formats.
trait RecordParser: Send {
    /// The next record, or `None` at the end of the content.
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure>;

    /// Where the record stands that [`RecordParser::next`] gave last.
    fn place(&self, input: &Input) -> Place;

    /// Bytes in a sector of this trace.
    fn sector_bytes(&self) -> u32;

    /// Whether its records carry times.
    fn has_times(&self) -> bool;

    /// Whether its records carry what requests took.
    fn has_responses(&self) -> bool {
        false
    }
}
