//! MQSim (Tavakkol et al., FAST 2018): one request a line, `time_ns device lba sectors type`, type 1 for a read and 0
//! for a write, sectors of 512 bytes.

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry, Writing};
use super::text::{exact_words, sectors_to_bytes, unsigned, unsigned32, whole_number, words, SectorLine, SectorLines};
use super::{TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;

/// MQSim in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "mqsim",
    description: "MQSim text: time_ns device lba sectors type (1 = read)",
    carries: &[Carries::Times],
    example: b"11413000 0 657728 16 1\n\
        11565000 1 31244784 64 0\n\
        11721000 1 31244848 16 1\n",
    detect: |head| head.where_lines(is_plausible).requests(SectorLines::<Mqsim>::usual()),
    in_sectors: Some(|head| head.records(SectorLines::<Mqsim>::usual())),
    build: |_, options| SectorLines::<Mqsim>::build(options),
    write: Some(Writing {
        suffix: Some(".mqsim"),
        header: "",
        sector_bytes: DEFAULT_SECTOR_BYTES,
        line: |record, put| {
            let (lba, sectors) = record.in_sectors();
            let kind = u8::from(record.op == Op::Read);
            put(format_args!("{} {} {lba} {sectors} {kind}\n", record.time.ns(), record.device))
        },
    }),
};

/// Returns false for a line whose time alone has a point: `4.000000 0 3200 8 1` is DiskSim ASCII, in milliseconds. In
/// `4.0 0.0 3200.0 8.0 1.0` a data-frame library has written every number so.
fn is_plausible(line: &[u8]) -> bool {
    let mut has_point = words(line).map(|word| word.contains(&b'.'));
    let time_has_point = has_point.next() == Some(true);
    !time_has_point || has_point.all(|has_point| has_point)
}

enum Mqsim {}

impl SectorLine for Mqsim {
    const UNITS: &'static str = "times in ns, addresses in sectors";

    #[inline]
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord> {
        let [time, device, lba, sectors, kind] = exact_words(line, "time_ns device lba sectors type")?;
        let op = match whole_number(kind) {
            Some(1) => Op::Read,
            Some(0) => Op::Write,
            _ => return Err(FieldFault::text("type", "1 (read) or 0 (write)", kind)),
        };
        Ok(TraceRecord::new(
            unsigned("time_ns", time)?,
            unsigned32("device", device)?,
            sectors_to_bytes("lba", unsigned("lba", lba)?, sector_bytes)?,
            sectors_to_bytes("sectors", unsigned("sectors", sectors)?, sector_bytes)?,
            op,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::assert_wrong_fields;
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let record = Mqsim::request(b"11565000 1 31244784 64 1", 512).unwrap();
        assert_eq!(record, TraceRecord::new(11_565_000, 1, 31_244_784 * 512, 64 * 512, Op::Read));
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_wrong_fields::<Mqsim>(&[
            ("1.5 0 0 8 1", "time_ns"),
            ("1 -1 0 8 1", "device"),
            ("1 0 36893488147419103232 8 1", "lba"),
            ("1 0 36028797018963968 8 1", "lba"),
            ("1 0 0 x 1", "sectors"),
            ("1 0 0 8 2", "type"),
            ("1 0 0 8", "line"),
            ("1 0 0 8 1 9", "line"),
        ]);
    }
}
