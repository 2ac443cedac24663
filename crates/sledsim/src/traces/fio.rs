//! fio's iolog, versions 2 and 3: a line `fio version N iolog`, then one action a line.
//!
//! Version 2 has `file action [offset length]`; version 3 puts a timestamp in front. Offset and length are in bytes.
//! `read` and `write` are requests, `sync` and `datasync` are flushes. A `trim` is a reset of zones, as in trim jobs with
//! `zonemode=zbd`; trims of other drives can't be told apart from it. File actions, waits and `sync_file_range`, which flushes no
//! device, are other records.
//!
//! Timestamps of version 3 are microseconds: fio writes and reads them so (`utime_since_now` in its iolog.c). A log that
//! another program wrote in another unit is read with [`super::TraceOptions::fio_time_unit`]. Version 2 has no times: every
//! record stands at 0, and its waits are not added up. A file's device is its number in the order of first appearance.

use super::error::{BadRecord, Failure, FieldFault, Parsed, Place, Remedy, TraceError};
use super::format::{Built, Carries, Entry, CERTAIN};
use super::intern::Names;
use super::source::Input;
use super::text::{split, time_ns, unsigned, words, wrong_count, LineParser, Lines, TimeUnit};
use super::{Step, TraceFormat, TraceOptions, TraceRecord};
use crate::request::Op;

/// fio's iolog in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "fio",
    description: "fio iolog, version 2 (without times) and 3 (times in us)",
    carries: &[Carries::Times, Carries::Ticks, Carries::Flushes],
    example: b"fio version 3 iolog\n\
        0 /dev/sda add\n\
        0 /dev/sda open\n\
        2000 /dev/sda write 0 16384\n\
        7000 /dev/sda read 65536 4096\n\
        9000 /dev/sda write 16384 4096\n\
        12000 /dev/sda close\n",
    detect: |head| if head.lines.first().is_some_and(|line| line.starts_with(b"fio version ")) { CERTAIN } else { 0 },
    in_sectors: None,
    build,
    write: None,
};

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let header = match input.line() {
        Ok(line) => line.unwrap_or(&[]).to_vec(),
        Err(Failure::Fatal(error)) => return Err(error),
        Err(Failure::Bad(fault) | Failure::Lost(_, fault)) => fault.found.into_bytes(),
    };
    let has_times = match header.trim_ascii() {
        b"fio version 2 iolog" => false,
        b"fio version 3 iolog" => true,
        _ => {
            return Err(Box::new(TraceError::BadRecord(Box::new(BadRecord {
                file: input.name().to_owned(),
                place: Place::Line(1),
                format: TraceFormat::Fio,
                field: "header".into(),
                expected: "`fio version 2 iolog` or `fio version 3 iolog`".into(),
                found: "another line".to_owned(),
                remedy: Remedy::RestoreHeader,
            }))));
        }
    };
    let unit = options.fio_time_unit.unwrap_or(TimeUnit::Us);
    Ok(Box::new(Lines(Fio { has_times, unit, files: Names::default() })))
}

struct Fio {
    /// Version 3.
    has_times: bool,
    unit: TimeUnit,
    files: Names,
}

impl LineParser for Fio {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let mut parts = words(line);
        let time_ns = if self.has_times { time_ns("timestamp", parts.next().unwrap_or(&[]), self.unit)? } else { 0 };
        let ([file, action, offset, length], count) = split::<4>(parts);
        if count != 2 && count != 4 {
            let shape =
                if self.has_times { "timestamp file action [offset length]" } else { "file action [offset length]" };
            let times = usize::from(self.has_times);
            return Err(wrong_count(count + times, 4 + times, shape));
        }
        let device = self.files.number("file", file)?;
        let op = match (action, count) {
            (b"read", 4) => Op::Read,
            (b"write", 4) => Op::Write,
            (b"trim", 4) => Op::Reset,
            (b"add" | b"open" | b"close", 2) => return Ok(Step::Other),
            (b"sync" | b"datasync", 4) => return Ok(Step::Request(TraceRecord::flush(time_ns, device))),
            (b"sync_file_range", 4) => return Ok(Step::Other),
            (b"wait", 4) if !self.has_times => return Ok(Step::Other),
            _ => {
                let expected = "read, write, sync, datasync, trim (and wait, in version 2) with offset and length, or \
                                add, open, close without";
                return Err(FieldFault::text("action", expected, action));
            }
        };
        Ok(Step::Request(TraceRecord::new(
            time_ns,
            device,
            unsigned("offset", offset)?,
            unsigned("length", length)?,
            op,
        )))
    }

    fn has_times(&self) -> bool {
        self.has_times
    }

    fn units(&self) -> Option<String> {
        Some(if self.has_times {
            format!("times in {}, addresses in bytes", self.unit)
        } else {
            "addresses in bytes".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parser(has_times: bool, unit: TimeUnit) -> Fio {
        Fio { has_times, unit, files: Names::default() }
    }

    #[test]
    fn version_3_times_are_in_the_given_unit() {
        for (unit, ns) in [(TimeUnit::Ms, 878_000_000), (TimeUnit::Us, 878_000)] {
            let mut parser = parser(true, unit);
            assert!(matches!(parser.line(b"2 /dev/sda add"), Ok(Step::Other)));
            assert!(matches!(parser.line(b"3 /dev/sdb add"), Ok(Step::Other)));
            let Ok(Step::Request(record)) = parser.line(b"878 /dev/sdb write 8192 16384") else { panic!("no request") };
            assert_eq!(record, TraceRecord::new(ns, 1, 8192, 16_384, Op::Write));
        }
    }

    #[test]
    fn version_2_has_none() {
        let mut parser = parser(false, TimeUnit::Ms);
        assert!(matches!(parser.line(b"f wait 100 0"), Ok(Step::Other)));
        let Ok(Step::Request(record)) = parser.line(b"f read 0 4096") else { panic!("no request") };
        assert_eq!(record, TraceRecord::new(0, 0, 0, 4096, Op::Read));
    }

    #[test]
    fn wrong_fields_are_named() {
        for (line, field) in [
            (&b"x f read 0 512"[..], "timestamp"),
            (b"1 f wait 0 0", "action"),
            (b"1 f reed 0 512", "action"),
            (b"1 f read", "action"),
            (b"1 f read x 512", "offset"),
            (b"1 f read 0 5k", "length"),
            (b"1 f read 0", "line"),
        ] {
            assert_eq!(parser(true, TimeUnit::Ms).line(line).unwrap_err().field, field);
        }
    }
}
