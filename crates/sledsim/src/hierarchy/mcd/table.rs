//! The slots of the cache: what is in each, and what is under way there.

use crate::request::Op;

/// No journal entry.
pub(super) const NO_ENTRY: u32 = u32::MAX;
/// No transition.
pub(super) const AT_REST: u64 = u64::MAX;

/// A slot of the replacement policy and the place on MEMS that belongs to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Which transition its segment is in.
    pub transit: u64,
    /// The place on MEMS: it begins so many strides in.
    pub frame: u32,
    /// Its entry in the journal of headers.
    pub entry: u32,
    /// Reads of MEMS under way, and a flush.
    pub reads: u32,
    /// Writes of MEMS under way.
    pub writes: u32,
    /// Whether the disk may not have all that is valid here.
    pub dirty: bool,
    /// Whether it could not be flushed as a whole, so that it stays dirty, and was not written since.
    pub damaged: bool,
}

impl Slot {
    /// Whether nothing is under way, so that its segment may leave.
    #[inline]
    const fn is_quiet(&self) -> bool {
        self.reads == 0 && self.writes == 0 && self.transit == AT_REST
    }

    /// Whether its segment is to be flushed.
    #[inline]
    const fn owes(&self) -> bool {
        self.dirty && !self.damaged
    }

    /// Whether its segment may be flushed now.
    #[inline]
    pub const fn may_flush(&self) -> bool {
        self.owes() && self.is_quiet()
    }
}

/// Every slot.
pub(super) struct Table {
    slots: Vec<Slot>,
    /// Bits of valid blocks; none where segments are always valid as a whole.
    valid: Vec<u64>,
    /// Words of bits for each slot.
    words: usize,
    /// How many slots are dirty.
    dirty: u32,
    /// How many slots are to be flushed, and how many may be now.
    owing: u32,
    flushable: u32,
}

impl Table {
    /// `slots` empty slots for segments of `blocks`.
    pub fn new(slots: u32, blocks: u32, partial: bool) -> Self {
        let words = if partial { blocks.div_ceil(64) as usize } else { 0 };
        let slot = |frame| Slot {
            transit: AT_REST,
            frame,
            entry: NO_ENTRY,
            reads: 0,
            writes: 0,
            dirty: false,
            damaged: false,
        };
        Self {
            slots: (0..slots).map(slot).collect(),
            valid: vec![0; words * slots as usize],
            words,
            dirty: 0,
            owing: 0,
            flushable: 0,
        }
    }

    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.valid.capacity() * size_of::<u64>()
    }

    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// How many slots are dirty.
    #[inline]
    pub const fn dirty(&self) -> u32 {
        self.dirty
    }

    /// How many slots are to be flushed.
    #[inline]
    pub const fn owing(&self) -> u32 {
        self.owing
    }

    /// How many slots may be flushed now.
    #[inline]
    pub const fn flushable(&self) -> u32 {
        self.flushable
    }

    /// Whether nothing is under way in a slot, so that its segment may leave.
    #[inline]
    pub fn is_quiet(&self, slot: u32) -> bool {
        self.slot(slot).is_quiet()
    }

    /// Changes what is true of a slot.
    #[inline]
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Slot)) {
        let slot = &mut self.slots[slot as usize];
        let (was_dirty, was_owing, was_flushable) = (slot.dirty, slot.owes(), slot.may_flush());
        change(slot);
        self.owing = self.owing + u32::from(slot.owes()) - u32::from(was_owing);
        self.dirty = self.dirty + u32::from(slot.dirty) - u32::from(was_dirty);
        self.flushable = self.flushable + u32::from(slot.may_flush()) - u32::from(was_flushable);
    }

    /// An access of MEMS begins in a slot; writes make it dirty.
    #[inline]
    pub fn begin(&mut self, slot: u32, op: Op) {
        self.change(slot, |slot| match op {
            Op::Read => slot.reads += 1,
            Op::Write => (slot.writes, slot.dirty, slot.damaged) = (slot.writes + 1, true, false),
        });
    }

    /// An access of MEMS is over.
    #[inline]
    pub fn end(&mut self, slot: u32, op: Op) {
        self.change(slot, |slot| match op {
            Op::Read => slot.reads -= 1,
            Op::Write => slot.writes -= 1,
        });
    }

    /// A header is being written in a slot, or is there.
    pub fn write_header(&mut self, slot: u32, is_over: bool) {
        self.change(slot, |slot| if is_over { slot.writes -= 1 } else { slot.writes += 1 });
    }

    /// The segment of a slot is in a transition, or [`AT_REST`].
    pub fn set_transit(&mut self, slot: u32, transit: u64) {
        self.change(slot, |slot| slot.transit = transit);
    }

    /// Whether the disk may not have all that is valid in a slot.
    #[inline]
    pub fn set_dirty(&mut self, slot: u32, dirty: bool) {
        self.change(slot, |slot| (slot.dirty, slot.damaged) = (dirty, false));
    }

    /// A slot could not be flushed as a whole.
    pub fn set_damaged(&mut self, slot: u32) {
        self.change(slot, |slot| (slot.dirty, slot.damaged) = (true, true));
    }

    /// A slot has another journal entry, or [`NO_ENTRY`]; returns the one that it had.
    pub fn set_entry(&mut self, slot: u32, entry: u32) -> u32 {
        std::mem::replace(&mut self.slots[slot as usize].entry, entry)
    }

    fn bits(&self, slot: u32) -> &[u64] {
        &self.valid[slot as usize * self.words..][..self.words]
    }

    fn bits_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.valid[slot as usize * self.words..][..self.words]
    }

    /// The bits of valid blocks of a slot in use, of a segment of `blocks`.
    pub fn valid(&self, slot: u32, blocks: u32) -> Vec<u64> {
        if self.words > 0 {
            return self.bits(slot).to_vec();
        }
        let mut words = vec![0; blocks.div_ceil(64) as usize];
        fill(&mut words, 0, blocks);
        words
    }

    /// Takes bits over from a header.
    pub fn set_valid(&mut self, slot: u32, valid: &[u64]) {
        self.bits_mut(slot).iter_mut().zip(valid).for_each(|(word, &bits)| *word = bits);
    }

    /// Blocks of a slot become valid.
    pub fn fill(&mut self, slot: u32, first: u32, blocks: u32) {
        if self.words > 0 {
            fill(self.bits_mut(slot), first, blocks);
        }
    }

    /// No block of a slot is valid any more.
    pub fn clear(&mut self, slot: u32) {
        self.bits_mut(slot).fill(0);
    }

    /// Whether block `first` of a slot is valid, and how many blocks from there on, up to `end`, are alike.
    #[inline]
    pub fn run(&self, slot: u32, first: u32, end: u32) -> (bool, u32) {
        if self.words == 0 {
            return (true, end - first);
        }
        run(self.bits(slot), first, end)
    }

    /// Whether blocks of a slot are all valid.
    #[inline]
    pub fn holds(&self, slot: u32, first: u32, blocks: u32) -> bool {
        self.run(slot, first, first + blocks) == (true, blocks)
    }

    /// The runs of blocks below `blocks` that are valid, or those that are not.
    pub fn runs(&self, slot: u32, blocks: u32, valid: bool) -> Vec<(u32, u32)> {
        self.runs_within(slot, (0, blocks), valid)
    }

    /// The runs of blocks from one to before another that are valid, or those that are not.
    pub fn runs_within(&self, slot: u32, (from, to): (u32, u32), valid: bool) -> Vec<(u32, u32)> {
        let (mut runs, mut at) = (Vec::new(), from);
        while at < to {
            let (alike, length) = self.run(slot, at, to);
            if alike == valid {
                runs.push((at, length));
            }
            at += length;
        }
        runs
    }

    /// Gives slots other places, each slot and its place at most once; the others get those left over.
    pub fn place(&mut self, places: &[(u32, u32)]) {
        let count = self.slots.len() as u32;
        let (mut placed, mut given) = (vec![false; count as usize], vec![false; count as usize]);
        for &(slot, frame) in places {
            self.slots[slot as usize].frame = frame;
            (placed[slot as usize], given[frame as usize]) = (true, true);
        }
        let mut others = (0..count).filter(|&frame| !given[frame as usize]);
        for slot in (0..count).filter(|&slot| !placed[slot as usize]) {
            if let Some(frame) = others.next() {
                self.slots[slot as usize].frame = frame;
            }
        }
    }

    /// The slot of each place.
    pub fn slots_of_frames(&self) -> Vec<u32> {
        let mut slots = vec![0; self.slots.len()];
        (0..).zip(&self.slots).for_each(|(index, slot)| slots[slot.frame as usize] = index);
        slots
    }
}

/// Sets bits.
fn fill(words: &mut [u64], first: u32, blocks: u32) {
    for bit in first..first + blocks {
        words[bit as usize / 64] |= 1 << (bit % 64);
    }
}

/// A bit, and how many from it on, up to `end`, are alike.
fn run(words: &[u64], first: u32, end: u32) -> (bool, u32) {
    let word = |at: u32| words[at as usize / 64] >> (at % 64);
    let set = word(first) & 1 == 1;
    let mut at = first;
    while at < end {
        let room = 64 - at % 64;
        let alike = if set { word(at).trailing_ones() } else { word(at).trailing_zeros() }.min(room);
        at += alike;
        if alike < room {
            break;
        }
    }
    (set, at.min(end) - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit.
    #[test]
    fn runs_are_those_that_a_walk_over_the_bits_finds() {
        let mut table = Table::new(2, 200, true);
        let ranges = [(0, 3), (60, 8), (100, 1), (127, 2), (140, 60)];
        ranges.iter().for_each(|&(first, blocks)| table.fill(1, first, blocks));
        let is_set = |bit: u32| ranges.iter().any(|&(first, blocks)| (first..first + blocks).contains(&bit));
        for first in 0..200 {
            for end in first + 1..=200 {
                let alike = (first..end).take_while(|&bit| is_set(bit) == is_set(first)).count() as u32;
                assert_eq!(table.run(1, first, end), (is_set(first), alike), "{first} to {end}");
            }
        }
        assert_eq!(table.runs(1, 200, true), ranges);
        assert_eq!(table.runs(0, 200, false), [(0, 200)], "another slot has bits of its own");
        table.clear(1);
        assert_eq!(table.runs(1, 200, true), []);
    }
}
