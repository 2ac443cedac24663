//! From what a user wrote to a complete scenario: settings applied, names looked up, everything checked.

use std::path::Path;

use serde_json::{Map, Value};

use super::assemble::{check_delay, check_policy, device, set_access, trace_options};
use super::catalog::{is_file, Catalog};
use super::check::{check, unit_of};
use super::document::{overlay, set, Notation};
use super::error::ScenarioError;
use super::spec::{DeviceSpec, Scenario, SystemSpec, WorkloadSpec};
use crate::devices::mems::SledLayout;

/// Requests of a generator when the run names no limit.
const DEFAULT_REQUESTS: u64 = 100_000;

/// The schema of a resolved scenario: every key a document may have, with type, range, default and unit.
#[must_use]
pub fn schema() -> Value {
    serde_json::to_value(schemars::schema_for!(Scenario)).unwrap_or_default()
}

/// The schema of a scenario as a user writes it: devices and schedulers may be given by name, a device's values come
/// from the catalogue unless given, and kinds have defaults.
#[must_use]
pub fn user_schema() -> Value {
    let mut schema = schema();
    let mut relax = |definition: &str, keep: &[&str], or_name: bool| {
        let Some(options) = schema.pointer_mut(&format!("/$defs/{definition}/oneOf")).and_then(Value::as_array_mut)
        else {
            return;
        };
        for option in options.iter_mut() {
            option["required"] = Value::from(keep.to_vec());
        }
        if or_name {
            options.push(
                serde_json::json!({"type": "string", "description": "The name alone, everything else by default."}),
            );
        }
    };
    relax("DeviceSpec", &["name"], true);
    relax("SchedulerSpec", &["name"], true);
    relax("SpinDownSpec", &["name"], true);
    relax("SystemSpec", &["device"], false);
    relax_workload(&mut schema);
    if let Some(device) = schema.pointer_mut("/$defs/DeviceSpec").and_then(Value::as_object_mut) {
        // What a name alone leaves open fits every mechanism.
        if let Some(options) = device.remove("oneOf") {
            device.insert("anyOf".into(), options);
        }
    }
    schema
}

/// Lets a workload be a stand-in of the catalogue by its name alone, and a synthetic one with a name leave out the rest.
fn relax_workload(schema: &mut Value) {
    let Some(options) = schema.pointer_mut("/$defs/WorkloadSpec/oneOf").and_then(Value::as_array_mut) else { return };
    for required in options.iter_mut().filter_map(|option| option.get_mut("required")?.as_array_mut()) {
        required.retain(|key| key != "arrival" && key != "streams");
    }
    options
        .push(serde_json::json!({"type": "string", "description": "A stand-in of the catalogue by its name alone."}));
}

/// Reads, completes and checks a scenario.
///
/// `settings` (`path=value`) override the text; names of devices are looked up in `catalog`, and files relative to
/// `base`.
///
/// # Errors
/// The first thing wrong, with its place, value and what is allowed.
pub fn resolve(
    text: &str,
    notation: Notation,
    source: &str,
    settings: &[String],
    catalog: &Catalog,
    base: &Path,
) -> Result<Scenario, ScenarioError> {
    let error = |message: String| ScenarioError::new(source, message);
    let mut document = notation.read(text, source)?;
    let schema = schema();
    let top: Vec<&str> = keys_of(&schema);
    let below_system: Vec<&str> = schema.pointer("/$defs/SystemSpec/oneOf/0").map(keys_of).unwrap_or_default();
    for setting in settings {
        set(&mut document, setting, &top, &below_system)?;
    }
    name_alone(document.as_object_mut(), "workload");
    fill_kinds(&mut document);
    fill_workload(&mut document, catalog, base, &schema).map_err(error)?;
    let mut filed = Filed::default();
    if let Some(system) = document.get_mut("system").and_then(Value::as_object_mut) {
        filed = fill_device(system, catalog, base, &schema).map_err(error)?;
        name_alone(Some(&mut *system), "scheduler");
        name_alone(Some(&mut *system), "spin_down");
        check_timeout(system).map_err(error)?;
    }
    let error = |message: String| error(filed.located(message));
    check(&mut document, &schema).map_err(error)?;
    let mut scenario: Scenario = serde_json::from_value(document).map_err(|e| error(e.to_string()))?;
    complete(&mut scenario, base).map_err(error)?;
    Ok(scenario)
}

/// A device that comes from a device file.
#[derive(Default)]
struct Filed {
    /// The file; empty where the device comes from none.
    path: String,
    /// The keys that the scenario itself gives.
    own: Vec<String>,
}

impl Filed {
    /// `message` with the device file, where it tells of what the file gives or should give.
    fn located(&self, message: String) -> String {
        let Some((_, place)) = message.split_once("system.device").filter(|_| !self.path.is_empty()) else {
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

/// The schema of a scenario as a file may hold it: quantities may be texts with a unit, and a workload's kind goes without
/// saying.
#[must_use]
pub fn document_schema() -> Value {
    let mut schema = user_schema();
    if let Some(options) = schema.pointer_mut("/$defs/WorkloadSpec/oneOf").and_then(Value::as_array_mut) {
        // Without the kind, more than one option may fit what little is there.
        for option in options {
            if let Some(required) = option.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|key| key != "kind");
            }
        }
    }
    allow_texts(&mut schema);
    schema
}

/// Lets every number also be a text, which the reader takes if it is a quantity.
fn allow_texts(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(types) = keys.get_mut("type") {
                let names: Vec<Value> = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
                if names.iter().any(|name| name == "number" || name == "integer") {
                    *types = names.into_iter().chain([Value::from("string")]).collect();
                }
            }
            keys.values_mut().for_each(allow_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(allow_texts),
        _ => {}
    }
}

fn keys_of(schema: &Value) -> Vec<&str> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|keys| keys.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// Puts in the kinds that go without saying.
fn fill_kinds(document: &mut Value) {
    if let Some(workload) = document.get_mut("workload").and_then(Value::as_object_mut) {
        if !workload.contains_key("kind") {
            let telling =
                [("path", "trace"), ("streams", "mix")].into_iter().find(|(key, _)| workload.contains_key(*key));
            workload.insert("kind".into(), telling.map_or("synthetic", |(_, kind)| kind).into());
        }
    }
    if let Some(system) = document.get_mut("system").and_then(Value::as_object_mut) {
        system.entry("kind").or_insert_with(|| "drive".into());
    }
}

/// Makes a table of a thing given by its name alone.
fn name_alone(parent: Option<&mut Map<String, Value>>, key: &str) {
    let Some(parent) = parent else { return };
    if let Some(Value::String(name)) = parent.get(key) {
        let table = serde_json::json!({ "name": name });
        parent.insert(key.into(), table);
    }
}

/// Shows how to give the one policy that its name alone does not complete.
fn check_timeout(system: &Map<String, Value>) -> Result<(), String> {
    if system.get("spin_down").is_some_and(|spin_down| *spin_down == serde_json::json!({ "name": "timeout" })) {
        return Err("system.spin_down.after_ms is missing: the idle time after which the device stops; write \
                    spin_down = { name = \"timeout\", after_ms = 5.0 }"
            .into());
    }
    Ok(())
}

/// Completes a workload that has a name from its catalogue entry, and the run with the requests that it stands for.
fn fill_workload(document: &mut Value, catalog: &Catalog, base: &Path, schema: &Value) -> Result<(), String> {
    let Some(workload) = document.get_mut("workload").and_then(Value::as_object_mut) else { return Ok(()) };
    let name = match workload.get("name") {
        Some(Value::String(name)) if workload.get("kind").is_some_and(|kind| kind == "synthetic" || kind == "mix") => {
            name.clone()
        }
        _ => return Ok(()),
    };
    let entry = catalog.workload(&name, base).map_err(|error| format!("workload.name: {error}"))?;
    // What is in the entry says of which kind it is.
    let telling = if entry.values.contains_key("streams") { "streams" } else { "arrival" };
    workload.insert("kind".into(), if telling == "streams" { "mix" } else { "synthetic" }.into());
    let known = schema.pointer("/$defs/WorkloadSpec/oneOf").and_then(Value::as_array).into_iter().flatten();
    let known = known.filter_map(|option| option.get("properties")).find(|keys| keys.get(telling).is_some());
    for (key, unit) in &entry.units {
        let own = unit_of(key).unwrap_or_default();
        if own != unit && known.is_some_and(|keys| keys.get(key).is_some()) {
            return Err(format!("workload.name: workload {name:?}: values.{key}.unit = {unit:?}: expected {own:?}"));
        }
    }
    for (key, value) in entry.values {
        let value = match workload.remove(&key) {
            Some(given) => overlay(given, value),
            None => value,
        };
        workload.insert(key, value);
    }
    if is_file(&name) {
        workload.insert("name".into(), anchored(&name, base).into());
    }
    let run = document.as_object_mut().map(|top| top.entry("run").or_insert_with(|| Map::new().into()));
    if let (Some(Value::Object(run)), Some(requests)) = (run, entry.requests) {
        if ["requests", "time_s"].iter().all(|end| run.get(*end).is_none_or(Value::is_null)) {
            run.insert("requests".into(), requests.into());
        }
    }
    Ok(())
}

/// Completes a device from its catalogue entry; says what a device file gave.
fn fill_device(
    system: &mut Map<String, Value>,
    catalog: &Catalog,
    base: &Path,
    schema: &Value,
) -> Result<Filed, String> {
    name_alone(Some(&mut *system), "device");
    let Some(device) = system.get_mut("device").and_then(Value::as_object_mut) else { return Ok(Filed::default()) };
    let name = match device.get("name") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => return Err(format!("system.device.name = {other} is of the wrong type: expected a string")),
        None => {
            return Err("system.device.name is missing: a device of the catalogue, or the path of a device file".into())
        }
    };
    let entry = match catalog.device(&name, base) {
        Ok(entry) => entry,
        // A device that says everything itself needs no entry; its name is only a name then.
        Err(error) => match missing(device, schema).filter(|_| !is_file(&name)) {
            Some(keys) if keys.is_empty() => return Ok(Filed::default()),
            Some(keys) => {
                let keys = keys.join(", ");
                return Err(format!("system.device.name: {error}; or give the device whole, which lacks {keys}"));
            }
            None => return Err(format!("system.device.name: {error}")),
        },
    };
    for (key, unit) in &entry.units {
        let own = unit_of_device_key(schema, &entry.mechanism, key);
        if own.is_some_and(|own| own != unit) {
            let own = own.unwrap_or_default();
            return Err(format!("system.device.name: device {name:?}: values.{key}.unit = {unit:?}: expected {own:?}"));
        }
    }
    let mut filed = Filed { path: String::new(), own: device.keys().cloned().collect() };
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

/// The path of a file named relative to `base`, which leads there from anywhere: a resolved scenario can be run again
/// in another place.
fn anchored(path: &str, base: &Path) -> String {
    let joined = base.join(path);
    std::path::absolute(&joined).unwrap_or(joined).to_string_lossy().into_owned()
}

/// Makes explicit what depends on other keys, and checks what takes more than one key to see.
fn complete(scenario: &mut Scenario, base: &Path) -> Result<(), String> {
    let SystemSpec::Drive(drive) = &scenario.system;
    let mut device = device(&drive.device).map_err(|error| format!("system.device: {error}"))?;
    set_access(drive, device.as_mut())?;
    if let DeviceSpec::Mems(parameters) = &drive.device {
        let (unit, sled) = (parameters.stripe_blocks, device.capacity_blocks());
        if parameters.sleds > 1 && parameters.sled_layout == SledLayout::Striped && u64::from(unit) > sled {
            return Err(format!("system.device: stripe_blocks = {unit} exceeds the {sled} blocks of a sled"));
        }
    }
    check_policy(&drive.device, drive.spin_down.as_ref())?;
    check_delay(drive)?;
    if drive.merge.is_some() && drive.batch_max > 1 {
        return Err(format!(
            "system.batch_max = {} and system.merge exclude each other: leave one out; merge with rows = true, anywhere = true \
             and requests = {0} lets the same requests join",
            drive.batch_max
        ));
    }
    drive.scheduler.validate().map_err(|error| format!("system.scheduler: {error}"))?;
    match &mut scenario.workload {
        WorkloadSpec::Synthetic(spec) => spec.validate().map_err(|error| format!("workload.{error}"))?,
        WorkloadSpec::Mix(spec) => spec.validate().map_err(|error| format!("workload.{error}"))?,
        WorkloadSpec::Trace(trace) => {
            if trace.end_s.is_some_and(|end_s| end_s <= trace.start_s) {
                return Err(format!(
                    "workload.end_s = {} is not after start_s = {}",
                    trace.end_s.unwrap_or(0.0),
                    trace.start_s
                ));
            }
            trace_options(trace).map_err(|error| format!("workload.{error}"))?;
            trace.path = anchored(&trace.path, base);
        }
    }
    let is_endless = !matches!(scenario.workload, WorkloadSpec::Trace(_));
    if is_endless && scenario.run.requests.is_none() && scenario.run.time_s.is_none() {
        scenario.run.requests = Some(DEFAULT_REQUESTS);
    }
    if scenario.run.requests.is_some_and(|requests| requests <= scenario.run.warmup_requests) {
        return Err(format!(
            "run.warmup_requests = {} leaves nothing of run.requests = {} to measure",
            scenario.run.warmup_requests,
            scenario.run.requests.unwrap_or(0)
        ));
    }
    if scenario.run.time_s.is_some_and(|time_s| time_s <= scenario.run.warmup_s) {
        return Err(format!(
            "run.warmup_s = {} leaves nothing of run.time_s = {} to measure",
            scenario.run.warmup_s,
            scenario.run.time_s.unwrap_or(0.0)
        ));
    }
    Ok(())
}
