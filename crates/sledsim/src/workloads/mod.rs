//! Workloads: generators of requests and replay of traces. Each kind is one file and one line in the list.

mod alias;
pub mod arrival;
mod continuation;
mod distribution;
pub mod location;
mod needs;
mod replay;

pub use crate::engine::workload::{Next, Workload};
pub use arrival::ArrivalSpec;
pub use continuation::ContinuationSpec;
pub use distribution::{Distribution, Sampler, WeightedValue};
pub use location::hot_spots::HotSpot;
pub use location::LocationSpec;
pub use mix::{Mix, MixSpec};
pub use needs::{LastBlock, MetadataSpec};
pub use replay::{Fit, Replay, ReplayMode};
pub use synthetic::{RangeSpec, Synthetic, SyntheticSpec};
pub use trace::TraceSpec;

use crate::fault::Fault;
use crate::registry::registry;

registry! {
    /// The requests that are sent to the system.
    #[serde(tag = "kind", rename_all = "kebab-case")]
    pub enum WorkloadSpec: SourceSpec {
        Synthetic => synthetic,
        Mix => mix,
        Trace => trace,
        Session => session,
    }
}

/// Parameters of a workload.
trait SourceSpec {
    /// Everything that is wrong with them, as far as that is known without the system.
    fn faults(&self) -> Vec<Fault>;

    /// Returns true if it ends by itself, so that a run needs no other limit.
    fn has_end(&self) -> bool {
        false
    }

    /// The name of the catalogue's workload that it is based on, or the path of its file.
    fn stand_in(&self) -> Option<&str> {
        None
    }

    /// Starts the workload of valid parameters, for a system of `capacity_blocks` blocks of `block_bytes` bytes.
    fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault>;
}

impl WorkloadSpec {
    /// Everything that is wrong with the parameters, as far as that is known without the system.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.parameters().faults()
    }

    /// Returns true if it ends by itself, so that a run needs no other limit.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.parameters().has_end()
    }

    /// The name of the catalogue's workload that it is based on, or the path of its file; `None` for other workloads.
    #[must_use]
    pub fn stand_in(&self) -> Option<&str> {
        self.parameters().stand_in()
    }

    /// Starts the workload for a system of `capacity_blocks` blocks of `block_bytes` bytes.
    ///
    /// # Errors
    /// A parameter is out of range or does not suit the system, or a trace cannot be opened or is of no known format.
    pub fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        self.parameters().start(seed, capacity_blocks, block_bytes)
    }
}
