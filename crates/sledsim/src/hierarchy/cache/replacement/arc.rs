//! ARC: recent and frequent entries share the cache, and hits on their ghosts shift the boundary.
//!
//! | here | Megiddo and Modha, Figure 4 |
//! | --- | --- |
//! | `RECENT`, `FREQUENT` among the entries | T1, T2 |
//! | the same among the ghosts | B1, B2 |
//! | `target` | p, a real number |
//! | capacity | c |

use super::entries::{keeps_entries, remembers_refusals, Entries};
use super::ghosts::Ghosts;
use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};
use crate::convert::trunc_to_usize;
use crate::registry::no_parameters;

/// ARC in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "arc",
    title: "ARC",
    description: "Adaptive replacement: one LRU list of entries referenced once, another of those referenced again; \
        hits on keys that left either of them lately give it more of the cache.",
    source: "Megiddo and Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003, Figure 4",
    bytes_per_slot: 66.0,
    default: ReplacementSpec::Arc(Spec {}),
};

no_parameters! {
    /// Adaptive replacement cache.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Arc::new(capacity))
    }
}

const RECENT: usize = 0;
const FREQUENT: usize = 1;

/// ARC.
#[derive(Clone)]
pub struct Arc {
    entries: Entries<2>,
    ghosts: Ghosts<2>,
    /// Target number of slots of recent entries.
    target: f64,
}

impl Arc {
    /// An empty cache of `capacity` slots.
    fn new(capacity: u32) -> Self {
        Self { entries: Entries::new(capacity), ghosts: Ghosts::new(capacity), target: 0.0 }
    }

    /// The target after a reference to a key whose ghost is in queue `ghost` (cases II and III).
    fn adapted(&self, ghost: Option<usize>) -> f64 {
        let (recent, frequent) = (f64::from(self.ghosts.len(RECENT)), f64::from(self.ghosts.len(FREQUENT)));
        match ghost {
            Some(RECENT) => (self.target + (frequent / recent).max(1.0)).min(f64::from(self.capacity())),
            Some(_) => (self.target - (recent / frequent).max(1.0)).max(0.0),
            None => self.target,
        }
    }

    /// The slot that `REPLACE` evicts.
    fn victim(&mut self, target: f64, ghost: Option<usize>, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let entries = &mut self.entries;
        let recent = f64::from(entries.len_of(RECENT));
        let takes_recent = recent > target || (ghost == Some(FREQUENT) && recent == target);
        let [first, second] = if takes_recent { [RECENT, FREQUENT] } else { [FREQUENT, RECENT] };
        entries.victim(first, may_evict).or_else(|| entries.victim(second, may_evict))
    }

    /// Makes space in the directory for a new key (case IV). Returns true if the evicted key is to become a ghost.
    fn make_room(&mut self) -> bool {
        let (entries, capacity) = (&self.entries, self.capacity());
        let recent = entries.len_of(RECENT) + self.ghosts.len(RECENT);
        let frequent = entries.len_of(FREQUENT) + self.ghosts.len(FREQUENT);
        if recent == capacity {
            let has_ghosts = self.ghosts.len(RECENT) > 0;
            self.ghosts.remove_oldest(RECENT);
            return has_ghosts;
        }
        if recent + frequent == 2 * capacity {
            self.ghosts.remove_oldest(FREQUENT);
        }
        true
    }
}

impl Replacement for Arc {
    keeps_entries!();
    remembers_refusals!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.entries.move_front(FREQUENT, slot);
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let ghost = self.ghosts.queue_of(key);
        let target = self.adapted(ghost);
        let victim = if self.entries.is_full() { Some(self.victim(target, ghost, may_evict)?) } else { None };
        self.target = target;
        let (list, keeps_ghost) = if ghost.is_some() {
            self.ghosts.remove(key);
            (FREQUENT, true)
        } else {
            (RECENT, self.make_room())
        };
        if let (Some(slot), true) = (victim, keeps_ghost) {
            self.ghosts.push(self.entries.list_of(slot), self.entries.key(slot));
        }
        Some(self.entries.admit(list, key, victim))
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let entries = &self.entries;
        // The number of slots above the target, which may be fractional.
        let beyond = trunc_to_usize((f64::from(entries.len_of(RECENT)) - self.target).ceil().max(0.0));
        let (first, rest) = (entries.back_to_front(RECENT).take(beyond), entries.back_to_front(RECENT).skip(beyond));
        first.chain(entries.back_to_front(FREQUENT)).chain(rest).all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.ghosts.memory_bytes()
    }
}
