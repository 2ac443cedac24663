//! Workloads: generators and replay.

mod alias;
mod arrival;
mod continuation;
mod distribution;
mod location;
mod mix;
mod needs;
mod replay;
mod synthetic;

pub use crate::engine::workload::{Next, Workload};
pub use arrival::ArrivalSpec;
pub use continuation::ContinuationSpec;
pub use distribution::{Distribution, Sampler, WeightedValue};
pub use location::{HotSpot, LocationSpec};
pub use mix::{Mix, MixSpec};
pub use needs::{LastBlock, MetadataSpec};
pub use replay::{Fit, Replay, ReplayMode, ReplayOptions};
pub use synthetic::{RangeSpec, Synthetic, SyntheticSpec};
