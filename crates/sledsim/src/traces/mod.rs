//! Block traces: streaming readers, one file per format, and format detection.
//!
//! A trace is a file or a [`Table`] in memory. Every reader of files works in constant memory, decompresses gzip, zstd, bzip2 and xz (by their magic bytes), reads the trace in a tar or ZIP archive
//! that contains one, and counts time from the first record. A malformed record is an error with file, place, field, what was found, what was expected, and a remedy.
//! Remedies with numbers are tried on the trace before they are printed. [`TraceReader`] checks for every format that time
//! does not run backwards, that every request but a flush has at least one byte, that none ends beyond 2^64 bytes, and that all
//! together have less than that.
//!
//! The formats are [`TraceFormat::ALL`]. The documentation of a format's file describes its records.
//!
//! # Detection
//!
//! A format is recognised by content, never by the file's name. Binary formats have a magic number or a version in every
//! record. For text formats, each parser is tried on the first 16 lines; the format that accepts most of them wins if it
//! accepts at least half. Of several, the one with the narrower form wins: five integers of which the last is 0 or 1 are MQSim
//! rather than DiskSim ASCII, whose times have decimals in practice; five integers between commas are Tencent. A DiskSim ASCII
//! trace of whole milliseconds must therefore be named with [`TraceOptions::format`].
//!
//! # Order
//!
//! Records are given in the order of the trace. One whose time is out of order is a bad record. Where bad records are skipped,
//! `order` finds the fewest whose removal leaves the rest in order. `TraceOptions::sort` sorts a trace in bounded memory, and
//! `TraceOptions::ignore_times` accepts any order. Formats that log requests when they complete are always sorted.
//!
//! # Adding a format
//!
//! Add a file with a parser and an `ENTRY`, and a line to the list below. Detection, error handling, information and the
//! contract tests find it from there.

mod archive;
mod column_guess;
mod error;
mod format;
mod info;
mod intern;
mod options;
mod order;
mod reader;
mod sort;
mod source;
mod table;
mod text;
mod writer;

format::formats! {
    HpSrt => hp_srt,
    Vscsi => vscsi,
    OracleGeneral => oracle_general,
    Fio => fio,
    FioLog => fio_log,
    Blkparse => blkparse,
    Blktrace => blktrace,
    DisksimValidate => disksim_validate,
    Fiu => fiu,
    Mqsim => mqsim,
    DisksimAscii => disksim_ascii,
    Arc => arc,
    Msr => msr,
    Spc => spc,
    Alibaba => alibaba,
    Tencent => tencent,
    Csv => csv,
    Keys => keys,
}

pub use error::{BadRecord, EmptyTrace, Nearest, Others, Place, Remedy, TraceError, UnknownContent, UnknownUnit};
pub use info::TraceInfo;
pub use options::{BlkparseEvent, ColumnMap, ColumnRef, LengthUnit, OpCodes, TraceOptions};
pub use reader::TraceReader;
pub(crate) use reader::{Polled, RECORDS_AT_ONCE};
pub use table::{is_in_memory, Column, Table};
pub use text::TimeUnit;
pub use writer::{convert, write, TraceWriter};

use crate::request::{Flags, Op};
use crate::time::Time;
use error::Failure;
use source::Input;

/// Bytes in a sector, unless the format or an option states another size.
pub(crate) const DEFAULT_SECTOR_BYTES: u32 = 512;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Arrival, from the first record; 0 for every record of a trace without times.
    pub time: Time,
    /// Number of the device in the trace.
    pub device: u32,
    /// First byte on that device.
    pub offset_bytes: u64,
    /// Length, at least 1 byte; 0 for a flush.
    pub bytes: u64,
    /// Read, write or flush.
    pub op: Op,
    /// Hints, if the format has any.
    pub flags: Flags,
    /// Recorded response time, from arrival to completion; the service time in closed-loop (validation) traces.
    pub response_ns: Option<u64>,
    /// Time between the completion of this request and the arrival of the next, in closed-loop traces.
    pub gap_ns: Option<u64>,
    /// The use of the buffer of the recorded drive, in closed-loop traces.
    pub outcome: Option<Outcome>,
}

/// The use of a drive's buffer for a request, as a closed-loop trace records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request was in the buffer. Some traces have this outcome for every request.
    Hit,
    /// The request was not in the buffer.
    Miss,
    /// `Doub`, in the trace of the HP C2247A, for writes.
    Doub,
    /// `Trip`, in the trace of the HP C2247A, for writes.
    Trip,
}

impl Outcome {
    /// Every outcome in published traces.
    pub const ALL: [Self; 4] = [Self::Hit, Self::Miss, Self::Doub, Self::Trip];

    /// The word that stands for it in a trace.
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
    /// A record without flags and closed-loop times. `time_ns` is the time in the trace, not yet counted from the first record.
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

    /// A flush of the whole device.
    const fn flush(time_ns: u64, device: u32) -> Self {
        Self::new(time_ns, device, 0, 0, Op::Flush)
    }

    /// Offset and length in sectors of [`DEFAULT_SECTOR_BYTES`].
    const fn in_sectors(&self) -> (u64, u64) {
        let sector = DEFAULT_SECTOR_BYTES as u64;
        (self.offset_bytes / sector, self.bytes / sector)
    }
}

/// One parsed step of a trace.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A request.
    Request(TraceRecord),
    /// A flush and the request that follows it, from one record.
    FlushAnd(TraceRecord),
    /// An empty line.
    Blank,
    /// A well-formed record of something else: a discard, another event, a header line.
    Other,
    /// A record that the trace itself marks as unreliable.
    Suspect,
}

/// Parses the content of a trace; one implementation per family of formats.
trait RecordParser: Send {
    /// Parses the next step. Returns `None` at the end of the content.
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure>;

    /// Bytes in a sector of this trace.
    fn sector_bytes(&self) -> u32;

    /// Returns true if its records have times.
    fn has_times(&self) -> bool;

    /// Returns true if its records have recorded response times.
    fn has_responses(&self) -> bool {
        false
    }

    /// The units of its times and addresses: `times in ms, addresses in sectors`. `None` if the format has only one, which its
    /// description states.
    fn units(&self) -> Option<String> {
        None
    }

    /// The records so far that are no requests, where more is known about them than their number.
    fn describe_others(&self) -> Option<Others> {
        None
    }
}
