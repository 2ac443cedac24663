//! The text that `blkparse` prints by default, one event a line:
//! `major,minor cpu sequence seconds pid action rwbs sector + blocks [process]`, sectors of 512 bytes.
//!
//! The arrival is the event `Q` (queued), or `D` (issued to the driver) when asked for (the key `event`). Of `rwbs`, `R` is a read and `W`
//! a write; `F` before that letter is a flush, which comes before the data if there are any, and `F` behind it is forced unit
//! access: the write has to be on the medium when it completes. `D` (discard) and `N` (none) are no requests. `M` is metadata; somebody waits for `S`
//! and for every read but read-ahead (`A`), as Linux has it. Other events and the statistics at the end are counted as
//! other records. The device is Linux's number: major × 2^20 + minor.

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry};
use super::options::BlkparseEvent;
use super::text::{digits, sectors_to_bytes, time_ns, unsigned, words, wrong_count, LineParser, Lines, TimeUnit};
use super::{Step, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::{Flags, Op};

/// blkparse in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "blkparse",
    description: "blkparse default text output, Q or D events",
    carries: &[Carries::Times, Carries::Metadata, Carries::Events, Carries::Flushes],
    example: b"8,0 3 1 0.000000000 697 Q W 223490 + 8 [dd]\n\
        8,0 3 2 0.000001829 697 G W 223490 + 8 [dd]\n\
        8,0 3 3 0.009507758 697 Q R 64 + 16 [dd]\n\
        8,0 3 4 0.019507758 0 C R 64 + 16 [0]\n\
        8,0 3 5 0.020000000 697 Q WS 223498 + 8 [dd]\n",
    detect: |head| head.accepted(Blkparse::new(BlkparseEvent::Queued, DEFAULT_SECTOR_BYTES)),
    in_sectors: None,
    build: |_, options| {
        let sector_bytes = options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES);
        Ok(Box::new(Lines(Blkparse::new(options.blkparse_event, sector_bytes))))
    },
    write: None,
};

/// Every action that blkparse prints.
const ACTIONS: [&[u8]; 17] =
    [b"A", b"B", b"C", b"D", b"F", b"G", b"I", b"M", b"P", b"Q", b"R", b"S", b"T", b"U", b"UT", b"X", b"m"];
const MINOR_BITS: u32 = 20;
const MAJORS: u64 = 1 << 12;
const SHAPE: &str = "major,minor cpu sequence seconds pid action rwbs";

struct Blkparse {
    event: &'static [u8],
    sector_bytes: u32,
    /// Whether the statistics at the end have begun.
    in_statistics: bool,
}

impl Blkparse {
    const fn new(event: BlkparseEvent, sector_bytes: u32) -> Self {
        let event: &[u8] = match event {
            BlkparseEvent::Queued => b"Q",
            BlkparseEvent::Dispatched => b"D",
        };
        Self { event, sector_bytes, in_statistics: false }
    }
}

impl LineParser for Blkparse {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let mut words = words(line);
        let first = words.next().unwrap_or(&[]);
        if begins_statistics(first, words.clone().next()) {
            self.in_statistics = true;
        }
        if self.in_statistics {
            return match device(first) {
                Err(_) => Ok(Step::Other),
                Ok(_) => Err(FieldFault::text("line", "nothing but statistics after their beginning", line)),
            };
        }
        // Every event names one process or error at the most: a damaged line end would hide the record behind it.
        if line.iter().filter(|&&byte| byte == b']').count() > 1 {
            return Err(FieldFault::text("line", "one event", line));
        }
        let device = device(first)?;
        let mut next = || words.next().ok_or_else(|| wrong_count(super::text::words(line).count(), 7, SHAPE, line));
        unsigned("cpu", next()?)?;
        unsigned("sequence", next()?)?;
        let time_ns = time_ns("seconds", next()?, TimeUnit::S)?;
        unsigned("pid", next()?)?;
        let (action, rwbs) = (next()?, next()?);
        if !ACTIONS.contains(&action) {
            return Err(FieldFault::text("action", "one of blkparse's actions, such as Q, D or C", action));
        }
        if !rwbs.iter().all(u8::is_ascii_uppercase) {
            return Err(FieldFault::text("rwbs", "upper-case letters, such as R, WS or FWFS", rwbs));
        }
        if action != self.event || rwbs.contains(&b'D') {
            return Ok(Step::Other);
        }
        let flushes = rwbs.starts_with(b"F");
        let alone = if flushes { Step::Request(TraceRecord::flush(time_ns, device)) } else { Step::Other };
        let Some(op) = op(rwbs) else { return Ok(alone) };
        let Some(sector) = words.next().filter(|word| !word.starts_with(b"[")) else { return Ok(alone) };
        let offset_bytes = sectors_to_bytes("sector", unsigned("sector", sector)?, self.sector_bytes)?;
        if words.next() != Some(b"+") {
            return Err(FieldFault::text("line", "`sector + blocks`", line));
        }
        let bytes = sectors_to_bytes("blocks", unsigned("blocks", words.next().unwrap_or(&[]))?, self.sector_bytes)?;
        if flushes && bytes == 0 {
            return Ok(alone);
        }
        let flags = flags(rwbs, op);
        let record = TraceRecord { flags, ..TraceRecord::new(time_ns, device, offset_bytes, bytes, op) };
        Ok(if flushes { Step::FlushAnd(record) } else { Step::Request(record) })
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }
}

/// Whether the statistics begin here: `CPU0 (sda):` or `Total (sda):`.
fn begins_statistics(first: &[u8], second: Option<&[u8]>) -> bool {
    let is_title = first == b"Total" || first.strip_prefix(b"CPU").is_some_and(|number| digits(number).is_some());
    is_title && second.is_some_and(|word| word.starts_with(b"("))
}

/// Linux's device number.
fn device(text: &[u8]) -> Parsed<u32> {
    let comma = text.iter().position(|&byte| byte == b',').unwrap_or(text.len());
    let major = digits(&text[..comma]).filter(|&major| major < MAJORS);
    let minor = text.get(comma + 1..).and_then(digits).filter(|&minor| minor < 1 << MINOR_BITS);
    match (major, minor) {
        (Some(major), Some(minor)) => u32::try_from(major << MINOR_BITS | minor).ok(),
        _ => None,
    }
    .ok_or_else(|| FieldFault::text("device", "major,minor below 4096 and 1048576", text))
}

/// Read, write, or neither.
fn op(rwbs: &[u8]) -> Option<Op> {
    if rwbs.contains(&b'R') {
        Some(Op::Read)
    } else if rwbs.contains(&b'W') {
        Some(Op::Write)
    } else {
        None
    }
}

fn flags(rwbs: &[u8], op: Op) -> Flags {
    let waits = rwbs.contains(&b'S') || op == Op::Read && !rwbs.contains(&b'A');
    let synchronous = if waits { Flags::SYNCHRONOUS } else { Flags::NONE };
    let is_forced = op == Op::Write && rwbs.iter().skip_while(|&&letter| letter != b'W').any(|&letter| letter == b'F');
    let synchronous = if is_forced { synchronous.with(Flags::DURABLE) } else { synchronous };
    if rwbs.contains(&b'M') {
        synchronous.with(Flags::METADATA)
    } else {
        synchronous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> Vec<Step> {
        let mut parser = Blkparse::new(BlkparseEvent::Queued, 512);
        lines.iter().map(|line| parser.line(line.as_bytes()).unwrap()).collect()
    }

    #[test]
    fn queued_events_are_requests_and_all_else_is_not() {
        let steps = parse(&[
            "  8,17   3        1     0.000000001   697  Q  WSM 223490 + 8 [kjournald]",
            "  8,17   3        2     0.000001829   697  G   W 223490 + 8 [kjournald]",
            "  8,17   3        3     0.000001900   697  P   N [kjournald]",
            "  8,17   3        4     0.000002000   697  Q  FWS [kjournald]",
            "  8,17   3        5     0.000002000   697  Q   D 100 + 8 [fstrim]",
            "  8,17   0        0     0.000002100     0  m   N cfq697S / alloced",
            "CPU0 (sda):",
            " Reads Queued:           0,        0KiB\t Writes Queued:  1,  4KiB",
        ]);
        let Step::Request(record) = steps[0] else { panic!("no request") };
        let flags = Flags::SYNCHRONOUS.with(Flags::METADATA);
        let plain = TraceRecord::new(1, 8 << 20 | 17, 223_490 * 512, 4096, Op::Write);
        assert_eq!(record, TraceRecord { flags, ..plain });
        let Step::Request(flush) = steps[3] else { panic!("no flush") };
        assert_eq!(flush, TraceRecord::flush(2000, 8 << 20 | 17));
        assert!([1, 2, 4, 5, 6, 7].iter().all(|&at| matches!(steps[at], Step::Other)));
    }

    /// The letters before the operation flush, those behind it force the write to the medium.
    #[test]
    fn flushes_and_forced_writes_are_told_apart() {
        let of = |rwbs: &str, data: &str| parse(&[&format!("8,0 3 1 1.5 697 Q {rwbs} {data}[x]")])[0];
        for (rwbs, data) in [("F", ""), ("FF", ""), ("FN", ""), ("FWS", ""), ("FWS", "0 + 0 "), ("FWFSM", "")] {
            let Step::Request(record) = of(rwbs, data) else { panic!("{rwbs} {data}") };
            assert_eq!((record.op, record.bytes), (Op::Flush, 0), "{rwbs} {data}");
        }
        for (rwbs, forced, flushes) in
            [("W", false, false), ("WFS", true, false), ("FWS", false, true), ("FWFSM", true, true)]
        {
            let (record, is_flushed) = match of(rwbs, "8 + 8 ") {
                Step::Request(record) => (record, false),
                Step::FlushAnd(record) => (record, true),
                other => panic!("{rwbs}: {other:?}"),
            };
            assert_eq!(
                (record.op, record.flags.contains(Flags::DURABLE), is_flushed),
                (Op::Write, forced, flushes),
                "{rwbs}"
            );
        }
        assert!(matches!(of("FD", "8 + 8 "), Step::Other) && matches!(of("N", ""), Step::Other));
    }

    #[test]
    fn dispatched_events_can_be_asked_for() {
        let mut parser = Blkparse::new(BlkparseEvent::Dispatched, 512);
        let Ok(Step::Request(record)) = parser.line(b"8,0 3 1 1.5 697 D RA 8 + 8 [x]") else { panic!("no request") };
        assert_eq!((record.op, record.flags), (Op::Read, Flags::NONE));
        assert!(matches!(parser.line(b"8,0 3 1 1.5 697 Q R 8 + 8 [x]"), Ok(Step::Other)));
    }

    #[test]
    fn wrong_fields_are_named() {
        for (line, field) in [
            ("8.0 3 1 1.5 697 Q R 8 + 8 [x]", "device"),
            ("8,0 c 1 1.5 697 Q R 8 + 8 [x]", "cpu"),
            ("8,0 3 1 -1.5 697 Q R 8 + 8 [x]", "seconds"),
            ("8,0 3 1 1.5 697 Z R 8 + 8 [x]", "action"),
            ("8,0 3 1 1.5 697 Q r 8 + 8 [x]", "rwbs"),
            ("8,0 3 1 1.5 697 Q R x + 8 [x]", "sector"),
            ("8,0 3 1 1.5 697 Q R 8 - 8 [x]", "line"),
            ("8,0 3 1 1.5 697 Q R 8 +", "blocks"),
            ("8,0 3 1 1.5 697 Q", "line"),
        ] {
            let mut parser = Blkparse::new(BlkparseEvent::Queued, 512);
            assert_eq!(parser.line(line.as_bytes()).unwrap_err().field, field, "{line}");
        }
    }
}
