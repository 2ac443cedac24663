//! What a trace reader or writer says when it cannot go on: file, place, field, what was found, what was expected,
//! and the remedy.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::{format, TraceFormat, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::fault::{Allowed, Fault, Kind};

/// What is said of a file that can't be decompressed.
const DAMAGED: &str = "; the file is damaged, or not whole: fetch it, or compress it, once more";
/// How the names of documents end, which people take for traces.
const DOCUMENTS: [&str; 4] = [".toml", ".yaml", ".yml", ".json"];

/// A place in the (decompressed) content of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line number of a text trace, from 1.
    Line(u64),
    /// Byte offset of the first byte of a record of a binary trace, from 0, after decompression.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// Why a trace cannot be read or written.
#[derive(Debug)]
pub enum TraceError {
    /// The file cannot be opened, read, decompressed or written.
    Io {
        /// The trace's name.
        file: String,
        /// How far reading or writing came.
        place: Place,
        /// What was being done, such as `decompress (gzip)`.
        action: String,
        /// What the operating system or the decompressor said.
        source: io::Error,
    },
    /// No format recognises the content.
    UnknownContent {
        /// The trace's name.
        file: String,
        /// Where the content stood that was looked at.
        place: Place,
        /// Its first bytes, made readable.
        found: String,
    },
    /// A format that counts in sectors recognises the content, whose numbers could all be bytes.
    BytesOrSectors {
        /// The trace's name.
        file: String,
        /// The format.
        format: TraceFormat,
        /// What of the content it recognises.
        told_by: String,
        /// The first request, of sectors.
        first: TraceRecord,
    },
    /// A header that names two columns of one meaning.
    TwoColumns {
        /// The trace's name.
        file: String,
        /// The meaning.
        meaning: &'static str,
        /// The columns.
        columns: [String; 2],
    },
    /// Columns of a CSV trace whose unit neither their name nor an option states.
    UnknownUnits {
        /// The trace's name.
        file: String,
        /// The columns, at least one.
        columns: Vec<UnknownUnit>,
    },
    /// A trace without any request.
    Empty {
        /// The trace's name.
        file: String,
        /// The end of the content.
        place: Place,
        /// Bad records tolerated on the way.
        skipped: u64,
    },
    /// A record, or a header, that is not one of its format.
    BadRecord(Box<BadRecord>),
    /// An option that does not fit the trace or the format.
    Option {
        /// The trace's name.
        file: String,
        /// Where the contradiction showed.
        place: Place,
        /// The option.
        option: &'static str,
        /// What is wrong with it, and what would be right.
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
        /// What does not fit.
        problem: String,
    },
}

impl TraceError {
    /// Where in the content the error is; `None` for errors that concern no content read.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Io { place, .. }
            | Self::UnknownContent { place, .. }
            | Self::Empty { place, .. }
            | Self::Option { place, .. } => Some(*place),
            Self::BadRecord(bad) => Some(bad.place),
            Self::BytesOrSectors { .. } | Self::TwoColumns { .. } | Self::UnknownUnits { .. } => Some(Place::Line(1)),
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
                .says(if action.starts_with("decompress") { DAMAGED } else { "" })
                .located(*place),
            Self::UnknownContent { file, place, found } => {
                let names: Vec<&str> = format::names().collect();
                let mut fault = Fault::new(Kind::UnknownFormat).in_file(file.as_str()).located(*place);
                fault.allowed = Some(Allowed::Names(names.iter().map(|&name| name.into()).collect()));
                if DOCUMENTS.iter().any(|ending| file.ends_with(ending)) {
                    fault = fault.says("this is a document by its name, and scenarios are run, not replayed: ");
                }
                fault
                    .says(format!("no known trace format begins with {found}; name the format with "))
                    .option("format")
                    .says(format!(", one of: {}", names.join(", ")))
            }
            Self::BytesOrSectors { file, format, told_by, first } => {
                let sector = u64::from(DEFAULT_SECTOR_BYTES);
                let (offset, bytes) = (first.offset_bytes, first.bytes);
                let says = format!(
                    "this looks like {format}, by {told_by}, which counts sectors of {sector} bytes; but every offset and size \
                     there is a multiple of {sector}, as bytes are. The first request is of {bytes} bytes at {offset} in \
                     sectors, and of {} at {} in bytes: say which, with ",
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
            Self::TwoColumns { file, meaning, columns: [one, other] } => Fault::new(Kind::Conflict)
                .in_file(file.as_str())
                .located(Place::Line(1))
                .says(format!(
                    "the header names two columns of the {meaning}, {one} and {other}: say which is meant, with "
                ))
                .option("columns"),
            Self::UnknownUnits { file, columns } => {
                let fault = Fault::new(Kind::Missing).in_file(file.as_str()).located(Place::Line(1));
                columns.iter().enumerate().fold(fault, |fault, (index, UnknownUnit { key, column })| {
                    let units = if *key == "time_unit" { "s, ms, us, ns or filetime" } else { "bytes or sectors" };
                    let separator = if index > 0 { "; " } else { "" };
                    fault
                        .says(format!("{separator}column {column} does not name its unit: give "))
                        .option(format!("columns.{key}"))
                        .says(format!(" ({units})"))
                })
            }
            Self::Empty { file, place, skipped } => {
                let skipped = if *skipped > 0 { format!(" ({skipped} bad records skipped)") } else { String::new() };
                let fault = Fault::new(Kind::Missing).in_file(file.as_str()).located(*place);
                let fault = fault.says(format!("the trace ends here and contains no records{skipped}; "));
                match place {
                    Place::Byte(0) => fault.says("the file is empty: give one that has some"),
                    _ => fault.says("give the whole file, or name its format with ").option("format"),
                }
            }
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
            Place::Line(line) => self.line = Some(line),
            Place::Byte(byte) => self.byte = Some(byte),
        }
        self
    }
}

/// What the user can do about a record.
#[derive(Clone, Copy, Debug)]
pub enum Remedy {
    /// Repair the whole: where the next record begins is unknown.
    RepairTrace,
    /// Restore the header, or read it as another format.
    RestoreHeader,
    /// Read it as another format.
    OtherFormat,
    /// Say how large its sectors are.
    NameSectors,
    /// Say that they are of another size than was given.
    OtherSectors {
        /// What was given.
        given: u32,
    },
    /// Repair or tolerate the record.
    RepairRecord,
    /// Tolerate more than so many.
    SkipMore {
        /// How many are tolerated.
        tolerated: u64,
    },
}

impl BadRecord {
    fn fault(&self) -> Fault {
        let mut fault = Fault::new(Kind::Record).in_file(self.file.as_str()).located(self.place);
        fault.field = Some(self.field.to_string());
        fault.value = Some(self.found.as_str().into());
        fault.allowed = Some(Allowed::Type(self.expected.to_string()));
        let fault = fault.says(format!(", in format {}; ", self.format));
        match self.remedy {
            Remedy::RepairTrace => {
                fault.says("what follows cannot be told apart: repair the trace, or name another ").option("format")
            }
            Remedy::RestoreHeader => fault.says("restore the header, or name another ").option("format"),
            Remedy::OtherFormat => fault.says("name another ").option("format"),
            Remedy::NameSectors => fault.says("name it: ").option("sector_bytes"),
            Remedy::OtherSectors { given } => fault
                .says("give the size that a sector of the trace has, instead of ")
                .set("sector_bytes", given)
                .says(", repair the record, or tolerate so many such records with ")
                .option("skip_bad"),
            Remedy::RepairRecord => fault
                .says("repair the record, tolerate so many such records with ")
                .option("skip_bad")
                .says(", or name another ")
                .option("format"),
            Remedy::SkipMore { tolerated } => fault
                .says(format!("this is bad record {} and ", tolerated + 1))
                .set("skip_bad", tolerated)
                .says(" tolerates no more"),
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

/// What is wrong with a record, or with a header.
#[derive(Debug)]
pub struct BadRecord {
    /// The trace's name.
    pub file: String,
    /// Where the record is.
    pub place: Place,
    /// The format it was read as.
    pub format: TraceFormat,
    /// The field that is wrong.
    pub field: Cow<'static, str>,
    /// What it should be.
    pub expected: Cow<'static, str>,
    /// What it is.
    pub found: String,
    /// What the user can do.
    pub remedy: Remedy,
}

/// A field that is wrong, before anybody knows the file or the place.
#[derive(Debug)]
pub(super) struct FieldFault {
    /// The field's name.
    pub field: Cow<'static, str>,
    /// What it should be.
    pub expected: Cow<'static, str>,
    /// What it is.
    pub found: String,
    /// Whether it says more bytes than a number holds, which sectors of another size may be the cause of.
    pub is_beyond: bool,
}

/// The result of parsing a field; the fault is boxed because it is rare and large.
pub(super) type Parsed<T> = Result<T, Box<FieldFault>>;

impl FieldFault {
    /// A fault whose finding is shown as given.
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self { field: field.into(), expected: expected.into(), found: found.into(), is_beyond: false })
    }

    /// The same of a field that says more bytes than a number holds.
    pub fn beyond(mut self: Box<Self>) -> Box<Self> {
        self.is_beyond = true;
        self
    }

    /// A fault in a field of a text trace.
    pub fn text(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
        found: &[u8],
    ) -> Box<Self> {
        Self::new(field, expected, excerpt(found))
    }
}

/// Why a parser cannot give the next record.
#[derive(Debug)]
pub(super) enum Failure {
    /// One record is bad; the parser stands behind it and can go on.
    Bad(Place, Box<FieldFault>),
    /// One record is bad and where the next begins is unknown.
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
