//! libCacheSim's oracleGeneral: records of 24 bytes, little-endian, without a header.
//!
//! | at | bytes | field |
//! | --- | --- | --- |
//! | 0 | 4 | time, s |
//! | 4 | 8 | object |
//! | 12 | 4 | size of the object, bytes |
//! | 16 | 8 | index of the next request for the object (ignored); -1 or 2^63 - 1 if there is none |
//!
//! A record is a read of an object: its address is the object's number, which need not be one of a device. As in libCacheSim,
//! objects of size 0 are no requests.

use super::error::{Failure, FieldFault};
use super::format::{Carries, Entry, Head, CERTAIN};
use super::source::Input;
use super::{RecordParser, Step, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;
use crate::time::NS_PER_S;

/// oracleGeneral in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "oracle-general",
    description: "libCacheSim oracleGeneral, binary: time_s, object, bytes, next request; for hit ratios",
    carries: &[Carries::Times, Carries::Objects],
    example: b"\0\0\0\0\xe8\x03\0\0\0\0\0\0\0\x10\0\0\x02\0\0\0\0\0\0\0\
        \0\0\0\0\xe9\x03\0\0\0\0\0\0\0\x02\0\0\xff\xff\xff\xff\xff\xff\xff\xff\
        \x05\0\0\0\xe8\x03\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\x7f",
    detect: |head| if is_detected(head) { CERTAIN } else { 0 },
    in_sectors: None,
    build: |_, _| Ok(Box::new(OracleGeneral)),
    write: None,
};

const RECORD_BYTES: usize = 24;
/// Records that detection reads.
const HEAD_RECORDS: usize = 64;
/// The greatest index of a request that detection accepts.
const MOST_REQUESTS: i64 = 1 << 44;
/// The greatest time between two records that detection accepts, and the largest object.
const MOST_GAP_S: u32 = 366 * 86_400;
const MOST_BYTES: u32 = 1 << 31;

/// Returns true if the first records are in order and each next request is later in the trace. Where it is among the first
/// records, it is one for the same object.
fn is_detected(head: &Head) -> bool {
    let records: Vec<Record> = head.bytes.chunks_exact(RECORD_BYTES).take(HEAD_RECORDS).map(Record::of).collect();
    // Requests are counted from 0 or from 1.
    let is_consistent = |first: i64| {
        (first..).zip(&records).all(|(index, record)| {
            let Some(next) = record.next else { return true };
            let same = usize::try_from(next - first).ok().and_then(|next| records.get(next));
            next > index && next < MOST_REQUESTS && same.is_none_or(|next| next.object == record.object)
        })
    };
    let in_order = records
        .windows(2)
        .all(|pair| pair[1].time_s.checked_sub(pair[0].time_s).is_some_and(|gap_s| gap_s <= MOST_GAP_S));
    let has_sizes =
        records.iter().all(|record| record.bytes <= MOST_BYTES) && records.iter().any(|record| record.bytes > 0);
    !records.is_empty() && in_order && has_sizes && (is_consistent(0) || is_consistent(1))
}

struct Record {
    time_s: u32,
    object: u64,
    bytes: u32,
    next: Option<i64>,
}

impl Record {
    /// Returns the record of [`RECORD_BYTES`] bytes.
    fn of(raw: &[u8]) -> Self {
        let bytes = |at: usize| -> [u8; 8] { std::array::from_fn(|byte| raw[at + byte]) };
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| raw[at + byte]));
        let next = i64::from_le_bytes(bytes(16));
        Self {
            time_s: short(0),
            object: u64::from_le_bytes(bytes(4)),
            bytes: short(12),
            next: (next != -1 && next != i64::MAX).then_some(next),
        }
    }
}

struct OracleGeneral;

impl RecordParser for OracleGeneral {
    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure> {
        let raw = input.peek(RECORD_BYTES)?;
        let got = raw.len();
        if got == 0 {
            return Ok(None);
        }
        if got < RECORD_BYTES {
            input.skip(got);
            let found = format!("{got} bytes before the end of the trace");
            return Err(Failure::Bad(FieldFault::new("record", format!("{RECORD_BYTES} bytes"), found)));
        }
        let Record { time_s, object, bytes, .. } = Record::of(raw);
        input.skip(RECORD_BYTES);
        if bytes == 0 {
            return Ok(Some(Step::Other));
        }
        let record = TraceRecord::new(u64::from(time_s) * NS_PER_S, 0, object, u64::from(bytes), Op::Read);
        Ok(Some(Step::Request(record)))
    }

    fn sector_bytes(&self) -> u32 {
        DEFAULT_SECTOR_BYTES
    }

    fn has_times(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(time_s: u32, object: u64, bytes: u32, next: i64) -> Vec<u8> {
        let (time, object) = (time_s.to_le_bytes(), object.to_le_bytes());
        [&time[..], &object, &bytes.to_le_bytes(), &next.to_le_bytes()].concat()
    }

    #[test]
    fn consistent_records_are_detected() {
        let detected = |records: &[Vec<u8>]| is_detected(&Head::of(&records.concat()));
        for first in [0, 1] {
            let good =
                [raw(5, 1 << 63, 10, 2 + first), raw(5, 7, 20, -1), raw(6, 1 << 63, 10, 1000), raw(6, 8, 0, i64::MAX)];
            assert!(detected(&good));
            let mut other_object = good.clone();
            other_object[2] = raw(6, 9, 10, 1000);
            let mut backward = good.clone();
            backward[3] = raw(4, 8, 0, -1);
            let mut past = good.clone();
            past[2] = raw(6, 1 << 63, 10, 0);
            let mut large = good;
            large[1] = raw(5, 7, u32::MAX, -1);
            assert!(!detected(&other_object) && !detected(&backward) && !detected(&past) && !detected(&large));
        }
        assert!(!is_detected(&Head::of(&[0; 4800])) && !is_detected(&Head::of(b"")));
    }
}
