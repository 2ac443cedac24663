//! Tokens of parameter files. `source NAME` includes another file.

use std::path::PathBuf;
use std::sync::Arc;

use sledsim::fault::{Allowed, Kind};

use super::fault::{Fault, Place};
use super::sources::{OpenFile, Sources};

/// Maximum depth of includes.
const MAX_DEPTH: usize = 16;
/// Maximum number of tokens.
const MAX_TOKENS: usize = 8_000_000;
/// Maximum length of a word, in bytes, as errors repeat words.
const MAX_WORD_BYTES: usize = 1000;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// One of `{ } [ ] , = ; : ?`.
    Mark(char),
    /// Any other characters without blanks.
    Word(String),
    /// The end of the main file.
    End,
}

impl Token {
    /// Returns the fault of an unexpected token.
    pub fn unexpected(&self, place: Place, expected: impl Into<String>) -> Fault {
        let (shown, expected) = (self.shown(), expected.into());
        let mut fault = Fault::new(place, Kind::Syntax, format!("unexpected {shown}: expected {expected}"));
        (fault.what.value, fault.what.allowed) = (Some(shown.into()), Some(Allowed::Type(expected)));
        fault
    }

    /// Returns its text for messages.
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

/// Reads tokens, including those of included files.
pub(super) struct Tokens<'a> {
    sources: &'a mut Sources,
    stack: Vec<Open>,
    count: usize,
    last: Place,
}

impl<'a> Tokens<'a> {
    /// Opens the main file.
    pub fn new(sources: &'a mut Sources, path: &std::path::Path) -> Result<Self, Fault> {
        let mut tokens = Self { sources, stack: Vec::new(), count: 0, last: Place::default() };
        tokens.include(path.to_path_buf(), None)?;
        Ok(tokens)
    }

    /// Returns the next token with its place.
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

    /// Returns the name of a file, without its folders.
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
        let OpenFile { index: file, text } = self.sources.open(&path, from)?;
        self.stack.push(Open { text, path: real, position: 0, place: Place { file, line: 1 } });
        Ok(())
    }

    /// Returns the next token, without resolving `source`.
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
