//! Checks a document against the schema, so that every message names the key, the value and what is allowed.
//!
//! The schema comes from the parameters' definitions; this file knows nothing of any of them.

use serde_json::{Map, Value};

use super::error::did_you_mean;
use super::quantity;

/// Checks `document` against `schema`; quantities with units are converted to numbers on the way.
///
/// # Errors
/// The first thing wrong: its path, value, and what is allowed.
pub fn check(document: &mut Value, schema: &Value) -> Result<(), String> {
    let checker = Checker { definitions: schema.get("$defs").unwrap_or(&Value::Null) };
    checker.value(document, schema, "", "")
}

struct Checker<'a> {
    definitions: &'a Value,
}

impl Checker<'_> {
    /// Checks one value; `unit` is the one that an enclosing key's name gives.
    fn value(&self, value: &mut Value, schema: &Value, path: &str, unit: &str) -> Result<(), String> {
        let schema = self.dereference(schema);
        let unit = schema.get("x-unit").and_then(Value::as_str).unwrap_or(unit);
        if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
            return match tag_of(options) {
                Some(tag) => self.tagged(value, options, tag, path, unit),
                None => choice(value, options, path),
            };
        }
        if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
            return self.any_of(value, options, path, unit);
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            let options: Vec<Value> = options.iter().map(|option| serde_json::json!({ "const": option })).collect();
            return choice(value, &options, path);
        }
        let types = types_of(schema);
        if value.is_null() && types.contains(&"null") {
            return Ok(());
        }
        match types.first().copied().unwrap_or_default() {
            "object" => self.object(value, schema, path, unit),
            "array" => self.array(value, schema, path, unit),
            "number" => number(value, schema, path, unit, false),
            "integer" => number(value, schema, path, unit, true),
            "string" if !value.is_string() => Err(wrong(path, value, "a string")),
            "boolean" if !value.is_boolean() => Err(wrong(path, value, "true or false")),
            _ => Ok(()),
        }
    }

    fn dereference<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }

    /// An object whose variant the key `tag` names.
    fn tagged(&self, value: &mut Value, options: &[Value], tag: &str, path: &str, unit: &str) -> Result<(), String> {
        let names = || options.iter().filter_map(|option| constant(option, tag));
        let Some(object) = value.as_object() else {
            return Err(wrong(
                path,
                value,
                &format!("a table with {tag} = one of {}", names().collect::<Vec<_>>().join(", ")),
            ));
        };
        let tag_path = join(path, tag);
        let given = match object.get(tag) {
            Some(Value::String(given)) => given,
            Some(other) => return Err(wrong(&tag_path, other, "a string")),
            None => return Err(format!("{tag_path} is missing: one of {}", names().collect::<Vec<_>>().join(", "))),
        };
        match options.iter().find(|option| constant(option, tag) == Some(given)) {
            Some(option) => self.value(value, option, path, unit),
            None => Err(format!("{tag_path} = {given:?} is not known: {}", did_you_mean(given, names()))),
        }
    }

    fn any_of(&self, value: &mut Value, options: &[Value], path: &str, unit: &str) -> Result<(), String> {
        if value.is_null() && options.iter().any(|option| types_of(self.dereference(option)).contains(&"null")) {
            return Ok(());
        }
        if options.iter().any(|option| option.get("const").is_some_and(|constant| constant == value)) {
            return Ok(());
        }
        let words: Vec<String> =
            options.iter().filter_map(|option| option.get("const")).map(|word| format!(" or {word}")).collect();
        let substantial = options
            .iter()
            .find(|option| option.get("const").is_none() && types_of(self.dereference(option)) != ["null"]);
        match substantial {
            Some(option) => self.value(value, option, path, unit).map_err(|error| error + &words.concat()),
            None => Err(wrong(path, value, &words.concat())),
        }
    }

    fn object(&self, value: &mut Value, schema: &Value, path: &str, unit: &str) -> Result<(), String> {
        let Some(object) = value.as_object_mut() else { return Err(wrong(path, value, "a table")) };
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let additional = schema.get("additionalProperties");
        for (key, item) in object.iter_mut() {
            let path = join(path, key);
            match (properties.get(key), additional) {
                (Some(property), _) => self.value(item, property, &path, unit_of(key).unwrap_or(unit))?,
                (None, Some(Value::Bool(false))) => {
                    let known = properties.keys().map(String::as_str);
                    return Err(format!("unknown key {path}: {}", did_you_mean(key, known)));
                }
                (None, Some(property)) => self.value(item, property, &path, unit)?,
                (None, None) => {}
            }
        }
        for required in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !object.contains_key(required) {
                let what =
                    properties.get(required).and_then(|property| property.get("description")).and_then(Value::as_str);
                return Err(format!("{} is missing: {}", join(path, required), what.unwrap_or("it has no default")));
            }
        }
        Ok(())
    }

    fn array(&self, value: &mut Value, schema: &Value, path: &str, unit: &str) -> Result<(), String> {
        let Some(items) = value.as_array_mut() else { return Err(wrong(path, value, "a list")) };
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let (count, least, most) = (items.len() as u64, bound("minItems").unwrap_or(0), bound("maxItems"));
        if count < least || most.is_some_and(|most| count > most) {
            return Err(match most {
                Some(most) if most == least => format!("{path} has {count} entries: expected {most}"),
                Some(most) => format!("{path} has {count} entries: expected from {least} to {most}"),
                None if count == 0 => format!("{path} is empty: it needs at least one entry"),
                None => format!("{path} has {count} entries: expected at least {least}"),
            });
        }
        if let Some(schema) = schema.get("items") {
            for (index, item) in items.iter_mut().enumerate() {
                self.value(item, schema, &format!("{path}[{index}]"), unit)?;
            }
        }
        Ok(())
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

/// One of several words.
fn choice(value: &Value, options: &[Value], path: &str) -> Result<(), String> {
    let words: Vec<&str> = options.iter().flat_map(words_of).collect();
    match value {
        Value::String(given) if words.contains(&given.as_str()) => Ok(()),
        Value::String(given) => Err(format!("{path} = {given:?} is not allowed: {}", did_you_mean(given, words))),
        other => Err(wrong(path, other, &format!("one of {}", words.join(", ")))),
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

fn number(value: &mut Value, schema: &Value, path: &str, unit: &str, whole: bool) -> Result<(), String> {
    if let Value::String(text) = value {
        let parsed = quantity::parse(text, unit).map_err(|error| format!("{path} = {text:?}: {error}"))?;
        let exact = whole && parsed.fract() == 0.0 && parsed.abs() < 9e15;
        *value = if exact { Value::from(parsed as i64) } else { Value::from(parsed) };
    }
    let kind = if whole { "a whole number" } else { "a number" };
    let kind = if unit.is_empty() { kind.to_owned() } else { format!("{kind} ({unit})") };
    let Some(given) = value.as_f64().filter(|number| number.is_finite()) else { return Err(wrong(path, value, &kind)) };
    if whole && !value.is_u64() && !value.is_i64() {
        if given.fract() != 0.0 || given.abs() >= 9e15 {
            return Err(wrong(path, value, &kind));
        }
        // 1e6 is a whole number however it is written.
        *value = Value::from(given as i64);
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let (least, above) = (bound("minimum"), bound("exclusiveMinimum"));
    let is_word = schema.get("format").is_some_and(|format| format == "uint32");
    let most = bound("maximum").or(is_word.then_some(f64::from(u32::MAX)));
    let below = bound("exclusiveMaximum");
    let fits = least.is_none_or(|bound| given >= bound)
        && most.is_none_or(|bound| given <= bound)
        && above.is_none_or(|bound| given > bound)
        && below.is_none_or(|bound| given < bound);
    if fits {
        return Ok(());
    }
    let mut allowed: Vec<String> = Vec::new();
    allowed.extend(least.map(|bound| format!("at least {bound}")));
    allowed.extend(above.map(|bound| format!("above {bound}")));
    allowed.extend(most.map(|bound| format!("at most {bound}")));
    allowed.extend(below.map(|bound| format!("below {bound}")));
    Err(format!("{path} = {value} is out of range: expected {kind} {}", allowed.join(" and ")))
}

/// The unit that a key's name ends in.
pub(super) fn unit_of(key: &str) -> Option<&'static str> {
    if key.contains("_per_") {
        return None;
    }
    [("_ms", "ms"), ("_s", "s"), ("_bytes", "B")]
        .iter()
        .find(|(suffix, _)| key.ends_with(suffix))
        .map(|(_, unit)| *unit)
}

fn wrong(path: &str, value: &Value, expected: &str) -> String {
    let path = if path.is_empty() { "the document" } else { path };
    format!("{path} = {value} is of the wrong type: expected {expected}")
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
