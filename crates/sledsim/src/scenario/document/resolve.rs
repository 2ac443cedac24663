//! Resolves a document to a complete scenario and its system: looks up names, checks all values and builds the system.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use schemars::SchemaGenerator;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::catalog::Catalog;
use super::check::{CheckedKeys, Checker};
use super::draft::Draft;
use super::expand::{is_child, Expansion, COMPONENTS};
use super::node::{deserializer, table_to_map, Content, Node};
use super::notation::Notation;
use crate::engine::System;
use crate::fault::{self, Collector, Fault, Faults};
use crate::hierarchy::{ChildKeys, ComponentKind};
use crate::scenario::assemble::{self, SYSTEM};
use crate::scenario::precision;
use crate::scenario::report::power_cuts;
use crate::scenario::resolved::Resolved;
use crate::scenario::specs::scenario::{DeviceSpec, DriveSpec, RunSpec, Scenario, WarmupRule};
use crate::scenario::specs::system::{component_schema_of, known_kind, MemberSpec, SystemSpec, DRIVE, MEMBERS};
use crate::traces::is_in_memory;
use crate::workloads::WorkloadSpec;

/// Number of generated requests if the run has no limit.
const DEFAULT_REQUESTS: u64 = 100_000;
/// Most generated requests of a run that ends at a precision, if the run has no limit.
const MOST_REQUESTS: u64 = 10_000_000;

/// The definition of components, which are checked separately.
const COMPONENT: &str = "SystemSpec";

/// Returns the schema of a resolved scenario: all keys with type, range, default and unit.
///
/// Created once, because that takes several times as long as resolving a scenario.
#[must_use]
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> =
        LazyLock::new(|| serde_json::to_value(schemars::schema_for!(Scenario)).unwrap_or_default());
    &SCHEMA
}

/// The schemas of the kinds of components.
fn options() -> &'static [Value] {
    schema()["$defs"][COMPONENT]["oneOf"].as_array().map_or(&[], Vec::as_slice)
}

/// Reads, completes and checks a scenario, and builds its system.
///
/// `settings` (`path=value`) override the text; names of devices are looked up in `catalog`, and files relative to
/// `base`.
///
/// # Errors
/// All faults, each with location, value and allowed values.
pub fn resolve(
    text: &str,
    notation: Notation,
    source: &str,
    settings: &[String],
    catalog: &Catalog,
    base: &Path,
) -> Result<Resolved, Faults> {
    Draft::read(text, notation, source, base)?.set(settings).resolve(catalog, base)
}

impl Draft {
    /// Completes and checks the scenario, and builds its system: names are looked up in `catalog`, files relative to `base`.
    ///
    /// # Errors
    /// All faults, each with location, value and allowed values.
    pub fn resolve(self, catalog: &Catalog, base: &Path) -> Result<Resolved, Faults> {
        let (mut root, mut found) = self.into_parts();
        let mut expansion = Expansion::new(catalog, base, &mut found);
        expansion.system(&mut root);
        expansion.workload(&mut root);
        let citations = expansion.citations;
        let more = ExtraKinds::new(catalog.kinds());
        let resolved = Reader { base, catalog, more: &more, parts: Vec::new(), found: &mut found }.scenario(&mut root);
        found.map(|fault| root.locate(fault)).into_result()?;
        resolved.map(|resolved| resolved.citing(citations)).ok_or_else(|| unreported().into())
    }

    /// Completes and checks the device that is the system; ignores the rest of the draft.
    ///
    /// # Errors
    /// As for [`Draft::resolve`], or the system is not a drive.
    pub fn resolve_device(self, catalog: &Catalog, base: &Path) -> Result<DeviceSpec, Faults> {
        let (mut root, mut found) = self.into_parts();
        Expansion::new(catalog, base, &mut found).system(&mut root);
        let more = ExtraKinds::new(catalog.kinds());
        let mut reader = Reader { base, catalog, more: &more, parts: Vec::new(), found: &mut found };
        let device = reader.device(&mut root);
        found.map(|fault| root.locate(fault)).into_result()?;
        device.ok_or_else(|| unreported().into())
    }
}

/// Returns the fault of a value that passed the checks but can't be deserialised, which is a defect of the simulator.
fn unreported() -> Fault {
    Fault::new(fault::Kind::Unsupported)
        .says("a value that is wrong was not reported: this is a defect of the simulator")
}

/// Schemas of kinds of components that a catalogue adds to the simulator's.
struct ExtraKinds {
    kinds: &'static [ComponentKind],
    /// The schema of each kind, with the definitions it uses.
    schemas: BTreeMap<&'static str, Value>,
}

impl ExtraKinds {
    fn new(kinds: &'static [ComponentKind]) -> Self {
        let schema = |kind: &ComponentKind| {
            let mut generator = SchemaGenerator::default();
            let mut schema = component_schema_of(kind, &mut generator);
            schema["$defs"] = Value::Object(generator.take_definitions(true));
            (kind.name, schema)
        };
        Self { kinds, schemas: kinds.iter().map(schema).collect() }
    }
}

/// A valid part of an invalid scenario.
enum Part {
    System(fault::Path, SystemSpec),
    Device(fault::Path, DeviceSpec),
}

/// Checks the parts of an expanded document, reads the valid ones, and builds their systems.
struct Reader<'a> {
    base: &'a Path,
    catalog: &'a Catalog,
    more: &'a ExtraKinds,
    parts: Vec<Part>,
    found: &'a mut Collector,
}

impl<'a> Reader<'a> {
    /// Returns the scenario of a document with its system; `None` if there are faults.
    fn scenario(&mut self, root: &mut Node) -> Option<Resolved> {
        let CheckedKeys { is_right, wrong } = self.check_top(root, schema());
        let right = |key: &str| root.get(key).filter(|_| !wrong.iter().any(|wrong| wrong == key));
        let seed = right("seed").and_then(|seed| u64::deserialize(seed).ok()).unwrap_or(1);
        let mut workload: Option<WorkloadSpec> = right("workload").and_then(|node| self.read(node));
        let run = match root.get("run") {
            None => Some(RunSpec::default()),
            Some(_) => right("run").and_then(|node| self.read::<RunSpec>(node)),
        };
        let accepts = right("accept_missing").is_some_and(|node| matches!(node.content, Content::Bool(true)));
        let missing: Vec<String> = right("missing").and_then(|node| self.read(node)).unwrap_or_default();
        let title = right("title").and_then(|node| self.read(node)).flatten();
        let is_right = is_right && self.found.is_empty();
        let system = self.system(root, is_right);
        let assembly = self.build(system.as_ref(), seed);
        if let Some(workload) = &workload {
            self.found.extend(workload.faults().into_iter().map(|fault| fault.within("workload")));
        }
        if let Some(WorkloadSpec::Trace(trace)) = &mut workload {
            if !is_in_memory(&trace.path) {
                trace.path = anchored(&trace.path, self.base);
            }
        }
        let run = run.map(|mut run| {
            if let Some(workload) = &workload {
                set_end(&mut run, workload);
                self.found.extend(power_cuts::check(&run));
                self.found.extend(check_precision(&run, workload, assembly.as_ref()));
            }
            set_warmup(&mut run);
            self.found.extend(check_warmup(&run));
            run
        });
        if let (Some(system), Some(run)) = (&system, &run) {
            self.found.extend(power_cuts::check_copies(system, &SYSTEM.into(), run));
        }
        self.found.extend(check_missing(&missing).filter(|_| !accepts));
        let scenario =
            Scenario { title, seed, workload: workload?, system: system?, run: run?, missing, accept_missing: accepts };
        Some(Resolved::built(scenario, assembly?))
    }

    /// Returns the device that is the system of a document; `None` if there are faults.
    fn device(&mut self, root: &mut Node) -> Option<DeviceSpec> {
        if root.get(SYSTEM).is_none() {
            let about = schema()["properties"][SYSTEM]["description"].as_str().unwrap_or_default();
            self.found.push(Fault::missing(SYSTEM).says(format!(": {about}")));
        }
        let is_right = self.found.is_empty();
        let system = self.system(root, is_right);
        self.build(system.as_ref(), 0)?;
        let system = system?;
        let kind = system.kind();
        let device = system.into_drive().map(|drive| drive.device);
        if device.is_none() {
            let says = ": only one drive can be looked at here; make one of its drives the system";
            self.found.push(Fault::conflict("system.kind", kind).says(says));
        }
        device
    }

    /// Checks the keys of a document, without its components.
    fn check_top(&mut self, root: &mut Node, schema: &'static Value) -> CheckedKeys {
        // Named components have been moved to the places where they are used.
        let components = root.as_table_mut().and_then(|top| top.shift_remove_entry(COMPONENTS));
        let checked = Checker::new(schema, self.found).except(COMPONENT).keys(root, schema);
        if let (Some(top), Some((key, definitions))) = (root.as_table_mut(), components) {
            top.insert(key, definitions);
        }
        checked
    }

    /// Returns the system of a document. Custom policies, which run user code, are loaded only if everything else
    /// `is_right`.
    fn system(&mut self, root: &mut Node, is_right: bool) -> Option<SystemSpec> {
        let before = self.found.len();
        let mut system = root.get_mut(SYSTEM).and_then(|node| self.component(node, &SYSTEM.into()));
        if let Some(system) = system.as_mut().filter(|_| is_right && self.found.len() == before) {
            self.found.extend(system.load_plugins(self.catalog.loader(), self.base));
        }
        system
    }

    /// Builds the system or its valid parts, and reports contradictions.
    fn build(&mut self, system: Option<&SystemSpec>, seed: u64) -> Option<assemble::Assembly> {
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::System(path, spec) => self.found.extend(built(&spec, &path, seed).found),
                Part::Device(path, spec) => {
                    self.found.extend(assemble::device(&spec).err().map(|fault| fault.within(&path)));
                }
            }
        }
        let built = built(system?, &SYSTEM.into(), seed);
        self.found.extend(built.found);
        built.assembly
    }

    /// Returns the component at a path with its descendants; `None` if any of them is invalid.
    fn component(&mut self, node: &mut Node, path: &fault::Path) -> Option<SystemSpec> {
        if node.is_rejected {
            return None;
        }
        let kind = self.kind(node, path);
        let checked = kind.map(|kind| {
            let (schema, option) = self.schema_of(kind);
            Checker::new(schema, self.found).at(path.clone()).except(COMPONENT).keys(node, option)
        });
        let table = node.as_table_mut()?;
        let mut children = BTreeMap::new();
        let more = self.more.kinds;
        for (key, child) in table.iter_mut().filter(|(key, _)| is_child(key, more)) {
            let child = self.component(child, &path.step(key));
            children.insert(key.clone(), child.map(|system| MemberSpec { count: 1, system }));
        }
        let mut members = Vec::new();
        for (entry, member) in table.get_mut(MEMBERS).and_then(Node::as_list_mut).into_iter().flatten().enumerate() {
            let path = path.step(MEMBERS).step(entry).step("system");
            let system = member.get_mut("system").and_then(|system| self.component(system, &path));
            let count = member.get("count").map_or(Some(1), |count| u32::deserialize(count).ok());
            members.push(system.map(|system| MemberSpec { count: count.unwrap_or(1), system }));
        }
        let table = node.as_table()?;
        let is_right = checked.as_ref().is_some_and(|checked| checked.is_right);
        let all = children.values().chain(&members).all(Option::is_some);
        if let (Some(kind), true, true) = (kind, is_right, all) {
            return self.typed(table, kind, children, members);
        }
        self.keep_parts(path, children, members);
        if kind == Some(DRIVE) {
            let is_wrong = checked.is_some_and(|checked| checked.wrong.iter().any(|key| key == "device"));
            let device = table.get("device").filter(|device| !is_wrong && !device.is_rejected);
            let device: Option<DeviceSpec> = device.and_then(|device| self.read(device));
            if let Some(device) = device.filter(|device| device.custom().is_none()) {
                self.parts.push(Part::Device(path.step("device"), device));
            }
        }
        None
    }

    /// Returns the name of a component's kind.
    fn kind(&mut self, node: &Node, path: &fault::Path) -> Option<&'static str> {
        let names = || -> Vec<&'static str> {
            let listed = options().iter().filter_map(|option| option["properties"]["kind"]["const"].as_str());
            listed.chain(self.more.kinds.iter().map(|kind| kind.name)).collect()
        };
        let at_kind = path.step("kind");
        let fault = match (node.as_table(), node.get("kind")) {
            (None, _) => {
                let expected = format!("a table with kind = one of {}", names().join(", "));
                Fault::wrong_type(path.clone(), node.to_value(), expected)
            }
            (_, None) => Fault::missing(at_kind).one_of("", names()),
            (_, Some(kind)) => match kind.as_text() {
                None => Fault::wrong_type(at_kind, kind.to_value(), "a string"),
                Some(given) => match names().into_iter().find(|name| *name == given) {
                    Some(name) => return Some(name),
                    None => Fault::unknown_name(at_kind, given, names()),
                },
            },
        };
        self.found.push(fault);
        None
    }

    /// Returns the schema that defines a kind of component, and the kind's own part of it.
    fn schema_of(&self, kind: &str) -> (&'a Value, &'a Value) {
        if let Some(own) = self.more.schemas.get(kind) {
            return (own, own);
        }
        let option = options().iter().find(|option| option["properties"]["kind"]["const"] == kind);
        (schema(), option.unwrap_or(&Value::Null))
    }

    /// Returns a valid component with valid children.
    fn typed(
        &mut self,
        table: &super::node::Table,
        kind: &str,
        mut children: BTreeMap<String, Option<MemberSpec>>,
        members: Vec<Option<MemberSpec>>,
    ) -> Option<SystemSpec> {
        let name = table.get("name").and_then(Node::as_text).map(str::to_owned);
        if kind == DRIVE {
            let drive = DriveSpec::deserialize(deserializer(table, |key| key == "kind" || key == "name"));
            return self.kept(drive).map(|drive| SystemSpec::of_drive(name, drive));
        }
        let kind = known_kind(kind, self.more.kinds)?;
        let mut keys: Map<String, Value> = table_to_map(table);
        let children = match kind.children {
            ChildKeys::Keyed(known) => {
                let child = |key: &str| {
                    keys.shift_remove(key);
                    children.remove(key).flatten()
                };
                known.iter().map(|key| key.name).map(child).collect::<Option<Vec<_>>>()?
            }
            ChildKeys::Members => members.into_iter().collect::<Option<Vec<_>>>()?,
        };
        ["kind", "name", MEMBERS].iter().for_each(|key| drop(keys.shift_remove(*key)));
        let spec = self.kept(kind.parameters.read(keys))?;
        Some(SystemSpec::of_composite(name, kind, spec, children))
    }

    /// Keeps the valid children of an invalid component.
    fn keep_parts(
        &mut self,
        path: &fault::Path,
        children: BTreeMap<String, Option<MemberSpec>>,
        members: Vec<Option<MemberSpec>>,
    ) {
        for (key, child) in children {
            self.parts.extend(child.map(|child| Part::System(path.step(key), child.system)));
        }
        for (entry, member) in members.into_iter().enumerate() {
            let path = path.step(MEMBERS).step(entry).step("system");
            self.parts.extend(member.map(|member| Part::System(path, member.system)));
        }
    }

    /// Deserialises a checked value to the type of its schema.
    fn read<T: DeserializeOwned>(&mut self, node: &Node) -> Option<T> {
        let read = T::deserialize(node);
        self.kept(read)
    }

    fn kept<T>(&mut self, read: Result<T, serde_json::Error>) -> Option<T> {
        read.map_err(|error| self.found.push(error.into())).ok()
    }
}

/// Builds the component at a path of a document.
fn built(spec: &SystemSpec, path: &fault::Path, seed: u64) -> assemble::Built {
    assemble::build(System::default(), spec, path, seed, &mut |_, id, _| id)
}

/// Returns the keys of the system of a document, which depend on its kind.
pub(super) fn keys_of_system(document: &Node) -> Vec<&'static str> {
    let kind = document.get(SYSTEM).and_then(|system| system.text_at("kind")).unwrap_or(DRIVE);
    let option = options().iter().find(|option| option["properties"]["kind"]["const"] == kind);
    option.map(keys_of).unwrap_or_default()
}

/// Returns the keys of a table.
pub(in crate::scenario) fn keys_of(schema: &Value) -> Vec<&str> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|keys| keys.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// Returns the absolute path of a file relative to `base`, so that a resolved scenario can be run from another folder.
pub(in crate::scenario) fn anchored(path: &str, base: &Path) -> String {
    let joined = base.join(path);
    std::path::absolute(&joined).unwrap_or(joined).to_string_lossy().into_owned()
}

/// Sets the default limit of a run without one if its workload is endless.
fn set_end(run: &mut RunSpec, workload: &WorkloadSpec) {
    if !workload.has_end() && run.requests.is_none() && run.time_s.is_none() {
        run.requests = Some(if run.precision.is_some() { MOST_REQUESTS } else { DEFAULT_REQUESTS });
    }
}

/// Sets the default rule of the warm-up for a run that ends at a precision.
fn set_warmup(run: &mut RunSpec) {
    let is_given = run.warmup_requests > 0 || run.warmup_s > 0.0;
    if run.precision.is_some() && run.warmup.is_none() {
        run.warmup = Some(if is_given { WarmupRule::Fixed } else { WarmupRule::Auto });
    }
}

/// Returns the faults of a precision that does not suit the workload, the system or the other keys of the run.
fn check_precision(run: &RunSpec, workload: &WorkloadSpec, assembly: Option<&assemble::Assembly>) -> Vec<Fault> {
    let Some(spec) = &run.precision else { return Vec::new() };
    let mut found = Vec::new();
    let mut refuse = |key: &str, says: &str| found.push(Fault::at(fault::Kind::Conflict, key).says(says).within("run"));
    if spec.targets().is_empty() {
        refuse("precision", " is empty: give a result and its precision, such as response = \"1%\"");
    }
    if matches!(workload, WorkloadSpec::Trace(_) | WorkloadSpec::Session(_)) {
        refuse("precision", " needs generated requests, as traces have a fixed length: leave it out, or generate them");
    }
    if run.time_s.is_some() {
        refuse("precision", " and run.time_s both end the run: leave one out; run.requests limits the requests");
    }
    if run.warmup_s > 0.0 {
        refuse(
            "precision",
            " and run.warmup_s exclude each other: give run.warmup_requests, or let the warm-up be detected",
        );
    }
    if run.power_cuts.is_some() {
        refuse("precision", " and run.power_cuts exclude each other, as cuts disturb the steady state: leave one out");
    }
    if let Some(assembly) = assembly {
        if spec.energy.is_some() && assembly.components.iter().any(|each| each.has_powers == Some(false)) {
            refuse("precision.energy", ": the powers of a device are not known: leave it out");
        }
        if spec.hit_ratio.is_some() && precision::cache_of(assembly).is_none() {
            refuse("precision.hit_ratio", ": the system has no cache with a hit ratio: leave it out");
        }
    }
    found
}

/// Returns the fault of a warm-up that is not shorter than the run.
fn check_warmup(run: &RunSpec) -> Vec<Fault> {
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
    if run.warmup == Some(WarmupRule::Auto) && (run.warmup_requests > 0 || run.warmup_s > 0.0) {
        let says = " detects the warm-up: leave out run.warmup_requests and run.warmup_s, or make it fixed";
        found.push(Fault::conflict("warmup", "auto").says(says).within("run"));
    }
    found
}

/// Returns the fault of a scenario with `missing` features that are not accepted.
fn check_missing(missing: &[String]) -> Option<Fault> {
    if missing.is_empty() {
        return None;
    }
    let says = format!(
        ": what decides results was not carried over in the import ({}); to run without it, ",
        missing.join("; ")
    );
    Some(Fault::at(fault::Kind::Unsupported, "missing").says(says).set("accept_missing", true))
}
