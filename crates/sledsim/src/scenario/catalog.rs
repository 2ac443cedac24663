//! The catalogue: devices as published, each value with its source. One TOML file an entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::based::BASE;
use super::document::{overlay, Notation};
use crate::fault::{Fault, Kind, Range};

/// Most entries on top of each other.
const MOST_BASES: usize = 16;

/// Folders of catalogue files, searched in order.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    folders: Vec<PathBuf>,
}

/// A device or a workload of the catalogue: values for its keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Kind of device; empty for a workload.
    pub mechanism: String,
    /// Requests that a workload stands for; none for a device.
    pub requests: Option<u64>,
    /// Value by key.
    pub values: Map<String, Value>,
    /// Unit by key, where the entry names one.
    pub units: BTreeMap<String, String>,
    /// Keys of the works it is taken from.
    pub citations: Vec<String>,
    /// The entry whose values stand where this one gives none: a name, or a file from the folder of this one.
    base: Option<String>,
}

impl Entry {
    /// This one with what `lower` gives besides.
    fn over(mut self, lower: Self) -> Result<Self, Fault> {
        if self.mechanism.is_empty() {
            self.mechanism = lower.mechanism;
        } else if self.mechanism != lower.mechanism {
            let says = format!(" is not that of its base, which is {:?}", lower.mechanism);
            return Err(Fault::conflict("mechanism", self.mechanism).says(says));
        }
        let mut values = lower.values;
        for (key, value) in self.values {
            let value = match values.remove(&key) {
                Some(below) => overlay(value, below),
                None => value,
            };
            values.insert(key, value);
        }
        let own = self.units;
        self.units = lower.units.into_iter().chain(own).collect();
        let more = lower.citations.into_iter().filter(|key| !self.citations.contains(key)).collect::<Vec<_>>();
        self.citations.extend(more);
        Ok(Self { values, requests: self.requests.or(lower.requests), base: lower.base, ..self })
    }
}

impl Catalog {
    /// A catalogue in folders that hold `devices/*.toml` and `workloads/*.toml`.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// The device called `name`, or in the file `name` where that ends in `.toml` (relative to `base`).
    ///
    /// # Errors
    /// There is no such device, or its file is not as it should be.
    pub fn device(&self, name: &str, base: &Path) -> Result<Entry, Fault> {
        self.entry(Subject::Device, name, base)
    }

    /// The workload called `name`, or in the file `name`, as with [`Catalog::device`].
    ///
    /// # Errors
    /// There is no such workload, or its file is not as it should be.
    pub fn workload(&self, name: &str, base: &Path) -> Result<Entry, Fault> {
        self.entry(Subject::Workload, name, base)
    }

    fn entry(&self, kind: Subject, name: &str, base: &Path) -> Result<Entry, Fault> {
        let (mut entry, mut path) = self.found(kind, name, base)?;
        for _ in 0..MOST_BASES {
            let Some(below) = entry.base.take() else { return Ok(entry) };
            let file = path.display().to_string();
            let folder = path.parent().unwrap_or(base).to_owned();
            let (lower, lower_path) = self.found(kind, &below, &folder).map_err(|mut fault| {
                if fault.file.is_none() {
                    (fault.path, fault.file) = (BASE.into(), Some(file.clone()));
                }
                fault
            })?;
            entry = entry.over(lower).map_err(|fault| fault.in_file(file))?;
            path = lower_path;
        }
        let says = format!(": a {} can't be based on itself, nor on so many", kind.word());
        Err(Fault::at(Kind::Conflict, BASE).says(says).in_file(path.display().to_string()))
    }

    /// What a name or a path means, without what it is based on, and its file.
    fn found(&self, kind: Subject, name: &str, base: &Path) -> Result<(Entry, PathBuf), Fault> {
        if is_file(name) {
            let path = base.join(name);
            return Ok((read(kind, &path)?, path));
        }
        let names = self.names(kind);
        let found = names.iter().find(|(known, _)| known == name);
        match found {
            Some((_, path)) => Ok((read(kind, path)?, path.clone())),
            None => {
                let kind = kind.word();
                Err(Fault::unknown_name("name", name, names.iter().map(|(known, _)| known.as_str()))
                    .says(format!("; no such {kind} is in the catalogue: or give the path of a {kind} file (.toml)")))
            }
        }
    }

    /// Names and files of all entries of a kind, by name.
    fn names(&self, kind: Subject) -> Vec<(String, PathBuf)> {
        let mut names: Vec<(String, PathBuf)> = Vec::new();
        for folder in &self.folders {
            let Ok(files) = std::fs::read_dir(folder.join(format!("{}s", kind.word()))) else { continue };
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

/// What an entry describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Device,
    Workload,
}

impl Subject {
    const fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Workload => "workload",
        }
    }
}

/// Keys of an entry that say what it is, and are no values.
const DESCRIBING: [&str; 7] =
    ["title", "description", "stands_in_for", "measured_on", "disks", "statistics", "assumptions"];

/// Whether a device or a workload is named by its file.
pub(super) fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

/// Whether a table is itself a value, such as a distribution, and not one with its source: it is of a kind of its own.
fn is_bare(table: &Map<String, Value>) -> bool {
    table.get("kind").and_then(Value::as_str).is_some_and(|kind| !["published", "derived", "assumed"].contains(&kind))
}

fn read(kind: Subject, path: &Path) -> Result<Entry, Fault> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let says = format!(": the {} file can't be read: {error}", kind.word());
        Fault::of(Kind::Unreadable, "name", file.as_str()).says(says)
    })?;
    entry_of(kind, &text).map_err(|fault| fault.in_file(file))
}

fn entry_of(kind: Subject, text: &str) -> Result<Entry, Fault> {
    let Value::Object(mut table) = Notation::Toml.read(text, "")? else { return Err(Fault::new(Kind::WrongType)) };
    let base = match table.remove(BASE) {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => return Err(Fault::wrong_type(BASE, other, format!("a {} or its file", kind.word()))),
    };
    let mechanism = match (kind, table.remove("mechanism")) {
        (Subject::Device, Some(Value::String(mechanism))) => mechanism,
        (Subject::Device, None) if base.is_some() => String::new(),
        (Subject::Device, _) => {
            return Err(Fault::missing("mechanism").says(": the kind of device, for example \"mems\""));
        }
        (Subject::Workload, _) => String::new(),
    };
    let requests = match table.remove("requests").filter(|_| kind == Subject::Workload) {
        None => None,
        Some(requests) => match requests.as_u64() {
            Some(1..) => requests.as_u64(),
            _ => {
                let whole = Range::at_least(1.0).whole();
                return Err(Fault::out_of_range("requests", requests, whole));
            }
        },
    };
    let citations = match table.remove("citations") {
        Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mut entries = match table.remove("values") {
        Some(Value::Object(entries)) => entries,
        None if base.is_some() => Map::new(),
        _ => {
            let says = format!(": there is no table [values] with the {}'s parameters", kind.word());
            return Err(Fault::missing("values").says(says));
        }
    };
    if base.is_some() {
        // A few keys on top of a base need no table.
        entries.extend(table.into_iter().filter(|(key, _)| !DESCRIBING.contains(&key.as_str())));
    }
    let (mut values, mut units) = (Map::new(), BTreeMap::new());
    for (key, entry) in entries {
        let value = match entry {
            Value::Object(mut entry) if !is_bare(&entry) && (base.is_none() || entry.contains_key("value")) => {
                if let Some(Value::String(unit)) = entry.remove("unit") {
                    units.insert(key.clone(), unit);
                }
                entry.remove("value")
            }
            plain => Some(plain),
        };
        let value = value.ok_or_else(|| Fault::missing(format!("values.{key}.value")))?;
        values.insert(key, value);
    }
    Ok(Entry { mechanism, requests, values, units, citations, base })
}
