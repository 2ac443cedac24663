//! Notations of documents: parses text to values with line numbers.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use toml::de::{DeTable, DeValue};

use super::node::{Content, Node, Origin, Source, Table};
use super::text::require_size;
use crate::fault::{brief, Fault, Kind};
use crate::limits::{DOCUMENT_BYTES, NESTING};

/// A notation for documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Notation {
    /// Returns the notation `name`.
    ///
    /// # Errors
    /// No such notation.
    pub fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "toml" => Ok(Self::Toml),
            "yaml" | "yml" => Ok(Self::Yaml),
            "json" => Ok(Self::Json),
            _ => Err(Fault::unknown_name("format", name, ["toml", "yaml", "json"])),
        }
    }

    /// Returns the notation of a file name ending.
    #[must_use]
    pub fn of_file(path: &Path) -> Option<Self> {
        Self::named(&path.extension()?.to_str()?.to_lowercase()).ok()
    }

    /// Reads a text as a table, which is empty for an empty text.
    ///
    /// # Errors
    /// The text is too large, nested too deep or not valid, has a duplicate key, a number that is not finite, or a
    /// date. The fault has line and column.
    pub(in crate::scenario) fn read(self, text: &str, source: &Arc<Source>) -> Result<Node, Fault> {
        self.parse(text, source).map_err(|fault| fault.in_file(&source.name))
    }

    fn parse(self, text: &str, source: &Arc<Source>) -> Result<Node, Fault> {
        require_size(text.len()).map_err(|says| Fault::new(Kind::Unreadable).says(says))?;
        // A byte order mark, which some editors write.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = Lines { source, has_lines: text.trim().contains('\n') };
        let node = match self {
            Self::Toml => read_toml(text, &lines),
            Self::Yaml => read_yaml(text, &lines),
            Self::Json => read_json(text, &lines),
        };
        let node = match node {
            Ok(node) if node.content.depth() > NESTING.most => return Err(too_deep()),
            // Some parsers have lower depth limits.
            Err(_) if open_brackets(text) > NESTING.most => return Err(too_deep()),
            read => read?,
        };
        match node.content {
            Content::Table(_) => Ok(node),
            Content::Null => Ok(Node::table(node.origin)),
            _ => Err(Fault::new(Kind::WrongType).says("expected a table of settings at the top")),
        }
    }
}

/// Returns the value of a setting: TOML, or plain text if it is not TOML.
///
/// # Errors
/// The value is a number that is not finite, or a date.
pub(super) fn value_of_setting(text: &str, source: &Arc<Source>) -> Result<Node, String> {
    if matches!(text.trim_start_matches(['+', '-']), "nan" | "inf") {
        return Err(not_finite(text));
    }
    let line = format!("value = {text}");
    let Ok(mut table) = DeTable::parse(&line) else {
        return Ok(Node::text(text, Origin::line_of(source, 0)));
    };
    let value = table.get_mut().remove("value").map(toml::Spanned::into_inner).unwrap_or(DeValue::Boolean(false));
    let origin = Origin::line_of(source, 0);
    let node = of_toml(value, &|_| origin.clone()).map_err(|wrong| wrong.says)?;
    Ok(Node { origin, ..node })
}

/// Creates locations from byte offsets or lines.
struct Lines<'a> {
    source: &'a Arc<Source>,
    /// False for a text of one line, for which line numbers are useless.
    has_lines: bool,
}

impl Lines<'_> {
    fn origin(&self, line: u64) -> Origin {
        Origin::line_of(self.source, if self.has_lines { u32::try_from(line).unwrap_or(0) } else { 0 })
    }
}

fn too_deep() -> Fault {
    Fault::new(Kind::Notation).says(format!("tables and lists are nested deeper than {}", NESTING.most))
}

fn not_finite(number: &str) -> String {
    format!("{} is not a finite number", brief(number))
}

/// Returns the maximum nesting of brackets outside strings and comments.
fn open_brackets(text: &str) -> u64 {
    let (mut open, mut most) = (0_u64, 0);
    let (mut within, mut escaped) = (None, false);
    for byte in text.bytes() {
        match within {
            None => match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                b'"' | b'\'' | b'#' => within = Some(byte),
                _ => {}
            },
            Some(begun) => {
                let ends = if begun == b'#' { byte == b'\n' } else { byte == begun && !escaped };
                escaped = begun == b'"' && byte == b'\\' && !escaped;
                within = within.filter(|_| !ends);
            }
        }
        most = most.max(open);
    }
    most
}

/// Returns the fault of a parser's message, without the source line that it quotes.
fn notation_fault(message: &str, line: Option<u64>) -> Fault {
    let message: Vec<String> = message.trim_end().lines().map(brief).collect();
    Fault::new(Kind::Notation).says(message.join("\n")).on_line(line)
}

/// Returns a fault of a value, with its line.
fn at_line(message: impl fmt::Display, line: u64) -> Fault {
    notation_fault(&format!("{message} at line {line}"), Some(line))
}

/// Returns the fault of a TOML value that documents do not support.
struct WrongToml {
    says: String,
    at: usize,
}

fn read_toml(text: &str, lines: &Lines<'_>) -> Result<Node, Fault> {
    let ends: Vec<usize> = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
    let line = |at: usize| 1 + ends.partition_point(|&end| end < at) as u64;
    let table = DeTable::parse(text)
        .map_err(|error| notation_fault(&error.to_string(), error.span().map(|span| line(span.start))))?;
    let table = of_toml(DeValue::Table(table.into_inner()), &|at| lines.origin(line(at)))
        .map_err(|wrong| at_line(wrong.says, line(wrong.at)))?;
    Ok(Node { origin: lines.origin(0), ..table })
}

/// Converts a TOML value; `origin` gives the location of a byte.
fn of_toml(value: DeValue<'_>, origin: &dyn Fn(usize) -> Origin) -> Result<Node, WrongToml> {
    let content = match value {
        DeValue::String(text) => Content::Text(text.into_owned()),
        DeValue::Boolean(flag) => Content::Bool(flag),
        DeValue::Integer(number) => {
            let (digits, radix) = (number.as_str(), number.radix());
            let whole = i64::from_str_radix(digits, radix).map(Number::from);
            let whole = whole.or_else(|_| u64::from_str_radix(digits, radix).map(Number::from)).ok();
            // A number beyond the range of floats is kept as text, so that the range check reports it.
            let number = whole.or_else(|| Number::from_f64(digits.parse().ok()?));
            number.map_or_else(|| Content::Text(digits.to_owned()), Content::Number)
        }
        DeValue::Float(number) => {
            let finite = number.as_str().parse().ok().and_then(Number::from_f64);
            Content::Number(finite.ok_or_else(|| WrongToml { says: not_finite(number.as_str()), at: 0 })?)
        }
        DeValue::Datetime(_) => {
            let says = "a date or a time has no place here: write it in quotes, as a text".to_owned();
            return Err(WrongToml { says, at: 0 });
        }
        DeValue::Array(items) => {
            let item = |item: toml::Spanned<DeValue<'_>>| {
                let at = item.span().start;
                let node = of_toml(item.into_inner(), origin).map_err(|wrong| wrong.or_at(at))?;
                Ok(Node { origin: origin(at), ..node })
            };
            Content::List(items.into_iter().map(item).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (toml::Spanned<std::borrow::Cow<'_, str>>, toml::Spanned<DeValue<'_>>)| {
                let (at, at_value) = (key.span().start, value.span().start);
                let node = of_toml(value.into_inner(), origin).map_err(|wrong| wrong.or_at(at_value))?;
                Ok((key.into_inner().into_owned(), Node { origin: origin(at), ..node }))
            };
            Content::Table(table.into_iter().map(entry).collect::<Result<_, _>>()?)
        }
    };
    Ok(Node::new(content, Origin::default()))
}

impl WrongToml {
    fn or_at(self, at: usize) -> Self {
        Self { at: if self.at == 0 { at } else { self.at }, ..self }
    }
}

fn read_json(text: &str, lines: &Lines<'_>) -> Result<Node, Fault> {
    let line = Cell::new(1);
    let mut deserializer = serde_json::Deserializer::from_reader(Counted { rest: text.as_bytes(), line: &line });
    let seed = JsonSeed { lines, line: &line };
    let read = seed.deserialize(&mut deserializer).and_then(|node| deserializer.end().map(|()| node));
    let read = read.map_err(|error| notation_fault(&error.to_string(), Some(error.line() as u64)))?;
    Ok(Node { origin: lines.origin(0), ..read })
}

/// A reader that counts lines, because serde_json gives lines for errors only.
struct Counted<'a> {
    rest: &'a [u8],
    line: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (Some((&byte, rest)), Some(place)) = (self.rest.split_first(), buffer.first_mut()) else { return Ok(0) };
        *place = byte;
        self.rest = rest;
        if byte == b'\n' {
            self.line.set(self.line.get() + 1);
        }
        Ok(1)
    }
}

/// Reads a JSON value at the current position of the parser.
#[derive(Clone, Copy)]
struct JsonSeed<'a> {
    lines: &'a Lines<'a>,
    line: &'a Cell<u64>,
}

impl<'de> DeserializeSeed<'de> for JsonSeed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let origin = self.lines.origin(self.line.get());
        let content = deserializer.deserialize_any(self)?;
        Ok(Node::new(content, origin))
    }
}

impl<'de> Visitor<'de> for JsonSeed<'_> {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table, a list, a number, a text, true or false")
    }

    fn visit_unit<E: Error>(self) -> Result<Content, E> {
        Ok(Content::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Content, E> {
        Number::from_f64(value).map(Content::Number).ok_or_else(|| E::custom(not_finite(&value.to_string())))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Content, E> {
        Ok(Content::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Content::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Content, A::Error> {
        let mut table = Table::new();
        while let Some(key) = entries.next_key::<String>()? {
            // The parser has just read the key.
            let origin = self.lines.origin(self.line.get());
            if table.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key {key:?}")));
            }
            let node = entries.next_value_seed(self)?;
            table.insert(key, Node { origin, ..node });
        }
        Ok(Content::Table(table))
    }
}

/// A YAML parser with its anchored values.
struct Yaml<'a> {
    parser: Parser<'a, StrInput<'a>>,
    lines: &'a Lines<'a>,
    anchors: HashMap<usize, Anchored>,
    /// Characters of anchored values and of expanded aliases.
    copied: u64,
}

/// An anchored value, and its length with all aliases expanded.
struct Anchored {
    content: Content,
    length: u64,
    depth: u64,
}

fn read_yaml(text: &str, lines: &Lines<'_>) -> Result<Node, Fault> {
    let mut yaml = Yaml { parser: Parser::new_from_str(text), lines, anchors: HashMap::new(), copied: 0 };
    let mut document = None;
    loop {
        let (event, span) = yaml.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            _ if document.is_some() => {
                return Err(at_line("a second document: expected one", span.start.line() as u64));
            }
            event => document = Some(yaml.value(event, span, 1)?),
        }
    }
    Ok(Node::new(document.unwrap_or_default(), lines.origin(0)))
}

impl<'a> Yaml<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        let wrong = |error: &ScanError| {
            let marker = error.marker();
            let message = format!("{} at line {} column {}", error.info(), marker.line(), marker.col() + 1);
            notation_fault(&message, Some(marker.line() as u64))
        };
        match self.parser.next_event() {
            Some(event) => event.map_err(|error| wrong(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Reads the value that starts with an event, at a nesting depth.
    fn value(&mut self, event: Event<'a>, span: Span, depth: u64) -> Result<Content, Fault> {
        if depth > NESTING.most + 1 {
            return Err(too_deep());
        }
        let line = span.start.line() as u64;
        let (before, start) = (self.copied, span.start.index());
        let (anchor, content, end) = match event {
            Event::Alias(anchor) => return self.alias(anchor, line, depth),
            Event::Scalar(text, style, anchor, tag) => {
                let content = scalar(&text, style, tag.as_deref()).map_err(|says| at_line(says, line))?;
                (anchor, content, span.end.index())
            }
            Event::SequenceStart(anchor, tag) => {
                require_no_tag(tag.as_deref(), "seq", line)?;
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::SequenceEnd {
                        break (anchor, Content::List(items), span.end.index());
                    }
                    let origin = self.lines.origin(span.start.line() as u64);
                    items.push(Node::new(self.value(event, span, depth + 1)?, origin));
                }
            }
            Event::MappingStart(anchor, tag) => {
                require_no_tag(tag.as_deref(), "map", line)?;
                let mut table = Table::new();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::MappingEnd {
                        break (anchor, Content::Table(table), span.end.index());
                    }
                    let line = span.start.line() as u64;
                    let Event::Scalar(key, ..) = event else {
                        return Err(at_line("a key is a list, a table or an alias: expected a text", line));
                    };
                    if table.contains_key(key.as_ref()) {
                        return Err(at_line(format!("duplicate key {key:?}"), line));
                    }
                    let (event, span) = self.next()?;
                    let node = Node::new(self.value(event, span, depth + 1)?, self.lines.origin(line));
                    table.insert(key.into_owned(), node);
                }
            }
            other => return Err(at_line(format!("unexpected {other:?}"), line)),
        };
        if anchor > 0 {
            let length = end.saturating_sub(start) as u64 + (self.copied - before);
            self.copy(length, line)?;
            let depth = content.depth();
            self.anchors.insert(anchor, Anchored { content: content.clone(), length, depth });
        }
        Ok(content)
    }

    fn alias(&mut self, anchor: usize, line: u64, depth: u64) -> Result<Content, Fault> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(at_line("an alias stands within what it is an alias of", line));
        };
        if depth + anchored.depth > NESTING.most + 1 {
            return Err(too_deep());
        }
        let length = anchored.length;
        self.copy(length, line)?;
        Ok(self.anchors[&anchor].content.clone())
    }

    /// Counts characters that are copied, so that a short text can't make a long document.
    fn copy(&mut self, characters: u64, line: u64) -> Result<(), Fault> {
        self.copied = self.copied.saturating_add(characters);
        if self.copied <= DOCUMENT_BYTES.most {
            return Ok(());
        }
        let most = DOCUMENT_BYTES.most;
        Err(at_line(format!("with its aliases written out the document has more than {most} bytes"), line))
    }
}

fn require_no_tag(tag: Option<&Tag>, core: &str, line: u64) -> Result<(), Fault> {
    match tag.filter(|tag| !(tag.is_yaml_core_schema() && tag.suffix == core)) {
        Some(tag) => Err(at_line(format!("the tag {tag} has no place here"), line)),
        None => Ok(()),
    }
}

/// Converts a YAML scalar by the core schema of YAML 1.2.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Content, String> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => return Ok(Content::Text(text.to_owned())),
        Some(tag) if tag.is_yaml_core_schema() => {}
        Some(tag) => return Err(format!("the tag {tag} has no place here")),
        None if style != ScalarStyle::Plain => return Ok(Content::Text(text.to_owned())),
        None => {}
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Content::Null),
        "true" | "True" | "TRUE" => return Ok(Content::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Content::Bool(false)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan" | ".NaN"
        | ".NAN" => {
            return Err(not_finite(text));
        }
        _ => {}
    }
    Ok(number(text).map_or_else(|| Content::Text(text.to_owned()), Content::Number))
}

/// Returns the number of a plain YAML scalar; `None` for a text, such as digits with a leading zero.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = unsigned.strip_prefix(prefix).filter(|digits| !digits.starts_with(['+', '-'])) {
            let whole = i64::from_str_radix(&format!("{sign}{digits}"), radix).map(Number::from);
            return whole.or_else(|_| u64::from_str_radix(digits, radix).map(Number::from)).ok();
        }
    }
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let is_digits = unsigned.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits && unsigned.len() > 1 && unsigned.starts_with('0') {
        return None;
    }
    if is_digits {
        let signed = format!("{sign}{unsigned}");
        if let Ok(whole) = signed.parse::<i64>() {
            return Some(whole.into());
        }
        if let (Ok(whole), "") = (unsigned.parse::<u64>(), sign) {
            return Some(whole.into());
        }
    }
    Number::from_f64(format!("{sign}{unsigned}").parse().ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::super::node::SourceKind;
    use super::*;

    fn read(text: &str, notation: Notation) -> Result<Node, Fault> {
        notation.read(text, &Source::new("a", SourceKind::Document))
    }

    fn value(text: &str, notation: Notation) -> Value {
        read(text, notation).unwrap_or_else(|fault| panic!("{fault}\n{text}")).to_value()
    }

    fn error(text: &str, notation: Notation) -> String {
        read(text, notation).expect_err(text).to_string()
    }

    #[test]
    fn every_notation_reads_the_same() {
        let toml = value("seed = 3\n[system]\ndevice = \"g2\"", Notation::Toml);
        let yaml = value("seed: 3\nsystem:\n  device: g2\n", Notation::Yaml);
        let json = value(r#"{"seed": 3, "system": {"device": "g2"}}"#, Notation::Json);
        assert!(toml == yaml && yaml == json);
        let ordered = value("b = 1\na = 2\n[z]\n[y]", Notation::Toml);
        assert_eq!(ordered.as_object().expect("a table").keys().collect::<Vec<_>>(), ["b", "a", "z", "y"]);
    }

    #[test]
    fn each_value_has_the_line_of_its_key() {
        let toml = "seed = 3\n\n[system]\ndevice = \"g2\"\nmembers = [\n  1,\n  { a = 2 },\n]\n";
        let yaml = "seed: 3\n\nsystem:\n  device: g2\n  members:\n    - 1\n    - a: 2\n";
        let json = "{\n \"seed\": 3, \"system\":\n {\"device\": \"g2\",\n \"members\": [\n1,\n {\"a\": 2}]}}";
        let lines = |text: &str, notation| -> Vec<u32> {
            let root = read(text, notation).expect(text);
            let system = root.get("system").expect("a table");
            let members = system.get("members").expect("a list");
            let items = members.as_list().expect("a list");
            let nodes = [root.get("seed"), system.get("device"), Some(members), items.first(), items[1].get("a")];
            nodes.into_iter().flatten().map(|node| node.origin.line).collect()
        };
        assert_eq!(lines(toml, Notation::Toml), [1, 4, 5, 6, 7]);
        assert_eq!(lines(yaml, Notation::Yaml), [1, 4, 5, 6, 7]);
        assert_eq!(lines(json, Notation::Json), [2, 3, 4, 5, 6]);
        assert_eq!(read("seed = 3\n", Notation::Toml).expect("valid").get("seed").expect("a key").origin.line, 0);
    }

    #[test]
    fn yaml_scalars_are_those_of_the_core_schema() {
        let text =
            "[~, null, true, False, 12, +3, -4, 0x1F, 0o17, 0b11, 007, 1e3, -.5, 1., 12h, 1_000, '5', !!str 6, yes, \
                    18446744073709551615, 1e400]";
        let expected = json!([
            null,
            null,
            true,
            false,
            12,
            3,
            -4,
            31,
            15,
            3,
            "007",
            1000.0,
            -0.5,
            1.0,
            "12h",
            "1_000",
            "5",
            "6",
            "yes",
            18_446_744_073_709_551_615_u64,
            "1e400",
        ]);
        assert_eq!(value(&format!("a: {text}"), Notation::Yaml)["a"], expected);
        assert_eq!(value("a: |\n  x\n  y\nb: >\n  x\n  y\n", Notation::Yaml), json!({"a": "x\ny\n", "b": "x y\n"}));
    }

    #[test]
    fn yaml_aliases_stand_for_their_anchors_up_to_the_size_of_a_document() {
        assert_eq!(
            value("a: &x {b: 1}\nc: [*x, *x]", Notation::Yaml),
            json!({"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]})
        );
        let mut bomb = String::from("a0: &a0 [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\n");
        for level in 1..30 {
            let alias = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", "));
        }
        assert!(error(&bomb, Notation::Yaml).contains("with its aliases written out the document has more than"));
        let mut deep = String::from("a0: &a0 [1]\n");
        for level in 1..200 {
            deep += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
        }
        assert!(error(&deep, Notation::Yaml).contains("nested deeper than 100"));
        assert!(error("a: &a [*a]", Notation::Yaml).contains("an alias stands within"));
    }

    #[test]
    fn what_no_document_holds_is_refused_with_its_line() {
        for (text, notation, problem) in [
            ("a = 1\nb = [\n1.0, nan]", Notation::Toml, "nan is not a finite number at line 3"),
            (
                "a = 1\nb = 1979-05-27",
                Notation::Toml,
                "a date or a time has no place here: write it in quotes, as a text at line 2",
            ),
            ("a: 1\na: 2", Notation::Yaml, "duplicate key \"a\" at line 2"),
            ("a: 1\nb: .nan", Notation::Yaml, ".nan is not a finite number at line 2"),
            ("a: 1\nb: !c 2", Notation::Yaml, "the tag !c has no place here at line 2"),
            ("a: 1\n? [b]\n: 2", Notation::Yaml, "expected a text at line 2"),
            ("a: 1\n---\nb: 2", Notation::Yaml, "a second document"),
            ("{\"a\": 1,\n\"a\": 2}", Notation::Json, "duplicate key \"a\" at line 2"),
            ("a = 1\na = 2", Notation::Toml, "duplicate key"),
            ("[1]", Notation::Json, "expected a table of settings at the top"),
        ] {
            let message = error(text, notation);
            assert!(message.starts_with("a: ") && message.contains(problem), "{message}");
        }
    }
}
