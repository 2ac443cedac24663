//! Plugins in Rust: each is one file of a crate and one line of its list, like a built-in policy.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Factory, Loaded, PluginLoader, PluginSpec, Role, DERIVED_KEYS, KEYS};
use crate::fault::{Fault, Faults, Kind};
use crate::scenario::{check, schema};

/// The declaration of a plugin.
#[derive(Clone, Copy, Debug)]
pub struct RustPlugin {
    /// The decision that it makes.
    pub role: Role,
    /// Name in scenarios.
    pub name: &'static str,
    /// Name in the literature.
    pub title: &'static str,
    /// Its rule, in a sentence.
    pub description: &'static str,
    /// Publications that define it.
    pub source: &'static str,
    /// The text of its file, `include_str!("NAME.rs")`; results contain its hash.
    pub text: &'static str,
    /// Its parameters.
    pub parameters: Parameters,
}

/// Parameters including defaults, and the factory made with them.
type Made = Result<(Value, Arc<dyn Factory>), serde_json::Error>;

/// The parameters of a plugin: a type whose fields declare units, ranges and defaults, and which is the plugin's factory.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    schema: fn() -> Value,
    open: fn(Value) -> Made,
}

impl Parameters {
    /// Returns the parameters that a type declares.
    #[must_use]
    pub const fn of<S: Factory + Serialize + DeserializeOwned + JsonSchema + 'static>() -> Self {
        Self {
            schema: || schemars::schema_for!(S).to_value(),
            open: |given| {
                let spec: S = serde_json::from_value(given)?;
                Ok((serde_json::to_value(&spec)?, Arc::new(spec)))
            },
        }
    }

    /// Returns their JSON Schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        (self.schema)()
    }
}

/// The plugins of a crate, and their loader.
#[derive(Clone, Copy, Debug, Default)]
pub struct RustPlugins(pub &'static [RustPlugin]);

impl RustPlugins {
    /// Returns the plugin of a role with a name.
    #[must_use]
    pub fn find(&self, role: Role, name: &str) -> Option<&'static RustPlugin> {
        self.of(role).find(|plugin| plugin.name == name)
    }

    /// Returns the plugins of a role, in their order.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &'static RustPlugin> {
        self.0.iter().filter(move |plugin| plugin.role == role)
    }

    /// Checks that names are unique.
    ///
    /// # Errors
    /// Names of built-in policies, or of several plugins.
    pub fn check(&self) -> Result<(), Faults> {
        let mut taken: Vec<(Role, &str)> = Vec::new();
        let mut found = Vec::new();
        for plugin in self.0 {
            let named = (plugin.role, plugin.name);
            if taken.contains(&named) || built_in_names(plugin.role).contains(&plugin.name) {
                let says = format!(": there is another {} of this name", plugin.role.name());
                found.push(Fault::conflict("name", plugin.name).says(says));
            }
            taken.push(named);
        }
        Faults::none_of(found)
    }
}

/// Returns the names of the built-in policies of a role.
fn built_in_names(role: Role) -> Vec<&'static str> {
    let definition = match role {
        Role::Scheduler => "SchedulerSpec",
        Role::Replacement => "ReplacementSpec",
        Role::Mirror => "ReadChoice",
        Role::SpinDown => "SpinDownSpec",
        // The names of devices are those of the catalogue, which users extend.
        Role::Mechanism => return Vec::new(),
    };
    let options = schema().pointer(&format!("/$defs/{definition}/oneOf")).and_then(Value::as_array);
    let words = options.into_iter().flatten().flat_map(|option| {
        let one = option.pointer("/properties/name/const").or_else(|| option.get("const"));
        one.into_iter().chain(option.get("enum").and_then(Value::as_array).into_iter().flatten())
    });
    words.filter_map(Value::as_str).collect()
}

impl PluginLoader for RustPlugins {
    fn load(&self, role: Role, spec: &PluginSpec, _base: &Path) -> Result<Loaded, Faults> {
        let name = spec.rust.as_deref().unwrap_or_default();
        let Some(plugin) = self.find(role, name) else {
            let mut fault = Fault::unknown_name("rust", name, self.names(role));
            if self.0.is_empty() {
                fault = fault.says("; no crate with plugins is installed");
            }
            return Err(fault.into());
        };
        let given = serde_json::to_value(spec).unwrap_or_default();
        let foreign = |key: &&String| {
            KEYS.contains(&key.as_str()) && key.as_str() != "rust" && !DERIVED_KEYS.contains(&key.as_str())
        };
        if let Some(key) = given.as_object().into_iter().flat_map(Map::keys).find(foreign) {
            return Err(Fault::at(Kind::Conflict, key.as_str())
                .says(": not a key of a plugin in Rust: leave it out")
                .into());
        }
        let mut parameters = Value::Object(spec.parameters.clone());
        check(&mut parameters, &plugin.parameters.schema())?;
        let (parameters, factory) = (plugin.parameters.open)(parameters)?;
        let Value::Object(parameters) = parameters else {
            return Err(Fault::new(Kind::WrongType).says(format!("the parameters of {name} are not a table")).into());
        };
        Ok(Loaded { folder: None, source: None, parameters, factory })
    }

    fn names(&self, role: Role) -> Vec<&str> {
        self.of(role).map(|plugin| plugin.name).collect()
    }
}
