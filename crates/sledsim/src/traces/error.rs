//! What a trace reader or writer says when it cannot go on: file, place, field, what was found, what was expected,
//! and the remedy.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::TraceFormat;

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
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened, read, decompressed or written.
    #[error("{file}: {place}: cannot {action}: {source}")]
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
    #[error(
        "{file}: {place}: no known trace format begins with {found}; name the format with `--format`, one of: {formats}"
    )]
    UnknownContent {
        /// The trace's name.
        file: String,
        /// Where the content stood that was looked at.
        place: Place,
        /// Its first bytes, made readable.
        found: String,
        /// Every format's name.
        formats: String,
    },
    /// A format's name that no format bears.
    #[error("unknown trace format {found:?}; the nearest is `{nearest}`; the formats are: {formats}")]
    UnknownFormat {
        /// The name given.
        found: String,
        /// The name least different from it.
        nearest: &'static str,
        /// Every format's name.
        formats: String,
    },
    /// A trace without any request.
    #[error("{file}: {place}: the trace ends here and contains no records ({skipped} bad records skipped)")]
    Empty {
        /// The trace's name.
        file: String,
        /// The end of the content.
        place: Place,
        /// Bad records tolerated on the way.
        skipped: u64,
    },
    /// A record, or a header, that is not one of its format.
    #[error(transparent)]
    BadRecord(Box<BadRecord>),
    /// An option that does not fit the trace or the format.
    #[error("{file}: {place}: option `{option}`: {problem}")]
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
    #[error("{file}: record {record} (from 1): {format} cannot express {problem}; write `csv` instead")]
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
            Self::UnknownFormat { .. } | Self::Inexpressible { .. } => None,
        }
    }
}

/// What is wrong with a record, or with a header.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {place}: {format}: field `{field}`: expected {expected}, found {found}; {remedy}")]
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
    pub remedy: String,
}

/// A field that is wrong, before anybody knows the file or the place.
#[derive(Debug)]
pub(super) struct Fault {
    /// The field's name.
    pub field: Cow<'static, str>,
    /// What it should be.
    pub expected: Cow<'static, str>,
    /// What it is.
    pub found: String,
}

/// The result of parsing a field; the fault is boxed because it is rare and large.
pub(super) type Parsed<T> = Result<T, Box<Fault>>;

impl Fault {
    /// A fault whose finding is shown as given.
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self { field: field.into(), expected: expected.into(), found: found.into() })
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
    Bad(Place, Box<Fault>),
    /// One record is bad and where the next begins is unknown.
    Lost(Place, Box<Fault>),
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
