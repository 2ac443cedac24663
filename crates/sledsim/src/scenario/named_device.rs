//! What a document gives by name alone: devices of the catalogue or of a file, schedulers, policies.

use std::path::Path;

use serde_json::{Map, Value};

use super::catalog::{is_file, Catalog};
use super::document::overlay;
use super::resolve::anchored;
use crate::fault::{self, Fault, Kind};

/// A device that comes from a device file.
pub(super) struct Filed {
    /// Where the scenario has it.
    place: fault::Path,
    /// The file.
    path: String,
    /// The keys that the scenario itself gives.
    own: Vec<String>,
}

impl Filed {
    /// Names the device file in a fault of what the file gives or should give.
    pub(super) fn locate(&self, fault: &mut Fault) {
        let Some(below) = fault.path.below(&self.place) else { return };
        if below.first().is_none_or(|key| !self.own.contains(key)) {
            fault.used_by = fault.file.replace(self.path.clone());
        }
    }
}

/// What a device's entry of the catalogue gave.
#[derive(Default)]
pub(super) struct Filled {
    /// Its file, where it is a device file.
    pub filed: Option<Filed>,
    /// Works that it cites.
    pub citations: Vec<String>,
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
pub(super) fn check_timeout(drive: &Map<String, Value>, path: &fault::Path) -> Result<(), Fault> {
    if drive.get("spin_down").is_some_and(|spin_down| *spin_down == serde_json::json!({ "name": "timeout" })) {
        return Err(Fault::missing(path.step("spin_down").step("after_ms")).says(
            ": the idle time after which the device stops; write spin_down = { name = \"timeout\", after_ms = 5.0 }",
        ));
    }
    Ok(())
}

/// Completes the device of the drive at `path` from its catalogue entry; says what that gave.
pub(super) fn fill_device(
    drive: &mut Map<String, Value>,
    path: &fault::Path,
    catalog: &Catalog,
    base: &Path,
    schema: &Value,
) -> Result<Filled, Fault> {
    name_alone(Some(&mut *drive), "device");
    let Some(device) = drive.get_mut("device").and_then(Value::as_object_mut) else { return Ok(Filled::default()) };
    let place = path.step("device");
    let name = match device.get("name") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => return Err(Fault::wrong_type(place.step("name"), other.clone(), "a string")),
        None => {
            let says = ": a device of the catalogue, or the path of a device file";
            return Err(Fault::missing(place.step("name")).says(says));
        }
    };
    let entry = match catalog.device(&name, base) {
        Ok(entry) => entry,
        // A device that says everything itself needs no entry; its name is only a name then.
        Err(fault) => match missing(device, schema).filter(|_| !is_file(&name)) {
            Some(keys) if keys.is_empty() => return Ok(Filled::default()),
            Some(keys) => {
                let says = format!("; or give the device whole, which lacks {}", keys.join(", "));
                return Err(fault.within(&place).says(says));
            }
            None => return Err(of_entry(fault, &place)),
        },
    };
    for (key, unit) in &entry.units {
        let own = unit_of_device_key(schema, &entry.mechanism, key);
        if own.is_some_and(|own| own != unit) {
            let own = own.unwrap_or_default();
            return Err(wrong_unit(&name, key, unit, own));
        }
    }
    let own = device.keys().cloned().collect();
    for (key, value) in entry.values {
        let value = match device.remove(&key) {
            Some(given) => overlay(given, value),
            None => value,
        };
        device.insert(key, value);
    }
    device.entry("mechanism").or_insert(Value::String(entry.mechanism));
    let filed = is_file(&name).then(|| {
        let path = anchored(&name, base);
        device.insert("name".into(), Value::String(path.clone()));
        Filed { place, path, own }
    });
    Ok(Filled { filed, citations: entry.citations })
}

/// What is wrong with an entry of the catalogue: its own faults stay those of its file, others are of the table at `place`
/// that names it.
pub(super) fn of_entry(fault: Fault, place: &fault::Path) -> Fault {
    if fault.file.is_some() {
        fault
    } else {
        fault.within(place)
    }
}

/// An entry of the catalogue that gives a value in another unit than its key's.
pub(super) fn wrong_unit(name: &str, key: &str, unit: &str, own: &str) -> Fault {
    let path = fault::Path::from("values").step(key).step("unit");
    Fault::of(Kind::UnknownName, path, unit).one_of(unit, [own]).in_file(name)
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
