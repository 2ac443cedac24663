//! Errors in input as data: [`Fault`]. Only [`Fault::text`] formats them, with the keys or options of the reader's interface
//! ([`Vocabulary`]).

mod nearest;
mod path;
mod text;

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use nearest::{most_like, nearest};
pub use path::Path;
pub use text::{brief, printable, shown, unread, Keys, Vocabulary};

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The table has no key of this name.
    UnknownKey,
    /// The name is not one of the known ones.
    UnknownName,
    /// The content of a trace fits no known format.
    UnknownFormat,
    /// A required key is missing.
    Missing,
    /// A number is out of its range.
    OutOfRange,
    /// A value has the wrong type.
    WrongType,
    /// Values contradict each other.
    Conflict,
    /// A size does not fit another one: a request exceeds its device, a unit is not a multiple of a block.
    Misfit,
    /// A syntax error in TOML, YAML, JSON or a setting. The message has the place.
    Notation,
    /// A syntax error in a file of another program.
    Syntax,
    /// A record or a header of a trace does not conform to its format.
    Record,
    /// A file cannot be opened, read or written.
    Unreadable,
    /// The request is valid but not supported.
    Unsupported,
    /// An invariant of the simulator does not hold, in a run that checks invariants.
    Rule,
    /// A run does not advance in time.
    Endless,
    /// A custom policy raised an error, returned an invalid value, or exceeded its time limit.
    Policy,
    /// Further faults, of which only the number is reported: the value.
    Omitted,
}

/// The valid values in place of an invalid one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allowed {
    /// One of these names.
    Names(Vec<String>),
    /// A number within bounds.
    Range(Range),
    /// A description of the type.
    Type(String),
}

impl From<Range> for Allowed {
    fn from(range: Range) -> Self {
        Self::Range(range)
    }
}

impl From<&str> for Allowed {
    fn from(words: &str) -> Self {
        Self::Type(words.to_owned())
    }
}

/// Bounds of a number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Range {
    /// Inclusive lower bound.
    pub least: Option<f64>,
    /// Exclusive lower bound.
    pub above: Option<f64>,
    /// Inclusive upper bound.
    pub most: Option<f64>,
    /// Exclusive upper bound.
    pub below: Option<f64>,
    /// True for integers only.
    pub whole: bool,
    /// The unit; empty for none.
    pub unit: String,
}

impl Range {
    /// Returns the range `[least, most]`.
    #[must_use]
    pub fn from_to(least: f64, most: f64) -> Self {
        Self { least: Some(least), most: Some(most), ..Self::default() }
    }

    /// Returns the range `[least, ∞)`.
    #[must_use]
    pub fn at_least(least: f64) -> Self {
        Self { least: Some(least), ..Self::default() }
    }

    /// Returns the range restricted to integers.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Returns the range `(above, most]`.
    #[must_use]
    pub fn above_to(above: f64, most: f64) -> Self {
        Self { above: Some(above), most: Some(most), ..Self::default() }
    }

    /// Returns true if `number` lies within the bounds.
    #[must_use]
    pub fn holds(&self, number: f64) -> bool {
        self.least.is_none_or(|bound| number >= bound)
            && self.most.is_none_or(|bound| number <= bound)
            && self.above.is_none_or(|bound| number > bound)
            && self.below.is_none_or(|bound| number < bound)
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Plain text.
    Text(String),
    /// Another key or component, and optionally its value.
    Key(Path, Option<Value>),
    /// A key, and optionally a value, that the reader can set. It is formatted by the [`Vocabulary`]: a key in a document, an option
    /// on the command line.
    Setting(Path, Option<Value>),
}

/// The error of a custom policy, and the state of the run at that time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyError {
    /// Simulated time, ns.
    pub at_ns: u64,
    /// Number of the request, or of the oldest pending one if the policy chose among several.
    pub request: Option<u64>,
    /// The traceback in the policy's language; empty if it raised no error.
    pub traceback: String,
}

/// The place of a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// The objects that contain the fault, outermost first: an axis of a sweep, a tested cache.
    pub about: Vec<String>,
    /// The setting that gave the value.
    pub setting: Option<String>,
    /// The file or the name of the document that contains the fault.
    pub file: Option<String>,
    /// The document that refers to `file`, if that is another one.
    pub used_by: Option<String>,
    /// Line in the file, from 1.
    pub line: Option<u64>,
    /// Offset in a binary file, bytes, from 0.
    pub byte: Option<u64>,
    /// The key; empty if the fault concerns no key of a document.
    pub path: Path,
    /// The field of a record.
    pub field: Option<String>,
}

/// The content of a [`Fault`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The kind of the fault.
    pub kind: Kind,
    /// The place.
    pub location: Location,
    /// The invalid value.
    pub value: Option<Value>,
    /// The valid values.
    pub allowed: Option<Allowed>,
    /// The allowed name that is most similar to the invalid one.
    pub suggestion: Option<String>,
    /// The rest of the sentence, after the part that follows from kind, key, value and allowed values.
    pub message: Vec<Word>,
    /// True if `message` is the whole sentence.
    pub message_is_complete: bool,
    /// The error of a custom policy.
    #[serde(default)]
    pub policy_error: Option<PolicyError>,
}

/// An error in input: its kind, place, value, valid values and message. The fields are those of [`Facts`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fault(Box<Facts>);

impl Deref for Fault {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.0
    }
}

impl DerefMut for Fault {
    fn deref_mut(&mut self) -> &mut Facts {
        &mut self.0
    }
}

impl std::error::Error for Fault {}

impl Fault {
    /// Returns a fault without a key; [`Fault::says`] adds its message.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self(Box::new(Facts {
            kind,
            location: Location::default(),
            value: None,
            allowed: None,
            suggestion: None,
            message: Vec::new(),
            message_is_complete: false,
            policy_error: None,
        }))
    }

    /// Returns a fault of the key at `path`.
    #[must_use]
    pub fn at(kind: Kind, path: impl Into<Path>) -> Self {
        let mut fault = Self::new(kind);
        fault.location.path = path.into();
        fault
    }

    /// Returns a fault of the key at `path`, which has `value`.
    #[must_use]
    pub fn of(kind: Kind, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        let mut fault = Self::at(kind, path);
        fault.value = Some(value.into());
        fault
    }

    /// Returns a fault of a key whose value contradicts another one.
    #[must_use]
    pub fn conflict(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::of(Kind::Conflict, path, value)
    }

    /// Returns a fault of a key whose value does not fit a size.
    #[must_use]
    pub fn misfit(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::of(Kind::Misfit, path, value)
    }

    /// Returns a fault of a number out of its range.
    #[must_use]
    pub fn out_of_range(path: impl Into<Path>, value: impl Into<Value>, range: Range) -> Self {
        let mut fault = Self::of(Kind::OutOfRange, path, value);
        fault.allowed = Some(Allowed::Range(range));
        fault
    }

    /// Returns a fault of a value that does not have the type `expected`, a description.
    #[must_use]
    pub fn wrong_type(path: impl Into<Path>, value: impl Into<Value>, expected: impl Into<String>) -> Self {
        let mut fault = Self::of(Kind::WrongType, path, value);
        fault.allowed = Some(Allowed::Type(expected.into()));
        fault
    }

    /// Returns a fault of a missing key.
    #[must_use]
    pub fn missing(path: impl Into<Path>) -> Self {
        Self::at(Kind::Missing, path)
    }

    /// Returns a fault of a key that is not one of the `known` keys of its table.
    #[must_use]
    pub fn unknown_key<'a>(path: impl Into<Path>, known: impl IntoIterator<Item = &'a str>) -> Self {
        let fault = Self::at(Kind::UnknownKey, path);
        let given = fault.location.path.last().unwrap_or_default().to_owned();
        fault.one_of(&given, known)
    }

    /// Returns a fault of a name that is not one of the `known` ones.
    #[must_use]
    pub fn unknown_name<'a>(path: impl Into<Path>, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Kind::UnknownName, path, given).one_of(given, known)
    }

    /// Sets the allowed names, and suggests the one most similar to `given`.
    #[must_use]
    pub fn one_of<'a>(mut self, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        self.suggestion = nearest(given, known.iter().map(String::as_str)).map(str::to_owned);
        self.allowed = Some(Allowed::Names(known));
        self
    }

    /// Sets the path. The message of a policy's fault is a sentence by itself, so a colon is put before it.
    #[must_use]
    pub fn placed(mut self, path: impl Into<Path>) -> Self {
        self.location.path = path.into();
        if self.kind == Kind::Policy {
            self.message.insert(0, Word::Text(": ".into()));
        }
        self
    }

    /// Puts `place` before the path, or sets the path if there is none.
    #[must_use]
    pub fn of_key(self, place: impl Into<Path>) -> Self {
        if self.location.path.is_empty() {
            self.placed(place)
        } else {
            self.within(place)
        }
    }

    /// Appends text to the message.
    #[must_use]
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.message.push(Word::Text(text.into()));
        self
    }

    /// Appends the name of another key or component to the message.
    #[must_use]
    pub fn key(mut self, path: impl Into<Path>) -> Self {
        self.message.push(Word::Key(path.into(), None));
        self
    }

    /// Appends another key and its value to the message.
    #[must_use]
    pub fn key_is(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        self.message.push(Word::Key(path.into(), Some(value.into())));
        self
    }

    /// Appends a key that the reader can set to the message.
    #[must_use]
    pub fn option(mut self, path: impl Into<Path>) -> Self {
        self.message.push(Word::Setting(path.into(), None));
        self
    }

    /// Appends a key and a value that the reader can set to the message.
    #[must_use]
    pub fn set(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        self.message.push(Word::Setting(path.into(), Some(value.into())));
        self
    }

    /// Returns the keys in the message, that of the fault first.
    pub fn keys(&self) -> impl Iterator<Item = &Path> {
        let others = self.message.iter().filter_map(|word| match word {
            Word::Text(_) => None,
            Word::Key(path, _) | Word::Setting(path, _) => Some(path),
        });
        std::iter::once(&self.location.path).chain(others).filter(|path| !path.is_empty())
    }

    /// Puts `prefix` before the path and all keys of the message.
    #[must_use]
    pub fn within(mut self, prefix: impl Into<Path>) -> Self {
        let prefix = prefix.into();
        if !self.location.path.is_empty() {
            self.location.path = prefix.join(&self.location.path);
        }
        for word in &mut self.message {
            if let Word::Key(path, _) | Word::Setting(path, _) = word {
                *path = prefix.join(path);
            }
        }
        self
    }

    /// Puts `about` in front of the objects that contain the fault.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.location.about.insert(0, about.into());
        self
    }

    /// Sets the file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.location.file = Some(file.into());
        self
    }

    /// Sets the line in the file, from 1.
    #[must_use]
    pub fn on_line(mut self, line: impl Into<Option<u64>>) -> Self {
        self.location.line = line.into();
        self
    }
}

/// Faults in the order in which they are found. After [`Faults::MOST`] faults the others are only counted.
#[derive(Debug, Default)]
pub struct Collector {
    found: Vec<Fault>,
    omitted: u64,
}

impl Collector {
    /// Adds a fault.
    pub fn push(&mut self, fault: Fault) {
        if self.is_full() {
            self.omitted += 1;
        } else {
            self.found.push(fault);
        }
    }

    /// Returns true if further faults are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.found.len() >= Faults::MOST
    }

    /// Counts a fault without keeping it.
    pub fn omit(&mut self) {
        self.omitted += 1;
    }

    /// Number of the faults that are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns true if nothing has been found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Appends text to the faults from the one with this number on.
    pub(crate) fn append_from(&mut self, first: usize, words: &str) {
        for fault in self.found.iter_mut().skip(first) {
            fault.message.push(Word::Text(words.to_owned()));
        }
    }

    /// Changes each fault.
    #[must_use]
    pub fn map(self, change: impl FnMut(Fault) -> Fault) -> Self {
        Self { found: self.found.into_iter().map(change).collect(), ..self }
    }

    /// Returns an error if a fault has been found.
    ///
    /// # Errors
    /// The first [`Faults::MOST`] faults, and the number of the others.
    pub fn into_result(mut self) -> Result<(), Faults> {
        if self.omitted > 0 {
            let mut omitted = Fault::new(Kind::Omitted).says(format!("and {} more", self.omitted));
            omitted.value = Some(self.omitted.into());
            self.found.push(omitted);
        }
        Faults::none_of(self.found)
    }
}

impl Extend<Fault> for Collector {
    fn extend<I: IntoIterator<Item = Fault>>(&mut self, faults: I) {
        faults.into_iter().for_each(|fault| self.push(fault));
    }
}

/// The faults of a document: at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Faults that are reported one by one.
    pub const MOST: usize = 50;

    /// Returns an error if `found` is not empty.
    ///
    /// # Errors
    /// All of `found`.
    pub fn none_of(found: Vec<Fault>) -> Result<(), Self> {
        if found.is_empty() {
            Ok(())
        } else {
            Err(Self(found))
        }
    }

    /// Returns the first fault.
    #[must_use]
    pub fn first(self) -> Fault {
        self.0.into_iter().next().expect("there is at least one")
    }

    /// Returns an error if a check fails.
    ///
    /// # Errors
    /// The faults of all checks.
    pub fn of_all<E: Into<Self>>(checks: impl IntoIterator<Item = Result<(), E>>) -> Result<(), Self> {
        Self::none_of(checks.into_iter().filter_map(Result::err).flat_map(Into::into).collect())
    }

    /// Puts `prefix` before the path and all keys of each fault.
    #[must_use]
    pub fn within(self, prefix: impl Into<Path>) -> Self {
        let prefix = prefix.into();
        Self(self.0.into_iter().map(|fault| fault.within(prefix.clone())).collect())
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(found: I) -> Self {
        Self(found.into_iter().collect())
    }
}

impl Deref for Faults {
    type Target = [Fault];

    fn deref(&self) -> &[Fault] {
        &self.0
    }
}

impl DerefMut for Faults {
    fn deref_mut(&mut self) -> &mut [Fault] {
        &mut self.0
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = std::vec::IntoIter<Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<F: Into<Fault>> From<F> for Faults {
    fn from(fault: F) -> Self {
        Self(vec![fault.into()])
    }
}

impl From<serde_json::Error> for Fault {
    /// A value that cannot be deserialised.
    fn from(error: serde_json::Error) -> Self {
        Self::new(Kind::WrongType).says(error.to_string())
    }
}

impl std::error::Error for Faults {}
