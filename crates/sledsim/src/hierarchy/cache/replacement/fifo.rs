//! FIFO: the entry that came in longest ago leaves, however often it was referenced.

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::{Admission, Replacement, ReplacementPolicy, ReplacementSpec, Slot};

/// FIFO in the registry.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "fifo",
    title: "FIFO",
    description: "First in, first out: the entry that came in longest ago leaves, however often it was referenced.",
    source: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2), 1966",
    bytes_per_slot: 32.0,
    default: ReplacementSpec::Fifo {},
};

/// By the time of coming in.
const AGE: usize = 0;

/// First in, first out.
pub struct Fifo {
    entries: Entries<1>,
}

impl Fifo {
    /// An empty cache of `capacity` slots.
    #[must_use]
    pub fn new(capacity: u32) -> Self {
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
