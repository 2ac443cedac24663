//! Event queue, components, random streams, run loop.

pub mod component;
mod context;
pub mod data;
pub mod details;
pub mod instant;
mod ledger;
pub mod oracle;
mod parts;
pub mod power_cuts;
pub mod queue;
pub mod random;
pub mod run;
pub mod session;
pub mod system;
mod testing;
mod work;
pub mod workload;

pub use component::{Completion, Component, ComponentId, InOrderService, Instrumentation, PowerLoss, Status, Stop};
pub use context::{Below, Context};
pub use data::{Memory, Payload};
pub use details::{Count, Details, Path};
pub use parts::Refusal;
pub(crate) use parts::DATA_BYTES;
pub use power_cuts::{losses, Cut, CutPlan, Losses};
pub use queue::EventQueue;
pub use run::{run, run_with_cuts, End, Limits, Observer, Outcome, Progress};
pub use session::Session;
pub use system::{InOrder, System};
pub use workload::{Next, Workload};
