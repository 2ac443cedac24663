//! A journal in non-volatile memory. It holds the writes to a row from before the first write to a member until after the last, and
//! they are repeated after a power cut.

use std::collections::{BTreeMap, VecDeque};

use super::operation::ColumnWrite;
use super::spec::{JournalHolds, JournalSpec};
use crate::hierarchy::common::BlockRange;

/// Size of an entry without data: row, first and last LBN, and a checksum, of 8 bytes each.
const ENTRY_BYTES: u64 = 32;

/// Writes to a row that may be outstanding.
#[derive(Clone, Debug)]
pub(super) struct JournalEntry {
    pub(super) row: u64,
    /// LBNs of the members.
    pub(super) range: BlockRange,
    /// The writes; empty in a journal of intents.
    pub(super) writes: Vec<ColumnWrite>,
    bytes: u64,
}

/// The journal.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    pub(super) spec: JournalSpec,
    used_bytes: u64,
    /// By number.
    entries: BTreeMap<u64, JournalEntry>,
    /// Number of the latest entry.
    latest: u64,
    /// Operations that wait for space.
    waiting: VecDeque<u64>,
}

impl Journal {
    pub(super) fn new(spec: JournalSpec) -> Self {
        Self { spec, used_bytes: 0, entries: BTreeMap::new(), latest: 0, waiting: VecDeque::new() }
    }

    /// Size of an entry for writes of `data_bytes` in all.
    pub(super) fn entry_bytes(holds: JournalHolds, data_bytes: u64) -> u64 {
        match holds {
            JournalHolds::Data => ENTRY_BYTES + data_bytes,
            JournalHolds::Intents => ENTRY_BYTES,
        }
    }

    /// Adds an entry for the writes of an operation and returns its number. Returns `None` without enough space: then the
    /// operation waits until [`Journal::remove`] returns it.
    pub(super) fn add(
        &mut self,
        operation: u64,
        row: u64,
        range: BlockRange,
        writes: &[ColumnWrite],
        block_bytes: u32,
    ) -> Option<u64> {
        let blocks: u64 = writes.iter().map(|write| write.range.blocks()).sum();
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
        self.latest += 1;
        self.entries.insert(self.latest, JournalEntry { row, range, writes, bytes });
        Some(self.latest)
    }

    /// Removes an entry whose writes have all been made. Adds the operations that waited for space to `ready`.
    pub(super) fn remove(&mut self, entry: u64, ready: &mut VecDeque<u64>) {
        let removed = self.entries.remove(&entry);
        debug_assert!(removed.is_some(), "entry {entry} is removed once, when its operation ends");
        self.used_bytes -= removed.map_or(0, |removed| removed.bytes);
        ready.extend(self.waiting.drain(..));
    }

    /// Number and content of each entry.
    pub(super) fn entries(&self) -> Vec<(u64, JournalEntry)> {
        self.entries.iter().map(|(&number, entry)| (number, entry.clone())).collect()
    }

    /// Returns true if the used space is that of the entries and does not exceed the size.
    pub(super) fn is_consistent(&self) -> bool {
        let bytes: u64 = self.entries.values().map(|entry| entry.bytes).sum();
        bytes == self.used_bytes && bytes <= self.spec.size_bytes
    }

    /// Counts a byte that no entry uses.
    #[cfg(test)]
    pub(super) fn miscount(&mut self) {
        self.used_bytes += 1;
    }

    /// Forgets the waiting operations; the entries survive.
    pub(super) fn power_cut(&mut self) {
        self.waiting.clear();
    }
}
