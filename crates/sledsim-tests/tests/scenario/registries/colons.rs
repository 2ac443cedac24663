//! Trace format `time_us:offset:bytes`, reads only.

use super::csv::cells;
use super::error::Parsed;
use super::format::{Carries, Entry};
use super::text::{split, time_ns, uint, wrong_count, LineParser, Lines, TimeUnit};
use super::{Step, TraceRecord};
use crate::request::Op;

/// The format in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "colons",
    description: "Colons: time_us:offset:bytes",
    carries: &[Carries::Times],
    example: b"0:4096:512\n25:8192:1024\n",
    detect: |head| head.requests(Colons),
    in_sectors: None,
    build: |_, _| Ok(Box::new(Lines(Colons))),
    write: None,
};

struct Colons;

impl LineParser for Colons {
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let ([time, offset, bytes], count) = split::<3>(cells(line, b':'));
        if count != 3 {
            return Err(wrong_count(count, 3, "time_us:offset:bytes", line));
        }
        let time_ns = time_ns("time_us", time, TimeUnit::Us)?;
        Ok(Step::Request(TraceRecord::new(time_ns, 0, uint("offset", offset)?, uint("bytes", bytes)?, Op::Read)))
    }
}
