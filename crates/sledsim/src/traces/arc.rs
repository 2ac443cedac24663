//! The lists that came with the ARC paper: `start_block count ignored request_no`.
//!
//! Work that uses them must cite N. Megiddo and D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache",
//! FAST 2003. Every line is a read of `count` consecutive blocks. There are no times and no devices: the lists are for the
//! study of caches, and a block is a page of the cache. Its size, which the lists do not state, is taken as 512 bytes unless
//! [`super::TraceOptions::sector_bytes`] gives another. The third field and the request number are ignored (not every list
//! numbers its requests) but must be numbers. In the published lists the third is 0, which distinguishes them from other
//! lines of four numbers.

use super::error::Parsed;
use super::format::{Carries, Entry};
use super::text::{exact_words, sectors_to_bytes, unsigned, whole_number, words, SectorLine, SectorLines};
use super::TraceRecord;
use crate::request::Op;

/// ARC lists in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "arc",
    description: "Lists of the ARC paper (cite Megiddo and Modha, FAST 2003): start_block count ignored request_no",
    carries: &[Carries::Pages],
    example: b"230027 8 0 0\n\
        1842745 64 0 1\n\
        216082 8 0 2\n",
    detect: |head| head.where_lines(has_third_zero).requests(SectorLines::<Arc>::usual()),
    in_sectors: None,
    build: |_, options| SectorLines::<Arc>::build(options),
    write: None,
};

fn has_third_zero(line: &[u8]) -> bool {
    words(line).nth(2).and_then(whole_number) == Some(0)
}

enum Arc {}

impl SectorLine for Arc {
    const HAS_TIMES: bool = false;
    const UNITS: &'static str = "addresses in blocks, which are sectors";

    #[inline]
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord> {
        let [start, count, ignored, number] = exact_words(line, "start_block count ignored request_no")?;
        let offset_bytes = sectors_to_bytes("start_block", unsigned("start_block", start)?, sector_bytes)?;
        let bytes = sectors_to_bytes("count", unsigned("count", count)?, sector_bytes)?;
        unsigned("ignored", ignored)?;
        unsigned("request_no", number)?;
        Ok(TraceRecord::new(0, 0, offset_bytes, bytes, Op::Read))
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::assert_wrong_fields;
    use super::*;

    #[test]
    fn a_line_is_a_read() {
        let record = Arc::request(b"1842745 64 0 1", 512).unwrap();
        assert_eq!(record, TraceRecord::new(0, 0, 1_842_745 * 512, 64 * 512, Op::Read));
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_wrong_fields::<Arc>(&[
            ("x 64 0 1", "start_block"),
            ("1 6.4 0 1", "count"),
            ("1 64 - 1", "ignored"),
            ("1 64 0 one", "request_no"),
            ("1 64 0", "line"),
        ]);
    }
}
