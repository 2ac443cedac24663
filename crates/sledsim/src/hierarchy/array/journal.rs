//! A journal in non-volatile memory: what is being written to a row stands there from before the first write to a member until
//! after the last, and is written again after a power cut.

use std::collections::{BTreeMap, VecDeque};

use super::row::Written;
use super::spec::{JournalHolds, JournalSpec};

/// What an entry takes besides data: row, first and last LBN, and a checksum, of 8 bytes each.
const ENTRY_BYTES: u64 = 32;

/// A write to a row that may be under way.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) row: u64,
    /// LBNs of the members.
    pub(super) range: (u64, u64),
    /// What is written; empty in a journal of intents.
    pub(super) writes: Vec<Written>,
    bytes: u64,
}

/// The journal.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    pub(super) spec: JournalSpec,
    used_bytes: u64,
    /// By a number of their own.
    entries: BTreeMap<u64, Entry>,
    next: u64,
    /// Operations that wait for room.
    waiting: VecDeque<u64>,
}

impl Journal {
    pub(super) fn new(spec: JournalSpec) -> Self {
        Self { spec, used_bytes: 0, entries: BTreeMap::new(), next: 0, waiting: VecDeque::new() }
    }

    /// Bytes that an entry for writes of so many bytes takes.
    pub(super) fn entry_bytes(holds: JournalHolds, data_bytes: u64) -> u64 {
        match holds {
            JournalHolds::Data => ENTRY_BYTES + data_bytes,
            JournalHolds::Intents => ENTRY_BYTES,
        }
    }

    /// Enters what is about to be written; `None` if there is no room, and the operation has to come again when
    /// [`Journal::leave`] names it.
    pub(super) fn enter(
        &mut self,
        operation: u64,
        row: u64,
        range: (u64, u64),
        writes: &[Written],
        block_bytes: u32,
    ) -> Option<u64> {
        let blocks: u64 = writes.iter().map(|write| write.to - write.from).sum();
        let bytes = Self::entry_bytes(self.spec.holds, blocks * u64::from(block_bytes));
        if self.used_bytes + bytes > self.spec.size_bytes {
            self.waiting.push_back(operation);
            return None;
        }
        let writes = match self.spec.holds {
            JournalHolds::Data => writes.to_vec(),
            JournalHolds::Intents => Vec::new(),
        };
        self.used_bytes += bytes;
        self.next += 1;
        self.entries.insert(self.next, Entry { row, range, writes, bytes });
        Some(self.next)
    }

    /// All of an entry has been written. Adds to `ready` who may find room now.
    pub(super) fn leave(&mut self, entry: u64, ready: &mut VecDeque<u64>) {
        let left = self.entries.remove(&entry);
        debug_assert!(left.is_some(), "entry {entry} leaves when its operation ends, once");
        self.used_bytes -= left.map_or(0, |left| left.bytes);
        ready.extend(self.waiting.drain(..));
    }

    /// What stands in it.
    pub(super) fn entries(&self) -> Vec<(u64, Entry)> {
        self.entries.iter().map(|(&number, entry)| (number, entry.clone())).collect()
    }

    /// Whether the room that is used is that of the entries, and fits.
    pub(super) fn is_sound(&self) -> bool {
        let bytes: u64 = self.entries.values().map(|entry| entry.bytes).sum();
        bytes == self.used_bytes && bytes <= self.spec.size_bytes
    }

    /// Counts a byte that no entry takes.
    #[cfg(test)]
    pub(super) fn miscount(&mut self) {
        self.used_bytes += 1;
    }

    /// Operations that wait are forgotten, entries are not.
    pub(super) fn power_cut(&mut self) {
        self.waiting.clear();
    }
}
