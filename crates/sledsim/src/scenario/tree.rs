//! The tree of components as a document has it: names and short forms become tables.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{json, Map, Value};

use super::catalog::Catalog;
use super::named_device::{check_timeout, fill_device, name_alone, Filed};
use super::system_spec::CHILD_KEYS;

/// The key of a scenario that has components by name.
pub(super) const COMPONENTS: &str = "components";

/// Keys that hold a policy, which may go by its name alone.
const POLICY_KEYS: [&str; 3] = ["scheduler", "spin_down", "policy"];

/// Most components from the system down to a drive.
const DEEPEST: usize = 16;

/// Writes out the system of a document: named components where they are named, drives given by their device alone, entries of
/// `members` that are components, and devices from the catalogue. Says what device files gave.
///
/// # Errors
/// A name that is not known, a component that is used twice, not at all or within itself, or a tree that is too deep.
pub(super) fn expand(
    document: &mut Value,
    catalog: &Catalog,
    base: &Path,
    schema: &Value,
) -> Result<Vec<Filed>, String> {
    let components = match document.as_object_mut().and_then(|document| document.remove(COMPONENTS)) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(components)) => components,
        Some(other) => return Err(format!("{COMPONENTS} = {other} is of the wrong type: expected a table")),
    };
    let names: Vec<String> = components.keys().cloned().collect();
    let mut tree =
        Expansion { catalog, base, schema, components, uses: BTreeMap::new(), open: Vec::new(), filed: Vec::new() };
    if let Some(system) = document.get_mut("system") {
        tree.component(system, "system", 1)?;
    }
    for name in names {
        if !tree.uses.contains_key(&name) {
            // One that is a part of itself is not used by the system either: say rather that.
            let place = format!("{COMPONENTS}.{name}");
            tree.component(&mut Value::String(name), &place, 1)?;
            return Err(format!("{place} is used nowhere: system and what is below it do not name it"));
        }
    }
    Ok(tree.filed)
}

struct Expansion<'a> {
    catalog: &'a Catalog,
    base: &'a Path,
    schema: &'a Value,
    components: Map<String, Value>,
    /// Where each named component is used.
    uses: BTreeMap<String, String>,
    /// The named components around the one at hand.
    open: Vec<String>,
    filed: Vec<Filed>,
}

impl Expansion<'_> {
    /// Writes out the component at `path`, so deep.
    fn component(&mut self, component: &mut Value, path: &str, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("{path}: it is nested deeper than {DEEPEST} components"));
        }
        if let Value::String(name) = component {
            let name = std::mem::take(name);
            return self.named(component, name, path, depth);
        }
        let Some(table) = component.as_object_mut() else { return Ok(()) };
        let has_below = |table: &Map<String, Value>| {
            table.contains_key("members") || CHILD_KEYS.iter().any(|key| table.contains_key(*key))
        };
        if !table.contains_key("kind") && !has_below(table) {
            table.insert("kind".into(), "drive".into());
        }
        if table.get("kind").is_some_and(|kind| kind == "drive") {
            let filed = fill_device(table, path, self.catalog, self.base, self.schema)?;
            self.filed.push(filed);
        }
        for policy in POLICY_KEYS {
            name_alone(Some(&mut *table), policy);
        }
        check_timeout(table, path)?;
        for key in CHILD_KEYS {
            if let Some(child) = table.get_mut(key) {
                self.component(child, &format!("{path}.{key}"), depth + 1)?;
            }
        }
        for (entry, member) in table.get_mut("members").and_then(Value::as_array_mut).into_iter().flatten().enumerate()
        {
            wrap(member);
            if let Some(system) = member.get_mut("system") {
                self.component(system, &format!("{path}.members[{entry}].system"), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Puts the component called `name` in its place, or a drive with the device of that name.
    fn named(&mut self, place: &mut Value, name: String, path: &str, depth: usize) -> Result<(), String> {
        let Some(component) = self.components.get(&name) else {
            let known: Vec<&str> = self.components.keys().map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => String::new(),
                known => format!("; and {COMPONENTS} has {}", known.join(", ")),
            };
            *place = json!({ "kind": "drive", "device": name });
            return self.component(place, path, depth).map_err(|error| error + &hint);
        };
        *place = component.clone();
        if let Some(outer) = self.open.iter().position(|open| *open == name) {
            let chain: Vec<&str> = self.open[outer..].iter().map(String::as_str).chain([name.as_str()]).collect();
            return Err(format!(
                "{COMPONENTS}.{} has {COMPONENTS}.{name} below it, which it is itself a part of ({}): leave one of them out",
                chain[chain.len() - 2],
                chain.join(" -> ")
            ));
        }
        if let Some(other) = self.uses.insert(name.clone(), path.to_owned()) {
            return Err(format!(
                "{COMPONENTS}.{name} is both {other} and {path}: a component has one place; give the other one a name of its own"
            ));
        }
        self.open.push(name.clone());
        self.component(place, path, depth)?;
        self.open.pop();
        if let Some(table) = place.as_object_mut() {
            table.entry("name").or_insert(Value::String(name));
        }
        Ok(())
    }
}

/// Makes a table with `system` of a member that is a component, or has its keys beside `count`.
fn wrap(member: &mut Value) {
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
        _ => return,
    };
    *member = system;
}
