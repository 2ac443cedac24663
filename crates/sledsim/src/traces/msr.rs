//! MSR Cambridge traces (Narayanan, Donnelly and Rowstron, FAST 2008):
//! `filetime,host,disk,Read|Write,offset,bytes,response`.
//!
//! The time counts ticks of 100 ns since 1601; offset and length are in bytes; the response time is ignored. The device is
//! the disk number, plus 256 for every host that appeared before this record's: in a trace of one host, as they are
//! published, it is the disk number. Some copies have an index before each record, which is ignored, or a header.

use super::csv::{cells, skip_header};
use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry};
use super::intern::Names;
use super::text::{
    operation, split, time_ns, unsigned, unsigned32, whole_number, wrong_count, LineParser, Lines, TimeUnit,
};
use super::{Step, TraceRecord};

/// MSR Cambridge in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "msr",
    description: "MSR Cambridge: filetime,host,disk,Read|Write,offset,bytes,response",
    carries: &[Carries::Times],
    example: b"128166372003061629,usr,0,Read,7014609920,24576,41286\n\
        128166372016382155,usr,0,Write,2657792,512,1963\n\
        128166372026382245,usr,1,Read,2658304,4096,1800\n",
    detect: |head| head.requests(Msr::default()),
    in_sectors: None,
    build: |input, _| {
        skip_header(input, b',')?;
        Ok(Box::new(Lines(Msr::default())))
    },
    write: None,
};

/// Disks of one host.
const DISKS: u32 = 256;

#[derive(Default)]
struct Msr {
    hosts: Names,
}

impl LineParser for Msr {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let [filetime, host, disk, op, offset, bytes] = match split::<8>(cells(line, b',')) {
            ([filetime, host, disk, op, offset, bytes, _, _], 7) => {
                [without_index(filetime), host, disk, op, offset, bytes]
            }
            ([index, record @ .., _], 8) if is_index(index) => record,
            (_, count) => {
                return Err(wrong_count(count, 7, "filetime,host,disk,Read|Write,offset,bytes,response"));
            }
        };
        let time_ns = time_ns("filetime", filetime, TimeUnit::Filetime)?;
        let disk = unsigned32("disk", disk)
            .ok()
            .filter(|&disk| disk < DISKS)
            .ok_or_else(|| FieldFault::text("disk", "a disk number below 256", disk))?;
        let op = operation("type", op)?;
        let (offset_bytes, bytes) = (unsigned("offset", offset)?, unsigned("bytes", bytes)?);
        let device = self.hosts.number("host", host)? * DISKS + disk;
        Ok(Step::Request(TraceRecord::new(time_ns, device, offset_bytes, bytes, op)))
    }

    fn units(&self) -> Option<String> {
        Some("times in ticks of 100 ns, addresses in bytes".to_owned())
    }
}

/// Returns true for the number of a record: `899`, or with the trace's name before it, `hm_0.csv_899`.
fn is_index(text: &[u8]) -> bool {
    let number = text.iter().rposition(|&byte| byte == b'_').map_or(text, |at| &text[at + 1..]);
    whole_number(number).is_some()
}

/// A time without the number before it.
fn without_index(filetime: &[u8]) -> &[u8] {
    match filetime.iter().position(|byte| matches!(byte, b' ' | b'\t')) {
        Some(at) if is_index(&filetime[..at]) => filetime[at..].trim_ascii_start(),
        _ => filetime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;

    #[test]
    fn hosts_and_disks_make_devices() {
        let mut parser = Msr::default();
        let mut device = |line: &[u8]| match parser.line(line) {
            Ok(Step::Request(record)) => record.device,
            _ => panic!("no request"),
        };
        assert_eq!(device(b"128166372003061629,usr,1,Read,7014609920,24576,41286"), 1);
        assert_eq!(device(b"128166372003061629,src,2,Write,7014609920,24576,41286"), 258);
        assert_eq!(device(b"128166372003061629,usr,0,Read,7014609920,24576,41286"), 0);
    }

    #[test]
    fn a_line_is_a_request() {
        let Ok(Step::Request(record)) = Msr::default().line(b"128166372003061629,usr,0,Read,7014609920,24576,41286")
        else {
            panic!("no request")
        };
        assert_eq!(record, TraceRecord::new(12_816_637_200_306_162_900, 0, 7_014_609_920, 24_576, Op::Read));
    }

    /// As pandas saves a trace of which a cell was missing.
    #[test]
    fn numbers_may_be_floats_and_the_response_anything() {
        let plain = "128166372003061629,usr,0,Read,7014609920,24576,41286";
        for line in [
            "128166372003061629.0,usr,0.0,Read,7014609920.0,24576.0,41286.0",
            "128166372003061629,usr,0,Read,7.01460992e9,2.4576e+04,",
            "7.0,128166372003061629,usr,0,Read,7014609920,24576,nan",
        ] {
            let record = |line: &str| match Msr::default().line(line.as_bytes()) {
                Ok(Step::Request(record)) => record,
                other => panic!("{line}: {other:?}"),
            };
            assert_eq!(record(line), record(plain), "{line}");
        }
    }

    #[test]
    fn an_index_before_a_record_is_passed_over() {
        let plain = "128166372003061629,hm,1,Read,7014609920,24576,41286";
        let record = |line: &str| match Msr::default().line(line.as_bytes()) {
            Ok(Step::Request(record)) => record,
            _ => panic!("no request: {line}"),
        };
        for index in ["899,", "0,", "899, ", "899 ", "899\t", "hm_0.csv_899,", "hm_0.csv_899 ", "hm_0.csv_899\t"] {
            assert_eq!(record(&format!("{index}{plain}")), record(plain), "{index:?}");
        }
        assert_eq!(Msr::default().line(format!("x,{plain}").as_bytes()).unwrap_err().field, "line");
        assert_eq!(Msr::default().line(format!("hm_0.csv,{plain}").as_bytes()).unwrap_err().field, "line");
        assert_eq!(Msr::default().line(format!("1,2,{plain}").as_bytes()).unwrap_err().field, "line");
    }

    #[test]
    fn wrong_fields_are_named() {
        for (line, field) in [
            (&b"x,usr,0,Read,0,512,1"[..], "filetime"),
            (b"1,usr,256,Read,0,512,1", "disk"),
            (b"1,usr,0,Reed,0,512,1", "type"),
            (b"1,usr,0,Read,-1,512,1", "offset"),
            (b"1,usr,0,Read,0,5.2,1", "bytes"),
            (b"1,usr,0,Read,0,512", "line"),
        ] {
            assert_eq!(Msr::default().line(line).unwrap_err().field, field);
        }
    }
}
