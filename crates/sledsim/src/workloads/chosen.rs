//! The records of a trace that a replay has chosen.

use std::collections::BTreeMap;

use super::trace::TraceSpec;
use crate::fault::Fault;
use crate::time::s_to_ns;
use crate::traces::{Look, TraceOptions, TraceReader, TraceRecord, RECORDS_AT_ONCE};

/// A place in the trace, with what of it is chosen.
pub(super) struct Cursor {
    pub reader: TraceReader,
    /// From when on records are chosen, and up to when, after the first of the trace.
    from_ns: u64,
    until_ns: Option<u64>,
    /// Records of the chosen devices seen, and of those replayed, in this pass.
    seen: u64,
    pub replayed: u64,
    /// Time of the first record replayed in this pass.
    pub origin_ns: Option<u64>,
}

impl Cursor {
    pub fn open(spec: &TraceSpec, options: &TraceOptions) -> Result<Self, Fault> {
        let reader = TraceReader::open(spec.path.as_ref(), options)?;
        let (from_ns, until_ns) = (s_to_ns(spec.start_s), spec.end_s.map(s_to_ns));
        Ok(Self { reader, from_ns, until_ns, seen: 0, replayed: 0, origin_ns: None })
    }

    /// The next chosen record, unless it takes long to find.
    pub fn next(&mut self, spec: &TraceSpec) -> Result<Found, Fault> {
        if spec.records.is_some_and(|most| self.replayed >= most) {
            return Ok(Found::End);
        }
        let mut stint = self.reader.stint();
        while self.reader.goes_on(&mut stint) {
            let record = match self.reader.look()? {
                Look::Request(record) => record,
                Look::Passed => continue,
                Look::End => return Ok(Found::End),
            };
            if self.until_ns.is_some_and(|until| record.time.ns() >= until) {
                return Ok(Found::End);
            }
            let chosen = spec.devices.is_empty() || spec.devices.contains(&record.device);
            if !chosen || record.time.ns() < self.from_ns {
                continue;
            }
            self.seen += 1;
            if self.seen > spec.first_record {
                self.replayed += 1;
                return Ok(Found::Record(record));
            }
        }
        Ok(Found::NotYet)
    }
}

/// What a look at the trace found.
pub(super) enum Found {
    Record(TraceRecord),
    /// None among the next records; there may be more.
    NotYet,
    End,
}

/// Records to look at for how far a trace reaches, a second's work or two, after which what was seen has to do.
const RECORDS_FOR_REACH: u32 = 5_000_000;

/// Reads the trace anew for how far the chosen records reach, up to its end or to where it can't be read.
pub(super) struct Survey {
    /// None where it can't be opened.
    cursor: Option<Cursor>,
    /// Records of a device, and where the last of them ends.
    devices: BTreeMap<u32, (u64, u64)>,
    left: u32,
}

/// How far the chosen records reach.
pub(super) struct Reach {
    /// Where the last of them ends.
    pub end_bytes: u64,
    /// Whether all of them were looked at.
    pub whole: bool,
    /// How many devices of the trace they are of.
    pub devices: usize,
    /// The device of the trace that fits by itself, and of several the one with most records.
    pub fitting: Option<u32>,
}

impl Survey {
    pub fn begin(spec: &TraceSpec, options: &TraceOptions) -> Self {
        Self { cursor: Cursor::open(spec, options).ok(), devices: BTreeMap::new(), left: RECORDS_FOR_REACH }
    }

    /// Goes on for a while; what was found for a device of so many bytes, once that is all.
    pub fn go_on(&mut self, spec: &TraceSpec, capacity_bytes: u64) -> Option<Reach> {
        let Some(cursor) = &mut self.cursor else { return Some(self.reach(false, capacity_bytes)) };
        let mut stint = cursor.reader.stint();
        while self.left > 0 && cursor.reader.goes_on(&mut stint) {
            match cursor.next(spec) {
                Ok(Found::Record(record)) => {
                    self.left -= 1;
                    let (records, end_bytes) = self.devices.entry(record.device).or_default();
                    *records += 1;
                    *end_bytes = (*end_bytes).max(record.offset_bytes + record.bytes);
                }
                Ok(Found::NotYet) => {
                    self.left = self.left.saturating_sub(RECORDS_AT_ONCE);
                    return None;
                }
                Ok(Found::End) => return Some(self.reach(true, capacity_bytes)),
                Err(_) => return Some(self.reach(false, capacity_bytes)),
            }
        }
        (self.left == 0).then(|| self.reach(false, capacity_bytes))
    }

    fn reach(&self, whole: bool, capacity_bytes: u64) -> Reach {
        let fits = self.devices.iter().filter(|(_, (_, end_bytes))| whole && *end_bytes <= capacity_bytes);
        Reach {
            end_bytes: self.devices.values().map(|(_, end_bytes)| *end_bytes).max().unwrap_or_default(),
            whole,
            devices: self.devices.len(),
            fitting: fits.max_by_key(|(_, (records, _))| *records).map(|(device, _)| *device),
        }
    }
}
