//! SIEVE: entries stay in order of admission, and a hand that moves from the oldest to the newest evicts the first entry without
//! a hit since it last passed.
//!
//! | here | Zhang et al., Algorithm 1 |
//! | --- | --- |
//! | front and back of `ORDER` | head and tail |
//! | `hand`; `None` | hand; NIL, which means the tail |
//! | `visited` | visited |

use super::entries::Entries;
use super::slots::{keeps_keys, resize_within};
use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};
use crate::hierarchy::common::SameCapacity;
use crate::registry::no_parameters;

/// SIEVE in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "sieve",
    title: "SIEVE",
    description: "A queue by time of admission and a bit for each entry, which a hit sets: a hand goes from the oldest entry \
        to the newest, clears the bits that are set and takes the first entry whose bit is clear. Entries keep their places.",
    source: "Zhang, Yang, Yue, Vigfusson and Rashmi, SIEVE is simpler than LRU: an efficient turn-key eviction \
        algorithm for Web caches, NSDI 2024, Algorithm 1",
    bytes_per_slot: 33.0,
    default: ReplacementSpec::Sieve(Spec {}),
};

no_parameters! {
    /// SIEVE.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Sieve::new(capacity))
    }
}

/// The list of all entries; the newest is at the front.
const ORDER: usize = 0;

/// SIEVE.
#[derive(Clone)]
pub struct Sieve {
    entries: Entries<1>,
    /// The visited bit of each slot.
    visited: SameCapacity<Vec<u8>>,
    /// Where the next search begins; `None` is the back.
    hand: Option<Slot>,
}

impl Sieve {
    /// An empty cache of `capacity` slots.
    fn new(capacity: u32) -> Self {
        Self { entries: Entries::new(capacity), visited: SameCapacity::default(), hand: None }
    }

    /// Moves the hand to the first slot without a visit for which `may_evict` returns true, and returns the slot. Clears the
    /// bits that the hand passes, except those of slots that cannot be evicted. If none can, nothing changes.
    #[inline]
    fn victim(&mut self, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut slot = self.hand.or_else(|| self.entries.back(ORDER))?;
        let mut pinned = 0;
        loop {
            if !may_evict(slot) {
                pinned += 1;
                if pinned == self.entries.len() {
                    return None;
                }
            } else if self.visited[slot as usize] == 0 {
                self.hand = Some(slot);
                return Some(slot);
            } else {
                self.visited[slot as usize] = 0;
                pinned = 0;
            }
            slot = self.entries.ahead(slot).or_else(|| self.entries.back(ORDER))?;
        }
    }

    /// Moves the hand past `slot`, which leaves its place.
    #[inline]
    fn move_hand_past(&mut self, slot: Slot) {
        if self.hand == Some(slot) {
            self.hand = self.entries.ahead(slot);
        }
    }
}

impl Replacement for Sieve {
    keeps_keys!(entries);

    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.visited[slot as usize] = 1;
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.victim(may_evict)?) } else { None };
        if let Some(slot) = victim {
            self.move_hand_past(slot);
        }
        let admission = self.entries.admit(ORDER, key, victim);
        resize_within(&mut self.visited, admission.slot, 0, self.entries.capacity());
        self.visited[admission.slot as usize] = 0;
        Some(admission)
    }

    fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.entries.find(key)?;
        self.move_hand_past(slot);
        self.entries.remove(key)
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let Some(start) = self.hand.or_else(|| self.entries.back(ORDER)) else { return };
        let ahead_of_hand = || std::iter::successors(Some(start), |&slot| self.entries.ahead(slot));
        let behind_hand = || self.entries.back_to_front(ORDER).take_while(|&slot| slot != start);
        (0..=1).all(|visited| {
            let round = ahead_of_hand().chain(behind_hand());
            round.filter(|&slot| self.visited[slot as usize] == visited).all(&mut *visit)
        });
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.visited.capacity()
    }
}
