//! fio's latency logs of single transfers (`write_lat_log` with `log_offset=1`):
//! `time, latency, direction, bytes, offset[, priority[, issue time]]`.
//!
//! fio documents the time as milliseconds and the latency as nanoseconds, and logs a transfer when it completes. The arrival is
//! therefore the time minus the latency, exact to a millisecond; with `log_issue_time=1` it is the issue time in nanoseconds.
//! Records are sorted by arrival. The latency is the recorded response time. A submission latency (`_slat.` in the file's name) is
//! none, and is not subtracted. Direction 0 is a read and 1 a write; trims (2) are other records.
//!
//! Logs without offsets, averaged logs (`log_avg_msec`), and logs of bandwidth and of operations per second, which only the
//! file's name tells from those of latency, are errors.

use super::error::{BadRecord, FieldFault, Parsed, Remedy, TraceError};
use super::format::{Built, Carries, Entry, Head};
use super::source::{Input, LONGEST_LINE_BYTES};
use super::text::{split, time_ns, unsigned, whole_number, wrong_count, LineParser, Lines, TimeUnit};
use super::{Place, Step, TraceFormat, TraceOptions, TraceRecord};
use crate::request::Op;

/// fio's latency logs in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "fio-log",
    description: "fio latency log with offsets (log_offset=1): time_ms, latency_ns, 0|1, bytes, offset; responses",
    carries: &[Carries::Times, Carries::Completions],
    example: b"12, 10500000, 0, 4096, 249856, 0\n\
        13, 12600000, 1, 8192, 3104768, 0\n\
        14, 250000, 0, 4096, 3534848, 0\n",
    detect: |head| head.accepted(Detection),
    in_sectors: None,
    build,
    write: None,
};

const MOST_FIELDS: usize = 7;
const SHAPE: &str = "time, latency, direction, bytes, offset, priority";
/// The greatest direction: read, write, trim.
const MOST_DIRECTION: u64 = 2;

/// The fields of a line between commas, and their number.
fn fields(line: &[u8]) -> ([&[u8]; MOST_FIELDS], usize) {
    split(line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii))
}

/// A priority: a number, or hexadecimal digits with `log_prio=1`.
fn is_priority(text: &[u8]) -> bool {
    match text.strip_prefix(b"0x") {
        Some(digits) => !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit),
        None => matches!(text, b"0" | b"1"),
    }
}

/// Accepts the lines of a log, with offsets or without. They have a blank behind each comma, as other lists of numbers have not.
struct Detection;

impl LineParser for Detection {
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let (fields, count) = fields(line);
        let numbers = &fields[..count.min(5)];
        let is_log = (4..=MOST_FIELDS).contains(&count)
            && line.windows(2).all(|pair| pair[0] != b',' || pair[1] == b' ')
            && numbers.iter().all(|number| whole_number(number).is_some() || is_priority(number))
            && whole_number(fields[2]).is_some_and(|direction| direction <= MOST_DIRECTION)
            && (count < 6 || is_priority(fields[5]));
        if is_log {
            Ok(Step::Other)
        } else {
            Err(wrong_count(count, 6, SHAPE))
        }
    }
}

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let path = input.part_name();
    let name = path.rsplit(['/', '\\']).next().unwrap_or(&path);
    let head = Head::of(input.peek(LONGEST_LINE_BYTES)?);
    // Of five fields the last is a priority since fio 3.26, and an offset before.
    let has_offset = |line: &&[u8]| match fields(line) {
        (fields, 5) => !is_priority(fields[4]),
        (_, count) => count >= 6,
    };
    let is_without_offsets = !head.lines.is_empty() && !head.lines.iter().any(has_offset);
    let wrong = |field: &'static str, expected: &'static str, found: &str, remedy| {
        Err(Box::new(TraceError::BadRecord(Box::new(BadRecord {
            file: input.name().to_owned(),
            place: Place::Line(1),
            format: TraceFormat::FioLog,
            field: field.into(),
            expected: expected.into(),
            found: found.to_owned(),
            remedy: Remedy::Other(remedy),
        }))))
    };
    if ["_bw.", "_iops."].iter().any(|part| name.contains(part)) {
        let found = "bandwidths or operations per second, by the file's name";
        return wrong("latency", "latencies", found, "give the log of latencies, `_lat.`");
    }
    if is_without_offsets {
        return wrong("offset", "offsets of the transfers", "none", "record it again with fio's option log_offset=1");
    }
    let has_responses = !name.contains("_slat.");
    let sector_bytes = options.sector_bytes.unwrap_or(super::DEFAULT_SECTOR_BYTES);
    Ok(Box::new(Lines(FioLog { has_responses, sector_bytes })))
}

struct FioLog {
    has_responses: bool,
    sector_bytes: u32,
}

impl LineParser for FioLog {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let (fields, count) = fields(line);
        if !(5..=MOST_FIELDS).contains(&count) {
            return Err(wrong_count(count, 6, SHAPE));
        }
        let completed_ns = time_ns("time", fields[0], TimeUnit::Ms)?;
        let latency_ns = time_ns("latency", fields[1], TimeUnit::Ns)?;
        let op = match unsigned("direction", fields[2])? {
            0 => Some(Op::Read),
            1 => Some(Op::Write),
            MOST_DIRECTION => None,
            _ => return Err(FieldFault::text("direction", "0 (read), 1 (write) or 2 (trim)", fields[2])),
        };
        let bytes = unsigned("bytes", fields[3])?;
        let offset_bytes = unsigned("offset", fields[4])?;
        if count >= 6 && !is_priority(fields[5]) {
            return Err(FieldFault::text("priority", "0, 1 or hexadecimal digits", fields[5]));
        }
        let issued_ns = match fields[6] {
            [] => 0,
            text => time_ns("issue time", text, TimeUnit::Ns)?,
        };
        let Some(op) = op else { return Ok(Step::Other) };
        if bytes == 0 {
            let expected = "the bytes of one transfer; averaged logs have none: record without log_avg_msec";
            return Err(FieldFault::text("bytes", expected, fields[3]));
        }
        let arrived_ns = match issued_ns {
            0 if self.has_responses => completed_ns.saturating_sub(latency_ns),
            0 => completed_ns,
            issued_ns => issued_ns,
        };
        let response_ns = self.has_responses.then_some(latency_ns);
        let record = TraceRecord { response_ns, ..TraceRecord::new(arrived_ns, 0, offset_bytes, bytes, op) };
        Ok(Step::Request(record))
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn has_responses(&self) -> bool {
        self.has_responses
    }

    fn units(&self) -> Option<String> {
        Some("times in ms, latencies in ns, addresses in bytes".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, has_responses: bool) -> Parsed<Step> {
        FioLog { has_responses, sector_bytes: 512 }.line(line.as_bytes())
    }

    #[test]
    fn a_transfer_arrives_its_latency_before_it_completes() {
        for (line, has_responses, arrived_ns, response_ns) in [
            ("12, 10500000, 0, 4096, 249856, 0", true, 1_500_000, Some(10_500_000)),
            ("12, 1.05e7, 0, 4096.0, 249856, 0x2004", true, 1_500_000, Some(10_500_000)),
            ("12, 10500000, 0, 4096, 249856", true, 1_500_000, Some(10_500_000)),
            ("12, 10500000, 0, 4096, 249856, 0, 1234567", true, 1_234_567, Some(10_500_000)),
            ("12, 10500000, 0, 4096, 249856, 0", false, 12_000_000, None),
            // The time is cut to milliseconds.
            ("0, 253081, 0, 4096, 249856, 0", true, 0, Some(253_081)),
        ] {
            let Ok(Step::Request(record)) = parse(line, has_responses) else { panic!("{line}") };
            let expected = TraceRecord { response_ns, ..TraceRecord::new(arrived_ns, 0, 249_856, 4096, Op::Read) };
            assert_eq!(record, expected, "{line}");
        }
        assert!(matches!(parse("12, 5, 2, 4096, 0, 0", true), Ok(Step::Other)));
    }

    #[test]
    fn wrong_fields_are_named() {
        for (line, field) in [
            ("x, 5, 0, 4096, 0, 0", "time"),
            ("1, x, 0, 4096, 0, 0", "latency"),
            ("1, 5, 3, 4096, 0, 0", "direction"),
            ("1, 5, 0, 0, 0, 0", "bytes"),
            ("1, 5, 0, 4096, x, 0", "offset"),
            ("1, 5, 0, 4096, 0, x", "priority"),
            ("1, 5, 0, 4096, 0, 0, x", "issue time"),
            ("1, 5, 0, 4096", "line"),
        ] {
            assert_eq!(parse(line, true).unwrap_err().field, field, "{line}");
        }
    }
}
