//! The values of a document, each with the place at which it is written.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};

use crate::fault::{Allowed, Fault, Kind, Path, Word};

/// A table of a document.
pub(crate) type Table = IndexMap<String, Node>;

/// A value of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub content: Content,
    pub origin: Origin,
    /// True if the value could not be completed, which has been reported: it is not checked.
    pub is_rejected: bool,
}

/// The content of a value.
#[derive(Clone, Debug, Default)]
pub(crate) enum Content {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Table),
}

/// The place where a value is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// The text; that of the enclosing value when absent.
    pub source: Option<Arc<Source>>,
    /// Line of the text, from 1; 0 if it has no lines.
    pub line: u32,
    /// The path in that text.
    pub written: Written,
    /// The place for missing keys of a table, if it is not the table itself.
    pub absent: Option<Box<Origin>>,
}

/// The path of a value in its text.
#[derive(Clone, Debug, Default)]
pub(crate) enum Written {
    /// The path of the enclosing value followed by the key.
    #[default]
    Below,
    /// The path of the enclosing value: the value was a short form.
    There,
    /// The key in the top-level table with this name; at the top level if the name is empty.
    In(&'static str),
    /// Another path: the value was moved.
    At(Arc<Path>),
}

/// The text that contains a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Its name in messages; the text of a setting.
    pub name: String,
    /// Its kind.
    pub kind: SourceKind,
}

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// A document or its base.
    Document,
    /// A file of a device or a workload: of the catalogue or named by a document.
    Entry,
    /// A setting of the form `path=value`.
    Setting,
}

impl Source {
    pub(crate) fn new(name: &str, kind: SourceKind) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), kind })
    }
}

impl Origin {
    /// Returns the place of a line.
    pub(crate) fn line_of(source: &Arc<Source>, line: u32) -> Self {
        Self { source: Some(Arc::clone(source)), line, ..Self::default() }
    }

    /// Returns the place with another path.
    pub(crate) fn at(&self, path: Path) -> Self {
        Self { written: Written::At(Arc::new(path)), ..self.clone() }
    }

    /// Returns the place for a value inside this one.
    pub(crate) fn inner(&self) -> Self {
        Self { source: self.source.clone(), line: self.line, ..Self::default() }
    }
}

/// The deepest value of a path that exists.
struct Found<'a> {
    origin: &'a Origin,
    /// The whole path, as in the text.
    written: Path,
}

impl Content {
    /// Returns the depth of nested tables and lists.
    pub(crate) fn depth(&self) -> u64 {
        let deepest =
            |items: &mut dyn Iterator<Item = &Node>| 1 + items.map(|item| item.content.depth()).max().unwrap_or(0);
        match self {
            Self::List(items) => deepest(&mut items.iter()),
            Self::Table(table) => deepest(&mut table.values()),
            _ => 0,
        }
    }
}

impl Node {
    pub(crate) fn new(content: Content, origin: Origin) -> Self {
        Self { content, origin, is_rejected: false }
    }

    pub(crate) fn text(text: impl Into<String>, origin: Origin) -> Self {
        Self::new(Content::Text(text.into()), origin)
    }

    /// Returns an empty table.
    pub(crate) fn table(origin: Origin) -> Self {
        Self::new(Content::Table(Table::new()), origin)
    }

    /// Returns a table that has this value as its only key.
    pub(crate) fn wrap(self, key: &str) -> Self {
        let origin = self.origin.clone();
        let inner = Self { origin: origin.inner(), ..self };
        Self::new(Content::Table(Table::from_iter([(key.to_owned(), inner)])), origin)
    }

    /// Returns a value, all parts of which have one place.
    pub(crate) fn of_value(value: Value, origin: &Origin) -> Self {
        let content = match value {
            Value::Null => Content::Null,
            Value::Bool(flag) => Content::Bool(flag),
            Value::Number(number) => Content::Number(number),
            Value::String(text) => Content::Text(text),
            Value::Array(items) => {
                Content::List(items.into_iter().map(|item| Self::of_value(item, &origin.inner())).collect())
            }
            Value::Object(table) => Content::Table(
                table.into_iter().map(|(key, item)| (key, Self::of_value(item, &origin.inner()))).collect(),
            ),
        };
        Self::new(content, origin.clone())
    }

    /// Returns the value without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(flag) => Value::Bool(*flag),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Table(table) => table_to_map(table).into(),
        }
    }

    pub(crate) fn as_table(&self) -> Option<&Table> {
        match &self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match &self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_list_mut(&mut self) -> Option<&mut Vec<Self>> {
        match &mut self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.content, Content::Null)
    }

    /// Removes the places, so that the value has that of the enclosing value.
    pub(crate) fn without_origin(self) -> Self {
        let content = match self.content {
            Content::List(items) => Content::List(items.into_iter().map(Self::without_origin).collect()),
            Content::Table(mut table) => {
                for item in table.values_mut() {
                    *item = std::mem::take(item).without_origin();
                }
                Content::Table(table)
            }
            content => content,
        };
        Self { content, origin: Origin::default(), ..self }
    }

    /// Returns the value at a key of a table.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.as_table()?.get(key)
    }

    /// Returns the value at a key of a table for changes.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_table_mut()?.get_mut(key)
    }

    /// Returns the text at a key of a table.
    pub(crate) fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Adds the location to a fault of this document: file and line or the setting, and paths as in the text. A fault that has a
    /// location keeps it.
    pub(crate) fn locate(&self, mut fault: Fault) -> Fault {
        let Found { origin, written } = self.find(&fault.location.path);
        let own = self.origin.source.as_deref();
        if fault.location.setting.is_some() {
            return fault;
        }
        if fault.location.file.is_some() {
            let used_by = own.filter(|own| fault.location.file.as_ref() != Some(&own.name)).map(|own| own.name.clone());
            fault.location.used_by = fault.location.used_by.take().or(used_by);
            return fault;
        }
        // Settings have paths from the top of this document.
        let root = self.written();
        let settable = |written: Path| written.below(&root).map_or(written.clone(), |below| below.iter().collect());
        fault.location.path = written;
        match origin.source.as_deref().or(own) {
            Some(Source { name, kind: SourceKind::Setting }) => {
                fault.location.setting = Some(name.clone());
                fault.location.path = settable(fault.location.path.clone());
            }
            Some(Source { name, kind }) => {
                fault.location.file = Some(name.clone());
                fault.location.line = Some(u64::from(origin.line)).filter(|&line| line > 0);
                if let (SourceKind::Entry, Kind::UnknownKey, Some(Allowed::Names(known))) =
                    (kind, fault.kind, &mut fault.allowed)
                {
                    // These keys of a device are elsewhere in its file.
                    known.retain(|key| !["kind", "mechanism", "name"].contains(&key.as_str()));
                }
                let used_by = own.filter(|own| *kind == SourceKind::Entry && own.name != *name);
                fault.location.used_by = used_by.map(|own| own.name.clone());
            }
            None => {}
        }
        for word in &mut fault.message {
            match word {
                Word::Text(_) => {}
                Word::Key(path, _) => *path = self.find(path).written,
                Word::Setting(path, _) => *path = settable(self.find(path).written),
            }
        }
        fault
    }

    /// Returns the path of the document in its text.
    pub(crate) fn written(&self) -> Path {
        match &self.origin.written {
            Written::At(path) => Path::clone(path),
            Written::In(table) => Path::from(*table),
            Written::Below | Written::There => Path::default(),
        }
    }

    /// Returns the path of a key in the text.
    pub(crate) fn path_of(&self, key: &str) -> Path {
        self.written().step(key)
    }

    fn find(&self, path: &Path) -> Found<'_> {
        let (mut node, mut origin, mut written) = (self, &self.origin, self.written());
        let mut steps = path.steps();
        while let Some((child, key, taken)) = node.step(steps) {
            written = match &child.origin.written {
                Written::Below => written.step(key),
                Written::There => written,
                Written::In("") => Path::default().step(key),
                Written::In(table) => Path::from(*table).step(key),
                Written::At(path) => Path::clone(path),
            };
            if child.origin.source.is_some() {
                origin = &child.origin;
            }
            (node, steps) = (child, &steps[taken..]);
        }
        if let (Some(absent), [_, ..]) = (&node.origin.absent, steps) {
            origin = absent;
            written = match &absent.written {
                Written::At(path) => Path::clone(path),
                Written::In(table) => Path::from(*table),
                Written::Below | Written::There => written,
            };
        }
        for step in steps {
            written = written.step(step);
        }
        Found { origin, written }
    }

    /// Returns the child at the first steps of a path, its key, and the number of steps: a key can contain dots. Parameters of a
    /// custom policy are also found beside its other keys.
    fn step(&self, steps: &[String]) -> Option<(&Self, String, usize)> {
        let first = steps.first()?;
        match &self.content {
            Content::Table(table) => {
                if let Some(child) = table.get(first) {
                    return Some((child, first.clone(), 1));
                }
                if let Some(child) = table.get("parameters").and_then(|parameters| parameters.get(first)) {
                    return Some((child, first.clone(), 1));
                }
                (2..=steps.len()).find_map(|taken| {
                    let key = steps[..taken].join(".");
                    table.get(&key).map(|child| (child, key, taken))
                })
            }
            Content::List(items) => Some((items.get(first.parse::<usize>().ok()?)?, first.clone(), 1)),
            _ => None,
        }
    }
}

/// Converts a table to a JSON object, without places.
pub(crate) fn table_to_map(table: &Table) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.clone(), item.to_value())).collect()
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Returns a deserializer of the keys of a table for which `is_left_out` is false.
pub(crate) fn deserializer<'de>(
    table: &'de Table,
    is_left_out: impl Fn(&str) -> bool + 'de,
) -> impl Deserializer<'de, Error = serde_json::Error> {
    let entries = table.iter().filter(move |(key, _)| !is_left_out(key));
    MapDeserializer::new(entries.map(|(key, item)| (key.as_str(), item)))
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match &self.content {
            Content::Null => visitor.visit_unit(),
            Content::Bool(flag) => visitor.visit_bool(*flag),
            Content::Number(number) => number.deserialize_any(visitor),
            Content::Text(text) => visitor.visit_borrowed_str(text),
            Content::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Content::Table(table) => deserializer(table, |_| false).deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.content {
            Content::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match &self.content {
            Content::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Content::Table(table) => {
                let entries = table.iter().map(|(key, item)| (key.as_str(), item));
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(entries)))
            }
            _ => Err(Error::invalid_type(Unexpected::Other("a value"), &"a word or a table")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
