//! Checks a document against a JSON Schema, so that every fault has the key, the value and the allowed values.
//!
//! The schema comes from the definitions of the parameters: types, ranges, units and defaults are declared only there.

use serde_json::{Map, Number, Value};

use super::node::{Content, Node, Origin};
use super::quantity;
use crate::fault::{Collector, Fault, Faults, Kind, Path, Range};

/// Checks `document` against `schema`, and converts quantities with units to numbers.
///
/// # Errors
/// All faults, each with its path, value, and the allowed values.
pub fn check(document: &mut Value, schema: &Value) -> Result<(), Faults> {
    let mut node = Node::of_value(document.take(), &Origin::default());
    let mut found = Collector::default();
    Checker::new(schema, &mut found).value(&mut node, schema);
    *document = node.to_value();
    found.into_result()
}

/// Checks values against parts of a schema.
pub(in crate::scenario) struct Checker<'a, 'f> {
    definitions: &'a Value,
    /// A definition whose values are skipped, because they are checked separately.
    apart: Option<&'a str>,
    /// True if no fault has been found so far.
    is_right: bool,
    /// Keys of the outermost table with invalid values.
    wrong_keys: Vec<String>,
    found: &'f mut Collector,
    /// The path of the outermost table.
    at: Path,
}

/// The result of checking a table.
pub(in crate::scenario) struct CheckedKeys {
    /// True if the table and its values are valid.
    pub is_right: bool,
    /// Its keys with invalid values.
    pub wrong: Vec<String>,
}

/// The steps to a value. A path is built from them only for a fault.
enum Trail<'a> {
    Start,
    Key(&'a Trail<'a>, &'a str),
    Entry(&'a Trail<'a>, usize),
}

impl<'a, 'f> Checker<'a, 'f> {
    /// Returns a checker with the definitions of a schema.
    pub(in crate::scenario) fn new(schema: &'a Value, found: &'f mut Collector) -> Self {
        let definitions = schema.get("$defs").unwrap_or(&Value::Null);
        Self { definitions, apart: None, is_right: true, wrong_keys: Vec::new(), found, at: Path::default() }
    }

    /// Sets the path of the checked value in the document.
    pub(in crate::scenario) fn at(self, at: Path) -> Self {
        Self { at, ..self }
    }

    /// Skips values of the definition with this name.
    pub(in crate::scenario) fn except(self, definition: &'a str) -> Self {
        Self { apart: Some(definition), ..self }
    }

    /// Checks a value against a schema. Returns false if it is invalid or was rejected before.
    pub(in crate::scenario) fn value(mut self, value: &mut Node, schema: &'a Value) -> bool {
        self.check(value, schema, &Trail::Start, "");
        self.is_right
    }

    /// Checks a table against a schema, key by key.
    pub(in crate::scenario) fn keys(mut self, table: &mut Node, schema: &'a Value) -> CheckedKeys {
        self.check(table, schema, &Trail::Start, "");
        CheckedKeys { is_right: self.is_right, wrong: self.wrong_keys }
    }

    /// Checks the values of a table whose only keys are `properties`.
    pub(in crate::scenario) fn properties(mut self, table: &mut Node, properties: &'a Map<String, Value>) {
        self.table(table, Some(properties), Some(&Value::Bool(false)), &[], &Trail::Start, "");
    }

    fn report(&mut self, fault: impl FnOnce(&Self) -> Fault) {
        self.is_right = false;
        if self.found.is_full() {
            self.found.omit();
        } else {
            let fault = fault(self);
            self.found.push(fault);
        }
    }

    fn path(&self, trail: &Trail<'_>) -> Path {
        match trail {
            Trail::Start => self.at.clone(),
            Trail::Key(outer, key) => self.path(outer).step(key),
            Trail::Entry(outer, entry) => self.path(outer).step(entry),
        }
    }

    /// Checks one value; `unit` is that in the name of an enclosing key.
    fn check(&mut self, value: &mut Node, schema: &'a Value, trail: &Trail<'_>, unit: &'a str) {
        if value.is_rejected {
            self.is_right = false;
            return;
        }
        let Some(schema) = self.dereference(schema) else { return };
        let unit = schema.get("x-unit").and_then(Value::as_str).unwrap_or(unit);
        if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
            return match tag_of(options) {
                Some(tag) => self.tagged(value, options, tag, trail, unit),
                None => match options.iter().find(|option| value.as_table().is_some() && fits(value, option)) {
                    Some(table) => self.check(value, table, trail, unit),
                    None => self.choice(value, options.iter().flat_map(words_of).collect(), trail),
                },
            };
        }
        if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
            return self.any_of(value, options, trail, unit);
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return self.choice(value, options.iter().filter_map(Value::as_str).collect(), trail);
        }
        let types = types_of(schema);
        if value.is_null() && types.contains(&"null") {
            return;
        }
        match types.first().copied().unwrap_or_default() {
            "object" => {
                let properties = schema.get("properties").and_then(Value::as_object);
                let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                self.table(value, properties, schema.get("additionalProperties"), required, trail, unit);
            }
            "array" => self.list(value, schema, trail, unit),
            "number" => self.number(value, schema, trail, unit, false),
            "integer" => self.number(value, schema, trail, unit, true),
            "string" => match (schema.get("x-unit").and_then(Value::as_str), value.as_text()) {
                (Some(unit), _) => self.quantity(value, schema, trail, unit),
                (None, Some(given)) => {
                    let only = schema.get("const").and_then(Value::as_str).filter(|&only| only != given);
                    if let Some(only) = only {
                        self.report(|checker| Fault::unknown_name(checker.path(trail), given, [only]));
                    }
                }
                (None, None) => self.wrong(trail, value, "a string"),
            },
            "boolean" if !matches!(value.content, Content::Bool(_)) => self.wrong(trail, value, "true or false"),
            _ => {}
        }
    }

    fn wrong(&mut self, trail: &Trail<'_>, value: &Node, expected: impl Into<String>) {
        self.report(|checker| Fault::wrong_type(checker.path(trail), value.to_value(), expected));
    }

    /// Returns the schema of a reference; `None` if its values are checked separately.
    fn dereference(&self, schema: &'a Value) -> Option<&'a Value> {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(name) = reference.and_then(|reference| reference.strip_prefix("#/$defs/")) else {
            return Some(schema);
        };
        if self.apart == Some(name) {
            return None;
        }
        Some(self.definitions.get(name).unwrap_or(schema))
    }

    fn types_of(&self, schema: &'a Value) -> Vec<&'a str> {
        self.dereference(schema).map(types_of).unwrap_or_default()
    }

    /// Checks a table whose variant is the value of the key `tag`.
    fn tagged(&mut self, value: &mut Node, options: &'a [Value], tag: &str, trail: &Trail<'_>, unit: &'a str) {
        let names = || options.iter().filter_map(|option| constant(option, tag)).collect::<Vec<&str>>();
        let at_tag = Trail::Key(trail, tag);
        let Some(table) = value.as_table() else {
            return self.wrong(trail, value, format!("a table with {tag} = one of {}", names().join(", ")));
        };
        let Some(given) = table.get(tag) else {
            return self.report(|checker| Fault::missing(checker.path(&at_tag)).one_of("", names()));
        };
        let Some(name) = given.as_text() else { return self.wrong(&at_tag, given, "a string") };
        match options.iter().find(|option| constant(option, tag) == Some(name)) {
            Some(option) => self.check(value, option, trail, unit),
            None => self.report(|checker| Fault::unknown_name(checker.path(&at_tag), name, names())),
        }
    }

    /// Checks one of several words.
    fn choice(&mut self, value: &Node, words: Vec<&str>, trail: &Trail<'_>) {
        match value.as_text() {
            Some(given) if words.contains(&given) => {}
            Some(given) => self.report(|checker| Fault::unknown_name(checker.path(trail), given, words)),
            None => self.wrong(trail, value, format!("one of {}", words.join(", "))),
        }
    }

    fn any_of(&mut self, value: &mut Node, options: &'a [Value], trail: &Trail<'_>, unit: &'a str) {
        if value.is_null() && options.iter().any(|option| self.types_of(option).contains(&"null")) {
            return;
        }
        let words: Vec<&Value> = options.iter().filter_map(|option| option.get("const")).collect();
        if words.iter().any(|&word| *word == value.to_value()) {
            return;
        }
        let or_words: String = words.iter().map(|word| format!(" or {word}")).collect();
        let substantial: Vec<&Value> = options
            .iter()
            .filter(|option| option.get("const").is_none() && self.types_of(option) != ["null"])
            .collect();
        let is_fitting = |option: &&&'a Value| self.dereference(option).is_some_and(|schema| fits(value, schema));
        let fitting = substantial.iter().find(is_fitting);
        let option = match (fitting, substantial.as_slice()) {
            (Some(option), _) | (None, [option]) => option,
            (None, []) => return self.wrong(trail, value, or_words),
            (None, several) => {
                let several: Vec<&str> =
                    several.iter().filter_map(|option| self.dereference(option)).map(name_of).collect();
                return self.wrong(trail, value, several.join(" or ") + &or_words);
            }
        };
        let before = self.found.len();
        self.check(value, option, trail, unit);
        if !or_words.is_empty() {
            self.found.append_from(before, &or_words);
        }
    }

    fn table(
        &mut self,
        value: &mut Node,
        properties: Option<&'a Map<String, Value>>,
        additional: Option<&'a Value>,
        required: &'a [Value],
        trail: &Trail<'_>,
        unit: &'a str,
    ) {
        let Some(table) = value.as_table_mut() else { return self.wrong(trail, value, "a table") };
        for (key, item) in table.iter_mut() {
            let at_key = Trail::Key(trail, key);
            let was_right = std::mem::replace(&mut self.is_right, true);
            match (properties.and_then(|properties| properties.get(key)), additional) {
                (Some(property), _) => self.check(item, property, &at_key, unit_of(key).unwrap_or(unit)),
                (None, Some(Value::Bool(false))) => self.report(|checker| {
                    let known = properties.into_iter().flat_map(Map::keys).map(String::as_str);
                    Fault::unknown_key(checker.path(&at_key), known)
                }),
                (None, Some(property)) => self.check(item, property, &at_key, unit),
                (None, None) => {}
            }
            if !self.is_right && matches!(trail, Trail::Start) {
                self.wrong_keys.push(key.clone());
            }
            self.is_right &= was_right;
        }
        for key in required.iter().filter_map(Value::as_str).filter(|key| !table.contains_key(*key)) {
            self.report(|checker| {
                let property = properties.and_then(|properties| properties.get(key));
                let what = property.and_then(|property| property.get("description")).and_then(Value::as_str);
                let what = format!(": {}", what.unwrap_or("it has no default"));
                Fault::missing(checker.path(trail).step(key)).says(what)
            });
        }
    }

    fn list(&mut self, value: &mut Node, schema: &'a Value, trail: &Trail<'_>, unit: &'a str) {
        let Some(items) = value.as_list_mut() else { return self.wrong(trail, value, "a list") };
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let (count, least, most) = (items.len() as u64, bound("minItems").unwrap_or(0), bound("maxItems"));
        if count < least || most.is_some_and(|most| count > most) {
            let says = match most {
                Some(most) if most == least => format!(" has {count} entries: expected {most}"),
                Some(most) => format!(" has {count} entries: expected from {least} to {most}"),
                None if count == 0 => " is empty: it needs at least one entry".into(),
                None => format!(" has {count} entries: expected at least {least}"),
            };
            self.report(|checker| Fault::at(Kind::OutOfRange, checker.path(trail)).says(says));
        }
        if let Some(schema) = schema.get("items") {
            for (index, item) in items.iter_mut().enumerate() {
                self.check(item, schema, &Trail::Entry(trail, index), unit);
            }
        }
    }

    /// Checks a quantity that remains a text with its unit.
    fn quantity(&mut self, value: &Node, schema: &Value, trail: &Trail<'_>, unit: &str) {
        match quantity::parse_with_unit(value.as_text().unwrap_or_default(), unit) {
            Ok(parsed) => {
                let range = range_of(schema, unit, false);
                if !(parsed.is_finite() && range.holds(parsed)) {
                    self.report(|checker| Fault::out_of_range(checker.path(trail), value.to_value(), range));
                }
            }
            Err(expected) => {
                let example = schema.pointer("/examples/0").map(|example| format!(", such as {example}"));
                self.wrong(trail, value, expected + &example.unwrap_or_default());
            }
        }
    }

    /// Checks a number; converts a quantity to a number.
    fn number(&mut self, value: &mut Node, schema: &Value, trail: &Trail<'_>, unit: &str, whole: bool) {
        if let Content::Text(text) = &value.content {
            let parsed = match quantity::parse(text, unit) {
                Ok(parsed) => parsed,
                Err(expected) => return self.wrong(trail, value, expected),
            };
            let Some(number) = exact(parsed, whole) else { return self.beyond(value, schema, trail, unit, whole) };
            value.content = Content::Number(number);
        }
        let kind = || Range { whole, unit: unit.to_owned(), ..Range::default() }.to_string();
        let Content::Number(given) = &value.content else { return self.wrong(trail, value, kind()) };
        let Some(number) = given.as_f64().filter(|number| number.is_finite()) else {
            return self.wrong(trail, value, kind());
        };
        if whole && given.is_f64() {
            if number.fract() != 0.0 {
                return self.wrong(trail, value, kind());
            }
            // 1e6 is an integer, too.
            match exact(number, true).filter(|number| !number.is_f64()) {
                Some(exact) => value.content = Content::Number(exact),
                None => return self.beyond(value, schema, trail, unit, whole),
            }
        }
        if number == 0.0 && number.is_sign_negative() {
            value.content = Content::Number(exact(0.0, whole).unwrap_or_else(|| 0.into()));
        }
        let range = range_of(schema, unit, whole);
        if !range.holds(number) {
            self.report(|checker| Fault::out_of_range(checker.path(trail), value.to_value(), range));
        }
    }

    /// Returns the fault of a number outside the range of documents; the bounds of its key are preferred if it has any.
    fn beyond(&mut self, value: &Node, schema: &Value, trail: &Trail<'_>, unit: &str, whole: bool) {
        let range = range_of(schema, unit, whole);
        self.report(|checker| {
            let (path, value) = (checker.path(trail), value.to_value());
            if range.most.or(range.below).is_some() {
                return Fault::out_of_range(path, value, range);
            }
            let expected = Range { whole, unit: unit.to_owned(), ..Range::default() };
            let mut fault = Fault::wrong_type(path, value, format!("{expected} closer to 0"));
            fault.kind = Kind::OutOfRange;
            fault
        });
    }
}

/// Returns a number as a document value, as an integer if the schema requires one and it is exact; `None` if it is not
/// finite.
fn exact(number: f64, whole: bool) -> Option<Number> {
    if whole && number.fract() == 0.0 && number.abs() < 9e15 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and below 2^53")]
        return Some((number as i64).into());
    }
    Number::from_f64(number)
}

/// Returns the property that distinguishes the options of a `oneOf`, if they are objects.
fn tag_of(options: &[Value]) -> Option<&str> {
    let properties = options.first()?.get("properties")?.as_object()?;
    properties.iter().find(|(_, property)| property.get("const").is_some()).map(|(name, _)| name.as_str())
}

/// Returns the value of `tag` in an option.
fn constant<'a>(option: &'a Value, tag: &str) -> Option<&'a str> {
    option.get("properties")?.get(tag)?.get("const")?.as_str()
}

/// Returns the words of an option: one, or an enumeration.
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

/// Returns true if a value is of the type of a schema.
fn fits(value: &Node, schema: &Value) -> bool {
    types_of(schema).iter().any(|name| match (*name, &value.content) {
        ("object", Content::Table(_))
        | ("array", Content::List(_))
        | ("string", Content::Text(_))
        | ("boolean", Content::Bool(_)) => true,
        ("integer", Content::Number(number)) => !number.is_f64(),
        ("number", Content::Number(_)) => true,
        _ => false,
    })
}

/// Returns the name of a schema's type in messages.
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

/// Returns the bounds of a number in a schema.
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

/// Returns the unit at the end of a key's name.
pub(in crate::scenario) fn unit_of(key: &str) -> Option<&'static str> {
    if key.contains("_per_") {
        return None;
    }
    [("_ms", "ms"), ("_s", "s"), ("_bytes", "B")]
        .iter()
        .find(|(suffix, _)| key.ends_with(suffix))
        .map(|(_, unit)| *unit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_beyond_the_first_fifty_are_counted() {
        let many: Map<String, Value> = (0..5000).map(|key| (format!("key{key}"), json!(1))).collect();
        let schema = json!({"type": "object", "properties": {"known": {}}, "additionalProperties": false});
        let faults = check(&mut many.into(), &schema).expect_err("unknown keys");
        let text = faults.to_string();
        assert_eq!(text.lines().count(), 51);
        assert!(text.ends_with("\nand 4950 more"), "{text}");
    }
}
