//! A document with the documents that it is based on (`base`) below it and settings on top, and where each key stands.
//!
//! Scenarios, sweeps, searches and the others are read by this alone.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check;
use super::draft::{overlay, set_key, Notation};
use super::place::{line_of, stands_in};
use super::resolve::{anchored, keys_of};
use super::text::text_of;
use crate::fault::{self, Fault, Kind, Word};

/// The key that names the document below.
pub(in crate::scenario) const BASE: &str = "base";

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
    /// Where it stands in the document that it is a part of; empty for a whole one.
    at: fault::Path,
}

/// A text, or a dictionary, that has been read.
pub(in crate::scenario) struct Read {
    /// The text.
    pub layer: Layer,
    /// What it says, without the name of what it is based on once that has been read.
    pub values: Value,
    /// That name.
    pub base: Option<String>,
    /// Its file's one path; none of a text that is in no file.
    pub path: Option<PathBuf>,
}

impl Read {
    /// Reads a text, which messages call `source`.
    ///
    /// # Errors
    /// A text that is not of its notation: says file and line.
    pub fn of(text: &str, notation: Notation, source: &str, path: Option<PathBuf>) -> Result<Self, Fault> {
        let values = notation.read(text, source)?;
        Ok(Self { values, base: None, layer: Layer::of_text(text, notation, source), path })
    }
}

/// One of the texts, or the dictionary, that a document is made of.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::scenario) struct Layer {
    source: String,
    content: Content,
    /// Where in it the document stands.
    at: fault::Path,
}

/// What is in a layer.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Text(String, Notation),
    Values(Value),
}

/// A setting, and the path that it sets.
#[derive(Clone, Debug)]
struct Setting {
    given: String,
    path: String,
}

impl Layer {
    fn of_text(text: &str, notation: Notation, source: &str) -> Self {
        let content = Content::Text(text.to_owned(), notation);
        Self { source: source.to_owned(), content, at: fault::Path::default() }
    }

    /// The line of a key, where there is more than one.
    fn line(&self, path: &fault::Path) -> Option<u64> {
        match &self.content {
            Content::Text(text, notation) if text.trim().contains('\n') => {
                line_of(text, *notation, &self.at.join(path).to_string())
            }
            _ => None,
        }
    }

    /// Whether it has a key, or the whole document where that is a part of something.
    pub(in crate::scenario) fn has(&self, path: &fault::Path) -> bool {
        let path = self.at.join(path).to_string();
        match &self.content {
            _ if path.is_empty() => false,
            Content::Text(text, notation) => line_of(text, *notation, &path).is_some(),
            Content::Values(values) => stands_in(values, &path),
        }
    }

    /// A fault of the document, which this one has where its key is at `place`.
    fn placed(&self, mut fault: Fault, place: &fault::Path) -> Fault {
        fault.path = self.at.join(&fault.path);
        for word in &mut fault.words {
            // What a reader may set stays: there the path of the part is meant.
            if let Word::Key(path, _) = word {
                *path = self.at.join(path);
            }
        }
        fault.in_file(&self.source).on_line(self.line(place))
    }

    /// What messages call it.
    pub(in crate::scenario) fn source(&self) -> &str {
        &self.source
    }

    /// A fault with its place in this text: the line of its key, or of what that was to stand in.
    pub(in crate::scenario) fn located(&self, fault: Fault) -> Fault {
        let mut place = fault.path.clone();
        while !place.is_empty() {
            if self.has(&place) {
                return self.placed(fault, &place);
            }
            place = place.parent();
        }
        fault.in_file(&self.source)
    }

    /// A fault of the key that names the document below.
    fn wrong(&self, fault: Fault) -> Fault {
        self.placed(fault, &BASE.into())
    }
}

/// A text and those that it is based on, each followed by the one below it. `open` finds the one that a `base` names from a
/// folder, which is `folder` for the first; `what` says what that is.
///
/// # Errors
/// A base that can't be read: says file and line.
pub(in crate::scenario) fn chain(
    first: Read,
    folder: &Path,
    what: [&str; 2],
    open: &dyn Fn(&str, &Path) -> Result<Read, Fault>,
) -> Result<Vec<Read>, Fault> {
    let [what, one] = what;
    let (mut chain, mut from) = (vec![first], folder.to_owned());
    loop {
        let last = chain.len() - 1;
        let Some(name) = chain[last].values.as_object_mut().and_then(|table| table.remove(BASE)) else {
            return Ok(chain);
        };
        let layer = &chain[last].layer;
        let Value::String(name) = name else {
            return Err(layer.wrong(Fault::wrong_type(BASE, name, what)));
        };
        let below = open(&name, &from).map_err(|mut fault| {
            if fault.file.is_some() {
                return fault;
            }
            fault.path = BASE.into();
            layer.wrong(fault)
        })?;
        let is_there = below.path.is_some() && chain.iter().any(|read| read.path == below.path);
        if is_there || chain.len() > MOST_BASES {
            let says = format!(": {one} can't be based on itself, nor on so many");
            return Err(layer.wrong(Fault::conflict(BASE, name).says(says)));
        }
        chain[last].base = Some(name);
        from = below.path.as_deref().and_then(Path::parent).unwrap_or(folder).to_owned();
        chain.push(below);
    }
}

impl Document {
    /// Reads a text, which messages call `source`, and the documents that it is based on, named from `folder` on.
    ///
    /// # Errors
    /// A text that is not of its notation, or a base that can't be read: says file and line.
    pub fn read(text: &str, notation: Notation, source: &str, folder: &Path) -> Result<Self, Fault> {
        let values = notation.read(text, source)?;
        Self::based(values, vec![Layer::of_text(text, notation, source)], folder)
    }

    /// The document that `values` are, which messages call `source`, with those that it is based on.
    ///
    /// # Errors
    /// A base that can't be read.
    pub fn of_values(values: Value, source: &str, folder: &Path) -> Result<Self, Fault> {
        let content = Content::Values(values.clone());
        Self::based(values, vec![Layer { source: source.into(), content, at: fault::Path::default() }], folder)
    }

    /// The table at a key as a document of its own, with those that it is based on: its faults stand where the table does.
    ///
    /// # Errors
    /// A base that can't be read: says file and line.
    pub fn part(&self, key: &str, folder: &Path) -> Result<Self, Fault> {
        let at = self.at.step(key);
        let layers = self.layers.iter().map(|layer| Layer { at: layer.at.step(key), ..layer.clone() });
        let part = Self::based(self.values.get(key).cloned().unwrap_or_default(), layers.collect(), folder)?;
        Ok(Self { at, settings: self.settings.clone(), ..part })
    }

    /// What `own` says, which stands in `layers`, with the documents that it is based on below it.
    fn based(own: Value, mut layers: Vec<Layer>, folder: &Path) -> Result<Self, Fault> {
        // Of the documents that a part stands in, the first that names a base is to be put right.
        let naming = layers.iter().find(|layer| layer.has(&BASE.into())).unwrap_or(&layers[0]).clone();
        let path = folder.join(&layers[0].source).canonicalize().ok();
        let first = Read { values: own, base: None, layer: naming, path };
        let what = ["the path of a document", "a document"];
        let chain = chain(first, folder, what, &|name, from| opened(&from.join(name), name))?;
        let here = folder.canonicalize().ok();
        let mut values = Vec::new();
        for (place, mut read) in chain.into_iter().enumerate() {
            if place > 0 {
                let from = read.path.as_deref().and_then(Path::parent);
                if let Some(from) = from.filter(|from| here.as_deref().is_some_and(|here| here != *from)) {
                    start_from(&mut read.values, from, "");
                }
                layers.push(read.layer);
            }
            values.push(read.values);
        }
        // The keys of the lowest come first, each document over the one below it.
        let values = values.into_iter().rev().reduce(|below, own| overlay(own, below)).unwrap_or_default();
        Ok(Self { values, layers, settings: Vec::new(), at: fault::Path::default() })
    }

    /// What messages call it.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.layers[0].source
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
        let path = self.at.join(&fault.path).to_string();
        let is_at = |setting: &&Setting| path == setting.path || path.starts_with(&format!("{}.", setting.path));
        if let Some(setting) = self.settings.iter().rev().find(is_at) {
            fault.setting = Some(setting.given.clone());
            return fault;
        }
        let mut place = fault.path.clone();
        loop {
            if let Some(layer) = self.layers.iter().find(|layer| layer.has(&place)) {
                return layer.placed(fault, &place);
            }
            if place.is_empty() {
                return fault.in_file(self.source());
            }
            place = place.parent();
        }
    }
}

/// The document in a file, which a `base` or a name names.
pub(in crate::scenario) fn opened(path: &Path, name: &str) -> Result<Read, Fault> {
    let unread = |why: String| Fault::of(Kind::Unreadable, BASE, name).says(format!(": {}: {why}", path.display()));
    let notation = Notation::of_file(path).ok_or_else(|| {
        let endings = DOCUMENTS.join(", ");
        unread(format!(
            "expected a name that ends in {endings}; if this is a device file, give it as a scenario's device"
        ))
    })?;
    let text = text_of(path).map_err(unread)?;
    let one = path.canonicalize().map_err(|error| unread(fault::unread(&error)))?;
    Read::of(&text, notation, &path.display().to_string(), Some(one))
}

/// Has the files that a base names start from its folder: those of its `path` keys, and other documents.
fn start_from(value: &mut Value, folder: &Path, key: &str) {
    match value {
        Value::Object(table) => table.iter_mut().for_each(|(key, item)| start_from(item, folder, key)),
        Value::Array(items) => items.iter_mut().for_each(|item| start_from(item, folder, key)),
        Value::String(text) if key == "path" || DOCUMENTS.iter().any(|end| text.ends_with(end)) => {
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

    #[test]
    fn a_fault_of_a_part_stands_in_the_whole() {
        let text = "seed = 1\n[scenario]\nworkload = 1\n[scenario.system]\ndevice = 2\n";
        let mut whole = Document::read(text, Notation::Toml, "a.toml", Path::new(".")).expect("valid");
        let schema = json!({"properties": {"seed": {}, "scenario": {}}});
        assert_eq!(whole.check(&["own.scenario.seed=7".into()], "own.", &schema), []);
        let part = whole.part("scenario", Path::new(".")).expect("no base");
        assert_eq!(part.values(), &json!({"workload": 1, "system": {"device": 2}, "seed": 7}));
        let at = |path: &str| part.located(Fault::at(Kind::Conflict, path).says(" and ").key("run").set("run", 1));
        let fault = at("system.device.tips");
        assert_eq!((fault.path.to_string(), fault.line), ("scenario.system.device.tips".into(), Some(5)));
        assert_eq!(fault.keys().map(ToString::to_string).collect::<Vec<_>>()[1..], ["scenario.run", "run"]);
        assert_eq!((at("run").path.to_string(), at("run").line), ("scenario.run".into(), Some(2)));
        let fault = at("seed");
        assert_eq!((fault.path.to_string(), fault.setting.as_deref()), ("seed".into(), Some("own.scenario.seed=7")));
        let fault = whole.part("none", Path::new(".")).expect("no base").located(Fault::missing("x"));
        assert_eq!((fault.path.to_string(), fault.file.as_deref()), ("x".into(), Some("a.toml")));
    }

    #[test]
    fn values_are_a_document_without_lines() {
        let values = json!({"a": {"b": [1, {"c.d": 2}]}});
        let document = Document::of_values(values, "dictionary", Path::new(".")).expect("no base");
        let fault = document.located(Fault::at(Kind::Conflict, "a.b.1.c.d"));
        assert_eq!((fault.file.as_deref(), fault.line), (Some("dictionary"), None));
        let wrong = Document::of_values(json!({"base": 3}), "dictionary", Path::new(".")).expect_err("no path");
        assert_eq!((wrong.path.to_string(), wrong.file.as_deref()), ("base".into(), Some("dictionary")));
    }
}
