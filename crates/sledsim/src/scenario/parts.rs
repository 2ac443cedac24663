//! What a crate in Rust adds to the lists of policies: one file and one line each, as for those built in.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};

use super::document::check::check;
use super::document::resolve::schema;
use crate::fault::{Fault, Faults, Kind};
use crate::own::{Door, Maker, Opened, OwnSpec, Role, FOLLOWING, KEYS};

/// A part as its file declares it.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What it is.
    pub role: Role,
    /// Name in scenarios.
    pub name: &'static str,
    /// Name in the literature.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub description: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// The text of its file, `include_str!("NAME.rs")`: results name its hash.
    pub text: &'static str,
    /// Its parameters.
    pub parameters: Parameters,
}

/// Parameters as they are with their defaults, and the part made with them.
type MadeWith = Result<(Value, Arc<dyn Maker>), serde_json::Error>;

/// The parameters of a part: a type with fields, their units, ranges and defaults declared as those of the simulator's own are,
/// which makes the part.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    schema: fn() -> Value,
    open: fn(Value) -> MadeWith,
}

impl Parameters {
    /// Those of a type.
    #[must_use]
    pub const fn of<S: Maker + Serialize + DeserializeOwned + JsonSchema + 'static>() -> Self {
        Self {
            schema: || schemars::schema_for!(S).to_value(),
            open: |given| {
                let spec: S = serde_json::from_value(given)?;
                Ok((serde_json::to_value(&spec)?, Arc::new(spec)))
            },
        }
    }

    /// Their JSON Schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        (self.schema)()
    }
}

/// The parts of a crate: the door through which scenarios find them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts(pub &'static [Part]);

impl Parts {
    /// The part of a role that has a name.
    #[must_use]
    pub fn find(&self, role: Role, name: &str) -> Option<&'static Part> {
        self.of(role).find(|part| part.name == name)
    }

    /// The parts of a role, in their order.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &'static Part> {
        self.0.iter().filter(move |part| part.role == role)
    }

    /// Whether each of their names means one thing.
    ///
    /// # Errors
    /// Names that are taken, by a policy of the simulator's or by another part.
    pub fn check(&self) -> Result<(), Faults> {
        let mut taken: Vec<(Role, &str)> = Vec::new();
        let mut found = Vec::new();
        for part in self.0 {
            let named = (part.role, part.name);
            if taken.contains(&named) || listed(part.role).contains(&part.name) {
                let says = format!(": there is another {} of this name", part.role.name());
                found.push(Fault::conflict("name", part.name).says(says));
            }
            taken.push(named);
        }
        Faults::none_of(found)
    }
}

/// What scenarios already call policies of a role.
fn listed(role: Role) -> Vec<&'static str> {
    let definition = match role {
        Role::Scheduler => "SchedulerSpec",
        Role::Replacement => "ReplacementSpec",
        Role::Mirror => "ReadChoice",
        Role::SpinDown => "SpinDownSpec",
        // Devices have the names of the catalogue, which is the user's own.
        Role::Device => return Vec::new(),
    };
    let options = schema().pointer(&format!("/$defs/{definition}/oneOf")).and_then(Value::as_array);
    let words = options.into_iter().flatten().flat_map(|option| {
        let one = option.pointer("/properties/name/const").or_else(|| option.get("const"));
        one.into_iter().chain(option.get("enum").and_then(Value::as_array).into_iter().flatten())
    });
    words.filter_map(Value::as_str).collect()
}

impl Door for Parts {
    fn open(&self, role: Role, wanted: &OwnSpec, _base: &Path) -> Result<Opened, Faults> {
        let name = wanted.rust.as_deref().unwrap_or_default();
        let Some(part) = self.find(role, name) else {
            let mut fault = Fault::unknown_name("rust", name, self.names(role));
            if self.0.is_empty() {
                fault = fault.says("; no crate in Rust brings parts in");
            }
            return Err(fault.into());
        };
        let given = serde_json::to_value(wanted).unwrap_or_default();
        let foreign = |key: &&String| {
            KEYS.contains(&key.as_str()) && key.as_str() != "rust" && !FOLLOWING.contains(&key.as_str())
        };
        if let Some(key) = given.as_object().into_iter().flat_map(Map::keys).find(foreign) {
            return Err(Fault::at(Kind::Conflict, key.as_str())
                .says(": no key of a part in Rust: leave it out")
                .into());
        }
        let mut parameters = Value::Object(wanted.parameters.clone());
        check(&mut parameters, &part.parameters.schema())?;
        let (parameters, maker) = (part.parameters.open)(parameters)?;
        let Value::Object(parameters) = parameters else {
            return Err(Fault::new(Kind::WrongType).says(format!("the parameters of {name} are no table")).into());
        };
        Ok(Opened { folder: None, source: None, parameters, maker })
    }

    fn names(&self, role: Role) -> Vec<&str> {
        self.of(role).map(|part| part.name).collect()
    }
}
