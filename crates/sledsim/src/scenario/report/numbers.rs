//! All numbers of a report by path, for tables of many runs.

use serde_json::Value;

use super::summary::Report;

/// Parts of a report without metrics.
const NOT_NUMBERS: [&str; 5] = ["sledsim", "title", "scenario", "citations", "histogram"];

/// Keys that identify an item of a list, in order of preference.
const ITEM_NAMES: [&str; 3] = ["path", "name", "state"];

impl Report {
    /// Returns every number of the report with its path, such as `response.mean_ms`, in the order of the report. List
    /// items are identified by name (`energy.states.seek.energy_j`) or index. True is 1, false is 0.
    #[must_use]
    pub fn numbers(&self) -> Vec<(String, f64)> {
        let mut numbers = Vec::new();
        if let Ok(Value::Object(parts)) = serde_json::to_value(self) {
            for (key, part) in &parts {
                if !NOT_NUMBERS.contains(&key.as_str()) {
                    collect(key, part, &mut numbers);
                }
            }
        }
        numbers
    }
}

fn collect(path: &str, value: &Value, numbers: &mut Vec<(String, f64)>) {
    match value {
        Value::Number(number) => numbers.extend(number.as_f64().map(|number| (path.to_owned(), number))),
        Value::Bool(truth) => numbers.push((path.to_owned(), f64::from(u8::from(*truth)))),
        Value::Object(parts) => parts.iter().for_each(|(key, part)| collect(&format!("{path}.{key}"), part, numbers)),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let name = ITEM_NAMES.iter().find_map(|key| item.get(*key)?.as_str());
                let name = name.map_or_else(|| place.to_string(), str::to_owned);
                collect(&format!("{path}.{name}"), item, numbers);
            }
        }
        Value::Null | Value::String(_) => {}
    }
}
