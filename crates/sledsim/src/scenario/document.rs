//! Scenario documents: TOML, YAML or JSON text, and single settings on top.

use serde_json::{Map, Value};

use super::error::{did_you_mean, ScenarioError};
use super::strict::Strict;

/// A notation for scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Notation {
    /// The notation called `name`.
    ///
    /// # Errors
    /// No such notation.
    pub fn named(name: &str) -> Result<Self, ScenarioError> {
        match name {
            "toml" => Ok(Self::Toml),
            "yaml" | "yml" => Ok(Self::Yaml),
            "json" => Ok(Self::Json),
            _ => Err(ScenarioError::new(name, "is no notation for scenarios: expected toml, yaml or json")),
        }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// Text that is not of this notation: says line and column.
    pub fn read(self, text: &str, source: &str) -> Result<Value, ScenarioError> {
        let document = match self {
            Self::Toml => toml::from_str(text).map_err(|error| error.to_string()),
            Self::Yaml => serde_yaml_ng::from_str(text).map_err(|error| error.to_string()),
            Self::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        };
        match document.map(|Strict(document)| document) {
            Ok(Value::Object(table)) => Ok(Value::Object(table)),
            Ok(Value::Null) => Ok(Value::Object(Map::new())),
            Ok(_) => Err(ScenarioError::new(source, "expected a table of settings at the top")),
            Err(error) => Err(ScenarioError::new(source, error.trim_end().to_owned())),
        }
    }
}

/// Applies a setting `path=value` to a document. The path is dotted; `system.` in front may be left out. The value is
/// read as TOML, and as plain text where it is not TOML.
///
/// # Errors
/// A setting without `=`, or a path through something that is not a table.
pub fn set(document: &mut Value, setting: &str, top: &[&str], below_system: &[&str]) -> Result<(), ScenarioError> {
    let error = |message: String| ScenarioError::new(format!("--set {setting}"), message);
    let Some((path, text)) = setting.split_once('=') else {
        return Err(error("expected path=value, for example device.settle_constants=0".into()));
    };
    let mut keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err(error(format!("{path:?} is no dotted path of keys")));
    }
    if !top.contains(&keys[0]) {
        if !below_system.contains(&keys[0]) {
            let known = top.iter().chain(below_system).copied();
            return Err(error(format!("unknown key {:?}: {}", keys[0], did_you_mean(keys[0], known))));
        }
        keys.insert(0, "system");
    }
    let mut place = document;
    for key in &keys {
        // A device or scheduler given by its name alone becomes a table when one of its keys is set.
        if let Value::String(name) = place {
            *place = serde_json::json!({ "name": name });
        }
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(table) = place else {
            return Err(error(format!("{key:?} can't be set inside {place}, which is not a table")));
        };
        place = table.entry((*key).to_owned()).or_insert(Value::Null);
    }
    *place = value_of(text.trim());
    Ok(())
}

fn value_of(text: &str) -> Value {
    let parsed = toml::from_str::<Map<String, Value>>(&format!("value = {text}"));
    parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOP: &[&str] = &["seed", "system"];
    const BELOW: &[&str] = &["device", "scheduler"];

    #[test]
    fn settings_go_where_their_path_says() {
        let mut document = json!({"system": {"device": "g2"}});
        for setting in ["seed=7", "device.bit_nm=50", "scheduler=sptf", "system.scheduler.weight = 0.5"] {
            set(&mut document, setting, TOP, BELOW).expect(setting);
        }
        let expected = json!({
            "system": {"device": {"name": "g2", "bit_nm": 50}, "scheduler": {"name": "sptf", "weight": 0.5}}, "seed": 7
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn settings_that_lead_nowhere_are_refused() {
        let mut document = json!({"seed": 1});
        assert!(set(&mut document, "sead=1", TOP, BELOW).unwrap_err().to_string().contains("did you mean \"seed\""));
        assert!(set(&mut document, "seed", TOP, BELOW).unwrap_err().to_string().contains("path=value"));
        assert!(set(&mut document, "seed.x=1", TOP, BELOW).unwrap_err().to_string().contains("not a table"));
    }

    #[test]
    fn every_notation_reads_the_same() {
        let toml = Notation::Toml.read("seed = 3\n[system]\ndevice = \"g2\"", "a").expect("valid");
        let yaml = Notation::Yaml.read("seed: 3\nsystem:\n  device: g2\n", "a").expect("valid");
        let json = Notation::Json.read(r#"{"seed": 3, "system": {"device": "g2"}}"#, "a").expect("valid");
        assert!(toml == yaml && yaml == json);
        assert!(Notation::Toml.read("seed = ", "a.toml").unwrap_err().to_string().starts_with("a.toml: "));
    }
}
