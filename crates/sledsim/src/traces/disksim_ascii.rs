//! DiskSim's default ASCII format (Bucy et al., CMU-PDL-08-101): `time_ms devno blkno blocks flags`, blocks of 512 bytes.
//! The flags are hexadecimal; bit 0 is set for a read. The other bits are ignored.

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry, Writing};
use super::text::{exact_words, sectors_to_bytes, time_ns, unsigned, unsigned32, SectorLine, SectorLines, TimeUnit};
use super::{TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;

/// DiskSim ASCII in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "disksim-ascii",
    description: "DiskSim ASCII: time_ms devno blkno blocks flags (bit 0 = read)",
    carries: &[Carries::Times],
    example: b"0.000000 0 3200 8 1\n\
        4.250000 0 3208 8 0\n\
        9.125000 1 77 16 1\n",
    detect: |head| head.requests(SectorLines::<DisksimAscii>::usual()),
    in_sectors: Some(|head| head.records(SectorLines::<DisksimAscii>::usual())),
    build: |_, options| SectorLines::<DisksimAscii>::build(options),
    write: Some(Writing {
        suffix: Some(".ascii"),
        header: "",
        sector_bytes: DEFAULT_SECTOR_BYTES,
        line: |record, put| {
            let (blkno, blocks) = record.in_sectors();
            let (ms, rest_ns) = (record.time.ns() / 1_000_000, record.time.ns() % 1_000_000);
            let flags = u8::from(record.op == Op::Read);
            put(format_args!("{ms}.{rest_ns:06} {} {blkno} {blocks} {flags}\n", record.device))
        },
    }),
};

enum DisksimAscii {}

impl SectorLine for DisksimAscii {
    const UNITS: &'static str = "times in ms, addresses in sectors";

    #[inline]
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord> {
        let [time, devno, blkno, blocks, flags] = exact_words(line, "time_ms devno blkno blocks flags")?;
        Ok(TraceRecord::new(
            time_ns("time_ms", time, TimeUnit::Ms)?,
            unsigned32("devno", devno)?,
            sectors_to_bytes("blkno", unsigned("blkno", blkno)?, sector_bytes)?,
            sectors_to_bytes("blocks", unsigned("blocks", blocks)?, sector_bytes)?,
            if hexadecimal("flags", flags)? & 1 == 1 { Op::Read } else { Op::Write },
        ))
    }
}

/// An unsigned hexadecimal integer of up to 32 bits, with or without `0x`, or a decimal number with a point (`1.0`).
fn hexadecimal(field: &'static str, text: &[u8]) -> Parsed<u32> {
    if text.contains(&b'.') {
        return unsigned32(field, text);
    }
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    let mut value = 0_u32;
    let is_number = !digits.is_empty()
        && digits.len() <= 8
        && digits.iter().all(|&byte| match char::from(byte).to_digit(16) {
            Some(digit) => {
                value = value << 4 | digit;
                true
            }
            None => false,
        });
    if is_number {
        Ok(value)
    } else {
        Err(FieldFault::text(field, "a hexadecimal integer below 2^32", text))
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::assert_wrong_fields;
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let record = DisksimAscii::request(b"1.234567  3  100 8 1b", 512).unwrap();
        assert_eq!(record, TraceRecord::new(1_234_567, 3, 51_200, 4096, Op::Read));
        let record = DisksimAscii::request(b"2 3 100 8 0x10", 512).unwrap();
        assert_eq!((record.op, record.time.ns()), (Op::Write, 2_000_000));
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_wrong_fields::<DisksimAscii>(&[
            ("-1.5 0 0 8 1", "time_ms"),
            ("1.0 a 0 8 1", "devno"),
            ("1.0 0 1.5 8 1", "blkno"),
            ("1.0 0 0 8x 1", "blocks"),
            ("1.0 0 0 8 g", "flags"),
            ("1.0 0 0 8 123456789", "flags"),
            ("1.0 0 0 8", "line"),
        ]);
    }
}
