//! Alibaba Cloud block traces (Li et al., IISWC 2020): `device,opcode,offset,length,timestamp_us`, offset and length in
//! bytes, opcode `R` or `W`.

use super::csv::{preset, CellCount, Columns};
use super::format::{Carries, Entry};
use super::options::LengthUnit;
use super::text::TimeUnit;
use super::DEFAULT_SECTOR_BYTES;

/// Alibaba in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "alibaba",
    description: "Alibaba Cloud: device,opcode,offset,length,timestamp_us",
    carries: &[Carries::Times],
    example: b"419,W,8792731648,16384,1577808144360767\n\
        725,R,59110326272,4096,1577808144360813\n\
        12,R,350868463616,8192,1577808144360852\n",
    detect: |head| head.requests(columns(DEFAULT_SECTOR_BYTES)),
    in_sectors: None,
    build: |input, options| preset(input, columns(options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES))),
    write: None,
};

const fn columns(sector_bytes: u32) -> Columns {
    Columns {
        separator: b',',
        count: CellCount::Exactly(5),
        shape: "device,opcode,offset,length,timestamp_us",
        time: Some((4, TimeUnit::Us)),
        response: None,
        device: Some(0),
        offset: 2,
        offset_unit: LengthUnit::Bytes,
        length: 3,
        length_unit: LengthUnit::Bytes,
        op: 1,
        op_codes: None,
        may_flush: false,
        sector_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;
    use crate::traces::text::LineParser;
    use crate::traces::{Step, TraceRecord};

    #[test]
    fn a_line_is_a_request() {
        let Ok(Step::Request(record)) = columns(512).line(b"419,W,8792731648,16384,1577808144360767") else {
            panic!("no request")
        };
        assert_eq!(record, TraceRecord::new(1_577_808_144_360_767_000, 419, 8_792_731_648, 16_384, Op::Write));
    }
}
