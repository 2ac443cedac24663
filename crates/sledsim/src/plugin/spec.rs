//! The keys of a custom policy or mechanism in a scenario.

use std::borrow::Cow;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::loader::{Factory, Loaded, PluginLoader, Role};
use crate::fault::{Fault, Faults, Kind};

/// The keys that locate a plugin; each plugin has one of them.
pub(crate) const LOCATION_KEYS: [&str; 4] = ["python", "library", "address", "rust"];

/// The keys of a plugin that are not its parameters.
pub(crate) const KEYS: [&str; 14] = [
    "name",
    "python",
    "library",
    "address",
    "rust",
    "symbol",
    "arrived",
    "completed",
    "positioning",
    "state_bytes",
    "slot_bytes",
    "folder",
    "source",
    "parameters",
];

/// The keys whose values follow from the plugin's location.
pub(crate) const DERIVED_KEYS: [&str; 4] = ["name", "folder", "source", "parameters"];

/// A custom policy: a Python class, a compiled function, or a plugin in Rust. Its parameters may be given beside the other keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct PluginSpec {
    /// Marks a custom policy.
    pub name: CustomName,
    /// The class and its module: `my_module:MyPolicy`. The module is searched for in the folder of the scenario, the working
    /// folder and Python's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// The path of a shared library, relative to the folder of the scenario or the working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The address of a compiled function in this process, from `sledsim.schedulers.compiled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The name of a plugin in Rust that an installed crate provides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rust: Option<String>,
    /// The function of the library that makes the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The function of the library that is called for arrivals; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<String>,
    /// The function of the library that is called for completions; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// True if a compiled function uses positioning times, which are expensive to compute; true when absent. A Python
    /// class declares this itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positioning: Option<bool>,
    /// Size of a compiled function's state for each queue, cache, mirror or device; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000))]
    pub state_bytes: Option<u32>,
    /// Size of a compiled replacement policy's additional state for each slot of its cache; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub slot_bytes: Option<u32>,
    /// The folder in which it was found; none if Python's path was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// SHA-256 of the file that it was loaded from. If given and different from the file's hash, the scenario is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its parameters, including defaults.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    #[serde(skip)]
    #[schemars(skip)]
    loaded: Option<Loaded>,
}

/// The value of `name` of a custom policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CustomName {
    /// A custom policy.
    #[default]
    Custom,
}

impl JsonSchema for CustomName {
    fn schema_name() -> Cow<'static, str> {
        "CustomName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "const": "custom" })
    }
}

impl PluginSpec {
    /// Returns its title for messages and reports.
    #[must_use]
    pub fn title(&self) -> &str {
        let named = [&self.python, &self.rust, &self.symbol, &self.library].into_iter().flatten().next();
        named.map_or("compiled", String::as_str)
    }

    /// Finds the plugin, and completes the derived keys and parameters.
    ///
    /// # Errors
    /// It is not found, a parameter is wrong, or there is no loader.
    pub fn load(&mut self, role: Role, loader: Option<&dyn PluginLoader>, base: &Path) -> Result<(), Faults> {
        let Some(loader) = loader else {
            let says = ": custom policies need the Python package, or a program that loads them";
            return Err(Fault::of(Kind::Unsupported, "name", self.title()).says(says).into());
        };
        let loaded = loader.load(role, self, base)?;
        let given = self.source.take().filter(|given| loaded.source.as_ref() != Some(given));
        if let Some(given) = given {
            let says = format!(
                " is not that of {}, which has changed since: leave it out to use the current file",
                self.title()
            );
            return Err(Fault::conflict("source", given).says(says).into());
        }
        (self.folder, self.source) = (loaded.folder.clone(), loaded.source.clone());
        self.parameters.clone_from(&loaded.parameters);
        self.loaded = Some(loaded);
        Ok(())
    }

    /// Returns the key that locates it; `python` if none does.
    #[must_use]
    pub fn location_key(&self) -> &'static str {
        match self {
            Self { rust: Some(_), .. } => "rust",
            Self { library: Some(_), .. } => "library",
            Self { address: Some(_), .. } => "address",
            _ => "python",
        }
    }

    /// Returns true if [`PluginSpec::load`] succeeded.
    #[must_use]
    pub const fn is_loaded(&self) -> bool {
        self.loaded.is_some()
    }

    /// Returns the factory of its instances.
    ///
    /// # Errors
    /// It has not been loaded.
    pub fn factory(&self) -> Result<&dyn Factory, Fault> {
        let factory = self.loaded.as_ref().map(|loaded| loaded.factory.as_ref());
        factory.ok_or_else(|| Fault::of(Kind::Unsupported, "name", self.title()).says(" has not been loaded"))
    }
}
