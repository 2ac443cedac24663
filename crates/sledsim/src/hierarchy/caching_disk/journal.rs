//! The non-volatile journal of headers that are newer than those on MEMS.
//!
//! It survives a power cut. It changes only within one call of the component, together with the data that refers to it.

use super::children::{Children, Job};
use super::header::{self, Header};
use super::layout::Layout;
use super::table::{Slot, Table, NO_ENTRY, NO_FILL};
use crate::convert::to_u32;
use crate::engine::{Context, Payload};
use crate::hierarchy::common::BlockRange;
use crate::request::Op;

/// The largest number of headers that are written to MEMS at once.
const MAX_WRITES: u32 = 4;

/// A header that replaces the one on MEMS.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its frame on MEMS.
    pub frame: u32,
    /// Its slot.
    pub slot: u32,
    /// The header; `None` if the frame is empty, and in runs without data.
    pub header: Option<Header>,
    /// Number of operations under way that will change it. An entry with claims is not written to MEMS.
    claims: u32,
    /// True if it has changed since it was last sent to MEMS.
    changed: bool,
}

/// The journal.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    layout: Layout,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    capacity: u32,
    /// The entry at which the next search for an entry to write begins.
    next_search: u32,
    /// A bit for each entry, set if it has no claims.
    unclaimed: Vec<u64>,
    /// Writes of headers to MEMS under way.
    writes: u32,
}

impl Journal {
    /// A journal for `capacity` headers.
    pub fn new(layout: Layout, capacity: u32) -> Self {
        Self {
            layout,
            entries: Vec::new(),
            free: Vec::new(),
            capacity,
            next_search: 0,
            unclaimed: Vec::new(),
            writes: 0,
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = Self::new(self.layout, self.capacity);
    }

    /// Number of headers that fit.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    fn len(&self) -> u32 {
        to_u32(self.entries.len() - self.free.len())
    }

    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// Returns true if headers should be written to MEMS to free entries.
    #[inline]
    fn is_nearly_full(&self) -> bool {
        self.len() * 4 > self.capacity * 3
    }

    #[inline]
    fn entry_mut(&mut self, index: u32) -> &mut Entry {
        self.entries[index as usize].as_mut().expect("the slot has a journal entry")
    }

    /// Adds a claim on the entry of a slot. A new entry begins with `header`. Returns false if the journal has no space for it.
    pub fn claim(&mut self, slot: u32, header: Option<Header>, table: &mut Table) -> bool {
        let &Slot { journal_entry: index, frame, .. } = table.slot(slot);
        if index != NO_ENTRY {
            self.entry_mut(index).claims += 1;
            self.unclaimed[index as usize / 64] &= !(1 << (index % 64));
            return true;
        }
        if self.is_full() {
            return false;
        }
        let entry = Some(Entry { frame, slot, header, claims: 1, changed: true });
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.unclaimed.resize(self.entries.len().div_ceil(64), 0);
            to_u32(self.entries.len()) - 1
        });
        self.entries[index as usize] = entry;
        table.set_journal_entry(slot, index);
        true
    }

    /// Removes a claim on the entry of a slot.
    pub fn release(&mut self, slot: &Slot) {
        let entry = self.entry_mut(slot.journal_entry);
        entry.claims -= 1;
        if entry.claims == 0 {
            self.unclaimed[slot.journal_entry as usize / 64] |= 1 << (slot.journal_entry % 64);
        }
    }

    /// Changes the header of a slot, which has a claim on its entry.
    pub fn set(&mut self, slot: &Slot, header: Option<Header>) {
        let entry = self.entry_mut(slot.journal_entry);
        debug_assert!(entry.claims > 0, "only headers with a claim change");
        (entry.header, entry.changed) = (header, true);
    }

    /// Removes the entry of a slot. MEMS has the same header or a newer one.
    pub fn remove(&mut self, slot: u32, table: &mut Table) {
        let index = table.set_journal_entry(slot, NO_ENTRY);
        let entry = self.entries[index as usize].take();
        debug_assert!(entry.is_some(), "the slot has a journal entry");
        self.unclaimed[index as usize / 64] &= !(1 << (index % 64));
        self.free.push(index);
    }

    /// The next entry without claims that matches `can_write`, from where the last search ended.
    fn next(&mut self, can_write: impl Fn(&Entry) -> bool) -> Option<u32> {
        let words = to_u32(self.unclaimed.len());
        let before = !(u64::MAX << (self.next_search % 64));
        // The word in which the search begins comes twice: first its entries from there on, at the end those before.
        for step in 0..=words {
            let word = (self.next_search / 64 + step) % words.max(1);
            let mut bits = *self.unclaimed.get(word as usize)?;
            if step == 0 {
                bits &= !before;
            } else if step == words {
                bits &= before;
            }
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros();
                if self.entries[index as usize].as_ref().is_some_and(&can_write) {
                    self.next_search = index + 1;
                    return Some(index);
                }
                bits &= bits - 1;
            }
        }
        None
    }

    /// Writes headers to MEMS while the journal is nearly full.
    #[inline]
    pub fn write_headers(&mut self, table: &mut Table, children: &mut Children, context: &mut Context<'_>) {
        while self.is_nearly_full() && self.writes < MAX_WRITES {
            let can_write = |entry: &Entry| {
                let slot = table.slot(entry.slot);
                slot.writes == 0 && slot.fill == NO_FILL
            };
            // Without such an entry, the operations under way call this again when they end.
            let Some(index) = self.next(can_write) else { break };
            self.writes += 1;
            let (layout, entry) = (self.layout, self.entry_mut(index));
            entry.changed = false;
            let data = match context.holds_data() {
                true => header::encode(entry.header.as_ref(), layout.block_bytes),
                false => Payload::NONE,
            };
            table.begin_header_write(entry.slot);
            let lbn = layout.header_lbn(entry.frame);
            let job = Job::Header { slot: entry.slot };
            children.send(job, Op::Write, BlockRange::new(lbn, lbn + 1), data, context);
        }
    }

    /// Handles the end of the write of a slot's header.
    pub fn header_written(&mut self, slot: u32, table: &mut Table) {
        self.writes -= 1;
        table.end_access(slot, Op::Write);
        let entry = self.entry_mut(table.slot(slot).journal_entry);
        if !entry.changed && entry.claims == 0 {
            self.remove(slot, table);
        }
    }

    /// Drops all claims and writes under way.
    pub fn power_cut(&mut self) {
        self.writes = 0;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Some(entry) = entry {
                (entry.claims, entry.changed) = (0, true);
                self.unclaimed[index / 64] |= 1 << (index % 64);
            }
        }
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Connects the entries to the slots of their frames.
    pub fn restore(&mut self, table: &mut Table) {
        let slots = table.slots_of_frames();
        for (index, entry) in (0..).zip(&mut self.entries) {
            if let Some(entry) = entry {
                entry.slot = slots[entry.frame as usize];
                table.set_journal_entry(entry.slot, index);
            }
        }
    }

    /// Returns true if every index is either an entry or free, each slot refers to its entry, and the bits of entries without
    /// claims are right.
    pub fn is_consistent(&self, table: &Table) -> bool {
        let is_unclaimed = |index: u32| self.unclaimed[index as usize / 64] >> (index % 64) & 1 == 1;
        let is_right = |(index, entry): (u32, &Option<Entry>)| match entry {
            Some(entry) => {
                let &Slot { journal_entry, frame, .. } = table.slot(entry.slot);
                (journal_entry, frame, is_unclaimed(index)) == (index, entry.frame, entry.claims == 0)
            }
            None => !is_unclaimed(index),
        };
        let entries = self.entries().count();
        to_u32(entries) == self.len() && entries <= self.capacity as usize && (0..).zip(&self.entries).all(is_right)
    }
}
