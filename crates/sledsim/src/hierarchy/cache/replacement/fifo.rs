//! FIFO: the entry that came in longest ago leaves, however often it was referenced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};

/// FIFO in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "fifo",
    title: "FIFO",
    description: "First in, first out: the entry that came in longest ago leaves, however often it was referenced.",
    source: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2), 1966",
    bytes_per_slot: 32.0,
    default: ReplacementSpec::Fifo(Spec {}),
};

/// First in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {}

impl PolicySpec for Spec {
    fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Fifo::new(capacity))
    }
}

/// By the time of coming in.
const AGE: usize = 0;

/// First in, first out.
pub struct Fifo {
    entries: Entries<1>,
}

impl Fifo {
    /// An empty cache of `capacity` slots.
    fn new(capacity: u32) -> Self {
        Self { entries: Entries::new(capacity) }
    }
}

impl Replacement for Fifo {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, _slot: Slot) {}

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.entries.victim(AGE, may_evict)?) } else { None };
        Some(self.entries.admit(AGE, key, victim))
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        self.entries.back_to_front(AGE).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes()
    }
}
