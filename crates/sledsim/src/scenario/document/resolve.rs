//! From what a user wrote to a complete scenario: settings applied, names looked up, everything checked.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::based::Document;
use super::catalog::{is_file, Catalog};
use super::check::{self, unit_of};
use super::draft::{overlay, Draft, Notation};
use super::entry::Subject;
use super::named_device::{name_alone, of_entry, Filed, Filled};
use super::tree::{self, COMPONENTS};
use crate::fault::{self, Fault, Faults};
use crate::plugin::PluginLoader;
use crate::scenario::assemble::{self, SYSTEM};
use crate::scenario::report::power_cuts;
use crate::scenario::specs::scenario::{DeviceSpec, RunSpec, Scenario};
use crate::scenario::specs::system::SystemSpec;
use crate::traces::is_in_memory;
use crate::workloads::WorkloadSpec;

/// Requests of a generator when the run names no limit.
const DEFAULT_REQUESTS: u64 = 100_000;

/// The schema of a resolved scenario: every key a document may have, with type, range, default and unit.
///
/// It is made once: that takes several times as long as completing a scenario by it.
#[must_use]
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> =
        LazyLock::new(|| serde_json::to_value(schemars::schema_for!(Scenario)).unwrap_or_default());
    &SCHEMA
}

/// A scenario with every key, and what its values are from.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The scenario.
    pub scenario: Scenario,
    /// Works that the entries of its devices and its workload in the catalogue are taken from, each once.
    pub citations: Vec<String>,
}

/// Reads, completes and checks a scenario.
///
/// `settings` (`path=value`) override the text; names of devices are looked up in `catalog`, and files relative to
/// `base`.
///
/// # Errors
/// All that is wrong, each with its place, value and what is allowed.
pub fn resolve(
    text: &str,
    notation: Notation,
    source: &str,
    settings: &[String],
    catalog: &Catalog,
    base: &Path,
) -> Result<Scenario, Faults> {
    Ok(Draft::read(text, notation, source, base)?.set(settings).resolve(catalog, base)?.scenario)
}

impl Resolved {
    /// Reads the text of a resolved scenario, and loads its plugins again.
    ///
    /// # Errors
    /// The text is not a scenario, or a plugin is not found or has changed.
    pub fn reread(text: &str, citations: Vec<String>, loader: Option<&dyn PluginLoader>) -> Result<Self, Faults> {
        let mut scenario: Scenario = serde_json::from_str(text)?;
        Faults::none_of(scenario.system.load_plugins(loader, Path::new("")))?;
        Ok(Self { scenario, citations })
    }

    /// Returns true if it has plugins.
    #[must_use]
    pub fn has_plugins(&self) -> bool {
        self.scenario.system.has_plugins()
    }
}

impl Draft {
    /// Completes and checks the scenario: names are looked up in `catalog`, files relative to `base`.
    ///
    /// # Errors
    /// All that is wrong, each with its place, value and what is allowed.
    pub fn resolve(self, catalog: &Catalog, base: &Path) -> Result<Resolved, Faults> {
        let Self { mut document, source, read, set, found } = self;
        completed(&mut document, found, catalog, base).map_err(|faults| sourced(faults, &source, read.as_deref(), &set))
    }

    /// Completes and checks the device that is the system; what else the draft says is not looked at.
    ///
    /// # Errors
    /// As for [`Draft::resolve`]; a system that is no drive.
    pub fn resolve_device(self, catalog: &Catalog, base: &Path) -> Result<DeviceSpec, Faults> {
        let Self { mut document, source, read, set, found } = self;
        device_of(&mut document, found, catalog, base).map_err(|faults| sourced(faults, &source, read.as_deref(), &set))
    }
}

/// Says of faults where they stand: under which setting, in which line of `read`, or that `source` uses the file that has them.
/// The last setting of a path or of one above it counts.
fn sourced(faults: Faults, source: &str, read: Option<&Document>, set: &[(String, String)]) -> Faults {
    let setting_of = |path: &str| {
        let is_at = |own: &str| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        set.iter().rev().find(|(own, _)| is_at(own)).map(|(_, setting)| setting.clone())
    };
    let placed = faults.into_iter().map(|mut fault| {
        if fault.setting.is_some() {
            return fault;
        }
        if fault.file.is_some() {
            fault.used_by.get_or_insert_with(|| source.to_owned());
            return fault;
        }
        fault.setting = setting_of(&fault.path.to_string());
        match read {
            _ if fault.setting.is_some() => fault,
            Some(read) => read.located(fault),
            None => fault.in_file(source),
        }
    });
    placed.collect()
}

/// Completes a document in which `found` is wrong already.
fn completed(document: &mut Value, mut found: Vec<Fault>, catalog: &Catalog, base: &Path) -> Result<Resolved, Faults> {
    let schema = schema();
    name_alone(document.as_object_mut(), "workload");
    fill_kinds(document);
    let mut broken: Vec<fault::Path> = Vec::new();
    let workload = fill_workload(document, catalog, base, schema).unwrap_or_else(|faults| {
        found.extend(faults.into_iter().map(|fault| of_entry(fault, &"workload".into())));
        broken.push("workload".into());
        Filled::default()
    });
    let mut expanded = tree::expand(document, catalog, base, schema);
    expanded.filed.extend(workload.filed);
    broken.append(&mut expanded.broken);
    found.append(&mut expanded.found);
    found.extend(check::faults(document, schema, &broken));
    if !found.is_empty() {
        found.extend(beside(document, &found, &broken));
    }
    expanded.none_of(found)?;
    let mut scenario: Scenario = serde_json::from_value(document.take())?;
    expanded.none_of(scenario.system.load_plugins(catalog.loader(), base))?;
    expanded.none_of(complete(&mut scenario, base))?;
    let mut citations: Vec<String> = Vec::new();
    for citation in expanded.citations.into_iter().chain(workload.citations) {
        if !citations.contains(&citation) {
            citations.push(citation);
        }
    }
    Ok(Resolved { scenario, citations })
}

/// Completes the device of a document whose system it is.
fn device_of(
    document: &mut Value,
    mut found: Vec<Fault>,
    catalog: &Catalog,
    base: &Path,
) -> Result<DeviceSpec, Faults> {
    if let Some(keys) = document.as_object_mut() {
        keys.retain(|key, _| key == SYSTEM || key == COMPONENTS);
    }
    let mut expanded = tree::expand(document, catalog, base, schema());
    found.append(&mut expanded.found);
    found.extend(check::faults(document, system_schema(), &expanded.broken));
    if !found.is_empty() {
        found.extend(beside(document, &found, &expanded.broken));
    }
    expanded.none_of(found)?;
    let mut system: SystemSpec = serde_json::from_value(document[SYSTEM].take())?;
    expanded.none_of(system.load_plugins(catalog.loader(), base))?;
    expanded.none_of(assemble::faults(&system, &SYSTEM.into(), 0))?;
    let kind = system.kind();
    system.into_drive().map(|drive| drive.device).ok_or_else(|| {
        Fault::conflict("system.kind", kind)
            .says(": only one drive can be looked at here; make one of its drives the system")
            .into()
    })
}

/// The schema of a document that has nothing but a system.
fn system_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = schema().clone();
        schema["required"] = serde_json::json!([SYSTEM]);
        schema
    });
    &SCHEMA
}

/// Keys of the system that a document describes: those of its kind.
pub(in crate::scenario) fn keys_of_system<'a>(document: &Value, schema: &'a Value) -> Vec<&'a str> {
    let kind = document.pointer("/system/kind").and_then(Value::as_str).unwrap_or("drive");
    let options = schema.pointer("/$defs/SystemSpec/oneOf").and_then(Value::as_array).into_iter().flatten();
    let mut of_kind = options.filter(|option| option["properties"]["kind"]["const"] == kind);
    of_kind.next().map(keys_of).unwrap_or_default()
}

/// The keys of a table.
pub(in crate::scenario) fn keys_of(schema: &Value) -> Vec<&str> {
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
}

/// Completes a workload that has a name from its catalogue entry, and the run with the requests that it stands for; says what
/// the entry gave.
fn fill_workload(document: &mut Value, catalog: &Catalog, base: &Path, schema: &Value) -> Result<Filled, Vec<Fault>> {
    let Some(workload) = document.get_mut("workload").and_then(Value::as_object_mut) else {
        return Ok(Filled::default());
    };
    let name = match workload.get("name") {
        Some(Value::String(name)) if workload.get("kind").is_some_and(|kind| kind == "synthetic" || kind == "mix") => {
            name.clone()
        }
        _ => return Ok(Filled::default()),
    };
    let entry = catalog.entry(Subject::Workload, &name, base)?;
    // What is in the entry says of which kind it is.
    let telling = entry.telling();
    workload.insert("kind".into(), if telling == "streams" { "mix" } else { "synthetic" }.into());
    let known = schema.pointer("/$defs/WorkloadSpec/oneOf").and_then(Value::as_array).into_iter().flatten();
    let known = known.filter_map(|option| option.get("properties")).find(|keys| keys.get(telling).is_some());
    let is_known = |key: &str| known.is_some_and(|keys| keys.get(key).is_some());
    entry.check_units(Subject::Workload, |key| is_known(key).then(|| unit_of(key).unwrap_or_default()))?;
    let filed = is_file(&name).then(|| Filed::new("workload".into(), &entry, workload));
    for (key, value) in entry.values {
        let value = match workload.remove(&key) {
            Some(given) => overlay(given, value),
            None => value,
        };
        workload.insert(key, value);
    }
    if filed.is_some() {
        workload.insert("name".into(), anchored(&name, base).into());
    }
    let run = document.as_object_mut().map(|top| top.entry("run").or_insert_with(|| Map::new().into()));
    if let (Some(Value::Object(run)), Some(requests)) = (run, entry.requests) {
        if ["requests", "time_s"].iter().all(|end| run.get(*end).is_none_or(Value::is_null)) {
            run.insert("requests".into(), requests.into());
        }
    }
    Ok(Filled { filed, citations: entry.citations })
}

/// The path of a file named relative to `base`, which leads there from anywhere: a resolved scenario can be run again
/// in another place.
pub(in crate::scenario) fn anchored(path: &str, base: &Path) -> String {
    let joined = base.join(path);
    std::path::absolute(&joined).unwrap_or(joined).to_string_lossy().into_owned()
}

/// Makes explicit what depends on other keys, and says what takes more than one key to see.
fn complete(scenario: &mut Scenario, base: &Path) -> Vec<Fault> {
    let mut found = assemble::faults(&scenario.system, &SYSTEM.into(), scenario.seed);
    found.extend(of_workload(&scenario.workload));
    if let WorkloadSpec::Trace(trace) = &mut scenario.workload {
        if !is_in_memory(&trace.path) {
            trace.path = anchored(&trace.path, base);
        }
    }
    end(&mut scenario.run, &scenario.workload);
    found.extend(of_run(&scenario.run));
    found.extend(power_cuts::faults(&scenario.run));
    found.extend(power_cuts::of_moves(&scenario.system, &SYSTEM.into(), &scenario.run));
    found.extend(of_missing(&scenario.missing).filter(|_| !scenario.accept_missing));
    found
}

/// The same of the parts of a document that are right by themselves, where others are `wrong` or `broken`.
fn beside(document: &Value, wrong: &[Fault], broken: &[fault::Path]) -> Vec<Fault> {
    let of_document = wrong.iter().filter(|fault| fault.file.is_none()).map(|fault| &fault.path);
    let wrong: Vec<&fault::Path> = of_document.chain(broken).collect();
    let is_right = |path: &fault::Path| wrong.iter().all(|at| at.below(path).is_none());
    let part = |key: &str| document.get(key).filter(|_| is_right(&key.into())).cloned();
    // Where it stands in something that is not known, nobody has looked at it yet.
    let right = |path: &fault::Path, part: &Value, kind: &str| {
        let mut part = Some(part).filter(|_| is_right(path))?.clone();
        check::is_right(&mut part, kind, schema()).then_some(part)
    };
    let seed = document.get("seed").and_then(Value::as_u64).unwrap_or(1);
    let mut found = Vec::new();
    if let Some(system) = document.get(SYSTEM) {
        found.extend(assemble::faults_beside(system, &SYSTEM.into(), seed, &right));
    }
    let workload = part("workload").and_then(|part| serde_json::from_value::<WorkloadSpec>(part).ok());
    found.extend(workload.iter().flat_map(of_workload));
    if let Some(mut run) = part("run").and_then(|part| serde_json::from_value::<RunSpec>(part).ok()) {
        if let Some(workload) = &workload {
            end(&mut run, workload);
            found.extend(power_cuts::faults(&run));
        }
        found.extend(of_run(&run));
    }
    let missing = part("missing").filter(|_| part("accept_missing").is_none_or(|accepted| accepted == false));
    let missing = missing.and_then(|part| serde_json::from_value::<Vec<String>>(part).ok());
    found.extend(missing.iter().filter_map(|missing| of_missing(missing)));
    found
}

fn of_workload(workload: &WorkloadSpec) -> Vec<Fault> {
    workload.faults().into_iter().map(|fault| fault.within("workload")).collect()
}

/// Lets a run end whose workload does not.
fn end(run: &mut RunSpec, workload: &WorkloadSpec) {
    if !workload.has_end() && run.requests.is_none() && run.time_s.is_none() {
        run.requests = Some(DEFAULT_REQUESTS);
    }
}

/// What is wrong with a run that measures nothing.
fn of_run(run: &RunSpec) -> Vec<Fault> {
    let mut found = Vec::new();
    let leaves_nothing = |warmup: &str, given: Value, whole: &str, of: Value| {
        Fault::conflict(warmup, given).says(" leaves nothing of ").key_is(whole, of).says(" to measure").within("run")
    };
    if let Some(requests) = run.requests.filter(|requests| *requests <= run.warmup_requests) {
        found.push(leaves_nothing("warmup_requests", run.warmup_requests.into(), "requests", requests.into()));
    }
    if let Some(time_s) = run.time_s.filter(|time_s| *time_s <= run.warmup_s) {
        found.push(leaves_nothing("warmup_s", run.warmup_s.into(), "time_s", time_s.into()));
    }
    found
}

/// What is wrong with a scenario that does not say all that decides its results.
fn of_missing(missing: &[String]) -> Option<Fault> {
    let says = format!(
        ": what decides results was not carried over in the import ({}); to run without it, ",
        missing.join("; ")
    );
    let fault = || Fault::at(fault::Kind::Unsupported, "missing").says(says).set("accept_missing", true);
    (!missing.is_empty()).then(fault)
}
