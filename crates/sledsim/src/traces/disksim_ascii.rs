//! DiskSim's default ASCII format (Bucy et al., CMU-PDL-08-101): `time_ms devno blkno blocks flags`, blocks of 512 bytes.
//! The flags are hexadecimal; bit 0 is set for a read. The other bits are DiskSim's own and not looked at.

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry};
use super::text::{exact_words, sectors_to_bytes, time_ns, uint, uint32, LineParser, Lines, TimeUnit};
use super::{Step, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;

/// DiskSim ASCII in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "disksim-ascii",
    description: "DiskSim ASCII: time_ms devno blkno blocks flags (bit 0 = read)",
    carries: &[Carries::Times],
    example: b"0.000000 0 3200 8 1\n\
        4.250000 0 3208 8 0\n\
        9.125000 1 77 16 1\n",
    detect: |head| head.requests(DisksimAscii { sector_bytes: DEFAULT_SECTOR_BYTES }),
    in_sectors: Some(|head| head.records(DisksimAscii { sector_bytes: DEFAULT_SECTOR_BYTES })),
    build: |_, options| {
        Ok(Box::new(Lines(DisksimAscii { sector_bytes: options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES) })))
    },
};

struct DisksimAscii {
    sector_bytes: u32,
}

impl LineParser for DisksimAscii {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let [time, devno, blkno, blocks, flags] = exact_words(line, "time_ms devno blkno blocks flags")?;
        Ok(Step::Request(TraceRecord::new(
            time_ns("time_ms", time, TimeUnit::Ms)?,
            uint32("devno", devno)?,
            sectors_to_bytes("blkno", uint("blkno", blkno)?, self.sector_bytes)?,
            sectors_to_bytes("blocks", uint("blocks", blocks)?, self.sector_bytes)?,
            if hexadecimal("flags", flags)? & 1 == 1 { Op::Read } else { Op::Write },
        )))
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }
}

/// An unsigned hexadecimal integer of up to 32 bits, with or without `0x`.
fn hexadecimal(field: &'static str, text: &[u8]) -> Parsed<u32> {
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
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let mut parser = DisksimAscii { sector_bytes: 512 };
        let Ok(Step::Request(record)) = parser.line(b"1.234567  3  100 8 1b") else { panic!("no request") };
        assert_eq!(record, TraceRecord::new(1_234_567, 3, 51_200, 4096, Op::Read));
        let Ok(Step::Request(record)) = parser.line(b"2 3 100 8 0x10") else { panic!("no request") };
        assert_eq!((record.op, record.time.ns()), (Op::Write, 2_000_000));
    }

    #[test]
    fn wrong_fields_are_named() {
        let mut parser = DisksimAscii { sector_bytes: 512 };
        for (line, field) in [
            (&b"-1.5 0 0 8 1"[..], "time_ms"),
            (b"1.0 a 0 8 1", "devno"),
            (b"1.0 0 1.5 8 1", "blkno"),
            (b"1.0 0 0 8x 1", "blocks"),
            (b"1.0 0 0 8 g", "flags"),
            (b"1.0 0 0 8 123456789", "flags"),
            (b"1.0 0 0 8", "line"),
        ] {
            assert_eq!(parser.line(line).unwrap_err().field, field);
        }
    }
}
