//! DiskSim's validation traces: `R|W outcome lbn blocks service_us next_gap_us`, blocks of 512 bytes.
//!
//! A closed loop: the next request arrives `next_gap_us` after this one completes, and `service_us` is the service time of
//! the real drive. There are no arrival times, so every record is at time 0. The outcome is that of the drive's cache: `Hit` or
//! `Miss`, and in the trace of the HP C2247A also `Doub` and `Trip` for writes. It has no effect on a replay.

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry};
use super::text::{exact_words, sectors_to_bytes, time_ns, unsigned, SectorLine, SectorLines, TimeUnit};
use super::{Outcome, TraceRecord};
use crate::request::Op;

/// DiskSim validation traces in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "disksim-validate",
    description: "DiskSim validation: R|W Hit|Miss lbn blocks service_us next_gap_us (closed loop)",
    carries: &[Carries::Gaps],
    example: b"R Miss 564347 2 14095.370 13876.270\n\
        R Hit 564349 2 1414.270 18746.770\n\
        W Miss 1569160 3 6936.010 23126.390\n",
    detect: |head| head.requests(SectorLines::<DisksimValidate>::usual()),
    in_sectors: None,
    build: |_, options| SectorLines::<DisksimValidate>::build(options),
    write: None,
};

enum DisksimValidate {}

impl SectorLine for DisksimValidate {
    const HAS_TIMES: bool = false;
    const UNITS: &'static str = "times in us, addresses in sectors";

    #[inline]
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord> {
        let [op, outcome, lbn, blocks, service, gap] =
            exact_words(line, "R|W outcome lbn blocks service_us next_gap_us")?;
        let op = match op {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(FieldFault::text("operation", "R or W", op)),
        };
        let outcome = Outcome::ALL
            .into_iter()
            .find(|known| known.name().as_bytes() == outcome)
            .ok_or_else(|| FieldFault::text("outcome", "Hit, Miss, Doub or Trip", outcome))?;
        let offset_bytes = sectors_to_bytes("lbn", unsigned("lbn", lbn)?, sector_bytes)?;
        let bytes = sectors_to_bytes("blocks", unsigned("blocks", blocks)?, sector_bytes)?;
        Ok(TraceRecord {
            response_ns: Some(time_ns("service_us", service, TimeUnit::Us)?),
            gap_ns: Some(time_ns("next_gap_us", gap, TimeUnit::Us)?),
            outcome: Some(outcome),
            ..TraceRecord::new(0, 0, offset_bytes, bytes, op)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::assert_wrong_fields;
    use super::*;

    #[test]
    fn a_line_is_a_request_with_its_measured_times() {
        let record = DisksimValidate::request(b"W Doub 1569163     3     10671.040     19196.570", 512).unwrap();
        let plain = TraceRecord::new(0, 0, 1_569_163 * 512, 1536, Op::Write);
        let (response_ns, gap_ns) = (Some(10_671_040), Some(19_196_570));
        let measured = TraceRecord { response_ns, gap_ns, outcome: Some(Outcome::Doub), ..plain };
        assert_eq!(record, measured);
    }

    #[test]
    fn wrong_fields_are_named() {
        assert_wrong_fields::<DisksimValidate>(&[
            ("r Hit 1 4 1.0 2.0", "operation"),
            ("R hit 1 4 1.0 2.0", "outcome"),
            ("R Hit x 4 1.0 2.0", "lbn"),
            ("R Hit 1 -4 1.0 2.0", "blocks"),
            ("R Hit 1 4 -1.0 2.0", "service_us"),
            ("R Hit 1 4 1.0 nan", "next_gap_us"),
            ("R Hit 1 4 1.0", "line"),
        ]);
    }
}
