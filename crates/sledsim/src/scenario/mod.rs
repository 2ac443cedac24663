//! Scenarios: every parameter of everything, defined once; from a document to a run and its report.

mod array_spec;
mod assemble;
mod catalog;
mod check;
mod component_report;
pub mod disksim;
mod document;
mod energy_report;
mod explain;
mod idle_modes;
mod named_device;
mod notes;
mod quantity;
mod replacement;
mod report;
mod report_numbers;
mod resolve;
mod run;
mod spec;
mod strict;
mod system_spec;
mod tree;

pub use array_spec::{ConcatSpec, MemberFaultSpec, MirrorSpec, ParitySpec, StripeSpec};
pub use assemble::{assemble, device, device_with, trace_options, Between};
pub use catalog::{Catalog, Entry};
pub use component_report::{ComponentReport, CountReport, PathReport};
pub use document::Notation;
pub use energy_report::{Energy, StateEnergy, StateTime};
pub use explain::{explain, Explained};
pub use idle_modes::BreakEvenReport;
pub use replacement::{replacement, replacement_schema};
pub use report::{report_schema, Report};
pub use resolve::{document_schema, resolve, schema, user_schema};
pub use run::{run, run_keeping, Keep, RunError, RunOutput};
pub use spec::{DeviceSpec, DriveSpec, RunSpec, Scenario, TraceSpec, WorkloadSpec};
pub use system_spec::{MemberSpec, Over, OverDisk, OverMembers, SystemSpec};
