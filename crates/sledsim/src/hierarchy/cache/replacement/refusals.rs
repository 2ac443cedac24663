//! Slots that may not be evicted, which a search for a victim passes once and not again until they may.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::index::NIL;
use super::slots::resize_within;
use super::Slot;
use crate::hierarchy::common::SameCapacity;

/// The stamp of a slot that is in no list.
const UNLISTED: u64 = u64::MAX;

/// Slots by their stamps, the lowest first.
type Released = SameCapacity<BinaryHeap<Reverse<(u64, Slot)>>>;

/// What was refused in each of `N` lists.
#[derive(Clone)]
pub(super) struct Refusals<const N: usize> {
    /// When each slot came to the front of its list, in moves: of two in a list the lower one is nearer to the back.
    stamps: SameCapacity<Vec<u64>>,
    moves: u64,
    /// The slot nearest to the front up to which, from the back, all were refused; [`NIL`] if none was.
    passed: [Slot; N],
    /// Slots up to that one that were released since, by their stamps.
    released: [Released; N],
}

impl<const N: usize> Refusals<N> {
    /// Nothing was refused so far.
    pub fn new() -> Self {
        let released = std::array::from_fn(|_| SameCapacity::default());
        Self { stamps: SameCapacity::default(), moves: 0, passed: [NIL; N], released }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        let heaps = self.released.iter().map(|heap| heap.capacity() * size_of::<Reverse<(u64, Slot)>>());
        self.stamps.capacity() * size_of::<u64>() + heaps.sum::<usize>()
    }

    /// A slot, one of `capacity`, has come to the front of a list.
    pub fn listed(&mut self, slot: Slot, capacity: u32) {
        resize_within(&mut self.stamps, slot, UNLISTED, capacity);
        self.stamps[slot as usize] = self.moves;
        self.moves += 1;
    }

    /// A slot has left a list in which `behind` was next to it, towards the back.
    pub fn unlisted(&mut self, list: usize, slot: Slot, behind: Slot) {
        self.stamps[slot as usize] = UNLISTED;
        if self.passed[list] == slot {
            self.passed[list] = behind;
        }
    }

    /// The slot up to which all in a list were refused.
    pub fn passed(&self, list: usize) -> Option<Slot> {
        let passed = self.passed[list];
        (passed != NIL).then_some(passed)
    }

    /// A slot was refused, as were all behind it.
    pub fn pass(&mut self, list: usize, slot: Slot) {
        self.passed[list] = slot;
    }

    /// Whether a slot with that stamp is among those that were passed.
    fn is_passed(&self, list: usize, stamp: u64) -> bool {
        self.passed(list).is_some_and(|passed| stamp <= self.stamps[passed as usize])
    }

    /// A slot of a list, which has `len`, may be evicted again.
    pub fn release(&mut self, list: usize, slot: Slot, len: u32) {
        let stamp = self.stamps[slot as usize];
        if !self.is_passed(list, stamp) {
            return;
        }
        self.released[list].push(Reverse((stamp, slot)));
        if self.released[list].len() > len as usize + 16 {
            // Most were released many times: looking through the list once more takes no longer.
            self.released[list] = SameCapacity::default();
            self.passed[list] = NIL;
        }
    }

    /// The slot nearest to the back that was released, and is not in this place for another reason.
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

    /// References of keys, pins of slots that were found, and releases, in any order.
    fn victims(policy: &mut dyn Replacement, tells: bool, seed: u64) -> Vec<Option<(u32, Option<u64>)>> {
        if tells {
            policy.expect_releases();
        }
        let mut random = Stream::new(seed, "references");
        let mut pins = vec![0_u32; policy.capacity() as usize];
        let mut pinned = Vec::new();
        let mut heard = Vec::new();
        for _ in 0..20_000 {
            let most_pinned = 20 + random.below(44) as usize;
            if pinned.len() > most_pinned || (random.chance(0.3) && !pinned.is_empty()) {
                let slot: u32 = pinned.swap_remove(random.below(pinned.len() as u64) as usize);
                pins[slot as usize] -= 1;
                if tells && pins[slot as usize] == 0 {
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
                    heard.push(admission.map(|admission| (admission.slot, admission.evicted)));
                    let Some(admission) = admission else { continue };
                    admission.slot
                }
            };
            if random.chance(0.6) {
                pins[slot as usize] += 1;
                pinned.push(slot);
            }
        }
        heard
    }

    #[test]
    fn who_leaves_is_the_same_whether_releases_are_told_or_not() {
        for policy in POLICIES {
            for seed in 0..10 {
                // Few enough that sometimes none may leave.
                let [mut told, mut walked] = [24; 2].map(|slots| build(&policy.default, slots));
                let (told, walked) = (victims(told.as_mut(), true, seed), victims(walked.as_mut(), false, seed));
                assert!(told.iter().filter(|victim| victim.is_none()).count() > 10, "{}", policy.name);
                assert!(told == walked, "{}, {seed}", policy.name);
            }
        }
    }
}
