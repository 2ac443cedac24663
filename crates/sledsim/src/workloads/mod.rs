//! Workloads: generators and replay; one kind, one file, one line in the list.

mod alias;
pub mod arrival;
mod chosen;
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
    /// What is asked of the system.
    #[serde(tag = "kind", rename_all = "kebab-case")]
    pub enum WorkloadSpec: SourceSpec {
        Synthetic => synthetic,
        Mix => mix,
        Trace => trace,
        Session => session,
    }
}

/// Parameters of a source of requests.
trait SourceSpec {
    /// What is wrong with them, as far as that can be told without the system.
    fn faults(&self) -> Vec<Fault>;

    /// Whether it ends by itself, so that a run needs no other limit.
    fn has_end(&self) -> bool {
        false
    }

    /// Name of the stand-in of the catalogue that it is, or the path of its file.
    fn stand_in(&self) -> Option<&str> {
        None
    }

    /// The source that valid ones describe, for a system of `capacity_blocks` blocks of `block_bytes` bytes.
    fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault>;
}

impl WorkloadSpec {
    /// What is wrong with the parameters, as far as that can be told without the system.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.parameters().faults()
    }

    /// Whether it ends by itself, so that a run needs no other limit.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.parameters().has_end()
    }

    /// Name of the stand-in of the catalogue that it is, or the path of its file; none for other workloads.
    #[must_use]
    pub fn stand_in(&self) -> Option<&str> {
        self.parameters().stand_in()
    }

    /// The workload for a system of `capacity_blocks` blocks of `block_bytes` bytes.
    ///
    /// # Errors
    /// When the parameters are out of range, or don't suit the system; when a trace can't be opened or is of no known format.
    pub fn start(&self, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Box<dyn Workload>, Fault> {
        self.parameters().start(seed, capacity_blocks, block_bytes)
    }
}
