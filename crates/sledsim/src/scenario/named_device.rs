//! What a document gives by name alone: devices of the catalogue or of a file, schedulers, policies.

use std::path::Path;

use serde_json::{Map, Value};

use super::catalog::{is_file, Catalog};
use super::document::overlay;
use super::resolve::anchored;

/// A device that comes from a device file.
#[derive(Default)]
pub(super) struct Filed {
    /// Where the scenario has it.
    place: String,
    /// The file; empty where the device comes from none.
    path: String,
    /// The keys that the scenario itself gives.
    own: Vec<String>,
}

impl Filed {
    /// `message` with the device file, where it tells of what the file gives or should give.
    pub(super) fn located(&self, message: String) -> String {
        let Some((_, place)) = message.split_once(&self.place).filter(|_| !self.path.is_empty()) else {
            return message;
        };
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let key = place.strip_prefix('.').map(|key| key.split(|c| !is_key(c)).next().unwrap_or_default());
        if key.is_some_and(|key| self.own.iter().any(|own| own == key)) {
            return message;
        }
        format!("{message} (in device file {})", self.path)
    }
}

/// Makes a table of a thing given by its name alone.
pub(super) fn name_alone(parent: Option<&mut Map<String, Value>>, key: &str) {
    let Some(parent) = parent else { return };
    if let Some(Value::String(name)) = parent.get(key) {
        let table = serde_json::json!({ "name": name });
        parent.insert(key.into(), table);
    }
}

/// Shows how to give the one policy that its name alone does not complete.
pub(super) fn check_timeout(drive: &Map<String, Value>, path: &str) -> Result<(), String> {
    if drive.get("spin_down").is_some_and(|spin_down| *spin_down == serde_json::json!({ "name": "timeout" })) {
        return Err(format!(
            "{path}.spin_down.after_ms is missing: the idle time after which the device stops; write \
             spin_down = {{ name = \"timeout\", after_ms = 5.0 }}"
        ));
    }
    Ok(())
}

/// Completes the device of the drive at `path` from its catalogue entry; says what a device file gave.
pub(super) fn fill_device(
    drive: &mut Map<String, Value>,
    path: &str,
    catalog: &Catalog,
    base: &Path,
    schema: &Value,
) -> Result<Filed, String> {
    name_alone(Some(&mut *drive), "device");
    let Some(device) = drive.get_mut("device").and_then(Value::as_object_mut) else { return Ok(Filed::default()) };
    let name = match device.get("name") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => return Err(format!("{path}.device.name = {other} is of the wrong type: expected a string")),
        None => {
            return Err(format!(
                "{path}.device.name is missing: a device of the catalogue, or the path of a device file"
            ))
        }
    };
    let entry = match catalog.device(&name, base) {
        Ok(entry) => entry,
        // A device that says everything itself needs no entry; its name is only a name then.
        Err(error) => match missing(device, schema).filter(|_| !is_file(&name)) {
            Some(keys) if keys.is_empty() => return Ok(Filed::default()),
            Some(keys) => {
                let keys = keys.join(", ");
                return Err(format!("{path}.device.name: {error}; or give the device whole, which lacks {keys}"));
            }
            None => return Err(format!("{path}.device.name: {error}")),
        },
    };
    for (key, unit) in &entry.units {
        let own = unit_of_device_key(schema, &entry.mechanism, key);
        if own.is_some_and(|own| own != unit) {
            let own = own.unwrap_or_default();
            return Err(format!("{path}.device.name: device {name:?}: values.{key}.unit = {unit:?}: expected {own:?}"));
        }
    }
    let own = device.keys().cloned().collect();
    let mut filed = Filed { place: format!("{path}.device"), path: String::new(), own };
    for (key, value) in entry.values {
        let value = match device.remove(&key) {
            Some(given) => overlay(given, value),
            None => value,
        };
        device.insert(key, value);
    }
    device.entry("mechanism").or_insert(Value::String(entry.mechanism));
    if is_file(&name) {
        filed.path = anchored(&name, base);
        device.insert("name".into(), Value::String(filed.path.clone()));
    }
    Ok(filed)
}

/// Keys that a device lacks to be one without an entry, so that its name need not be in the catalogue; `None` where it says
/// of no known kind that it is of it.
fn missing<'a>(device: &Map<String, Value>, schema: &'a Value) -> Option<Vec<&'a str>> {
    let options = schema.pointer("/$defs/DeviceSpec/oneOf")?.as_array()?;
    let kind = device.get("mechanism")?;
    let option = options.iter().find(|option| *kind == option["properties"]["mechanism"]["const"])?;
    let required = option["required"].as_array()?.iter().filter_map(Value::as_str);
    Some(required.filter(|key| !device.contains_key(*key)).collect())
}

/// The unit that a key of a kind of device is defined in; empty where it has none, `None` where there is no such key.
pub(super) fn unit_of_device_key<'a>(schema: &'a Value, mechanism: &str, key: &str) -> Option<&'a str> {
    let options = schema.pointer("/$defs/DeviceSpec/oneOf")?.as_array()?;
    let option = options.iter().find(|option| option["properties"]["mechanism"]["const"] == mechanism)?;
    let property = option["properties"].get(key)?;
    Some(property.get("x-unit").and_then(Value::as_str).unwrap_or_default())
}
