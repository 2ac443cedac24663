//! What is wrong with a parameter file, and where.

use std::path::PathBuf;

/// A line of one of the files read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Number of the file, in the order of opening.
    pub file: u32,
    /// Line, from 1; 0 for the file as a whole.
    pub line: u32,
}

/// A fault at a place; the place's file is a number until the fault leaves the reader.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub place: Place,
    pub message: String,
}

impl Fault {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}

/// A parameter file that can't be imported: file, line, what is wrong and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ImportError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; none where the whole file is meant.
    pub line: Option<u32>,
    /// What is wrong, and what is expected.
    pub message: String,
}
