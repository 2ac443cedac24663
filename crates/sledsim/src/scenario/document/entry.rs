//! An entry of the catalogue, or a device or workload file: what its texts say, and where each value stands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{json, Map, Value};

use super::based::{Layer, Read, BASE};
use super::check;
use super::draft::overlay;
use super::resolve::schema;
use crate::fault::{self, Allowed, Fault, Kind};

/// The key of an entry's table of values.
const VALUES: &str = "values";

/// What says where a value is from, besides its `kind`.
const FACTS: [&str; 5] = ["unit", "source", "where", "note", "alternatives"];

/// How a value came about.
const KINDS: [&str; 3] = ["published", "derived", "assumed"];

/// What an entry describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A device.
    Device,
    /// A workload.
    Workload,
}

impl Subject {
    /// What it is called.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Workload => "workload",
        }
    }

    /// What its values are in the schema.
    const fn definition(self) -> &'static str {
        match self {
            Self::Device => "DeviceSpec",
            Self::Workload => "WorkloadSpec",
        }
    }

    /// The subject called so.
    ///
    /// # Errors
    /// No such subject.
    pub fn named(word: &str) -> Result<Self, Fault> {
        let known = [Self::Device, Self::Workload];
        let found = known.into_iter().find(|subject| subject.word() == word);
        found.ok_or_else(|| Fault::unknown_name("kind", word, known.map(Self::word)))
    }
}

/// A device or a workload of the catalogue: values for its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Kind of device; empty for a workload.
    pub mechanism: String,
    /// Requests that a workload stands for; none for a device.
    pub requests: Option<u64>,
    /// Value by key.
    pub values: Map<String, Value>,
    /// Unit by key, where the entry names one.
    pub units: BTreeMap<String, String>,
    /// Keys of the works it is taken from.
    pub citations: Vec<String>,
    /// What it says of itself, such as its title.
    about: Map<String, Value>,
    /// What it says of each value.
    facts: Map<String, Value>,
    /// Its texts, its own first.
    layers: Vec<Layer>,
}

/// What one text says.
struct Part {
    about: Map<String, Value>,
    /// A table for each value: itself, and what is said of it.
    values: Map<String, Value>,
}

impl Entry {
    /// The entry that a text makes with those below it.
    ///
    /// # Errors
    /// All that is wrong with any of them, each with file and line.
    pub(in crate::scenario) fn of(subject: Subject, chain: Vec<Read>) -> Result<Self, Vec<Fault>> {
        let (mut found, mut parts, mut layers) = (Vec::new(), Vec::new(), Vec::new());
        for read in chain {
            let mut wrong = Vec::new();
            parts.push(Part::of(subject, read.values, read.base.as_deref(), &mut wrong));
            found.extend(wrong.into_iter().map(|fault| read.layer.located(fault)));
            layers.push(read.layer);
        }
        let mut parts = parts.into_iter().zip(&layers).rev();
        let Some((mut whole, _)) = parts.next() else { return Err(found) };
        for (part, layer) in parts {
            let (own, lower) = (part.about.get("mechanism"), whole.about.get("mechanism"));
            if let (Some(own), Some(lower)) = (own, lower.filter(|lower| own.is_some_and(|own| own != *lower))) {
                let says = format!(" is not that of its base, which is {lower}");
                found.push(layer.located(Fault::conflict("mechanism", own.clone()).says(says)));
            }
            whole = part.over(whole);
        }
        let entry = whole.entry(layers);
        if !found.is_empty() {
            found.extend(entry.wrong_values(subject));
            return Err(found);
        }
        Ok(entry)
    }

    /// Its values that no scenario could have: what a scenario that names it would find, were nothing else wrong with it.
    fn wrong_values(&self, subject: Subject) -> Vec<Fault> {
        let is_own = |keys: &&Map<String, Value>| match subject {
            Subject::Device => keys["mechanism"]["const"] == self.mechanism,
            Subject::Workload => keys.contains_key(self.telling()),
        };
        let Some(keys) = options_of(subject).find(is_own) else { return Vec::new() };
        let definitions = &schema()["$defs"];
        let schema = json!({"type": "object", "properties": keys, "additionalProperties": false, "$defs": definitions});
        let found = check::faults(&mut Value::Object(self.values.clone()), &schema, &[]);
        let located = found.into_iter().map(|mut fault| {
            let below = fault.path.steps().to_vec();
            self.locate(&mut fault, &below);
            fault
        });
        located.collect()
    }

    /// Holds the units that it names to those of their keys, where they have one.
    ///
    /// # Errors
    /// Each unit that is another, and what else is wrong with its values.
    pub(in crate::scenario) fn check_units<'a>(
        &self,
        subject: Subject,
        unit_of: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), Vec<Fault>> {
        let wrong = |(key, unit): (&String, &String)| {
            let own = unit_of(key).filter(|own| own != unit)?;
            Some(self.wrong_unit(key, unit, own))
        };
        let mut found: Vec<Fault> = self.units.iter().filter_map(wrong).collect();
        if found.is_empty() {
            return Ok(());
        }
        found.extend(self.wrong_values(subject));
        Err(found)
    }

    /// The key of a workload's kind that its values have.
    pub(in crate::scenario) fn telling(&self) -> &'static str {
        if self.values.contains_key("streams") {
            "streams"
        } else {
            "arrival"
        }
    }

    /// Everything it says, each value with what is said of it.
    #[must_use]
    pub fn told(&self) -> Value {
        let mut told = self.about.clone();
        let described = |(key, value): (&String, &Value)| {
            let mut table = Map::from_iter([("value".to_owned(), value.clone())]);
            table.extend(self.facts.get(key).and_then(Value::as_object).cloned().unwrap_or_default());
            (key.clone(), Value::Object(table))
        };
        told.insert(VALUES.into(), self.values.iter().map(described).collect());
        told.insert("citations".into(), self.citations.clone().into());
        told.into()
    }

    /// Puts a fault of what the entry gave, `below` the table that it was given to, into its file.
    pub(in crate::scenario) fn locate(&self, fault: &mut Fault, below: &[String]) {
        let Some((key, rest)) = below.split_first() else {
            fault.file = Some(self.layers[0].source().to_owned());
            return;
        };
        if let (Kind::UnknownKey, Some(Allowed::Names(known))) = (fault.kind, &mut fault.allowed) {
            // What a device has beside its values, its file has elsewhere.
            known.retain(|key| !["kind", "mechanism", "name"].contains(&key.as_str()));
        }
        let top = fault::Path::default();
        let among = fault::Path::from(VALUES).step(key);
        // Where a value has a source it stands a table deeper, and on top of a base it may stand by itself.
        let places = [among.step("value"), among.clone(), top.step(key).step("value"), top.step(key)];
        for depth in (0..=rest.len()).rev() {
            for layer in &self.layers {
                let at = |place: &fault::Path| rest[..depth].iter().fold(place.clone(), |place, step| place.step(step));
                if let Some(place) = places.iter().find(|place| layer.has(&at(place))) {
                    let bare = place.steps().first().is_some_and(|first| first != VALUES);
                    let line = layer.located(Fault::at(Kind::Missing, at(place))).line;
                    let start = if bare { top.step(key) } else { among };
                    fault.path = rest.iter().fold(start, |path, step| path.step(step));
                    fault.file = Some(layer.source().to_owned());
                    fault.line = line;
                    return;
                }
            }
        }
        fault.path = rest.iter().fold(among, |path, step| path.step(step));
        fault.file = Some(self.layers[0].source().to_owned());
    }

    /// A value that is given in another unit than its key's.
    fn wrong_unit(&self, key: &str, unit: &str, own: &str) -> Fault {
        let mut fault = Fault::of(Kind::UnknownName, VALUES, unit).one_of(unit, [own]);
        self.locate(&mut fault, &[key.to_owned()]);
        fault.path = fault.path.step("unit");
        fault
    }
}

impl Part {
    /// What a text says, which may be based on another; adds what is wrong to `found`.
    fn of(subject: Subject, values: Value, base: Option<&str>, found: &mut Vec<Fault>) -> Self {
        let is_based = base.is_some();
        let Value::Object(mut about) = values else { return Self { about: Map::new(), values: Map::new() } };
        let mut values = Map::new();
        if let Some(Value::Object(given)) = about.get_mut(VALUES) {
            for (key, value) in std::mem::take(given) {
                let place = fault::Path::from(VALUES).step(&key);
                match described(value, is_based, &place, found) {
                    Some(value) => _ = values.insert(key, value),
                    None => found.push(Fault::missing(place.step("value"))),
                }
            }
        }
        let schema = if is_based { &subject.schemas()[1] } else { &subject.schemas()[0] };
        let known = schema["properties"].as_object();
        let is_own = |key: &String| known.is_some_and(|known| known.contains_key(key));
        if is_based {
            // A few keys on top of a base need no table.
            let bare: Vec<String> = about.keys().filter(|key| !is_own(key)).cloned().collect();
            for (key, value) in bare.into_iter().filter_map(|key| about.remove_entry(&key)) {
                let place = fault::Path::default().step(&key);
                if !subject.keys().contains(key.as_str()) {
                    let known = known.into_iter().flat_map(Map::keys).map(String::as_str);
                    found.push(Fault::unknown_key(place, known.chain(subject.keys().iter().copied())));
                } else if let Some(value) = described(value, is_based, &place, found) {
                    values.insert(key, value);
                }
            }
        }
        let mut about = Value::Object(about);
        found.extend(check::faults(&mut about, schema, &[]));
        let Value::Object(mut about) = about else { return Self { about: Map::new(), values } };
        about.remove(VALUES);
        if let Some(base) = base {
            about.entry("title").or_insert_with(|| format!("based on {base}").into());
        }
        Self { about, values }
    }

    /// This one with what `lower` says besides.
    fn over(self, lower: Self) -> Self {
        let cited = |about: &Map<String, Value>| about.get("citations").and_then(Value::as_array).cloned();
        let mut citations = cited(&self.about).unwrap_or_default();
        let more = cited(&lower.about).unwrap_or_default();
        citations.extend(more.into_iter().filter(|key| !citations.contains(key)).collect::<Vec<_>>());
        let mut about = lower.about;
        about.extend(self.about);
        about.insert("citations".into(), citations.into());
        let mut values = lower.values;
        for (key, own) in self.values {
            let own = match (own, values.remove(&key)) {
                (Value::Object(mut own), Some(Value::Object(mut below))) => {
                    if let (Some(value), Some(replaced)) = (own.remove("value"), below.remove("value")) {
                        own.insert("value".into(), overlay(value, replaced));
                    }
                    // The unit is that of the key; where a value is from, each says for itself.
                    if let (None, Some(unit)) = (own.get("unit"), below.remove("unit")) {
                        own.insert("unit".into(), unit);
                    }
                    Value::Object(own)
                }
                (own, _) => own,
            };
            values.insert(key, own);
        }
        Self { about, values }
    }

    /// The entry that it is when all below has been taken in.
    fn entry(self, layers: Vec<Layer>) -> Entry {
        let text = |key: &str| self.about.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let citations = self.about.get("citations").and_then(Value::as_array).into_iter().flatten();
        let mut entry = Entry {
            mechanism: text("mechanism"),
            requests: self.about.get("requests").and_then(Value::as_u64),
            citations: citations.filter_map(Value::as_str).map(str::to_owned).collect(),
            values: Map::new(),
            units: BTreeMap::new(),
            facts: Map::new(),
            about: self.about,
            layers,
        };
        for (key, value) in self.values {
            let Value::Object(mut facts) = value else { continue };
            if let Some(Value::String(unit)) = facts.get("unit") {
                entry.units.insert(key.clone(), unit.clone());
            }
            entry.values.insert(key.clone(), facts.remove("value").unwrap_or_default());
            entry.facts.insert(key, facts.into());
        }
        entry
    }
}

/// A value as a table with what is said of it; `None` where there should be one and is none. Adds what is wrong to `found`.
fn described(value: Value, is_based: bool, place: &fault::Path, found: &mut Vec<Fault>) -> Option<Value> {
    let Value::Object(table) = value else { return Some(json!({ "value": value })) };
    // A table that is of a kind of its own is itself a value, such as a distribution.
    let kind = table.get("kind").and_then(Value::as_str);
    let is_bare =
        kind.is_some_and(|kind| !KINDS.contains(&kind)) && !FACTS.iter().any(|fact| table.contains_key(*fact));
    if table.contains_key("value") && !is_bare {
        let mut table = Value::Object(table);
        found.extend(check::faults(&mut table, &DESCRIBED, &[]).into_iter().map(|fault| fault.within(place)));
        return Some(table);
    }
    (is_bare || is_based).then(|| json!({ "value": table }))
}

/// A value with what is said of it.
static DESCRIBED: LazyLock<Value> = LazyLock::new(|| {
    let mut keys = facts();
    let other = json!({"type": "object", "properties": facts(), "additionalProperties": false, "required": ["value"]});
    keys.insert("alternatives".into(), json!({"type": "array", "items": other}));
    json!({"type": "object", "properties": keys, "additionalProperties": false})
});

/// What may be said of a value.
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

impl Subject {
    /// What an entry may say: of one by itself, and of one that is based on another.
    fn schemas(self) -> &'static [Value; 2] {
        static DEVICE: LazyLock<[Value; 2]> = LazyLock::new(|| schemas(Subject::Device));
        static WORKLOAD: LazyLock<[Value; 2]> = LazyLock::new(|| schemas(Subject::Workload));
        match self {
            Self::Device => &DEVICE,
            Self::Workload => &WORKLOAD,
        }
    }

    /// Keys that values may be given for.
    fn keys(self) -> &'static BTreeSet<&'static str> {
        static DEVICE: LazyLock<BTreeSet<&str>> = LazyLock::new(|| keys_of(Subject::Device));
        static WORKLOAD: LazyLock<BTreeSet<&str>> = LazyLock::new(|| keys_of(Subject::Workload));
        match self {
            Self::Device => &DEVICE,
            Self::Workload => &WORKLOAD,
        }
    }
}

/// The keys of each kind of a subject; a custom mechanism has no entry.
fn options_of(subject: Subject) -> impl Iterator<Item = &'static Map<String, Value>> {
    let options = schema().pointer(&format!("/$defs/{}/oneOf", subject.definition())).and_then(Value::as_array);
    let options = options.into_iter().flatten().filter(|option| option["properties"]["mechanism"]["const"] != "custom");
    options.filter_map(|option| option["properties"].as_object())
}

fn keys_of(subject: Subject) -> BTreeSet<&'static str> {
    options_of(subject).flat_map(Map::keys).map(String::as_str).collect()
}

fn schemas(subject: Subject) -> [Value; 2] {
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
    [whole, based]
}
