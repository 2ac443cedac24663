//! A document with the documents that it is based on (`base`) below it and settings on top, and where each key stands.
//!
//! Scenarios, sweeps, searches and the others are read by this alone.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check;
use super::document::{overlay, set_key, Notation};
use super::place::line_of;
use super::resolve::{anchored, keys_of};
use crate::fault::{Fault, Kind};

/// The key that names the document below.
pub(super) const BASE: &str = "base";

/// Most documents on top of each other.
const MOST_BASES: usize = 16;

/// Endings of the names of documents: in a base they start from its own folder.
const DOCUMENTS: [&str; 4] = [".toml", ".yaml", ".yml", ".json"];

/// A document, complete.
#[derive(Clone, Debug)]
pub struct Document {
    values: Value,
    layers: Vec<Layer>,
    settings: Vec<Setting>,
}

/// One of the texts that a document is made of.
#[derive(Clone, Debug)]
struct Layer {
    source: String,
    text: String,
    notation: Notation,
}

/// A setting, and the path that it sets.
#[derive(Clone, Debug)]
struct Setting {
    given: String,
    path: String,
}

impl Layer {
    /// The line of a key, where there is more than one: a dictionary comes as one.
    fn line(&self, path: &str) -> Option<u64> {
        line_of(&self.text, self.notation, path).filter(|_| self.text.trim().contains('\n'))
    }

    /// Whether it has a key.
    fn has(&self, path: &str) -> bool {
        line_of(&self.text, self.notation, path).is_some()
    }

    /// A fault of the key that names the document below.
    fn wrong(&self, fault: Fault) -> Fault {
        fault.in_file(&self.source).on_line(self.line(BASE))
    }
}

impl Document {
    /// Reads a text, which messages call `source`, and the documents that it is based on, named from `folder` on.
    ///
    /// # Errors
    /// A text that is not of its notation, or a base that can't be read: says file and line.
    pub fn read(text: &str, notation: Notation, source: &str, folder: &Path) -> Result<Self, Fault> {
        let mut values = vec![notation.read(text, source)?];
        let mut layers = vec![Layer { source: source.into(), text: text.into(), notation }];
        let mut files: Vec<PathBuf> = folder.join(source).canonicalize().into_iter().collect();
        let mut from = folder.to_owned();
        while let Some(name) = values.last_mut().and_then(Value::as_object_mut).and_then(|table| table.remove(BASE)) {
            let layer = &layers[layers.len() - 1];
            let Value::String(name) = name else {
                return Err(layer.wrong(Fault::wrong_type(BASE, name, "the path of a document")));
            };
            let (path, below) = opened(&from.join(&name), &name).map_err(|fault| layer.wrong(fault))?;
            if files.contains(&path) || layers.len() > MOST_BASES {
                let fault = Fault::conflict(BASE, name).says(": a document can't be based on itself, nor on so many");
                return Err(layer.wrong(fault));
            }
            let mut read = below.notation.read(&below.text, &below.source)?;
            from = path.parent().unwrap_or(folder).to_owned();
            if folder.canonicalize().is_ok_and(|own| own != from) {
                start_from(&mut read, &from, "");
            }
            values.push(read);
            files.push(path);
            layers.push(below);
        }
        // The keys of the lowest come first, each document over the one below it.
        let values = values.into_iter().rev().reduce(|below, own| overlay(own, below)).unwrap_or_default();
        Ok(Self { values, layers, settings: Vec::new() })
    }

    /// What it says.
    #[must_use]
    pub fn values(&self) -> &Value {
        &self.values
    }

    /// Puts in settings `path=value`, each of a path that begins with `prefix`, and checks everything against a schema, by which
    /// quantities become numbers.
    ///
    /// # Errors
    /// What is wrong, each with its place.
    pub fn check(&mut self, settings: &[String], prefix: &str, schema: &Value) -> Vec<Fault> {
        let top = keys_of(schema);
        let mut found = Vec::new();
        for given in settings {
            let own = given.trim_start().strip_prefix(prefix).unwrap_or(given);
            match set_key(&mut self.values, own, &top) {
                Ok(path) => self.settings.push(Setting { given: given.clone(), path }),
                Err(mut fault) => {
                    fault.setting = Some(given.clone());
                    found.push(fault);
                }
            }
        }
        found.extend(check::faults(&mut self.values, schema, &[]).into_iter().map(|fault| self.located(fault)));
        found
    }

    /// A fault with the setting, or the file and line, that it comes from.
    #[must_use]
    pub fn located(&self, mut fault: Fault) -> Fault {
        if fault.file.is_some() || fault.setting.is_some() {
            return fault;
        }
        let path = fault.path.to_string();
        let is_at = |setting: &&Setting| path == setting.path || path.starts_with(&format!("{}.", setting.path));
        if let Some(setting) = self.settings.iter().rev().find(is_at) {
            fault.setting = Some(setting.given.clone());
            return fault;
        }
        let mut place = fault.path.clone();
        while !place.is_empty() {
            let at = place.to_string();
            if let Some(layer) = self.layers.iter().find(|layer| layer.has(&at)) {
                return fault.in_file(&layer.source).on_line(layer.line(&at));
            }
            place = place.parent();
        }
        fault.in_file(&self.layers[0].source)
    }
}

/// The document in a file, and the file's one path.
fn opened(path: &Path, name: &str) -> Result<(PathBuf, Layer), Fault> {
    let unread = |why: String| Fault::of(Kind::Unreadable, BASE, name).says(format!(": {}: {why}", path.display()));
    let notation = Notation::of_file(path)
        .ok_or_else(|| unread(format!("expected a name that ends in {}", DOCUMENTS.join(", "))))?;
    let text = std::fs::read_to_string(path).map_err(|error| unread(error.to_string()))?;
    let one = path.canonicalize().map_err(|error| unread(error.to_string()))?;
    Ok((one, Layer { source: path.display().to_string(), text, notation }))
}

/// Has the files that a base names start from its folder: those of its `path` keys, and other documents.
fn start_from(value: &mut Value, folder: &Path, key: &str) {
    match value {
        Value::Object(table) => table.iter_mut().for_each(|(key, item)| start_from(item, folder, key)),
        Value::Array(items) => items.iter_mut().for_each(|item| start_from(item, folder, key)),
        Value::String(text) if key != BASE && (key == "path" || DOCUMENTS.iter().any(|end| text.ends_with(end))) => {
            *text = anchored(text, folder);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_stands_where_its_key_does_or_was_to_stand() {
        let text = "seed = 1\n[axes]\n\"device.bit_nm\" = [1]\n[run]\nrequests = 5\n";
        let mut document = Document::read(text, Notation::Toml, "a.toml", Path::new(".")).expect("valid");
        let schema = json!({"type": "object", "properties": {"seed": {}, "axes": {}, "run": {}}});
        assert_eq!(document.check(&["own.run.requests=7".into()], "own.", &schema), []);
        let at = |path: &str| document.located(Fault::at(Kind::Conflict, path));
        assert_eq!(
            (at("axes.device.bit_nm.0").line, at("run.time_s").line, at("other").line),
            (Some(3), Some(4), None)
        );
        assert_eq!(at("other").file.as_deref(), Some("a.toml"));
        assert_eq!(
            (at("run.requests").setting.as_deref(), at("run.requests").file.clone()),
            (Some("own.run.requests=7"), None)
        );
        assert_eq!(document.values()["run"]["requests"], 7);
    }

    #[test]
    fn a_key_with_dots_is_set_as_one() {
        let mut document = Document::read("[axes]\n\"a.b\" = 1", Notation::Toml, "x", Path::new(".")).expect("valid");
        let schema = json!({"properties": {"axes": {}}});
        assert_eq!(document.check(&["axes.a.b=2".into(), "axes.a.c=3".into()], "", &schema), []);
        assert_eq!(document.values(), &json!({"axes": {"a.b": 2, "a": {"c": 3}}}));
    }
}
