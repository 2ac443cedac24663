//! Scenarios: every parameter of everything, defined once.

mod error;
mod quantity;
mod spec;

pub use error::{did_you_mean, ScenarioError};
pub use spec::{DeviceSpec, DriveSpec, RunSpec, Scenario, SystemSpec, TraceSpec, WorkloadSpec};
