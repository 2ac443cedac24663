//! LRU: the entry that was referenced longest ago leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};

/// LRU in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "lru",
    title: "LRU",
    description: "Least recently used: the entry that was referenced longest ago leaves.",
    source: "Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970",
    bytes_per_slot: 32.0,
    default: ReplacementSpec::Lru(Spec {}),
};

/// Least recently used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {}

impl PolicySpec for Spec {
    fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Lru::new(capacity))
    }
}

/// By the last reference.
const RECENCY: usize = 0;

/// Least recently used.
pub struct Lru {
    entries: Entries<1>,
}

impl Lru {
    /// An empty cache of `capacity` slots.
    fn new(capacity: u32) -> Self {
        Self { entries: Entries::new(capacity) }
    }
}

impl Replacement for Lru {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.entries.move_front(RECENCY, slot);
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.entries.victim(RECENCY, may_evict)?) } else { None };
        Some(self.entries.admit(RECENCY, key, victim))
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        self.entries.back_to_front(RECENCY).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes()
    }
}
