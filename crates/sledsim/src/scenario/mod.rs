//! Scenarios: every parameter of everything, defined once; from a document to a run and its report.

mod assemble;
mod catalog;
mod check;
pub mod disksim;
mod document;
mod energy_report;
mod error;
mod idle_modes;
mod quantity;
mod replacement;
mod report;
mod resolve;
mod run;
mod spec;
mod strict;

pub use assemble::{device, device_with, trace_options};
pub use catalog::{Catalog, Entry};
pub use document::Notation;
pub use energy_report::{Energy, StateEnergy, StateTime};
pub use error::{did_you_mean, ScenarioError};
pub use idle_modes::BreakEvenReport;
pub use replacement::{replacement, replacement_schema};
pub use report::{report_schema, Report};
pub use resolve::{document_schema, resolve, schema, user_schema};
pub use run::{run, run_keeping, Keep, RunError, RunOutput};
pub use spec::{DeviceSpec, DriveSpec, RunSpec, Scenario, SystemSpec, TraceSpec, WorkloadSpec};
