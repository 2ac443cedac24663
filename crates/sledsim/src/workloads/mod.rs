//! Workloads: generators and replay.

pub use crate::engine::workload::{Next, Workload, WorkloadError};
