//! CSV traces, with columns named by a header or mapped by the user. Formats that are CSV with fixed columns share its parser.
//!
//! The canonical form, which [`super::write`] writes, is `t_ns,device,offset_bytes,bytes,op`. In any other header these
//! names are recognised, in any case and order; further columns are ignored:
//!
//! | meaning | names |
//! | --- | --- |
//! | arrival time | `t`, `time`, `timestamp`, `ts` or `arrival`, then `ns`, `us`, `ms` or `s`: `t_ns`, `Time (ms)` |
//! | device (0 if absent) | `device`, `device_id`, `dev`, `devno`, `disk`, `volume`, `asu` |
//! | offset in bytes | `offset_bytes`, `offset`, `byte_offset` |
//! | offset in sectors | `lbn`, `lba`, `sector`, `block`, `blkno`, `offset_sectors` |
//! | length in bytes | `bytes`, `length`, `length_bytes`, `size`, `size_bytes` |
//! | length in sectors | `blocks`, `sectors`, `length_sectors`, `size_sectors` |
//! | operation | `op`, `operation`, `opcode`, `type`, `rw` |
//! | recorded response time (optional) | `response`, then `ns`, `us`, `ms` or `s` |
//!
//! An operation is `R` or `read`, `W` or `write`, `WF` for a write that must be on the medium when it completes, or `F` or
//! `flush`, whose offset and length have no meaning.
//!
//! A [`ColumnMap`] takes precedence over these names. The unit of a mapped column is the given one, or else the one that its
//! name states ([`unit_of_time`], [`unit_of_length`]); without either the trace cannot be read.
//!
//! Cells are separated by the most frequent of comma, semicolon and tab in the first line, or by blanks if it has none of
//! them. A cell may be in double quotes. The first line is a header if a column is mapped by its name, or if none of its
//! cells begins with a digit.

use std::borrow::Cow;

use super::column_guess::{suggest, Suggestion};
use super::error::{excerpt, Failure, FieldFault, Parsed, Place, TraceError, UnknownUnit};
use super::format::{Built, Carries, Entry, Head, Writing};
use super::options::{ColumnMap, ColumnRef, LengthUnit, OpCodes};
use super::source::{Input, LONGEST_LINE_BYTES};
use super::text::{
    closing_quote, is_name_of, operation, sectors_to_bytes, split, time_ns, unsigned, unsigned32, wrong_count,
    LineParser, Lines, TimeUnit,
};
use super::{Step, TraceOptions, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::{Flags, Op};

/// CSV in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "csv",
    description: "CSV with named columns; canonically t_ns,device,offset_bytes,bytes,op",
    carries: &[Carries::Times, Carries::Flushes],
    example: b"t_ns,device,offset_bytes,bytes,op\n\
        0,0,4096,4096,R\n\
        1500000,0,8192,512,W\n\
        2250000,1,0,1024,R\n",
    detect,
    in_sectors: None,
    build,
    write: Some(Writing {
        suffix: Some(".csv"),
        header: "t_ns,device,offset_bytes,bytes,op\n",
        sector_bytes: 1,
        line: |record, put| {
            let TraceRecord { device, offset_bytes, bytes, .. } = record;
            let op = match record.op {
                Op::Read => "R",
                Op::Write if record.flags.contains(Flags::DURABLE) => "WF",
                Op::Write => "W",
                Op::Flush => "F",
                Op::Reset => "ZR",
            };
            put(format_args!("{},{device},{offset_bytes},{bytes},{op}\n", record.time.ns()))
        },
    }),
};

/// Maximum number of columns; columns further to the right cannot be mapped.
pub(super) const MAX_COLUMNS: usize = 32;
const TIME_NAMES: [&str; 5] = ["t", "time", "timestamp", "ts", "arrival"];
const RESPONSE_NAMES: [&str; 1] = ["response"];
const DEVICE_NAMES: [&str; 7] = ["device", "device_id", "dev", "devno", "disk", "volume", "asu"];
const OFFSET_NAMES: [&str; 9] =
    ["offset_bytes", "offset", "byte_offset", "lbn", "lba", "sector", "block", "blkno", "offset_sectors"];
const LENGTH_NAMES: [&str; 9] =
    ["bytes", "length", "length_bytes", "size", "size_bytes", "blocks", "sectors", "length_sectors", "size_sectors"];
const OP_NAMES: [&str; 5] = ["op", "operation", "opcode", "type", "rw"];

fn detect(head: &Head) -> usize {
    let Some((header, rest)) = head.lines.split_first() else { return 0 };
    let readable = |mut columns: Columns| rest.iter().filter(|line| columns.line(line).is_ok()).count();
    let resolve = |map: &ColumnMap| Columns::resolve(map, header, DEFAULT_SECTOR_BYTES, head.ignore_times);
    match resolve(&ColumnMap::default()) {
        Ok((columns, true)) => 1 + readable(columns),
        // The error for unknown units is raised when the trace is opened. Presets with such headers take precedence.
        Err(Unresolved::UnknownUnits(_)) => {
            let any_unit = ColumnMap { time_unit: Some(TimeUnit::Ns), ..ColumnMap::default() };
            resolve(&any_unit).map_or(0, |(columns, _)| readable(columns))
        }
        _ => 0,
    }
}

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let sector_bytes = options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES);
    let first = first_line(input)?;
    let file = input.name().to_owned();
    let default = ColumnMap::default();
    let map = options.columns.as_ref().unwrap_or(&default);
    if let Some((meaning, columns)) = duplicate_meaning(map, &names_of(&first)) {
        return Err(Box::new(TraceError::TwoColumns { file, place: Place::Line(1), meaning, columns }));
    }
    let (columns, has_header) = match Columns::resolve(map, &first, sector_bytes, options.ignore_times) {
        Ok(found) => found,
        Err(unresolved) => {
            let head = Head::with_lines(input.peek(LONGEST_LINE_BYTES)?, usize::MAX);
            let suggestion = suggest(map, &head, options).unwrap_or_default();
            return Err(unresolved.error(file, Place::Line(1), suggestion));
        }
    };
    if columns.op_codes.is_none() && options.skip_bad == 0 {
        // All columns are known, so a suggestion can only be of operation codes.
        let head = Head::with_lines(input.peek(LONGEST_LINE_BYTES)?, usize::MAX);
        if let Some(suggestion) = suggest(map, &head, options) {
            let column = columns.op;
            let problem =
                format!("column {column} (from 0) has operations other than R, W, WF, F and ZR: give their codes");
            return Err(Box::new(TraceError::Columns { file, place: Place::Line(1), problem, suggestion }));
        }
    }
    if has_header {
        skip_line(input)?;
    }
    Ok(Box::new(Lines(columns)))
}

/// Returns the first unmapped meaning that the names of two columns have, and these columns.
fn duplicate_meaning(map: &ColumnMap, names: &[String]) -> Option<(&'static str, [String; 2])> {
    let means = |name: &str| {
        let one_of = |known: &[&str]| known.contains(&name.to_lowercase().as_str());
        match name {
            _ if unit_after_stem(name, &TIME_NAMES).is_some() => map.time.is_none().then_some("arrival"),
            _ if unit_after_stem(name, &RESPONSE_NAMES).is_some() => Some("response"),
            _ if one_of(&DEVICE_NAMES) => map.device.is_none().then_some("device"),
            _ if one_of(&OFFSET_NAMES) => map.offset.is_none().then_some("offset"),
            _ if one_of(&LENGTH_NAMES) => map.length.is_none().then_some("length"),
            _ if one_of(&OP_NAMES) => map.op.is_none().then_some("operation"),
            _ => None,
        }
    };
    let meanings: Vec<_> = names.iter().map(|name| means(name)).collect();
    (0..names.len()).find_map(|second| {
        let meaning = meanings[second]?;
        let first = meanings[..second].iter().position(|&each| each == Some(meaning))?;
        let shown = |index: usize| format!("{} (column {index})", excerpt(names[index].as_bytes()));
        Some((meaning, [shown(first), shown(second)]))
    })
}

/// Returns the cells of a header.
pub(super) fn names_of(header: &[u8]) -> Vec<String> {
    cells(header, separator(header)).map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
}

/// Returns the first line that is not blank, without consuming it; empty at the end of the content.
fn first_line(input: &mut Input) -> Result<Vec<u8>, Box<TraceError>> {
    let head = Head::of(input.peek(LONGEST_LINE_BYTES)?);
    Ok(head.lines.first().map_or_else(Vec::new, |line| line.to_vec()))
}

/// Skips the first line that is not blank.
fn skip_line(input: &mut Input) -> Result<(), Box<TraceError>> {
    loop {
        match input.line() {
            Ok(Some(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(Failure::Fatal(error)) => return Err(error),
            // A line that is too long is reported when the first record is read.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
}

/// Returns a parser for a format that is CSV with fixed columns and an optional header.
pub(super) fn preset(input: &mut Input, columns: Columns) -> Built {
    skip_header(input, columns.separator)?;
    Ok(Box::new(Lines(columns)))
}

/// Skips the header, if there is one.
pub(super) fn skip_header(input: &mut Input, separator: u8) -> Result<(), Box<TraceError>> {
    if is_header(&first_line(input)?, separator) {
        skip_line(input)?;
    }
    Ok(())
}

/// Returns true if no cell of a line begins with a digit.
pub(super) fn is_header(line: &[u8], separator: u8) -> bool {
    !line.is_empty() && !cells(line, separator).any(|cell| cell.first().is_some_and(u8::is_ascii_digit))
}

/// The number of cells that a line must have.
#[derive(Clone, Copy, Debug)]
pub(super) enum CellCount {
    /// This number.
    Exactly(usize),
    /// This number or more.
    AtLeast(usize),
}

/// The reason why the columns of a CSV trace cannot be resolved.
#[derive(Debug)]
pub(super) enum Unresolved {
    /// These columns do not name their unit, and no option gives it.
    UnknownUnits(Vec<UnknownUnit>),
    /// Anything else, in words.
    Problem(String),
}

impl Unresolved {
    /// Converts it to an error of a trace whose columns are named at `place`.
    fn error(self, file: String, place: Place, suggestion: Suggestion) -> Box<TraceError> {
        Box::new(match self {
            Self::UnknownUnits(columns) => TraceError::UnknownUnits { file, place, columns, suggestion },
            Self::Problem(problem) => TraceError::Columns { file, place, problem, suggestion },
        })
    }
}

/// The names of the columns of a trace.
struct Names {
    names: Vec<String>,
    /// False if the first line of a file is a record, whose cells are then the `names`.
    is_header: bool,
    separator: u8,
}

/// Index of the column of each meaning; `None` if unknown.
pub(super) struct ColumnIndices {
    pub time: Option<usize>,
    pub device: Option<usize>,
    pub offset: Option<usize>,
    pub length: Option<usize>,
    pub op: Option<usize>,
}

impl ColumnIndices {
    /// Returns true if a column has a meaning.
    pub(super) fn has(&self, index: usize) -> bool {
        [self.time, self.device, self.offset, self.length, self.op].contains(&Some(index))
    }

    /// Finds each column by the map, or else by its name if the names are those of a header.
    pub(super) fn of(map: &ColumnMap, names: &[String], has_header: bool) -> Result<Self, Unresolved> {
        let mapped = |column: &Option<ColumnRef>| column.as_ref().map(|column| locate(column, names)).transpose();
        let find = |matches: &dyn Fn(&str) -> bool| names.iter().position(|name| matches(name)).filter(|_| has_header);
        let named = |known: &[&str]| find(&|name| known.contains(&name.to_lowercase().as_str()));
        let timed = || find(&|name| unit_after_stem(name, &TIME_NAMES).is_some());
        Ok(Self {
            time: mapped(&map.time)?.or_else(timed).or_else(|| named(&TIME_NAMES)),
            device: mapped(&map.device)?.or_else(|| named(&DEVICE_NAMES)),
            offset: mapped(&map.offset)?.or_else(|| named(&OFFSET_NAMES)),
            length: mapped(&map.length)?.or_else(|| named(&LENGTH_NAMES)),
            op: mapped(&map.op)?.or_else(|| named(&OP_NAMES)),
        })
    }
}

/// The columns of a CSV trace, by meaning.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub separator: u8,
    pub count: CellCount,
    /// The form of a line, for messages.
    pub shape: &'static str,
    /// Arrival time and its unit; `None` if times are ignored.
    pub time: Option<(usize, TimeUnit)>,
    /// Recorded response time and its unit.
    pub response: Option<(usize, TimeUnit)>,
    pub device: Option<usize>,
    pub offset: usize,
    pub offset_unit: LengthUnit,
    pub length: usize,
    pub length_unit: LengthUnit,
    pub op: usize,
    /// Codes of reads and of writes; `None` for `R`, `W`, `read` and `write`.
    pub op_codes: Option<OpCodes>,
    /// True if an operation can be a flush, or a write that must be on the medium when it completes.
    pub may_flush: bool,
    pub sector_bytes: u32,
}

impl Columns {
    /// Finds each column by the map, or else by its name in the header. Returns the columns, and true if the first line
    /// is a header. With `ignore_times`, a trace needs no column of times.
    pub(super) fn resolve(
        map: &ColumnMap,
        first: &[u8],
        sector_bytes: u32,
        ignore_times: bool,
    ) -> Result<(Self, bool), Unresolved> {
        let separator = separator(first);
        let has_header = map.has_named_column() || is_header(first, separator);
        let names = Names { names: names_of(first), is_header: has_header, separator };
        let columns = Self::named(map, &names, sector_bytes, ignore_times)?.within_limit()?;
        Ok((columns, has_header))
    }

    /// Returns the columns of the table `file` with these names.
    pub(super) fn of_table(file: &str, names: Vec<String>, options: &TraceOptions) -> Result<Self, Box<TraceError>> {
        let default = ColumnMap::default();
        let map = options.columns.as_ref().unwrap_or(&default);
        if let Some((meaning, columns)) = duplicate_meaning(map, &names) {
            return Err(Box::new(TraceError::TwoColumns {
                file: file.to_owned(),
                place: Place::Names,
                meaning,
                columns,
            }));
        }
        let names = Names { names, is_header: true, separator: b',' };
        let sector_bytes = options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES);
        Self::named(map, &names, sector_bytes, options.ignore_times)
            .map_err(|unresolved| unresolved.error(file.to_owned(), Place::Names, Suggestion::new()))
    }

    /// Returns the indices of the columns that are read from a table with these names, for any units.
    pub(super) fn used(file: &str, names: Vec<String>, map: &ColumnMap) -> Result<Vec<usize>, Box<TraceError>> {
        let map = ColumnMap {
            time_unit: Some(TimeUnit::Ns),
            offset_unit: Some(LengthUnit::Bytes),
            length_unit: Some(LengthUnit::Bytes),
            ..map.clone()
        };
        let options = TraceOptions { columns: Some(map), ..TraceOptions::default() };
        let columns = Self::of_table(file, names, &options)?;
        let timed = [columns.time, columns.response].map(|column| column.map(|(column, _)| column));
        let all = [timed[0], timed[1], columns.device, Some(columns.offset), Some(columns.length), Some(columns.op)];
        Ok(all.into_iter().flatten().collect())
    }

    /// Finds each column by the map, or else by its name; see [`Columns::resolve`].
    fn named(map: &ColumnMap, names: &Names, sector_bytes: u32, ignore_times: bool) -> Result<Self, Unresolved> {
        let &Names { ref names, is_header: has_header, separator } = names;
        let found = ColumnIndices::of(map, names, has_header)?;
        let required = |found: Option<usize>, key: &str, example: &str| {
            found.ok_or_else(|| Unresolved::Problem(missing_column(has_header, key, example)))
        };
        let mut unknown = Vec::new();
        let header_name = |column: usize| has_header.then(|| names[column].as_str());

        let time = if ignore_times { None } else { Some(required(found.time, "time", "t_ns or timestamp_us")?) };
        let time = time.map(|column| {
            let unit = map.time_unit.or_else(|| header_name(column).and_then(unit_of_time));
            (column, unit.unwrap_or_else(|| note(&mut unknown, "time_unit", names, column, TimeUnit::Ns)))
        });
        let offset = required(found.offset, "offset", "offset_bytes or lbn")?;
        let length = required(found.length, "bytes", "bytes or blocks")?;
        let offset_unit =
            map.offset_unit.or_else(|| match (map.length_unit, header_name(offset).map(unit_of_length)) {
                (_, Some(NamedLengthUnit::Stated(unit))) => Some(unit),
                (None | Some(LengthUnit::Bytes), Some(NamedLengthUnit::Implied)) => Some(LengthUnit::Bytes),
                // The name implies bytes, but the option gives sectors, possibly only for lengths.
                (Some(LengthUnit::Sectors), Some(NamedLengthUnit::Implied)) => None,
                (given, _) => given,
            });
        let length_unit = map.length_unit.or_else(|| match header_name(length).map(unit_of_length) {
            Some(NamedLengthUnit::Stated(unit)) => Some(unit),
            Some(NamedLengthUnit::Implied) => Some(LengthUnit::Bytes),
            _ => None,
        });
        let offset_unit =
            offset_unit.unwrap_or_else(|| note(&mut unknown, "offset_unit", names, offset, LengthUnit::Bytes));
        let length_unit =
            length_unit.unwrap_or_else(|| note(&mut unknown, "length_unit", names, length, LengthUnit::Bytes));
        let response = names.iter().position(|name| has_header && unit_after_stem(name, &RESPONSE_NAMES).is_some());
        let response = response.and_then(|column| unit_of_time(&names[column]).map(|unit| (column, unit)));
        let columns = Self {
            separator,
            count: CellCount::Exactly(names.len()),
            shape: "as in the first line",
            time,
            response,
            device: found.device,
            offset,
            offset_unit,
            length,
            length_unit,
            op: required(found.op, "op", "op")?,
            op_codes: map.op_codes.clone(),
            may_flush: map.op_codes.is_none(),
            sector_bytes,
        };
        if unknown.is_empty() {
            Ok(columns)
        } else {
            Err(Unresolved::UnknownUnits(unknown))
        }
    }

    /// Returns itself, if every column is among the first [`MAX_COLUMNS`].
    fn within_limit(self) -> Result<Self, Unresolved> {
        let timed = [self.time, self.response].map(|column| column.map(|(column, _)| column));
        let used = [timed[0], timed[1], self.device, Some(self.offset), Some(self.length), Some(self.op)];
        match used.into_iter().flatten().max() {
            Some(last) if last >= MAX_COLUMNS => Err(Unresolved::Problem(format!(
                "column {last} (from 0) is beyond the first {MAX_COLUMNS}, which are the only ones read"
            ))),
            _ => Ok(self),
        }
    }

    fn op(&self, cell: &[u8]) -> Parsed<(Op, Flags)> {
        let plain = |op| (op, Flags::NONE);
        match &self.op_codes {
            None if self.may_flush && cell.eq_ignore_ascii_case(b"WF") => Ok((Op::Write, Flags::DURABLE)),
            None if self.may_flush && is_flush(cell) => Ok(plain(Op::Flush)),
            None if self.may_flush && is_reset(cell) => Ok(plain(Op::Reset)),
            None if self.may_flush => match operation("op", cell) {
                Ok(op) => Ok(plain(op)),
                Err(_) => Err(FieldFault::text("op", "R, W, WF, F, ZR, read, write, flush or reset", cell)),
            },
            None => operation("op", cell).map(plain),
            Some(codes) => codes.op(cell).map(plain).ok_or_else(|| FieldFault::text("op", format!("{codes}"), cell)),
        }
    }

    fn bytes(&self, field: &'static str, value: u64, unit: LengthUnit) -> Parsed<u64> {
        match unit {
            LengthUnit::Bytes => Ok(value),
            LengthUnit::Sectors => sectors_to_bytes(field, value, self.sector_bytes),
        }
    }

    /// Returns the request in a row.
    #[inline]
    pub(super) fn request(&self, row: &impl Row) -> Parsed<TraceRecord> {
        let at_ns = self.time.map_or(Ok(0), |(column, unit)| row.time_ns("time", column, unit))?;
        let device = self.device.map_or(Ok(0), |column| row.unsigned32("device", column))?;
        let offset_bytes = self.bytes("offset", row.unsigned("offset", self.offset)?, self.offset_unit)?;
        let bytes = self.bytes("length", row.unsigned("length", self.length)?, self.length_unit)?;
        let response_ns = self.response.map(|(column, unit)| row.time_ns("response", column, unit)).transpose()?;
        Ok(match self.op(&row.text(self.op))? {
            (Op::Flush, _) => TraceRecord { response_ns, ..TraceRecord::flush(at_ns, device) },
            (op, flags) => {
                TraceRecord { flags, response_ns, ..TraceRecord::new(at_ns, device, offset_bytes, bytes, op) }
            }
        })
    }
}

/// A row of a trace with columns.
pub(super) trait Row {
    /// Returns the text in a column.
    fn text(&self, column: usize) -> Cow<'_, [u8]>;

    /// Returns an integer, see [`unsigned`].
    fn unsigned(&self, field: &'static str, column: usize) -> Parsed<u64>;

    /// Returns an integer, see [`unsigned32`].
    fn unsigned32(&self, field: &'static str, column: usize) -> Parsed<u32>;

    /// Returns a time, see [`time_ns`].
    fn time_ns(&self, field: &'static str, column: usize, unit: TimeUnit) -> Parsed<u64>;
}

/// The cells of a line.
impl Row for [&[u8]; MAX_COLUMNS] {
    #[inline]
    fn text(&self, column: usize) -> Cow<'_, [u8]> {
        Cow::Borrowed(self[column])
    }

    #[inline]
    fn unsigned(&self, field: &'static str, column: usize) -> Parsed<u64> {
        unsigned(field, self[column])
    }

    #[inline]
    fn unsigned32(&self, field: &'static str, column: usize) -> Parsed<u32> {
        unsigned32(field, self[column])
    }

    #[inline]
    fn time_ns(&self, field: &'static str, column: usize, unit: TimeUnit) -> Parsed<u64> {
        time_ns(field, self[column], unit)
    }
}

/// Adds a column to those with unknown units, and returns a placeholder for its unit.
fn note<U>(unknown: &mut Vec<UnknownUnit>, key: &'static str, names: &[String], column: usize, placeholder: U) -> U {
    unknown.push(UnknownUnit { key, column: format!("{} ({column})", excerpt(names[column].as_bytes())) });
    placeholder
}

/// Returns the index of a mapped column.
fn locate(column: &ColumnRef, names: &[String]) -> Result<usize, Unresolved> {
    let problem = match column {
        ColumnRef::Index(index) if *index < names.len() => return Ok(*index),
        ColumnRef::Index(_) => format!("column {column} is beyond the {} of the first line", names.len()),
        ColumnRef::Name(wanted) => {
            let mut named = (0..names.len()).filter(|&index| is_name_of(&names[index], wanted));
            match (named.next(), named.next()) {
                (Some(only), None) => return Ok(only),
                (Some(one), Some(other)) => format!(
                    "column {column} is in the first line twice: give the number of the one that is meant, {one} or {other} \
                     (from 0)"
                ),
                (None, _) => format!("column {column} is not in the first line"),
            }
        }
    };
    Err(Unresolved::Problem(problem))
}

fn missing_column(has_header: bool, key: &str, example: &str) -> String {
    if has_header {
        format!("no column of the header is named as `{key}` usually is (such as {example}): map `{key}` to one")
    } else {
        format!("the first line is no header, so every column must be mapped by its number (from 0): map `{key}`")
    }
}

/// Returns the words of a column's name, in lower case; the same for `TimestampMs`, `timestamp_ms` and `timestamp (ms)`.
pub(super) fn words_of_name(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (index, &letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).map(|at| letters[at]);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || letters.get(index + 1).is_some_and(|after| after.is_lowercase())
            });
        if starts_word || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().expect("there is a word").extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the unit in the name of a column of times; `None` if there is none, or several.
fn unit_of_time(name: &str) -> Option<TimeUnit> {
    let words = words_of_name(name);
    if words.concat().contains("filetime") {
        return Some(TimeUnit::Filetime);
    }
    let unit = |word: &String| match word.as_str() {
        "ns" | "nsec" | "nsecs" | "nanos" | "nanosec" | "nanosecs" | "nanosecond" | "nanoseconds" => Some(TimeUnit::Ns),
        "us" | "usec" | "usecs" | "micros" | "microsec" | "microsecs" | "microsecond" | "microseconds" | "µs"
        | "μs" => Some(TimeUnit::Us),
        "ms" | "msec" | "msecs" | "millis" | "millisec" | "millisecs" | "millisecond" | "milliseconds" => {
            Some(TimeUnit::Ms)
        }
        "s" | "sec" | "secs" | "second" | "seconds" => Some(TimeUnit::S),
        _ => None,
    };
    let mut units = words.iter().filter_map(unit);
    let first = units.next()?;
    units.all(|other| other == first).then_some(first)
}

/// The unit in the name of a column of offsets or lengths.
enum NamedLengthUnit {
    /// A word of the name is a unit: `lba`, `offset_bytes`.
    Stated(LengthUnit),
    /// The name is that of an offset or a length without a unit; such columns are in bytes.
    Implied,
    /// The name has no known unit, or several.
    Open,
}

fn unit_of_length(name: &str) -> NamedLengthUnit {
    const BYTES: [&str; 5] = ["byte", "bytes", "nbytes", "nbyte", "b"];
    const SECTORS: [&str; 14] = [
        "lba", "lbas", "lbn", "lbns", "sector", "sectors", "sect", "nsectors", "block", "blocks", "blk", "blks",
        "blkno", "nblocks",
    ];
    const QUANTITIES: [&str; 4] = ["offset", "length", "len", "size"];
    const OTHER_UNITS: [&str; 18] = [
        "k", "kb", "kib", "kbyte", "kbytes", "m", "mb", "mib", "mbyte", "mbytes", "g", "gb", "gib", "page", "pages",
        "track", "cylinder", "extent",
    ];
    let words = words_of_name(name);
    let place = |wanted: &[&str]| words.iter().rposition(|word| wanted.contains(&word.as_str()));
    match (place(&BYTES), place(&SECTORS), place(&QUANTITIES)) {
        _ if place(&OTHER_UNITS).is_some() => NamedLengthUnit::Open,
        (Some(_), None, _) => NamedLengthUnit::Stated(LengthUnit::Bytes),
        // `block_size` may be the bytes of a request; `size_blocks` counts blocks.
        (None, Some(sectors), quantity) if quantity.is_none_or(|quantity| quantity < sectors) => {
            NamedLengthUnit::Stated(LengthUnit::Sectors)
        }
        (None, None, Some(_)) => NamedLengthUnit::Implied,
        _ => NamedLengthUnit::Open,
    }
}

impl LineParser for Columns {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let (found, count) = split::<MAX_COLUMNS>(cells(line, self.separator));
        match self.count {
            CellCount::Exactly(wanted) if count != wanted => return Err(wrong_count(count, wanted, self.shape)),
            CellCount::AtLeast(wanted) if count < wanted => return Err(wrong_count(count, wanted, self.shape)),
            _ => {}
        }
        self.request(&found).map(Step::Request)
    }

    fn has_times(&self) -> bool {
        self.time.is_some()
    }

    fn has_responses(&self) -> bool {
        self.response.is_some()
    }

    fn units(&self) -> Option<String> {
        Some(match (self.time, self.offset_unit == self.length_unit) {
            (Some((_, unit)), true) => format!("times in {unit}, addresses in {}", self.offset_unit),
            (None, true) => format!("addresses in {}", self.offset_unit),
            (Some((_, unit)), false) => {
                format!("times in {unit}, offsets in {}, lengths in {}", self.offset_unit, self.length_unit)
            }
            (None, false) => format!("offsets in {}, lengths in {}", self.offset_unit, self.length_unit),
        })
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }
}

fn is_flush(cell: &[u8]) -> bool {
    cell.eq_ignore_ascii_case(b"F") || cell.eq_ignore_ascii_case(b"flush")
}

fn is_reset(cell: &[u8]) -> bool {
    cell.eq_ignore_ascii_case(b"ZR") || cell.eq_ignore_ascii_case(b"reset")
}

/// Returns the unit of a column of times whose name is one of `stems` followed by the unit; `None` for other names.
fn unit_after_stem(name: &str, stems: &[&str]) -> Option<TimeUnit> {
    let words = words_of_name(name);
    let (_, stem) = words.split_last()?;
    unit_of_time(name).filter(|_| stems.contains(&stem.concat().as_str()))
}

/// Returns the separator of the cells of a line: the most frequent of comma, semicolon and tab, or blanks if it has none.
pub(super) fn separator(line: &[u8]) -> u8 {
    let count = |wanted: u8| line.iter().filter(|&&byte| byte == wanted).count();
    // `max_by_key` returns the last of several maxima, a comma.
    let separators = [b'\t', b';', b','];
    let most = separators.into_iter().max_by_key(|&wanted| count(wanted)).unwrap_or(b',');
    if count(most) == 0 && line.trim_ascii().contains(&b' ') {
        b' '
    } else {
        most
    }
}

/// Returns the cells of a line, without surrounding blanks and quotes. Blanks as separators may be repeated.
pub(super) fn cells(line: &[u8], separator: u8) -> Cells<'_> {
    Cells { rest: Some(line), separator }
}

/// See [`cells`].
pub(super) struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.rest?;
        if self.separator == b' ' {
            rest = rest.trim_ascii();
        }
        let quoted = match rest {
            [b'"', inside @ ..] => closing_quote(inside).map_or(0, |at| at + 2),
            _ => 0,
        };
        let cell = match rest[quoted..].iter().position(|&byte| byte == self.separator) {
            Some(at) => {
                self.rest = Some(&rest[quoted + at + 1..]);
                &rest[..quoted + at]
            }
            None => {
                self.rest = None;
                rest
            }
        };
        let cell = cell.trim_ascii();
        Some(cell.strip_prefix(b"\"").and_then(|inside| inside.strip_suffix(b"\"")).unwrap_or(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &[u8]) -> Vec<&[u8]> {
        cells(line, b',').collect()
    }

    #[test]
    fn cells_may_be_quoted_and_empty() {
        assert_eq!(all(b"1, 2 ,\"a,b\",,x"), [&b"1"[..], b"2", b"a,b", b"", b"x"]);
        assert_eq!(all(b"\"open,2"), [&b"\"open"[..], b"2"]);
        assert_eq!(all(b"\"a\"\",b\",\"\",\"\"\"\""), [&b"a\"\",b"[..], b"", b"\"\""]);
        assert_eq!(all(b""), [&b""[..]]);
    }

    /// The columns of a trace whose first line this is.
    fn resolve(map: &ColumnMap, first: &str) -> Result<(Columns, bool), Unresolved> {
        Columns::resolve(map, first.as_bytes(), 512, false)
    }

    fn by_header(header: &str) -> Result<(Columns, bool), Unresolved> {
        resolve(&ColumnMap::default(), header)
    }

    fn problem(found: Result<(Columns, bool), Unresolved>) -> String {
        match found {
            Err(Unresolved::Problem(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    /// The keys that would give the units that are not known.
    fn unknown_units(map: &ColumnMap, first: &str) -> Vec<&'static str> {
        match resolve(map, first) {
            Err(Unresolved::UnknownUnits(columns)) => columns.into_iter().map(|column| column.key).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn request(columns: &mut Columns, line: &str) -> TraceRecord {
        match columns.line(line.as_bytes()) {
            Ok(Step::Request(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    fn named(column: &str) -> Option<ColumnRef> {
        Some(ColumnRef::Name(column.to_owned()))
    }

    #[test]
    fn a_header_decides_columns_units_and_separator() {
        let (mut columns, _) = by_header("Op;LBN;blocks;Timestamp_ms;other").unwrap();
        assert_eq!(request(&mut columns, "read;8;2;1.5;x"), TraceRecord::new(1_500_000, 0, 4096, 1024, Op::Read));
        assert!(!columns.has_responses());
        let (mut columns, _) = by_header("t_ns,offset,bytes,op,response_us,response").unwrap();
        let expected = TraceRecord { response_ns: Some(1500), ..TraceRecord::flush(7, 0) };
        assert_eq!(request(&mut columns, "7,8,2,F,1.5,x"), expected);
        assert_eq!(columns.line(b"7,8,2,R,,x").unwrap_err().field, "response");
        assert!(columns.has_responses());
        let (mut columns, _) = by_header("Time_s  lba   bytes op").unwrap();
        assert_eq!(request(&mut columns, "  0.5    8 512  W "), TraceRecord::new(500_000_000, 0, 4096, 512, Op::Write));
        assert!(problem(by_header("offset,bytes,op")).contains("map `time`"));
        assert!(problem(by_header("t_ns,bytes,op")).contains("map `offset`"));
        assert_eq!(unknown_units(&ColumnMap::default(), "time,offset,bytes,op"), ["time_unit"]);
    }

    #[test]
    fn two_columns_of_one_meaning_are_found() {
        let duplicate = |header: &str| duplicate_meaning(&ColumnMap::default(), &names_of(header.as_bytes()));
        for (header, meaning) in [
            ("t_ns,offset_bytes,bytes,op,Offset_Bytes", "offset"),
            ("t_ns,offset_bytes,lbn,bytes,op", "offset"),
            ("t_ns;timestamp_us;lbn;bytes;op", "arrival"),
            ("t_ns,lbn,size,blocks,op", "length"),
            ("t_ns,lbn,size,op,response_us,response_ms", "response"),
        ] {
            assert_eq!(duplicate(header).unwrap().0, meaning);
        }
        assert_eq!(duplicate("t_ns,LBN,lbn,bytes,op").unwrap().1, ["\"LBN\" (column 1)", "\"lbn\" (column 2)"]);
        assert_eq!(duplicate("t_ns,device,offset_bytes,bytes,op,response_us,x,x"), None);
        assert_eq!(duplicate("t_ns,block,blocks,op"), None);
        let map = ColumnMap { offset: named("lbn"), ..ColumnMap::default() };
        assert_eq!(duplicate_meaning(&map, &names_of(b"t_ns,offset_bytes,lbn,bytes,op")), None);
    }

    #[test]
    fn a_map_decides_columns() {
        let map = ColumnMap {
            time: Some(ColumnRef::Index(0)),
            time_unit: Some(TimeUnit::S),
            offset: Some(ColumnRef::Index(2)),
            length: Some(ColumnRef::Index(3)),
            length_unit: Some(LengthUnit::Bytes),
            op: Some(ColumnRef::Index(1)),
            op_codes: Some(OpCodes::new(["0"], ["1", "3"])),
            ..ColumnMap::default()
        };
        let first = "0.5,1,4096,512";
        let (mut columns, has_header) = resolve(&map, first).unwrap();
        assert!(!has_header);
        assert_eq!(request(&mut columns, first), TraceRecord::new(500_000_000, 0, 4096, 512, Op::Write));
        assert_eq!(request(&mut columns, "0.5,3.0,4096,512").op, Op::Write);
        assert_eq!(columns.line(b"0.5,2,4096,512").unwrap_err().field, "op");
        let beyond = ColumnMap { op: Some(ColumnRef::Index(4)), ..map.clone() };
        assert!(problem(resolve(&beyond, first)).contains("beyond"));
        let by_name = ColumnMap { op: named("kind"), ..map.clone() };
        assert!(resolve(&by_name, "t,KIND,o,l").unwrap().1);
        assert!(problem(resolve(&by_name, "t,KIND,o,kind")).contains("1 or 3"));
        let quoted = ColumnMap { op: named("a \"kind\", too"), ..map.clone() };
        assert_eq!(resolve(&quoted, "t,o,l,\"a \"\"kind\"\", too\"").unwrap().0.op, 3);
        let no_op = ColumnMap { op: None, ..map };
        assert!(problem(resolve(&no_op, first)).contains("every column must be mapped"));
    }

    #[test]
    fn a_column_that_is_not_mapped_is_found_by_its_name() {
        let map = ColumnMap { offset: named("where"), length_unit: Some(LengthUnit::Bytes), ..ColumnMap::default() };
        let (mut columns, _) = resolve(&map, "t_us,disk,where,size,rw").unwrap();
        assert_eq!(request(&mut columns, "2,3,4096,512,R"), TraceRecord::new(2000, 3, 4096, 512, Op::Read));
    }

    #[test]
    fn the_unit_of_a_time_is_the_one_in_its_name() {
        for (name, unit) in [
            ("time_s", Some(TimeUnit::S)),
            ("elapsed_seconds", Some(TimeUnit::S)),
            ("TimeSec", Some(TimeUnit::S)),
            ("time_ms", Some(TimeUnit::Ms)),
            ("TimestampMs", Some(TimeUnit::Ms)),
            ("arrival (msec)", Some(TimeUnit::Ms)),
            ("t_us", Some(TimeUnit::Us)),
            ("time[µs]", Some(TimeUnit::Us)),
            ("timestamp_ns", Some(TimeUnit::Ns)),
            ("FileTime", Some(TimeUnit::Filetime)),
            ("time", None),
            ("timestamp", None),
            ("times", None),
            ("time_minutes", None),
            ("ms_or_us", None),
        ] {
            let map = ColumnMap { time: named(name), ..ColumnMap::default() };
            let first = format!("{name},offset,bytes,op");
            match unit {
                Some(unit) => assert_eq!(resolve(&map, &first).unwrap().0.time, Some((0, unit)), "{name}"),
                None => assert_eq!(unknown_units(&map, &first), ["time_unit"], "{name}"),
            }
            let given = ColumnMap { time_unit: Some(TimeUnit::Ms), ..map };
            assert_eq!(resolve(&given, &first).unwrap().0.time, Some((0, TimeUnit::Ms)), "{name}");
        }
    }

    #[test]
    fn the_unit_of_an_offset_or_a_length_is_the_one_in_its_name() {
        let (bytes, sectors) = (Some(LengthUnit::Bytes), Some(LengthUnit::Sectors));
        for (name, unit) in [
            ("lba", sectors),
            ("StartingLBA", sectors),
            ("sector", sectors),
            ("nr_sectors", sectors),
            ("lbn", sectors),
            ("BlockNo", sectors),
            ("size_blocks", sectors),
            ("offset", bytes),
            ("ByteOffset", bytes),
            ("bytes", bytes),
            ("IO size", bytes),
            ("len_b", bytes),
            ("address", None),
            ("count", None),
            ("offset_kib", None),
            ("pages", None),
            ("block_size", None),
            ("sector_bytes", None),
        ] {
            let of_offset = ColumnMap { offset: named(name), ..ColumnMap::default() };
            let of_length = ColumnMap { length: named(name), ..ColumnMap::default() };
            match unit {
                Some(unit) => {
                    let (columns, _) = resolve(&of_offset, &format!("t_ns,{name},length,op")).unwrap();
                    assert_eq!((columns.offset_unit, columns.length_unit), (unit, LengthUnit::Bytes), "{name}");
                    let (columns, _) = resolve(&of_length, &format!("t_ns,offset_sectors,{name},op")).unwrap();
                    assert_eq!((columns.offset_unit, columns.length_unit), (LengthUnit::Sectors, unit), "{name}");
                }
                None => {
                    assert_eq!(unknown_units(&of_offset, &format!("t_ns,{name},length,op")), ["offset_unit"], "{name}");
                    assert_eq!(
                        unknown_units(&of_length, &format!("t_ns,offset_sectors,{name},op")),
                        ["length_unit"],
                        "{name}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_length_unit_is_also_that_of_an_offset_without_a_unit() {
        let units = |offset: &str, offset_unit, length_unit| {
            let map = ColumnMap { offset: named(offset), offset_unit, length_unit, ..ColumnMap::default() };
            resolve(&map, &format!("t_ns,{offset},length,op"))
                .map(|(columns, _)| (columns.offset_unit, columns.length_unit))
        };
        let (bytes, sectors) = (LengthUnit::Bytes, LengthUnit::Sectors);
        assert_eq!(units("start", None, Some(sectors)).unwrap(), (sectors, sectors));
        assert_eq!(units("start", Some(bytes), Some(sectors)).unwrap(), (bytes, sectors));
        assert_eq!(units("lba", None, Some(bytes)).unwrap(), (sectors, bytes));
        assert_eq!(units("offset", Some(sectors), None).unwrap(), (sectors, bytes));
        // The name implies bytes, the option says sectors.
        assert!(matches!(units("offset", None, Some(sectors)), Err(Unresolved::UnknownUnits(_))));
    }

    #[test]
    fn a_trace_whose_times_are_ignored_needs_none() {
        let map = ColumnMap::default();
        for first in ["lba,bytes,op", "time,lba,bytes,op"] {
            let (columns, _) = Columns::resolve(&map, first.as_bytes(), 512, true).unwrap();
            assert!(!columns.has_times(), "{first}");
        }
    }
}
