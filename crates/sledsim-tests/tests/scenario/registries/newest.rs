//! NEWEST: evicts the most recently admitted key.

use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};
use crate::registry::no_parameters;

/// NEWEST in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "newest",
    title: "NEWEST",
    description: "Last in, first out.",
    source: "made up",
    bytes_per_slot: 16.0,
    default: ReplacementSpec::Newest(Spec {}),
};

no_parameters! {
    /// Last in, first out.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Newest { capacity, keys: Vec::new() })
    }
}

/// Keys in the order of admission; the slot of a key is its index. Only the last key is ever removed.
#[derive(Clone)]
struct Newest {
    capacity: u32,
    keys: Vec<u64>,
}

impl Replacement for Newest {
    fn capacity(&self) -> u32 {
        self.capacity
    }

    fn len(&self) -> u32 {
        self.keys.len() as u32
    }

    fn find(&self, key: u64) -> Option<Slot> {
        self.keys.iter().position(|&held| held == key).map(|slot| slot as Slot)
    }

    fn key(&self, slot: Slot) -> u64 {
        self.keys[slot as usize]
    }

    fn hit(&mut self, _slot: Slot) {}

    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let is_full = self.len() == self.capacity;
        let slot = if is_full { self.len() - 1 } else { self.len() };
        if is_full && !may_evict(slot) {
            return None;
        }
        let evicted = if is_full { self.keys.pop() } else { None };
        self.keys.push(key);
        Some(Admission { slot, evicted })
    }

    fn remove(&mut self, key: u64) -> Option<Slot> {
        let last = self.keys.pop_if(|last| *last == key);
        last.map(|_| self.len())
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        (0..self.len()).rev().all(visit);
    }

    fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>()
    }
}
