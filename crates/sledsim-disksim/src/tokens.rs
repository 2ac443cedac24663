//! Words and marks of parameter files. `source NAME` puts another file in its place, wherever it stands.

use std::path::PathBuf;
use std::sync::Arc;

use sledsim::fault::{Allowed, Kind};

use super::fault::{Fault, Place};
use super::sources::Sources;

/// Most files open in one another.
const MAX_DEPTH: usize = 16;
/// Most words and marks read in all.
const MAX_TOKENS: usize = 8_000_000;
/// Longest word, in bytes: errors repeat words.
const MAX_WORD_BYTES: usize = 1000;

/// A word or a mark.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// One of `{ } [ ] , = ; : ?`.
    Mark(char),
    /// Anything between marks and blanks.
    Word(String),
    /// The end of the main file.
    End,
}

impl Token {
    /// A fault of a place where something else should be.
    pub fn unexpected(&self, place: Place, expected: impl Into<String>) -> Fault {
        let (shown, expected) = (self.shown(), expected.into());
        let mut fault = Fault::new(place, Kind::Syntax, format!("unexpected {shown}: expected {expected}"));
        (fault.what.value, fault.what.allowed) = (Some(shown.into()), Some(Allowed::Type(expected)));
        fault
    }

    /// How a message shows it.
    fn shown(&self) -> String {
        match self {
            Self::Mark(mark) => format!("{mark:?}"),
            Self::Word(word) if word.chars().count() > 60 => format!("{:?}", word.chars().take(60).collect::<String>()),
            Self::Word(word) => format!("{word:?}"),
            Self::End => "the end of the file".into(),
        }
    }
}

struct Open {
    text: Arc<str>,
    path: PathBuf,
    position: usize,
    place: Place,
}

/// Reads words and marks, through included files.
pub(super) struct Tokens<'a> {
    sources: &'a mut Sources,
    stack: Vec<Open>,
    count: usize,
    last: Place,
}

impl<'a> Tokens<'a> {
    /// Begins with the main file.
    pub fn new(sources: &'a mut Sources, path: &std::path::Path) -> Result<Self, Fault> {
        let mut tokens = Self { sources, stack: Vec::new(), count: 0, last: Place::default() };
        tokens.include(path.to_path_buf(), None)?;
        Ok(tokens)
    }

    /// The next word or mark, with its place.
    pub fn take(&mut self) -> Result<(Token, Place), Fault> {
        loop {
            let (token, place) = self.plain()?;
            if token != Token::Word("source".into()) {
                return Ok((token, place));
            }
            match self.plain()? {
                (Token::Word(name), _) => {
                    let path = self.sources.find(&name, place)?;
                    self.include(path, Some(place))?;
                }
                (other, _) => return Err(other.unexpected(place, "a file name after source")),
            }
        }
    }

    /// The name of a file, without its folders.
    pub fn file_name(&self, place: Place) -> String {
        self.sources.name(place.file)
    }

    fn include(&mut self, path: PathBuf, from: Option<Place>) -> Result<(), Fault> {
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(place) = from {
            if self.stack.iter().any(|open| open.path == real) {
                return Err(Fault::new(place, Kind::Conflict, format!("{} includes itself", path.display())));
            }
            if self.stack.len() >= MAX_DEPTH {
                let says = format!("files include one another more than {MAX_DEPTH} deep");
                return Err(Fault::new(place, Kind::OutOfRange, says));
            }
        }
        let (file, text) = self.sources.open(&path, from)?;
        self.stack.push(Open { text, path: real, position: 0, place: Place { file, line: 1 } });
        Ok(())
    }

    /// The next word or mark, `source` as any other.
    fn plain(&mut self) -> Result<(Token, Place), Fault> {
        while let Some(open) = self.stack.last_mut() {
            if let Some(found) = open.next() {
                self.count += 1;
                self.last = found.1;
                if self.count > MAX_TOKENS {
                    let says = format!("more than {MAX_TOKENS} words: expected a parameter file");
                    return Err(Fault::new(found.1, Kind::OutOfRange, says));
                }
                if let (Token::Word(word), place) = &found {
                    if word.len() > MAX_WORD_BYTES {
                        let says = format!("a word of {} bytes: expected a parameter file", word.len());
                        return Err(Fault::new(*place, Kind::OutOfRange, says));
                    }
                }
                return Ok(found);
            }
            let place = open.place;
            self.stack.pop();
            if self.stack.is_empty() {
                self.last = place;
            }
        }
        Ok((Token::End, self.last))
    }
}

impl Open {
    fn next(&mut self) -> Option<(Token, Place)> {
        let text = Arc::clone(&self.text);
        loop {
            let rest = &text[self.position..];
            let first = rest.chars().next()?;
            match first {
                '\n' => {
                    self.place.line += 1;
                    self.position += 1;
                }
                '#' => self.position += rest.find(['\n', '\x0c']).unwrap_or(rest.len()),
                _ if is_blank(first) => self.position += first.len_utf8(),
                _ if is_mark(first) => {
                    self.position += 1;
                    return Some((Token::Mark(first), self.place));
                }
                _ => {
                    let end = rest.find(|c| is_blank(c) || is_mark(c)).unwrap_or(rest.len());
                    self.position += end;
                    return Some((Token::Word(rest[..end].to_owned()), self.place));
                }
            }
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

fn is_mark(c: char) -> bool {
    matches!(c, '{' | '}' | '[' | ']' | ',' | '=' | ';' | ':' | '?')
}
