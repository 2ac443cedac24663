//! The catalogue: devices as published, each value with its source. One file an entry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::based::{self, Read};
use super::draft::Notation;
use super::entry::{Entry, Subject};
use crate::fault::Fault;
use crate::plugin::PluginLoader;

/// Folders of catalogue files, searched in order; after them, files that a program has in itself.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    folders: Vec<PathBuf>,
    built_in: &'static [(&'static str, &'static str)],
    /// What finds policies that a scenario names and nobody here knows.
    loader: Option<Arc<dyn PluginLoader>>,
}

impl Catalog {
    /// A catalogue in folders that hold `devices` and `workloads`, with a file for each.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Sets the loader of plugins.
    #[must_use]
    pub fn with_loader(self, loader: Arc<dyn PluginLoader>) -> Self {
        Self { loader: Some(loader), ..self }
    }

    /// Returns the loader of plugins.
    pub(in crate::scenario) fn loader(&self) -> Option<&dyn PluginLoader> {
        self.loader.as_deref()
    }

    /// The same with files that need no folder: the path of each from the catalogue's folder on (`devices/g2.toml`), and its
    /// text.
    #[must_use]
    pub fn with_built_in(self, built_in: &'static [(&'static str, &'static str)]) -> Self {
        Self { built_in, ..self }
    }

    /// The device or the workload called `name`, or in the file `name` where that ends as a document's (relative to `base`).
    ///
    /// # Errors
    /// There is none, or all that is wrong with its file and with those that this is based on.
    pub fn entry(&self, subject: Subject, name: &str, base: &Path) -> Result<Entry, Vec<Fault>> {
        let chain = self.chain(subject, name, base).map_err(|fault| vec![fault])?;
        Entry::of(subject, chain)
    }

    fn chain(&self, subject: Subject, name: &str, base: &Path) -> Result<Vec<Read>, Fault> {
        let word = subject.word();
        let first = self.opened(subject, name, base)?;
        let folder = first.path.as_deref().and_then(Path::parent).unwrap_or(base).to_owned();
        let what = [format!("a {word} or its file"), format!("a {word}")];
        based::chain(first, &folder, [&what[0], &what[1]], &|name, from| self.opened(subject, name, from))
    }

    /// What a name or a path means, without what it is based on.
    fn opened(&self, subject: Subject, name: &str, base: &Path) -> Result<Read, Fault> {
        if is_file(name) {
            return open(&base.join(name), name);
        }
        let names = self.names(subject);
        match names.iter().find(|(known, _)| known == name) {
            Some((_, path)) => self.read(path, name),
            None => {
                let word = subject.word();
                Err(Fault::unknown_name("name", name, names.iter().map(|(known, _)| known.as_str()))
                    .says(format!("; no such {word} is in the catalogue: or give the path of a {word} file (.toml)")))
            }
        }
    }

    /// Reads the file at a path of the catalogue.
    fn read(&self, path: &Path, name: &str) -> Result<Read, Fault> {
        match self.built_in.iter().find(|(own, _)| Path::new(own) == path) {
            Some((own, text)) => Read::of(text, Notation::Toml, own, None),
            None => open(path, name),
        }
    }

    /// Names and files of all entries of a kind, by name.
    #[must_use]
    pub fn names(&self, subject: Subject) -> Vec<(String, PathBuf)> {
        let mut names: Vec<(String, PathBuf)> = Vec::new();
        let room = format!("{}s", subject.word());
        let of_folder = |folder: &PathBuf| std::fs::read_dir(folder.join(&room)).into_iter().flatten();
        let built_in = self.built_in.iter().map(|(own, _)| PathBuf::from(own)).filter(|own| own.starts_with(&room));
        let in_folders = self.folders.iter().flat_map(of_folder).filter_map(Result::ok).map(|file| file.path());
        for path in in_folders.chain(built_in) {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            if Notation::of_file(&path).is_some() && names.iter().all(|(known, _)| *known != name) {
                names.push((name, path));
            }
        }
        names.sort();
        names
    }
}

/// Returns true if the name of a device or a workload is that of a file.
pub(crate) fn is_file(name: &str) -> bool {
    Notation::of_file(Path::new(name)).is_some()
}

/// The file of an entry, which something calls `name`.
fn open(path: &Path, name: &str) -> Result<Read, Fault> {
    based::opened(path, name).map_err(|mut fault| {
        if fault.file.is_none() {
            fault.path = "name".into();
        }
        fault
    })
}
