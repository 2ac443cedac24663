//! Errors of reading and writing traces. They name the file, the place, the field, what was found, what was expected, and a
//! remedy.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::{format, TraceFormat, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::fault::{Allowed, Fault, Kind};

/// The remedy for a file that cannot be decompressed.
const DAMAGED: &str = "; the file is damaged or incomplete: fetch it, or compress it, once more";
/// Suffixes of scenarios and other documents, which are sometimes given in place of a trace.
const DOCUMENTS: [&str; 4] = [".toml", ".yaml", ".yml", ".json"];

/// A place in the (decompressed) content of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line number of a text trace, from 1.
    Line(u64),
    /// Byte offset of the first byte of a record of a binary trace, from 0, after decompression.
    Byte(u64),
    /// Index of a record of a trace in memory, from 0.
    Record(u64),
    /// The names of the columns of a trace in memory.
    Names,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
            Self::Record(index) => write!(f, "record {index} (from 0)"),
            Self::Names => f.write_str("the names of its columns"),
        }
    }
}

/// An error of reading or writing a trace.
#[derive(Debug)]
pub enum TraceError {
    /// The file cannot be opened, read, decompressed or written.
    Io {
        /// The trace's name.
        file: String,
        /// The place of the failure.
        place: Place,
        /// The action, such as `decompress (gzip)`.
        action: String,
        /// The error of the operating system or the decompressor.
        source: io::Error,
    },
    /// An archive of files, or a compression that is not supported.
    Archive {
        /// The trace's name.
        file: String,
        /// The kind of archive with an article, and why it is not read.
        kind: String,
        /// The command that unpacks it.
        command: String,
    },
    /// No format recognises the content.
    UnknownContent(UnknownContent),
    /// A format that counts in sectors recognises the content, whose numbers could all be bytes.
    BytesOrSectors {
        /// The trace's name.
        file: String,
        /// The format.
        format: TraceFormat,
        /// The evidence for the format.
        detected_by: String,
        /// The first request, of sectors.
        first: TraceRecord,
    },
    /// A header that names two columns of one meaning.
    TwoColumns {
        /// The trace's name.
        file: String,
        /// The place of the names.
        place: Place,
        /// The meaning.
        meaning: &'static str,
        /// The columns.
        columns: [String; 2],
    },
    /// Columns of a CSV trace whose unit neither their name nor an option states.
    UnknownUnits {
        /// The trace's name.
        file: String,
        /// The place of the names.
        place: Place,
        /// The columns, at least one.
        columns: Vec<UnknownUnit>,
        /// Settings with which the first lines can be read: keys and values; empty without a good guess.
        suggestion: Vec<(&'static str, String)>,
    },
    /// Columns of a CSV trace of which it is not known what they hold, or that are not there.
    Columns {
        /// The trace's name.
        file: String,
        /// The place of the names.
        place: Place,
        /// The problem and the remedy.
        problem: String,
        /// Settings with which the first lines can be read: keys and values; empty without a good guess.
        suggestion: Vec<(&'static str, String)>,
    },
    /// A trace without any request.
    Empty(EmptyTrace),
    /// A record, or a header, that is not one of its format.
    BadRecord(Box<BadRecord>),
    /// An option that does not fit the trace or the format.
    Option {
        /// The trace's name.
        file: String,
        /// The place of the contradiction.
        place: Place,
        /// The option.
        option: &'static str,
        /// The problem and the remedy.
        problem: String,
    },
    /// A record that the target format cannot express.
    Inexpressible {
        /// The name of the trace being written.
        file: String,
        /// Which record, from 1.
        record: u64,
        /// The format being written.
        format: TraceFormat,
        /// The part that does not fit.
        problem: String,
    },
}

impl TraceError {
    /// Returns the place in the content; `None` for errors that concern no content read.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Io { place, .. } | Self::Option { place, .. } => Some(*place),
            Self::Archive { .. } | Self::UnknownContent(_) => Some(Place::Byte(0)),
            Self::Empty(empty) => Some(empty.place),
            Self::BadRecord(bad) => Some(bad.place),
            Self::TwoColumns { place, .. } | Self::UnknownUnits { place, .. } | Self::Columns { place, .. } => {
                Some(*place)
            }
            Self::BytesOrSectors { .. } => Some(Place::Line(1)),
            Self::Inexpressible { .. } => None,
        }
    }
}

impl TraceError {
    /// The same as data, as every other fault is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Io { file, place, action, source } => Fault::new(Kind::Unreadable)
                .in_file(file.as_str())
                .says(format!("cannot {action}: {source}"))
                .says(if action.starts_with("decompress") && source.kind() != io::ErrorKind::FileTooLarge {
                    DAMAGED
                } else {
                    ""
                })
                .located(*place),
            Self::Archive { file, kind, command } => Fault::new(Kind::UnknownFormat)
                .in_file(file.as_str())
                .says(format!("this is {kind}: unpack it with `{command}`, and give a file of it")),
            Self::UnknownContent(unknown) => unknown.fault(),
            Self::BytesOrSectors { file, format, detected_by, first } => {
                let sector = u64::from(DEFAULT_SECTOR_BYTES);
                let (offset, bytes) = (first.offset_bytes, first.bytes);
                let says = format!(
                    "this looks like {format}, by {detected_by}, which counts sectors of {sector} bytes; but every offset and size \
                     there is a multiple of {sector}, as bytes are. Counted in sectors the first request is of {bytes} bytes at \
                     {offset}, and counted in bytes it is of {} at {}: choose with ",
                    bytes / sector,
                    offset / sector
                );
                Fault::new(Kind::UnknownFormat)
                    .in_file(file.as_str())
                    .says(says)
                    .set("sector_bytes", sector)
                    .says(" or ")
                    .set("sector_bytes", 1)
            }
            Self::TwoColumns { file, place, meaning, columns: [one, other] } => Fault::new(Kind::Conflict)
                .in_file(file.as_str())
                .located(*place)
                .says(format!(
                    "the header names two columns of the {meaning}, {one} and {other}: say which is meant, with "
                ))
                .option("columns"),
            Self::UnknownUnits { file, place, columns, suggestion } => {
                let fault = Fault::new(Kind::Missing).in_file(file.as_str()).located(*place);
                let fault = columns.iter().enumerate().fold(fault, |fault, (index, UnknownUnit { key, column })| {
                    let units = if *key == "time_unit" { "s, ms, us, ns or filetime" } else { "bytes or sectors" };
                    let separator = if index > 0 { "; " } else { "" };
                    fault
                        .says(format!("{separator}column {column} does not name its unit: give "))
                        .option(format!("columns.{key}"))
                        .says(format!(" ({units})"))
                });
                suggested(fault, suggestion)
            }
            Self::Columns { file, place, problem, suggestion } => {
                let fault = Fault::at(Kind::Conflict, "columns").in_file(file.as_str()).located(*place);
                suggested(fault.says(format!(": {problem}")), suggestion)
            }
            Self::Empty(empty) => empty.fault(),
            Self::BadRecord(bad) => bad.fault(),
            Self::Option { file, place, option, problem } => {
                Fault::at(Kind::Conflict, *option).in_file(file.as_str()).says(format!(": {problem}")).located(*place)
            }
            Self::Inexpressible { file, record, format, problem } => {
                let says = format!("record {record} (from 1): {format} cannot express {problem}; write `csv` instead");
                Fault::new(Kind::Unsupported).in_file(file.as_str()).says(says)
            }
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault().fmt(f)
    }
}

impl std::error::Error for TraceError {}

impl From<TraceError> for Fault {
    fn from(error: TraceError) -> Self {
        error.fault()
    }
}

impl Fault {
    /// The same, at a place in the content of a trace.
    fn located(mut self, place: Place) -> Self {
        match place {
            Place::Line(line) => self.location.line = Some(line),
            Place::Byte(byte) => self.location.byte = Some(byte),
            // A fault has no number for these: its sentence names them.
            Place::Record(_) | Place::Names => {}
        }
        self
    }
}

/// A content that no format recognises.
#[derive(Debug)]
pub struct UnknownContent {
    /// The trace's name.
    pub file: String,
    /// Its first bytes, made readable.
    pub found: String,
    /// A format that some of the first lines fit.
    pub candidate: Option<TraceFormat>,
    /// The candidate, if most of the trace can be read in it.
    pub nearest: Option<Nearest>,
    /// True if the first line has several cells, as a CSV trace has.
    pub is_table: bool,
    /// Settings with which its first lines can be read as CSV: keys and values.
    pub columns: Vec<(&'static str, String)>,
}

/// The result of reading a trace that no format recognises in the format nearest to it.
#[derive(Debug)]
pub struct Nearest {
    /// The format.
    pub format: TraceFormat,
    /// Records that could be read, of those tried.
    pub good: u64,
    /// Bad records.
    pub bad: u64,
}

impl UnknownContent {
    fn fault(&self) -> Fault {
        let names: Vec<&str> = format::names().collect();
        let mut fault = Fault::new(Kind::UnknownFormat).in_file(self.file.as_str()).located(Place::Byte(0));
        fault.allowed = Some(Allowed::Names(names.iter().map(|&name| name.into()).collect()));
        if DOCUMENTS.iter().any(|ending| self.file.ends_with(ending)) {
            fault = fault.says("a document by its name, not a trace (`sledsim run` takes scenarios): ");
        }
        let fault = fault.says(format!("no known trace format begins with {}", self.found));
        let known = format!(" (known: {})", names.join(", "));
        if let Some(Nearest { format, good, bad }) = &self.nearest {
            return fault
                .says(format!("; {} of it can be read with ", counted(*good, "record")))
                .option("format")
                .says(format!(" {} and ", format.name()))
                .option("skip_bad")
                .says(format!(" {bad}{known}"));
        }
        if !self.columns.is_empty() {
            let fault = fault.says("; as a table it can be read with ");
            return with_settings(fault, &self.columns)
                .says(format!("; check that columns and units are right{known}"));
        }
        if self.is_table {
            return fault
                .says("; if it is a table, say which of its columns is which with ")
                .option("columns.time")
                .says(", ")
                .option("columns.offset")
                .says(", ")
                .option("columns.bytes")
                .says(" and ")
                .option("columns.op")
                .says(known);
        }
        fault.says(known)
    }
}

/// A trace without any request.
#[derive(Debug)]
pub struct EmptyTrace {
    /// The trace's name.
    pub file: String,
    /// The end of the content.
    pub place: Place,
    /// Bad records skipped.
    pub skipped: u64,
    /// Records that are no requests.
    pub other: u64,
    /// Their description, if the format gives one.
    pub others: Option<Others>,
}

/// Records that are no requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others {
    /// Their description, as it follows in a message after "no requests": `among its Q events, but 2 among its D events`.
    pub text: String,
    /// The option and its value with which some of them are requests.
    pub setting: Option<(&'static str, &'static str)>,
}

impl Others {
    /// Resets of zones that were left out.
    pub(super) fn resets(count: u64) -> Self {
        Self { text: format!("but {}, which need a system with zones", counted(count, "reset")), setting: None }
    }
}

impl EmptyTrace {
    fn fault(&self) -> Fault {
        let fault = Fault::new(Kind::Missing).in_file(self.file.as_str()).located(self.place);
        match self.place {
            Place::Byte(0) => return fault.says("the trace contains no records: the file is empty"),
            Place::Record(0) => return fault.says("the trace contains no records: give one that has some"),
            _ => {}
        }
        let fault = fault.says("the trace ends here and contains no requests");
        let fault = match self.skipped {
            0 => fault,
            skipped => fault.says(format!(" ({} skipped)", counted(skipped, "bad record"))),
        };
        match (&self.others, self.other) {
            (Some(Others { text, setting: Some((option, value)) }), _) => {
                fault.says(format!(" {text}: give ")).set(*option, *value)
            }
            (Some(Others { text, setting: None }), _) => fault.says(format!(" {text}")),
            (None, 0) => fault.says(": give the whole file"),
            (None, other) => fault.says(format!(", but {}, such as discards", counted(other, "other record"))),
        }
    }
}

/// Appends settings to a message, with commas between them.
fn with_settings(fault: Fault, settings: &[(&'static str, String)]) -> Fault {
    settings.iter().enumerate().fold(fault, |fault, (index, (key, value))| {
        fault.says(if index > 0 { ", " } else { "" }).set(*key, value.as_str())
    })
}

/// Appends settings that were guessed to a message.
fn suggested(fault: Fault, settings: &[(&'static str, String)]) -> Fault {
    if settings.is_empty() {
        return fault;
    }
    with_settings(fault.says("; the first lines can be read with "), settings).says(": check that this is right")
}

/// A number of things, and their name in the singular or plural.
fn counted(count: u64, name: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {name}{plural}")
}

/// The remedy for a bad record. Those with numbers were tried on the trace.
#[derive(Clone, Copy, Debug)]
pub enum Remedy {
    /// Repair the whole: where the next record begins is unknown.
    RepairTrace,
    /// Restore the header, or read it as another format.
    RestoreHeader,
    /// As this sentence says.
    Other(&'static str),
    /// Give the size of its sectors.
    NameSectors,
    /// Give another size of its sectors.
    OtherSectors {
        /// The size that was given.
        given: u32,
    },
    /// Read it as another format, in which the trace has no bad record.
    OtherFormat {
        /// The format.
        format: TraceFormat,
    },
    /// Skip the bad records.
    Skip {
        /// Number of bad records.
        bad: u64,
        /// Number of the other records.
        good: u64,
        /// True if all records of the trace were read, false if only its beginning was.
        is_complete: bool,
    },
    /// Sort the trace.
    Sort {
        /// Records that are not in order.
        misplaced: u64,
        /// Records that are.
        good: u64,
        /// Records that are bad for another reason.
        bad: u64,
        /// True if all records of the trace were read, false if only its beginning was.
        is_complete: bool,
    },
}

impl BadRecord {
    fn fault(&self) -> Fault {
        let mut fault = Fault::new(Kind::Record).in_file(self.file.as_str()).located(self.place);
        fault.location.field = Some(self.field.to_string());
        fault.value = Some(self.found.as_str().into());
        fault.allowed = Some(Allowed::Type(self.expected.to_string()));
        let fault = match self.place {
            Place::Record(_) => fault.says(format!(", in {}; ", self.place)),
            _ => fault.says(format!(", in format {}; ", self.format)),
        };
        let tried = |is_complete: bool, records: u64| {
            if is_complete {
                format!("{records}")
            } else {
                format!("the first {records}")
            }
        };
        match self.remedy {
            Remedy::RepairTrace => fault.says("where the next record begins is not known: repair the trace"),
            Remedy::RestoreHeader => fault.says("restore the header"),
            Remedy::Other(sentence) => fault.says(sentence),
            Remedy::NameSectors => fault.says("give it with ").option("sector_bytes"),
            Remedy::OtherSectors { given } => {
                fault.says("give the size that a sector of the trace has, instead of ").set("sector_bytes", given)
            }
            Remedy::OtherFormat { format } => fault.says("it can be read with ").set("format", format.name()),
            Remedy::Sort { misplaced, good, bad, is_complete } => {
                let records = tried(is_complete, misplaced + good);
                let fault =
                    fault.says(format!("{misplaced} of {records} records are out of order: give ")).set("sort", true);
                match bad {
                    0 => fault,
                    bad => fault.says(" and ").set("skip_bad", bad),
                }
            }
            Remedy::Skip { bad, good: 0, is_complete } => {
                fault.says(format!("none of {} records can be read: repair the trace", tried(is_complete, bad)))
            }
            Remedy::Skip { bad, good, is_complete } if bad > good => {
                fault.says(format!("{bad} of {} records are bad: repair the trace", tried(is_complete, bad + good)))
            }
            Remedy::Skip { bad, good, is_complete } => fault
                .says("repair it, or give ")
                .set("skip_bad", bad)
                .says(format!(", which leaves out {bad} of {} records", tried(is_complete, bad + good))),
        }
    }
}

/// A column whose unit is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownUnit {
    /// The key of the column map that gives its unit.
    pub key: &'static str,
    /// The column: its name, or what the first line has there, and its number.
    pub column: String,
}

/// A bad record or header.
#[derive(Debug)]
pub struct BadRecord {
    /// The trace's name.
    pub file: String,
    /// The place of the record.
    pub place: Place,
    /// The format it was read as.
    pub format: TraceFormat,
    /// The field that is wrong.
    pub field: Cow<'static, str>,
    /// The expected value.
    pub expected: Cow<'static, str>,
    /// The value found.
    pub found: String,
    /// The remedy.
    pub remedy: Remedy,
}

/// A bad field, without the place of its record.
#[derive(Clone, Debug)]
pub(super) struct FieldFault {
    /// The field's name.
    pub field: Cow<'static, str>,
    /// The expected value.
    pub expected: Cow<'static, str>,
    /// The value found.
    pub found: String,
    /// True if it is a number of bytes that is too large, perhaps because the size of sectors is wrong.
    pub is_beyond: bool,
    /// True if it is a time out of order.
    pub is_misplaced: bool,
}

/// The result of parsing a field; the fault is boxed because it is rare and large.
pub(super) type Parsed<T> = Result<T, Box<FieldFault>>;

impl FieldFault {
    /// A fault; `found` is shown as it is.
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            field: field.into(),
            expected: expected.into(),
            found: found.into(),
            is_beyond: false,
            is_misplaced: false,
        })
    }

    /// The same fault, of a number of bytes that is too large.
    pub fn beyond(mut self: Box<Self>) -> Box<Self> {
        self.is_beyond = true;
        self
    }

    /// The same fault, of a time out of order.
    pub fn misplaced(mut self: Box<Self>) -> Box<Self> {
        self.is_misplaced = true;
        self
    }

    /// A fault in a field of a text trace; `found` is quoted.
    pub fn text(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
        found: &[u8],
    ) -> Box<Self> {
        Self::new(field, expected, excerpt(found))
    }
}

/// The reason why a parser has no next record.
#[derive(Debug)]
pub(super) enum Failure {
    /// One record is bad; the parser stands behind it and can go on.
    Bad(Box<FieldFault>),
    /// The record at this place is bad, and where the next begins is not known.
    Lost(Place, Box<FieldFault>),
    /// The content cannot be read at all.
    Fatal(Box<TraceError>),
}

impl From<Box<TraceError>> for Failure {
    fn from(error: Box<TraceError>) -> Self {
        Self::Fatal(error)
    }
}

/// Bytes made readable: quoted, escaped, and cut after 48.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 48;
    let shown = &bytes[..bytes.len().min(LONGEST)];
    let dots = if bytes.len() > LONGEST { "…" } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}
