//! Files that a server writes: regular files, each locked by one server.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::os;

/// Opens a file for reading and writing, and locks it until it is closed. It is created if it does not exist; its content is kept.
///
/// # Errors
/// The file cannot be opened, is not a regular file, or is locked by another server.
pub fn open_locked(path: &Path) -> io::Result<File> {
    let refused = |says| Err(io::Error::new(io::ErrorKind::InvalidInput, says));
    // Opening a pipe would wait for its other end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return refused("it is not a regular file");
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if os::try_lock(&file) {
        Ok(file)
    } else {
        refused("another server uses it")
    }
}

/// Returns true if two paths lead to the same file, which need not exist.
#[must_use]
pub fn are_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some((folder.canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => one == other || place(one).is_some_and(|found| place(other) == Some(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_every_path_and_has_one_server() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, link) = (folder.join("file"), folder.join("link"));
        assert!(are_same(&file, &folder.join(".").join("file")));
        assert!(are_same(Path::new("not-there"), &std::env::current_dir().expect("a folder").join("not-there")));
        assert!(!are_same(&file, &link));
        std::fs::write(&file, "content").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(are_same(&file, &link));
        let first = open_locked(&file).expect("a regular file");
        assert_eq!(open_locked(&link).expect_err("it is locked").to_string(), "another server uses it");
        drop(first);
        drop(open_locked(&link).expect("it is not locked any more"));
        assert_eq!(std::fs::read(&file).expect("still there"), b"content");
        for path in [&folder, Path::new("/dev/null")] {
            assert_eq!(open_locked(path).expect_err("not regular").to_string(), "it is not a regular file");
        }
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
