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
    /// The text; the one of the value around it when absent.
    pub source: Option<Arc<Source>>,
    /// Line of the text, from 1; 0 if it has no lines.
    pub line: u32,
    /// The path in that text.
    pub written: Written,
    /// The place to add keys that a table lacks, if that is elsewhere.
    pub absent: Option<Box<Origin>>,
}

/// The path by which a reader finds a value in its text.
#[derive(Clone, Debug, Default)]
pub(crate) enum Written {
    /// That of the value around it, and its key.
    #[default]
    Below,
    /// That of the value around it: a short form has been written out.
    There,
    /// Its key, in the table with this name at the top of its text; at the top itself if that is empty.
    In(&'static str),
    /// Another one: the value has been moved.
    At(Arc<Path>),
}

/// A text that values come from.
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
    /// A document, or one that it is based on.
    Document,
    /// A file of the catalogue, or one of a device or a workload, which a document names.
    Entry,
    /// A setting on top of a document.
    Setting,
}

impl Source {
    pub(crate) fn new(name: &str, kind: SourceKind) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), kind })
    }
}

impl Origin {
    /// A line of a text.
    pub(crate) fn line_of(source: &Arc<Source>, line: u32) -> Self {
        Self { source: Some(Arc::clone(source)), line, ..Self::default() }
    }

    /// The same place, at another path.
    pub(crate) fn at(&self, path: Path) -> Self {
        Self { written: Written::At(Arc::new(path)), ..self.clone() }
    }

    /// The same place, of a value that has been put into it or is below it.
    pub(crate) fn inner(&self) -> Self {
        Self { source: self.source.clone(), line: self.line, ..Self::default() }
    }
}

/// The result of looking for a path: as far as the document has it.
struct Found<'a> {
    origin: &'a Origin,
    /// The path, as it is written there.
    written: Path,
}

impl Content {
    /// Tables and lists within each other.
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

    /// An empty table.
    pub(crate) fn table(origin: Origin) -> Self {
        Self::new(Content::Table(Table::new()), origin)
    }

    /// A table with one key, in the place of its value.
    pub(crate) fn wrap(self, key: &str) -> Self {
        let origin = self.origin.clone();
        let inner = Self { origin: origin.inner(), ..self };
        Self::new(Content::Table(Table::from_iter([(key.to_owned(), inner)])), origin)
    }

    /// A value that comes from one place.
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

    /// The value without its place.
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

    /// The same value, of which only the place of what is around it is known.
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

    /// The value at a key, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.as_table()?.get(key)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_table_mut()?.get_mut(key)
    }

    /// The text at a key, if this is a table that has one there.
    pub(crate) fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// Adds to a fault of this document where the reader finds it: file and line, or the setting, and paths as they are written.
    /// A fault that has a place keeps it.
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
        // What a reader sets, he sets from the top of this document on.
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
                    // These keys of a device stand elsewhere in its file.
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

    /// The path at which the document itself is written.
    pub(crate) fn written(&self) -> Path {
        match &self.origin.written {
            Written::At(path) => Path::clone(path),
            Written::In(table) => Path::from(*table),
            Written::Below | Written::There => Path::default(),
        }
    }

    /// The path of a value that stands at a key of its text.
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

    /// The child that the first steps of a path lead to, the key as it is written, and the number of these steps: a key may have
    /// dots. Parameters of a custom policy may stand beside its other keys.
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

/// The values of a table, without their places.
pub(crate) fn table_to_map(table: &Table) -> Map<String, Value> {
    table.iter().map(|(key, item)| (key.clone(), item.to_value())).collect()
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The deserializer of a table, in which `is_left_out` says which keys do not count.
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
