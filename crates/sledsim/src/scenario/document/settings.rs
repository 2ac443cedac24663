//! Settings (`path=value`) that override a document, and merging of tables.

use std::sync::Arc;

use serde_json::Value;

use super::expand::{make_room, DRAWING};
use super::node::{Content, Node, Origin, Source, SourceKind, Table};
use super::notation::value_of_setting;
use crate::fault::{self, Fault, Kind};
use crate::limits::NESTING;
use crate::plugin::{self, LOCATION_KEYS};
use crate::scenario::specs::system::{is_child_key, MEMBERS};

/// Keys that determine the kind of a table, and so its other keys, as those of [`LOCATION_KEYS`] do.
const KINDS: [&str; 2] = ["curve", "kind"];

/// A value that overrides one of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `path=value`. The value is TOML, or plain text if it is not valid TOML.
    Text(String),
    /// A dotted path and its value.
    Value(String, Value),
}

impl From<&str> for Setting {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Setting {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&Self> for Setting {
    fn from(setting: &Self) -> Self {
        setting.clone()
    }
}

/// Keys with which the path of a setting may start.
pub(super) struct Keys<'a> {
    /// Keys at the top of the document.
    pub top: &'a [&'a str],
    /// For a scenario, the keys of its system, whose prefix `system.` is optional. `None` for other documents, which
    /// have no short forms.
    pub of_system: Option<&'a [&'a str]>,
}

/// Applies a setting to a document. The path has dots between its keys; list entries are numbered from 0. The value is
/// TOML, or plain text if it is not valid TOML.
///
/// # Errors
/// The setting has no `=`, its path leads through a value that is neither a table nor a list, or a number is not
/// finite.
pub(super) fn apply(document: &mut Node, given: &str, setting: &str, keys: &Keys<'_>) -> Result<(), Fault> {
    let source = Source::new(given, SourceKind::Setting);
    let split = setting.split_once('=').ok_or_else(|| {
        let example = if keys.of_system.is_some() { "device.settle_constants=0" } else { "seed=7" };
        Fault::new(Kind::Notation).says(format!("expected path=value, for example {example}"))
    });
    let applied = split.and_then(|(path, text)| put(document, path, Given::Text(text.trim()), &source, keys));
    applied.map_err(|fault| of_setting(fault, given))
}

/// Applies a setting with a given value to a document.
///
/// # Errors
/// The path leads through a value that is neither a table nor a list.
pub(super) fn apply_value(document: &mut Node, path: &str, value: &Value, keys: &Keys<'_>) -> Result<(), Fault> {
    let given = format!("{path}={value}");
    let source = Source::new(&given, SourceKind::Setting);
    put(document, path, Given::Value(value), &source, keys).map_err(|fault| of_setting(fault, &given))
}

fn of_setting(mut fault: Fault, given: &str) -> Fault {
    fault.location.setting = Some(given.to_owned());
    fault
}

/// Returns the value of a setting.
#[derive(Clone, Copy)]
enum Given<'a> {
    Text(&'a str),
    Value(&'a Value),
}

impl Given<'_> {
    fn node(&self, source: &Arc<Source>) -> Result<Node, String> {
        match self {
            Self::Text(text) => value_of_setting(text, source),
            Self::Value(value) => Ok(Node::of_value((*value).clone(), &Origin::line_of(source, 0))),
        }
    }
}

/// Returns the keys of a setting's path.
fn keys_in(path: &str) -> Result<Vec<&str>, Fault> {
    let keys: Vec<&str> = path.trim().split('.').map(|key| key.trim().trim_matches('"')).collect();
    if keys.len() as u64 > NESTING.most {
        return Err(
            Fault::new(Kind::Notation).says(format!("tables and lists are nested deeper than {}", NESTING.most))
        );
    }
    if keys.iter().any(|key| key.is_empty()) {
        return Err(Fault::new(Kind::Notation).says(format!("{path:?} is no dotted path of keys")));
    }
    Ok(keys)
}

fn put(document: &mut Node, path: &str, value: Given<'_>, source: &Arc<Source>, known: &Keys<'_>) -> Result<(), Fault> {
    let is_scenario = known.of_system.is_some();
    let mut keys = keys_in(path)?;
    if !known.top.contains(&keys[0]) {
        let of_system = known.of_system.unwrap_or_default();
        if !of_system.contains(&keys[0]) {
            return Err(Fault::unknown_key(keys[0], known.top.iter().chain(of_system).copied()));
        }
        keys.insert(0, "system");
    }
    let path_to = |depth: usize| -> fault::Path { keys[..=depth].iter().collect() };
    let (mut place, mut depth) = (document, 0);
    while depth < keys.len() {
        let around = keys[..depth].last();
        let is_last = depth + 1 == keys.len();
        // Converts a device, drawing, drive or scheduler that is only a name to a table, so that its keys can be set.
        if is_scenario && place.as_text().is_some() {
            let key = match around {
                _ if is_component(&keys[..depth]) => "device",
                Some(&DRAWING) => DRAWING,
                _ => "name",
            };
            *place = std::mem::take(place).wrap(key);
        }
        if place.is_null() {
            *place = Node::table(Origin::line_of(source, 0));
        }
        let given =
            if matches!(place.content, Content::Table(_) | Content::List(_)) { Value::Null } else { place.to_value() };
        place = match &mut place.content {
            Content::Table(table) => {
                if let (true, true, Some(around)) = (is_scenario, is_last, around) {
                    if plugin::document::is_policy_key(around) {
                        plugin::document::clear_location(table, keys[depth]);
                    }
                    if *around == "device" {
                        make_room(table, keys[depth]);
                    }
                }
                // An existing key that contains dots has precedence.
                let end = (depth + 1..keys.len()).rev().find(|&end| table.contains_key(&keys[depth..=end].join(".")));
                let end = end.unwrap_or(depth);
                let key = keys[depth..=end].join(".");
                depth = end;
                table.entry(key).or_default()
            }
            Content::List(items) => {
                let count = items.len();
                let item = keys[depth].parse::<usize>().ok().and_then(|index| items.get_mut(index));
                item.ok_or_else(|| {
                    let says = format!(" is no entry of a list: expected 0 to {}", count.max(1) - 1);
                    Fault::at(Kind::UnknownKey, path_to(depth)).says(says)
                })?
            }
            _ => {
                let says = format!(" can't be set inside {given}, which is not a table");
                return Err(Fault::at(Kind::WrongType, path_to(depth)).says(says));
            }
        };
        depth += 1;
    }
    *place = value.node(source).map_err(|says| {
        let mut fault = Fault::at(Kind::WrongType, path_to(keys.len() - 1)).says(format!(": {says}"));
        if let Given::Text(text) = value {
            fault.value = Some(text.into());
        }
        fault
    })?;
    Ok(())
}

/// Returns true if a path leads to a component.
fn is_component(path: &[&str]) -> bool {
    match path {
        ["system"] | ["components", _] | [.., MEMBERS, _] => true,
        [.., last] => path.len() > 1 && (*last == "system" || is_child_key(last)),
        [] => false,
    }
}

/// Merges a value with the one that it replaces. A table whose keys are list indices changes those entries; a table
/// without a kind (such as `curve`) changes only its own keys.
pub(super) fn overlay(given: Node, replaced: Node) -> Node {
    let Node { content, origin, .. } = given;
    let content = match (content, replaced.content) {
        (Content::Table(given), Content::List(items)) => overlay_list(given, items),
        (Content::Table(given), Content::Table(replaced))
            if KINDS.iter().chain(&LOCATION_KEYS).all(|kind| !given.contains_key(*kind)) =>
        {
            let mut merged = replaced;
            for (key, value) in given {
                // Replaced in place, so that the order of keys does not change.
                let place = merged.entry(key).or_default();
                *place = overlay(value, std::mem::take(place));
            }
            Content::Table(merged)
        }
        (given, _) => given,
    };
    Node::new(content, origin)
}

fn overlay_list(given: Table, mut items: Vec<Node>) -> Content {
    let index = |key: &str| key.parse::<usize>().ok().filter(|index| *index < items.len());
    if given.is_empty() || given.keys().any(|key| index(key).is_none()) {
        return Content::Table(given);
    }
    for (key, value) in given {
        if let Some(item) = key.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
            *item = overlay(value, std::mem::take(item));
        }
    }
    Content::List(items)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEYS: Keys<'_> = Keys { top: &["seed", "system"], of_system: Some(&["device", "scheduler"]) };

    fn node(value: Value) -> Node {
        Node::of_value(value, &Origin::default())
    }

    fn set(document: &mut Node, setting: &str) -> Result<(), Fault> {
        apply(document, setting, setting, &KEYS)
    }

    fn laid_over(given: Value, replaced: Value) -> Value {
        overlay(node(given), node(replaced)).to_value()
    }

    #[test]
    fn a_value_is_set_as_it_is() {
        let mut document = node(json!({"system": {"device": "g2"}}));
        for (path, value) in [("device.bit_nm", json!(50)), ("run.title", json!("1 = 1")), ("seed", json!(7))] {
            let keys = Keys { top: &["system", "run", "seed"], ..KEYS };
            apply_value(&mut document, path, &value, &keys).expect(path);
        }
        let expected =
            json!({"system": {"device": {"name": "g2", "bit_nm": 50}}, "run": {"title": "1 = 1"}, "seed": 7});
        assert_eq!(document.to_value(), expected);
        let fault = apply_value(&mut document, "seed.x", &json!([1]), &KEYS).expect_err("seed is a number");
        assert_eq!(fault.location.setting.as_deref(), Some("seed.x=[1]"));
    }

    #[test]
    fn settings_go_where_their_path_says() {
        let mut document = node(json!({"system": {"device": "g2"}}));
        for setting in ["seed=7", "device.bit_nm=50", "scheduler=sptf", "system.scheduler.weight = 0.5"] {
            set(&mut document, setting).expect(setting);
        }
        let expected = json!({
            "system": {"device": {"name": "g2", "bit_nm": 50}, "scheduler": {"name": "sptf", "weight": 0.5}}, "seed": 7
        });
        assert_eq!(document.to_value(), expected);
    }

    #[test]
    fn a_component_given_by_its_name_alone_is_a_drive() {
        let mut document =
            node(json!({"system": {"kind": "partition", "child": "g2", "members": ["g1", {"count": 2}]}}));
        for setting in ["system.child.scheduler=sptf", "system.members.0.device.bit_nm=50"] {
            set(&mut document, setting).expect(setting);
        }
        let system = &document.to_value()["system"];
        assert_eq!(system["child"], json!({"device": "g2", "scheduler": "sptf"}));
        assert_eq!(system["members"][0], json!({"device": {"name": "g1", "bit_nm": 50}}));
    }

    #[test]
    fn settings_that_lead_nowhere_are_refused() {
        let mut document = node(json!({"seed": 1}));
        for (setting, problem) in
            [("sead=1", "did you mean \"seed\""), ("seed", "path=value"), ("seed.x=1", "not a table")]
        {
            let error = set(&mut document, setting).expect_err(setting).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        for text in ["nan", "-inf", "+nan", "[1.0, nan]", "{ a = { b = inf } }"] {
            let error = set(&mut node(json!({})), &format!("seed={text}")).expect_err(text).to_string();
            assert!(error.contains("not a finite number"), "{error}");
        }
    }

    #[test]
    fn entries_of_lists_are_set_by_their_number() {
        let mut document = node(json!({"system": {"device": {"zones": [{"spares": 1}, {"spares": 2}]}}}));
        set(&mut document, "device.zones.1.spares=9").expect("an entry");
        assert_eq!(document.to_value()["system"]["device"]["zones"], json!([{"spares": 1}, {"spares": 9}]));
        for path in ["device.zones.2.spares=9", "device.zones.last.spares=9"] {
            let error = set(&mut document, path).expect_err(path).to_string();
            assert!(error.contains("expected 0 to 1"), "{error}");
        }
    }

    #[test]
    fn tables_change_a_part_of_what_they_replace() {
        let zones = json!([{"spares": 1, "slips": [3, 4]}, {"spares": 2}]);
        assert_eq!(
            laid_over(json!({"0": {"slips": {"1": 5}}}), zones.clone()),
            json!([{"spares": 1, "slips": [3, 5]}, {"spares": 2}])
        );
        // A missing entry is left for the schema check to report; a list replaces the whole list.
        assert_eq!(laid_over(json!({"2": {"spares": 1}}), zones.clone()), json!({"2": {"spares": 1}}));
        assert_eq!(laid_over(json!([]), zones), json!([]));
        let seek = json!({"curve": "linear", "single_ms": 1, "full_ms": 9});
        assert_eq!(
            laid_over(json!({"full_ms": 8}), seek.clone()),
            json!({"curve": "linear", "single_ms": 1, "full_ms": 8})
        );
        let constant = json!({"curve": "constant", "seek_ms": 8});
        assert_eq!(laid_over(constant.clone(), seek), constant);
    }
}
