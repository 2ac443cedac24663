//! FIFO: the entry that was admitted longest ago is evicted, regardless of references.

use super::queue::Queue;
use super::{PolicySpec, Replacement, ReplacementPolicy, ReplacementSpec};
use crate::registry::no_parameters;

/// FIFO in the list of policies.
pub const POLICY: ReplacementPolicy = ReplacementPolicy {
    name: "fifo",
    title: "FIFO",
    description: "First in, first out: the entry that came in longest ago leaves, however often it was referenced.",
    source: "Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2), 1966",
    bytes_per_slot: 32.0,
    default: ReplacementSpec::Fifo(Spec {}),
};

no_parameters! {
    /// First in, first out.
    PolicySpec: fn build(&self, capacity: u32) -> Box<dyn Replacement> {
        Box::new(Queue::<false>::new(capacity))
    }
}
