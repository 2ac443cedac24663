//! Every number of a scenario: values just outside its range are errors that name key and bound.
//!
//! The keys come from the schema, so a new key is tested without a change here.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde_json::{json, Value};
use sledsim::fault::shown;
use sledsim::scenario::schema;
use sledsim_testing::scenarios;
use sledsim_testing::tiers::size;

/// A number in a document each of whose keys is valid by itself.
struct Leaf {
    document: Value,
    /// JSON pointer to the number.
    pointer: String,
    /// The path in messages.
    path: String,
    schema: Value,
    /// True if a list is also allowed.
    or_list: bool,
}

struct Walk {
    definitions: Value,
    leaves: Vec<Leaf>,
}

/// The schema of a system, which may contain other systems.
const SYSTEM: &str = "#/$defs/SystemSpec";

impl Walk {
    fn dereference<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| &self.definitions[name])
    }

    /// Returns the alternatives of a schema except null.
    fn alternatives(&self, schema: &Value) -> Vec<Value> {
        let schema = self.dereference(schema);
        let options = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        let Some(options) = options else { return vec![schema.clone()] };
        let real = options.iter().filter(|option| option["type"] != "null");
        real.map(|option| self.dereference(option).clone()).collect()
    }

    /// Returns a minimal value for a schema, regardless of other keys.
    fn least(&self, schema: &Value) -> Value {
        if schema["$ref"] == SYSTEM {
            return json!({"kind": "drive", "device": "g2"});
        }
        let schema = &self.alternatives(schema)[0];
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(words) = schema["enum"].as_array() {
            return words[0].clone();
        }
        match type_of(schema) {
            "object" => {
                let properties = schema["properties"].as_object().cloned().unwrap_or_default();
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let keys = required.iter().filter_map(Value::as_str);
                keys.map(|key| (key.to_owned(), self.least(&properties[key]))).collect()
            }
            "array" => self.least_list(schema),
            "number" | "integer" => schema.get("maximum").cloned().unwrap_or(json!(7)),
            "boolean" => json!(true),
            _ => json!("text"),
        }
    }

    /// Returns the shortest non-empty list that a schema accepts.
    fn least_list(&self, schema: &Value) -> Value {
        let count = schema["minItems"].as_u64().unwrap_or(1).max(1);
        (0..count).map(|_| self.least(&schema["items"])).collect()
    }

    /// Collects the numbers of `schema`, which is the schema of the value at `pointer` in `document`.
    fn walk(&mut self, schema: &Value, document: &Value, pointer: &str, path: &str) {
        // Nested components have the same keys as the top one.
        if schema["$ref"] == SYSTEM && path != "system" {
            return;
        }
        let options = self.alternatives(schema);
        let or_list = options.iter().any(|option| type_of(option) == "array");
        for option in options {
            match type_of(&option) {
                "object" => self.walk_object(&option, document, pointer, path),
                "array" => {
                    let mut document = document.clone();
                    *document.pointer_mut(pointer).unwrap() = self.least_list(&option);
                    self.walk(&option["items"], &document, &format!("{pointer}/0"), &format!("{path}.0"));
                }
                "number" | "integer" => self.leaves.push(Leaf {
                    document: document.clone(),
                    pointer: pointer.to_owned(),
                    path: path.to_owned(),
                    schema: option,
                    or_list,
                }),
                _ => {}
            }
        }
    }

    fn walk_object(&mut self, schema: &Value, document: &Value, pointer: &str, path: &str) {
        let mut document = document.clone();
        let value = self.least(schema);
        if path == "system" && value["kind"] == "drive" {
            *document.pointer_mut(pointer).unwrap() = json!({"kind": "drive", "device": "g2"});
        } else if !path.is_empty() {
            *document.pointer_mut(pointer).unwrap() = value;
        }
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let mut document = document.clone();
            let place = document.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
            if key != "name" && !place.contains_key(key) {
                place.insert(key.clone(), self.least(property));
            }
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.walk(property, &document, &format!("{pointer}/{key}"), &path);
        }
    }
}

fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(names) => names[0].as_str().unwrap_or_default(),
        name => name.as_str().unwrap_or_default(),
    }
}

fn leaves() -> Vec<Leaf> {
    let schema = schema();
    let base = json!({
        "workload": {"kind": "synthetic", "arrival": {"kind": "poisson", "rate_per_s": 1.0}},
        "system": {"kind": "drive", "device": "g2"},
    });
    let mut walk = Walk { definitions: schema["$defs"].clone(), leaves: Vec::new() };
    walk.walk(schema, &base, "", "");
    walk.leaves
}

impl Leaf {
    /// Returns the error if the number is `value`.
    fn error(&self, value: &Value) -> String {
        let mut document = self.document.clone();
        *document.pointer_mut(&self.pointer).unwrap() = value.clone();
        match scenarios::resolve(&document) {
            Err(error) => error,
            Ok(_) => panic!("{} = {value} is accepted: {document}", self.path),
        }
    }

    fn is_whole(&self) -> bool {
        type_of(&self.schema) == "integer"
    }

    fn bound(&self, key: &str) -> Option<f64> {
        self.schema[key].as_f64()
    }

    /// Returns the maximum; without one in the schema, that of 32-bit integers if it is one.
    fn most(&self) -> Option<f64> {
        self.bound("maximum").or((self.schema["format"] == "uint32").then_some(f64::from(u32::MAX)))
    }

    /// Returns the number as an integer or a float, as the schema requires.
    fn number(&self, value: f64) -> Value {
        if self.is_whole() {
            json!(value as i64)
        } else {
            json!(value)
        }
    }

    fn check(&self, value: f64, allowed: &str) {
        let value = self.number(value);
        let error = self.error(&value);
        let expected = format!("test: {} = {} is out of range: expected ", self.path, shown(&value));
        assert!(error.starts_with(&expected) && error.contains(allowed), "{error}\nexpected: {expected}…{allowed}");
    }
}

#[test]
fn leaves_include_nested_keys() {
    let leaves = leaves();
    let paths: BTreeSet<&str> = leaves.iter().map(|leaf| leaf.path.as_str()).collect();
    let some = [
        "seed",
        "run.requests",
        "run.warmup_s",
        "system.batch_max",
        "system.unit_bytes",
        "system.members.0.count",
        "system.rebuild.mb_per_s",
        "system.segment_bytes",
        "system.clean.high_water",
        "system.flush.idle_ms",
        "system.device.bit_nm",
        "system.device.inactive_after_ms",
        "system.device.zones.0.spares",
        "system.device.zones.0.remaps.0.0",
        "system.device.seek.points.0.0",
        "system.device.seek.first_ms.0",
        "system.scheduler.zones",
        "system.scheduler.weight",
        "workload.time_scale",
        "workload.devices.0",
        "workload.read_fraction",
        "workload.arrival.think_ms.k",
        "workload.size_bytes.points.0.weight",
        "workload.location.spots.0.probability",
    ];
    for path in some {
        assert!(paths.contains(path), "{path} is not among {paths:?}");
    }
}

#[test]
fn numbers_below_the_minimum_are_rejected() {
    for leaf in leaves() {
        if let Some(least) = leaf.bound("minimum") {
            let to = leaf.most();
            leaf.check(least - 1.0, &to.map_or(format!("at least {least}"), |most| format!("from {least} to {most}")));
        } else if let Some(bound) = leaf.bound("exclusiveMinimum") {
            leaf.check(bound, &format!("above {bound}"));
            leaf.check(bound - 0.5, &format!("above {bound}"));
        } else {
            panic!("{} has no lower bound", leaf.path);
        }
    }
}

#[test]
fn numbers_above_the_maximum_are_rejected() {
    for leaf in leaves() {
        if let Some(most) = leaf.most() {
            let allowed = match leaf.bound("minimum") {
                Some(least) => format!("from {least} to {most}"),
                None => format!("at most {most}"),
            };
            leaf.check(2.0 * most + 1.0, &allowed);
        } else if leaf.is_whole() {
            assert_eq!(leaf.schema["format"], "uint64", "{} has no upper bound", leaf.path);
            let error = leaf.error(&json!(2e19));
            assert!(error.starts_with(&format!("test: {} = ", leaf.path)), "{error}");
        }
    }
}

#[test]
fn numbers_of_the_wrong_type_are_rejected() {
    for leaf in leaves() {
        for value in [json!(true), json!([1]), json!({"a": 1}), json!("plenty"), json!("3 parsecs")] {
            if leaf.or_list && value.is_array() {
                continue;
            }
            let error = leaf.error(&value);
            assert!(error.starts_with(&format!("test: {}", leaf.path)), "{error}");
            assert!(error.contains("expected"), "{error}");
        }
        if leaf.is_whole() {
            let error = leaf.error(&json!(1.5));
            assert!(error.contains("is of the wrong type: expected a whole number"), "{error}");
        }
    }
}

/// At the ends of its range, a number is either rejected because it contradicts others, or the run completes without an
/// overflow.
#[test]
fn numbers_at_their_bounds_do_not_panic() {
    let runs = |leaf: &Leaf| -> usize {
        let ends = ["minimum", "maximum"].into_iter().filter_map(|key| leaf.bound(key));
        ends.filter(|&end| {
            let mut document = leaf.document.clone();
            *document.pointer_mut(&leaf.pointer).unwrap() = leaf.number(end);
            let Ok(mut scenario) = scenarios::resolve(&document) else { return false };
            let most = size(5, 30);
            scenario.run.requests = Some(scenario.run.requests.unwrap_or(most).min(most));
            scenario.run.warmup_requests = scenario.run.warmup_requests.min(5);
            println!("{} = {end}", leaf.path);
            match scenarios::try_run(&scenario) {
                Ok(output) => {
                    let requests = &output.report.requests;
                    assert_eq!(requests.submitted, requests.completed + requests.failed + requests.in_flight);
                    true
                }
                Err(error) => {
                    assert!(!error.is_empty());
                    false
                }
            }
        })
        .count()
    };
    let ran: usize = leaves().par_iter().map(runs).sum();
    assert!(ran > 100, "{ran} runs");
}
