//! Event queue, components, random streams, run loop.

pub mod component;
pub mod queue;
pub mod random;
pub mod run;
pub mod workload;

pub use component::{Completion, Component, ComponentId, Context, System};
pub use queue::EventQueue;
pub use run::{run, End, Limits, Observer, Outcome, Progress};
pub use workload::{Next, Workload, WorkloadError};
