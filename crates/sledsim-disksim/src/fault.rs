//! What is wrong with a parameter file, and where.

use sledsim::fault::{self, Allowed, Kind};

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
    /// A fault that no parameter has, in words.
    pub fn new(place: Place, kind: Kind, message: impl Into<String>) -> Self {
        Self::of(place, fault::Fault::new(kind).says(message))
    }

    /// A fault whose place is known.
    pub fn of(place: Place, what: fault::Fault) -> Self {
        Self { place, what }
    }

    /// The same, of another kind.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.what.kind = kind;
        self
    }

    /// The same, with words that follow.
    pub fn says(self, words: impl Into<String>) -> Self {
        Self::of(self.place, self.what.says(words))
    }

    /// The same, with what is allowed, which tells the kind where a value is given.
    pub fn expects(mut self, allowed: impl Into<Allowed>) -> Self {
        let allowed = allowed.into();
        if let Some(value) = &self.what.value {
            let beyond = value.is_number() && matches!(allowed, Allowed::Range(_));
            self.what.kind = if beyond { Kind::OutOfRange } else { Kind::WrongType };
        }
        self.what.allowed = Some(allowed);
        self
    }

    /// The same, with the words that are allowed and the one nearest to the word given.
    pub fn one_of<'a>(self, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let kind = if self.what.value.is_some() { Kind::UnknownName } else { self.what.kind };
        Self::of(self.place, self.what.one_of(given, known)).kind(kind)
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
