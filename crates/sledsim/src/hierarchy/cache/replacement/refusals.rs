//! Slots that cannot be evicted: the search for a victim passes each once, and again only after it was released.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::index::NIL;
use super::slots::resize_within;
use super::Slot;
use crate::hierarchy::common::SameCapacity;

/// The stamp of a slot that is in no list.
const UNLISTED: u64 = u64::MAX;

/// Slots by stamp, lowest first.
type Released = SameCapacity<BinaryHeap<Reverse<(u64, Slot)>>>;

/// The refused slots of `N` lists.
#[derive(Clone)]
pub(super) struct Refusals<const N: usize> {
    /// The number of the move with which each slot came to the front of its list. The lower of two is nearer to the back.
    stamps: SameCapacity<Vec<u64>>,
    moves: u64,
    /// The slot up to which, from the back, all were refused; [`NIL`] if there is none.
    passed: [Slot; N],
    /// Slots up to that one that were released since.
    released: [Released; N],
}

impl<const N: usize> Refusals<N> {
    /// No refused slots.
    pub fn new() -> Self {
        let released = std::array::from_fn(|_| SameCapacity::default());
        Self { stamps: SameCapacity::default(), moves: 0, passed: [NIL; N], released }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        let heaps = self.released.iter().map(|heap| heap.capacity() * size_of::<Reverse<(u64, Slot)>>());
        self.stamps.capacity() * size_of::<u64>() + heaps.sum::<usize>()
    }

    /// Records that a slot, one of `capacity`, was moved to the front of a list.
    pub fn listed(&mut self, slot: Slot, capacity: u32) {
        resize_within(&mut self.stamps, slot, UNLISTED, capacity);
        self.stamps[slot as usize] = self.moves;
        self.moves += 1;
    }

    /// Records that a slot was removed from a list in which `behind` was its neighbour towards the back.
    pub fn unlisted(&mut self, list: usize, slot: Slot, behind: Slot) {
        self.stamps[slot as usize] = UNLISTED;
        if self.passed[list] == slot {
            self.passed[list] = behind;
        }
    }

    /// The slot up to which all slots of a list were refused.
    pub fn passed(&self, list: usize) -> Option<Slot> {
        let passed = self.passed[list];
        (passed != NIL).then_some(passed)
    }

    /// Records that a slot and all behind it were refused.
    pub fn pass(&mut self, list: usize, slot: Slot) {
        self.passed[list] = slot;
    }

    /// Returns true if a slot with this stamp was passed.
    fn is_passed(&self, list: usize, stamp: u64) -> bool {
        self.passed(list).is_some_and(|passed| stamp <= self.stamps[passed as usize])
    }

    /// Records that a slot of a list of `len` slots can be evicted again.
    pub fn release(&mut self, list: usize, slot: Slot, len: u32) {
        let stamp = self.stamps[slot as usize];
        if !self.is_passed(list, stamp) {
            return;
        }
        self.released[list].push(Reverse((stamp, slot)));
        if self.released[list].len() > len as usize + 16 {
            // Most slots were released repeatedly: searching the whole list again takes no longer.
            self.released[list] = SameCapacity::default();
            self.passed[list] = NIL;
        }
    }

    /// Removes the released slot nearest to the back that has not moved since.
    pub fn next_released(&mut self, list: usize) -> Option<Slot> {
        while let Some(Reverse((stamp, slot))) = self.released[list].pop() {
            if self.stamps[slot as usize] == stamp && self.is_passed(list, stamp) {
                return Some(slot);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{build, Replacement, POLICIES};
    use crate::engine::random::Stream;

    /// The admissions of a random sequence of references, pins and unpins. Releases are reported if `reports_releases`.
    fn admissions(policy: &mut dyn Replacement, reports_releases: bool, seed: u64) -> Vec<Option<(u32, Option<u64>)>> {
        if reports_releases {
            policy.expect_releases();
        }
        let mut random = Stream::new(seed, "references");
        let mut pins = vec![0_u32; policy.capacity() as usize];
        let mut pinned = Vec::new();
        let mut admissions = Vec::new();
        for _ in 0..20_000 {
            let max_pinned = 20 + random.below(44) as usize;
            if pinned.len() > max_pinned || (random.chance(0.3) && !pinned.is_empty()) {
                let slot: u32 = pinned.swap_remove(random.below(pinned.len() as u64) as usize);
                pins[slot as usize] -= 1;
                if reports_releases && pins[slot as usize] == 0 {
                    policy.released(slot);
                }
                continue;
            }
            let key = random.below(200);
            let slot = match policy.find(key) {
                Some(slot) if random.chance(0.02) && pins[slot as usize] == 0 => {
                    policy.remove(key);
                    continue;
                }
                Some(slot) => {
                    policy.hit(slot);
                    slot
                }
                None => {
                    let admission = policy.admit(key, &mut |slot| pins[slot as usize] == 0);
                    admissions.push(admission.map(|admission| (admission.slot, admission.evicted)));
                    let Some(admission) = admission else { continue };
                    admission.slot
                }
            };
            if random.chance(0.6) {
                pins[slot as usize] += 1;
                pinned.push(slot);
            }
        }
        admissions
    }

    #[test]
    fn reported_releases_do_not_change_victims() {
        for policy in POLICIES {
            for seed in 0..10 {
                // With so few slots, sometimes all are pinned.
                let [mut with, mut without] = [24; 2].map(|slots| build(&policy.default, slots));
                let (with, without) =
                    (admissions(with.as_mut(), true, seed), admissions(without.as_mut(), false, seed));
                assert!(with.iter().filter(|admission| admission.is_none()).count() > 10, "{}", policy.name);
                assert!(with == without, "{}, {seed}", policy.name);
            }
        }
    }
}
