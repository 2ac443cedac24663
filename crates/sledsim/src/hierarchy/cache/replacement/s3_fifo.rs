//! S3-FIFO: entries that are referenced once leave a small queue quickly; the main queue gives referenced entries another round.
//!
//! | here | Yang et al., Algorithm 1 |
//! | --- | --- |
//! | `SMALL`, `small_slots` | S, a tenth of the cache |
//! | `MAIN` | M, the rest |
//! | `ghosts` | G, as many keys as M has slots |
//! | `references` | freq, two bits |
//!
//! The algorithm may evict several entries for one admission, when entries move from S to a full M. Here, as in the authors'
//! simulator (libCacheSim), M may exceed its share instead, and the next victim comes from it. An entry that moves to M starts
//! there without references.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{keeps_entries, Entries};
use super::ghosts::Ghosts;
use super::second_chance::{in_sweeping_order, sweep};
use super::slots::resize_within;
use super::{share_of, Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};
use crate::hierarchy::common::SameCapacity;

/// S3-FIFO in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "s3-fifo",
    title: "S3-FIFO",
    description: "Three FIFO queues: entries come into a small one; those referenced there more than once move to the \
        main one, which gives entries another round for each reference; the keys of the others are remembered, and come \
        into the main one if they are referenced in that time.",
    source: "Yang et al., FIFO queues are all you need for cache eviction, SOSP 2023, Algorithm 1",
    bytes_per_slot: 62.8,
    default: ReplacementSpec::S3Fifo(Spec {
        small_share: default_small_share(),
        ghost_ratio: default_ghost_ratio(),
        promotion_references: default_promotion_references(),
    }),
};

/// Share of the small queue: 10 % (section 4.1).
const fn default_small_share() -> f64 {
    0.1
}

/// Remembered keys per slot of the main queue: as many (section 4.1).
const fn default_ghost_ratio() -> f64 {
    1.0
}

/// References that take an entry from the small queue to the main one: more than one (Algorithm 1).
const fn default_promotion_references() -> u8 {
    2
}

/// S3-FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Share of the cache for the small queue.
    #[serde(default = "default_small_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub small_share: f64,
    /// Keys remembered after they left the small queue, per entry that the main queue may have.
    #[serde(default = "default_ghost_ratio")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ghost_ratio: f64,
    /// References in the small queue that take an entry to the main one instead of out.
    #[serde(default = "default_promotion_references")]
    #[schemars(range(min = 1, max = 3))]
    pub promotion_references: u8,
}

impl PolicySpec for Spec {
    fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(S3Fifo::new(capacity, self.small_share, self.ghost_ratio, self.promotion_references))
    }
}

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOST: usize = 0;
/// The largest value of a two-bit counter.
const MAX_REFERENCES: u8 = 3;

/// S3-FIFO.
#[derive(Clone)]
pub struct S3Fifo {
    entries: Entries<2>,
    ghosts: Ghosts<1>,
    /// The counter of each slot.
    references: SameCapacity<Vec<u8>>,
    main_slots: u32,
    promotion_references: u8,
}

impl S3Fifo {
    /// An empty cache of `capacity` slots: `small_share` (0 to 1) of them for the small queue, `ghost_ratio` (0 to 1)
    /// remembered keys per slot of the main one, where an entry goes after `promotion_references` (0 to 3) hits.
    fn new(capacity: u32, small_share: f64, ghost_ratio: f64, promotion_references: u8) -> Self {
        let main_slots = capacity - share_of(capacity, small_share);
        Self {
            entries: Entries::new(capacity),
            ghosts: Ghosts::new(share_of(main_slots, ghost_ratio)),
            references: SameCapacity::default(),
            main_slots,
            promotion_references,
        }
    }

    /// The slot that `EVICTS` takes from the small queue. Entries with enough references move to the main queue.
    fn victim_of_small(&mut self, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut at = self.entries.back(SMALL);
        while let Some(slot) = at {
            at = self.entries.ahead(slot);
            if may_evict(slot) {
                if self.references[slot as usize] < self.promotion_references {
                    return Some(slot);
                }
                self.references[slot as usize] = 0;
                self.entries.move_front(MAIN, slot);
            }
        }
        None
    }

    /// The slot that `EVICT` takes.
    fn victim(&mut self, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let is_main_first = self.entries.len_of(MAIN) > self.main_slots;
        if !is_main_first {
            if let Some(slot) = self.victim_of_small(may_evict) {
                return Some(slot);
            }
        }
        sweep(&mut self.entries, MAIN, &mut self.references, may_evict).or_else(|| {
            let found = if is_main_first { self.victim_of_small(may_evict) } else { None };
            // What could leave the small queue may all have moved to the main one.
            found.or_else(|| sweep(&mut self.entries, MAIN, &mut self.references, may_evict))
        })
    }
}

impl Replacement for S3Fifo {
    keeps_entries!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        let references = &mut self.references[slot as usize];
        *references = (*references + 1).min(MAX_REFERENCES);
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.victim(may_evict)?) } else { None };
        let list = if self.ghosts.remove(key) { MAIN } else { SMALL };
        if let Some(slot) = victim {
            if self.entries.list_of(slot) == SMALL {
                self.ghosts.push(GHOST, self.entries.key(slot));
            }
        }
        let admission = self.entries.admit(list, key, victim);
        resize_within(&mut self.references, admission.slot, 0, self.entries.capacity());
        self.references[admission.slot as usize] = 0;
        Some(admission)
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let entries = &self.entries;
        let small = |promoted: bool, visit: &mut dyn FnMut(Slot) -> bool| {
            let is_promoted = |slot: Slot| self.references[slot as usize] >= self.promotion_references;
            entries.back_to_front(SMALL).filter(|&slot| is_promoted(slot) == promoted).all(visit)
        };
        let main = |having, visit: &mut dyn FnMut(Slot) -> bool| {
            in_sweeping_order(&self.entries, MAIN, &self.references, having, visit)
        };
        // Promoted entries enter the main queue without references.
        let _ = if entries.len_of(MAIN) > self.main_slots {
            main(0..=MAX_REFERENCES, visit) && small(false, visit) && small(true, visit)
        } else {
            small(false, visit) && main(0..=0, visit) && small(true, visit) && main(1..=MAX_REFERENCES, visit)
        };
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.ghosts.memory_bytes() + self.references.capacity()
    }
}
