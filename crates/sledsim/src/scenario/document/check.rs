//! Checks a document against the schema, so that every fault has the key, the value and what is allowed.
//!
//! The schema comes from the parameters' definitions; this file knows nothing of any of them.

use serde_json::{Map, Value};

use super::quantity;
use crate::fault::{Fault, Faults, Kind, Path, Range};

/// Checks `document` against `schema`; quantities with units are converted to numbers on the way.
///
/// # Errors
/// All that is wrong: each with its path, value, and what is allowed.
pub fn check(document: &mut Value, schema: &Value) -> Result<(), Faults> {
    Faults::none_of(faults(document, schema, &[]))
}

/// The same, but for what stands at `broken`: what is wrong there has been said.
pub(in crate::scenario) fn faults(document: &mut Value, schema: &Value, broken: &[Path]) -> Vec<Fault> {
    let definitions = schema.get("$defs").unwrap_or(&Value::Null);
    let mut checker = Checker { definitions, broken, found: Vec::new() };
    checker.value(document, schema, &Trail::Start, "");
    checker.found
}

/// Whether a part of a document is what `schema` defines by a name; quantities with units are converted as well.
pub(in crate::scenario) fn is_right(part: &mut Value, name: &str, schema: &Value) -> bool {
    let definitions = &schema["$defs"];
    let mut checker = Checker { definitions, broken: &[], found: Vec::new() };
    checker.value(part, &definitions[name], &Trail::Start, "");
    checker.found.is_empty()
}

/// The way to a value. Paths are made of it only where something is wrong.
enum Trail<'a> {
    Start,
    Key(&'a Trail<'a>, &'a str),
    Entry(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    fn path(&self) -> Path {
        match self {
            Self::Start => Path::default(),
            Self::Key(outer, key) => outer.path().step(key),
            Self::Entry(outer, entry) => outer.path().step(entry),
        }
    }
}

struct Checker<'a> {
    definitions: &'a Value,
    broken: &'a [Path],
    found: Vec<Fault>,
}

impl<'a> Checker<'a> {
    /// Checks one value; `unit` is the one that an enclosing key's name gives.
    fn value(&mut self, value: &mut Value, schema: &'a Value, trail: &Trail<'_>, unit: &'a str) {
        if !self.broken.is_empty() && self.broken.contains(&trail.path()) {
            return;
        }
        let schema = self.dereference(schema);
        let unit = schema.get("x-unit").and_then(Value::as_str).unwrap_or(unit);
        if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
            return match tag_of(options) {
                Some(tag) => self.tagged(value, options, tag, trail, unit),
                None => match options.iter().find(|option| value.is_object() && fits(value, option)) {
                    Some(table) => self.value(value, table, trail, unit),
                    None => self.found.extend(choice(value, options, trail)),
                },
            };
        }
        if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
            return self.any_of(value, options, trail, unit);
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            let options: Vec<Value> = options.iter().map(|option| serde_json::json!({ "const": option })).collect();
            return self.found.extend(choice(value, &options, trail));
        }
        let types = types_of(schema);
        if value.is_null() && types.contains(&"null") {
            return;
        }
        match types.first().copied().unwrap_or_default() {
            "object" => self.object(value, schema, trail, unit),
            "array" => self.array(value, schema, trail, unit),
            "number" => self.found.extend(number(value, schema, trail, unit, false)),
            "integer" => self.found.extend(number(value, schema, trail, unit, true)),
            "string" => match (schema.get("x-unit").and_then(Value::as_str), value.as_str()) {
                (Some(unit), _) => self.found.extend(quantity_text(value, schema, trail, unit)),
                (None, Some(given)) => {
                    let only = schema.get("const").and_then(Value::as_str).filter(|&only| only != given);
                    self.found.extend(only.map(|only| Fault::unknown_name(trail.path(), given, [only])));
                }
                (None, None) => self.wrong(trail, value, "a string"),
            },
            "boolean" if !value.is_boolean() => self.wrong(trail, value, "true or false"),
            _ => {}
        }
    }

    fn wrong(&mut self, trail: &Trail<'_>, value: &Value, expected: impl Into<String>) {
        self.found.push(Fault::wrong_type(trail.path(), value.clone(), expected));
    }

    fn dereference(&self, schema: &'a Value) -> &'a Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }

    /// An object whose variant the key `tag` names.
    fn tagged(&mut self, value: &mut Value, options: &'a [Value], tag: &str, trail: &Trail<'_>, unit: &'a str) {
        let names: Vec<&str> = options.iter().filter_map(|option| constant(option, tag)).collect();
        let Some(object) = value.as_object() else {
            return self.wrong(trail, value, format!("a table with {tag} = one of {}", names.join(", ")));
        };
        let at_tag = Trail::Key(trail, tag);
        let given = match object.get(tag) {
            Some(Value::String(given)) => given,
            Some(other) => return self.wrong(&at_tag, other, "a string"),
            None => return self.found.push(Fault::missing(at_tag.path()).one_of("", names)),
        };
        match options.iter().find(|option| constant(option, tag) == Some(given)) {
            Some(option) => self.value(value, option, trail, unit),
            None => self.found.push(Fault::unknown_name(at_tag.path(), given, names)),
        }
    }

    fn any_of(&mut self, value: &mut Value, options: &'a [Value], trail: &Trail<'_>, unit: &'a str) {
        if value.is_null() && options.iter().any(|option| types_of(self.dereference(option)).contains(&"null")) {
            return;
        }
        if options.iter().any(|option| option.get("const").is_some_and(|constant| constant == value)) {
            return;
        }
        let words: String =
            options.iter().filter_map(|option| option.get("const")).map(|word| format!(" or {word}")).collect();
        let substantial: Vec<&Value> = options
            .iter()
            .filter(|option| option.get("const").is_none() && types_of(self.dereference(option)) != ["null"])
            .collect();
        let fitting = substantial.iter().find(|option| fits(value, self.dereference(option)));
        let option = match (fitting, substantial.as_slice()) {
            (Some(option), _) | (None, [option]) => option,
            (None, []) => return self.wrong(trail, value, words),
            (None, several) => {
                let several: Vec<&str> = several.iter().map(|option| name_of(self.dereference(option))).collect();
                return self.wrong(trail, value, several.join(" or ") + &words);
            }
        };
        let before = self.found.len();
        self.value(value, option, trail, unit);
        if !words.is_empty() {
            let said = self.found.split_off(before).into_iter().map(|fault| fault.says(words.as_str()));
            self.found.extend(said.collect::<Vec<_>>());
        }
    }

    fn object(&mut self, value: &mut Value, schema: &'a Value, trail: &Trail<'_>, unit: &'a str) {
        let Some(object) = value.as_object_mut() else { return self.wrong(trail, value, "a table") };
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties");
        for (key, item) in object.iter_mut() {
            let at_key = Trail::Key(trail, key);
            match (properties.and_then(|properties| properties.get(key)), additional) {
                (Some(property), _) => self.value(item, property, &at_key, unit_of(key).unwrap_or(unit)),
                (None, Some(Value::Bool(false))) => {
                    let known = properties.unwrap_or(&none).keys().map(String::as_str);
                    self.found.push(Fault::unknown_key(at_key.path(), known));
                }
                (None, Some(property)) => self.value(item, property, &at_key, unit),
                (None, None) => {}
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !object.contains_key(*key)) {
            let property = properties.and_then(|properties| properties.get(key));
            let what = property.and_then(|property| property.get("description")).and_then(Value::as_str);
            let what = format!(": {}", what.unwrap_or("it has no default"));
            self.found.push(Fault::missing(trail.path().step(key)).says(what));
        }
    }

    fn array(&mut self, value: &mut Value, schema: &'a Value, trail: &Trail<'_>, unit: &'a str) {
        let Some(items) = value.as_array_mut() else { return self.wrong(trail, value, "a list") };
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let (count, least, most) = (items.len() as u64, bound("minItems").unwrap_or(0), bound("maxItems"));
        if count < least || most.is_some_and(|most| count > most) {
            let says = match most {
                Some(most) if most == least => format!(" has {count} entries: expected {most}"),
                Some(most) => format!(" has {count} entries: expected from {least} to {most}"),
                None if count == 0 => " is empty: it needs at least one entry".into(),
                None => format!(" has {count} entries: expected at least {least}"),
            };
            self.found.push(Fault::at(Kind::OutOfRange, trail.path()).says(says));
        }
        if let Some(schema) = schema.get("items") {
            for (index, item) in items.iter_mut().enumerate() {
                self.value(item, schema, &Trail::Entry(trail, index), unit);
            }
        }
    }
}

/// The property by which the options of a `oneOf` are told apart, if they are objects.
fn tag_of(options: &[Value]) -> Option<&str> {
    let properties = options.first()?.get("properties")?.as_object()?;
    properties.iter().find(|(_, property)| property.get("const").is_some()).map(|(name, _)| name.as_str())
}

/// The value that an option demands of `tag`.
fn constant<'a>(option: &'a Value, tag: &str) -> Option<&'a str> {
    option.get("properties")?.get(tag)?.get("const")?.as_str()
}

/// What is wrong with one of several words.
fn choice(value: &Value, options: &[Value], trail: &Trail<'_>) -> Option<Fault> {
    let words: Vec<&str> = options.iter().flat_map(words_of).collect();
    match value {
        Value::String(given) if words.contains(&given.as_str()) => None,
        Value::String(given) => Some(Fault::unknown_name(trail.path(), given, words)),
        other => Some(Fault::wrong_type(trail.path(), other.clone(), format!("one of {}", words.join(", ")))),
    }
}

/// The words an option of a choice stands for: one, or an enumeration of several.
fn words_of(option: &Value) -> Vec<&str> {
    match (option.get("const"), option.get("enum").and_then(Value::as_array)) {
        (Some(word), _) => word.as_str().into_iter().collect(),
        (None, Some(words)) => words.iter().filter_map(Value::as_str).collect(),
        (None, None) => Vec::new(),
    }
}

fn types_of(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a value is of the type of a schema.
fn fits(value: &Value, schema: &Value) -> bool {
    types_of(schema).iter().any(|name| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => value.is_number(),
    })
}

/// What a value of a schema's type is called.
fn name_of(schema: &Value) -> &'static str {
    match types_of(schema).first().copied().unwrap_or_default() {
        "object" => "a table",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    }
}

/// What is wrong with a quantity that stays the text it is, with its unit.
fn quantity_text(value: &Value, schema: &Value, trail: &Trail<'_>, unit: &str) -> Option<Fault> {
    let text = value.as_str().unwrap_or_default();
    match quantity::parse_with_unit(text, unit) {
        Ok(parsed) => {
            let range = range_of(schema, unit, false);
            let holds = parsed.is_finite() && range.holds(parsed);
            (!holds).then(|| Fault::out_of_range(trail.path(), value.clone(), range))
        }
        Err(expected) => {
            let example = schema.pointer("/examples/0").map(|example| format!(", such as {example}"));
            Some(Fault::wrong_type(trail.path(), value.clone(), expected + &example.unwrap_or_default()))
        }
    }
}

/// The bounds that a schema sets to a number.
fn range_of(schema: &Value, unit: &str, whole: bool) -> Range {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let is_word = schema.get("format").is_some_and(|format| format == "uint32");
    Range {
        least: bound("minimum"),
        above: bound("exclusiveMinimum"),
        most: bound("maximum").or(is_word.then_some(f64::from(u32::MAX))),
        below: bound("exclusiveMaximum"),
        whole,
        unit: unit.to_owned(),
    }
}

/// What is wrong with a number beyond those that a document holds: its key's bounds say so, where it has any there.
fn beyond(value: &Value, schema: &Value, trail: &Trail<'_>, unit: &str, whole: bool) -> Fault {
    let range = range_of(schema, unit, whole);
    if range.most.or(range.below).is_some() {
        return Fault::out_of_range(trail.path(), value.clone(), range);
    }
    let expected = Range { whole, unit: unit.to_owned(), ..Range::default() };
    let mut fault = Fault::wrong_type(trail.path(), value.clone(), format!("{expected} closer to 0"));
    fault.kind = Kind::OutOfRange;
    fault
}

/// Converts a quantity to a number, and says what is wrong with it.
#[expect(clippy::cast_possible_truncation, reason = "whole numbers below 9e15 are exact in both types")]
fn number(value: &mut Value, schema: &Value, trail: &Trail<'_>, unit: &str, whole: bool) -> Option<Fault> {
    if let Value::String(text) = value {
        let parsed = match quantity::parse(text, unit) {
            Ok(parsed) => parsed,
            Err(expected) => return Some(Fault::wrong_type(trail.path(), text.as_str(), expected)),
        };
        if !parsed.is_finite() {
            return Some(beyond(value, schema, trail, unit, whole));
        }
        let exact = whole && parsed.fract() == 0.0 && parsed.abs() < 9e15;
        *value = if exact { Value::from(parsed as i64) } else { Value::from(parsed) };
    }
    let wrong = |value: &Value| {
        let kind = Range { whole, unit: unit.to_owned(), ..Range::default() };
        Some(Fault::wrong_type(trail.path(), value.clone(), kind.to_string()))
    };
    let Some(given) = value.as_f64().filter(|number| number.is_finite()) else { return wrong(value) };
    if whole && !value.is_u64() && !value.is_i64() {
        if given.fract() != 0.0 {
            return wrong(value);
        }
        if given.abs() >= 9e15 {
            return Some(beyond(value, schema, trail, unit, whole));
        }
        // 1e6 is a whole number however it is written.
        *value = Value::from(given as i64);
    }
    if given == 0.0 && given.is_sign_negative() {
        *value = Value::from(0.0);
    }
    let range = range_of(schema, unit, whole);
    (!range.holds(given)).then(|| Fault::out_of_range(trail.path(), value.clone(), range))
}

/// The unit that a key's name ends in.
pub(in crate::scenario) fn unit_of(key: &str) -> Option<&'static str> {
    if key.contains("_per_") {
        return None;
    }
    [("_ms", "ms"), ("_s", "s"), ("_bytes", "B")]
        .iter()
        .find(|(suffix, _)| key.ends_with(suffix))
        .map(|(_, unit)| *unit)
}
