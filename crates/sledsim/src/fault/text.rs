//! Formats faults.

use std::fmt::{self, Write as _};
use std::io;

use serde_json::Value;

use super::{Allowed, Fault, Faults, Kind, Path, Range, Word};

/// The notation in which a reader sets a key: as a key of a document or of Python, or as an option of the command line.
pub trait Vocabulary {
    /// Returns the text that sets the key at `path`, to `value` if there is one: `fit = "scale"`.
    fn setting(&self, path: &Path, value: Option<&Value>) -> String;
}

/// The notation of documents and of Python: `key = value`.
#[derive(Clone, Copy, Debug)]
pub struct Keys;

impl Vocabulary for Keys {
    fn setting(&self, path: &Path, value: Option<&Value>) -> String {
        value.map_or_else(|| path.to_string(), |value| format!("{path} = {}", shown(value)))
    }
}

/// Returns a value in the notation of documents: integers without a decimal point.
#[must_use]
pub fn shown(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e16 => format!("{number}"),
        _ => value.to_string(),
    }
}

/// Returns the reason why a file could not be read, without the system's error number.
#[must_use]
pub fn unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        kind @ (io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory) => {
            kind.to_string()
        }
        _ => error.to_string(),
    }
}

/// Longer texts are shortened in messages, characters.
const LONG: usize = 200;

/// Returns `text`, or the beginning and the length of a long one.
#[must_use]
pub fn brief(text: &str) -> String {
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

/// Returns `text` with `?` in place of control characters, which would break a line.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

impl Fault {
    /// Returns the message, with settings in the notation of `vocabulary`.
    #[must_use]
    pub fn text(&self, vocabulary: &dyn Vocabulary) -> String {
        let mut text = self.place(vocabulary);
        text += &self.sentence();
        for word in &self.message {
            match word {
                Word::Text(words) => text += words,
                Word::Key(path, value) => text += &Keys.setting(path, value.as_ref()),
                Word::Setting(path, value) => text += &vocabulary.setting(path, value.as_ref()),
            }
        }
        if let (Some(_), Some(document)) = (&self.location.file, &self.location.used_by) {
            let _ = write!(text, " (used by {document})");
        }
        if let Some(error) = self.policy_error.as_ref().filter(|error| !error.traceback.is_empty()) {
            let _ = write!(text, "\n{}", error.traceback.trim_end());
        }
        text
    }

    /// Returns the place: the text up to the colon before the sentence.
    fn place(&self, vocabulary: &dyn Vocabulary) -> String {
        let setting = self
            .location
            .setting
            .as_ref()
            .map(|setting| vocabulary.setting(&"overrides".into(), Some(&brief(setting).into())));
        let line = self.location.line.filter(|_| self.kind != Kind::Notation).map(|line| format!("line {line}"));
        let byte = self.location.byte.map(|byte| format!("byte {byte}"));
        let places = [setting.or_else(|| self.location.file.clone()), line, byte];
        self.location.about.iter().cloned().chain(places.into_iter().flatten()).map(|place| place + ": ").collect()
    }

    /// Returns the part of the sentence that follows from kind, key, value and allowed values.
    fn sentence(&self) -> String {
        if self.message_is_complete {
            return String::new();
        }
        let subject = match (&self.location.field, self.location.path.is_empty()) {
            (Some(field), _) if self.kind == Kind::Record => format!("field `{field}`"),
            (Some(field), _) => format!("{field:?}"),
            (None, true) if self.value.is_some() && self.kind == Kind::WrongType => "the document".to_owned(),
            (None, true) => return String::new(),
            (None, false) => brief(&self.location.path.to_string()),
        };
        let expected = self.expected();
        let valued = match &self.value {
            // On the command line, the option is shown before its value.
            Some(value) if subject.starts_with("--") => format!("{subject} {}", brief(&shown(value))),
            Some(value) => format!("{subject} = {}", brief(&shown(value))),
            None => subject.clone(),
        };
        match self.kind {
            Kind::Missing if expected.is_empty() => format!("{subject} is missing"),
            _ if expected.is_empty() => valued,
            Kind::UnknownKey => format!("unknown key {subject}{expected}"),
            Kind::UnknownName => format!("{valued} is not known{expected}"),
            Kind::Missing => format!("{subject} is missing: expected {expected}"),
            Kind::OutOfRange => format!("{valued} is out of range: expected {expected}"),
            Kind::WrongType => format!("{valued} is of the wrong type: expected {expected}"),
            Kind::Record => format!("{subject}: expected {expected}, found {}", self.found()),
            _ => valued,
        }
    }

    /// Returns the text in a record in place of the expected one.
    fn found(&self) -> String {
        self.value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    fn expected(&self) -> String {
        match &self.allowed {
            None => String::new(),
            Some(Allowed::Names(names)) if self.kind != Kind::Missing => match &self.suggestion {
                Some(name) => format!(": did you mean {name:?}?"),
                None if names.is_empty() => " (known: none)".to_owned(),
                None => format!(" (known: {})", names.join(", ")),
            },
            Some(allowed) => allowed.to_string(),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names(names) => write!(f, "one of {}", names.join(", ")),
            Self::Range(range) => range.fmt(f),
            Self::Type(words) => f.write_str(words),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Some(0.0), Some(1.0)) = (self.whole, self.least, self.most) {
            return f.write_str("0 or 1");
        }
        f.write_str(if self.whole { "a whole number" } else { "a number" })?;
        if !self.unit.is_empty() {
            write!(f, " ({})", self.unit)?;
        }
        if let (Some(least), Some(most)) = (self.least, self.most) {
            return write!(f, " from {least} to {most}");
        }
        let bounds = [
            self.least.map(|bound| format!("of at least {bound}")),
            self.above.map(|bound| format!("above {bound}")),
            self.most.map(|bound| format!("of at most {bound}")),
            self.below.map(|bound| format!("below {bound}")),
        ];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        if bounds.is_empty() {
            return Ok(());
        }
        write!(f, " {}", bounds.join(" and "))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Keys))
    }
}

impl Faults {
    /// Returns the messages, one a line: the first [`Faults::MOST`], and the number of the others.
    #[must_use]
    pub fn text(&self, vocabulary: &dyn Vocabulary) -> String {
        let (omitted, reported): (Vec<&Fault>, Vec<&Fault>) =
            self.iter().partition(|fault| fault.kind == Kind::Omitted);
        let mut lines: Vec<String> = reported.iter().take(Self::MOST).map(|fault| fault.text(vocabulary)).collect();
        let counted: u64 = omitted.iter().filter_map(|fault| fault.value.as_ref()?.as_u64()).sum();
        let more = (reported.len() - lines.len()) as u64 + counted;
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("\n")
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Keys))
    }
}
