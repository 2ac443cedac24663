//! One queue of entries: FIFO, and LRU, in which a hit moves an entry to the front.

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::{Admission, Replacement, Slot};

/// The list of all entries, by time of admission or of the last reference.
const ORDER: usize = 0;

/// A queue whose back entry is evicted. With `RENEWED`, a hit moves an entry to the front.
#[derive(Clone)]
pub(super) struct Queue<const RENEWED: bool> {
    entries: Entries<1>,
}

impl<const RENEWED: bool> Queue<RENEWED> {
    /// An empty cache of `capacity` slots.
    pub(super) fn new(capacity: u32) -> Self {
        Self { entries: Entries::new(capacity) }
    }
}

impl<const RENEWED: bool> Replacement for Queue<RENEWED> {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        if RENEWED {
            self.entries.move_front(ORDER, slot);
        }
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() { Some(self.entries.victim(ORDER, may_evict)?) } else { None };
        Some(self.entries.admit(ORDER, key, victim))
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        self.entries.back_to_front(ORDER).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes()
    }
}
