//! The list of formats, and the detector.

use std::fmt;
use std::io;
use std::str::FromStr;

use super::error::{excerpt, TraceError};
use super::options::TraceOptions;
use super::source::{Input, LONGEST_LINE_BYTES};
use super::text::{words, LineParser};
use super::{Place, RecordParser, Step, TraceFormat, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::fault::Fault;

/// Lines that detection looks at.
const HEAD_LINES: usize = 16;

/// A parser made for a content, or why there is none.
pub(super) type Built = Result<Box<dyn RecordParser>, Box<TraceError>>;

/// What a format's file says about it.
pub(super) struct Entry {
    /// Kebab-case name.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// What records carry besides what all do.
    pub carries: &'static [Carries],
    /// A small trace of this format.
    pub example: &'static [u8],
    /// How much of the beginning of a content is this format; 0 for none of it.
    pub detect: fn(&Head) -> usize,
    /// The requests of a content's first lines, of a format that counts sectors and whose numbers could as well be bytes.
    pub in_sectors: Option<fn(&Head) -> Vec<TraceRecord>>,
    /// Makes a parser; may read a header.
    pub build: fn(&mut Input, &TraceOptions) -> Built,
    /// How it is written, if it can be.
    pub write: Option<Writing>,
}

/// How a format is written, a line for each record. Closed-loop times have no place in any of them, flushes and flags only in
/// those that carry flushes.
pub(super) struct Writing {
    /// The ending of a file's name that means it, if one does.
    pub suffix: Option<&'static str>,
    /// What stands before the records.
    pub header: &'static str,
    /// Bytes that all places and sizes have to be multiples of.
    pub sector_bytes: u32,
    /// Puts a record's line.
    pub line: fn(&TraceRecord, Put<'_>) -> io::Result<()>,
}

/// Where lines go.
pub(super) type Put<'a> = &'a mut dyn FnMut(fmt::Arguments<'_>) -> io::Result<()>;

/// What the records of some formats carry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// Arrival times.
    Times,
    /// Which requests are file-system metadata.
    Metadata,
    /// Flushes, and which writes have to be on the medium when they complete.
    Flushes,
    /// A closed loop: service times, and gaps from a completion to the next request.
    Gaps,
    /// Several events of a request, of which one is its arrival.
    Events,
    /// Times whose unit it does not say.
    Ticks,
}

/// A certain match, by a magic or by every record.
pub(super) const CERTAIN: usize = usize::MAX;

/// Declares the formats from a list of their names and modules: a line of it is all that is said of a format outside its module,
/// which has its `ENTRY`.
macro_rules! formats {
    ($($variant:ident => $module:ident,)+) => {
        $(mod $module;)+

        /// A format of block traces.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // The module's own documentation is that of the format.
        pub enum TraceFormat { $($variant,)+ }

        impl TraceFormat {
            /// Every format; of two that recognise a content equally well the earlier is taken.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// What the format's file says about it.
            const fn entry(self) -> &'static format::Entry {
                match self { $(Self::$variant => &$module::ENTRY,)+ }
            }
        }
    };
}

pub(super) use formats;

impl TraceFormat {
    /// Its name, in kebab-case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it is, in one line.
    #[must_use]
    pub const fn description(self) -> &'static str {
        self.entry().description
    }

    /// Whether its records carry arrival times. fio's do from version 3 on; [`super::TraceReader::has_times`] knows.
    #[must_use]
    pub fn has_times(self) -> bool {
        self.entry().carries.contains(&Carries::Times)
    }

    /// Whether its records say which requests are file-system metadata.
    #[must_use]
    pub fn tells_metadata(self) -> bool {
        self.entry().carries.contains(&Carries::Metadata)
    }

    /// Whether flushes may be among its requests.
    #[must_use]
    pub fn tells_flushes(self) -> bool {
        self.entry().carries.contains(&Carries::Flushes)
    }

    /// Whether its records make a closed loop: with measured service times, and gaps between requests.
    #[must_use]
    pub fn is_closed_loop(self) -> bool {
        self.entry().carries.contains(&Carries::Gaps)
    }

    /// A small trace of this format, made up: what its records look like, and what the contract tests read.
    #[must_use]
    pub const fn example(self) -> &'static [u8] {
        self.entry().example
    }

    /// How it is written, if it can be.
    pub(super) const fn writing(self) -> Option<&'static Writing> {
        self.entry().write.as_ref()
    }

    /// Whether traces of it can be written, and the ending of a file's name that means it, if one does.
    #[must_use]
    pub fn written(self) -> Option<Option<&'static str>> {
        self.writing().map(|writing| writing.suffix)
    }

    /// The format of the content of `input`, told by its beginning, and by what of it.
    pub(super) fn detect(input: &mut Input, options: &TraceOptions) -> Result<(Self, String), Box<TraceError>> {
        let name = input.name().to_owned();
        let head = Head::of(input.peek(LONGEST_LINE_BYTES)?);
        let mut best = None;
        let mut as_well = None;
        for &format in Self::ALL {
            let score = (format.entry().detect)(&head);
            if score > 0 && best.is_none_or(|(most, _)| score > most) {
                (best, as_well) = (Some((score, format)), None);
            } else if best.is_some_and(|(most, _)| score == most) {
                as_well = as_well.or(Some(format));
            }
        }
        match best {
            Some((score, format)) if score.saturating_mul(2) >= head.lines.len() => {
                let told_by = match score {
                    CERTAIN => "its first bytes".to_owned(),
                    _ => format!("{score} of its first {} lines", head.lines.len()),
                };
                let told_by = match as_well {
                    Some(other) => format!("{told_by}, which could as well be {other}"),
                    None => told_by,
                };
                match format.ambiguous(&head).filter(|_| options.sector_bytes.is_none()) {
                    Some(first) => Err(Box::new(TraceError::BytesOrSectors { file: name, format, told_by, first })),
                    None => Ok((format, told_by)),
                }
            }
            _ => Err(Box::new(TraceError::UnknownContent {
                file: name,
                place: Place::Byte(0),
                found: if head.bytes.is_empty() { "nothing: it is empty".to_owned() } else { excerpt(head.bytes) },
            })),
        }
    }

    /// The first request as read, where the format counts in sectors and all numbers of the first lines look like bytes: offsets
    /// and sizes are multiples of a sector's bytes.
    fn ambiguous(self, head: &Head) -> Option<TraceRecord> {
        let records = self.entry().in_sectors.map(|records| records(head))?;
        let sector = u64::from(DEFAULT_SECTOR_BYTES);
        let is_bytes = |value: u64| value.is_multiple_of(sector * sector);
        let all = records.iter().all(|record| is_bytes(record.offset_bytes) && is_bytes(record.bytes));
        records.first().copied().filter(|_| all)
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TraceFormat {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        if let Some(&format) = Self::ALL.iter().find(|format| format.name() == text) {
            return Ok(format);
        }
        Err(Fault::unknown_name("format", text, names()))
    }
}

/// Every format's name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TraceFormat::ALL.iter().map(|format| format.name())
}

/// The beginning of a content, as detectors see it.
pub(super) struct Head<'a> {
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Its first lines that are not blank and not cut.
    pub lines: Vec<&'a [u8]>,
}

impl<'a> Head<'a> {
    /// Of the first bytes of a content. When there are fewer than [`LONGEST_LINE_BYTES`] they are all there is.
    pub fn of(bytes: &'a [u8]) -> Self {
        let is_whole = bytes.len() < LONGEST_LINE_BYTES;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').take(HEAD_LINES * 4).collect();
        if lines.len() < HEAD_LINES * 4 && !is_whole {
            lines.pop();
        }
        lines.retain(|line| words(line).any(|word| word != b"\r"));
        lines.truncate(HEAD_LINES);
        let lines = lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
        Self { bytes, lines }
    }

    /// With those of its lines alone that look `like` something.
    pub fn where_lines(&self, like: impl Fn(&[u8]) -> bool) -> Self {
        Self { bytes: self.bytes, lines: self.lines.iter().copied().filter(|line| like(line)).collect() }
    }

    /// How many of its lines hold requests for `parser`.
    pub fn requests(&self, mut parser: impl LineParser) -> usize {
        self.lines.iter().filter(|line| matches!(parser.line(line), Ok(Step::Request(_)))).count()
    }

    /// The requests that its lines hold for `parser`.
    pub fn records(&self, mut parser: impl LineParser) -> Vec<TraceRecord> {
        let request = |line: &&[u8]| match parser.line(line) {
            Ok(Step::Request(record)) => Some(record),
            _ => None,
        };
        self.lines.iter().filter_map(request).collect()
    }

    /// How many of its lines `parser` accepts.
    pub fn accepted(&self, mut parser: impl LineParser) -> usize {
        self.lines.iter().filter(|line| parser.line(line).is_ok()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let message = "disksim-asci".parse::<TraceFormat>().unwrap_err().to_string();
        assert!(message.contains("did you mean \"disksim-ascii\"?") && message.contains("tencent"), "{message}");
    }
}
