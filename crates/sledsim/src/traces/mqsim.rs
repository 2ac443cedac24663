//! MQSim (Tavakkol et al., FAST 2018): one request a line, `time_ns device lba sectors type`, type 1 for a read and 0
//! for a write, sectors of 512 bytes.

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry};
use super::text::{exact_words, sectors_to_bytes, uint, uint32, LineParser, Lines};
use super::{Step, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;

/// MQSim in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "mqsim",
    description: "MQSim text: time_ns device lba sectors type (1 = read)",
    carries: &[Carries::Times],
    example: b"11413000 0 657728 16 1\n\
        11565000 1 31244784 64 0\n\
        11721000 1 31244848 16 1\n",
    detect: |head| head.requests(Mqsim { sector_bytes: DEFAULT_SECTOR_BYTES }),
    in_sectors: Some(|head| head.records(Mqsim { sector_bytes: DEFAULT_SECTOR_BYTES })),
    build: |_, options| {
        Ok(Box::new(Lines(Mqsim { sector_bytes: options.sector_bytes.unwrap_or(DEFAULT_SECTOR_BYTES) })))
    },
};

struct Mqsim {
    sector_bytes: u32,
}

impl LineParser for Mqsim {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let [time, device, lba, sectors, kind] = exact_words(line, "time_ns device lba sectors type")?;
        let op = match kind {
            b"1" => Op::Read,
            b"0" => Op::Write,
            _ => return Err(FieldFault::text("type", "1 (read) or 0 (write)", kind)),
        };
        Ok(Step::Request(TraceRecord::new(
            uint("time_ns", time)?,
            uint32("device", device)?,
            sectors_to_bytes("lba", uint("lba", lba)?, self.sector_bytes)?,
            sectors_to_bytes("sectors", uint("sectors", sectors)?, self.sector_bytes)?,
            op,
        )))
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request() {
        let mut parser = Mqsim { sector_bytes: 512 };
        let Ok(Step::Request(record)) = parser.line(b"11565000 1 31244784 64 1") else { panic!("no request") };
        assert_eq!(record, TraceRecord::new(11_565_000, 1, 31_244_784 * 512, 64 * 512, Op::Read));
    }

    #[test]
    fn wrong_fields_are_named() {
        let mut parser = Mqsim { sector_bytes: 512 };
        for (line, field) in [
            (&b"1.5 0 0 8 1"[..], "time_ns"),
            (b"1 -1 0 8 1", "device"),
            (b"1 0 36893488147419103232 8 1", "lba"),
            (b"1 0 36028797018963968 8 1", "lba"),
            (b"1 0 0 x 1", "sectors"),
            (b"1 0 0 8 2", "type"),
            (b"1 0 0 8", "line"),
            (b"1 0 0 8 1 9", "line"),
        ] {
            assert_eq!(parser.line(line).unwrap_err().field, field);
        }
    }
}
