//! Where each extent is, and how much it has been used.
//!
//! An extent that was never used has no place yet. There is one slot more than extents, and a slot that one has left is not
//! given to another as its first before zeroes have been written to it: what nobody wrote reads as on a new device. At most one
//! slot is in that state, as the next move needs another only when that one has been cleared or taken.

use std::collections::BTreeMap;

use crate::hierarchy::common::BlockSet;
use crate::time::{ns_to_s, Time};

/// The fast child, as an index.
pub(super) const FAST: usize = 0;
/// The slow one.
pub(super) const SLOW: usize = 1;

/// A slot of a child, which has room for an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) tier: usize,
    pub(super) slot: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    place: Place,
    pinned: bool,
    /// Its uses, decayed until `at`.
    uses: f64,
    at: Time,
}

/// The extents that have been used, and the slots that are free.
#[derive(Clone, Debug)]
pub(super) struct Map {
    extents: u64,
    half_life_s: f64,
    used: BTreeMap<u64, Entry>,
    /// Slots of either child that nothing has ever been put in, or that have been cleared; how many they are.
    clean: [BlockSet; 2],
    clean_slots: [u64; 2],
    /// The slot that was left last, or that a move goes to.
    pub(super) spare: Option<Place>,
    /// How many extents are on each child.
    pub(super) on: [u64; 2],
}

impl Map {
    /// Extents for all of these slots but one.
    pub(super) fn new(slots: [u64; 2], half_life_s: f64) -> Self {
        let clean = slots.map(|slots| {
            let mut all = BlockSet::default();
            all.insert(0, slots);
            all
        });
        let extents = slots[FAST] + slots[SLOW] - 1;
        Self { extents, half_life_s, used: BTreeMap::new(), clean, clean_slots: slots, spare: None, on: [0, 0] }
    }

    pub(super) fn extents(&self) -> u64 {
        self.extents
    }

    /// Where an extent is; nowhere if it was never used.
    pub(super) fn place(&self, extent: u64) -> Option<Place> {
        self.used.get(&extent).map(|entry| entry.place)
    }

    /// Where an extent that was never used would be put: on the child that it belongs to if that has a clean slot, into that of
    /// its own number if that is one.
    pub(super) fn first_place(&self, extent: u64, fast: bool) -> Place {
        let wanted = if fast { FAST } else { SLOW };
        let tier = if self.clean_slots[wanted] > 0 { wanted } else { 1 - wanted };
        Place { tier, slot: self.clean_slot(tier, extent) }
    }

    fn clean_slot(&self, tier: usize, extent: u64) -> u64 {
        if self.clean[tier].touches(extent, extent + 1) {
            return extent;
        }
        self.clean[tier].ranges().next().expect("there is a clean slot for each extent that was never used").0
    }

    /// Whether a child has clean slots, and how many.
    pub(super) fn clean_slots(&self, tier: usize) -> u64 {
        self.clean_slots[tier]
    }

    fn take(&mut self, place: Place) {
        let taken = self.clean[place.tier].remove(place.slot, place.slot + 1);
        assert_eq!(taken, 1, "a slot that is taken was clean");
        self.clean_slots[place.tier] -= 1;
    }

    /// An extent is used; it has a place from now on.
    pub(super) fn touch(&mut self, extent: u64, fast: bool, now: Time) -> Place {
        let half_life_s = self.half_life_s;
        if let Some(entry) = self.used.get_mut(&extent) {
            entry.uses = entry.decayed(now, half_life_s) + 1.0;
            entry.at = now;
            return entry.place;
        }
        self.put(extent, fast, Entry { place: Place { tier: 0, slot: 0 }, pinned: false, uses: 1.0, at: now })
    }

    /// An extent is on the fast child from the start, and stays.
    pub(super) fn pin(&mut self, extent: u64) {
        let place = Place { tier: FAST, slot: 0 };
        self.put(extent, true, Entry { place, pinned: true, uses: 0.0, at: Time::ZERO });
    }

    fn put(&mut self, extent: u64, fast: bool, entry: Entry) -> Place {
        let place = self.first_place(extent, fast);
        self.take(place);
        self.on[place.tier] += 1;
        self.used.insert(extent, Entry { place, ..entry });
        place
    }

    /// Extents of a child that may leave it, with their uses at `now`.
    pub(super) fn uses(&self, tier: usize, now: Time) -> Vec<(f64, u64)> {
        let movable = self.used.iter().filter(|(_, entry)| entry.place.tier == tier && !entry.pinned);
        movable.map(|(&extent, entry)| (entry.decayed(now, self.half_life_s), extent)).collect()
    }

    /// A clean slot of a child for an extent to move to, as the spare.
    pub(super) fn reserve(&mut self, tier: usize, extent: u64) -> Place {
        assert!(self.spare.is_none(), "a clean slot is taken for a move while another is to be cleared");
        let place = Place { tier, slot: self.clean_slot(tier, extent) };
        self.take(place);
        self.spare = Some(place);
        place
    }

    /// The spare has been filled with zeroes.
    pub(super) fn cleared(&mut self) {
        let place = self.spare.take().expect("what was cleared is the spare");
        self.clean[place.tier].insert(place.slot, place.slot + 1);
        self.clean_slots[place.tier] += 1;
    }

    /// An extent is in the spare from now on, and what it leaves is spare.
    pub(super) fn switch(&mut self, extent: u64) -> Place {
        let entry = self.used.get_mut(&extent).expect("only what was used moves");
        let to = self.spare.replace(entry.place).expect("a move goes to the spare");
        let left = std::mem::replace(&mut entry.place, to);
        self.on[left.tier] -= 1;
        self.on[to.tier] += 1;
        left
    }

    /// Uses are kept in volatile memory.
    pub(super) fn power_cut(&mut self) {
        self.used.values_mut().for_each(|entry| (entry.uses, entry.at) = (0.0, Time::ZERO));
    }

    /// Whether every slot has one extent, or is clean, or is the spare; and whether what is counted is so.
    pub(super) fn is_sound(&self, slots: [u64; 2]) -> bool {
        let mut places: Vec<Place> = self.used.values().map(|entry| entry.place).chain(self.spare).collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        let apart = places.len() == count
            && places
                .iter()
                .all(|&Place { tier, slot }| slot < slots[tier] && !self.clean[tier].touches(slot, slot + 1));
        let clean = |tier: usize| self.clean[tier].ranges().map(|(from, to)| to - from).sum::<u64>();
        let on = |tier: usize| self.used.values().filter(|entry| entry.place.tier == tier).count() as u64;
        apart
            && [FAST, SLOW].into_iter().all(|tier| clean(tier) == self.clean_slots[tier] && on(tier) == self.on[tier])
            && self.used.values().all(|entry| !entry.pinned || entry.place.tier == FAST)
            && count as u64 + self.clean_slots[FAST] + self.clean_slots[SLOW] == slots[FAST] + slots[SLOW]
    }
}

impl Entry {
    fn decayed(&self, now: Time, half_life_s: f64) -> f64 {
        self.uses * libm::exp2(-ns_to_s(now - self.at) / half_life_s)
    }
}
