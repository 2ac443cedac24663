//! The catalogue of devices and workloads: one file per entry, each value with its source.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{self, ChainWords, ReadText};
use super::entry::{Entry, Subject};
use super::entry_cache::{EntryCache, Key};
use super::expand::DRAWING;
use super::node::{Content, Node, Source, SourceKind};
use super::notation::Notation;
use crate::fault::{Fault, Faults};
use crate::hierarchy::ComponentKind;
use crate::plugin::PluginLoader;

/// Endings of the names of files in a folder of the catalogue.
const ENDINGS: [&str; 4] = ["toml", "yaml", "yml", "json"];

/// Precedes the name of a drawing of the catalogue where a device is named.
const DRAWING_PREFIX: &str = "drawing:";

/// A file that is compiled into the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its path in the folder of the catalogue: `devices/g2.toml`.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The names that scenarios can use: files in folders, searched in order, then files compiled into the program; custom policies
/// and kinds of components.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    folders: Vec<PathBuf>,
    built_in: &'static [BuiltIn],
    loader: Option<Arc<dyn PluginLoader>>,
    kinds: &'static [ComponentKind],
    cache: EntryCache,
}

impl Catalog {
    /// Returns a catalogue of folders with the folders `devices` and `workloads`, one file per entry.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Sets the loader of plugins.
    #[must_use]
    pub fn with_loader(self, loader: Arc<dyn PluginLoader>) -> Self {
        Self { loader: Some(loader), ..self }
    }

    /// Adds kinds of components.
    #[must_use]
    pub fn with_kinds(self, kinds: &'static [ComponentKind]) -> Self {
        Self { kinds, ..self }
    }

    /// Adds files that are compiled into the program.
    #[must_use]
    pub fn with_built_in(self, built_in: &'static [BuiltIn]) -> Self {
        Self { built_in, ..self }
    }

    /// Shares the entries that other catalogues have read.
    #[must_use]
    pub fn with_cache(self, cache: EntryCache) -> Self {
        Self { cache, ..self }
    }

    /// Returns the loader of plugins.
    pub(in crate::scenario) fn loader(&self) -> Option<&dyn PluginLoader> {
        self.loader.as_deref()
    }

    /// Returns the added kinds of components.
    pub(in crate::scenario) fn kinds(&self) -> &'static [ComponentKind] {
        self.kinds
    }

    /// Returns the device or workload `name`, or that in the file `name` if that ends as a document's (relative to `base`).
    ///
    /// # Errors
    /// There is none, or the faults of its file and of the bases.
    pub fn entry(&self, subject: Subject, name: &str, base: &Path) -> Result<Entry, Faults> {
        let key = (!is_file(name)).then(|| Key { subject, name: name.to_owned(), folders: self.folders.clone() });
        if let Some(entry) = key.as_ref().and_then(|key| self.cache.get(key)) {
            return Ok(entry);
        }
        let first = self.open(subject, name, base)?;
        let folder = first.path.as_deref().and_then(Path::parent).unwrap_or(base).to_owned();
        let word = subject.word();
        let [named, text] = [format!("a {word} or its file"), format!("a {word}")];
        let words = ChainWords { base: &named, text: &text };
        let chain = document::chain(first, &folder, &words, &|name, from| self.open(subject, name, from))?;
        let files: Option<Vec<PathBuf>> = chain.iter().map(|text| text.path.clone()).collect();
        let entry = Entry::of(subject, chain)?;
        if let (Some(key), Some(files)) = (key, files) {
            self.cache.insert(key, &entry, files);
        }
        Ok(entry)
    }

    /// Reads the file of a name or a path, without its bases.
    fn open(&self, subject: Subject, name: &str, base: &Path) -> Result<ReadText, Fault> {
        if is_file(name) {
            return open(&base.join(name), name);
        }
        let word = subject.word();
        let folder = format!("{word}s");
        if !name.contains(['/', '\\']) {
            for ending in ENDINGS {
                let file = format!("{folder}/{name}.{ending}");
                if let Some(path) = self.folders.iter().map(|each| each.join(&file)).find(|path| path.is_file()) {
                    return open(&path, name);
                }
                if let Some(built_in) = self.built_in.iter().find(|built_in| built_in.path == file) {
                    let source = Source::new(built_in.path, SourceKind::Entry);
                    return ReadText::new(built_in.text, Notation::Toml, &source, None);
                }
            }
        }
        let names = self.names(subject);
        let fault = Fault::unknown_name("name", name, names.iter().map(|(known, _)| known.as_str()));
        let has_suggestion = fault.suggestion.is_some();
        Err(if has_suggestion { fault } else { fault.says(format!("; or give the path of a {word} file (.toml)")) })
    }

    /// Returns names and files of all entries of a kind, sorted by name.
    #[must_use]
    pub fn names(&self, subject: Subject) -> Vec<(String, PathBuf)> {
        let mut names: Vec<(String, PathBuf)> = Vec::new();
        let folder = format!("{}s", subject.word());
        let of_folder = |each: &PathBuf| std::fs::read_dir(each.join(&folder)).into_iter().flatten();
        let in_folders = self.folders.iter().flat_map(of_folder).filter_map(Result::ok).map(|file| file.path());
        let built_in = self.built_in.iter().map(|built_in| PathBuf::from(built_in.path));
        for path in in_folders.chain(built_in.filter(|path| path.starts_with(&folder))) {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            if Notation::of_file(&path).is_some() && names.iter().all(|(known, _)| *known != name) {
                names.push((name, path));
            }
        }
        names.sort();
        names
    }
}

/// Returns true if the name of a device or a workload is a file name.
pub(crate) fn is_file(name: &str) -> bool {
    Notation::of_file(Path::new(name)).is_some()
}

/// Returns the drawing that the name of a device refers to: one of the catalogue (`drawing:g2`), or a file with a
/// drawing.
pub(in crate::scenario) fn drawing_named<'a>(name: &'a str, base: &Path) -> Option<&'a str> {
    name.strip_prefix(DRAWING_PREFIX).or_else(|| holds_drawing(name, base).then_some(name))
}

/// Returns true if a file holds a drawing: it, or the file that it is based on, names one, or has single values without the kind of a
/// device. A file based on a device of the catalogue holds a device.
fn holds_drawing(name: &str, folder: &Path) -> bool {
    let (mut name, mut folder) = (name.to_owned(), folder.to_owned());
    for _ in 0..=document::MOST_BASES {
        let Some(read) = is_file(&name).then(|| open(&folder.join(&name), &name).ok()).flatten() else { return false };
        let Some(keys) = read.root.as_table() else { return false };
        if keys.contains_key(DRAWING) {
            return true;
        }
        let Some(base) = keys.get(document::BASE) else {
            let is_single = |node: &Node| !matches!(node.content, Content::Table(_) | Content::List(_));
            return !keys.is_empty() && !keys.contains_key("mechanism") && keys.values().all(is_single);
        };
        folder = read.path.as_deref().and_then(Path::parent).unwrap_or(&folder).to_owned();
        let Some(base) = base.as_text() else { return false };
        name = base.to_owned();
    }
    false
}

/// Reads the file of the entry `name`.
fn open(path: &Path, name: &str) -> Result<ReadText, Fault> {
    document::open(path, name, SourceKind::Entry).map_err(|mut fault| {
        if fault.location.file.is_none() {
            fault.location.path = "name".into();
        }
        fault
    })
}
