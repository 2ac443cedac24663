//! VMware vscsiStats traces, as CloudPhysics published them: fixed-size little-endian records without a header.
//!
//! | version 1: at | version 2: at | bytes | field |
//! | --- | --- | --- | --- |
//! | 0 | 4 | 4 | `sn`, serial number (ignored) |
//! | 4 | 8 | 4 | `len`, length in bytes |
//! | 8 | 12 | 4 | `nsg`, scatter-gather elements (ignored) |
//! | 12 | 0 | 2 | `cmd`, SCSI operation code |
//! | 14 | 2 | 2 | `ver`, whose high byte is the version |
//! | 16 | 16 | 8 | `lbn`, in sectors of 512 bytes |
//! | 24 | 24 | 8 | `ts`, microseconds |
//! | – | 32 | 8 | `rt`, response time in microseconds (ignored) |
//!
//! A record has 32 bytes in version 1 and 40 in version 2. SYNCHRONIZE CACHE is a flush of the whole device, for any range.
//! Other commands that move no data of the medium (inquiries, reservations, unmaps) are counted as other records; an
//! operation code that is not one of SCSI's usual ones is an error. Forced unit access is not recorded.

use super::error::{Failure, FieldFault, Parsed};
use super::format::{Built, Carries, Entry, Head, CERTAIN};
use super::source::Input;
use super::text::sectors_to_bytes;
use super::{RecordParser, Step, TraceOptions, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;

/// VSCSI in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "vscsi",
    description: "VMware vscsiStats, binary, versions 1 and 2",
    carries: &[Carries::Times, Carries::Flushes],
    example: b"\x01\0\0\0\0\x02\0\0\x01\0\0\0*\0\0\x01\xe8\x03\0\0\0\0\0\0@KL\0\0\0\0\0\
        \x02\0\0\0\0\x10\0\0\x01\0\0\0(\0\0\x01\xe9\x03\0\0\0\0\0\0\xfcML\0\0\0\0\0\
        \x03\0\0\0\0 \0\0\x01\0\0\0*\0\0\x01Z\0\0\0\0\0\0\0\x80-N\0\0\0\0\0",
    detect: |head| if version_of(head).is_some() { CERTAIN } else { 0 },
    in_sectors: None,
    build,
    write: None,
};

/// Offsets of the fields in a version.
#[derive(Clone, Copy)]
struct Layout {
    version: u8,
    record_bytes: usize,
    len: usize,
    cmd: usize,
    ver: usize,
}

const V1: Layout = Layout { version: 1, record_bytes: 32, len: 4, cmd: 12, ver: 14 };
const V2: Layout = Layout { version: 2, record_bytes: 40, len: 8, cmd: 0, ver: 2 };
// The same in both versions.
const LBN: usize = 16;
const TS: usize = 24;
/// Records that detection reads.
const HEAD_RECORDS: usize = 16;

/// The version of at least half of the first records, if there is one.
fn version_of(head: &Head) -> Option<Layout> {
    [V1, V2].into_iter().find(|layout| {
        let records = || head.bytes.chunks_exact(layout.record_bytes).take(HEAD_RECORDS);
        let good =
            records().filter(|raw| raw[layout.ver + 1] == layout.version && command(raw, *layout).is_ok()).count();
        good > 0 && good * 2 >= records().count()
    })
}

fn build(input: &mut Input, options: &TraceOptions) -> Built {
    let layout = version_of(&Head::of(input.peek(HEAD_RECORDS * V2.record_bytes)?)).unwrap_or(V1);
    Ok(Box::new(Vscsi { layout, sector_bytes: options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES) }))
}

struct Vscsi {
    layout: Layout,
    sector_bytes: u32,
}

impl RecordParser for Vscsi {
    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure> {
        let size = self.layout.record_bytes;
        let raw = input.peek(size)?;
        let got = raw.len();
        let outcome = match got {
            0 => return Ok(None),
            _ if got < size => {
                let found = format!("{got} bytes before the end of the trace");
                Err(FieldFault::new("record", format!("{size} bytes"), found))
            }
            _ => self.record(raw),
        };
        input.skip(got);
        outcome.map(Some).map_err(Failure::Bad)
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn units(&self) -> Option<String> {
        Some("times in us, addresses in sectors".to_owned())
    }

    fn has_times(&self) -> bool {
        true
    }
}

impl Vscsi {
    #[inline]
    fn record(&self, raw: &[u8]) -> Parsed<Step> {
        let layout = self.layout;
        let version = raw[layout.ver + 1];
        if version != layout.version {
            let expected = format!("version {}, as in the first records", layout.version);
            return Err(FieldFault::new("ver", expected, format!("version {version}")));
        }
        let Some(op) = command(raw, layout)? else { return Ok(Step::Other) };
        let ticks_us = u64_at(raw, TS);
        let time_ns = ticks_us
            .checked_mul(1000)
            .ok_or_else(|| FieldFault::new("ts", "microseconds within 584 years", ticks_us.to_string()))?;
        if op == Op::Flush {
            return Ok(Step::Request(TraceRecord::flush(time_ns, 0)));
        }
        let offset_bytes = sectors_to_bytes("lbn", u64_at(raw, LBN), self.sector_bytes)?;
        Ok(Step::Request(TraceRecord::new(time_ns, 0, offset_bytes, u64::from(u32_at(raw, layout.len)), op)))
    }
}

/// The operation of a record's SCSI code; `None` if it neither moves data of the medium nor flushes.
#[inline]
fn command(raw: &[u8], layout: Layout) -> Parsed<Option<Op>> {
    let code = u16::from_le_bytes([raw[layout.cmd], raw[layout.cmd + 1]]);
    match code {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Ok(Some(Op::Read)),
        // WRITE (6), (10), (12), (16), and the same with verification.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Ok(Some(Op::Write)),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Ok(Some(Op::Flush)),
        // Sense, inquiry, mode, reservation, start and stop, capacity, verification, write same, unmap, logs, extended
        // copy, compare and write, service actions, LUN report, maintenance.
        0x00
        | 0x03
        | 0x12
        | 0x15..=0x17
        | 0x1a
        | 0x1b
        | 0x1e
        | 0x25
        | 0x2f
        | 0x41
        | 0x42
        | 0x4d
        | 0x55
        | 0x5a
        | 0x5e
        | 0x5f
        | 0x83
        | 0x84
        | 0x89
        | 0x8f
        | 0x93
        | 0x9e
        | 0x9f
        | 0xa0
        | 0xa3
        | 0xa4
        | 0xaf => Ok(None),
        _ => Err(FieldFault::new("cmd", "a SCSI operation code", format!("{code:#04x}"))),
    }
}

fn u32_at(raw: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]])
}

fn u64_at(raw: &[u8], at: usize) -> u64 {
    u64::from(u32_at(raw, at + 4)) << 32 | u64::from(u32_at(raw, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of `layout`.
    fn record(layout: Layout, code: u16, len: u32, lbn: u64, ts: u64) -> Vec<u8> {
        let mut raw = vec![0; layout.record_bytes];
        raw[layout.len..][..4].copy_from_slice(&len.to_le_bytes());
        raw[layout.cmd..][..2].copy_from_slice(&code.to_le_bytes());
        raw[layout.ver + 1] = layout.version;
        raw[LBN..][..8].copy_from_slice(&lbn.to_le_bytes());
        raw[TS..][..8].copy_from_slice(&ts.to_le_bytes());
        raw
    }

    #[test]
    fn both_versions_hold_the_same_request() {
        for layout in [V1, V2] {
            let raw = record(layout, 0x28, 4096, 100, 7);
            assert_eq!(version_of(&Head::of(&raw)).map(|found| found.version), Some(layout.version));
            let parser = Vscsi { layout, sector_bytes: 512 };
            let Ok(Step::Request(request)) = parser.record(&raw) else { panic!("no request") };
            assert_eq!(request, TraceRecord::new(7000, 0, 51_200, 4096, Op::Read));
        }
    }

    #[test]
    fn wrong_fields_are_named() {
        let parser = Vscsi { layout: V1, sector_bytes: 512 };
        let field = |raw: &[u8]| parser.record(raw).unwrap_err().field;
        assert_eq!(field(&record(V1, 0xff, 512, 0, 0)), "cmd");
        assert_eq!(field(&record(V1, 0x28, 512, u64::MAX, 0)), "lbn");
        assert_eq!(field(&record(V1, 0x28, 512, 0, u64::MAX)), "ts");
        assert_eq!(field(&record(V2, 0x28, 512, 0, 0)), "ver");
        assert!(matches!(parser.record(&record(V1, 0x12, 0, 0, 0)), Ok(Step::Other)));
    }

    #[test]
    fn synchronize_cache_is_a_flush_for_any_range() {
        let parser = Vscsi { layout: V1, sector_bytes: 512 };
        for code in [0x35, 0x91] {
            let Ok(Step::Request(request)) = parser.record(&record(V1, code, 4096, u64::MAX, 7)) else {
                panic!("no request")
            };
            assert_eq!(request, TraceRecord::flush(7000, 0));
        }
    }
}
