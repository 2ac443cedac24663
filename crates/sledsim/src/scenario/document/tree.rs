//! The tree of components as a document has it: names and short forms become tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{json, Map, Value};

use super::catalog::Catalog;
use super::named_device::{check_timeout, fill_device, name_alone, Filed};
use crate::fault::{self, Fault, Faults, Kind, Word};
use crate::limits::COMPONENTS_DEEP;
use crate::plugin;
use crate::scenario::specs::system::{child_keys, is_child_key, MEMBERS};

/// The key of a scenario that has components by name.
pub(in crate::scenario) const COMPONENTS: &str = "components";

/// Keys that hold a policy, which may go by its name alone.
const POLICY_KEYS: [&str; 3] = ["scheduler", "spin_down", "policy"];

/// Writes out the system of a document: named components where they are named, drives given by their device alone, entries of
/// `members` that are components, and devices from the catalogue. Says what device files gave, and what is wrong: a name that
/// is not known, a component that is used twice, not at all or within itself, or a tree that is too deep.
pub(in crate::scenario) fn expand(document: &mut Value, catalog: &Catalog, base: &Path, schema: &Value) -> Expanded {
    let components = match document.as_object_mut().and_then(|document| document.remove(COMPONENTS)) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(components)) => components,
        Some(other) => {
            let fault = Fault::wrong_type(COMPONENTS, other, "a table");
            return Expanded { found: vec![fault], broken: vec!["system".into()], ..Expanded::default() };
        }
    };
    let names: Vec<String> = components.keys().cloned().collect();
    let mut tree = Expansion {
        catalog,
        base,
        schema,
        components,
        uses: BTreeMap::new(),
        open: Vec::new(),
        done: Expanded::default(),
    };
    if let Some(system) = document.get_mut("system") {
        tree.component(system, &"system".into(), 1);
    }
    // What is wrong may keep a component from being reached.
    let mut is_whole = tree.done.found.is_empty();
    for name in names {
        if is_whole && !tree.uses.contains_key(&name) {
            // One that is a part of itself is not used by the system either: say rather that.
            let place = fault::Path::from(COMPONENTS).step(&name);
            tree.component(&mut Value::String(name), &place, 1);
            is_whole = tree.done.found.is_empty();
            if is_whole {
                let says = " is used nowhere: system and what is below it do not name it";
                tree.done.found.push(Fault::at(Kind::Conflict, place).says(says));
            }
        }
    }
    tree.done
}

/// What writing out the system came to.
#[derive(Default)]
pub(in crate::scenario) struct Expanded {
    /// What device and workload files gave.
    pub filed: Vec<Filed>,
    /// Works that the entries of the devices cite, in the order of the devices.
    pub citations: Vec<String>,
    /// What is wrong.
    pub found: Vec<Fault>,
    /// What could not be completed, so that there is no use in looking at it.
    pub broken: Vec<fault::Path>,
    /// Where short forms were written out.
    short: Short,
}

impl Expanded {
    /// Nothing, if there are no faults; those that device files gave cause to with their file, all others where the document
    /// itself has them.
    pub fn none_of(&self, mut found: Vec<Fault>) -> Result<(), Faults> {
        self.filed.iter().for_each(|file| found.iter_mut().for_each(|fault| file.locate(fault)));
        found.iter_mut().for_each(|fault| self.short.locate(fault));
        Faults::none_of(found)
    }
}

/// Where the tables that short forms have become stand, which is not where they are written.
#[derive(Default)]
struct Short {
    /// Each `system` of a member that has the component's keys beside `count`, or is a name.
    members: BTreeSet<fault::Path>,
    /// Each place that a named component was put into, and its name.
    named: BTreeMap<fault::Path, String>,
}

impl Short {
    /// Puts a fault where its keys are written.
    fn locate(&self, fault: &mut Fault) {
        fault.path = self.written(&fault.path);
        for word in &mut fault.words {
            if let Word::Key(path, _) | Word::Setting(path, _) = word {
                *path = self.written(path);
            }
        }
    }

    /// Where something is written that stands at `path`. A component's place is where its name is, what is in it is below that
    /// name.
    fn written(&self, path: &fault::Path) -> fault::Path {
        let (mut here, mut written) = (fault::Path::default(), fault::Path::default());
        for step in path.steps() {
            if let Some(name) = self.named.get(&here) {
                written = fault::Path::from(COMPONENTS).step(name);
            }
            here = here.step(step);
            if !self.members.contains(&here) {
                written = written.step(step);
            }
        }
        written
    }
}

struct Expansion<'a> {
    catalog: &'a Catalog,
    base: &'a Path,
    schema: &'a Value,
    components: Map<String, Value>,
    /// Where each named component is used.
    uses: BTreeMap<String, fault::Path>,
    /// The named components around the one at hand.
    open: Vec<String>,
    done: Expanded,
}

impl Expansion<'_> {
    /// Writes out the component at `path`, so deep.
    fn component(&mut self, component: &mut Value, path: &fault::Path, depth: usize) {
        if depth as u64 > COMPONENTS_DEEP.most {
            let says = format!(": it is nested deeper than {} components", COMPONENTS_DEEP.most);
            return self.give_up(path, Fault::at(Kind::Misfit, path).says(says));
        }
        if let Value::String(name) = component {
            let name = std::mem::take(name);
            return self.named(component, name, path, depth);
        }
        let Some(table) = component.as_object_mut() else { return };
        let has_below = |table: &Map<String, Value>| table.keys().any(|key| key == MEMBERS || is_child_key(key));
        if !table.contains_key("kind") && !has_below(table) {
            table.insert("kind".into(), "drive".into());
        }
        if table.get("kind").is_some_and(|kind| kind == "drive") {
            match fill_device(table, path, self.catalog, self.base, self.schema) {
                Ok(filled) => {
                    self.done.filed.extend(filled.filed);
                    self.done.citations.extend(filled.citations);
                }
                Err(faults) => {
                    self.done.found.extend(faults);
                    self.done.broken.push(path.step("device"));
                }
            }
        }
        for policy in POLICY_KEYS {
            name_alone(Some(&mut *table), policy);
        }
        plugin::document::expand_policies(table, self.catalog.loader());
        if let Err(fault) = check_timeout(table, path) {
            self.give_up(&path.step("spin_down"), fault);
        }
        // Not in the order of the table, which must not affect the order of the citations.
        let mut children: Vec<_> = table.iter_mut().filter(|(key, _)| is_child_key(key)).collect();
        children.sort_by_key(|(key, _)| child_keys().position(|known| known == *key));
        for (key, child) in children {
            self.component(child, &path.step(key), depth + 1);
        }
        for (entry, member) in table.get_mut(MEMBERS).and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
            let below = path.step("members").step(entry).step("system");
            if wrap(member) {
                self.done.short.members.insert(below.clone());
            }
            if let Some(system) = member.get_mut("system") {
                self.component(system, &below, depth + 1);
            }
        }
    }

    /// Keeps a fault, for which what stands at `path` can't be looked at any further.
    fn give_up(&mut self, path: &fault::Path, fault: Fault) {
        self.done.found.push(fault);
        self.done.broken.push(path.clone());
    }

    /// Puts the component called `name` in its place, or a drive with the device of that name.
    fn named(&mut self, place: &mut Value, name: String, path: &fault::Path, depth: usize) {
        let Some(component) = self.components.get(&name) else {
            let known: Vec<&str> = self.components.keys().map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => String::new(),
                known => format!("; and {COMPONENTS} has {}", known.join(", ")),
            };
            *place = json!({ "kind": "drive", "device": name });
            let before = self.done.found.len();
            self.component(place, path, depth);
            let found = self.done.found.split_off(before).into_iter().map(|fault| fault.says(hint.as_str()));
            self.done.found.extend(found.collect::<Vec<_>>());
            return;
        };
        *place = component.clone();
        if let Some(outer) = self.open.iter().position(|open| *open == name) {
            let chain: Vec<&str> = self.open[outer..].iter().map(String::as_str).chain([name.as_str()]).collect();
            let says =
                format!(" below it, which it is itself a part of ({}): leave one of them out", chain.join(" -> "));
            let components = fault::Path::from(COMPONENTS);
            let fault = Fault::at(Kind::Conflict, components.step(chain[chain.len() - 2]))
                .says(" has ")
                .key(components.step(&name))
                .says(says);
            return self.give_up(path, fault);
        }
        if let Some(other) = self.uses.insert(name.clone(), path.clone()) {
            let fault = Fault::at(Kind::Conflict, fault::Path::from(COMPONENTS).step(&name))
                .says(" is both ")
                .key(other)
                .says(" and ")
                .key(path)
                .says(": a component has one place; give the other one a name of its own");
            return self.give_up(path, fault);
        }
        self.done.short.named.insert(path.clone(), name.clone());
        self.open.push(name.clone());
        self.component(place, path, depth);
        self.open.pop();
        if let Some(table) = place.as_object_mut() {
            table.entry("name").or_insert(Value::String(name));
        }
    }
}

/// Makes a table with `system` of a member that is a component, or has its keys beside `count`; says whether it was one.
fn wrap(member: &mut Value) -> bool {
    let system = match member {
        Value::String(_) => json!({ "system": member.take() }),
        Value::Object(keys) if !keys.contains_key("system") => {
            let count = keys.remove("count");
            let mut wrapped = json!({ "system": std::mem::take(keys) });
            if let Some(count) = count {
                wrapped["count"] = count;
            }
            wrapped
        }
        _ => return false,
    };
    *member = system;
    true
}
