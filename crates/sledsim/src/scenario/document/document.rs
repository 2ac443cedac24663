//! Documents: values of a file over those of its bases (key `base`), and settings over both.
//!
//! Scenarios, sweeps, searches and all other documents are read here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::check::Checker;
use super::node::{Content, Node, Origin, Source, SourceKind, Written};
use super::notation::Notation;
use super::resolve::{anchored, keys_of};
use super::settings::{apply, overlay, Keys};
use super::text::text_of;
use crate::fault::{self, Collector, Fault, Faults, Kind};

/// The key that names the base.
pub(in crate::scenario) const BASE: &str = "base";

/// Longest chain of bases.
pub(in crate::scenario) const MOST_BASES: usize = 16;

/// Endings of file names of documents. In a base they are relative to its folder.
const DOCUMENTS: [&str; 4] = [".toml", ".yaml", ".yml", ".json"];

/// A document with its bases.
#[derive(Clone, Debug)]
pub struct Document {
    pub(in crate::scenario) root: Node,
}

/// A text that was read.
pub(in crate::scenario) struct ReadText {
    /// Its values. The key `base` is removed once the base was read.
    pub root: Node,
    /// The name of its base.
    pub base: Option<String>,
    /// The canonical path of its file; `None` if it is in no file.
    pub path: Option<PathBuf>,
}

impl ReadText {
    /// Reads a text.
    ///
    /// # Errors
    /// A syntax error, with file and line.
    pub(in crate::scenario) fn new(
        text: &str,
        notation: Notation,
        source: &Arc<Source>,
        path: Option<PathBuf>,
    ) -> Result<Self, Fault> {
        Ok(Self { root: notation.read(text, source)?, base: None, path })
    }
}

/// Words for messages about a chain of texts.
pub(in crate::scenario) struct ChainWords<'a> {
    /// A description of the value of `base`.
    pub base: &'a str,
    /// A noun for a text.
    pub text: &'a str,
}

/// Reads the bases of a text. Returns the text and its bases, each followed by its own base. `open` opens a base by its name, relative
/// to a folder: `folder` for the first text.
///
/// # Errors
/// A base cannot be read; with file and line.
pub(in crate::scenario) fn chain(
    first: ReadText,
    folder: &Path,
    words: &ChainWords<'_>,
    open: &dyn Fn(&str, &Path) -> Result<ReadText, Fault>,
) -> Result<Vec<ReadText>, Fault> {
    let (mut chain, mut from) = (vec![first], folder.to_owned());
    loop {
        let last = chain.len() - 1;
        let root = &chain[last].root;
        let Some(base) = root.get(BASE) else { return Ok(chain) };
        let Some(name) = base.as_text().map(str::to_owned) else {
            return Err(root.locate(Fault::wrong_type(BASE, base.to_value(), words.base)));
        };
        let below = open(&name, &from).map_err(|mut fault| {
            if fault.location.file.is_some() {
                return fault;
            }
            fault.location.path = BASE.into();
            root.locate(fault)
        })?;
        let is_there = below.path.is_some() && chain.iter().any(|read| read.path == below.path);
        if is_there || chain.len() > MOST_BASES {
            let says = format!(": {} can't be based on itself, nor on so many", words.text);
            return Err(root.locate(Fault::conflict(BASE, name).says(says)));
        }
        if let Some(table) = chain[last].root.as_table_mut() {
            table.shift_remove(BASE);
        }
        chain[last].base = Some(name);
        from = below.path.as_deref().and_then(Path::parent).unwrap_or(folder).to_owned();
        chain.push(below);
    }
}

impl Document {
    /// Reads a text and its bases, relative to `folder`. Messages call the text `source`.
    ///
    /// # Errors
    /// A syntax error, or a base that cannot be read; with file and line.
    pub fn read(text: &str, notation: Notation, source: &str, folder: &Path) -> Result<Self, Fault> {
        Self::based(notation.read(text, &Source::new(source, SourceKind::Document))?, folder)
    }

    /// Returns the document with these values over its bases. Messages call it `source`.
    ///
    /// # Errors
    /// A base cannot be read.
    pub fn of_values(values: Value, source: &str, folder: &Path) -> Result<Self, Fault> {
        let origin = Origin::line_of(&Source::new(source, SourceKind::Document), 0);
        Self::based(Node::of_value(values, &origin), folder)
    }

    /// Returns the table at a key as a document with its own bases. Its faults have the location in this document.
    ///
    /// # Errors
    /// A base cannot be read; with file and line.
    pub fn part(&self, key: &str, folder: &Path) -> Result<Self, Fault> {
        let mut root = self.root.get(key).cloned().unwrap_or_default();
        root.origin.source = root.origin.source.or_else(|| self.root.origin.source.clone());
        root.origin.written = Written::At(Arc::new(self.root.written().step(key)));
        Self::based(root, folder)
    }

    /// Returns a document over its bases.
    fn based(own: Node, folder: &Path) -> Result<Self, Fault> {
        let naming = own.get(BASE).unwrap_or(&own).origin.source.as_ref().or(own.origin.source.as_ref());
        let path = naming.and_then(|source| folder.join(&source.name).canonicalize().ok());
        let first = ReadText { root: own, base: None, path };
        let words = ChainWords { base: "the path of a document", text: "a document" };
        let chain = chain(first, folder, &words, &|name, from| open(&from.join(name), name, SourceKind::Document))?;
        let here = folder.canonicalize().ok();
        let is_part = chain.first().is_some_and(|first| !first.root.written().is_empty());
        let mut roots = Vec::new();
        for (place, mut read) in chain.into_iter().enumerate() {
            let from = read.path.as_deref().and_then(Path::parent).filter(|_| place > 0);
            if let Some(from) = from.filter(|from| here.as_deref().is_some_and(|here| here != *from)) {
                start_from(&mut read.root, from, "");
            }
            if is_part && place > 0 {
                keep_paths(&mut read.root, &fault::Path::default());
            }
            roots.push(read.root);
        }
        // The keys of the last base come first; each document replaces values of its base.
        let root = roots.into_iter().rev().reduce(|below, own| overlay(own, below)).unwrap_or_default();
        Ok(Self { root })
    }

    /// Returns its name in messages.
    #[must_use]
    pub fn source(&self) -> &str {
        self.root.origin.source.as_ref().map_or("", |source| &source.name)
    }

    /// Returns its values.
    #[must_use]
    pub fn values(&self) -> Value {
        self.root.to_value()
    }

    /// Applies settings `path=value`, whose paths may begin with `prefix`; checks the document against a schema, and converts
    /// quantities to numbers.
    ///
    /// # Errors
    /// All faults, with their locations.
    pub fn check(&mut self, settings: &[String], prefix: &str, schema: &Value) -> Result<(), Faults> {
        let top = keys_of(schema);
        let keys = Keys { top: &top, of_system: None };
        let mut found = Collector::default();
        for given in settings {
            let setting = given.trim_start().strip_prefix(prefix).unwrap_or(given);
            found.extend(apply(&mut self.root, given, setting, &keys).err());
        }
        Checker::new(schema, &mut found).value(&mut self.root, schema);
        found.map(|fault| self.located(fault)).into_result()
    }

    /// Adds the setting, or file and line, of its key to a fault.
    #[must_use]
    pub fn located(&self, fault: Fault) -> Fault {
        self.root.locate(fault)
    }
}

/// Reads the document in a file, which a key of another document names.
pub(in crate::scenario) fn open(path: &Path, name: &str, kind: SourceKind) -> Result<ReadText, Fault> {
    let unread = |why: String| Fault::of(Kind::Unreadable, BASE, name).says(format!(": {}: {why}", path.display()));
    let notation = Notation::of_file(path).ok_or_else(|| {
        let endings = DOCUMENTS.join(", ");
        unread(format!(
            "expected a name that ends in {endings}; if this is a device file, give it as a scenario's device"
        ))
    })?;
    let text = text_of(path).map_err(unread)?;
    let canonical = path.canonicalize().map_err(|error| unread(fault::unread(&error)))?;
    ReadText::new(&text, notation, &Source::new(&path.display().to_string(), kind), Some(canonical))
}

/// Gives each value of a base the path in its own file, for values that become a part of another document.
fn keep_paths(node: &mut Node, path: &fault::Path) {
    let child = |step: String, item: &mut Node| {
        let path = path.step(step);
        keep_paths(item, &path);
        item.origin.written = Written::At(Arc::new(path));
    };
    match &mut node.content {
        Content::Table(table) => table.iter_mut().for_each(|(key, item)| child(key.clone(), item)),
        Content::List(items) => items.iter_mut().enumerate().for_each(|(index, item)| child(index.to_string(), item)),
        _ => {}
    }
}

/// Makes the file names in a base relative to its folder: those of its `path` keys, and documents.
fn start_from(node: &mut Node, folder: &Path, key: &str) {
    match &mut node.content {
        Content::Table(table) => table.iter_mut().for_each(|(key, item)| start_from(item, folder, key)),
        Content::List(items) => items.iter_mut().for_each(|item| start_from(item, folder, key)),
        Content::Text(text) if key == "path" || DOCUMENTS.iter().any(|end| text.ends_with(end)) => {
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
    fn a_fault_is_located_at_its_key_or_the_table_that_lacks_it() {
        let text = "seed = 1\n[axes]\n\"device.bit_nm\" = [1]\n[run]\nrequests = 5\n";
        let mut document = Document::read(text, Notation::Toml, "a.toml", Path::new(".")).expect("valid");
        let schema = json!({"type": "object", "properties": {"seed": {}, "axes": {}, "run": {}}});
        assert_eq!(document.check(&["own.run.requests=7".into()], "own.", &schema), Ok(()));
        let at = |path: &str| document.located(Fault::at(Kind::Conflict, path));
        assert_eq!(
            (at("axes.device.bit_nm.0").location.line, at("run.time_s").location.line, at("other").location.line),
            (Some(3), Some(4), None)
        );
        assert_eq!(at("other").location.file.as_deref(), Some("a.toml"));
        assert_eq!(
            (at("run.requests").location.setting.as_deref(), at("run.requests").location.file.clone()),
            (Some("own.run.requests=7"), None)
        );
        assert_eq!(document.values()["run"]["requests"], 7);
    }

    #[test]
    fn a_key_with_dots_is_set_as_one() {
        let mut document = Document::read("[axes]\n\"a.b\" = 1", Notation::Toml, "x", Path::new(".")).expect("valid");
        let schema = json!({"properties": {"axes": {}}});
        assert_eq!(document.check(&["axes.a.b=2".into(), "axes.a.c=3".into()], "", &schema), Ok(()));
        assert_eq!(document.values(), json!({"axes": {"a.b": 2, "a": {"c": 3}}}));
    }

    #[test]
    fn a_fault_of_a_part_is_located_in_the_whole() {
        let text = "seed = 1\n[scenario]\nworkload = 1\n[scenario.system]\ndevice = 2\n";
        let mut whole = Document::read(text, Notation::Toml, "a.toml", Path::new(".")).expect("valid");
        let schema = json!({"properties": {"seed": {}, "scenario": {}}});
        assert_eq!(whole.check(&["own.scenario.seed=7".into()], "own.", &schema), Ok(()));
        let part = whole.part("scenario", Path::new(".")).expect("no base");
        assert_eq!(part.values(), json!({"workload": 1, "system": {"device": 2}, "seed": 7}));
        let at = |path: &str| part.located(Fault::at(Kind::Conflict, path).says(" and ").key("run").set("run", 1));
        let fault = at("system.device.tips");
        assert_eq!(
            (fault.location.path.to_string(), fault.location.line),
            ("scenario.system.device.tips".into(), Some(5))
        );
        assert_eq!(fault.keys().map(ToString::to_string).collect::<Vec<_>>()[1..], ["scenario.run", "run"]);
        assert_eq!((at("run").location.path.to_string(), at("run").location.line), ("scenario.run".into(), Some(2)));
        let fault = at("seed");
        assert_eq!(
            (fault.location.path.to_string(), fault.location.setting.as_deref()),
            ("seed".into(), Some("own.scenario.seed=7"))
        );
        let fault = whole.part("none", Path::new(".")).expect("no base").located(Fault::missing("x"));
        assert_eq!(
            (fault.location.path.to_string(), fault.location.file.as_deref()),
            ("none.x".into(), Some("a.toml"))
        );
    }

    #[test]
    fn values_are_a_document_without_lines() {
        let values = json!({"a": {"b": [1, {"c.d": 2}]}});
        let document = Document::of_values(values, "dictionary", Path::new(".")).expect("no base");
        let fault = document.located(Fault::at(Kind::Conflict, "a.b.1.c.d"));
        assert_eq!((fault.location.file.as_deref(), fault.location.line), (Some("dictionary"), None));
        let wrong = Document::of_values(json!({"base": 3}), "dictionary", Path::new(".")).expect_err("no path");
        assert_eq!(
            (wrong.location.path.to_string(), wrong.location.file.as_deref()),
            ("base".into(), Some("dictionary"))
        );
    }
}
