//! Where in a text a key stands.
//!
//! The readers of the notations know lines only of what is wrong. So the text is read once more, and the key that is looked for
//! is refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use serde_json::Value;

use super::draft::Notation;

/// The line, from 1, of the key or of the entry of a list at a dotted path.
pub(in crate::scenario) fn line_of(text: &str, notation: Notation, path: &str) -> Option<u64> {
    let seek = Seek { path };
    match notation {
        Notation::Toml => {
            let error = seek.deserialize(toml::Deserializer::parse(text).ok()?).err()?;
            let before = text.get(..error.span()?.start)?;
            Some(before.matches('\n').count() as u64 + 1)
        }
        Notation::Yaml => {
            let error = seek.deserialize(serde_yaml_ng::Deserializer::from_str(text)).err()?;
            error.location().map(|location| location.line() as u64)
        }
        Notation::Json => {
            let error = seek.deserialize(&mut serde_json::Deserializer::from_str(text)).err()?;
            Some(error.line() as u64)
        }
    }
}

/// Whether there is a key or an entry of a list at a dotted path.
pub(in crate::scenario) fn stands_in(value: &Value, path: &str) -> bool {
    if path.is_empty() {
        return true;
    }
    match value {
        Value::Object(table) => {
            table.iter().any(|(key, item)| behind(path, key).is_some_and(|rest| stands_in(item, rest)))
        }
        Value::Array(items) => {
            let (number, rest) = path.split_once('.').unwrap_or((path, ""));
            let item = number.parse::<usize>().ok().and_then(|number| items.get(number));
            item.is_some_and(|item| stands_in(item, rest))
        }
        _ => false,
    }
}

/// Looks for what is at a path below a value.
struct Seek<'a> {
    path: &'a str,
}

/// What is left of a path behind a key, which may have dots itself.
fn behind<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('.')
    }
}

/// A key of a table: what is left of the path behind it, if it is on the way.
struct Key<'a> {
    path: &'a str,
}

impl<'a, 'de> DeserializeSeed<'de> for Key<'a> {
    type Value = Option<&'a str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a, 'de> Visitor<'de> for Key<'a> {
    type Value = Option<&'a str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        match behind(self.path, key) {
            Some("") => Err(E::custom("found")),
            rest => Ok(rest),
        }
    }
}

impl Seek<'_> {
    /// Stops here if it is what is looked for.
    fn stop<E: Error>(&self) -> Result<(), E> {
        if self.path.is_empty() {
            Err(E::custom("found"))
        } else {
            Ok(())
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        self.stop()?;
        while let Some(rest) = table.next_key_seed(Key { path: self.path })? {
            match rest {
                Some(path) => table.next_value_seed(Seek { path })?,
                None => drop(table.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.stop()?;
        let (number, path) = self.path.split_once('.').unwrap_or((self.path, ""));
        for _ in 0..number.parse::<usize>().unwrap_or(usize::MAX) {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        list.next_element_seed(Seek { path })?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.stop()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.stop()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.stop()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.stop()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.stop()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_the_key() {
        let toml = "seed = 3\n\n[system]\ndevice = \"g2\"\nmembers = [\n  1,\n  { a = 2 },\n]\n";
        let yaml = "seed: 3\n\nsystem:\n  device: g2\n  members:\n    - 1\n    - a: 2\n";
        let json = "{\n \"seed\": 3, \"system\":\n {\"device\": \"g2\",\n \"members\": [\n1,\n {\"a\": 2}]}}";
        let lines = |text: &str, notation| {
            ["seed", "system.device", "system.members", "system.members.0", "system.members.1.a", "system.x", "seed.x"]
                .map(|path| line_of(text, notation, path))
        };
        let of = |at: [u64; 5]| -> Vec<Option<u64>> { at.into_iter().map(Some).chain([None, None]).collect() };
        assert_eq!(lines(toml, Notation::Toml).to_vec(), of([1, 4, 5, 6, 7]));
        assert_eq!(lines(yaml, Notation::Yaml).to_vec(), of([1, 4, 5, 6, 7]));
        assert_eq!(lines(json, Notation::Json).to_vec(), of([2, 3, 4, 5, 6]));
    }
}
