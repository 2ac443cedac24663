//! An entry of the catalogue, or a device or workload file: its values with their locations, and their description.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{json, Map, Value};

use super::check::{unit_of, Checker};
use super::document::{ReadText, BASE};
use super::node::{table_to_map, Content, Node, Origin, Table, Written};
use super::resolve::schema;
use super::settings::overlay;
use crate::fault::{Collector, Fault, Faults, Kind, Path};

/// The key of an entry's table of values.
const VALUES: &str = "values";

/// The keys of a value's source, except `kind`.
const FACTS: [&str; 5] = ["unit", "source", "where", "note", "alternatives"];

/// The origin of a value: published, measured, derived or assumed.
const KINDS: [&str; 4] = ["published", "measured", "derived", "assumed"];

/// The subject of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A device.
    Device,
    /// A workload.
    Workload,
}

impl Subject {
    /// Returns its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Workload => "workload",
        }
    }

    /// Returns the subject with a name.
    ///
    /// # Errors
    /// No such subject.
    pub fn named(word: &str) -> Result<Self, Fault> {
        let known = [Self::Device, Self::Workload];
        let found = known.into_iter().find(|subject| subject.word() == word);
        found.ok_or_else(|| Fault::unknown_name("kind", word, known.map(Self::word)))
    }
}

/// A device or a workload of the catalogue: the values of its keys.
#[derive(Clone, Debug)]
pub struct Entry {
    subject: Subject,
    /// Its merged texts: its description, and a table for each value with source and unit.
    about: Table,
    values: Table,
    /// Keys of the works that it cites.
    pub(in crate::scenario) citations: Vec<String>,
    /// Its own text.
    pub(in crate::scenario) origin: Origin,
}

/// One text of an entry.
struct Layer {
    about: Table,
    /// A table for each value: the value, its unit and source.
    values: Table,
    origin: Origin,
}

impl Entry {
    /// Returns the entry of a text and its bases.
    ///
    /// # Errors
    /// The faults of all texts, with file and line.
    pub(in crate::scenario) fn of(subject: Subject, chain: Vec<ReadText>) -> Result<Self, Faults> {
        let mut found = Collector::default();
        let mut layers =
            chain.into_iter().map(|text| Layer::of(subject, text, &mut found)).collect::<Vec<_>>().into_iter();
        let mut whole = layers.next_back().unwrap_or_else(|| Layer::new(Origin::default()));
        while let Some(layer) = layers.next_back() {
            whole = layer.over(whole, &mut found);
        }
        let citations = whole.about.get("citations").and_then(Node::as_list).into_iter().flatten();
        let citations = citations.filter_map(Node::as_text).map(str::to_owned).collect();
        let Layer { about, values, origin } = whole;
        let entry = Self { subject, about, values, citations, origin };
        if !found.is_empty() {
            // Further faults that a scenario with this entry would have.
            entry.check_values(&mut found);
        }
        found.into_result()?;
        Ok(entry)
    }

    /// Returns the kind of device; empty for a workload.
    #[must_use]
    pub fn mechanism(&self) -> &str {
        self.about.get("mechanism").and_then(Node::as_text).unwrap_or_default()
    }

    /// Returns the kind of device with its place.
    pub(in crate::scenario) fn mechanism_node(&self) -> Node {
        let mut node = self.about.get("mechanism").cloned().unwrap_or_default();
        node.origin.written = Written::In("");
        node
    }

    /// Returns the number of requests of a workload; `None` for a device.
    #[must_use]
    pub fn requests(&self) -> Option<u64> {
        match self.about.get("requests")?.content {
            Content::Number(ref number) => number.as_u64(),
            _ => None,
        }
    }

    /// Returns true if it has a value for a key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Returns the values with their places.
    pub(in crate::scenario) fn into_values(self) -> impl Iterator<Item = (String, Node)> {
        self.values.into_iter().map(|(key, mut described)| {
            let value = described.as_table_mut().and_then(|table| table.swap_remove("value")).unwrap_or_default();
            (key, value)
        })
    }

    /// Returns the key that determines the kind of a workload.
    pub(in crate::scenario) fn telling(&self) -> &'static str {
        if self.has("streams") {
            "streams"
        } else {
            "arrival"
        }
    }

    /// Returns the keys of its kind with their schemas; `None` for an unknown kind.
    fn properties(&self) -> Option<&'static Map<String, Value>> {
        match self.subject {
            Subject::Device => device_properties(self.mechanism()),
            Subject::Workload => options_of(self.subject).find(|keys| keys.contains_key(self.telling())),
        }
    }

    /// Checks the values against the schema.
    fn check_values(&self, found: &mut Collector) {
        let Some(properties) = self.properties() else { return };
        let mut values = Node::new(Content::Table(self.clone().into_values().collect()), self.origin.clone());
        let mut wrong = Collector::default();
        Checker::new(schema(), &mut wrong).properties(&mut values, properties);
        found.extend(wrong.map(|fault| values.locate(fault)).into_result().err().into_iter().flatten());
    }

    /// Checks the units of the values.
    ///
    /// # Errors
    /// The units that differ from those of their keys, and the faults of the values.
    pub(in crate::scenario) fn check_units(&self) -> Result<(), Faults> {
        let Some(properties) = self.properties() else { return Ok(()) };
        let mut found = Collector::default();
        for (key, described) in &self.values {
            let Some(property) = properties.get(key) else { continue };
            let by_name = (self.subject == Subject::Workload).then(|| unit_of(key)).flatten();
            let own = property.get("x-unit").and_then(Value::as_str).or(by_name).unwrap_or_default();
            let Some(unit) = described.get("unit") else { continue };
            let Some(given) = unit.as_text().filter(|&given| given != own) else { continue };
            let path = described.path_of(key).step("unit");
            let fault = Fault::of(Kind::UnknownName, Path::default(), given).one_of(given, [own]);
            found.push(Node::new(Content::Null, unit.origin.at(path)).locate(fault));
        }
        if found.is_empty() {
            return Ok(());
        }
        self.check_values(&mut found);
        found.into_result()
    }

    /// Returns its content: each value with unit and source.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut whole = table_to_map(&self.about);
        whole.insert(VALUES.into(), table_to_map(&self.values).into());
        whole.insert("citations".into(), self.citations.clone().into());
        whole.into()
    }
}

impl Layer {
    fn new(origin: Origin) -> Self {
        Self { about: Table::new(), values: Table::new(), origin }
    }

    /// Reads a text, which may have a base, and adds faults to `found`.
    fn of(subject: Subject, text: ReadText, found: &mut Collector) -> Self {
        let ReadText { mut root, base, .. } = text;
        let is_based = base.is_some();
        let mut wrong = Collector::default();
        let mut layer = Self::new(root.origin.clone());
        let schema = if is_based { &subject.schemas().based } else { &subject.schemas().whole };
        let known = schema["properties"].as_object();
        let mut stated = Vec::new();
        if let Some(table) = root.as_table_mut() {
            if let Some(Content::Table(values)) = table.get_mut(VALUES).map(|values| &mut values.content) {
                stated.extend(std::mem::take(values).into_iter().map(|(key, value)| (VALUES, key, value)));
            }
            if is_based {
                // A few keys on top of a base need no table.
                let is_bare = |key: &&String| {
                    subject.keys().contains(key.as_str()) && known.is_none_or(|known| !known.contains_key(*key))
                };
                let bare: Vec<String> = table.keys().filter(is_bare).cloned().collect();
                let bare = bare.into_iter().filter_map(|key| table.shift_remove_entry(&key));
                stated.extend(bare.map(|(key, value)| ("", key, value)));
            }
        }
        for (table, key, mut value) in stated {
            value.origin.written = Written::In(table);
            if let Some(value) = described(value, is_based, &key, &mut wrong) {
                layer.values.insert(key, value);
            }
        }
        let mut about = Collector::default();
        Checker::new(schema, &mut about).value(&mut root, schema);
        let about = about.map(|mut fault| {
            if is_based && fault.kind == Kind::UnknownKey && fault.location.path.steps().len() == 1 {
                let known = known.into_iter().flat_map(Map::keys).map(String::as_str);
                fault = Fault::unknown_key(fault.location.path.clone(), known.chain(subject.keys().iter().copied()));
            }
            root.locate(fault)
        });
        found.extend(wrong.into_result().err().into_iter().flatten());
        found.extend(about.into_result().err().into_iter().flatten());
        if let Some(table) = root.as_table_mut() {
            table.shift_remove(VALUES);
            layer.about = std::mem::take(table);
        }
        if let Some(base) = base {
            let title = || Node::text(format!("based on {base}"), Origin::default());
            layer.about.entry("title".into()).or_insert_with(title);
        }
        layer
    }

    /// Returns this text over its base `lower`.
    fn over(self, lower: Self, found: &mut Collector) -> Self {
        let kind = |about: &Table| about.get("mechanism").cloned();
        if let (Some(own), Some(below)) = (kind(&self.about), kind(&lower.about)) {
            if own.as_text() != below.as_text() {
                let says = format!(" is not that of its base, which is {}", below.to_value());
                let fault = Fault::conflict(Path::default(), own.to_value()).says(says);
                found.push(Node::new(Content::Null, own.origin.at("mechanism".into())).locate(fault));
            }
        }
        let cited =
            |about: &Table| about.get("citations").and_then(Node::as_list).map(<[Node]>::to_vec).unwrap_or_default();
        let mut citations = cited(&self.about);
        for more in cited(&lower.about) {
            if citations.iter().all(|known| known.as_text() != more.as_text()) {
                citations.push(more);
            }
        }
        let mut about = lower.about;
        about.extend(self.about);
        about.insert("citations".into(), Node::new(Content::List(citations), Origin::default()));
        let mut values = lower.values;
        for (key, mut own) in self.values {
            let below = values.get_mut(&key).and_then(Node::as_table_mut).map(std::mem::take);
            if let (Some(table), Some(mut below)) = (own.as_table_mut(), below) {
                if let (Some(value), Some(replaced)) = (table.get_mut("value"), below.swap_remove("value")) {
                    *value = overlay(std::mem::take(value), replaced);
                }
                // The unit is that of the key; each value has its own source.
                if let (None, Some(unit)) = (table.get("unit"), below.swap_remove("unit")) {
                    table.insert("unit".into(), unit);
                }
            }
            values.insert(key, own);
        }
        Self { about, values, origin: self.origin }
    }
}

/// Returns the value of a key as a table with unit and source; `None` if it is not such a table. Adds faults to `found`.
fn described(node: Node, is_based: bool, key: &str, found: &mut Collector) -> Option<Node> {
    let Content::Table(table) = &node.content else { return Some(bare(node)) };
    // A table with a kind is itself a value, such as a distribution.
    let kind = table.get("kind").and_then(Node::as_text);
    let is_bare =
        kind.is_some_and(|kind| !KINDS.contains(&kind)) && !FACTS.iter().any(|fact| table.contains_key(*fact));
    if table.contains_key("value") && !is_bare {
        let mut described = node;
        let mut wrong = Collector::default();
        if !Checker::new(&DESCRIBED, &mut wrong).value(&mut described, &DESCRIBED) {
            let at = Node { origin: described.origin.at(described.path_of(key)), ..described.clone() };
            found.extend(wrong.map(|fault| at.locate(fault)).into_result().err().into_iter().flatten());
        }
        let written = described.origin.written.clone();
        if let Some(value) = described.get_mut("value") {
            value.origin.written = written;
        }
        return Some(described);
    }
    if is_bare || is_based {
        return Some(bare(node));
    }
    let at = Node::new(Content::Null, node.origin.at(node.path_of(key)));
    found.push(at.locate(Fault::missing("value")));
    None
}

/// Returns a value without unit and source.
fn bare(value: Node) -> Node {
    let origin = value.origin.clone();
    Node::new(Content::Table(Table::from_iter([("value".to_owned(), value)])), origin)
}

/// Returns the schema of a value with unit and source.
static DESCRIBED: LazyLock<Value> = LazyLock::new(|| {
    let mut keys = facts();
    let other = json!({"type": "object", "properties": facts(), "additionalProperties": false, "required": ["value"]});
    keys.insert("alternatives".into(), json!({"type": "array", "items": other}));
    json!({"type": "object", "properties": keys, "additionalProperties": false})
});

/// Returns the keys of a value with unit and source.
fn facts() -> Map<String, Value> {
    let mut keys = texts(&["unit", "source", "where", "note"]);
    keys.insert("value".into(), json!({}));
    keys.insert("kind".into(), json!({ "enum": KINDS }));
    keys
}

/// Keys that are texts.
fn texts(keys: &[&str]) -> Map<String, Value> {
    keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect()
}

/// The schemas of entries.
struct Schemas {
    /// The schema of an entry without a base.
    whole: Value,
    /// The schema of an entry with a base.
    based: Value,
}

impl Subject {
    fn schemas(self) -> &'static Schemas {
        static DEVICE: LazyLock<Schemas> = LazyLock::new(|| schemas(Subject::Device));
        static WORKLOAD: LazyLock<Schemas> = LazyLock::new(|| schemas(Subject::Workload));
        match self {
            Self::Device => &DEVICE,
            Self::Workload => &WORKLOAD,
        }
    }

    /// Returns the keys that can have values.
    fn keys(self) -> &'static BTreeSet<&'static str> {
        static DEVICE: LazyLock<BTreeSet<&str>> = LazyLock::new(|| keys_of(Subject::Device));
        static WORKLOAD: LazyLock<BTreeSet<&str>> = LazyLock::new(|| keys_of(Subject::Workload));
        match self {
            Self::Device => &DEVICE,
            Self::Workload => &WORKLOAD,
        }
    }
}

/// Returns the kinds of a subject in the schema.
fn all_options(subject: Subject) -> impl Iterator<Item = &'static Value> {
    let definition = match subject {
        Subject::Device => "DeviceSpec",
        Subject::Workload => "WorkloadSpec",
    };
    schema()["$defs"][definition]["oneOf"].as_array().into_iter().flatten()
}

/// Returns the keys of each kind of a subject. A custom mechanism has no entry.
fn options_of(subject: Subject) -> impl Iterator<Item = &'static Map<String, Value>> {
    let options = all_options(subject).filter(|option| option["properties"]["mechanism"]["const"] != "custom");
    options.filter_map(|option| option["properties"].as_object())
}

/// Returns the schema of a kind of device; `None` for an unknown kind.
pub(in crate::scenario) fn device_option(mechanism: &str) -> Option<&'static Value> {
    all_options(Subject::Device).find(|option| option["properties"]["mechanism"]["const"] == mechanism)
}

/// Returns the keys of a kind of device with their schemas; `None` for an unknown kind.
pub(in crate::scenario) fn device_properties(mechanism: &str) -> Option<&'static Map<String, Value>> {
    device_option(mechanism)?["properties"].as_object()
}

fn keys_of(subject: Subject) -> BTreeSet<&'static str> {
    options_of(subject).flat_map(Map::keys).map(String::as_str).collect()
}

fn schemas(subject: Subject) -> Schemas {
    let word = subject.word();
    let mut keys = texts(&[BASE, "title", "description"]);
    keys.insert("citations".into(), json!({"type": "array", "items": {"type": "string"}}));
    let values = format!("the table of the {word}'s parameters");
    keys.insert(VALUES.into(), json!({"type": "object", "description": values}));
    let required = match subject {
        Subject::Device => {
            let kinds: Vec<&Value> = options_of(subject).map(|option| &option["mechanism"]["const"]).collect();
            let kind = json!({"enum": kinds, "description": "the kind of device, for example \"mems\""});
            keys.insert("mechanism".into(), kind);
            json!(["mechanism", VALUES])
        }
        Subject::Workload => {
            keys.extend(texts(&["stands_in_for", "measured_on"]));
            keys.insert("requests".into(), json!({"type": "integer", "minimum": 1}));
            keys.insert("disks".into(), json!({"type": "integer", "minimum": 1}));
            let rows = |keys: Map<String, Value>| json!({"type": "array", "items": {"type": "object", "properties": keys, "additionalProperties": false}});
            let mut reached = texts(&["id", "what", "unit", "reached", "source", "where", "note"]);
            reached.extend([("published".to_owned(), json!({})), ("matched".to_owned(), json!({"type": "boolean"}))]);
            keys.insert("statistics".into(), rows(reached));
            keys.insert("assumptions".into(), rows(texts(&["what", "value", "why"])));
            json!([VALUES])
        }
    };
    let whole = json!({"type": "object", "properties": keys, "additionalProperties": false, "required": required});
    let mut based = whole.clone();
    based["required"] = json!([]);
    Schemas { whole, based }
}
