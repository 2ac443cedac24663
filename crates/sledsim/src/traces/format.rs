//! The list of formats, and format detection.

use std::fmt;
use std::io;
use std::str::FromStr;

use super::blkparse;
use super::column_guess::suggest;
use super::error::{TraceError, UnknownContent};
use super::options::{ColumnMap, TraceOptions};
use super::source::{Input, LONGEST_LINE_BYTES};
use super::text::LineParser;
use super::{RecordParser, Step, TraceFormat, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::fault::Fault;

/// Lines that detection parses.
const HEAD_LINES: usize = 16;

/// A parser for a content, or the reason why there is none.
pub(super) type Built = Result<Box<dyn RecordParser>, Box<TraceError>>;

/// Describes content that fits no format. It may be any file, so it is not repeated.
fn describe_content(bytes: &[u8]) -> String {
    let text = match bytes {
        [] => "nothing: it is empty",
        bytes if bytes.iter().any(|&byte| byte < b'\t') => "these binary data",
        _ => "this text",
    };
    text.to_owned()
}

/// The properties of a format, which its file declares.
pub(super) struct Entry {
    /// Name in kebab-case.
    pub name: &'static str,
    /// Description in one line.
    pub description: &'static str,
    /// Optional contents of its records.
    pub carries: &'static [Carries],
    /// A small trace of this format.
    pub example: &'static [u8],
    /// The number of lines of the head that fit this format, or [`CERTAIN`].
    pub detect: fn(&Head) -> usize,
    /// The requests in the head, for formats that count sectors but are often written in bytes.
    pub in_sectors: Option<fn(&Head) -> Vec<TraceRecord>>,
    /// Builds a parser; may read a header.
    pub build: fn(&mut Input, &TraceOptions) -> Built,
    /// The writer; `None` if it cannot be written.
    pub write: Option<Writing>,
}

/// The writer of a format, one line per record. No written format has closed-loop times; only formats that carry flushes
/// have flushes and flags.
pub(super) struct Writing {
    /// The suffix of a file name that selects this format, if there is one.
    pub suffix: Option<&'static str>,
    /// Text before the records.
    pub header: &'static str,
    /// All offsets and lengths must be multiples of this.
    pub sector_bytes: u32,
    /// Writes the line of a record.
    pub line: fn(&TraceRecord, Put<'_>) -> io::Result<()>,
}

/// A function that writes formatted text.
pub(super) type Put<'a> = &'a mut dyn FnMut(fmt::Arguments<'_>) -> io::Result<()>;

/// Contents that the records of some formats have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    /// Arrival times.
    Times,
    /// A mark for requests that are file-system metadata.
    Metadata,
    /// Flushes, and writes that must be on the medium when they complete.
    Flushes,
    /// A closed loop: service times, and gaps from a completion to the next request.
    Gaps,
    /// Several events of a request, of which one is its arrival.
    Events,
    /// Times whose unit the trace does not state.
    Ticks,
    /// Pages of a cache, each a sector of the trace.
    Pages,
    /// Objects of a cache, each with a number but without an address on a device.
    Objects,
    /// Records in order of their completion, which are sorted by arrival.
    Completions,
}

/// A format that was detected.
pub(super) struct Detected {
    pub format: TraceFormat,
    /// The evidence for it.
    pub by: String,
    /// Another format that fits as many lines.
    pub alternative: Option<TraceFormat>,
}

/// A certain match, by a magic or by every record.
pub(super) const CERTAIN: usize = usize::MAX;

/// Declares the formats from a list of names and modules. Each module has the format's `ENTRY`.
macro_rules! formats {
    ($($variant:ident => $module:ident,)+) => {
        $(mod $module;)+

        /// A format of block traces.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // The module's own documentation is that of the format.
        pub enum TraceFormat { $($variant,)+ }

        impl TraceFormat {
            /// Every format. Of two that fit a content equally well the earlier one is detected.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The properties of the format.
            const fn entry(self) -> &'static format::Entry {
                match self { $(Self::$variant => &$module::ENTRY,)+ }
            }
        }
    };
}

pub(super) use formats;

impl TraceFormat {
    /// The name, in kebab-case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// The description, in one line.
    #[must_use]
    pub const fn description(self) -> &'static str {
        self.entry().description
    }

    /// Returns true if its records have arrival times. A fio iolog has them from version 3 on: see
    /// [`super::TraceReader::has_times`].
    #[must_use]
    pub fn has_times(self) -> bool {
        self.entry().carries.contains(&Carries::Times)
    }

    /// Returns true if its records mark file-system metadata.
    #[must_use]
    pub fn has_metadata(self) -> bool {
        self.entry().carries.contains(&Carries::Metadata)
    }

    /// Returns true if it can have flushes.
    #[must_use]
    pub fn has_flushes(self) -> bool {
        self.entry().carries.contains(&Carries::Flushes)
    }

    /// Returns true if a trace of it is a list of pages of a cache, so that a sector is a page.
    #[must_use]
    pub fn lists_pages(self) -> bool {
        self.entry().carries.contains(&Carries::Pages)
    }

    /// Returns true if a trace of it is a list of objects of a cache, whose offsets are numbers of objects. Such traces are for
    /// hit ratios: no device has these addresses.
    #[must_use]
    pub fn lists_objects(self) -> bool {
        self.entry().carries.contains(&Carries::Objects)
    }

    /// Returns true if its records are in order of their completion.
    pub(super) fn logs_completions(self) -> bool {
        self.entry().carries.contains(&Carries::Completions)
    }

    /// Returns true if its records make a closed loop, with recorded service times and gaps between requests.
    #[must_use]
    pub fn is_closed_loop(self) -> bool {
        self.entry().carries.contains(&Carries::Gaps)
    }

    /// A small made-up trace of this format, which documents its records; the contract tests read it.
    #[must_use]
    pub const fn example(self) -> &'static [u8] {
        self.entry().example
    }

    /// Returns its writer; `None` if it cannot be written.
    pub(super) const fn writing(self) -> Option<&'static Writing> {
        self.entry().write.as_ref()
    }

    /// The suffix of a file name that selects this format for writing, if there is one; `None` if it cannot be written.
    #[must_use]
    pub fn written(self) -> Option<Option<&'static str>> {
        self.writing().map(|writing| writing.suffix)
    }

    /// The format of the content of `input`, by its beginning.
    pub(super) fn detect(input: &mut Input, options: &TraceOptions) -> Result<Detected, Box<TraceError>> {
        let file = input.name().to_owned();
        let bytes = input.peek(LONGEST_LINE_BYTES)?;
        let head = Head { ignore_times: options.ignore_times, ..Head::of(bytes) };
        let mut best: Option<(usize, Self)> = None;
        let mut alternative = None;
        for (score, format) in Self::scores(&head) {
            if best.is_none_or(|(most, _)| score > most) {
                (best, alternative) = (Some((score, format)), None);
            } else if best.is_some_and(|(most, _)| score == most) {
                alternative = alternative.or(Some(format));
            }
        }
        let Some((score, format)) = best.filter(|(score, _)| score.saturating_mul(2) >= head.lines.len()) else {
            let all_lines = Head::with_lines(bytes, usize::MAX);
            // The first of those that fit most lines.
            let candidate = Self::scores(&all_lines).rev().max_by_key(|(score, _)| *score).map(|(_, format)| format);
            return Err(Box::new(TraceError::UnknownContent(UnknownContent {
                file,
                found: describe_content(bytes),
                candidate,
                nearest: None,
                is_table: head.lines.first().is_some_and(|line| is_table_row(line)),
                columns: suggest(&ColumnMap::default(), &all_lines, options).unwrap_or_default(),
            })));
        };
        let mut by = match score {
            CERTAIN => "its first bytes".to_owned(),
            _ => format!("{score} of its first {} lines", head.lines.len()),
        };
        if let Some(other) = alternative {
            by = format!("{by}, which could as well be {other}");
        }
        match format.first_if_ambiguous(&head).filter(|_| options.sector_bytes.is_none()) {
            Some(first) => Err(Box::new(TraceError::BytesOrSectors { file, format, detected_by: by, first })),
            None => Ok(Detected { format, by, alternative }),
        }
    }

    /// The formats that fit some of the lines, and how many, in the order of [`TraceFormat::ALL`].
    fn scores<'a>(head: &'a Head<'a>) -> impl DoubleEndedIterator<Item = (usize, Self)> + 'a {
        Self::ALL.iter().map(|&format| ((format.entry().detect)(head), format)).filter(|(score, _)| *score > 0)
    }

    /// The first request, if the format counts in sectors but all offsets and lengths of the head are multiples of a
    /// sector's bytes, so that they may be bytes.
    fn first_if_ambiguous(self, head: &Head) -> Option<TraceRecord> {
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

/// The names of all formats.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TraceFormat::ALL.iter().map(|format| format.name())
}

/// The beginning of a content, which detectors read.
pub(super) struct Head<'a> {
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Its first lines that are complete, not blank, and no notices of blkparse.
    pub lines: Vec<&'a [u8]>,
    /// [`TraceOptions::ignore_times`].
    pub ignore_times: bool,
}

impl<'a> Head<'a> {
    /// The first [`HEAD_LINES`] lines of a content of which these are the first [`LONGEST_LINE_BYTES`], or all if there are
    /// fewer.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self::with_lines(bytes, HEAD_LINES)
    }

    /// As [`Head::of`], with up to so many lines.
    pub fn with_lines(bytes: &'a [u8], most: usize) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let complete = if bytes.len() < LONGEST_LINE_BYTES {
            text
        } else {
            &text[..text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0)]
        };
        let lines = complete
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.trim_ascii().is_empty() && !blkparse::is_notice(line))
            .take(most)
            .collect();
        Self { bytes, lines, ignore_times: false }
    }

    /// The head with only those lines for which `is_wanted` returns true.
    pub fn where_lines(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Self {
        Self { lines: self.lines.iter().copied().filter(|line| is_wanted(line)).collect(), ..*self }
    }

    /// The number of lines that `parser` parses as requests.
    pub fn requests(&self, mut parser: impl LineParser) -> usize {
        self.lines.iter().filter(|line| matches!(parser.line(line), Ok(Step::Request(_)))).count()
    }

    /// The requests that `parser` finds in the lines.
    pub fn records(&self, mut parser: impl LineParser) -> Vec<TraceRecord> {
        let request = |line: &&[u8]| match parser.line(line) {
            Ok(Step::Request(record)) => Some(record),
            _ => None,
        };
        self.lines.iter().filter_map(request).collect()
    }

    /// The number of lines that `parser` accepts.
    pub fn accepted(&self, mut parser: impl LineParser) -> usize {
        self.lines.iter().filter(|line| parser.line(line).is_ok()).count()
    }
}

/// Returns true for a line of text with at least three cells, as a table has.
fn is_table_row(line: &[u8]) -> bool {
    let is_text = line.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace() || *byte >= 0x80);
    is_text && b",;\t".iter().any(|separator| line.iter().filter(|byte| *byte == separator).count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest() {
        let message = "disksim-asci".parse::<TraceFormat>().unwrap_err().to_string();
        assert_eq!(message, "format = \"disksim-asci\" is not known: did you mean \"disksim-ascii\"?");
    }
}
