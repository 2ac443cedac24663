//! The catalogue: devices as published, each value with its source. One TOML file an entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::did_you_mean;
use super::strict::Strict;

/// Folders of catalogue files, searched in order.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    folders: Vec<PathBuf>,
}

/// A device of the catalogue: values for a device's keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Kind of device.
    pub mechanism: String,
    /// Value by key.
    pub values: Map<String, Value>,
    /// Unit by key, where the entry names one.
    pub units: BTreeMap<String, String>,
    /// Keys of the works it is taken from.
    pub citations: Vec<String>,
}

impl Catalog {
    /// A catalogue in folders that hold `devices/*.toml`.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// The device called `name`, or in the file `name` where that ends in `.toml` (relative to `base`).
    ///
    /// # Errors
    /// There is no such device, or its file is not as it should be.
    pub fn device(&self, name: &str, base: &Path) -> Result<Entry, String> {
        if is_file(name) {
            return read(&base.join(name));
        }
        let names = self.names();
        let found = names.iter().find(|(known, _)| known == name);
        match found {
            Some((_, path)) => read(path),
            None => {
                let hint = did_you_mean(name, names.iter().map(|(known, _)| known.as_str()));
                Err(format!(
                    "device {name:?} is not in the catalogue: {hint}; or give the path of a device file (.toml)"
                ))
            }
        }
    }

    /// Names and files of all devices, by name.
    fn names(&self) -> Vec<(String, PathBuf)> {
        let mut names: Vec<(String, PathBuf)> = Vec::new();
        for folder in &self.folders {
            let Ok(files) = std::fs::read_dir(folder.join("devices")) else { continue };
            for path in files.filter_map(Result::ok).map(|file| file.path()) {
                let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                if path.extension().is_some_and(|ending| ending == "toml")
                    && names.iter().all(|(known, _)| *known != name)
                {
                    names.push((name, path));
                }
            }
        }
        names.sort();
        names
    }
}

/// Whether a device is named by its file.
pub(super) fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

fn read(path: &Path) -> Result<Entry, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("device file {shown}: {error}"))?;
    let Strict(table) =
        toml::from_str(&text).map_err(|error| format!("device file {shown}: {}", error.to_string().trim_end()))?;
    let Value::Object(mut table) = table else {
        return Err(format!("device file {shown}: expected a table at the top"));
    };
    let Some(Value::String(mechanism)) = table.remove("mechanism") else {
        return Err(format!("device file {shown}: mechanism is missing: the kind of device, for example \"mems\""));
    };
    let Some(Value::Object(entries)) = table.remove("values") else {
        return Err(format!("device file {shown}: there is no table [values] with the device's parameters"));
    };
    let (mut values, mut units) = (Map::new(), BTreeMap::new());
    for (key, entry) in entries {
        let value = match entry {
            Value::Object(mut entry) => {
                if let Some(Value::String(unit)) = entry.remove("unit") {
                    units.insert(key.clone(), unit);
                }
                entry.remove("value")
            }
            plain => Some(plain),
        };
        let value = value.ok_or_else(|| format!("device file {shown}: values.{key} has no value"))?;
        values.insert(key, value);
    }
    let citations = match table.remove("citations") {
        Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok(Entry { mechanism, values, units, citations })
}
