//! The shared libraries of this process: each is opened and hashed once, until its file changes.

#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::raw::Library;

/// Distinguishes a file from earlier files at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Zero on systems that do not number files.
    inode: u64,
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Self { modified: metadata.modified().ok(), bytes: metadata.len(), inode }
    }
}

/// An open library.
struct Known {
    path: PathBuf,
    stamp: Stamp,
    library: Library,
    digest: String,
}

/// The latest library of each path. Libraries stay open until the process ends.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Number of copies so far. Their names are not reused: the system would return the library of an earlier copy.
static COPIES: AtomicU64 = AtomicU64::new(0);

/// Returns the library at a path, and the SHA-256 of its file.
///
/// # Errors
/// The file can't be read, or is not a shared library for this machine.
///
/// # Safety
/// The initialisers of the library are sound.
pub unsafe fn open_library(path: &Path) -> Result<(Library, String), String> {
    let stamp = Stamp::from(&std::fs::metadata(path).map_err(|error| error.to_string())?);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.iter().find(|known| known.path == path && known.stamp == stamp) {
        return Ok((known.library, known.digest.clone()));
    }
    let content = std::fs::read(path).map_err(|error| error.to_string())?;
    // The system returns the open library for a file with the same name or inode, even if its content differs.
    let is_taken = known.iter().any(|known| known.path == path || known.stamp.inode == stamp.inode);
    // SAFETY: as the caller guarantees.
    let library = unsafe {
        if is_taken {
            open_copy(&content)?
        } else {
            Library::open(path)?
        }
    };
    let digest: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    known.retain(|known| known.path != path);
    known.push(Known { path: path.to_owned(), stamp, library, digest: digest.clone() });
    Ok((library, digest))
}

/// Opens a library from the content of its file, by a path that no library had before.
///
/// # Errors
/// No file can be written, or the content is not a shared library for this machine.
///
/// # Safety
/// The initialisers of the library are sound.
unsafe fn open_copy(content: &[u8]) -> Result<Library, String> {
    let (path, mut file) = new_file().map_err(|error| error.to_string())?;
    let library = file.write_all(content).map_err(|error| error.to_string()).and_then(|()| {
        drop(file);
        // SAFETY: as the caller guarantees.
        unsafe { Library::open(&path) }
    });
    // An open library does not need its file; if the system does not allow the removal, the file stays.
    let _ = std::fs::remove_file(&path);
    library
}

/// A new file among the temporary ones.
fn new_file() -> io::Result<(PathBuf, File)> {
    loop {
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sledsim-policy-{}-{number}.so", std::process::id()));
        match File::create_new(&path) {
            // An earlier process with this id left a file of this name.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((path, made?)),
        }
    }
}
