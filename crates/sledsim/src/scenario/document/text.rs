//! The texts of documents, none of them larger than a document may be.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::fault;
use crate::limits::DOCUMENT_BYTES;

/// The text of a document's file, of which no more is read than a document may have.
///
/// # Errors
/// Says why it can't be read: what the system says, that it is too large, or that it is no text.
pub fn text_of(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| fault::unread(&error))?;
    let mut bytes = Vec::new();
    file.take(DOCUMENT_BYTES.most + 1).read_to_end(&mut bytes).map_err(|error| fault::unread(&error))?;
    require_size(bytes.len())?;
    String::from_utf8(bytes).map_err(|error| format!("byte {} is not UTF-8 text", error.utf8_error().valid_up_to()))
}

/// Refuses a text of so many bytes, where it is too large.
pub(super) fn require_size(bytes: usize) -> Result<(), String> {
    if bytes as u64 > DOCUMENT_BYTES.most {
        return Err(format!("has more than the {} bytes that a document may have", DOCUMENT_BYTES.most));
    }
    Ok(())
}
