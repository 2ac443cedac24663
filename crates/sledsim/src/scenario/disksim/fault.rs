//! What is wrong with a parameter file, and where.

use crate::fault::{self, Kind};

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
    pub what: fault::Fault,
}

impl Fault {
    /// What is not as DiskSim has it, in words.
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self::of(place, fault::Fault::new(Kind::Syntax).says(message))
    }

    /// A fault whose place is known.
    pub fn of(place: Place, what: fault::Fault) -> Self {
        Self { place, what }
    }
}

/// Why nothing is imported: at least one fault.
#[derive(Debug)]
pub(super) struct Refusal(pub Vec<Fault>);

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}
