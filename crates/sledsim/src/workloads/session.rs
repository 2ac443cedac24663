//! No workload of its own: requests come from outside, from whoever drives a session.

use super::{SourceSpec, Workload};
use crate::fault::Fault;
use crate::registry::no_parameters;

no_parameters! {
    /// Requests come from the program that drives a session with the system; a run has none.
    SourceSpec: fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }

    fn has_end(&self) -> bool {
        true
    }

    fn start(&self, _seed: u64, _capacity_blocks: u64, _block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        Err(Fault::conflict("kind", "session").says(
            ": requests come from the program that drives a session, and a run has none; give it a workload, or open a \
             session with the system",
        ))
    }
}
