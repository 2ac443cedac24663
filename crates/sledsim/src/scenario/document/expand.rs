//! Expands the short forms of a scenario: names of components, of devices in place of drives, of catalogue entries and of
//! policies.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::catalog::{drawing_named, is_file, Catalog};
use super::entry::{device_option, Entry, Subject};
use super::node::{Content, Node, Origin, Table, Written};
use super::resolve::anchored;
use super::settings::overlay;
use crate::fault::{self, Collector, Fault, Faults, Kind};
use crate::hierarchy::{ChildKeys, ComponentKind};
use crate::limits::COMPONENTS_DEEP;
use crate::plugin::{self, no_drawings, DERIVED_KEYS, LOCATION_KEYS};
use crate::scenario::specs::system::{child_keys, is_child_key, DRIVE, MEMBERS};

/// The key of a scenario for named components.
pub(in crate::scenario) const COMPONENTS: &str = "components";

/// The key of a device for its drawing.
pub(in crate::scenario) const DRAWING: &str = "drawing";

/// Most values that the label of a device lists.
const MOST_CHANGES: usize = 3;

/// Keys of policies, which can be given by name only.
const POLICY_KEYS: [&str; 3] = ["scheduler", "spin_down", "policy"];

/// Expands the short forms of a document in place. Values that cannot be expanded are reported and marked as rejected.
pub(in crate::scenario) struct Expansion<'a> {
    catalog: &'a Catalog,
    base: &'a Path,
    /// The path of the document in its text.
    root: fault::Path,
    /// Named components that are not used yet.
    components: Table,
    /// The path at which each named component is used.
    uses: BTreeMap<String, fault::Path>,
    /// The named components around the current one.
    open: Vec<String>,
    /// Works that the catalogue entries cite, each once.
    pub citations: Vec<String>,
    found: &'a mut Collector,
}

/// The place of a component.
struct Place {
    path: fault::Path,
    /// Number of components from the system to this one.
    depth: u64,
}

impl Place {
    fn child(&self, path: fault::Path) -> Self {
        Self { path, depth: self.depth + 1 }
    }
}

impl<'a> Expansion<'a> {
    /// Returns an expansion with a catalogue. Files are relative to `base`.
    pub(in crate::scenario) fn new(catalog: &'a Catalog, base: &'a Path, found: &'a mut Collector) -> Self {
        Self {
            catalog,
            base,
            root: fault::Path::default(),
            components: Table::new(),
            uses: BTreeMap::new(),
            open: Vec::new(),
            citations: Vec::new(),
            found,
        }
    }

    /// Expands the system of a document. Reports unknown names, components that are used twice, never or within themselves, and a
    /// tree that is too deep.
    pub(in crate::scenario) fn system(&mut self, document: &mut Node) {
        self.root = document.written();
        let Some(table) = document.as_table_mut() else { return };
        // The definitions stay without their content, for the location of faults.
        match table.get_mut(COMPONENTS).map(|components| &mut components.content) {
            None | Some(Content::Null) => {}
            Some(Content::Table(components)) => {
                let taken = |(name, node): (&String, &mut Node)| {
                    (name.clone(), Node::new(std::mem::take(&mut node.content), node.origin.clone()))
                };
                self.components = components.iter_mut().map(taken).collect();
            }
            Some(_) => {
                let given = table.get(COMPONENTS).map(Node::to_value).unwrap_or_default();
                self.found.push(Fault::wrong_type(COMPONENTS, given, "a table"));
                if let Some(system) = table.get_mut("system") {
                    system.is_rejected = true;
                }
                return;
            }
        }
        let names: Vec<String> = self.components.keys().cloned().collect();
        let before = self.found.len();
        if let Some(system) = table.get_mut("system") {
            self.component(system, &Place { path: "system".into(), depth: 1 });
        }
        // After a fault components may be unreachable.
        for name in names {
            if self.found.len() > before || self.uses.contains_key(&name) {
                continue;
            }
            // A component within itself is not used by the system either: that is reported instead.
            let path = fault::Path::from(COMPONENTS).step(&name);
            let mut unused = Node::text(name.as_str(), Origin::default());
            self.component(&mut unused, &Place { path: path.clone(), depth: 1 });
            if self.found.len() == before {
                let says = " is used nowhere: system and what is below it do not name it";
                self.found.push(Fault::at(Kind::Conflict, path).says(says));
            }
            if let Some(definition) = table.get_mut(COMPONENTS).and_then(|components| components.get_mut(&name)) {
                definition.content = unused.content;
            }
        }
    }

    /// Expands the workload of a document: a name, the implied kind, and the catalogue entry, which also sets the number of requests
    /// of the run.
    pub(in crate::scenario) fn workload(&mut self, document: &mut Node) {
        let Some(top) = document.as_table_mut() else { return };
        name_alone(top, "workload");
        let Some(node) = top.get_mut("workload") else { return };
        let origin = node.origin.inner();
        let Some(workload) = node.as_table_mut() else { return };
        if !workload.contains_key("kind") {
            let telling =
                [("path", "trace"), ("streams", "mix")].into_iter().find(|(key, _)| workload.contains_key(*key));
            let kind = telling.map_or("synthetic", |(_, kind)| kind);
            workload.insert("kind".into(), Node::text(kind, origin.clone()));
        }
        let kind = workload.get("kind").and_then(Node::as_text);
        let name = workload.get("name").and_then(Node::as_text).filter(|_| matches!(kind, Some("synthetic" | "mix")));
        let Some(name) = name.map(str::to_owned) else { return };
        let entry = self.catalog.entry(Subject::Workload, &name, self.base);
        let entry = match entry.and_then(|entry| entry.check_units().map(|()| entry)) {
            Ok(entry) => entry,
            Err(faults) => {
                node.is_rejected = true;
                self.found.extend(faults.into_iter().map(|fault| below(fault, &"workload".into())));
                return;
            }
        };
        // The entry determines the kind.
        let kind = if entry.telling() == "streams" { "mix" } else { "synthetic" };
        workload.insert("kind".into(), Node::text(kind, origin.clone()));
        let requests = entry.requests();
        let absent = place_of_absent_keys(&name, &entry);
        self.fill(workload, &name, entry);
        node.origin.absent = absent;
        let run = top.entry("run".into()).or_insert_with(|| Node::table(origin.clone()));
        if let (Some(run), Some(requests)) = (run.as_table_mut(), requests) {
            if ["requests", "time_s"].iter().all(|end| run.get(*end).is_none_or(Node::is_null)) {
                run.insert("requests".into(), Node::of_value(requests.into(), &origin));
            }
        }
    }

    /// Adds the values of an entry to a table. Values of the document have precedence.
    fn fill(&mut self, table: &mut Table, name: &str, entry: Entry) {
        for citation in &entry.citations {
            if !self.citations.contains(citation) {
                self.citations.push(citation.clone());
            }
        }
        let is_file = is_file(name);
        for (key, value) in entry.into_values() {
            // A fault of a catalogue value is located in the scenario, that of a file in the file.
            let value = if is_file { value } else { value.without_origin() };
            let place = table.entry(key).or_default();
            let is_given = !place.is_null() || place.origin.source.is_some();
            *place = if is_given { overlay(std::mem::take(place), value) } else { value };
        }
        if let Some(name) = table.get_mut("name").filter(|_| is_file) {
            if let Content::Text(path) = &mut name.content {
                *path = anchored(path, self.base);
            }
        }
    }

    /// Expands the component at a place.
    fn component(&mut self, component: &mut Node, place: &Place) {
        if place.depth > COMPONENTS_DEEP.most {
            let says = format!(": it is nested deeper than {} components", COMPONENTS_DEEP.most);
            return self.reject(component, Fault::at(Kind::Misfit, place.path.clone()).says(says));
        }
        if let Content::Text(name) = &mut component.content {
            let name = std::mem::take(name);
            return self.named(component, name, place);
        }
        let origin = component.origin.inner();
        let Some(table) = component.as_table_mut() else { return };
        let kinds = self.catalog.kinds();
        if !table.contains_key("kind") && !table.keys().any(|key| key == MEMBERS || is_child(key, kinds)) {
            table.insert("kind".into(), Node::text(DRIVE, origin));
        }
        if table.get("kind").is_some_and(|kind| kind.as_text() == Some(DRIVE)) {
            self.device(table, &place.path.step("device"));
        }
        for policy in POLICY_KEYS {
            name_alone(table, policy);
        }
        plugin::document::expand_policies(table, self.catalog.loader());
        if let Some(spin_down) = table.get_mut("spin_down").filter(|node| is_timeout_alone(node)) {
            let path = place.path.step("spin_down").step("after_ms");
            let fault = Fault::missing(path).says(
                ": the idle time after which the device stops; write spin_down = { name = \"timeout\", after_ms = 5.0 }",
            );
            self.reject(spin_down, fault);
        }
        // In the order of the kinds: the order of keys must not affect the order of the citations.
        let mut children: Vec<_> = table.iter_mut().filter(|(key, _)| is_child(key, kinds)).collect();
        children.sort_by_key(|(key, _)| child_keys().position(|known| known == *key));
        for (key, child) in children {
            self.component(child, &place.child(place.path.step(key)));
        }
        let members = table.get_mut(MEMBERS).and_then(Node::as_list_mut).into_iter().flatten();
        for (entry, member) in members.enumerate() {
            wrap_member(member);
            if let Some(system) = member.get_mut("system") {
                let path = place.path.step(MEMBERS).step(entry).step("system");
                self.component(system, &place.child(path));
            }
        }
    }

    /// Reports a fault, and marks the value as rejected.
    fn reject(&mut self, node: &mut Node, fault: Fault) {
        self.found.push(fault);
        node.is_rejected = true;
    }

    /// Replaces a name by the component of that name, or by a drive with the device of that name.
    fn named(&mut self, node: &mut Node, name: String, place: &Place) {
        let Some(component) = self.components.get_mut(&name) else {
            let known: Vec<&str> = self.components.keys().map(String::as_str).collect();
            let hint = match known.as_slice() {
                [] => None,
                known => Some(format!("; and {COMPONENTS} has {}", known.join(", "))),
            };
            let origin = node.origin.inner();
            let keys = [("kind", Node::text(DRIVE, origin.clone())), ("device", Node::text(name, origin))];
            node.content = Content::Table(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
            let before = self.found.len();
            self.component(node, place);
            if let Some(hint) = hint {
                self.found.append_from(before, &hint);
            }
            return;
        };
        let defined = fault::Path::from(COMPONENTS).step(&name);
        if let Some(outer) = self.open.iter().position(|open| *open == name) {
            let chain: Vec<&str> = self.open[outer..].iter().map(String::as_str).chain([name.as_str()]).collect();
            let says =
                format!(" below it, which it is itself a part of ({}): leave one of them out", chain.join(" -> "));
            let fault = Fault::at(Kind::Conflict, fault::Path::from(COMPONENTS).step(chain[chain.len() - 2]))
                .says(" has ")
                .key(defined)
                .says(says);
            return self.reject(node, fault);
        }
        if let Some(other) = self.uses.insert(name.clone(), place.path.clone()) {
            let fault = Fault::at(Kind::Conflict, defined)
                .says(" is both ")
                .key(other)
                .says(" and ")
                .key(&place.path)
                .says(": a component has one place; give the other one a name of its own");
            return self.reject(node, fault);
        }
        // The component replaces its name; the text of its keys is at the definition.
        let written = self.root.join(&defined);
        node.content = std::mem::take(&mut component.content);
        node.origin.absent = Some(Box::new(component.origin.at(written.clone())));
        for (key, value) in node.as_table_mut().into_iter().flatten() {
            value.origin.written = Written::At(Arc::new(written.step(key)));
        }
        self.open.push(name.clone());
        self.component(node, place);
        self.open.pop();
        let origin = node.origin.inner();
        if let Some(table) = node.as_table_mut() {
            table.entry("name".into()).or_insert_with(|| Node::text(name, origin));
        }
    }

    /// Completes the device of a drive from its entry.
    fn device(&mut self, drive: &mut Table, path: &fault::Path) {
        name_alone(drive, "device");
        let Some(node) = drive.get_mut("device") else { return };
        if let Err(faults) = self.fill_device(node, path) {
            self.found.extend(faults);
            node.is_rejected = true;
        }
    }

    fn fill_device(&mut self, node: &mut Node, path: &fault::Path) -> Result<(), Faults> {
        let Some(device) = node.as_table_mut() else { return Ok(()) };
        drawing_of_name(device, self.base);
        if plugin::document::expand_device(device, self.catalog.loader()) {
            return Ok(());
        }
        let label = draw(device, path, self.catalog, self.base)?;
        let Some(given) = device.get("name") else {
            let says = ": a device of the catalogue, or the path of a device file; or else give the device's drawing";
            return Err(Fault::missing(path.step("name")).says(says).into());
        };
        let Some(name) = given.as_text().map(str::to_owned) else {
            return Err(Fault::wrong_type(path.step("name"), given.to_value(), "a string").into());
        };
        let entry = match self.catalog.entry(Subject::Device, &name, self.base) {
            Ok(entry) => entry,
            // A device with all keys needs no entry; its name is only a label.
            Err(faults) => match missing(device).filter(|_| !is_file(&name)) {
                Some(keys) if keys.is_empty() => return Ok(()),
                Some(keys) => {
                    let says = format!("; a complete device also needs {}", keys.join(", "));
                    return Err(faults.into_iter().map(|fault| below(fault.says(says.as_str()), path)).collect());
                }
                None => return Err(faults.into_iter().map(|fault| below(fault, path)).collect()),
            },
        };
        entry.check_units()?;
        if !device.contains_key("mechanism") {
            device.insert("mechanism".into(), entry.mechanism_node());
        }
        let absent = place_of_absent_keys(&name, &entry);
        self.fill(device, &name, entry);
        if let (Some(label), Some(name)) = (label, device.get_mut("name")) {
            name.content = Content::Text(label);
        }
        node.origin.absent = absent;
        Ok(())
    }
}

/// Returns the place to add keys that an entry lacks, if it is a file of the user's: its table `values`.
fn place_of_absent_keys(name: &str, entry: &Entry) -> Option<Box<Origin>> {
    is_file(name).then(|| Box::new(Origin { written: Written::In("values"), ..entry.origin.clone() }))
}

/// Moves a device's name that refers to a drawing to the key `drawing`; other keys of the drawing have precedence.
fn drawing_of_name(device: &mut Table, base: &Path) {
    let Some(name) = device.get("name") else { return };
    let Some(drawing) = name.as_text().and_then(|name| drawing_named(name, base)) else { return };
    let drawing = Node::text(drawing, name.origin.clone());
    match device.get_mut(DRAWING).map(Node::as_table_mut) {
        None => drop(device.insert(DRAWING.into(), drawing)),
        Some(Some(keys)) if !keys.contains_key(DRAWING) => drop(keys.insert(DRAWING.into(), drawing)),
        Some(_) => return,
    }
    device.shift_remove("name");
}

/// Replaces a drawing by the device made from it. Values of the scenario have precedence. Returns a label with the drawing and the
/// changes to it.
fn draw(device: &mut Table, path: &fault::Path, catalog: &Catalog, base: &Path) -> Result<Option<String>, Faults> {
    let Some(drawing) = device.get(DRAWING) else { return Ok(None) };
    let at = path.step(DRAWING);
    if let Some(name) = device.get("name") {
        let fault = Fault::conflict(path.step("name"), name.to_value()).says(" and ").key(&at);
        return Err(fault.says(" both say which device it is: leave out one of them").into());
    }
    let (drawing, origin) = (drawing.to_value(), drawing.origin.inner());
    let made = catalog
        .loader()
        .map_or_else(|| Err(Faults::from(no_drawings())), |loader| loader.device_from_drawing(&drawing, base));
    let of_drawing = |fault: Fault| if fault.location.file.is_some() { fault } else { fault.of_key(&at) };
    let mut made = made.map_err(|faults| faults.into_iter().map(of_drawing).collect::<Faults>())?;
    device.shift_remove(DRAWING);
    let label = made.remove("label").map(|label| labelled(label.as_str().unwrap_or_default(), device));
    for (key, value) in made {
        device.entry(key).or_insert_with(|| Node::of_value(value, &origin));
    }
    Ok(label)
}

/// Adds the values of a device that override those of its drawing to the label of the drawing.
fn labelled(label: &str, beside: &Table) -> String {
    let beside = beside.iter().filter(|(key, _)| key.as_str() != "mechanism");
    let mut changes: Vec<String> = beside
        .map(|(key, node)| {
            node.as_text().map_or_else(|| format!("{key} {}", node.to_value()), |text| format!("{key} {text}"))
        })
        .collect();
    if changes.len() > MOST_CHANGES {
        changes = vec![format!("{} other values", changes.len())];
    }
    let joined = if label.contains(" with ") { ", " } else { " with " };
    if changes.is_empty() {
        label.to_owned()
    } else {
        format!("{label}{joined}{}", changes.join(", "))
    }
}

/// Wraps a member that is a component, or has its keys beside `count`, in a table with the key `system`.
fn wrap_member(member: &mut Node) {
    let mut rest = match &mut member.content {
        Content::Text(_) => Table::new(),
        Content::Table(keys) if !keys.contains_key("system") => keys.shift_remove_entry("count").into_iter().collect(),
        _ => return,
    };
    let origin = Origin { written: Written::There, ..member.origin.inner() };
    rest.insert("system".into(), Node::new(std::mem::take(&mut member.content), origin));
    member.content = Content::Table(rest);
}

/// Removes the keys that identify a device, if `key` sets another name, drawing or location of a custom mechanism.
pub(in crate::scenario) fn make_room(device: &mut Table, key: &str) {
    if key != "name" && key != DRAWING && !LOCATION_KEYS.contains(&key) {
        return;
    }
    let is_custom = LOCATION_KEYS.iter().any(|location| *location == key || device.contains_key(*location));
    let of_custom = DERIVED_KEYS.iter().chain(&LOCATION_KEYS).chain(&["mechanism"]).filter(|_| is_custom);
    let others = ["name", DRAWING].iter().chain(of_custom).filter(|other| **other != key);
    others.for_each(|other| drop(device.shift_remove(*other)));
}

/// Replaces a name by a table with the key `name`.
fn name_alone(parent: &mut Table, key: &str) {
    if let Some(node) = parent.get_mut(key).filter(|node| node.as_text().is_some()) {
        *node = std::mem::take(node).wrap("name");
    }
}

/// Returns true for a timeout policy without its timeout.
fn is_timeout_alone(spin_down: &Node) -> bool {
    spin_down.as_table().is_some_and(|table| table.len() == 1) && spin_down.text_at("name") == Some("timeout")
}

/// Returns true if a kind of component has a child at this key.
pub(super) fn is_child(key: &str, more: &[ComponentKind]) -> bool {
    let states = |kind: &ComponentKind| match kind.children {
        ChildKeys::Keyed(keys) => keys.iter().any(|known| known.name == key),
        ChildKeys::Members => false,
    };
    is_child_key(key) || more.iter().any(states)
}

/// Puts a fault of an entry below `path`, unless it has a file.
fn below(fault: Fault, path: &fault::Path) -> Fault {
    if fault.location.file.is_some() {
        fault
    } else {
        fault.within(path)
    }
}

/// Returns the missing keys of a device that is not in the catalogue; `None` if it has no known mechanism.
fn missing(device: &Table) -> Option<Vec<&'static str>> {
    let option = device_option(device.get("mechanism")?.as_text()?)?;
    let required = option["required"].as_array()?.iter().filter_map(Value::as_str);
    Some(required.filter(|key| !device.contains_key(*key)).collect())
}
