//! The non-volatile journal of headers that are newer than those on MEMS.
//!
//! It outlives a power cut, and changes only within one call of the component, together with what depends on it.

use super::children::{Children, Job};
use super::header::{self, Header};
use super::table::{Slot, Table, AT_REST, NO_ENTRY};
use super::Layout;
use crate::convert::to_u32;
use crate::engine::{Context, Payload};
use crate::request::Op;

/// Headers on their way to MEMS at once.
const MOST_WRITES: u32 = 4;

/// A header that counts in place of the one on MEMS.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The place on MEMS.
    pub frame: u32,
    /// Its slot.
    pub slot: u32,
    /// The header; none where nothing is there. Kept in runs that hold data.
    pub header: Option<Header>,
    /// What is under way that will change it, and needs it until then.
    claims: u32,
    /// Whether it has changed since it was last sent to MEMS.
    changed: bool,
}

/// Headers that are newer than those on MEMS.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    layout: Layout,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    capacity: u32,
    /// Where the search for entries to write to MEMS goes on.
    hand: u32,
    /// Bits of the entries without claims.
    unclaimed: Vec<u64>,
    /// Headers on their way to MEMS.
    writes: u32,
}

impl Journal {
    /// Room for `capacity` headers.
    pub fn new(layout: Layout, capacity: u32) -> Self {
        Self { layout, entries: Vec::new(), free: Vec::new(), capacity, hand: 0, unclaimed: Vec::new(), writes: 0 }
    }

    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    fn len(&self) -> u32 {
        to_u32(self.entries.len() - self.free.len())
    }

    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// Whether so many are in it that some should go to MEMS.
    #[inline]
    fn is_crowded(&self) -> bool {
        self.len() * 4 > self.capacity * 3
    }

    #[inline]
    fn entry_mut(&mut self, index: u32) -> &mut Entry {
        self.entries[index as usize].as_mut().expect("a slot has an entry until MEMS has its header")
    }

    /// Makes sure of an entry for a slot that has this header now, and of a claim on it; false if there is no room.
    pub fn claim(&mut self, slot: u32, header: Option<Header>, table: &mut Table) -> bool {
        let &Slot { entry: index, frame, .. } = table.slot(slot);
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
        table.set_entry(slot, index);
        true
    }

    /// A claim less on the entry of a slot.
    pub fn unclaim(&mut self, slot: &Slot) {
        let entry = self.entry_mut(slot.entry);
        entry.claims -= 1;
        if entry.claims == 0 {
            self.unclaimed[slot.entry as usize / 64] |= 1 << (slot.entry % 64);
        }
    }

    /// Another header of a slot counts from now on; there is a claim on its entry.
    pub fn set(&mut self, slot: &Slot, header: Option<Header>) {
        let entry = self.entry_mut(slot.entry);
        debug_assert!(entry.claims > 0, "who changes a header has claimed its entry");
        (entry.header, entry.changed) = (header, true);
    }

    /// Forgets the entry of a slot: MEMS has that header, or a newer one.
    pub fn drop(&mut self, slot: u32, table: &mut Table) {
        let index = table.set_entry(slot, NO_ENTRY);
        let entry = self.entries[index as usize].take();
        debug_assert!(entry.is_some(), "a slot has an entry until MEMS has its header");
        self.unclaimed[index as usize / 64] &= !(1 << (index % 64));
        self.free.push(index);
    }

    /// The next entry without claims that `may_go` to MEMS, from where the last search ended.
    fn next(&mut self, may_go: impl Fn(&Entry) -> bool) -> Option<u32> {
        let may_go = |at: &u32| self.entries[*at as usize].as_ref().is_some_and(&may_go);
        let found = self.unclaimed_in(self.hand, u32::MAX).find(may_go);
        let found = found.or_else(|| self.unclaimed_in(0, self.hand).find(may_go))?;
        self.hand = found + 1;
        Some(found)
    }

    /// Entries without claims, from one to before another.
    fn unclaimed_in(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        let words = self.unclaimed.iter().enumerate().skip(from as usize / 64);
        let all = words.flat_map(|(index, &word)| {
            let bits = std::iter::successors((word != 0).then_some(word), |&rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            });
            bits.map(move |rest| to_u32(index) * 64 + rest.trailing_zeros())
        });
        all.skip_while(move |&at| at < from).take_while(move |&at| at < to)
    }

    /// Headers go to MEMS while it is crowded.
    #[inline]
    pub fn write(&mut self, table: &mut Table, children: &mut Children, context: &mut Context<'_>) {
        while self.is_crowded() && self.writes < MOST_WRITES {
            let may_go = |entry: &Entry| {
                let slot = table.slot(entry.slot);
                slot.writes == 0 && slot.transit == AT_REST
            };
            // Where none may go, whoever is at work on one of them ends with a look here.
            let Some(index) = self.next(may_go) else { break };
            self.writes += 1;
            let (layout, entry) = (self.layout, self.entry_mut(index));
            entry.changed = false;
            let data = match context.holds_data() {
                true => header::block(entry.header.as_ref(), layout.block_bytes),
                false => Payload::NONE,
            };
            table.write_header(entry.slot);
            let place = (layout.header_lbn(entry.frame), 1);
            children.send(Job::Header { slot: entry.slot }, Op::Write, place, data, context);
        }
    }

    /// MEMS has the header that was sent to it last for a slot.
    pub fn written(&mut self, slot: u32, table: &mut Table) {
        self.writes -= 1;
        table.end(slot, Op::Write);
        let entry = self.entry_mut(table.slot(slot).entry);
        if !entry.changed && entry.claims == 0 {
            self.drop(slot, table);
        }
    }

    /// Power is gone: nothing is under way any more.
    pub fn power_cut(&mut self) {
        self.writes = 0;
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Some(entry) = entry {
                (entry.claims, entry.changed) = (0, true);
                self.unclaimed[index / 64] |= 1 << (index % 64);
            }
        }
    }

    /// Its entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Finds the slots anew that have its entries.
    pub fn restore(&mut self, table: &mut Table) {
        let slots = table.slots_of_frames();
        for (index, entry) in (0..).zip(&mut self.entries) {
            if let Some(entry) = entry {
                entry.slot = slots[entry.frame as usize];
                table.set_entry(entry.slot, index);
            }
        }
    }

    /// Whether its places are entries or free, each entry is that of its slot, and those without claims are known.
    pub fn is_sound(&self, table: &Table) -> bool {
        let is_unclaimed = |index: u32| self.unclaimed[index as usize / 64] >> (index % 64) & 1 == 1;
        let right = |(index, entry): (u32, &Option<Entry>)| match entry {
            Some(entry) => {
                let &Slot { entry: known, frame, .. } = table.slot(entry.slot);
                (known, frame, is_unclaimed(index)) == (index, entry.frame, entry.claims == 0)
            }
            None => !is_unclaimed(index),
        };
        let entries = self.entries().count();
        to_u32(entries) == self.len() && entries <= self.capacity as usize && (0..).zip(&self.entries).all(right)
    }
}
