//! Files that a server writes: each is a plain one, and nobody else's meanwhile.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::os;

/// Opens a file to be read and written, which is made if it is not there; what is in it stays.
///
/// # Errors
/// Where it can't be opened, is no plain file, or another server has it.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened: a pipe would wait for its other end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(refused("it is no plain file".to_owned()));
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if os::is_locked_elsewhere(&file) {
        return Err(refused("another server has it".to_owned()));
    }
    Ok(file)
}

/// An error with words of its own.
pub(crate) fn refused(says: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, says)
}

/// Whether two paths are of one file, which need not be there.
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
    fn a_file_is_the_same_by_whatever_path_and_one_server_has_it() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, link) = (folder.join("file"), folder.join("link"));
        assert!(are_same(&file, &folder.join(".").join("file")));
        assert!(are_same(Path::new("not-there"), &std::env::current_dir().expect("a folder").join("not-there")));
        assert!(!are_same(&file, &link));
        std::fs::write(&file, "somebody's").expect("a file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        assert!(are_same(&file, &link));
        let first = open(&file).expect("a plain file");
        assert_eq!(open(&link).expect_err("it is in use").to_string(), "another server has it");
        drop(first);
        drop(open(&link).expect("nobody has it any more"));
        assert_eq!(std::fs::read(&file).expect("still there"), b"somebody's");
        for path in [&folder, Path::new("/dev/null")] {
            assert_eq!(open(path).expect_err("not one to be written").to_string(), "it is no plain file");
        }
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}
