//! The non-volatile buffer between MEMS and disk: segments on their way, and headers newer than those on MEMS.
//!
//! All of it outlives a power cut, and changes only within one call of the component, together with what depends on it.

use super::header::Header;

/// A segment in the buffer.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Its number on the disk.
    pub segment: u64,
    /// First block and number of blocks that the disk must get before the buffer may forget them.
    pub runs: Vec<(u32, u32)>,
    /// The bytes of the whole segment, in runs that check data.
    pub bytes: Vec<u8>,
    in_use: bool,
}

/// Room for segments.
#[derive(Debug)]
pub(super) struct Buffer {
    held: Vec<Held>,
    free: Vec<u32>,
    capacity: u32,
}

impl Buffer {
    /// Room for `capacity` segments.
    pub fn new(capacity: u32) -> Self {
        Self { held: Vec::new(), free: Vec::new(), capacity }
    }

    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Segments that it has room for.
    pub fn room(&self) -> u32 {
        self.capacity - (self.held.len() - self.free.len()) as u32
    }

    /// Room for a segment, if there is any.
    pub fn take(&mut self, segment: u64) -> Option<u32> {
        if self.room() == 0 {
            return None;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            self.held.len() as u32 - 1
        });
        let held = &mut self.held[index as usize];
        (held.segment, held.in_use) = (segment, true);
        Some(index)
    }

    pub fn held(&self, index: u32) -> &Held {
        &self.held[index as usize]
    }

    pub fn held_mut(&mut self, index: u32) -> &mut Held {
        &mut self.held[index as usize]
    }

    /// Forgets a segment.
    pub fn release(&mut self, index: u32) {
        let held = &mut self.held[index as usize];
        held.runs.clear();
        held.bytes.clear();
        held.in_use = false;
        self.free.push(index);
    }

    /// Its segments.
    pub fn in_use(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(|held| held.in_use)
    }

    /// Segments that the disk must get after a power cut; room that was taken for others is free again.
    pub fn after_cut(&mut self) -> Vec<u32> {
        let taken = |(_, held): &(u32, &Held)| held.in_use;
        let all: Vec<u32> = (0..).zip(&self.held).filter(taken).map(|(index, _)| index).collect();
        let (owed, idle): (Vec<u32>, Vec<u32>) = all.into_iter().partition(|&index| !self.held(index).runs.is_empty());
        idle.into_iter().for_each(|index| self.release(index));
        owed
    }
}

/// A header that counts in place of the one on MEMS.
#[derive(Debug)]
pub(super) struct Entry {
    /// The place on MEMS.
    pub frame: u32,
    /// Its slot.
    pub slot: u32,
    /// The header; none where nothing is there. Kept in runs that check data.
    pub header: Option<Header>,
    /// What is under way that will change it, and needs it until then.
    claims: u32,
    /// Whether it has changed since it was last sent to MEMS.
    changed: bool,
}

/// Headers that are newer than those on MEMS.
#[derive(Debug)]
pub(super) struct Journal {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    capacity: u32,
    /// Where the search for entries to write to MEMS goes on.
    hand: u32,
    /// Bits of the entries without claims.
    unclaimed: Vec<u64>,
}

impl Journal {
    /// Room for `capacity` headers.
    pub fn new(capacity: u32) -> Self {
        Self { entries: Vec::new(), free: Vec::new(), capacity, hand: 0, unclaimed: Vec::new() }
    }

    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    pub fn len(&self) -> u32 {
        (self.entries.len() - self.free.len()) as u32
    }

    pub fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// Whether so many are in it that some should go to MEMS.
    pub fn is_crowded(&self) -> bool {
        self.len() * 4 > self.capacity * 3
    }

    /// Enters a header, for which there must be room, with one claim on it.
    pub fn enter(&mut self, frame: u32, slot: u32, header: Option<Header>) -> u32 {
        let entry = Some(Entry { frame, slot, header, claims: 1, changed: true });
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            return index;
        }
        self.entries.push(entry);
        self.unclaimed.resize(self.entries.len().div_ceil(64), 0);
        self.entries.len() as u32 - 1
    }

    #[inline]
    pub fn entry_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.get_mut(index as usize)?.as_mut()
    }

    /// A claim more on an entry; false if there is none.
    pub fn claim(&mut self, index: u32) -> bool {
        let Some(entry) = self.entry_mut(index) else { return false };
        entry.claims += 1;
        self.unclaimed[index as usize / 64] &= !(1 << (index % 64));
        true
    }

    /// A claim less on an entry, if there is one.
    pub fn unclaim(&mut self, index: u32) {
        let Some(entry) = self.entry_mut(index) else { return };
        entry.claims -= 1;
        if entry.claims == 0 {
            self.unclaimed[index as usize / 64] |= 1 << (index % 64);
        }
    }

    /// Another header counts from now on.
    pub fn set(&mut self, index: u32, header: Option<Header>) {
        if let Some(entry) = self.entry_mut(index) {
            (entry.header, entry.changed) = (header, true);
        }
    }

    /// Forgets an entry: MEMS has that header, or a newer one.
    pub fn drop(&mut self, index: u32) {
        if self.entries[index as usize].take().is_some() {
            self.unclaimed[index as usize / 64] &= !(1 << (index % 64));
            self.free.push(index);
        }
    }

    /// The next entry without claims that `may_go` to MEMS, from where the last search ended.
    pub fn next(&mut self, may_go: impl Fn(&Entry) -> bool) -> Option<u32> {
        let may_go = |at: &u32| self.entries[*at as usize].as_ref().is_some_and(&may_go);
        let found = self.unclaimed_in(self.hand, u32::MAX).find(may_go);
        let found = found.or_else(|| self.unclaimed_in(0, self.hand).find(may_go))?;
        self.hand = found + 1;
        if let Some(entry) = self.entry_mut(found) {
            entry.changed = false;
        }
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
            bits.map(move |rest| index as u32 * 64 + rest.trailing_zeros())
        });
        all.skip_while(move |&at| at < from).take_while(move |&at| at < to)
    }

    /// Whether MEMS has an entry, once what was sent there has arrived, and nobody needs it.
    pub fn is_settled(&self, index: u32) -> bool {
        self.entries[index as usize].as_ref().is_some_and(|entry| !entry.changed && entry.claims == 0)
    }

    /// Its entries after a power cut, when nothing is under way, with their indices.
    pub fn after_cut(&mut self) -> impl Iterator<Item = (u32, &mut Entry)> {
        let (entries, unclaimed) = ((0..).zip(&mut self.entries), &mut self.unclaimed);
        entries.filter_map(|(index, entry)| {
            let entry = entry.as_mut()?;
            (entry.claims, entry.changed) = (0, true);
            unclaimed[index as usize / 64] |= 1 << (index % 64);
            Some((index, entry))
        })
    }
}
