//! The place and the number of uses of each extent.
//!
//! An extent has no place before its first use. There is one slot more than extents. A slot that an extent has left becomes the
//! first place of another only after zeroes have been written to it, so that blocks that were never written read as on a new
//! device. At most one slot, the spare, is in that state.

use std::collections::BTreeMap;

use crate::hierarchy::common::BlockSet;
use crate::time::{ns_to_s, Time};

/// Index of the fast child.
pub(super) const FAST: usize = 0;
/// Index of the slow child.
pub(super) const SLOW: usize = 1;

/// A slot of a child, which can hold an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) tier: usize,
    pub(super) slot: u64,
}

/// An extent and its decayed number of uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtentUses {
    pub(super) uses: f64,
    pub(super) extent: u64,
}

/// A used extent.
#[derive(Clone, Debug)]
struct Entry {
    place: Place,
    pinned: bool,
    /// Its decayed number of uses at `updated_at`.
    uses: f64,
    updated_at: Time,
}

/// The places of used extents, and the free slots.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// Number of extents.
    extents: u64,
    half_life_s: f64,
    /// The extents that have been used.
    used: BTreeMap<u64, Entry>,
    /// Slots of each child that were never used or have been cleared.
    clean: [BlockSet; 2],
    /// Number of clean slots of each child.
    clean_slots: [u64; 2],
    /// The slot that an extent has left, or the target of the current move.
    pub(super) spare: Option<Place>,
    /// Number of used extents on each child.
    pub(super) extents_on: [u64; 2],
}

impl Map {
    /// An empty map for children with these numbers of slots. The number of extents is one less than that of slots.
    pub(super) fn new(slots: [u64; 2], half_life_s: f64) -> Self {
        let clean = slots.map(|slots| {
            let mut all = BlockSet::default();
            all.insert(0, slots);
            all
        });
        let extents = slots[FAST] + slots[SLOW] - 1;
        Self { extents, half_life_s, used: BTreeMap::new(), clean, clean_slots: slots, spare: None, extents_on: [0, 0] }
    }

    /// Number of extents.
    pub(super) fn extents(&self) -> u64 {
        self.extents
    }

    /// The place of an extent; `None` if it was never used.
    pub(super) fn place(&self, extent: u64) -> Option<Place> {
        self.used.get(&extent).map(|entry| entry.place)
    }

    /// The place that an extent would get at its first use: on the fast or slow child as wanted if that has a clean
    /// slot, and in the slot with the number of the extent if that is clean.
    pub(super) fn first_place(&self, extent: u64, fast: bool) -> Place {
        let wanted = if fast { FAST } else { SLOW };
        let tier = if self.clean_slots[wanted] > 0 { wanted } else { 1 - wanted };
        Place { tier, slot: self.clean_slot(tier, extent) }
    }

    /// A clean slot of a child, that of the extent's own number if possible.
    fn clean_slot(&self, tier: usize, extent: u64) -> u64 {
        if self.clean[tier].touches(extent, extent + 1) {
            return extent;
        }
        self.clean[tier].ranges().next().expect("there is a clean slot for each unused extent").0
    }

    /// Number of clean slots of a child.
    pub(super) fn clean_slots(&self, tier: usize) -> u64 {
        self.clean_slots[tier]
    }

    /// Removes a place from the clean slots.
    fn take(&mut self, place: Place) {
        let taken = self.clean[place.tier].remove(place.slot, place.slot + 1);
        assert_eq!(taken, 1, "only clean slots are taken");
        self.clean_slots[place.tier] -= 1;
    }

    /// Counts a use of an extent and returns its place. At its first use it gets one.
    pub(super) fn record_use(&mut self, extent: u64, fast: bool, now: Time) -> Place {
        let half_life_s = self.half_life_s;
        if let Some(entry) = self.used.get_mut(&extent) {
            entry.uses = entry.decayed(now, half_life_s) + 1.0;
            entry.updated_at = now;
            return entry.place;
        }
        self.put(extent, fast, Entry { place: Place { tier: 0, slot: 0 }, pinned: false, uses: 1.0, updated_at: now })
    }

    /// Places an unused extent on the fast child, where it stays.
    pub(super) fn pin(&mut self, extent: u64) {
        let place = Place { tier: FAST, slot: 0 };
        self.put(extent, true, Entry { place, pinned: true, uses: 0.0, updated_at: Time::ZERO });
    }

    /// Adds an extent at its first place.
    fn put(&mut self, extent: u64, fast: bool, entry: Entry) -> Place {
        let place = self.first_place(extent, fast);
        self.take(place);
        self.extents_on[place.tier] += 1;
        self.used.insert(extent, Entry { place, ..entry });
        place
    }

    /// The extents of a child that can be moved, with their decayed numbers of uses at `now`.
    pub(super) fn uses(&self, tier: usize, now: Time) -> Vec<ExtentUses> {
        let movable = self.used.iter().filter(|(_, entry)| entry.place.tier == tier && !entry.pinned);
        movable.map(|(&extent, entry)| ExtentUses { uses: entry.decayed(now, self.half_life_s), extent }).collect()
    }

    /// Makes a clean slot of a child the spare, as the target of an extent's move.
    pub(super) fn reserve(&mut self, tier: usize, extent: u64) -> Place {
        assert!(self.spare.is_none(), "there is one spare at a time");
        let place = Place { tier, slot: self.clean_slot(tier, extent) };
        self.take(place);
        self.spare = Some(place);
        place
    }

    /// Makes the spare, which was filled with zeroes, a clean slot.
    pub(super) fn spare_cleared(&mut self) {
        let place = self.spare.take().expect("the spare was cleared");
        self.clean[place.tier].insert(place.slot, place.slot + 1);
        self.clean_slots[place.tier] += 1;
    }

    /// Switches an extent to the spare. Returns its old place, which is the spare now.
    pub(super) fn switch(&mut self, extent: u64) -> Place {
        let entry = self.used.get_mut(&extent).expect("only used extents move");
        let to = self.spare.replace(entry.place).expect("a move goes to the spare");
        let left = std::mem::replace(&mut entry.place, to);
        self.extents_on[left.tier] -= 1;
        self.extents_on[to.tier] += 1;
        left
    }

    /// Resets the numbers of uses, which are kept in volatile memory.
    pub(super) fn power_cut(&mut self) {
        self.used.values_mut().for_each(|entry| (entry.uses, entry.updated_at) = (0.0, Time::ZERO));
    }

    /// Returns true if every slot has one extent, is clean or is the spare, and the counts are right.
    pub(super) fn is_consistent(&self, slots: [u64; 2]) -> bool {
        let mut places: Vec<Place> = self.used.values().map(|entry| entry.place).chain(self.spare).collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        let distinct = places.len() == count
            && places
                .iter()
                .all(|&Place { tier, slot }| slot < slots[tier] && !self.clean[tier].touches(slot, slot + 1));
        let clean = |tier: usize| self.clean[tier].ranges().map(|(from, to)| to - from).sum::<u64>();
        let on = |tier: usize| self.used.values().filter(|entry| entry.place.tier == tier).count() as u64;
        distinct
            && [FAST, SLOW]
                .into_iter()
                .all(|tier| clean(tier) == self.clean_slots[tier] && on(tier) == self.extents_on[tier])
            && self.used.values().all(|entry| !entry.pinned || entry.place.tier == FAST)
            && count as u64 + self.clean_slots[FAST] + self.clean_slots[SLOW] == slots[FAST] + slots[SLOW]
    }
}

impl Entry {
    /// The decayed number of uses at `now`.
    fn decayed(&self, now: Time, half_life_s: f64) -> f64 {
        self.uses * libm::exp2(-ns_to_s(now - self.updated_at) / half_life_s)
    }
}
