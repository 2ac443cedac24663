//! Sorting of records by time in bounded memory: sorted runs in temporary files, which are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use super::error::Place;
use super::order::Entry;
use super::{Outcome, TraceRecord};
use crate::request::{Flags, Op};
use crate::time::Time;

/// Records that are sorted in memory, about 30 MB.
const MEMORY_RECORDS: usize = 1 << 18;
/// Runs that are merged at once.
const FAN_IN: usize = 64;

/// Records to be sorted by time; those of one time keep their order.
pub(super) struct Sorter {
    memory_records: usize,
    /// Records of the run in memory.
    run: Vec<Entry>,
    /// Runs in files, by how often they were merged, in the order of the trace.
    levels: Vec<Vec<Run>>,
    count: u64,
    merge: Option<Merge>,
}

impl Sorter {
    pub fn new() -> Self {
        Self::with_memory(MEMORY_RECORDS)
    }

    fn with_memory(memory_records: usize) -> Self {
        Self { memory_records, run: Vec::new(), levels: Vec::new(), count: 0, merge: None }
    }

    /// The number of records.
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Adds a record.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn push(&mut self, entry: Entry) -> io::Result<()> {
        self.count += 1;
        self.run.push(entry);
        if self.run.len() < self.memory_records {
            return Ok(());
        }
        self.run.sort_by_key(|entry| entry.record.time);
        let mut merge = Merge::of(vec![Run::in_memory(std::mem::take(&mut self.run))])?;
        let mut level = 0;
        loop {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(Run::written(merge)?);
            if self.levels[level].len() < FAN_IN {
                return Ok(());
            }
            merge = Merge::of(std::mem::take(&mut self.levels[level]))?;
            level += 1;
        }
    }

    /// Sorts the records that were added.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn finish(&mut self) -> io::Result<()> {
        self.run.sort_by_key(|entry| entry.record.time);
        // Runs that were merged more often are earlier in the trace.
        let mut runs: Vec<Run> = std::mem::take(&mut self.levels).into_iter().rev().flatten().collect();
        runs.push(Run::in_memory(std::mem::take(&mut self.run)));
        self.merge = Some(Merge::of(runs)?);
        Ok(())
    }

    /// Returns true after [`Sorter::finish`].
    pub const fn is_sorted(&self) -> bool {
        self.merge.is_some()
    }

    /// Removes the first record of those that are sorted.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn take_next(&mut self) -> io::Result<Option<Entry>> {
        self.merge.as_mut().map_or(Ok(None), Merge::next)
    }
}

/// A sorted run.
enum Run {
    Memory(std::vec::IntoIter<Entry>),
    File { file: BufReader<File>, left: u64 },
}

impl Run {
    fn in_memory(entries: Vec<Entry>) -> Self {
        Self::Memory(entries.into_iter())
    }

    /// Writes a run to a temporary file.
    fn written(mut merge: Merge) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 16, tempfile::tempfile()?);
        let mut left = 0;
        while let Some(entry) = merge.next()? {
            file.write_all(&encode(&entry))?;
            left += 1;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Self::File { file: BufReader::with_capacity(1 << 16, file), left })
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        match self {
            Self::Memory(entries) => Ok(entries.next()),
            Self::File { left: 0, .. } => Ok(None),
            Self::File { file, left } => {
                let mut bytes = [0; ENTRY_BYTES];
                file.read_exact(&mut bytes)?;
                *left -= 1;
                Ok(Some(decode(&bytes)))
            }
        }
    }
}

/// Sorted runs that are merged. Of records of one time that of the earlier run is first.
struct Merge {
    runs: Vec<Run>,
    /// The first record of each run.
    first: Vec<Option<Entry>>,
    /// Time of the first record, and the run.
    order: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Merge {
    fn of(runs: Vec<Run>) -> io::Result<Self> {
        let mut merge = Self { first: Vec::with_capacity(runs.len()), order: BinaryHeap::new(), runs };
        for index in 0..merge.runs.len() {
            merge.first.push(None);
            merge.advance(index)?;
        }
        Ok(merge)
    }

    fn advance(&mut self, index: usize) -> io::Result<()> {
        self.first[index] = self.runs[index].next()?;
        self.order.extend(self.first[index].as_ref().map(|entry| Reverse((entry.record.time, index))));
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        let Some(Reverse((_, index))) = self.order.pop() else { return Ok(None) };
        let entry = self.first[index].take();
        self.advance(index)?;
        Ok(entry)
    }
}

const WORDS: usize = 8;
const ENTRY_BYTES: usize = 8 * WORDS;

// Bits of the last word; the device is in its high half.
const HAS_FLUSH: u64 = 1 << 8;
const HAS_RESPONSE: u64 = 1 << 9;
const HAS_GAP: u64 = 1 << 10;
const OP_SHIFT: u32 = 12;
const OUTCOME_SHIFT: u32 = 16;
const PLACE_SHIFT: u32 = 20;
const DEVICE_SHIFT: u32 = 32;
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Flush, Op::Reset];
const FLAGS: [Flags; 4] = [Flags::SYNCHRONOUS, Flags::METADATA, Flags::BACKGROUND, Flags::DURABLE];

/// The bytes of a record in a temporary file.
fn encode(entry: &Entry) -> [u8; ENTRY_BYTES] {
    let record = &entry.record;
    let index = |of: Option<usize>| of.unwrap_or(0) as u64;
    let flags = (0..).zip(FLAGS).map(|(bit, flag)| u64::from(record.flags.contains(flag)) << bit).sum::<u64>();
    let has = |bit: u64, holds: bool| if holds { bit } else { 0 };
    let outcome = record.outcome.map(|outcome| 1 + index(Outcome::ALL.iter().position(|each| *each == outcome)));
    let (place_kind, place) = match entry.place {
        Place::Line(line) => (0_u64, line),
        Place::Byte(byte) => (1, byte),
        Place::Record(record) => (2, record),
        Place::Names => (3, 0),
    };
    let rest = flags
        | has(HAS_FLUSH, entry.flushes)
        | has(HAS_RESPONSE, record.response_ns.is_some())
        | has(HAS_GAP, record.gap_ns.is_some())
        | index(OPS.iter().position(|op| *op == record.op)) << OP_SHIFT
        | outcome.unwrap_or(0) << OUTCOME_SHIFT
        | place_kind << PLACE_SHIFT
        | u64::from(record.device) << DEVICE_SHIFT;
    let words: [u64; WORDS] = [
        record.time.ns(),
        record.offset_bytes,
        record.bytes,
        record.response_ns.unwrap_or(0),
        record.gap_ns.unwrap_or(0),
        place,
        rest,
        0,
    ];
    let mut bytes = [0; ENTRY_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The record of [`encode`].
fn decode(bytes: &[u8; ENTRY_BYTES]) -> Entry {
    let word = |index: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[8 * index..8 * index + 8]);
        u64::from_le_bytes(word)
    };
    let rest = word(6);
    let has = |bit: u64| rest & bit != 0;
    let digit = |shift: u32| (rest >> shift & 0xf) as usize;
    let mut flags = Flags::NONE;
    for (bit, flag) in (0..).zip(FLAGS) {
        if has(1 << bit) {
            flags = flags.with(flag);
        }
    }
    let place = match digit(PLACE_SHIFT) {
        0 => Place::Line(word(5)),
        1 => Place::Byte(word(5)),
        2 => Place::Record(word(5)),
        _ => Place::Names,
    };
    let record = TraceRecord {
        time: Time::from_ns(word(0)),
        device: (rest >> DEVICE_SHIFT) as u32,
        offset_bytes: word(1),
        bytes: word(2),
        op: OPS[digit(OP_SHIFT)],
        flags,
        response_ns: has(HAS_RESPONSE).then(|| word(3)),
        gap_ns: has(HAS_GAP).then(|| word(4)),
        outcome: digit(OUTCOME_SHIFT).checked_sub(1).map(|index| Outcome::ALL[index]),
    };
    Entry { place, record, flushes: has(HAS_FLUSH) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, time_ns: u64) -> Entry {
        let op = OPS[(number % 3) as usize];
        let record = TraceRecord {
            flags: if number.is_multiple_of(2) { Flags::DURABLE.with(Flags::METADATA) } else { Flags::NONE },
            response_ns: number.is_multiple_of(5).then_some(number),
            gap_ns: number.is_multiple_of(7).then_some(u64::MAX - number),
            outcome: Outcome::ALL.get((number % 6) as usize).copied(),
            ..TraceRecord::new(time_ns, u32::MAX - (number % 4) as u32, u64::MAX - number, number, op)
        };
        let place = match number % 3 {
            0 => Place::Line(number),
            1 => Place::Byte(u64::MAX - number),
            _ => Place::Record(number),
        };
        Entry { place, record, flushes: number.is_multiple_of(11) }
    }

    /// Numbers of records in memory and records in all: one run, several, and more than are merged at once.
    #[test]
    fn records_are_sorted_by_time_and_keep_their_order_within_a_time() {
        for (memory_records, count) in [(100, 40), (100, 100), (7, 300), (2, 500), (1, 4200)] {
            let entries: Vec<Entry> = (0..count).map(|number| entry(number, number * 7919 % 101)).collect();
            let mut sorter = Sorter::with_memory(memory_records);
            for entry in &entries {
                sorter.push(entry.clone()).unwrap();
            }
            assert_eq!((sorter.len(), sorter.is_sorted()), (count, false));
            sorter.finish().unwrap();
            let mut expected = entries;
            expected.sort_by_key(|entry| entry.record.time);
            for wanted in expected {
                let found = sorter.take_next().unwrap().unwrap();
                assert_eq!((found.place, found.record, found.flushes), (wanted.place, wanted.record, wanted.flushes));
            }
            assert!(sorter.take_next().unwrap().is_none());
        }
    }
}
