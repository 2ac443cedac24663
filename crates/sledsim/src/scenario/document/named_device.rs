//! What a document gives by name alone: devices of the catalogue or of a file, schedulers, policies.

use std::path::Path;

use serde_json::{Map, Value};

use super::catalog::{is_file, Catalog};
use super::draft::overlay;
use super::entry::{Entry, Subject};
use super::resolve::anchored;
use crate::fault::{self, Fault, Faults};
use crate::plugin::{self, no_drawings, DERIVED_KEYS, LOCATION_KEYS};

/// The key of a device that is made from a drawing.
pub(in crate::scenario) const DRAWING: &str = "drawing";

/// What comes from an entry of the catalogue, or from a file.
pub(in crate::scenario) struct Filed {
    /// Where the scenario has it.
    place: fault::Path,
    /// The file, or the name of the entry.
    entry: Entry,
    /// The keys that the scenario itself gives.
    own: Vec<String>,
}

impl Filed {
    /// What `entry` gave to `table` at `place`, as it is before.
    pub(in crate::scenario) fn new(place: fault::Path, entry: &Entry, table: &Map<String, Value>) -> Self {
        Self { place, entry: entry.clone(), own: table.keys().cloned().collect() }
    }

    /// Puts a fault of what the file gives or should give into the file.
    pub(in crate::scenario) fn locate(&self, fault: &mut Fault) {
        let Some(below) = fault.path.below(&self.place).map(<[String]>::to_vec) else { return };
        if fault.file.is_none() && below.first().is_none_or(|key| !self.own.contains(key)) {
            self.entry.locate(fault, &below);
        }
    }
}

/// What a device's entry of the catalogue gave.
#[derive(Default)]
pub(in crate::scenario) struct Filled {
    /// The entry, where it is a device file.
    pub filed: Option<Filed>,
    /// Works that it cites.
    pub citations: Vec<String>,
}

/// Makes a table of a thing given by its name alone.
pub(in crate::scenario) fn name_alone(parent: Option<&mut Map<String, Value>>, key: &str) {
    let Some(parent) = parent else { return };
    if let Some(Value::String(name)) = parent.get(key) {
        let table = serde_json::json!({ "name": name });
        parent.insert(key.into(), table);
    }
}

/// Removes the keys of a device that say which device it is, if `key` is about to set another name, drawing or location of a custom
/// mechanism.
pub(in crate::scenario) fn make_room(device: &mut Map<String, Value>, key: &str) {
    if key != "name" && key != DRAWING && !LOCATION_KEYS.contains(&key) {
        return;
    }
    let is_custom = LOCATION_KEYS.iter().any(|location| *location == key || device.contains_key(*location));
    let of_custom = DERIVED_KEYS.iter().chain(&LOCATION_KEYS).chain(&["mechanism"]).filter(|_| is_custom);
    let others = ["name", DRAWING].iter().chain(of_custom).filter(|other| **other != key);
    others.for_each(|other| drop(device.shift_remove(*other)));
}

/// Shows how to give the one policy that its name alone does not complete.
pub(in crate::scenario) fn check_timeout(drive: &Map<String, Value>, path: &fault::Path) -> Result<(), Fault> {
    if drive.get("spin_down").is_some_and(|spin_down| *spin_down == serde_json::json!({ "name": "timeout" })) {
        return Err(Fault::missing(path.step("spin_down").step("after_ms")).says(
            ": the idle time after which the device stops; write spin_down = { name = \"timeout\", after_ms = 5.0 }",
        ));
    }
    Ok(())
}

/// Completes the device of the drive at `path` from its catalogue entry; says what that gave.
pub(in crate::scenario) fn fill_device(
    drive: &mut Map<String, Value>,
    path: &fault::Path,
    catalog: &Catalog,
    base: &Path,
    schema: &Value,
) -> Result<Filled, Vec<Fault>> {
    name_alone(Some(&mut *drive), "device");
    let Some(device) = drive.get_mut("device").and_then(Value::as_object_mut) else { return Ok(Filled::default()) };
    let place = path.step("device");
    if plugin::document::expand_device(device, catalog.loader()) {
        return Ok(Filled::default());
    }
    draw(device, &place, catalog, base)?;
    let name = match device.get("name") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => return Err(vec![Fault::wrong_type(place.step("name"), other.clone(), "a string")]),
        None => {
            let says = ": a device of the catalogue, or the path of a device file; or else give the device's drawing";
            return Err(vec![Fault::missing(place.step("name")).says(says)]);
        }
    };
    let entry = match catalog.entry(Subject::Device, &name, base) {
        Ok(entry) => entry,
        // A device that says everything itself needs no entry; its name is only a name then.
        Err(faults) => match missing(device, schema).filter(|_| !is_file(&name)) {
            Some(keys) if keys.is_empty() => return Ok(Filled::default()),
            Some(keys) => {
                let says = format!("; or give the device whole, which lacks {}", keys.join(", "));
                return Err(faults.into_iter().map(|fault| of_entry(fault.says(says.as_str()), &place)).collect());
            }
            None => return Err(faults.into_iter().map(|fault| of_entry(fault, &place)).collect()),
        },
    };
    entry.check_units(Subject::Device, |key| unit_of_device_key(schema, &entry.mechanism, key))?;
    let filed = is_file(&name).then(|| Filed::new(place, &entry, device));
    for (key, value) in entry.values {
        let value = match device.remove(&key) {
            Some(given) => overlay(given, value),
            None => value,
        };
        device.insert(key, value);
    }
    device.entry("mechanism").or_insert(Value::String(entry.mechanism));
    if filed.is_some() {
        device.insert("name".into(), anchored(&name, base).into());
    }
    Ok(Filled { filed, citations: entry.citations })
}

/// Puts the device that a drawing makes into the place of the drawing; what the scenario itself gives counts more.
fn draw(
    device: &mut Map<String, Value>,
    place: &fault::Path,
    catalog: &Catalog,
    base: &Path,
) -> Result<(), Vec<Fault>> {
    let Some(drawing) = device.get(DRAWING) else { return Ok(()) };
    let at = place.step(DRAWING);
    if let Some(name) = device.get("name") {
        let says = " and ";
        let fault = Fault::conflict(place.step("name"), name.clone()).says(says).key(&at);
        return Err(vec![fault.says(" both say which device it is: leave out one of them")]);
    }
    let made = catalog
        .loader()
        .map_or_else(|| Err(Faults::from(no_drawings())), |loader| loader.device_from_drawing(drawing, base));
    let of_drawing = |fault: Fault| if fault.file.is_some() { fault } else { fault.of_key(&at) };
    let made = made.map_err(|faults| faults.into_iter().map(of_drawing).collect::<Vec<_>>())?;
    device.shift_remove(DRAWING);
    for (key, value) in made {
        device.entry(key).or_insert(value);
    }
    Ok(())
}

/// What is wrong with an entry of the catalogue: its own faults stay those of its file, others are of the table at `place`
/// that names it.
pub(in crate::scenario) fn of_entry(fault: Fault, place: &fault::Path) -> Fault {
    if fault.file.is_some() {
        fault
    } else {
        fault.within(place)
    }
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
pub(in crate::scenario) fn unit_of_device_key<'a>(schema: &'a Value, mechanism: &str, key: &str) -> Option<&'a str> {
    let options = schema.pointer("/$defs/DeviceSpec/oneOf")?.as_array()?;
    let option = options.iter().find(|option| option["properties"]["mechanism"]["const"] == mechanism)?;
    let property = option["properties"].get(key)?;
    Some(property.get("x-unit").and_then(Value::as_str).unwrap_or_default())
}
