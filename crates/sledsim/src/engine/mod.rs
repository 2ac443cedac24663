//! Components, the event queue that drives them, the run loop, sessions, power cuts and random streams.

pub mod component;
mod context;
pub mod data;
pub mod details;
pub mod guards;
mod invariants;
pub mod oracle;
mod outstanding;
pub mod power_cuts;
pub mod queue;
pub mod random;
pub mod run;
pub mod session;
pub mod system;
mod traffic;
pub mod workload;

pub use component::{Completion, Component, ComponentId, Instrumentation, LookaheadService, PowerLoss, Status, Stop};
pub use context::{Context, Descendants};
pub use data::{Memory, Payload};
pub use details::{Count, Details, ServicePath};
pub use outstanding::Refusal;
pub(crate) use outstanding::DATA_BYTES;
pub use power_cuts::{find_losses, CutAfterRequest, Losses, PowerCut, PowerCutPlan};
pub use queue::EventQueue;
pub use run::{run, run_with_cuts, Checkpoint, EndReason, Observer, Outcome, Progress, RunLimits};
pub use session::Session;
pub use system::{Lookahead, System};
pub use traffic::{Overload, Traffic};
pub use workload::{Next, Replayed, Workload};
