//! A reader of faults who sets keys by options, as a command line's does.

use serde_json::Value;
use sledsim::fault::{Path, Vocabulary};

/// The words of a command line.
pub struct Options;

impl Vocabulary for Options {
    fn setting(&self, path: &Path, value: Option<&Value>) -> String {
        let name = match path.last().unwrap_or_default() {
            "overrides" => "set".to_owned(),
            key => key.replace('_', "-"),
        };
        match value.and_then(Value::as_str) {
            Some(word) => format!("--{name} {word}"),
            None => value.map_or(format!("--{name}"), |value| format!("--{name} {value}")),
        }
    }
}
