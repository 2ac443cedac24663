//! Faults of parameter files, with their place.

use sledsim::fault::{self, Allowed, Kind};

/// A line of one of the files read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Index of the file, in the order of opening.
    pub file: u32,
    /// Line, from 1; 0 for the whole file.
    pub line: u32,
}

/// A fault at a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub place: Place,
    pub what: fault::Fault,
}

impl Fault {
    /// Returns a fault with a message.
    pub fn new(place: Place, kind: Kind, message: impl Into<String>) -> Self {
        Self::of(place, fault::Fault::new(kind).says(message))
    }

    /// Returns a fault at a place.
    pub fn of(place: Place, what: fault::Fault) -> Self {
        Self { place, what }
    }

    /// Sets the kind.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.what.kind = kind;
        self
    }

    /// Appends to the message.
    pub fn says(self, words: impl Into<String>) -> Self {
        Self::of(self.place, self.what.says(words))
    }

    /// Sets the allowed values; if there is a value, also the kind.
    pub fn expects(mut self, allowed: impl Into<Allowed>) -> Self {
        let allowed = allowed.into();
        if let Some(value) = &self.what.value {
            let beyond = value.is_number() && matches!(allowed, Allowed::Range(_));
            self.what.kind = if beyond { Kind::OutOfRange } else { Kind::WrongType };
        }
        self.what.allowed = Some(allowed);
        self
    }

    /// Sets the allowed words, and suggests the one nearest to the given word.
    pub fn one_of<'a>(self, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let kind = if self.what.value.is_some() { Kind::UnknownName } else { self.what.kind };
        Self::of(self.place, self.what.one_of(given, known)).kind(kind)
    }
}

/// The faults of a failed import, at least one.
#[derive(Debug)]
pub(super) struct Refusal(pub Vec<Fault>);

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}
