//! HP Labs SRT traces, 1.x (1992) and 1.7 (2003): a text header that starts with `$$TR_IOREC-` and ends with a form feed
//! (0x0c), then big-endian records of 32-bit words.
//!
//! | word | 1.x | 1.7 |
//! | --- | --- | --- |
//! | 0 | record size in bytes | 88 |
//! | 1 | id: version 1 to 4 in the high half; 1 (short I/O) or 4 (suspect) in the low half | 0x00070001 |
//! | 2, 3 | arrival: seconds, microseconds | the same |
//! | 4, 5 | start and stop, microseconds after the arrival (ignored) | the same |
//! | 6 | length in bytes | the same |
//! | 7 | sector | machine |
//! | 8 | device number; the disk is `(devno >> 8) & 0xff` | device number |
//! | 9, 10 | driver type, cylinder | unknown |
//! | 11 | flags: bit 0 read, bit 8 asynchronous | the same |
//! | 12 | information | buffer type |
//! | 13 | queue length (version 4 only) | unknown |
//! | 14 | | process |
//! | 15 | | logical volume |
//! | 16, 17 | | offset in bytes, high and low word |
//! | 18–21 | | unused |
//!
//! A suspect record has one more word, the suspicion flags, and is skipped, as DiskSim does. The id of the first record, not
//! the header, decides between the two layouts. The header of 1.x may state the size of a sector as `sectorsize`; otherwise it
//! is 256 bytes, as on the HP-IB disks of that trace. The device of a 1.7 record is its whole device number, since no part of it
//! is known to be unique.

use super::error::{excerpt, BadRecord, Failure, FieldFault, Parsed, Place, Remedy, TraceError};
use super::format::{Built, Carries, Entry, CERTAIN};
use super::source::{Input, LONGEST_LINE_BYTES};
use super::text::{digits, sectors_to_bytes};
use super::{RecordParser, Step, TraceFormat, TraceOptions, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::{Flags, Op};

/// HP SRT in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "hp-srt",
    description: "HP Labs SRT, binary, 1.x (1992) and 1.7 (2003)",
    carries: &[Carries::Times],
    example: b"$$TR_IOREC-1.3 (example)\nversion = 1.3;\nsectorsize = 256;\n\x0c\
        \0\0\08\0\x04\0\x01)\xb6F:\0\0\x01\xf4\0\0\0\x14\0\0:\x98\0\0 \0\0\0\x03\xe8\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\
        \0\0\08\0\x04\0\x01)\xb6F:\0\0w$\0\0\0\x14\0\0:\x98\0\0\x04\0\0\0\x04\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\x01\
        \0\0\08\0\x04\0\x01)\xb6F;\0\0\0\0\0\0\0\x14\0\0:\x98\0\0\x08\0\0\0\0\x05\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
    detect: |head| if head.bytes.starts_with(MAGIC) { CERTAIN } else { 0 },
    in_sectors: None,
    build,
    write: None,
};

const MAGIC: &[u8] = b"$$TR_IOREC-";
/// The longest header that is accepted.
const LONGEST_HEADER_BYTES: usize = LONGEST_LINE_BYTES;
/// Bytes in a sector of a 1.x trace whose header does not state it.
const HP_SECTOR_BYTES: u32 = 256;
const WORD: usize = 4;
/// Words of a 1.x record before version 4, and the words that are read of every record.
const COMMON_WORDS: usize = 13;
/// Bytes of a 1.7 record.
const RECORD_1_7_BYTES: usize = 88;
const ID_1_7: u32 = 0x0007_0001;
const SHORT_IO: u32 = 1;
const SUSPECT_IO: u32 = 4;
const FLAG_READ: u32 = 1;
const FLAG_ASYNCHRONOUS: u32 = 0x100;

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let name = input.name().to_owned();
    let text = input.peek(LONGEST_HEADER_BYTES)?;
    let bad = |field: &'static str, expected: String, found: String, remedy: Remedy| {
        Box::new(TraceError::BadRecord(Box::new(BadRecord {
            file: name.clone(),
            place: Place::Byte(0),
            format: TraceFormat::HpSrt,
            field: field.into(),
            expected: expected.into(),
            found,
            remedy,
        })))
    };
    if !text.starts_with(MAGIC) {
        let expected = format!("\"{}\"", MAGIC.escape_ascii());
        return Err(bad("header", expected, "other bytes".to_owned(), Remedy::RestoreHeader));
    }
    let Some(length) = text.iter().position(|&byte| byte == 0x0c) else {
        let expected = format!("a form feed (0x0c) within {LONGEST_HEADER_BYTES} bytes");
        return Err(bad("header", expected, "none".to_owned(), Remedy::RestoreHeader));
    };
    let stated = header_sector_bytes(&text[..length])
        .map_err(|found| bad("sectorsize", "one size of at least 1".to_owned(), found, Remedy::NameSectors));
    let sector_bytes = match options.sector_bytes {
        Some(sector_bytes) => Some(sector_bytes),
        None => stated?,
    };
    input.skip(length + 1);
    let is_1_7 = input.peek(2 * WORD)?.get(WORD..).is_some_and(|id| id == ID_1_7.to_be_bytes());
    let usual = if is_1_7 { DEFAULT_SECTOR_BYTES } else { HP_SECTOR_BYTES };
    Ok(Box::new(HpSrt { is_1_7, sector_bytes: sector_bytes.unwrap_or(usual) }))
}

/// The `sectorsize` in a header, if there is one. The error is the text in place of a size.
fn header_sector_bytes(header: &[u8]) -> Result<Option<u32>, String> {
    const KEY: &[u8] = b"sectorsize";
    let mut stated = None;
    for at in (0..header.len()).filter(|&at| header[at..].starts_with(KEY)) {
        let value = header[at + KEY.len()..].iter().skip_while(|byte| matches!(byte, b' ' | b'\t' | b'='));
        let number: Vec<u8> = value.take_while(|byte| byte.is_ascii_digit()).copied().take(20).collect();
        let size = digits(&number).and_then(|size| u32::try_from(size).ok()).filter(|&size| size > 0);
        match (size, stated) {
            (None, _) => return Err(excerpt(&header[at..])),
            (Some(size), Some(other)) if size != other => return Err(format!("{other} and {size}")),
            _ => stated = size,
        }
    }
    Ok(stated)
}

struct HpSrt {
    is_1_7: bool,
    sector_bytes: u32,
}

impl RecordParser for HpSrt {
    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure> {
        let place = Place::Byte(input.offset());
        let raw = input.peek(RECORD_1_7_BYTES)?;
        if raw.is_empty() {
            return Ok(None);
        }
        let size = match self.size(raw) {
            Ok(size) => size,
            Err(fault) => return Err(Failure::Lost(place, fault)),
        };
        let outcome = if raw.len() < size {
            let found = format!("{} bytes before the end of the trace", raw.len());
            Err(FieldFault::new("record", format!("{size} bytes"), found))
        } else if self.is_1_7 {
            self.record_1_7(raw)
        } else {
            self.record_1_x(raw)
        };
        input.skip(size);
        outcome.map(Some).map_err(Failure::Bad)
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn units(&self) -> Option<String> {
        Some(
            if self.is_1_7 { "times in us, addresses in bytes" } else { "times in us, addresses in sectors" }
                .to_owned(),
        )
    }

    fn has_times(&self) -> bool {
        true
    }
}

impl HpSrt {
    /// The size of the record at the beginning of `raw`. If its size and its id contradict each other, the start of the next
    /// record is not known.
    #[inline]
    fn size(&self, raw: &[u8]) -> Parsed<usize> {
        if raw.len() < 2 * WORD {
            let found = format!("{} bytes before the end of the trace", raw.len());
            return Err(FieldFault::new("record", "at least 8 bytes", found));
        }
        let (size, id) = (word(raw, 0), word(raw, 1));
        let expected = self.size_of(id).ok_or_else(|| {
            let expected = if self.is_1_7 {
                "0x70001, as in the first record"
            } else {
                "version 1 to 4 in the high half, 1 (short I/O) or 4 (suspect) in the low half"
            };
            FieldFault::new("id", expected, format!("{id:#x}"))
        })?;
        if size as usize == expected {
            Ok(expected)
        } else {
            Err(FieldFault::new("size", format!("{expected} bytes for id {id:#x}"), size.to_string()))
        }
    }

    /// The size of a record with this id.
    #[inline]
    const fn size_of(&self, id: u32) -> Option<usize> {
        let (version, kind) = (id >> 16, id & 0xffff);
        if self.is_1_7 {
            return if id == ID_1_7 { Some(RECORD_1_7_BYTES) } else { None };
        }
        let suspicion = match kind {
            SHORT_IO => 0,
            SUSPECT_IO => WORD,
            _ => return None,
        };
        match version {
            1..=3 => Some(COMMON_WORDS * WORD + suspicion),
            4 => Some((COMMON_WORDS + 1) * WORD + suspicion),
            _ => None,
        }
    }

    #[inline]
    fn record_1_x(&self, raw: &[u8]) -> Parsed<Step> {
        if word(raw, 1) & 0xffff == SUSPECT_IO {
            return Ok(Step::Suspect);
        }
        let offset_bytes = sectors_to_bytes("sector", u64::from(word(raw, 7)), self.sector_bytes)?;
        record(raw, word(raw, 8) >> 8 & 0xff, offset_bytes)
    }

    #[inline]
    fn record_1_7(&self, raw: &[u8]) -> Parsed<Step> {
        record(raw, word(raw, 8), u64::from(word(raw, 16)) << 32 | u64::from(word(raw, 17)))
    }
}

/// The fields that both layouts have in common.
#[inline]
fn record(raw: &[u8], device: u32, offset_bytes: u64) -> Parsed<Step> {
    let (seconds, microseconds) = (u64::from(word(raw, 2)), u64::from(word(raw, 3)));
    if microseconds >= 1_000_000 {
        return Err(FieldFault::new("usec", "microseconds below 1000000", microseconds.to_string()));
    }
    let flags = word(raw, 11);
    let op = if flags & FLAG_READ == 0 { Op::Write } else { Op::Read };
    let time_ns = seconds * 1_000_000_000 + microseconds * 1000;
    Ok(Step::Request(TraceRecord {
        flags: if flags & FLAG_ASYNCHRONOUS == 0 { Flags::SYNCHRONOUS } else { Flags::NONE },
        ..TraceRecord::new(time_ns, device, offset_bytes, u64::from(word(raw, 6)), op)
    }))
}

/// Word `index` of a record.
#[inline]
fn word(raw: &[u8], index: usize) -> u32 {
    let at = index * WORD;
    u32::from_be_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn trace(words: &[u32]) -> Input {
        let mut content = b"$$TR_IOREC-1.3\nsectorsize  = 256;\n\x0c".to_vec();
        content.extend(bytes(words));
        Input::new("made".to_owned(), Box::new(std::io::Cursor::new(content))).unwrap()
    }

    #[test]
    fn suspect_records_and_both_sizes_of_1_x_are_read() {
        let mut words = vec![56, 0x0004_0001, 5, 6, 1, 2, 1024, 10, 0x0100, 0, 0, 1, 0, 0];
        words.extend([60, 0x0004_0004, 5, 6, 1, 2, 1024, 10, 0x0100, 0, 0, 1, 0, 0, 9]);
        words.extend([52, 0x0003_0001, 7, 0, 1, 2, 512, 4, 0x0200, 0, 0, 0x100, 0]);
        let mut input = trace(&words);
        let mut parser = build(&mut input, &TraceOptions::default()).unwrap();
        let Ok(Some(Step::Request(first))) = parser.next(&mut input) else { panic!("no request") };
        let plain = TraceRecord::new(5_000_006_000, 1, 2560, 1024, Op::Read);
        assert_eq!(first, TraceRecord { flags: Flags::SYNCHRONOUS, ..plain });
        assert!(matches!(parser.next(&mut input), Ok(Some(Step::Suspect))));
        let Ok(Some(Step::Request(third))) = parser.next(&mut input) else { panic!("no request") };
        assert_eq!(third, TraceRecord::new(7_000_000_000, 2, 1024, 512, Op::Write));
        assert!(matches!(parser.next(&mut input), Ok(None)));
    }

    #[test]
    fn wrong_fields_are_named() {
        let good = [56, 0x0004_0001, 5, 6, 1, 2, 1024, 10, 0x0100, 0, 0, 1, 0, 0];
        for (index, value, field) in
            [(0, 57, "size"), (1, 0x0005_0001, "id"), (1, 0x0004_0002, "id"), (3, 1_000_000, "usec")]
        {
            let mut words = good;
            words[index] = value;
            let mut input = trace(&words);
            let mut parser = build(&mut input, &TraceOptions::default()).unwrap();
            let Err(Failure::Bad(fault) | Failure::Lost(_, fault)) = parser.next(&mut input) else {
                panic!("{field} accepted")
            };
            assert_eq!(fault.field, field);
        }
    }

    #[test]
    fn a_header_states_one_sector_size() {
        assert_eq!(header_sector_bytes(b"x = 3; sectorsize  = 512, sectorsize=512"), Ok(Some(512)));
        assert_eq!(header_sector_bytes(b"version = 1.3"), Ok(None));
        assert!(header_sector_bytes(b"sectorsize = 256 sectorsize = 512").is_err());
        assert!(header_sector_bytes(b"sectorsize = 0").is_err());
    }
}
