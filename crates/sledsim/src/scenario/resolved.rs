//! A scenario with every key, and its system.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::assemble::Assembly;
use super::run::{self, Keep, RunError, RunOutput};
use super::session::Session;
use super::specs::scenario::Scenario;
use crate::engine::Progress;
use crate::fault::Faults;
use crate::plugin::PluginLoader;
use crate::traces::Table;
use crate::workloads::WorkloadSpec;

/// A scenario with every key, the sources of its values, and its system. The first run or session takes the system;
/// further ones build it again.
pub struct Resolved {
    scenario: Scenario,
    citations: Vec<String>,
    assembly: Mutex<Option<Assembly>>,
}

impl Resolved {
    /// A scenario whose system has not been built.
    #[must_use]
    pub fn new(scenario: Scenario, citations: Vec<String>) -> Self {
        Self { scenario, citations, assembly: Mutex::new(None) }
    }

    /// A scenario with its system.
    pub(super) fn built(scenario: Scenario, assembly: Assembly) -> Self {
        Self { scenario, citations: Vec::new(), assembly: Mutex::new(Some(assembly)) }
    }

    /// Returns the scenario with the citation keys of its values.
    pub(super) fn citing(self, citations: Vec<String>) -> Self {
        Self { citations, ..self }
    }

    /// Reads the text of a resolved scenario and reloads its plugins.
    ///
    /// # Errors
    /// The text is not a scenario, or a plugin is not found or has changed.
    pub fn reread(text: &str, citations: Vec<String>, loader: Option<&dyn PluginLoader>) -> Result<Self, Faults> {
        let mut scenario: Scenario = serde_json::from_str(text)?;
        Faults::none_of(scenario.system.load_plugins(loader, Path::new("")))?;
        Ok(Self::new(scenario, citations))
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Sets the trace in memory that it replays. Other workloads are unchanged.
    pub fn set_table(&mut self, table: Option<Arc<Table>>) {
        if let WorkloadSpec::Trace(trace) = &mut self.scenario.workload {
            trace.table = table;
        }
    }

    /// Returns the scenario without its system.
    #[must_use]
    pub fn into_scenario(self) -> Scenario {
        self.scenario
    }

    /// Returns the citation keys of the catalogue entries of its devices and workload, without duplicates.
    #[must_use]
    pub fn citations(&self) -> &[String] {
        &self.citations
    }

    /// Returns true if it has plugins.
    #[must_use]
    pub fn has_plugins(&self) -> bool {
        self.scenario.system.has_plugins()
    }

    /// Runs the scenario. `keep_going` is called every few thousand events.
    ///
    /// # Errors
    /// As for [`run`](super::run()).
    pub fn run(&self, keep: &Keep, keep_going: &mut dyn FnMut(Progress) -> bool) -> Result<RunOutput, RunError> {
        let assembly = self.assembly(keep.check)?;
        run::run_on(assembly, &self.scenario, self.citations.clone(), keep, keep_going)
    }

    /// Opens a session with its system.
    ///
    /// # Errors
    /// As for [`Session::new`].
    pub fn session(&self, keep: &Keep) -> Result<Session, RunError> {
        Session::require_plain(&self.scenario)?;
        Ok(Session::on(self.assembly(keep.check)?, &self.scenario, keep))
    }

    /// Returns the system in its initial state.
    fn assembly(&self, checks_rules: bool) -> Result<Assembly, RunError> {
        let built = self.assembly.lock().ok().filter(|_| !checks_rules).and_then(|mut built| built.take());
        built.map_or_else(|| run::system(&self.scenario, checks_rules), Ok)
    }
}

impl Clone for Resolved {
    /// Returns the same scenario; its system is built again.
    fn clone(&self) -> Self {
        Self::new(self.scenario.clone(), self.citations.clone())
    }
}

impl PartialEq for Resolved {
    fn eq(&self, other: &Self) -> bool {
        self.scenario == other.scenario && self.citations == other.citations
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolved").field("scenario", &self.scenario).field("citations", &self.citations).finish()
    }
}
