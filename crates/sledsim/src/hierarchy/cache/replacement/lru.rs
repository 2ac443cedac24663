//! LRU: the entry that was referenced longest ago is evicted.

use super::queue::Queue;
use super::{PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec};
use crate::registry::no_parameters;

/// LRU in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "lru",
    title: "LRU",
    description: "Least recently used: the entry that was referenced longest ago leaves.",
    source: "Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970",
    bytes_per_slot: 32.0,
    default: ReplacementSpec::Lru(Spec {}),
};

no_parameters! {
    /// Least recently used.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Queue::<true>::new(capacity))
    }
}
