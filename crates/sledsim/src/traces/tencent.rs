//! Tencent Cloud block traces (Zhang et al., ATC 2020): `timestamp_s,offset,size,io_type,volume`, offset and size in
//! sectors of 512 bytes, type 0 for a read and 1 for a write.

use super::csv::{preset, CellCount, Columns};
use super::format::{Carries, Entry};
use super::options::{LengthUnit, OpCodes};
use super::text::TimeUnit;
use super::DEFAULT_SECTOR_BYTES;

/// Tencent in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "tencent",
    description: "Tencent Cloud: timestamp_s,offset,size,io_type,volume (sectors; 0 = read)",
    carries: &[Carries::Times],
    example: b"1538323200,12910952,128,0,1063\n\
        1538323200,6338688,8,1,1627\n\
        1538323201,1904106,384,0,1360\n",
    detect: |head| head.requests(columns(DEFAULT_SECTOR_BYTES)),
    in_sectors: Some(|head| head.records(columns(DEFAULT_SECTOR_BYTES))),
    build: |input, options| preset(input, columns(options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES))),
    write: None,
};

fn columns(sector_bytes: u32) -> Columns {
    Columns {
        separator: b',',
        count: CellCount::Exactly(5),
        shape: "timestamp_s,offset,size,io_type,volume",
        time: Some((0, TimeUnit::S)),
        response: None,
        device: Some(4),
        offset: 1,
        offset_unit: LengthUnit::Sectors,
        length: 2,
        length_unit: LengthUnit::Sectors,
        op: 3,
        op_codes: Some(OpCodes::new(["0"], ["1"])),
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
        let Ok(Step::Request(record)) = columns(512).line(b"1538323200,12910952,128,0,1063") else {
            panic!("no request")
        };
        let expected = TraceRecord::new(1_538_323_200_000_000_000, 1063, 12_910_952 * 512, 128 * 512, Op::Read);
        assert_eq!(record, expected);
    }
}
