//! Faults in the words of a command line.

use serde_json::Value;
use sledsim::fault::{Path, Vocabulary};

/// Vocabulary of a command line, which sets keys by options.
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
