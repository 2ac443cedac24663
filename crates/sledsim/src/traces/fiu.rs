//! Traces of Florida International University (IODedup and others, SNIA IOTTA):
//! `timestamp pid process lba blocks R|W major minor [digest …]`.
//!
//! The README of the traces gives the timestamp in nanoseconds, the length in blocks of 512 bytes, and one digest per 4,096
//! bytes (512 bytes in the traces of home directories). `lba` is taken as a sector of 512 bytes, as Linux counts them. The
//! device is Linux's number: major × 2^20 + minor. The process, whose name may contain blanks, and the digests are ignored.

use super::blkparse::device_number;
use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry};
use super::text::{
    sectors_to_bytes, time_ns, unsigned, whole_number, words, wrong_count, SectorLine, SectorLines, TimeUnit,
};
use super::TraceRecord;
use crate::request::Op;

/// FIU traces in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "fiu",
    description: "FIU (IODedup): timestamp_ns pid process lba blocks R|W major minor digest",
    carries: &[Carries::Times],
    example: b"89966991347923 4253 nfsd 508915680 8 W 6 0 dd0f1bb0a1d5e0f2ad5a1a5f1ea8e2ab\n\
        89966991385441 2250 my app 435219504 8 W 6 0 4c1a37f0c5d6f9d1a1a5a0a2f5c3f9de\n\
        89967404883343 4253 nfsd 508915688 16 R 6 0 5be5b38cf6d3a4fd1ef4e1b6f64a7c5b\n",
    detect: |head| head.requests(SectorLines::<Fiu>::usual()),
    in_sectors: None,
    build: |_, options| SectorLines::<Fiu>::build(options),
    write: None,
};

const SHAPE: &str = "timestamp pid process lba blocks R|W major minor [digest]";
/// The fewest words before the operation.
const WORDS_BEFORE_OP: usize = 5;

enum Fiu {}

impl SectorLine for Fiu {
    const UNITS: &'static str = "times in ns, addresses in sectors";

    #[inline]
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord> {
        let all: Vec<&[u8]> = words(line).take(64).collect();
        let count = all.len();
        let number_at = |at: usize| all.get(at).is_some_and(|word| whole_number(word).is_some());
        let op_at = (WORDS_BEFORE_OP..count)
            .find(|&at| matches!(all[at], b"R" | b"W") && number_at(at - 1) && number_at(at + 1) && number_at(at + 2));
        let Some(at) = op_at else {
            return Err(match count {
                0..8 => wrong_count(count, 8, SHAPE),
                _ => FieldFault::text("line", SHAPE, line),
            });
        };
        let time_ns = time_ns("timestamp", all[0], TimeUnit::Ns)?;
        unsigned("pid", all[1])?;
        let offset_bytes = sectors_to_bytes("lba", unsigned("lba", all[at - 2])?, sector_bytes)?;
        let bytes = sectors_to_bytes("blocks", unsigned("blocks", all[at - 1])?, sector_bytes)?;
        let device = device_number(whole_number(all[at + 1]), whole_number(all[at + 2]));
        let device = device.ok_or_else(|| FieldFault::text("major", "numbers of a device", all[at + 1]))?;
        if let Some(other) = all[at + 3..].iter().find(|word| !word.iter().all(u8::is_ascii_hexdigit)) {
            return Err(FieldFault::text("digest", "hexadecimal digits", other));
        }
        let op = if all[at] == b"R" { Op::Read } else { Op::Write };
        Ok(TraceRecord::new(time_ns, device, offset_bytes, bytes, op))
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::assert_wrong_fields;
    use super::*;

    #[test]
    fn blocks_and_addresses_are_sectors() {
        let device = 6 << 20 | 1;
        let expected = TraceRecord::new(123, device, 100 * 512, 8 * 512, Op::Write);
        for line in
            ["123 42 nfsd 100 8 W 6 1 0a1b", "123 42 W 7 8 app 100 8 W 6 1 0a 1b 2c", "123.0 42 nfsd 1e2 8.0 W 6 1"]
        {
            assert_eq!(Fiu::request(line.as_bytes(), 512).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_wrong_fields::<Fiu>(&[
            ("x 42 nfsd 100 8 W 6 1 0a", "timestamp"),
            ("1 x nfsd 100 8 W 6 1 0a", "pid"),
            ("1 2 nfsd x 8 W 6 1 0a", "lba"),
            ("1 2 nfsd 100 x W 6 1 0a", "line"),
            ("1 2 nfsd 100 8 D 6 1 0a", "line"),
            ("1 2 nfsd 100 8 W 4096 1 0a", "major"),
            ("1 2 nfsd 100 8 W 6 1 xyz", "digest"),
            ("1 2 nfsd 100 8 W 6", "line"),
        ]);
    }
}
