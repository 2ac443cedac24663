//! LFUDA: the least frequently used entry is evicted, and its priority is added to those of later references.
//!
//! | here | Arlitt et al. |
//! | --- | --- |
//! | `Rank::priority` | K, = C F + L with costs C of 1 |
//! | `frequency` | F |
//! | `age` | L: the K of the last evicted entry |

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::slots::{keeps_keys, resize_within, Slots};
use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};
use crate::convert::to_u32;
use crate::hierarchy::common::SameCapacity;
use crate::registry::no_parameters;

/// LFUDA in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "lfuda",
    title: "LFUDA",
    description: "Least frequently used with dynamic aging: the entry with the lowest sum of its references and the age \
        that the cache had at the last of them leaves, and its sum is the cache's new age; of equals the least recently \
        used leaves.",
    source: "Arlitt, Cherkasova, Dilley, Friedrich and Jin, Evaluating content management techniques for Web proxy \
        caches, ACM SIGMETRICS Performance Evaluation Review 27(4), 2000",
    bytes_per_slot: 52.0,
    default: ReplacementSpec::Lfuda(Spec {}),
};

no_parameters! {
    /// Least frequently used with dynamic aging.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Lfuda::new(capacity))
    }
}

/// The rank of an entry; the lowest is evicted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// References, plus the cache's age at the last of them.
    priority: u64,
    /// Number of its last reference among all references, which is unique.
    last_reference: u64,
}

const LOWEST: Rank = Rank { priority: 0, last_reference: 0 };

/// The use of an entry.
#[derive(Clone, Copy)]
struct Use {
    rank: Rank,
    /// Number of references since its admission.
    frequency: u32,
    /// Index of its slot in the heap.
    position: u32,
}

/// Least frequently used with dynamic aging.
#[derive(Clone)]
pub struct Lfuda {
    slots: Slots<Use>,
    /// A binary heap of slots with the lowest rank at its root.
    heap: SameCapacity<Vec<Slot>>,
    age: u64,
    references: u64,
}

impl Lfuda {
    /// An empty cache of `capacity` slots.
    fn new(capacity: u32) -> Self {
        Self { slots: Slots::new(capacity), heap: SameCapacity::default(), age: 0, references: 0 }
    }

    #[inline]
    fn rank_at(&self, position: usize) -> Rank {
        self.slots.value(self.heap[position]).rank
    }

    #[inline]
    fn put(&mut self, position: usize, slot: Slot) {
        self.heap[position] = slot;
        self.slots.value_mut(slot).position = to_u32(position);
    }

    /// Restores the order of the heap after the rank of the slot at `position` has changed.
    fn sift(&mut self, mut position: usize) {
        let slot = self.heap[position];
        let rank = self.slots.value(slot).rank;
        while position > 0 && rank < self.rank_at((position - 1) / 2) {
            self.put(position, self.heap[(position - 1) / 2]);
            position = (position - 1) / 2;
        }
        loop {
            let child = (2 * position + 1..self.heap.len()).take(2).min_by_key(|&child| self.rank_at(child));
            match child {
                Some(child) if self.rank_at(child) < rank => {
                    self.put(position, self.heap[child]);
                    position = child;
                }
                _ => break,
            }
        }
        self.put(position, slot);
    }

    /// Counts a reference to `slot`.
    #[inline]
    fn count(&mut self, slot: Slot) {
        self.references += 1;
        let entry = self.slots.value_mut(slot);
        // At 2^32 references the frequency stops rising.
        entry.frequency = entry.frequency.saturating_add(1);
        entry.rank = Rank { priority: u64::from(entry.frequency) + self.age, last_reference: self.references };
        let position = entry.position as usize;
        self.sift(position);
    }

    /// The first slot in eviction order for which `may_evict` returns true.
    fn victim(&self, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let root = *self.heap.first()?;
        if may_evict(root) {
            return Some(root);
        }
        let mut found = None;
        self.in_eviction_order(&mut |slot| {
            found = may_evict(slot).then_some(slot);
            found.is_none()
        });
        found
    }
}

impl Replacement for Lfuda {
    keeps_keys!(slots);

    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.count(slot);
    }

    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let admission = if self.slots.is_full() {
            let slot = self.victim(may_evict)?;
            let entry = self.slots.value_mut(slot);
            self.age = entry.rank.priority;
            entry.frequency = 0;
            Admission { slot, evicted: Some(self.slots.replace(slot, key)) }
        } else {
            let position = to_u32(self.heap.len());
            let slot = self.slots.insert(key, Use { rank: LOWEST, frequency: 0, position });
            resize_within(&mut self.heap, position, slot, self.slots.capacity());
            Admission { slot, evicted: None }
        };
        self.count(admission.slot);
        Some(admission)
    }

    fn remove(&mut self, key: u64) -> Option<Slot> {
        let slot = self.slots.remove(key)?;
        let hole = self.slots.value(slot).position as usize;
        let last = self.heap.pop()?;
        if hole < self.heap.len() {
            self.put(hole, last);
            self.sift(hole);
        }
        Some(slot)
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        let mut next = BinaryHeap::new();
        if !self.heap.is_empty() {
            next.push(Reverse((self.rank_at(0), 0)));
        }
        while let Some(Reverse((_, position))) = next.pop() {
            if !visit(self.heap[position]) {
                return;
            }
            for child in (2 * position + 1..self.heap.len()).take(2) {
                next.push(Reverse((self.rank_at(child), child)));
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        self.slots.memory_bytes() + self.heap.capacity() * size_of::<Slot>()
    }
}
