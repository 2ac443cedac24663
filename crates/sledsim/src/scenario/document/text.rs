//! Reads the texts of documents up to a maximum size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::fault;
use crate::limits::DOCUMENT_BYTES;

/// Reads the file of a document.
///
/// # Errors
/// The file cannot be read, is not a regular file, is too large, or is not text.
pub fn text_of(path: &Path) -> Result<String, String> {
    // Opening a pipe would wait for its other end.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err("it is not a regular file".to_owned());
    }
    let file = File::open(path).map_err(|error| fault::unread(&error))?;
    let mut bytes = Vec::new();
    file.take(DOCUMENT_BYTES.most + 1).read_to_end(&mut bytes).map_err(|error| fault::unread(&error))?;
    require_size(bytes.len())?;
    String::from_utf8(bytes).map_err(|error| format!("byte {} is not UTF-8 text", error.utf8_error().valid_up_to()))
}

/// Returns an error if a text of this size is too large.
pub(super) fn require_size(bytes: usize) -> Result<(), String> {
    if bytes as u64 > DOCUMENT_BYTES.most {
        return Err(format!("has more than the {} bytes that a document may have", DOCUMENT_BYTES.most));
    }
    Ok(())
}
