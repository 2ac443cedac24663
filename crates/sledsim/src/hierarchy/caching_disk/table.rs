//! The table of segments: which of them has which slot on MEMS, what of it is valid there, and what is under way.

use super::header::Header;
use super::requests::Piece;
use super::units::Units;
use super::valid::Valid;
use super::Layout;
use crate::convert::to_u32;
use crate::engine::Context;
use crate::hierarchy::cache::replacement::{Admission, PolicyFailure, Replacement};
use crate::plugin::ReplacementChoice;
use crate::request::Op;
use crate::time::Time;

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
    reads: u32,
    /// Writes of MEMS under way.
    pub writes: u32,
    /// Whether the disk may not have all that is valid here.
    pub dirty: bool,
    /// Whether it could not be flushed as a whole, so that it stays dirty, and was not written since.
    damaged: bool,
}

impl Slot {
    /// One that holds nothing, in a place.
    const fn empty(frame: u32) -> Self {
        Self { transit: AT_REST, frame, entry: NO_ENTRY, reads: 0, writes: 0, dirty: false, damaged: false }
    }

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

/// How many slots are dirty, are to be flushed, and may be flushed now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub dirty: u32,
    pub owing: u32,
    pub flushable: u32,
}

/// Every slot.
#[derive(Clone)]
pub(super) struct Table {
    layout: Layout,
    replacement: ReplacementChoice,
    policy: Box<dyn Replacement>,
    slots: Vec<Slot>,
    valid: Valid,
    /// How much of a segment comes at once; all of it if none are given.
    units: Option<Units>,
    counts: Counts,
}

impl Table {
    /// `slots` empty slots for segments that may be there in part or not.
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
            valid: Valid::new(slots, layout.segment_blocks, partial),
            units,
            counts: Counts::default(),
        }
    }

    /// Nothing is in any slot any more.
    pub fn forget(&mut self) {
        self.policy = self.replacement.build(self.len());
        (0..).zip(&mut self.slots).for_each(|(frame, slot)| *slot = Slot::empty(frame));
        self.valid.forget();
        self.units.iter_mut().for_each(Units::forget);
        self.counts = Counts::default();
    }

    pub fn len(&self) -> u32 {
        to_u32(self.slots.len())
    }

    pub fn memory_bytes(&self) -> usize {
        let units = self.units.as_ref().map_or(0, Units::memory_bytes);
        let slots = self.slots.capacity() * size_of::<Slot>();
        self.policy.memory_bytes() + slots + self.valid.memory_bytes() + units
    }

    /// How often regions have changed their units.
    pub fn unit_changes(&self) -> u64 {
        self.units.as_ref().map_or(0, |units| units.changes)
    }

    pub fn start_measuring(&mut self) {
        self.units.iter_mut().for_each(|units| units.changes = 0);
    }

    /// Where the run is from now on, and with which request: what the policy is asked then can be placed.
    #[inline]
    pub fn at(&mut self, now: Time, request: Option<u64>) {
        self.policy.set_context(now, request);
    }

    /// The slot of a segment, if it has one.
    #[inline]
    pub fn find(&self, segment: u64) -> Option<u32> {
        self.policy.find(segment)
    }

    /// The segment of a slot in use.
    pub fn segment(&self, slot: u32) -> u64 {
        self.policy.key(slot)
    }

    /// The segment of a slot is asked for.
    #[inline]
    pub fn hit(&mut self, slot: u32) {
        self.policy.hit(slot);
    }

    /// These blocks of the segment of a slot are asked for.
    #[inline]
    pub fn ask(&mut self, slot: u32, offset: u32, blocks: u32) {
        if let Some(units) = &mut self.units {
            units.ask(slot, offset, blocks);
        }
    }

    /// Whether a segment without a slot is to have one.
    #[inline]
    pub fn admits(&mut self, segment: u64) -> bool {
        self.policy.admits(segment)
    }

    /// Returns the failure of a custom policy. No segment is admitted after that.
    pub fn policy_failure(&self) -> Option<&PolicyFailure> {
        self.policy.failure()
    }

    /// Gives the segment of a piece a slot, if there is one that is free or whose segment may leave.
    pub fn admit(&mut self, piece: &Piece) -> Option<Admission> {
        let slots = &self.slots;
        let admission = self.policy.admit(piece.segment, &mut |slot| slots[slot as usize].is_quiet())?;
        if let Some(units) = &mut self.units {
            if let Some(old) = admission.evicted {
                units.leave(admission.slot, old);
            }
            units.ask(admission.slot, piece.offset, piece.blocks);
        }
        Some(admission)
    }

    /// A segment gives its slot back.
    pub fn remove(&mut self, segment: u64) {
        self.policy.remove(segment);
    }

    #[inline]
    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Block of MEMS where the header of a slot is.
    #[inline]
    pub fn header_lbn(&self, slot: u32) -> u64 {
        self.layout.header_lbn(self.slot(slot).frame)
    }

    /// Block of MEMS where a block of the segment of a slot is.
    #[inline]
    pub fn lbn(&self, slot: u32, offset: u32) -> u64 {
        self.header_lbn(slot) + 1 + u64::from(offset)
    }

    #[inline]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Shows slots that may be flushed, in the order in which their segments would leave, up to so many.
    pub fn first_to_flush(&self, most: usize, into: &mut Vec<u32>) {
        self.policy.in_eviction_order(&mut |slot| {
            if self.slot(slot).may_flush() {
                into.push(slot);
            }
            into.len() < most
        });
    }

    /// What is valid of changed segments: segment, first block and number of blocks. What is in a slot for a transition that
    /// `is_fresh` does not count.
    pub fn changed(&self, mut is_fresh: impl FnMut(u64) -> bool) -> Vec<(u64, u32, u32)> {
        let mut found = Vec::new();
        self.policy.in_eviction_order(&mut |slot| {
            if self.slot(slot).dirty && !is_fresh(self.slot(slot).transit) {
                let segment = self.segment(slot);
                found.extend(self.runs(slot, segment).into_iter().map(|(first, blocks)| (segment, first, blocks)));
            }
            true
        });
        found
    }

    /// Changes what is true of a slot.
    #[inline]
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Slot)) {
        let (slot, counts) = (&mut self.slots[slot as usize], &mut self.counts);
        let (was_dirty, was_owing, was_flushable) = (slot.dirty, slot.owes(), slot.may_flush());
        change(slot);
        counts.dirty = counts.dirty + u32::from(slot.dirty) - u32::from(was_dirty);
        counts.owing = counts.owing + u32::from(slot.owes()) - u32::from(was_owing);
        counts.flushable = counts.flushable + u32::from(slot.may_flush()) - u32::from(was_flushable);
    }

    /// An access of MEMS begins in a slot; writes make it dirty.
    #[inline]
    pub fn begin(&mut self, slot: u32, op: Op) {
        self.change(slot, |slot| match op {
            Op::Read => slot.reads += 1,
            Op::Write | Op::Flush => (slot.writes, slot.dirty, slot.damaged) = (slot.writes + 1, true, false),
        });
    }

    /// An access of MEMS is over.
    #[inline]
    pub fn end(&mut self, slot: u32, op: Op) {
        self.change(slot, |slot| match op {
            Op::Read => slot.reads -= 1,
            Op::Write | Op::Flush => slot.writes -= 1,
        });
    }

    /// A header is being written in a slot: see [`Table::end`].
    pub fn write_header(&mut self, slot: u32) {
        self.change(slot, |slot| slot.writes += 1);
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

    /// What the header of a slot that holds this segment says, in a run that holds data.
    pub fn header(&self, slot: u32, segment: u64, context: &Context<'_>) -> Option<Header> {
        let valid = || self.valid.bits(slot, self.layout.blocks(segment));
        context.holds_data().then(|| Header { segment, valid: valid() })
    }

    /// Blocks of a slot become valid.
    pub fn fill(&mut self, slot: u32, first: u32, blocks: u32) {
        self.valid.fill(slot, first, blocks);
    }

    /// Nothing is in a slot any more.
    pub fn clear(&mut self, slot: u32) {
        self.valid.clear(slot);
        self.set_dirty(slot, false);
    }

    /// Whether block `first` of a slot is valid, and how many blocks from there on, up to `end`, are alike.
    #[inline]
    pub fn run(&self, slot: u32, first: u32, end: u32) -> (bool, u32) {
        self.valid.run(slot, first, end)
    }

    /// Whether blocks of a slot are all valid.
    #[inline]
    pub fn holds(&self, slot: u32, first: u32, blocks: u32) -> bool {
        self.run(slot, first, first + blocks) == (true, blocks)
    }

    /// The runs of blocks of a slot that holds this segment that are valid.
    pub fn runs(&self, slot: u32, segment: u64) -> Vec<(u32, u32)> {
        self.valid.runs(slot, (0, self.layout.blocks(segment)), true)
    }

    /// The runs of blocks of a slot from one to before another that are not valid.
    pub fn gaps(&self, slot: u32, window: (u32, u32)) -> Vec<(u32, u32)> {
        self.valid.runs(slot, window, false)
    }

    /// Whether a segment has a slot before anything of it is there.
    pub fn comes_in_parts(&self, op: Op, segment: u64) -> bool {
        match op {
            Op::Write | Op::Flush => self.valid.is_partial(),
            Op::Read => self.units.as_ref().is_some_and(|units| units.is_part(segment)),
        }
    }

    /// The blocks of a segment that come with blocks that are waited for: from one to before another.
    pub fn window(&mut self, segment: u64, waited_for: (u32, u32)) -> (u32, u32) {
        let blocks = self.layout.blocks(segment);
        let (from, to) = self.units.as_mut().map_or((0, blocks), |units| units.window(segment, waited_for));
        (from, to.min(blocks))
    }

    /// These blocks of a segment come to its slot.
    pub fn bring(&mut self, slot: u32, segment: u64, window: (u32, u32)) {
        if let Some(units) = &mut self.units {
            units.bring(slot, segment, window);
        }
    }

    /// Takes segments in from their places and headers.
    pub fn restore(&mut self, found: impl Iterator<Item = (u32, Header)>) {
        let mut places = Vec::new();
        for (frame, header) in found {
            // What a damaged MEMS device brings back may say anything.
            if let Some(Admission { slot, .. }) = self.policy.admit(header.segment, &mut |_| false) {
                places.push((slot, frame));
                self.valid.set(slot, &header.valid);
                self.set_dirty(slot, true);
            }
        }
        self.place(&places);
    }

    /// Gives slots other places, each slot and its place at most once; the others get those left over.
    fn place(&mut self, places: &[(u32, u32)]) {
        let count = self.slots.len();
        let (mut placed, mut given) = (vec![false; count], vec![false; count]);
        for &(slot, frame) in places {
            self.slots[slot as usize].frame = frame;
            (placed[slot as usize], given[frame as usize]) = (true, true);
        }
        let others = (0..).zip(&given).filter(|(_, &given)| !given);
        let unplaced = self.slots.iter_mut().zip(&placed).filter(|(_, &placed)| !placed);
        unplaced.zip(others).for_each(|((slot, _), (frame, _))| slot.frame = frame);
    }

    /// The slot of each place.
    pub fn slots_of_frames(&self) -> Vec<u32> {
        let mut slots = vec![0; self.slots.len()];
        (0..).zip(&self.slots).for_each(|(index, slot)| slots[slot.frame as usize] = index);
        slots
    }

    /// Whether it counts right, with so many transitions; every segment has one slot, and every slot one place.
    pub fn is_sound(&self, transits: usize) -> bool {
        let count = |is: fn(&Slot) -> bool| to_u32(self.slots.iter().filter(|slot| is(slot)).count());
        let [dirty, owing, flushable] = [count(|slot| slot.dirty), count(Slot::owes), count(Slot::may_flush)];
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
        let counted = self.counts == Counts { dirty, owing, flushable };
        counted && mapped && placed && owned && transits == count(|slot| slot.transit != AT_REST) as usize
    }
}
