//! CSV traces: columns named by a header, or mapped by the user; and the engine of every format that is plain CSV.
//!
//! The canonical form, which [`super::write`] writes, is `t_ns,device,offset_bytes,bytes,op`. Of another header these
//! names are understood, in any case and order, further columns being ignored:
//!
//! | meaning | names |
//! | --- | --- |
//! | arrival | `t`, `time`, `timestamp`, `ts` or `arrival`, then `_ns`, `_us`, `_ms` or `_s` |
//! | device (0 without one) | `device`, `device_id`, `dev`, `devno`, `disk`, `volume`, `asu` |
//! | offset in bytes | `offset_bytes`, `offset`, `byte_offset` |
//! | offset in sectors | `lbn`, `lba`, `sector`, `block`, `blkno`, `offset_sectors` |
//! | length in bytes | `bytes`, `length`, `length_bytes`, `size`, `size_bytes` |
//! | length in sectors | `blocks`, `sectors`, `length_sectors`, `size_sectors` |
//! | operation | `op`, `operation`, `opcode`, `type`, `rw` |
//! | what it took, from arrival to completion (not known without one) | `response`, then `_ns`, `_us`, `_ms` or `_s` |
//!
//! An operation is `R` or `read`, `W` or `write`, `WF` for a write that has to be on the medium when it completes, or `F` or
//! `flush`, whose offset and length mean nothing.
//!
//! Cells are separated by commas, semicolons or tabs, whichever the first line has most of; a cell may stand in double
//! quotes. The first line is taken for a header when columns are named, and, when they are given by position, if no cell
//! of it begins with a digit.

use super::error::{excerpt, Failure, FieldFault, Parsed, Place, TraceError};
use super::format::{Built, Carries, Entry, Head, Writing};
use super::options::{ColumnMap, ColumnRef, LengthUnit};
use super::source::{Input, LONGEST_LINE_BYTES};
use super::text::{
    closing, is_called, operation, sectors_to_bytes, split, time_ns, whole, wrong_count, LineParser, Lines, TimeUnit,
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
            };
            put(format_args!("{},{device},{offset_bytes},{bytes},{op}\n", record.time.ns()))
        },
    }),
};

/// Columns of a trace that are looked at; one further to the right cannot be mapped.
pub(super) const MOST_COLUMNS: usize = 32;
const TIME_NAMES: [&str; 5] = ["t", "time", "timestamp", "ts", "arrival"];
const RESPONSE_NAMES: [&str; 1] = ["response"];
const TIME_UNITS: [(&str, TimeUnit); 4] =
    [("_ns", TimeUnit::Ns), ("_us", TimeUnit::Us), ("_ms", TimeUnit::Ms), ("_s", TimeUnit::S)];
const DEVICE_NAMES: [&str; 7] = ["device", "device_id", "dev", "devno", "disk", "volume", "asu"];
const OFFSET_BYTES_NAMES: [&str; 3] = ["offset_bytes", "offset", "byte_offset"];
const OFFSET_SECTORS_NAMES: [&str; 6] = ["lbn", "lba", "sector", "block", "blkno", "offset_sectors"];
const LENGTH_BYTES_NAMES: [&str; 5] = ["bytes", "length", "length_bytes", "size", "size_bytes"];
const LENGTH_SECTORS_NAMES: [&str; 4] = ["blocks", "sectors", "length_sectors", "size_sectors"];
const OP_NAMES: [&str; 5] = ["op", "operation", "opcode", "type", "rw"];

fn detect(head: &Head) -> usize {
    let Some((header, rest)) = head.lines.split_first() else { return 0 };
    match Columns::of_header(header, DEFAULT_SECTOR_BYTES) {
        Ok(mut columns) => 1 + rest.iter().filter(|line| columns.line(line).is_ok()).count(),
        Err(_) => 0,
    }
}

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let sector_bytes = options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES);
    let first = first_line(input)?;
    let resolved = match &options.columns {
        None => {
            let file = input.name().to_owned();
            if let Some((meaning, columns)) = twice(&first) {
                return Err(Box::new(TraceError::TwoColumns { file, meaning, columns }));
            }
            Columns::of_header(&first, sector_bytes).map(|columns| (columns, true))
        }
        Some(map) => Columns::of_map(map, &first, sector_bytes),
    };
    let (columns, has_header) = resolved.map_err(|problem| {
        Box::new(TraceError::Option {
            file: input.name().to_owned(),
            place: Place::Line(1),
            option: "columns",
            problem,
        })
    })?;
    if has_header {
        pass_line(input)?;
    }
    Ok(Box::new(Lines(columns)))
}

/// What a header names two columns of, and these: which of both is meant, it does not say.
fn twice(header: &[u8]) -> Option<(&'static str, [String; 2])> {
    let names: Vec<String> =
        cells(header, separator(header)).map(|cell| String::from_utf8_lossy(cell).to_lowercase()).collect();
    let is_one_of = |name: &str, wanted: [&[&str]; 2]| wanted.iter().any(|names| names.contains(&name));
    let means = |name: &str| match name {
        _ if time_unit(name, &TIME_NAMES).is_some() => Some("arrival"),
        _ if time_unit(name, &RESPONSE_NAMES).is_some() => Some("response"),
        _ if is_one_of(name, [&DEVICE_NAMES, &[]]) => Some("device"),
        _ if is_one_of(name, [&OFFSET_BYTES_NAMES, &OFFSET_SECTORS_NAMES]) => Some("offset"),
        _ if is_one_of(name, [&LENGTH_BYTES_NAMES, &LENGTH_SECTORS_NAMES]) => Some("length"),
        _ if is_one_of(name, [&OP_NAMES, &[]]) => Some("operation"),
        _ => None,
    };
    let meanings: Vec<_> = names.iter().map(|name| means(name)).collect();
    (0..names.len()).find_map(|other| {
        let meaning = meanings[other]?;
        let one = meanings[..other].iter().position(|&each| each == Some(meaning))?;
        let shown = |index: usize| format!("{} (column {index})", excerpt(names[index].as_bytes()));
        Some((meaning, [shown(one), shown(other)]))
    })
}

/// The first line that is not blank, without moving on; empty at the end of the content.
fn first_line(input: &mut Input) -> Result<Vec<u8>, Box<TraceError>> {
    let head = Head::of(input.peek(LONGEST_LINE_BYTES)?);
    Ok(head.lines.first().map_or_else(Vec::new, |line| line.to_vec()))
}

/// Moves behind the first line that is not blank.
fn pass_line(input: &mut Input) -> Result<(), Box<TraceError>> {
    loop {
        match input.line() {
            Ok(Some(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
            Err(Failure::Fatal(error)) => return Err(error),
            // Too long a line is met again, and reported, by whoever reads the first record.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
}

/// A parser for a format that is CSV with fixed columns, behind an optional header.
pub(super) fn preset(input: &mut Input, columns: Columns) -> Built {
    pass_header(input, columns.separator)?;
    Ok(Box::new(Lines(columns)))
}

/// Moves behind a header, if there is one.
pub(super) fn pass_header(input: &mut Input, separator: u8) -> Result<(), Box<TraceError>> {
    if is_header(&first_line(input)?, separator) {
        pass_line(input)?;
    }
    Ok(())
}

/// Whether no cell of a line begins with a digit.
fn is_header(line: &[u8], separator: u8) -> bool {
    !line.is_empty() && !cells(line, separator).any(|cell| cell.first().is_some_and(u8::is_ascii_digit))
}

/// How many cells a line must have.
#[derive(Clone, Copy, Debug)]
pub(super) enum CellCount {
    /// So many.
    Exactly(usize),
    /// So many or more.
    AtLeast(usize),
}

/// Where a CSV trace keeps what.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub separator: u8,
    pub count: CellCount,
    /// What a line looks like, for messages.
    pub shape: &'static str,
    pub time: usize,
    pub time_unit: TimeUnit,
    /// What a request took, and its unit.
    pub response: Option<(usize, TimeUnit)>,
    pub device: Option<usize>,
    pub offset: usize,
    pub offset_unit: LengthUnit,
    pub length: usize,
    pub length_unit: LengthUnit,
    pub op: usize,
    pub op_values: Option<(String, String)>,
    /// Whether an operation may be a flush, or a write that has to be on the medium when it completes.
    pub may_flush: bool,
    pub sector_bytes: u32,
}

impl Columns {
    /// As a header names them; or why it does not.
    fn of_header(header: &[u8], sector_bytes: u32) -> Result<Self, String> {
        let separator = separator(header);
        let names: Vec<String> =
            cells(header, separator).map(|cell| String::from_utf8_lossy(cell).to_lowercase()).collect();
        let find = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let lacks = |what: &str, wanted: &str| {
            format!("the header {} names no {what} ({wanted}); map the columns or name another format", excerpt(header))
        };
        let find_time = |stems: &[&str]| {
            names.iter().enumerate().find_map(|(index, name)| time_unit(name, stems).map(|unit| (index, unit)))
        };
        let (time, time_unit) =
            find_time(&TIME_NAMES).ok_or_else(|| lacks("arrival", "such as t_ns or timestamp_us"))?;
        let either = |in_bytes: &[&str], in_sectors: &[&str]| {
            find(in_bytes)
                .map(|index| (index, LengthUnit::Bytes))
                .or_else(|| find(in_sectors).map(|index| (index, LengthUnit::Sectors)))
        };
        let (offset, offset_unit) = either(&OFFSET_BYTES_NAMES, &OFFSET_SECTORS_NAMES)
            .ok_or_else(|| lacks("offset", "such as offset_bytes or lbn"))?;
        let (length, length_unit) = either(&LENGTH_BYTES_NAMES, &LENGTH_SECTORS_NAMES)
            .ok_or_else(|| lacks("length", "such as bytes or blocks"))?;
        let op = find(&OP_NAMES).ok_or_else(|| lacks("operation", "such as op"))?;
        let columns = Self {
            separator,
            count: CellCount::Exactly(names.len()),
            shape: "as in the header",
            time,
            time_unit,
            response: find_time(&RESPONSE_NAMES),
            device: find(&DEVICE_NAMES),
            offset,
            offset_unit,
            length,
            length_unit,
            op,
            op_values: None,
            may_flush: true,
            sector_bytes,
        };
        columns.bounded()
    }

    /// As the user maps them, and whether the first line is a header; or why that does not work.
    fn of_map(map: &ColumnMap, first: &[u8], sector_bytes: u32) -> Result<(Self, bool), String> {
        let separator = separator(first);
        let names: Vec<String> =
            cells(first, separator).map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        let find = |column: &ColumnRef| match column {
            ColumnRef::Index(index) if *index < names.len() => Ok(*index),
            ColumnRef::Name(wanted) => {
                let mut named = (0..names.len()).filter(|&index| is_called(&names[index], wanted));
                match (named.next(), named.next()) {
                    (Some(only), None) => Ok(only),
                    (Some(one), Some(other)) => Err(format!(
                        "column {column} is in the first line {} twice: give the number of the one that is meant, \
                         {one} or {other} (from 0)",
                        excerpt(first)
                    )),
                    (None, _) => Err(format!("column {column} is not in the first line {}", excerpt(first))),
                }
            }
            ColumnRef::Index(_) => Err(format!("column {column} is beyond the {} of the first line", names.len())),
        };
        let mentioned = [Some(&map.time), map.device.as_ref(), Some(&map.offset), Some(&map.length), Some(&map.op)];
        let is_named = mentioned.into_iter().flatten().any(|column| matches!(column, ColumnRef::Name(_)));
        let columns = Self {
            separator,
            count: CellCount::Exactly(names.len()),
            shape: "as in the first line",
            time: find(&map.time)?,
            time_unit: map.time_unit,
            response: None,
            device: map.device.as_ref().map(find).transpose()?,
            offset: find(&map.offset)?,
            offset_unit: map.offset_unit,
            length: find(&map.length)?,
            length_unit: map.length_unit,
            op: find(&map.op)?,
            op_values: map.op_values.clone(),
            may_flush: map.op_values.is_none(),
            sector_bytes,
        };
        Ok((columns.bounded()?, is_named || is_header(first, separator)))
    }

    /// Itself, if no column stands too far to the right.
    fn bounded(self) -> Result<Self, String> {
        let response = self.response.map(|(column, _)| column);
        let used = [Some(self.time), response, self.device, Some(self.offset), Some(self.length), Some(self.op)];
        match used.into_iter().flatten().max() {
            Some(last) if last >= MOST_COLUMNS => {
                Err(format!("column {last} (from 0) is beyond the first {MOST_COLUMNS}, which are looked at"))
            }
            _ => Ok(self),
        }
    }

    fn op(&self, cell: &[u8]) -> Parsed<(Op, Flags)> {
        let plain = |op| (op, Flags::NONE);
        match &self.op_values {
            None if self.may_flush && cell.eq_ignore_ascii_case(b"WF") => Ok((Op::Write, Flags::DURABLE)),
            None if self.may_flush && is_flush(cell) => Ok(plain(Op::Flush)),
            None if self.may_flush => match operation("op", cell) {
                Ok(op) => Ok(plain(op)),
                Err(_) => Err(FieldFault::text("op", "R, W, WF, F, read, write or flush", cell)),
            },
            None => operation("op", cell).map(plain),
            Some((read, _)) if cell == read.as_bytes() => Ok(plain(Op::Read)),
            Some((_, write)) if cell == write.as_bytes() => Ok(plain(Op::Write)),
            Some((read, write)) => Err(FieldFault::text("op", format!("{read} (read) or {write} (write)"), cell)),
        }
    }

    fn bytes(&self, field: &'static str, cell: &[u8], unit: LengthUnit) -> Parsed<u64> {
        let value = whole(field, cell)?;
        match unit {
            LengthUnit::Bytes => Ok(value),
            LengthUnit::Sectors => sectors_to_bytes(field, value, self.sector_bytes),
        }
    }
}

impl LineParser for Columns {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let (found, count) = split::<MOST_COLUMNS>(cells(line, self.separator));
        match self.count {
            CellCount::Exactly(wanted) if count != wanted => return Err(wrong_count(count, wanted, self.shape, line)),
            CellCount::AtLeast(wanted) if count < wanted => return Err(wrong_count(count, wanted, self.shape, line)),
            _ => {}
        }
        let at_ns = time_ns("time", found[self.time], self.time_unit)?;
        let device = self.device.map_or(Ok(0), |column| device(found[column]))?;
        let offset_bytes = self.bytes("offset", found[self.offset], self.offset_unit)?;
        let bytes = self.bytes("length", found[self.length], self.length_unit)?;
        let response_ns = self.response.map(|(column, unit)| time_ns("response", found[column], unit)).transpose()?;
        Ok(Step::Request(match self.op(found[self.op])? {
            (Op::Flush, _) => TraceRecord { response_ns, ..TraceRecord::flush(at_ns, device) },
            (op, flags) => {
                TraceRecord { flags, response_ns, ..TraceRecord::new(at_ns, device, offset_bytes, bytes, op) }
            }
        }))
    }

    fn has_responses(&self) -> bool {
        self.response.is_some()
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }
}

fn is_flush(cell: &[u8]) -> bool {
    cell.eq_ignore_ascii_case(b"F") || cell.eq_ignore_ascii_case(b"flush")
}

/// A device number.
fn device(cell: &[u8]) -> Parsed<u32> {
    let number = whole("device", cell).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| FieldFault::text("device", "an unsigned integer below 2^32", cell))
}

/// The unit in the name of a column of times, which begins with one of `stems`; `None` if it is no such name.
fn time_unit(name: &str, stems: &[&str]) -> Option<TimeUnit> {
    TIME_UNITS
        .iter()
        .find(|(suffix, _)| name.strip_suffix(suffix).is_some_and(|stem| stems.contains(&stem)))
        .map(|&(_, unit)| unit)
}

/// What separates the cells of a line: whichever it has most of.
fn separator(line: &[u8]) -> u8 {
    let count = |wanted: u8| line.iter().filter(|&&byte| byte == wanted).count();
    // The last of several equal ones is taken.
    [b'\t', b';', b','].into_iter().max_by_key(|&wanted| count(wanted)).unwrap_or(b',')
}

/// The cells of a line, without blanks around them and without their quotes.
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
        let rest = self.rest?;
        let quoted = match rest {
            [b'"', inside @ ..] => closing(inside).map_or(0, |at| at + 2),
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

    #[test]
    fn a_header_decides_columns_units_and_separator() {
        let mut columns = Columns::of_header(b"Op;LBN;blocks;Timestamp_ms;other", 512).unwrap();
        let Ok(Step::Request(record)) = columns.line(b"read;8;2;1.5;x") else { panic!("no request") };
        assert_eq!(record, TraceRecord::new(1_500_000, 0, 4096, 1024, Op::Read));
        assert!(!columns.has_responses());
        let mut columns = Columns::of_header(b"t_ns,offset,bytes,op,response_us,response", 512).unwrap();
        let Ok(Step::Request(record)) = columns.line(b"7,8,2,F,1.5,x") else { panic!("no request") };
        assert_eq!(record, TraceRecord { response_ns: Some(1500), ..TraceRecord::flush(7, 0) });
        assert_eq!(columns.line(b"7,8,2,R,,x").unwrap_err().field, "response");
        assert!(columns.has_responses());
        assert!(Columns::of_header(b"time,offset,bytes,op", 512).unwrap_err().contains("arrival"));
        assert!(Columns::of_header(b"t_ns,bytes,op", 512).unwrap_err().contains("offset"));
    }

    #[test]
    fn two_columns_of_one_meaning_are_seen() {
        let cases: [(&[u8], &str); 5] = [
            (b"t_ns,offset_bytes,bytes,op,Offset_Bytes", "offset"),
            (b"t_ns,offset_bytes,lbn,bytes,op", "offset"),
            (b"t_ns;timestamp_us;lbn;bytes;op", "arrival"),
            (b"t_ns,lbn,size,blocks,op", "length"),
            (b"t_ns,lbn,size,op,response_us,response_ms", "response"),
        ];
        for (header, meaning) in cases {
            assert_eq!(twice(header).unwrap().0, meaning);
        }
        assert_eq!(twice(b"t_ns,LBN,lbn,bytes,op").unwrap().1, ["\"lbn\" (column 1)", "\"lbn\" (column 2)"]);
        assert_eq!(twice(b"t_ns,device,offset_bytes,bytes,op,response_us,x,x"), None);
        assert_eq!(twice(b"t_ns,block,blocks,op"), None);
    }

    #[test]
    fn a_map_decides_columns() {
        let map = ColumnMap {
            time: ColumnRef::Index(0),
            time_unit: TimeUnit::S,
            device: None,
            offset: ColumnRef::Index(2),
            offset_unit: LengthUnit::Bytes,
            length: ColumnRef::Index(3),
            length_unit: LengthUnit::Bytes,
            op: ColumnRef::Index(1),
            op_values: Some(("0".to_owned(), "1".to_owned())),
        };
        let (mut columns, has_header) = Columns::of_map(&map, b"0.5,1,4096,512", 512).unwrap();
        assert!(!has_header);
        let Ok(Step::Request(record)) = columns.line(b"0.5,1,4096,512") else { panic!("no request") };
        assert_eq!(record, TraceRecord::new(500_000_000, 0, 4096, 512, Op::Write));
        assert_eq!(columns.line(b"0.5,2,4096,512").unwrap_err().field, "op");
        let beyond = ColumnMap { op: ColumnRef::Index(4), ..map.clone() };
        assert!(Columns::of_map(&beyond, b"0.5,1,4096,512", 512).unwrap_err().contains("beyond"));
        let named = ColumnMap { op: ColumnRef::Name("kind".to_owned()), ..map.clone() };
        assert!(Columns::of_map(&named, b"t,KIND,o,l", 512).unwrap().1);
        let quoted = ColumnMap { op: ColumnRef::Name("a \"kind\", too".to_owned()), ..map };
        assert_eq!(Columns::of_map(&quoted, b"t,o,l,\"a \"\"kind\"\", too\"", 512).unwrap().0.op, 3);
        assert!(Columns::of_map(&named, b"t,KIND,o,kind", 512).unwrap_err().contains("1 or 3"));
    }
}
