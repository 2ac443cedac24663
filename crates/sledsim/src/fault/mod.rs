//! What is wrong with something that a user gave, as data. Only the last printer makes a sentence of it, in the words of
//! whoever reads it: see [`Vocabulary`].

mod nearest;
mod path;
mod text;

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use nearest::{most_like, nearest};
pub use path::Path;
pub use text::{brief, printable, shown, unread, Keys, Vocabulary};

/// In what way something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A key that a table does not have.
    UnknownKey,
    /// A word that is none of those a key takes.
    UnknownName,
    /// A trace that begins as no known format does.
    UnknownFormat,
    /// A key that has to be given.
    Missing,
    /// A number beyond its bounds.
    OutOfRange,
    /// A value of another type than the key's.
    WrongType,
    /// Values that contradict each other.
    Conflict,
    /// A size that does not fit another: a request beyond its device, a unit that is no multiple of a block.
    Misfit,
    /// Text that is no TOML, YAML, JSON or setting: what is said shows the place itself.
    Notation,
    /// A part of a foreign file that is not as its format has it.
    Syntax,
    /// A record, or a header, that is not one of its format.
    Record,
    /// A file that can't be opened, read or written.
    Unreadable,
    /// Something that is understood and can't be done.
    Unsupported,
    /// A rule of the simulator's own that does not hold, in a run that checks them.
    Rule,
    /// A run that would go on for ever in one instant.
    Endless,
    /// A custom policy raised an error, returned an invalid value, or exceeded its time limit.
    Policy,
    /// Further faults, of which only the number is told: the value.
    Omitted,
}

/// What would have been right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allowed {
    /// One of these words.
    Names(Vec<String>),
    /// A number within bounds.
    Range(Range),
    /// A table, a list, a text: in words.
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
    /// The least that is allowed.
    pub least: Option<f64>,
    /// What it has to be above.
    pub above: Option<f64>,
    /// The most that is allowed.
    pub most: Option<f64>,
    /// What it has to be below.
    pub below: Option<f64>,
    /// Whether it has to be whole.
    pub whole: bool,
    /// The unit; empty for none.
    pub unit: String,
}

impl Range {
    /// From one number to another.
    #[must_use]
    pub fn from_to(least: f64, most: f64) -> Self {
        Self { least: Some(least), most: Some(most), ..Self::default() }
    }

    /// So much or more.
    #[must_use]
    pub fn at_least(least: f64) -> Self {
        Self { least: Some(least), ..Self::default() }
    }

    /// Whole numbers alone.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Above one number, up to another.
    #[must_use]
    pub fn above_to(above: f64, most: f64) -> Self {
        Self { above: Some(above), most: Some(most), ..Self::default() }
    }

    /// Whether a number lies within.
    #[must_use]
    pub fn holds(&self, number: f64) -> bool {
        self.least.is_none_or(|bound| number >= bound)
            && self.most.is_none_or(|bound| number <= bound)
            && self.above.is_none_or(|bound| number > bound)
            && self.below.is_none_or(|bound| number < bound)
    }
}

/// A part of what is said of a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Plain text, the same for everybody.
    Text(String),
    /// Another key or component that is concerned, and its value where it has one.
    Key(Path, Option<Value>),
    /// A key that the reader may set, and to what: each reader has an own way to.
    Setting(Path, Option<Value>),
}

/// The state of a run when a custom policy failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// Simulated time, ns.
    pub at_ns: u64,
    /// Number of the request at hand; of the oldest where the choice among several failed.
    pub request: Option<u64>,
    /// What its own language tells: the calls down to where it failed. Empty where it only answered nonsense.
    pub traceback: String,
}

/// What a [`Fault`] holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// What it is about besides, from the outermost on: an axis of a sweep, a cache that is tried.
    pub about: Vec<String>,
    /// In what way it is wrong.
    pub kind: Kind,
    /// The key that is wrong; empty where no key of a document is.
    pub path: Path,
    /// The field of a record that is wrong.
    pub field: Option<String>,
    /// What it is.
    pub value: Option<Value>,
    /// What it may be.
    pub allowed: Option<Allowed>,
    /// The allowed word most like the one given.
    pub suggestion: Option<String>,
    /// The file in which it is to be put right, or what stands for one.
    pub file: Option<String>,
    /// The document that names `file`, where that is another one.
    pub used_by: Option<String>,
    /// The setting on top of the document that it comes from.
    pub setting: Option<String>,
    /// Line of the file, from 1.
    pub line: Option<u64>,
    /// Byte of the file, from 0, of what has no lines.
    pub byte: Option<u64>,
    /// The rest of the sentence.
    pub words: Vec<Word>,
    /// The state of the run, if a custom policy failed.
    #[serde(default)]
    pub raised: Option<Raised>,
    /// Whether the words are the whole sentence: key, value and what is allowed are then for programs alone.
    pub told: bool,
}

/// Something wrong with what a user gave. Its fields are those of [`Facts`].
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
    /// A fault that no key has alone; what it is comes with [`Fault::says`].
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self(Box::new(Facts {
            about: Vec::new(),
            kind,
            path: Path::default(),
            field: None,
            value: None,
            allowed: None,
            suggestion: None,
            file: None,
            used_by: None,
            setting: None,
            line: None,
            byte: None,
            words: Vec::new(),
            raised: None,
            told: false,
        }))
    }

    /// A fault of the key at `path`.
    #[must_use]
    pub fn at(kind: Kind, path: impl Into<Path>) -> Self {
        let mut fault = Self::new(kind);
        fault.path = path.into();
        fault
    }

    /// A fault of the key at `path`, which has `value`.
    #[must_use]
    pub fn of(kind: Kind, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        let mut fault = Self::at(kind, path);
        fault.value = Some(value.into());
        fault
    }

    /// The value of one key contradicts another one.
    #[must_use]
    pub fn conflict(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::of(Kind::Conflict, path, value)
    }

    /// The value of a key does not fit something that has a size.
    #[must_use]
    pub fn misfit(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::of(Kind::Misfit, path, value)
    }

    /// A number beyond its bounds.
    #[must_use]
    pub fn out_of_range(path: impl Into<Path>, value: impl Into<Value>, range: Range) -> Self {
        let mut fault = Self::of(Kind::OutOfRange, path, value);
        fault.allowed = Some(Allowed::Range(range));
        fault
    }

    /// A value of another type than `expected`, in words.
    #[must_use]
    pub fn wrong_type(path: impl Into<Path>, value: impl Into<Value>, expected: impl Into<String>) -> Self {
        let mut fault = Self::of(Kind::WrongType, path, value);
        fault.allowed = Some(Allowed::Type(expected.into()));
        fault
    }

    /// A key that is missing, and what it is.
    #[must_use]
    pub fn missing(path: impl Into<Path>) -> Self {
        Self::at(Kind::Missing, path)
    }

    /// A key that its table does not have, among those that it has.
    #[must_use]
    pub fn unknown_key<'a>(path: impl Into<Path>, known: impl IntoIterator<Item = &'a str>) -> Self {
        let fault = Self::at(Kind::UnknownKey, path);
        let given = fault.path.last().unwrap_or_default().to_owned();
        fault.one_of(&given, known)
    }

    /// A word that is none of those known.
    #[must_use]
    pub fn unknown_name<'a>(path: impl Into<Path>, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Kind::UnknownName, path, given).one_of(given, known)
    }

    /// The words that were allowed in the place of `given`, with the nearest of them.
    #[must_use]
    pub fn one_of<'a>(mut self, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        self.suggestion = nearest(given, known.iter().map(String::as_str)).map(str::to_owned);
        self.allowed = Some(Allowed::Names(known));
        self
    }

    /// The same of the key at `path`, where it had none. What is said of code of one's own is a sentence by itself: it follows a
    /// colon.
    #[must_use]
    pub fn placed(mut self, path: impl Into<Path>) -> Self {
        self.path = path.into();
        if self.kind == Kind::Policy {
            self.words.insert(0, Word::Text(": ".into()));
        }
        self
    }

    /// The same as a fault of what stands at `place`: below it where it has a path already.
    #[must_use]
    pub fn of_key(self, place: impl Into<Path>) -> Self {
        if self.path.is_empty() {
            self.placed(place)
        } else {
            self.within(place)
        }
    }

    /// Plain words that follow.
    #[must_use]
    pub fn says(mut self, text: impl Into<String>) -> Self {
        self.words.push(Word::Text(text.into()));
        self
    }

    /// Another key, or component, that the sentence names.
    #[must_use]
    pub fn key(mut self, path: impl Into<Path>) -> Self {
        self.words.push(Word::Key(path.into(), None));
        self
    }

    /// Another key with its value.
    #[must_use]
    pub fn key_is(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        self.words.push(Word::Key(path.into(), Some(value.into())));
        self
    }

    /// A key that the reader may set.
    #[must_use]
    pub fn option(mut self, path: impl Into<Path>) -> Self {
        self.words.push(Word::Setting(path.into(), None));
        self
    }

    /// A key that the reader may set to `value`.
    #[must_use]
    pub fn set(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        self.words.push(Word::Setting(path.into(), Some(value.into())));
        self
    }

    /// Every key that the sentence names, the wrong one first.
    pub fn keys(&self) -> impl Iterator<Item = &Path> {
        let others = self.words.iter().filter_map(|word| match word {
            Word::Text(_) => None,
            Word::Key(path, _) | Word::Setting(path, _) => Some(path),
        });
        std::iter::once(&self.path).chain(others).filter(|path| !path.is_empty())
    }

    /// The same in a table that stands at `prefix`: all of its keys go on from there.
    #[must_use]
    pub fn within(mut self, prefix: impl Into<Path>) -> Self {
        let prefix = prefix.into();
        if !self.path.is_empty() {
            self.path = prefix.join(&self.path);
        }
        for word in &mut self.words {
            if let Word::Key(path, _) | Word::Setting(path, _) = word {
                *path = prefix.join(path);
            }
        }
        self
    }

    /// The same, of what `about` names.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about.insert(0, about.into());
        self
    }

    /// The same, in a file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The same in a line of its file, from 1.
    #[must_use]
    pub fn on_line(mut self, line: impl Into<Option<u64>>) -> Self {
        self.line = line.into();
        self
    }
}

/// Faults in the order in which they are found; beyond [`Faults::MOST`] they are only counted, so that their number costs no time.
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

    /// Adds words to the faults from the one with this number on.
    pub(crate) fn say_from(&mut self, first: usize, words: &str) {
        for fault in self.found.iter_mut().skip(first) {
            fault.words.push(Word::Text(words.to_owned()));
        }
    }

    /// The same faults, each changed.
    #[must_use]
    pub fn map(self, change: impl FnMut(Fault) -> Fault) -> Self {
        Self { found: self.found.into_iter().map(change).collect(), ..self }
    }

    /// Nothing if nothing has been found.
    ///
    /// # Errors
    /// All that has been found; of very many the first, and the number of the others.
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

/// Everything that is wrong with a document: at least one fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Most faults of a document that are told one by one.
    pub const MOST: usize = 50;

    /// Nothing where `found` has no fault.
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

    /// The first of them.
    #[must_use]
    pub fn first(self) -> Fault {
        self.0.into_iter().next().expect("there is at least one")
    }

    /// Nothing where no check finds anything.
    ///
    /// # Errors
    /// What all of them find.
    pub fn of_all<E: Into<Self>>(checks: impl IntoIterator<Item = Result<(), E>>) -> Result<(), Self> {
        Self::none_of(checks.into_iter().filter_map(Result::err).flat_map(Into::into).collect())
    }

    /// The same in a table that stands at `prefix`.
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
    /// A document that does not hold what it should.
    fn from(error: serde_json::Error) -> Self {
        Self::new(Kind::WrongType).says(error.to_string())
    }
}

impl std::error::Error for Faults {}
