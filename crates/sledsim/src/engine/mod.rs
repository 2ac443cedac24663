//! Event queue, components, random streams, run loop.

pub mod component;
pub mod data;
pub mod details;
pub mod queue;
pub mod random;
pub mod run;
pub mod system;
pub mod workload;

pub use component::{Completion, Component, ComponentId, Status};
pub use data::{Memory, Payload};
pub use details::{Count, Details, Path};
pub use queue::EventQueue;
pub use run::{run, End, Limits, Observer, Outcome, Progress};
pub use system::{Below, Context, System};
pub use workload::{Next, Workload};
