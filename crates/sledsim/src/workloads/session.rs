//! The workload of a session: requests come from the program that drives it.

use super::{SourceSpec, Workload};
use crate::fault::Fault;
use crate::registry::no_parameters;

no_parameters! {
    /// Requests come from the program that drives a session with the system. A run cannot use it.
    SourceSpec: fn faults(&self) -> Vec<Fault> {
        Vec::new()
    }

    fn has_end(&self) -> bool {
        true
    }

    fn start(&self, _seed: u64, _capacity_blocks: u64, _block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        Err(Fault::conflict("kind", "session").says(
            ": requests come from the program that drives a session, and a run has no such program; give another workload, or \
             open a session with the system",
        ))
    }
}
