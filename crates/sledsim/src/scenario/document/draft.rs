//! Scenario documents: TOML, YAML or JSON text, and single settings on top.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::based::Document;
use super::named_device::{make_room, DRAWING};
use super::resolve::{keys_of, keys_of_system, schema};
use super::strict::Strict;
use super::text::require_size;
use super::tree::COMPONENTS;
use crate::fault::{self, brief, Fault, Kind};
use crate::limits::NESTING;
use crate::plugin::{self, LOCATION_KEYS};
use crate::scenario::specs::system::is_child_key;

/// Keys that say which kind a table is, as those of [`LOCATION_KEYS`] do: its other keys are that kind's.
const KINDS: [&str; 2] = ["curve", "kind"];

/// A notation for scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Notation {
    /// The notation called `name`.
    ///
    /// # Errors
    /// No such notation.
    pub fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "toml" => Ok(Self::Toml),
            "yaml" | "yml" => Ok(Self::Yaml),
            "json" => Ok(Self::Json),
            _ => Err(Fault::unknown_name("format", name, ["toml", "yaml", "json"])),
        }
    }

    /// The notation of a file, by its ending.
    #[must_use]
    pub fn of_file(path: &Path) -> Option<Self> {
        Self::named(&path.extension()?.to_str()?.to_lowercase()).ok()
    }

    /// Reads a document.
    ///
    /// # Errors
    /// Text that is too large, or not of this notation: says line and column.
    pub fn read(self, text: &str, source: &str) -> Result<Value, Fault> {
        require_size(text.len()).map_err(|says| Fault::new(Kind::Unreadable).says(says).in_file(source))?;
        // Which mark some editors put at the beginning.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = match self {
            Self::Toml => read_toml(text),
            // Its reader looks for the end of everything that is open before it says a word.
            Self::Yaml if open_brackets(text.bytes()) > NESTING.most => Err(too_deep()),
            Self::Yaml => serde_yaml_ng::from_str(text)
                .map_err(|error| unread(error.to_string(), error.location().map(|location| location.line() as u64))),
            Self::Json => {
                serde_json::from_str(text).map_err(|error| unread(error.to_string(), Some(error.line() as u64)))
            }
        };
        // The other readers stop at depths of their own.
        let document = document.map(|Strict(document)| document).map_err(|fault| {
            if open_brackets(beside_texts(text)) > NESTING.most {
                too_deep()
            } else {
                fault
            }
        });
        match document.and_then(|document| if depth(&document) > NESTING.most { Err(too_deep()) } else { Ok(document) })
        {
            Ok(Value::Object(table)) => Ok(Value::Object(table)),
            Ok(Value::Null) => Ok(Value::Object(Map::new())),
            Ok(_) => Err(Fault::new(Kind::WrongType).in_file(source).says("expected a table of settings at the top")),
            Err(fault) => Err(fault.in_file(source)),
        }
    }
}

/// Tables and lists within each other. The notations' own readers stop at a little more than is allowed.
fn depth(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(table) => 1 + table.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// What stands neither within quotes nor in a remark.
fn beside_texts(text: &str) -> impl Iterator<Item = u8> + '_ {
    let (mut within, mut escaped) = (None, false);
    text.bytes().filter(move |&byte| match within {
        None => {
            within = matches!(byte, b'"' | b'\'' | b'#').then_some(byte);
            true
        }
        Some(begun) => {
            let ends = if begun == b'#' { byte == b'\n' } else { byte == begun && !escaped };
            escaped = begun == b'"' && byte == b'\\' && !escaped;
            if ends {
                within = None;
            }
            false
        }
    })
}

/// Most brackets that are open at once.
fn open_brackets(bytes: impl Iterator<Item = u8>) -> u64 {
    let (mut open, mut most) = (0_u64, 0);
    for byte in bytes {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

fn too_deep() -> Fault {
    Fault::new(Kind::Notation).says(format!("tables and lists are nested deeper than {}", NESTING.most))
}

fn read_toml(text: &str) -> Result<Strict, Fault> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        unread(error.to_string(), before.map(|before| before.matches('\n').count() as u64 + 1))
    })
}

/// What a notation's reader says: it shows the line itself.
fn unread(said: String, line: Option<u64>) -> Fault {
    let said: Vec<String> = said.trim_end().lines().map(brief).collect();
    Fault::new(Kind::Notation).says(said.join("\n")).on_line(line)
}

/// A scenario as written, or a device, before it is completed.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(in crate::scenario) document: Value,
    /// What messages call it.
    pub(in crate::scenario) source: String,
    /// What it was read from, which knows where each key stands.
    pub(in crate::scenario) read: Option<Arc<Document>>,
    /// The settings laid over it: the path that each has set, and the setting.
    pub(in crate::scenario) set: Vec<(String, String)>,
    /// What is wrong with it so far.
    pub(in crate::scenario) found: Vec<Fault>,
}

impl Draft {
    /// A draft that says what `document` does, which messages call `source`.
    pub fn new(document: Value, source: impl Into<String>) -> Self {
        Self { document, source: source.into(), read: None, set: Vec::new(), found: Vec::new() }
    }

    /// Reads a scenario, and what it is based on, named from `folder` on.
    ///
    /// # Errors
    /// Text that is not of this notation: says line and column. A base that can't be read.
    pub fn read(text: &str, notation: Notation, source: &str, folder: &Path) -> Result<Self, Fault> {
        Ok(Self::of(Document::read(text, notation, source, folder)?))
    }

    /// The scenario that a document is.
    #[must_use]
    pub fn of(document: Document) -> Self {
        let draft = Self::new(document.values().clone(), document.source());
        Self { read: Some(Arc::new(document)), ..draft }
    }

    /// What messages call it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The system that is one device, given by its name or by a table.
    pub fn of_device(device: Value, source: impl Into<String>) -> Self {
        Self::new(serde_json::json!({ "system": { "device": device } }), source)
    }

    /// Lays settings (`path=value`) over what is written; what is wrong with them is said when the draft is completed.
    #[must_use]
    pub fn set(mut self, settings: &[String]) -> Self {
        let top: Vec<&str> = keys_of(schema()).into_iter().chain([COMPONENTS]).collect();
        for setting in settings {
            let below_system = keys_of_system(&self.document, schema());
            match set(&mut self.document, setting, &top, &below_system) {
                Ok(path) => self.set.push((path, setting.clone())),
                Err(fault) => self.found.push(fault),
            }
        }
        self
    }
}

/// Applies a setting `path=value` to a scenario. The path is dotted; `system.` in front may be left out, and entries of
/// lists go by their number, from 0. The value is read as TOML, and as plain text where it is not TOML. Returns the path.
///
/// # Errors
/// A setting without `=`, a path through something that is neither a table nor a list, or a number that is not finite.
fn set(document: &mut Value, setting: &str, top: &[&str], below_system: &[&str]) -> Result<String, Fault> {
    let applied = apply(document, setting, top, Some(below_system), "device.settle_constants=0");
    applied.map_err(|fault| of(fault, setting))
}

/// Applies a setting to a document that is no scenario, with keys `top`; its keys may have dots in them. Returns the path.
///
/// # Errors
/// As for [`set`].
pub(in crate::scenario) fn set_key(document: &mut Value, setting: &str, top: &[&str]) -> Result<String, Fault> {
    apply(document, setting, top, None, "seed=7")
}

/// A fault of a setting.
fn of(mut fault: Fault, setting: &str) -> Fault {
    fault.setting = Some(setting.to_owned());
    fault
}

/// The keys of a setting's path, and its value's text.
fn parts<'a>(setting: &'a str, example: &str) -> Result<(Vec<&'a str>, &'a str), Fault> {
    let Some((path, text)) = setting.split_once('=') else {
        return Err(Fault::new(Kind::Notation).says(format!("expected path=value, for example {example}")));
    };
    let keys: Vec<&str> = path.trim().split('.').map(|key| key.trim().trim_matches('"')).collect();
    if keys.len() as u64 > NESTING.most {
        return Err(too_deep());
    }
    if keys.iter().any(|key| key.is_empty()) {
        return Err(Fault::new(Kind::Notation).says(format!("{path:?} is no dotted path of keys")));
    }
    Ok((keys, text.trim()))
}

fn apply(
    document: &mut Value,
    setting: &str,
    top: &[&str],
    below_system: Option<&[&str]>,
    example: &str,
) -> Result<String, Fault> {
    let (mut keys, text) = parts(setting, example)?;
    if !top.contains(&keys[0]) {
        let below_system = below_system.unwrap_or_default();
        if !below_system.contains(&keys[0]) {
            return Err(Fault::unknown_key(keys[0], top.iter().chain(below_system).copied()));
        }
        keys.insert(0, "system");
    }
    let here = |depth: usize| keys[..=depth].iter().fold(fault::Path::default(), |path, key| path.step(key));
    let (mut place, mut depth) = (document, 0);
    while depth < keys.len() {
        // A device, a drawing, a drive or a scheduler given by its name alone becomes a table when one of its keys is set.
        if let (Value::String(name), Some(_)) = (&*place, below_system) {
            let alone = match keys[..depth].last() {
                _ if is_component(&keys[..depth]) => "device",
                Some(&DRAWING) => DRAWING,
                _ => "name",
            };
            *place = serde_json::json!({ alone: name });
        }
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        place = match place {
            Value::Object(table) => {
                if below_system.is_some()
                    && depth + 1 == keys.len()
                    && keys[..depth].last().is_some_and(|key| plugin::document::is_policy_key(key))
                {
                    plugin::document::clear_location(table, keys[depth]);
                }
                if below_system.is_some() && depth + 1 == keys.len() && keys[..depth].last() == Some(&"device") {
                    make_room(table, keys[depth]);
                }
                // What stands there as one key with dots is that one.
                let whole = (depth + 1..keys.len()).rev().find(|&end| table.contains_key(&keys[depth..=end].join(".")));
                let end = whole.unwrap_or(depth);
                let key = keys[depth..=end].join(".");
                depth = end;
                table.entry(key).or_insert(Value::Null)
            }
            Value::Array(items) => {
                let count = items.len();
                let item = keys[depth].parse::<usize>().ok().and_then(|index| items.get_mut(index));
                item.ok_or_else(|| {
                    let says = format!(" is no entry of a list: expected 0 to {}", count.max(1) - 1);
                    Fault::at(Kind::UnknownKey, here(depth)).says(says)
                })?
            }
            _ => {
                let says = format!(" can't be set inside {place}, which is not a table");
                return Err(Fault::at(Kind::WrongType, here(depth)).says(says));
            }
        };
        depth += 1;
    }
    *place = value_of(text).map_err(|says| {
        let mut fault = Fault::at(Kind::WrongType, here(keys.len() - 1)).says(format!(": {says}"));
        fault.value = Some(text.into());
        fault
    })?;
    Ok(keys.join("."))
}

/// Whether a path leads to a component.
fn is_component(path: &[&str]) -> bool {
    match path {
        ["system"] | ["components", _] | [.., "members", _] => true,
        [.., last] => path.len() > 1 && (*last == "system" || is_child_key(last)),
        [] => false,
    }
}

/// What a setting says; text that is not TOML stands for itself.
fn value_of(text: &str) -> Result<Value, String> {
    // The numbers of TOML that are none.
    if matches!(text.trim_start_matches(['+', '-']), "nan" | "inf") {
        return Err(format!("{text} is not a finite number"));
    }
    let Ok(table) = toml::from_str::<toml::Table>(&format!("value = {text}")) else {
        return Ok(Value::String(text.to_owned()));
    };
    let read = Strict::deserialize(toml::Value::Table(table)).map_err(|error| error.to_string())?;
    Ok(read.0.get("value").cloned().unwrap_or_default())
}

/// Completes a value that a scenario gives with the one that it replaces: a table in which a list's entries are named by
/// their numbers changes those entries, and a table that does not say which kind it is (`curve`) changes its keys alone.
pub(in crate::scenario) fn overlay(given: Value, replaced: Value) -> Value {
    match (given, replaced) {
        (Value::Object(given), Value::Array(items)) => overlay_list(given, items),
        (Value::Object(given), Value::Object(replaced))
            if KINDS.iter().chain(&LOCATION_KEYS).all(|kind| !given.contains_key(*kind)) =>
        {
            let mut merged = replaced;
            for (key, value) in given {
                // In the place of the other: the order of keys stays.
                let place = merged.entry(key).or_insert(Value::Null);
                *place = overlay(value, place.take());
            }
            Value::Object(merged)
        }
        (given, _) => given,
    }
}

fn overlay_list(given: Map<String, Value>, mut items: Vec<Value>) -> Value {
    let index = |key: &str| key.parse::<usize>().ok().filter(|index| *index < items.len());
    if given.is_empty() || given.keys().any(|key| index(key).is_none()) {
        return Value::Object(given);
    }
    for (key, value) in given {
        if let Some(item) = key.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
            *item = overlay(value, std::mem::take(item));
        }
    }
    Value::Array(items)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TOP: &[&str] = &["seed", "system"];
    const BELOW: &[&str] = &["device", "scheduler"];

    #[test]
    fn settings_go_where_their_path_says() {
        let mut document = json!({"system": {"device": "g2"}});
        for setting in ["seed=7", "device.bit_nm=50", "scheduler=sptf", "system.scheduler.weight = 0.5"] {
            set(&mut document, setting, TOP, BELOW).expect(setting);
        }
        let expected = json!({
            "system": {"device": {"name": "g2", "bit_nm": 50}, "scheduler": {"name": "sptf", "weight": 0.5}}, "seed": 7
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn a_component_given_by_its_name_alone_is_a_drive() {
        let mut document = json!({"system": {"kind": "partition", "child": "g2", "members": ["g1", {"count": 2}]}});
        for setting in ["system.child.scheduler=sptf", "system.members.0.device.bit_nm=50"] {
            set(&mut document, setting, TOP, BELOW).expect(setting);
        }
        assert_eq!(document["system"]["child"], json!({"device": "g2", "scheduler": "sptf"}));
        assert_eq!(document["system"]["members"][0], json!({"device": {"name": "g1", "bit_nm": 50}}));
    }

    #[test]
    fn settings_that_lead_nowhere_are_refused() {
        let mut document = json!({"seed": 1});
        assert!(set(&mut document, "sead=1", TOP, BELOW).unwrap_err().to_string().contains("did you mean \"seed\""));
        assert!(set(&mut document, "seed", TOP, BELOW).unwrap_err().to_string().contains("path=value"));
        assert!(set(&mut document, "seed.x=1", TOP, BELOW).unwrap_err().to_string().contains("not a table"));
    }

    #[test]
    fn numbers_that_are_none_are_refused_wherever_they_stand() {
        for text in ["nan", "-inf", "+nan", "[1.0, nan]", "{ a = { b = inf } }"] {
            let error = set(&mut json!({}), &format!("seed={text}"), TOP, BELOW).expect_err(text).to_string();
            assert!(error.contains("not a finite number"), "{error}");
        }
    }

    #[test]
    fn entries_of_lists_are_set_by_their_number() {
        let mut document = json!({"system": {"device": {"zones": [{"spares": 1}, {"spares": 2}]}}});
        set(&mut document, "device.zones.1.spares=9", TOP, BELOW).expect("an entry");
        assert_eq!(document["system"]["device"]["zones"], json!([{"spares": 1}, {"spares": 9}]));
        for path in ["device.zones.2.spares=9", "device.zones.last.spares=9"] {
            let error = set(&mut document, path, TOP, BELOW).expect_err(path).to_string();
            assert!(error.contains("expected 0 to 1"), "{error}");
        }
    }

    #[test]
    fn what_is_given_changes_a_part_of_what_it_replaces() {
        let zones = json!([{"spares": 1, "slips": [3, 4]}, {"spares": 2}]);
        assert_eq!(
            overlay(json!({"0": {"slips": {"1": 5}}}), zones.clone()),
            json!([{"spares": 1, "slips": [3, 5]}, {"spares": 2}])
        );
        // An entry that there is not is left for the check to name, and a list replaces the whole.
        assert_eq!(overlay(json!({"2": {"spares": 1}}), zones.clone()), json!({"2": {"spares": 1}}));
        assert_eq!(overlay(json!([]), zones), json!([]));
        let seek = json!({"curve": "linear", "single_ms": 1, "full_ms": 9});
        assert_eq!(
            overlay(json!({"full_ms": 8}), seek.clone()),
            json!({"curve": "linear", "single_ms": 1, "full_ms": 8})
        );
        let constant = json!({"curve": "constant", "seek_ms": 8});
        assert_eq!(overlay(constant.clone(), seek), constant);
    }

    #[test]
    fn every_notation_reads_the_same() {
        let toml = Notation::Toml.read("seed = 3\n[system]\ndevice = \"g2\"", "a").expect("valid");
        let yaml = Notation::Yaml.read("seed: 3\nsystem:\n  device: g2\n", "a").expect("valid");
        let json = Notation::Json.read(r#"{"seed": 3, "system": {"device": "g2"}}"#, "a").expect("valid");
        assert!(toml == yaml && yaml == json);
        let ordered = Notation::Toml.read("b = 1\na = 2\n[z]\n[y]", "a").expect("valid");
        assert_eq!(ordered.as_object().expect("a table").keys().collect::<Vec<_>>(), ["b", "a", "z", "y"]);
        assert!(Notation::Toml.read("seed = ", "a.toml").unwrap_err().to_string().starts_with("a.toml: "));
    }
}
