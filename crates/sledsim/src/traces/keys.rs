//! Lists of keys: one key a line, a number or a word. A line is a reference to a page or an object of a cache; repeated keys are
//! repeated references.
//!
//! There are no times, sizes and addresses: the lists are for hit ratios. A number without leading zeros below 2^62 is its own
//! key, which another text never equals. Only lists with more than one key are recognised, and only if three of four lines are one
//! word.

use std::collections::HashMap;

use super::error::{FieldFault, Parsed};
use super::format::{Carries, Entry, Head};
use super::text::{digits, words, LineParser, Lines};
use super::{Step, TraceRecord};
use crate::request::Op;

/// Lists of keys in the list of formats.
pub(super) const ENTRY: Entry = Entry {
    name: "keys",
    description: "Lists of keys, a number or a word a line, each a reference; for hit ratios",
    carries: &[Carries::Objects],
    example: b"1001\nuser:42\n1001\n",
    detect,
    in_sectors: None,
    build: |_, _| Ok(Box::new(Lines(Keys::default()))),
    write: None,
};

/// Keys that stand for words begin here.
const FIRST_WORD: u64 = 1 << 62;
/// The longest word.
const LONGEST_KEY_BYTES: usize = 4096;

/// More colons in a line separate the columns of a table, as in `/etc/passwd`.
const MOST_COLONS: usize = 3;

fn detect(head: &Head) -> usize {
    let is_key = |line: &&[u8]| {
        let separators = b" \t,;|<>{}\"";
        line.len() <= LONGEST_KEY_BYTES
            && line.iter().filter(|byte| **byte == b':').count() <= MOST_COLONS
            && line.iter().all(|byte| (byte.is_ascii_graphic() || *byte >= 0x80) && !separators.contains(byte))
    };
    let keys = head.lines.iter().filter(|line| is_key(line)).count();
    if keys > 1 && keys * 4 >= head.lines.len() * 3 {
        keys
    } else {
        0
    }
}

#[derive(Default)]
struct Keys {
    words: HashMap<Box<[u8]>, u64>,
}

impl LineParser for Keys {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        let line = line.trim_ascii();
        let number = digits(line).filter(|&number| number < FIRST_WORD && (line[0] != b'0' || line.len() == 1));
        let key = match number {
            Some(number) => number,
            None => self.word(line)?,
        };
        Ok(Step::Request(TraceRecord::new(0, 0, key, 1, Op::Read)))
    }

    fn has_times(&self) -> bool {
        false
    }
}

impl Keys {
    /// The key of a word.
    fn word(&mut self, word: &[u8]) -> Parsed<u64> {
        if let Some(&key) = self.words.get(word) {
            return Ok(key);
        }
        let count = words(word).count();
        if count != 1 {
            return Err(FieldFault::new("line", "one key", format!("{count} words")));
        }
        if word.len() > LONGEST_KEY_BYTES || word.iter().any(u8::is_ascii_control) {
            let expected = format!("at most {LONGEST_KEY_BYTES} printable characters");
            return Err(FieldFault::text("key", expected, word));
        }
        let key = FIRST_WORD + self.words.len() as u64;
        self.words.insert(word.into(), key);
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_keys() {
        let mut parser = Keys::default();
        let mut key = |text: &str| match parser.line(text.as_bytes()) {
            Ok(Step::Request(record)) => (record.offset_bytes, record.bytes),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(key("0"), (0, 1));
        assert_eq!(key("4611686018427387903"), (FIRST_WORD - 1, 1));
        // Numbers written otherwise and larger ones are words.
        assert_eq!(
            ["a", "007", "4611686018427387904", "-1", "a"].map(&mut key).map(|(key, _)| key - FIRST_WORD),
            [0, 1, 2, 3, 0]
        );
        assert_eq!(key(" 7 ").0, 7);
        assert_eq!(parser.line(b"two words").unwrap_err().found, "2 words");
        assert_eq!(parser.line(&[b'x'; 5000]).unwrap_err().field, "key");
    }

    #[test]
    fn only_lists_of_words_are_detected() {
        let lines = |content: &[u8]| detect(&Head::of(content));
        assert_eq!(lines(b"1\n2\n3\n"), 3);
        assert_eq!(lines("http://a/b?c=d\nüber:1\n".as_bytes()), 2);
        for content in [
            &b"1\n"[..],
            b"1\n2 3\n",
            b"a,b\nc\n",
            b"{\n}\n",
            b"a\nb c\nd\n",
            b"a:b:0:0:x\na:c:1:0:y\n",
            b"<a>\n<b>\n",
            b"\x01\n\x02\n",
            b"",
        ] {
            assert_eq!(lines(content), 0, "{}", content.escape_ascii());
        }
    }
}
