//! Binary files of blktrace, one per processor (`sda.blktrace.0`, `sda.blktrace.1`, …): `struct blk_io_trace` of Linux's
//! `blktrace_api.h`, in the byte order of the machine that recorded them.
//!
//! | at | bytes | field |
//! | --- | --- | --- |
//! | 0 | 4 | 0x656174 and the version, 7 |
//! | 4 | 4 | sequence number on its processor |
//! | 8 | 8 | time, ns |
//! | 16 | 8 | sector of 512 bytes |
//! | 24 | 4 | length in bytes |
//! | 28 | 4 | action: the event in the low 16 bits, categories (read, write, flush, …) in the high 16 |
//! | 32 | 4 | process |
//! | 36 | 4 | device: major × 2^20 + minor |
//! | 40 | 4 | processor |
//! | 44 | 2 | error |
//! | 46 | 2 | bytes of event data that follow (ignored) |
//!
//! The files of all processors are one trace, in order of time. A stream that has all events, as `blktrace -o -` writes it, is
//! read as well. Events are requests and flushes as in the text of blkparse.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs;
use std::path::{Path, PathBuf};

use super::blkparse::{arrival, EventData, EventFilter, ACTIONS};
use super::error::{Failure, FieldFault, Others, Parsed, Place};
use super::format::{Built, Carries, Entry, CERTAIN};
use super::source::Input;
use super::text::{digits, sectors_to_bytes};
use super::{RecordParser, Step, TraceOptions, DEFAULT_SECTOR_BYTES};

/// blktrace in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "blktrace",
    description: "blktrace binary files of all processors, Q or D events",
    carries: &[Carries::Times, Carries::Metadata, Carries::Events, Carries::Flushes],
    example: &EXAMPLE,
    detect: |head| if big_endian(head.bytes).is_some() { CERTAIN } else { 0 },
    in_sectors: None,
    build,
    write: None,
};

const EXAMPLE: [u8; 5 * RECORD_BYTES] = example([
    // Queued write, its issue and completion, a queued read, a queued synchronous write.
    [0, 223_490, 4096, 1 | QUEUE_WRITE],
    [1829, 223_490, 4096, 7 | 1 << 22 | WRITE],
    [9_507_758, 64, 8192, 1 | 1 << 20 | READ],
    [19_507_758, 64, 8192, 8 | 1 << 23 | READ],
    [20_000_000, 223_498, 4096, 1 | QUEUE_WRITE | SYNC],
]);
const QUEUE_WRITE: u64 = 1 << 20 | WRITE;

/// Records of little-endian machines with a time, sector, length and action.
const fn example<const N: usize>(events: [[u64; 4]; 5]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut number = 0;
    while number < 5 {
        let [time_ns, sector, length, action] = events[number];
        let words = [
            (MAGIC | VERSION) as u64 | (number as u64 + 1) << 32,
            10_000_000_000 + time_ns,
            sector,
            length | action << 32,
            697 | (8 << 20) << 32,
            3,
        ];
        let mut at = 0;
        while at < RECORD_BYTES {
            bytes[number * RECORD_BYTES + at] = words[at / 8].to_le_bytes()[at % 8];
            at += 1;
        }
        number += 1;
    }
    bytes
}

const RECORD_BYTES: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Events by their number, from 1; as [`ACTIONS`] names them.
const EVENTS: [&[u8]; 15] = [b"Q", b"M", b"F", b"G", b"S", b"R", b"D", b"C", b"P", b"U", b"UT", b"I", b"X", b"B", b"A"];
/// The number of a message among the notices, minus 1.
const MESSAGE: usize = 1;
/// Events of requests in the block layer (Q, M, F, G, S, R, D, C, I, B): the most bytes of event data, a control group.
const PLAIN_EVENTS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 14];
const MOST_PLAIN_DATA: u16 = 8;
/// The event's number; above it in the low half is the flag of a control group.
const EVENT_MASK: u32 = 0xff;
// Categories.
const READ: u64 = 1 << 16;
const WRITE: u64 = 1 << 17;
const FLUSH: u64 = 1 << 18;
const SYNC: u64 = 1 << 19;
const COMMAND: u64 = 1 << 25;
const NOTICE: u64 = 1 << 26;
const AHEAD: u64 = 1 << 27;
const METADATA: u64 = 1 << 28;
const DISCARD: u64 = 1 << 29;
const DRIVER_DATA: u64 = 1 << 30;
const FUA: u64 = 1 << 31;

/// Events that are read ahead from each file. The order in a file may differ a little from that of time, as interrupts record
/// events as well.
const READ_AHEAD: usize = 64;

/// Returns true for big-endian records and false for little-endian ones; `None` if they are not of blktrace.
fn big_endian(content: &[u8]) -> Option<bool> {
    let magic = <[u8; 4]>::try_from(content.get(..4)?).ok()?;
    let is_magic = |magic: u32| magic & !0xff == MAGIC;
    if is_magic(u32::from_le_bytes(magic)) {
        Some(false)
    } else {
        is_magic(u32::from_be_bytes(magic)).then_some(true)
    }
}

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let is_big_endian = big_endian(input.peek(4)?).unwrap_or(false);
    let mut files = vec![TraceFile::new(None, input.part_name())];
    files.extend(input.take_parts().into_iter().map(|part| {
        let name = part.part_name();
        TraceFile::new(Some(part), name)
    }));
    Ok(Box::new(Blktrace {
        is_big_endian,
        sector_bytes: options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES),
        filter: EventFilter::new(options.blkparse_event),
        files,
        events: BinaryHeap::new(),
        order: 0,
        filling: 0,
    }))
}

/// The file of a processor.
struct TraceFile {
    /// The content; `None` for the parser's main input.
    content: Option<Input>,
    name: String,
    /// Events of this file that are read ahead.
    waiting: usize,
    has_ended: bool,
}

impl TraceFile {
    const fn new(content: Option<Input>, name: String) -> Self {
        Self { content, name, waiting: 0, has_ended: false }
    }

    const fn is_full(&self) -> bool {
        self.has_ended || self.waiting >= READ_AHEAD
    }
}

/// An event that is read ahead. Events are ordered as blkparse orders them: by time, device and sequence number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ns: u64,
    device: u32,
    sequence: u32,
    order: u64,
    file: usize,
    sector: u64,
    bytes: u32,
    action: u32,
}

struct Blktrace {
    is_big_endian: bool,
    sector_bytes: u32,
    filter: EventFilter,
    files: Vec<TraceFile>,
    events: BinaryHeap<Reverse<Event>>,
    /// Events read.
    order: u64,
    /// The file from which the next event is read ahead.
    filling: usize,
}

impl RecordParser for Blktrace {
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure> {
        // One record is read at a time, so that the place of the input is that of the record.
        while self.filling < self.files.len() {
            if self.files[self.filling].is_full() {
                self.filling += 1;
                continue;
            }
            return self.read_ahead(self.filling, input).map(|()| Some(Step::Blank));
        }
        let Some(Reverse(event)) = self.events.pop() else { return Ok(None) };
        let file = &mut self.files[event.file];
        file.waiting -= 1;
        self.filling = if file.has_ended { self.files.len() } else { event.file };
        self.step(&event).map(Some).map_err(Failure::Bad)
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn has_times(&self) -> bool {
        true
    }

    fn units(&self) -> Option<String> {
        Some("times in ns, addresses in sectors".to_owned())
    }

    fn describe_others(&self) -> Option<Others> {
        self.filter.describe_others()
    }
}

impl Blktrace {
    /// Reads the next event of a file, unless it has ended.
    fn read_ahead(&mut self, index: usize, main: &mut Input) -> Result<(), Failure> {
        let file = &mut self.files[index];
        let content = file.content.as_mut().unwrap_or(main);
        let at = content.offset();
        let raw = content.peek(RECORD_BYTES)?;
        let ended = |got: usize, wanted: usize| {
            let found = format!("{got} bytes before the end of {}", file.name);
            Failure::Bad(FieldFault::new("record", format!("{wanted} bytes"), found))
        };
        let Ok(header) = <[u8; RECORD_BYTES]>::try_from(raw) else {
            let got = raw.len();
            content.skip(got);
            file.has_ended = true;
            return if got == 0 { Ok(()) } else { Err(ended(got, RECORD_BYTES)) };
        };
        let field = Fields { header, is_big_endian: self.is_big_endian };
        let magic = field.u32_at(0);
        if magic != MAGIC | VERSION {
            file.has_ended = true;
            let found = format!("{magic:#010x} at byte {at} of {}", file.name);
            let expected = format!("{:#010x} (blktrace version {VERSION})", MAGIC | VERSION);
            return Err(Failure::Lost(Place::Byte(at), FieldFault::new("magic", expected, found)));
        }
        let data_bytes = field.u16_at(46);
        let wanted = RECORD_BYTES + usize::from(data_bytes);
        let action = field.u32_at(28);
        let is_plain = PLAIN_EVENTS.contains(&(action & EVENT_MASK)) && u64::from(action) & (COMMAND | NOTICE) == 0;
        if is_plain && data_bytes > MOST_PLAIN_DATA {
            file.has_ended = true;
            let expected = format!("at most {MOST_PLAIN_DATA} bytes of data after this event");
            return Err(Failure::Lost(Place::Byte(at), FieldFault::new("pdu_len", expected, data_bytes.to_string())));
        }
        let got = content.peek(wanted)?.len();
        content.skip(got);
        if got < wanted {
            file.has_ended = true;
            return Err(ended(got, wanted));
        }
        file.waiting += 1;
        self.order += 1;
        self.events.push(Reverse(Event {
            time_ns: field.u64_at(8),
            sequence: field.u32_at(4),
            order: self.order,
            file: index,
            sector: field.u64_at(16),
            bytes: field.u32_at(24),
            action,
            device: field.u32_at(36),
        }));
        Ok(())
    }

    /// The step of an event.
    fn step(&mut self, event: &Event) -> Parsed<Step> {
        let categories = u64::from(event.action);
        let has = |category: u64| categories & category != 0;
        if has(DRIVER_DATA) {
            return Ok(Step::Other);
        }
        let number = (event.action & EVENT_MASK) as usize;
        let name = match number.checked_sub(1) {
            Some(MESSAGE) if has(NOTICE) => Some(&b"m"[..]),
            // The name of a process, the time of day.
            _ if has(NOTICE) => None,
            Some(index) => EVENTS.get(index).copied(),
            None => None,
        };
        let Some(action) = ACTIONS.iter().position(|action| Some(*action) == name) else { return Ok(Step::Other) };
        // The letters that blkparse prints.
        let operation = match event.bytes {
            _ if has(DISCARD) => b'D',
            _ if has(WRITE) => b'W',
            0 => b'N',
            _ => b'R',
        };
        let letters = [
            has(FLUSH).then_some(b'F'),
            Some(operation),
            has(FUA).then_some(b'F'),
            has(AHEAD).then_some(b'A'),
            has(SYNC).then_some(b'S'),
            has(METADATA).then_some(b'M'),
        ];
        let mut rwbs = [0; 6];
        let mut length = 0;
        for letter in letters.into_iter().flatten() {
            rwbs[length] = letter;
            length += 1;
        }
        let sector_bytes = self.sector_bytes;
        self.filter.step(action, || {
            arrival(event.time_ns, event.device, &rwbs[..length], || {
                let sectors = u64::from(event.bytes / DEFAULT_SECTOR_BYTES);
                if has(COMMAND) {
                    return Ok(EventData::Command);
                }
                if sectors == 0 {
                    return Ok(EventData::Empty);
                }
                let offset_bytes = sectors_to_bytes("sector", event.sector, sector_bytes)?;
                Ok(EventData::Range { offset_bytes, bytes: sectors_to_bytes("bytes", sectors, sector_bytes)? })
            })
        })
    }
}

/// The fields of a record.
struct Fields {
    header: [u8; RECORD_BYTES],
    is_big_endian: bool,
}

impl Fields {
    fn bytes_at<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.header[at..at + N]);
        if self.is_big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes_at(at))
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes_at(at))
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes_at(at))
    }
}

/// Suffixes of compressed files.
const COMPRESSED: [&str; 5] = ["", ".gz", ".zst", ".bz2", ".xz"];

/// The files that a path stands for.
pub(super) enum Files {
    /// The file of that path.
    One,
    /// The files of all processors, at least one.
    Processors(Vec<PathBuf>),
    /// A folder without files of blktrace.
    NoTrace,
    /// A folder with the files of several devices, whose names these are.
    Devices(Vec<String>),
}

/// The files of all processors, if `path` is one of them, their common name without `.blktrace.N`, or their folder.
pub(super) fn files_of(path: &Path) -> std::io::Result<Files> {
    if path.is_dir() {
        let mut devices = files_in(path)?;
        return Ok(match devices.len() {
            0 => Files::NoTrace,
            1 => devices.pop_first().map_or(Files::NoTrace, |(_, files)| Files::Processors(files)),
            _ => Files::Devices(devices.into_keys().collect()),
        });
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(Files::One) };
    let device = match split_name(name) {
        Some((device, ..)) => device,
        None if !path.exists() => name,
        None => return Ok(Files::One),
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let files = files_in(folder).ok().and_then(|mut devices| devices.remove(device));
    Ok(files.map_or(Files::One, Files::Processors))
}

/// The files of a folder by their device, in order of the processors; of files that differ in compression alone one.
fn files_in(folder: &Path) -> std::io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut found: BTreeMap<String, BTreeMap<u64, (usize, PathBuf)>> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some((device, processor, suffix)) = name.to_str().and_then(split_name) else { continue };
        if !entry.path().is_file() {
            continue;
        }
        let files = found.entry(device.to_owned()).or_default();
        let file = (suffix, entry.path());
        let known = files.entry(processor).or_insert_with(|| file.clone());
        if file.0 < known.0 {
            *known = file;
        }
    }
    let files = found.into_iter().map(|(device, files)| {
        // A processor that recorded nothing has an empty file.
        let is_empty = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.len() == 0);
        let mut paths: Vec<PathBuf> = files.into_values().map(|(_, path)| path).collect();
        if !paths.iter().all(|path| is_empty(path)) {
            paths.retain(|path| !is_empty(path));
        }
        (device, paths)
    });
    Ok(files.collect())
}

/// Device, processor and index in [`COMPRESSED`] of the name of a file.
fn split_name(name: &str) -> Option<(&str, u64, usize)> {
    let (device, rest) = name.rsplit_once(".blktrace.")?;
    let (suffix, number) =
        COMPRESSED.iter().enumerate().rev().find_map(|(index, suffix)| Some((index, rest.strip_suffix(suffix)?)))?;
    Some((device, digits(number.as_bytes())?, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_device_processor_and_compression() {
        for (name, expected) in [
            ("sda.blktrace.0", Some(("sda", 0, 0))),
            ("nvme0n1.blktrace.17.zst", Some(("nvme0n1", 17, 2))),
            ("my.blktrace.5.blktrace.3.gz", Some(("my.blktrace.5", 3, 1))),
            ("sda.blktrace", None),
            ("sda.blktrace.x", None),
            ("sda.blktrace.1.bin", None),
        ] {
            assert_eq!(split_name(name), expected, "{name}");
        }
    }
}
