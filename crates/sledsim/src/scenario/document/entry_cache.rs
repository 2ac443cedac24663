//! Entries of the catalogue that have been read, so that many runs read each file once.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::entry::{Entry, Subject};

/// A file that changed less than this before it was read is read again next time: a second change may have the same
/// time stamp.
const SETTLING_TIME: Duration = Duration::from_secs(2);

/// The entries that catalogues have read from their folders. Clones share them.
///
/// An entry is read again if one of its files changed, or if a file was added to or removed from a folder of the catalogue.
#[derive(Clone, Debug, Default)]
pub struct EntryCache(Arc<Mutex<HashMap<Key, CachedEntry>>>);

/// Identifies an entry: the same name may mean different files in different folders.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub subject: Subject,
    pub name: String,
    pub folders: Vec<PathBuf>,
}

#[derive(Debug)]
struct CachedEntry {
    entry: Entry,
    /// Its files and the folders in which names are looked up.
    stamps: Vec<(PathBuf, Stamp)>,
}

/// Tells versions of a file or a folder apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    bytes: u64,
}

impl Stamp {
    /// The stamp of a path; `None` if it is not there or its file system has no times.
    fn of(path: &Path) -> Option<Self> {
        let of_metadata =
            |metadata: Metadata| Some(Self { modified: metadata.modified().ok()?, bytes: metadata.len() });
        path.metadata().ok().and_then(of_metadata)
    }

    /// Returns true if a later change is certain to give another stamp.
    fn is_settled(&self) -> bool {
        self.modified.elapsed().is_ok_and(|age| age > SETTLING_TIME)
    }
}

impl EntryCache {
    /// Returns the entry if it was read and its files have not changed.
    pub(super) fn get(&self, key: &Key) -> Option<Entry> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedEntry { entry, stamps } = cache.get(key)?;
        stamps.iter().all(|(path, stamp)| Stamp::of(path) == Some(*stamp)).then(|| entry.clone())
    }

    /// Adds an entry that was read from `files`.
    pub(super) fn insert(&self, key: Key, entry: &Entry, files: Vec<PathBuf>) {
        let folder = format!("{}s", key.subject.word());
        let folders = key.folders.iter().map(|each| each.join(&folder)).filter(|each| each.is_dir());
        let stamp = |path: PathBuf| Stamp::of(&path).filter(Stamp::is_settled).map(|stamp| (path, stamp));
        if let Some(stamps) = folders.chain(files).map(stamp).collect() {
            let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cache.insert(key, CachedEntry { entry: entry.clone(), stamps });
        }
    }
}
