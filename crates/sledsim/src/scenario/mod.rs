//! Scenarios: definitions of all parameters, and the way from a document to a run and its report.

mod assemble;
mod document;
mod report;
mod resolved;
mod run;
mod session;
mod specs;
pub mod testing;

pub use assemble::{device, device_with};
pub use document::canonical::canonical;
pub(crate) use document::catalog::is_file;
pub use document::catalog::{BuiltIn, Catalog};
pub use document::check::check;
pub use document::commented::Commented;
pub use document::document::Document;
pub use document::draft::Draft;
pub use document::entry::{Entry, Subject};
pub use document::entry_cache::EntryCache;
pub(crate) use document::node::{Content, Node, Table};
pub use document::notation::Notation;
pub use document::quantity::{parse_with_unit, split as split_quantity};
pub use document::resolve::{resolve, schema};
pub use document::settings::Setting;
pub use document::text::text_of;
pub use document::written_schema::{document_schema, user_schema};
pub use report::components::{ComponentReport, CountReport, PathReport};
pub use report::energy::{Energy, StateEnergy, StateTime};
pub use report::explain::{explain, Explained};
pub use report::idle_modes::BreakEvenReport;
pub use report::summary::{report_schema, Report};
pub use resolved::Resolved;
pub use run::{run, run_keeping, Keep, RunError, RunOutput, Stopped};
pub use session::Session;
pub use specs::replacement::{replacement, replacement_schema};
pub use specs::scenario::{DeviceSpec, DriveSpec, PowerCutsSpec, RunSpec, Scenario};
pub use specs::system::{CompositeSpec, MemberSpec, SystemKind, SystemSpec};
