//! The table of segments on MEMS: the slot of each, its valid blocks, and the accesses under way in it.

use super::header::Header;
use super::layout::{Layout, Run};
use super::requests::Piece;
use super::units::Units;
use crate::convert::to_u32;
use crate::engine::Context;
use crate::hierarchy::cache::replacement::{Admission, PolicyFailure, Replacement};
use crate::plugin::ReplacementChoice;
use crate::request::Op;
use crate::time::Time;

/// Value of [`Slot::journal_entry`] without an entry.
pub(super) const NO_ENTRY: u32 = u32::MAX;
/// Value of [`Slot::fill`] without a fill.
pub(super) const NO_FILL: u64 = u64::MAX;

/// A slot of the replacement policy and its frame, the place on MEMS that holds its header and segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Id of the fill of its segment.
    pub fill: u64,
    /// Index of its frame on MEMS.
    pub frame: u32,
    /// Index of its entry in the journal.
    pub journal_entry: u32,
    /// Reads of MEMS under way, and a flush.
    reads: u32,
    /// Writes of MEMS under way.
    pub writes: u32,
    /// True if the disk may lack some of its valid blocks.
    pub dirty: bool,
    /// True if its last flush could not write all blocks and it was not written since. It stays dirty and is not flushed again.
    flush_failed: bool,
}

impl Slot {
    /// An empty slot.
    const fn empty(frame: u32) -> Self {
        Self { fill: NO_FILL, frame, journal_entry: NO_ENTRY, reads: 0, writes: 0, dirty: false, flush_failed: false }
    }

    /// Returns true if no access and no fill is under way, so that its segment can be evicted.
    #[inline]
    const fn is_idle(&self) -> bool {
        self.reads == 0 && self.writes == 0 && self.fill == NO_FILL
    }

    /// Returns true if its segment has to be flushed.
    #[inline]
    const fn needs_flush(&self) -> bool {
        self.dirty && !self.flush_failed
    }

    /// Returns true if its segment has to be flushed and can be now.
    #[inline]
    pub const fn can_flush(&self) -> bool {
        self.needs_flush() && self.is_idle()
    }
}

/// Numbers of slots by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub dirty: u32,
    /// Slots whose segment has to be flushed.
    pub needing_flush: u32,
    /// Slots whose segment has to be flushed and can be now.
    pub flushable: u32,
}

/// A run of valid blocks of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentRun {
    pub segment: u64,
    pub run: Run,
}

/// All slots.
#[derive(Clone)]
pub(super) struct Table {
    layout: Layout,
    replacement: ReplacementChoice,
    policy: Box<dyn Replacement>,
    slots: Vec<Slot>,
    valid: ValidBits,
    /// Sizes of fills by region; whole segments if `None`.
    units: Option<Units>,
    counts: Counts,
}

impl Table {
    /// A table of `slots` empty slots. With `partial`, segments can be valid in part.
    pub fn new(
        layout: Layout,
        slots: u32,
        replacement: &ReplacementChoice,
        partial: bool,
        units: Option<Units>,
    ) -> Self {
        Self {
            layout,
            replacement: replacement.clone(),
            policy: replacement.build(slots),
            slots: (0..slots).map(Slot::empty).collect(),
            valid: ValidBits::new(slots, layout.segment_blocks, partial),
            units,
            counts: Counts::default(),
        }
    }

    /// Empties all slots.
    pub fn clear(&mut self) {
        self.policy = self.replacement.build(self.len());
        (0..).zip(&mut self.slots).for_each(|(frame, slot)| *slot = Slot::empty(frame));
        self.valid.clear_all();
        self.units.iter_mut().for_each(Units::clear_slots);
        self.counts = Counts::default();
    }

    /// Number of slots.
    pub fn len(&self) -> u32 {
        to_u32(self.slots.len())
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        let units = self.units.as_ref().map_or(0, Units::memory_bytes);
        let slots = self.slots.capacity() * size_of::<Slot>();
        self.policy.memory_bytes() + slots + self.valid.memory_bytes() + units
    }

    /// Number of changes of the unit of a region, in the measurement window.
    pub fn unit_changes(&self) -> u64 {
        self.units.as_ref().map_or(0, |units| units.changes)
    }

    /// Resets the counters at the start of the measurement window.
    pub fn start_measuring(&mut self) {
        self.units.iter_mut().for_each(|units| units.changes = 0);
    }

    /// Records the time and request that the next policy calls belong to.
    #[inline]
    pub fn set_context(&mut self, now: Time, request: Option<u64>) {
        self.policy.set_context(now, request);
    }

    /// The slot of a segment.
    #[inline]
    pub fn find(&self, segment: u64) -> Option<u32> {
        self.policy.find(segment)
    }

    /// The segment of a slot in use.
    pub fn segment(&self, slot: u32) -> u64 {
        self.policy.key(slot)
    }

    /// Reports a hit of a slot to the replacement policy.
    #[inline]
    pub fn hit(&mut self, slot: u32) {
        self.policy.hit(slot);
    }

    /// Records that a host request accesses blocks of a slot.
    #[inline]
    pub fn record_access(&mut self, slot: u32, run: Run) {
        if let Some(units) = &mut self.units {
            units.record_access(slot, run);
        }
    }

    /// Returns true if the policy admits a segment that has no slot.
    #[inline]
    pub fn admits(&mut self, segment: u64) -> bool {
        self.policy.admits(segment)
    }

    /// Returns the failure of a custom policy. No segment is admitted after that.
    pub fn policy_failure(&self) -> Option<&PolicyFailure> {
        self.policy.failure()
    }

    /// Gives a slot to the segment of a piece; `None` if no slot is free and no segment can be evicted.
    pub fn admit(&mut self, piece: &Piece) -> Option<Admission> {
        let slots = &self.slots;
        let admission = self.policy.admit(piece.segment, &mut |slot| slots[slot as usize].is_idle())?;
        if let Some(units) = &mut self.units {
            if let Some(old) = admission.evicted {
                units.record_eviction(admission.slot, old);
            }
            units.record_access(admission.slot, piece.run());
        }
        Some(admission)
    }

    /// Frees the slot of a segment.
    pub fn remove(&mut self, segment: u64) {
        self.policy.remove(segment);
    }

    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Address on MEMS of the header of a slot.
    #[inline]
    pub fn header_lbn(&self, slot: u32) -> u64 {
        self.layout.header_lbn(self.slot(slot).frame)
    }

    /// Address on MEMS of a block of the segment of a slot.
    #[inline]
    pub fn lbn(&self, slot: u32, offset: u32) -> u64 {
        self.header_lbn(slot) + 1 + u64::from(offset)
    }

    #[inline]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Adds up to `limit` slots that can be flushed to `slots`, in eviction order.
    pub fn first_to_flush(&self, limit: usize, slots: &mut Vec<u32>) {
        self.policy.in_eviction_order(&mut |slot| {
            if self.slot(slot).can_flush() {
                slots.push(slot);
            }
            slots.len() < limit
        });
    }

    /// The valid blocks of changed segments, in eviction order, without slots that get a new segment: those for whose fill
    /// `is_new_segment` returns true.
    pub fn dirty_runs(&self, is_new_segment: impl Fn(u64) -> bool) -> Vec<SegmentRun> {
        let mut found = Vec::new();
        self.policy.in_eviction_order(&mut |slot| {
            if self.slot(slot).dirty && !is_new_segment(self.slot(slot).fill) {
                let segment = self.segment(slot);
                found.extend(self.valid_runs(slot, segment).into_iter().map(|run| SegmentRun { segment, run }));
            }
            true
        });
        found
    }

    /// Changes a slot and updates the counts.
    #[inline]
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Slot)) {
        let (slot, counts) = (&mut self.slots[slot as usize], &mut self.counts);
        let (was_dirty, needed_flush, was_flushable) = (slot.dirty, slot.needs_flush(), slot.can_flush());
        change(slot);
        counts.dirty = counts.dirty + u32::from(slot.dirty) - u32::from(was_dirty);
        counts.needing_flush = counts.needing_flush + u32::from(slot.needs_flush()) - u32::from(needed_flush);
        counts.flushable = counts.flushable + u32::from(slot.can_flush()) - u32::from(was_flushable);
    }

    /// Begins a MEMS access of a slot. A write makes it dirty.
    #[inline]
    pub fn begin_access(&mut self, slot: u32, op: Op) {
        self.change(slot, |slot| match op {
            Op::Read => slot.reads += 1,
            Op::Write | Op::Flush | Op::Reset => {
                (slot.writes, slot.dirty, slot.flush_failed) = (slot.writes + 1, true, false)
            }
        });
    }

    /// Ends a MEMS access of a slot.
    #[inline]
    pub fn end_access(&mut self, slot: u32, op: Op) {
        self.change(slot, |slot| match op {
            Op::Read => slot.reads -= 1,
            Op::Write | Op::Flush | Op::Reset => slot.writes -= 1,
        });
    }

    /// Begins to write the header of a slot, which does not make it dirty. [`Table::end_access`] ends it.
    pub fn begin_header_write(&mut self, slot: u32) {
        self.change(slot, |slot| slot.writes += 1);
    }

    /// Sets the fill of a slot, or [`NO_FILL`].
    pub fn set_fill(&mut self, slot: u32, fill: u64) {
        self.change(slot, |slot| slot.fill = fill);
    }

    /// Marks a slot as dirty, or as equal to the disk.
    #[inline]
    pub fn set_dirty(&mut self, slot: u32, dirty: bool) {
        self.change(slot, |slot| (slot.dirty, slot.flush_failed) = (dirty, false));
    }

    /// Marks a slot whose flush could not write all blocks.
    pub fn set_flush_failed(&mut self, slot: u32) {
        self.change(slot, |slot| (slot.dirty, slot.flush_failed) = (true, true));
    }

    /// Sets the journal entry of a slot, or [`NO_ENTRY`], and returns the old one.
    pub fn set_journal_entry(&mut self, slot: u32, entry: u32) -> u32 {
        std::mem::replace(&mut self.slots[slot as usize].journal_entry, entry)
    }

    /// The header of a slot that holds `segment`; `None` in runs without data.
    pub fn header(&self, slot: u32, segment: u64, context: &Context<'_>) -> Option<Header> {
        let valid = || self.valid.words(slot, self.layout.blocks(segment));
        context.holds_data().then(|| Header { segment, valid: valid() })
    }

    /// Marks blocks of a slot as valid.
    pub fn set_valid(&mut self, slot: u32, run: Run) {
        self.valid.set(slot, run);
    }

    /// Marks all blocks of a slot as invalid and the slot as clean.
    pub fn clear_slot(&mut self, slot: u32) {
        self.valid.clear(slot);
        self.set_dirty(slot, false);
    }

    /// The longest run of blocks from `first` on, up to `end`, that are all valid or all invalid.
    #[inline]
    pub fn uniform_run(&self, slot: u32, first: u32, end: u32) -> UniformRun {
        self.valid.uniform_run(slot, first, end)
    }

    /// Returns true if all blocks of a run of a slot are valid.
    #[inline]
    pub fn is_valid(&self, slot: u32, run: Run) -> bool {
        self.uniform_run(slot, run.first, run.end()) == UniformRun { is_valid: true, blocks: run.blocks }
    }

    /// The runs of valid blocks of a slot that holds `segment`.
    pub fn valid_runs(&self, slot: u32, segment: u64) -> Vec<Run> {
        self.valid.runs(slot, Run::new(0, self.layout.blocks(segment)), true)
    }

    /// The runs of invalid blocks of a slot inside a run.
    pub fn gaps(&self, slot: u32, run: Run) -> Vec<Run> {
        self.valid.runs(slot, run, false)
    }

    /// Returns true if a segment gets its slot before any of its blocks is there.
    pub fn fills_in_parts(&self, op: Op, segment: u64) -> bool {
        match op {
            Op::Write | Op::Flush | Op::Reset => self.valid.is_partial(),
            Op::Read => self.units.as_ref().is_some_and(|units| units.is_part(segment)),
        }
    }

    /// The blocks of a segment to read from the disk if a request needs the blocks `needed`.
    pub fn fill_run(&self, segment: u64, needed: Run) -> Run {
        let blocks = self.layout.blocks(segment);
        let run = self.units.as_ref().map_or(Run::new(0, blocks), |units| units.fill_run(segment, needed));
        Run::between(run.first, run.end().min(blocks))
    }

    /// Records that a fill reads blocks of a segment into a slot.
    pub fn record_fill(&mut self, slot: u32, segment: u64, run: Run) {
        if let Some(units) = &mut self.units {
            units.record_fill(slot, segment, run);
        }
    }

    /// Restores the table after a power cut from frames and their headers. All segments are dirty.
    pub fn restore(&mut self, headers: impl Iterator<Item = (u32, Header)>) {
        let mut placed = Vec::new();
        for (frame, header) in headers {
            // A damaged MEMS device may return any header: two of the same segment, for example.
            if let Some(Admission { slot, .. }) = self.policy.admit(header.segment, &mut |_| false) {
                placed.push((slot, frame));
                self.valid.restore(slot, &header.valid);
                self.set_dirty(slot, true);
            }
        }
        self.assign_frames(&placed);
    }

    /// Assigns frames to slots, each slot and each frame at most once; the other slots get the remaining frames.
    fn assign_frames(&mut self, frames: &[(u32, u32)]) {
        let count = self.slots.len();
        let (mut placed, mut given) = (vec![false; count], vec![false; count]);
        for &(slot, frame) in frames {
            self.slots[slot as usize].frame = frame;
            (placed[slot as usize], given[frame as usize]) = (true, true);
        }
        let others = (0..).zip(&given).filter(|(_, &given)| !given);
        let unplaced = self.slots.iter_mut().zip(&placed).filter(|(_, &placed)| !placed);
        unplaced.zip(others).for_each(|((slot, _), (frame, _))| slot.frame = frame);
    }

    /// The slot of each frame.
    pub fn slots_of_frames(&self) -> Vec<u32> {
        let mut slots = vec![0; self.slots.len()];
        (0..).zip(&self.slots).for_each(|(index, slot)| slots[slot.frame as usize] = index);
        slots
    }

    /// Returns true if the counts are right, every segment has one slot and every slot one frame, and `fills` slots are being
    /// filled.
    pub fn is_consistent(&self, fills: usize) -> bool {
        let count = |is: fn(&Slot) -> bool| to_u32(self.slots.iter().filter(|slot| is(slot)).count());
        let dirty = count(|slot| slot.dirty);
        let (needing_flush, flushable) = (count(Slot::needs_flush), count(Slot::can_flush));
        let mut used = 0;
        let mut mapped = true;
        self.policy.in_eviction_order(&mut |slot| {
            used += 1;
            mapped &= self.find(self.segment(slot)) == Some(slot);
            true
        });
        let slots = self.slots_of_frames();
        let placed = (0..).zip(&self.slots).all(|(index, slot)| slots[slot.frame as usize] == index);
        let owned = used == self.policy.len() && dirty <= used && used <= self.len();
        let counted = self.counts == Counts { dirty, needing_flush, flushable };
        counted && mapped && placed && owned && fills == count(|slot| slot.fill != NO_FILL) as usize
    }
}

/// Blocks that are all valid or all invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UniformRun {
    pub is_valid: bool,
    /// Number of blocks.
    pub blocks: u32,
}

/// A bit for each block of each slot; no bits if segments are always valid as a whole.
#[derive(Clone, Debug)]
struct ValidBits {
    bits: Vec<u64>,
    /// Words of bits for each slot.
    words: usize,
}

impl ValidBits {
    /// `slots` empty slots for segments of `blocks` blocks. With `partial`, segments can be valid in part.
    fn new(slots: u32, blocks: u32, partial: bool) -> Self {
        let words = if partial { blocks.div_ceil(64) as usize } else { 0 };
        Self { bits: vec![0; words * slots as usize], words }
    }

    /// Returns true if segments can be valid in part.
    const fn is_partial(&self) -> bool {
        self.words > 0
    }

    /// Bytes allocated.
    fn memory_bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>()
    }

    /// Marks all blocks of all slots as invalid.
    fn clear_all(&mut self) {
        self.bits.fill(0);
    }

    fn slot(&self, slot: u32) -> &[u64] {
        &self.bits[slot as usize * self.words..][..self.words]
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.bits[slot as usize * self.words..][..self.words]
    }

    /// The bits of a slot that holds a segment of `blocks` blocks, 64 to a word, lowest first.
    fn words(&self, slot: u32, blocks: u32) -> Vec<u64> {
        if self.is_partial() {
            return self.slot(slot).to_vec();
        }
        let mut words = vec![0; blocks.div_ceil(64) as usize];
        set_bits(&mut words, Run::new(0, blocks));
        words
    }

    /// Sets the bits of a slot from a header.
    fn restore(&mut self, slot: u32, bits: &[u64]) {
        self.slot_mut(slot).iter_mut().zip(bits).for_each(|(word, &bits)| *word = bits);
    }

    /// Marks blocks of a slot as valid.
    fn set(&mut self, slot: u32, run: Run) {
        if self.is_partial() {
            set_bits(self.slot_mut(slot), run);
        }
    }

    /// Marks all blocks of a slot as invalid.
    fn clear(&mut self, slot: u32) {
        self.slot_mut(slot).fill(0);
    }

    /// The longest run of blocks from `first` on, up to `end`, that are all valid or all invalid.
    #[inline]
    fn uniform_run(&self, slot: u32, first: u32, end: u32) -> UniformRun {
        if self.words == 0 {
            return UniformRun { is_valid: true, blocks: end - first };
        }
        uniform_run(self.slot(slot), first, end)
    }

    /// The runs of valid blocks of a slot inside `within`, or the runs of invalid blocks.
    fn runs(&self, slot: u32, within: Run, valid: bool) -> Vec<Run> {
        let (mut runs, mut at) = (Vec::new(), within.first);
        while at < within.end() {
            let UniformRun { is_valid, blocks } = self.uniform_run(slot, at, within.end());
            if is_valid == valid {
                runs.push(Run::new(at, blocks));
            }
            at += blocks;
        }
        runs
    }
}

fn set_bits(words: &mut [u64], run: Run) {
    let mut at = run.first;
    while at < run.end() {
        let bits = (64 - at % 64).min(run.end() - at);
        words[at as usize / 64] |= u64::MAX >> (64 - bits) << (at % 64);
        at += bits;
    }
}

fn uniform_run(words: &[u64], first: u32, end: u32) -> UniformRun {
    let word = |at: u32| words[at as usize / 64] >> (at % 64);
    let is_valid = word(first) & 1 == 1;
    let mut at = first;
    while at < end {
        let in_word = 64 - at % 64;
        let equal = if is_valid { word(at).trailing_ones() } else { word(at).trailing_zeros() }.min(in_word);
        at += equal;
        if equal < in_word {
            break;
        }
    }
    UniformRun { is_valid, blocks: at.min(end) - first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_match_a_bit_by_bit_search() {
        let mut valid = ValidBits::new(2, 200, true);
        let ranges = [(0, 3), (60, 8), (100, 1), (127, 2), (140, 60)].map(|(first, blocks)| Run::new(first, blocks));
        ranges.iter().for_each(|&run| valid.set(1, run));
        let is_set = |bit: u32| ranges.iter().any(|run| (run.first..run.end()).contains(&bit));
        for first in 0..200 {
            for end in first + 1..=200 {
                let blocks = (first..end).take_while(|&bit| is_set(bit) == is_set(first)).count() as u32;
                let expected = UniformRun { is_valid: is_set(first), blocks };
                assert_eq!(valid.uniform_run(1, first, end), expected, "{first} to {end}");
            }
        }
        assert_eq!(valid.runs(1, Run::new(0, 200), true), ranges);
        assert_eq!(valid.runs(0, Run::new(0, 200), false), [Run::new(0, 200)], "each slot has its own bits");
        valid.clear(1);
        assert_eq!(valid.runs(1, Run::new(0, 200), true), []);
    }
}
