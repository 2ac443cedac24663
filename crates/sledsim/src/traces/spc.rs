//! Storage Performance Council traces, as in the UMass repository: `asu,lba,bytes,R|W,seconds[,…]`.
//!
//! The address is in sectors of 512 bytes, the length in bytes; the ASU (application storage unit) is the device.
//! Fields after the time are optional and ignored.

use super::csv::{preset, CellCount, Columns};
use super::format::{Carries, Entry};
use super::options::LengthUnit;
use super::text::TimeUnit;
use super::DEFAULT_SECTOR_BYTES;

/// SPC in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "spc",
    description: "SPC (UMass): asu,lba,bytes,R|W,seconds[,...]",
    carries: &[Carries::Times],
    example: b"0,20941264,8192,W,0.551706\n\
        0,20939840,8192,W,0.554041\n\
        1,3436288,15872,r,1.011732\n",
    detect: |head| head.requests(columns(DEFAULT_SECTOR_BYTES)),
    in_sectors: None,
    build: |input, options| preset(input, columns(options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES))),
    write: None,
};

const fn columns(sector_bytes: u32) -> Columns {
    Columns {
        separator: b',',
        count: CellCount::AtLeast(5),
        shape: "asu,lba,bytes,R|W,seconds",
        time: Some((4, TimeUnit::S)),
        response: None,
        device: Some(0),
        offset: 1,
        offset_unit: LengthUnit::Sectors,
        length: 2,
        length_unit: LengthUnit::Bytes,
        op: 3,
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
        for line in [&b"0,20941264,8192,W,0.551706"[..], b"0,20941264,8192,w,0.551706,x,y"] {
            let Ok(Step::Request(record)) = columns(512).line(line) else { panic!("no request") };
            assert_eq!(record, TraceRecord::new(551_706_000, 0, 20_941_264 * 512, 8192, Op::Write));
        }
    }
}
