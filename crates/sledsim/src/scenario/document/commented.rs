//! Writes TOML documents with a comment for each key.

use std::fmt::{self, Write as _};

use serde_json::Value;

use crate::fault::printable;

/// Maximum width of a list on one line; longer lists have a line for each item.
const WIDTH: usize = 100;

/// A TOML document with comments that is written from start to end.
#[derive(Clone, Debug, Default)]
pub struct Commented(String);

impl Commented {
    /// Adds a comment line.
    pub fn comment(&mut self, text: &str) {
        self.line(&format!("# {}", printable(text)));
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.line("");
    }

    /// Adds an empty line and the header of a table.
    pub fn table(&mut self, path: &str) {
        self.gap();
        self.line(&format!("[{path}]"));
    }

    /// Adds a key with its value, which is not null, to the current table.
    pub fn key(&mut self, key: &str, value: impl Into<Value>) {
        let value = match value.into() {
            Value::Array(items) if items.iter().map(|item| inline(item).len() + 2).sum::<usize>() > WIDTH => {
                let items: String = items.iter().map(|item| format!("    {},\n", inline(item))).collect();
                format!("[\n{items}]")
            }
            other => inline(&other),
        };
        self.line(&format!("{key} = {value}"));
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.0, "{line}");
    }
}

impl fmt::Display for Commented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a value on one line. Null values of tables are omitted, because TOML has no null.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let keys = table.iter().filter(|(_, value)| !value.is_null());
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        // A JSON string is a TOML string, except for one character.
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::super::document::Document;
    use super::super::notation::Notation;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut written = Commented::default();
        written.comment("a\nb\u{7f}");
        let text = "quotes \" and \\, \u{1}, \n, \u{7f}, é";
        written.key("text", text);
        written.table("a.b");
        let long: Vec<_> = (0..50).map(|i| json!([i, f64::from(i) / 3.0])).collect();
        written.key("long", long.clone());
        written.key("table", json!({"none": null, "some": [1e-7, 1e300, true], "empty": {}}));
        let read = Document::read(&written.to_string(), Notation::Toml, "test", Path::new("."));
        let read = read.unwrap_or_else(|fault| panic!("{fault}")).values();
        let expected = json!({"text": text, "a": {"b": {
            "long": long, "table": {"some": [1e-7, 1e300, true], "empty": {}},
        }}});
        assert_eq!(read, expected);
        assert!(written.to_string().starts_with("# a?b?\ntext = "));
    }
}
