//! The text that `blkparse` prints by default, one event a line:
//! `major,minor cpu sequence seconds pid action rwbs sector + blocks [process]`, sectors of 512 bytes.
//!
//! The arrival is the event `Q` (queued), or `D` (dispatched to the driver) if the key `event` says so. Of `rwbs`, `R` is a
//! read and `W` a write. `F` before that letter is a flush, which comes before the data if there are any; `F` behind it is
//! forced unit access: the write must be on the medium when it completes. `M` is metadata. A process waits for `S`, and for
//! every read but read-ahead (`A`). The device is Linux's number: major × 2^20 + minor.
//!
//! Everything else that blkparse prints is counted as other records: other events, discards (`D` in `rwbs`), SCSI commands that
//! a program passes through to the drive (`D R 36 (12 00 ..) [smartctl]`), notices such as `Input file sda.blktrace.0 added`,
//! and the statistics of programs and processors at the end.

use super::error::{FieldFault, Others, Parsed};
use super::format::{Carries, Entry};
use super::options::BlkparseEvent;
use super::text::{
    digits, sectors_to_bytes, time_ns, unsigned, whole_number, words, wrong_count, LineParser, Lines, TimeUnit,
};
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
pub(super) const ACTIONS: [&[u8]; 17] =
    [b"A", b"B", b"C", b"D", b"F", b"G", b"I", b"M", b"P", b"Q", b"R", b"S", b"T", b"U", b"UT", b"X", b"m"];
const MINOR_BITS: u32 = 20;
const MAJORS: u64 = 1 << 12;
const SHAPE: &str = "major,minor cpu sequence seconds pid action rwbs";

/// Selects the events that are requests, and counts the events before the first of them. Shared with blktrace's binary files.
pub(super) struct EventFilter {
    event: BlkparseEvent,
    has_requests: bool,
    /// Events so far of each of [`ACTIONS`], counted until the first request.
    events: [u64; ACTIONS.len()],
    /// Requests that the other event would give, counted until the first request.
    requests_of_other_event: u64,
}

impl EventFilter {
    pub const fn new(event: BlkparseEvent) -> Self {
        Self { event, has_requests: false, events: [0; ACTIONS.len()], requests_of_other_event: 0 }
    }

    /// The step of an event with the action `ACTIONS[action]`: `parse` gives it if the event is of the kind that arrives.
    pub fn step(&mut self, action: usize, parse: impl FnOnce() -> Parsed<Step>) -> Parsed<Step> {
        if ACTIONS[action] == action_of(self.event) {
            let step = parse()?;
            self.has_requests |= !matches!(step, Step::Other);
            return Ok(step);
        }
        if !self.has_requests {
            self.events[action] += 1;
            if ACTIONS[action] == action_of(other_event(self.event)) && !matches!(parse(), Ok(Step::Other) | Err(_)) {
                self.requests_of_other_event += 1;
            }
        }
        Ok(Step::Other)
    }

    /// As [`super::RecordParser::describe_others`].
    pub fn describe_others(&self) -> Option<Others> {
        let shown = |action: &[u8]| String::from_utf8_lossy(action).into_owned();
        let wanted = shown(action_of(self.event));
        let other = other_event(self.event);
        let text = match self.requests_of_other_event {
            0 => {
                let counted = ACTIONS.iter().zip(self.events).filter(|(_, count)| *count > 0);
                let counts: Vec<String> = counted.map(|(action, count)| format!("{count} {}", shown(action))).collect();
                if counts.is_empty() {
                    return None;
                }
                format!("among its {wanted} events; its other events are {}", counts.join(", "))
            }
            requests => {
                format!("among its {wanted} events, but {requests} among its {} events", shown(action_of(other)))
            }
        };
        let setting = (self.requests_of_other_event > 0).then_some(("event", other.name()));
        Some(Others { text, setting })
    }
}

/// The data of an event.
pub(super) enum EventData {
    /// None.
    Empty,
    /// Bytes of the device.
    Range { offset_bytes: u64, bytes: u64 },
    /// A SCSI command that a program passes through to the drive.
    Command,
}

/// The step of an event that arrives: `rwbs` are the letters that blkparse prints for its operation.
pub(super) fn arrival(
    time_ns: u64,
    device: u32,
    rwbs: &[u8],
    data: impl FnOnce() -> Parsed<EventData>,
) -> Parsed<Step> {
    if rwbs.contains(&b'D') {
        return Ok(Step::Other);
    }
    let flushes = rwbs.starts_with(b"F");
    let alone = if flushes { Step::Request(TraceRecord::flush(time_ns, device)) } else { Step::Other };
    let Some(op) = op(rwbs) else { return Ok(alone) };
    match data()? {
        EventData::Command => Ok(Step::Other),
        EventData::Range { offset_bytes, bytes } if !(flushes && bytes == 0) => {
            let flags = flags(rwbs, op);
            let record = TraceRecord { flags, ..TraceRecord::new(time_ns, device, offset_bytes, bytes, op) };
            Ok(if flushes { Step::FlushAnd(record) } else { Step::Request(record) })
        }
        EventData::Empty | EventData::Range { .. } => Ok(alone),
    }
}

struct Blkparse {
    filter: EventFilter,
    sector_bytes: u32,
    /// True if the statistics at the end have begun.
    in_statistics: bool,
}

impl Blkparse {
    const fn new(event: BlkparseEvent, sector_bytes: u32) -> Self {
        Self { filter: EventFilter::new(event), sector_bytes, in_statistics: false }
    }
}

/// The data of an event, from the words behind `rwbs`.
fn data<'a>(mut rest: impl Iterator<Item = &'a [u8]>, line: &[u8], sector_bytes: u32) -> Parsed<EventData> {
    let Some(sector) = rest.next().filter(|word| !is_remark(word)) else { return Ok(EventData::Empty) };
    let sector = unsigned("sector", sector)?;
    match rest.next() {
        Some(b"+") => {}
        // Of a command that is passed through: its bytes, then the command or the program.
        Some(word) if is_remark(word) => return Ok(EventData::Command),
        _ => return Err(FieldFault::text("line", "`sector + blocks`", line)),
    }
    let offset_bytes = sectors_to_bytes("sector", sector, sector_bytes)?;
    let bytes = sectors_to_bytes("blocks", unsigned("blocks", rest.next().unwrap_or(&[]))?, sector_bytes)?;
    Ok(EventData::Range { offset_bytes, bytes })
}

impl LineParser for Blkparse {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let mut words = words(line);
        let first = words.next().unwrap_or(&[]);
        let device = match device(first) {
            Ok(_) if self.in_statistics => {
                return Err(FieldFault::text("line", "nothing but statistics after their beginning", line));
            }
            Ok(device) => device,
            Err(_) if is_notice(line) => return Ok(Step::Other),
            Err(fault) => {
                self.in_statistics |= begins_statistics(line);
                if self.in_statistics {
                    return Ok(Step::Other);
                }
                let count = super::text::words(line).count();
                return Err(if count < 7 { wrong_count(count, 7, SHAPE) } else { fault });
            }
        };
        // Every event names one process or error at the most: a damaged line end would hide the record behind it.
        if line.iter().filter(|&&byte| byte == b']').count() > 1 {
            return Err(FieldFault::text("line", "one event", line));
        }
        let mut next = || words.next().ok_or_else(|| wrong_count(super::text::words(line).count(), 7, SHAPE));
        unsigned("cpu", next()?)?;
        unsigned("sequence", next()?)?;
        let time_ns = time_ns("seconds", next()?, TimeUnit::S)?;
        unsigned("pid", next()?)?;
        let (action, rwbs) = (next()?, next()?);
        let Some(known) = ACTIONS.iter().position(|known| *known == action) else {
            return Err(FieldFault::text("action", "one of blkparse's actions, such as Q, D or C", action));
        };
        if !rwbs.iter().all(u8::is_ascii_uppercase) {
            return Err(FieldFault::text("rwbs", "upper-case letters, such as R, WS or FWFS", rwbs));
        }
        let sector_bytes = self.sector_bytes;
        self.filter.step(known, || arrival(time_ns, device, rwbs, || data(words, line, sector_bytes)))
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn units(&self) -> Option<String> {
        Some("times in s, addresses in sectors".to_owned())
    }

    fn describe_others(&self) -> Option<Others> {
        self.filter.describe_others()
    }
}

const fn action_of(event: BlkparseEvent) -> &'static [u8] {
    match event {
        BlkparseEvent::Queued => b"Q",
        BlkparseEvent::Dispatched => b"D",
    }
}

const fn other_event(event: BlkparseEvent) -> BlkparseEvent {
    match event {
        BlkparseEvent::Queued => BlkparseEvent::Dispatched,
        BlkparseEvent::Dispatched => BlkparseEvent::Queued,
    }
}

/// Returns true for the name of a program, the command passed through, or the time since the last event, in brackets.
fn is_remark(word: &[u8]) -> bool {
    matches!(word.first(), Some(b'[' | b'('))
}

/// Returns true for a line in which blkparse reports on its work, on standard output or on standard error, or in which
/// `script` notes that it has recorded a terminal.
pub(super) fn is_notice(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let begins = |words: &[u8]| line.starts_with(words);
    begins(b"Input file ") && line.ends_with(b" added")
        || begins(b"discarded traces containing ")
        || begins(b"Script started on ")
        || begins(b"Script done on ")
        || begins(b"You have ") && line.ends_with(b" dropped events")
        || begins(b"Consider using a larger buffer size ")
        || [&b"merge"[..], b"issue", b"complete"].iter().any(|what| begins(&[what, &b" not found for ("[..]].concat()))
        || begins(b"(") && line.windows(12).any(|part| part == b"): skipping ")
}

/// Returns true for the title of the first statistics: `CPU0 (sda):`, `Total (sda):`, of a program `fio (697)` or
/// `kworker/0:1 (12, ...)`, or blktrace's own `=== sda ===`.
fn begins_statistics(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    // A terminal shows `^C` where blktrace was interrupted.
    let line = line.strip_prefix(b"^C").unwrap_or(line);
    if line.starts_with(b"=== ") && line.ends_with(b" ===") {
        return true;
    }
    let Some(at) = line.windows(2).rposition(|pair| pair == b" (") else { return false };
    let (name, inside) = (&line[..at], &line[at + 2..]);
    let is_of_device =
        name == b"Total" || name.strip_prefix(b"CPU").is_some_and(|number| whole_number(number).is_some());
    if let Some(device) = inside.strip_suffix(b"):") {
        return is_of_device && !device.is_empty();
    }
    let pid = inside.strip_suffix(b", ...)").or_else(|| inside.strip_suffix(b")"));
    pid.is_some_and(|pid| whole_number(pid).is_some())
}

/// Linux's device number.
fn device(text: &[u8]) -> Parsed<u32> {
    let comma = text.iter().position(|&byte| byte == b',').unwrap_or(text.len());
    let (major, minor) = (digits(&text[..comma]), text.get(comma + 1..).and_then(digits));
    device_number(major, minor).ok_or_else(|| FieldFault::text("device", "major,minor below 4096 and 1048576", text))
}

/// Linux's number of the device with these numbers; `None` if they are too large or missing.
pub(super) fn device_number(major: Option<u64>, minor: Option<u64>) -> Option<u32> {
    let major = major.filter(|&major| major < MAJORS)?;
    let minor = minor.filter(|&minor| minor < 1 << MINOR_BITS)?;
    u32::try_from(major << MINOR_BITS | minor).ok()
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
    fn commands_passed_through_are_no_requests() {
        for event in [BlkparseEvent::Queued, BlkparseEvent::Dispatched] {
            for line in [
                "8,0 0 1 0.0 100 I R 36 (12 00 00 00 24 00 ..) [probe]",
                "8,0 0 1 0.0 100 Q R 36 (12 00 00 00 24 00 ..) [probe]",
                "8,0 0 2 0.1 100 D R 36 (12 00 00 00 24 00 ..) [probe]",
                "8,0 0 3 0.2 100 D W 512 [probe]",
                "8,0 0 4 0.3 102 D N 0 (00 ..) [kworker/0:1]",
                "8,0 0 5 0.4 0 R R (12 00 00 00 24 00 ..) [0]",
                "8,0 0 6 0.5 0 C R (12 00 00 00 24 00 ..) [0]",
                "8,0 0 6 0.5 0 C R [0]",
                "8,0 0 7 0.6 100 D R (      12) [x]",
            ] {
                let step = Blkparse::new(event, 512).line(line.as_bytes()).unwrap();
                assert!(matches!(step, Step::Other), "{line}: {step:?}");
            }
        }
    }

    #[test]
    fn notices_may_be_anywhere_and_statistics_only_at_the_end() {
        let event = "8,0 3 1 1.5 697 Q R 8 + 8 [x]";
        let steps = parse(&[
            "Script started on 2026-11-28 10:00:00+00:00 [COMMAND=\"blkparse -i sda\"]",
            "Input file sda.blktrace.0 added",
            event,
            "(8,0): skipping 12 -> 15",
            "complete not found for (8,0): 4096",
            event,
            "You have 5 dropped events",
            "Consider using a larger buffer size (-b) and/or more buffers (-n)",
            "discarded traces containing low-level device driver specific data (only available in binary output)",
            "my program (697, ...)",
            " Reads Queued:           2,        8KiB\t Writes Queued:           0,        0KiB",
            " Completion wait:        4000        \t Completion wait:         0",
            "fio (12)",
            "",
            "Throughput (R/W): 0KiB/s / 0KiB/s",
            "Input file sda.blktrace.1 added",
        ]);
        let requests: Vec<usize> = (0..steps.len()).filter(|&at| matches!(steps[at], Step::Request(_))).collect();
        assert_eq!(requests, [2, 5]);
        for title in ["fio (12)", "CPU0 (sda):", "Total (8,16):", "=== sda ==="] {
            let mut parser = Blkparse::new(BlkparseEvent::Queued, 512);
            assert!(parser.line(title.as_bytes()).is_ok(), "{title}");
            assert!(
                parser.line(event.as_bytes()).unwrap_err().expected.starts_with("nothing but statistics"),
                "{title}"
            );
        }
        for line in ["noise", "noise (x)", "CPU0 (sda)", "8,0 (12)"] {
            assert!(Blkparse::new(BlkparseEvent::Queued, 512).line(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn statistics_may_begin_behind_the_sign_of_an_interrupt() {
        assert!(begins_statistics(b"^C=== sda ==="));
        assert!(!begins_statistics(b"^C"));
    }

    #[test]
    fn the_other_event_is_named_where_it_has_requests() {
        let others = |event, lines: &[&str]| {
            let mut parser = Blkparse::new(event, 512);
            assert!(lines.iter().all(|line| matches!(parser.line(line.as_bytes()), Ok(Step::Other))));
            parser.describe_others()
        };
        let dispatched = "8,0 3 1 1.5 697 D R 8 + 8 [x]";
        let found = others(BlkparseEvent::Queued, &[dispatched, dispatched]).unwrap();
        assert_eq!(found.setting, Some(("event", "dispatched")));
        assert_eq!(found.text, "among its Q events, but 2 among its D events");
        let queued = "253,0 3 1 1.5 697 Q R 8 + 8 [x]";
        assert_eq!(others(BlkparseEvent::Dispatched, &[queued]).unwrap().setting, Some(("event", "queued")));
        let found =
            others(BlkparseEvent::Queued, &["8,0 3 1 1.5 697 C R 8 + 8 [0]", "8,0 3 1 1.5 697 D N 0 (00 ..) [x]"]);
        assert_eq!(found.as_ref().unwrap().setting, None);
        assert_eq!(found.unwrap().text, "among its Q events; its other events are 1 C, 1 D");
        assert_eq!(others(BlkparseEvent::Queued, &["Input file sda.blktrace.0 added"]), None);
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
