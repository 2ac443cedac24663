//! SLRU: entries that were referenced again are protected from those that were referenced once.
//!
//! | here | Karedla et al. |
//! | --- | --- |
//! | `PROBATIONARY` | probationary segment |
//! | `PROTECTED`, `protected_slots` | protected segment and its size |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::{share_of, Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};

/// SLRU in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "slru",
    title: "SLRU",
    description: "Segmented LRU: entries come into a probationary segment and leave from there, least recently used \
        first; a hit moves an entry to a protected segment, whose least recently used goes back when it is full.",
    source:
        "Karedla, Love and Wherry, Caching strategies to improve disk system performance, IEEE Computer 27(3), 1994",
    bytes_per_slot: 33.0,
    default: ReplacementSpec::Slru(Spec { protected_share: default_protected_share() }),
};

/// Share of the protected segment. The paper leaves it to the workload; this is what simulators commonly take.
const fn default_protected_share() -> f64 {
    0.8
}

/// Segmented LRU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Share of the cache that the protected segment may take; 0 is LRU.
    #[serde(default = "default_protected_share")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub protected_share: f64,
}

impl PolicySpec for Spec {
    fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Slru::new(capacity, self.protected_share))
    }
}

const PROBATIONARY: usize = 0;
const PROTECTED: usize = 1;

/// Segmented LRU.
#[derive(Clone)]
pub struct Slru {
    entries: Entries<2>,
    protected_slots: u32,
}

impl Slru {
    /// An empty cache of `capacity` slots, of which `protected_share` (0 to 1) may be protected.
    fn new(capacity: u32, protected_share: f64) -> Self {
        Self { entries: Entries::new(capacity), protected_slots: share_of(capacity, protected_share) }
    }
}

impl Replacement for Slru {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        if self.protected_slots == 0 {
            self.entries.move_front(PROBATIONARY, slot);
            return;
        }
        let entries = &self.entries;
        if entries.list_of(slot) == PROBATIONARY && entries.len_of(PROTECTED) == self.protected_slots {
            if let Some(least_recent) = entries.back(PROTECTED) {
                self.entries.move_front(PROBATIONARY, least_recent);
            }
        }
        self.entries.move_front(PROTECTED, slot);
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let entries = &mut self.entries;
        let victim = if entries.is_full() {
            Some(entries.victim(PROBATIONARY, may_evict).or_else(|| entries.victim(PROTECTED, may_evict))?)
        } else {
            None
        };
        Some(self.entries.admit(PROBATIONARY, key, victim))
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let entries = &self.entries;
        entries.back_to_front(PROBATIONARY).chain(entries.back_to_front(PROTECTED)).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes()
    }
}
