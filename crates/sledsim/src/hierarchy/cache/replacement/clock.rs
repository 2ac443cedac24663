//! CLOCK: first in, first out, with a second chance for entries referenced since the hand last passed.

use super::entries::{keeps_entries, Entries};
use super::second_chance::{in_sweeping_order, sweep};
use super::slots::resize_within;
use super::{Admission, PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec, Slot};
use crate::hierarchy::common::SameCapacity;
use crate::registry::no_parameters;

/// CLOCK in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "clock",
    title: "CLOCK",
    description: "Second chance: a hand goes round the entries, clears the reference bit of each and takes the first \
        whose bit is clear. An entry comes in behind the hand with its bit clear; a hit sets it.",
    source: "Corbató, A paging experiment with the Multics system, in: In Honor of P. M. Morse, MIT Press 1969",
    bytes_per_slot: 33.0,
    default: ReplacementSpec::Clock(Spec {}),
};

no_parameters! {
    /// Second chance.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Clock::new(capacity))
    }
}

/// The list of all entries; the hand is at the back.
const RING: usize = 0;

/// CLOCK.
#[derive(Clone)]
pub struct Clock {
    entries: Entries<1>,
    /// The reference bit, by slot.
    referenced: SameCapacity<Vec<u8>>,
}

impl Clock {
    /// An empty cache of `capacity` slots.
    fn new(capacity: u32) -> Self {
        Self { entries: Entries::new(capacity), referenced: SameCapacity::default() }
    }
}

impl Replacement for Clock {
    keeps_entries!();

    #[inline]
    fn hit(&mut self, slot: Slot) {
        self.referenced[slot as usize] = 1;
    }

    #[inline]
    fn admit(&mut self, key: u64, may_evict: &mut dyn FnMut(Slot) -> bool) -> Option<Admission> {
        let victim = if self.entries.is_full() {
            Some(sweep(&mut self.entries, RING, &mut self.referenced, may_evict)?)
        } else {
            None
        };
        let admission = self.entries.admit(RING, key, victim);
        resize_within(&mut self.referenced, admission.slot, 0, self.entries.capacity());
        self.referenced[admission.slot as usize] = 0;
        Some(admission)
    }

    fn in_eviction_order(&self, visit: &mut dyn FnMut(Slot) -> bool) {
        in_sweeping_order(&self.entries, RING, &self.referenced, 0..=1, visit);
    }

    fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.referenced.capacity()
    }
}
