//! Parser of parameter files: blocks of parameters, their instances, and the topology.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use sledsim::fault::{self, printable, Kind};

use super::fault::{Fault, Place};
use super::sources::Sources;
use super::tokens::{Token, Tokens};

/// Maximum nesting of blocks and lists.
const MAX_DEPTH: usize = 40;
/// Maximum number of parameters of a block.
const MAX_PARAMETERS: usize = 500;
/// Maximum number of top-level blocks.
const MAX_BLOCKS: usize = 10_000;
/// Maximum number of names in a range such as `disk0 .. disk9`.
const MAX_RANGE: i64 = 10_000;

/// A value and its line.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub place: Place,
    pub content: Content,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Whole(i64),
    Real(f64),
    Text(String),
    List(Vec<Value>),
    Block(Block),
    Node(Node),
}

/// A parameter of a block.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub name: Arc<str>,
    pub place: Place,
    pub value: Arc<Value>,
}

/// A block: `TYPE NAME { … }`, or `TYPE { … }` as a value.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// A type of DiskSim; for a block that derives from another one, that of the other.
    pub kind: String,
    /// The name; empty if it has none.
    pub name: String,
    pub place: Place,
    pub parameters: Vec<Parameter>,
}

/// A component of the topology.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: String,
    pub name: String,
    pub place: Place,
    pub children: Vec<Node>,
}

/// Components that are instances of a block.
#[derive(Clone, Debug)]
pub(super) struct Instances {
    pub names: Vec<String>,
    /// The name of the block.
    pub of: String,
}

/// The content of the files, in order.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub blocks: Vec<Block>,
    pub instances: Vec<Instances>,
    pub topology: Option<Node>,
    /// End of the main file.
    pub end: Place,
    by_name: HashMap<String, usize>,
}

impl Document {
    /// Returns the block `name`.
    pub fn block(&self, name: &str) -> Option<&Block> {
        self.by_name.get(name).map(|&index| &self.blocks[index])
    }

    /// Returns the block that a component is an instance of.
    pub fn made_of(&self, component: &str) -> Option<&Block> {
        let made = self.instances.iter().find(|made| made.names.iter().any(|name| name == component));
        made.and_then(|made| self.block(&made.of))
    }

    /// Returns the number of components that are instances of the block `name`.
    pub fn made_of_block(&self, name: &str) -> usize {
        self.instances.iter().filter(|made| made.of == name).map(|made| made.names.len()).sum()
    }

    /// Returns the block `name`, to be changed.
    pub fn block_mut(&mut self, name: &str) -> Option<&mut Block> {
        self.by_name.get(name).map(|&index| &mut self.blocks[index])
    }

    fn add(&mut self, mut block: Block) -> Result<(), Fault> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(Fault::new(block.place, Kind::OutOfRange, format!("more than {MAX_BLOCKS} blocks")));
        }
        if let Some(parent) = self.block(&block.kind).cloned() {
            block.kind = parent.kind;
            for inherited in parent.parameters {
                if block.parameters.iter().all(|own| own.name != inherited.name) {
                    block.parameters.push(inherited);
                }
            }
        }
        if self.by_name.insert(block.name.clone(), self.blocks.len()).is_some() {
            let path = fault::Path::default().step(printable(&block.label()));
            let what = fault::Fault::at(Kind::Conflict, path).says(" is defined for the second time");
            return Err(Fault::of(block.place, what));
        }
        self.blocks.push(block);
        Ok(())
    }
}

/// Reads the file at `path` and the files that it includes.
pub(super) fn read(sources: &mut Sources, path: &Path) -> Result<Document, Fault> {
    let mut parser = Parser { tokens: Tokens::new(sources, path)?, next: None, document: Document::default() };
    if matches!(parser.peek()?, Token::Word(word) if word == "Seek") {
        let (_, place) = parser.take()?;
        let message = "a table of seek times, which is a part of a drive: expected the file that names it";
        return Err(Fault::new(place, Kind::Unsupported, message));
    }
    parser.statements()?;
    Ok(parser.document)
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    next: Option<(Token, Place)>,
    document: Document,
}

impl Parser<'_> {
    fn take(&mut self) -> Result<(Token, Place), Fault> {
        match self.next.take() {
            Some(next) => Ok(next),
            None => self.tokens.take(),
        }
    }

    fn peek(&mut self) -> Result<&Token, Fault> {
        if self.next.is_none() {
            self.next = Some(self.tokens.take()?);
        }
        Ok(self.next.as_ref().map_or(&Token::End, |(token, _)| token))
    }

    fn takes(&mut self, mark: char) -> Result<bool, Fault> {
        let found = *self.peek()? == Token::Mark(mark);
        if found {
            self.next = None;
        }
        Ok(found)
    }

    fn word(&mut self, what: &str) -> Result<(String, Place), Fault> {
        match self.take()? {
            (Token::Word(word), place) => Ok((word, place)),
            (other, place) => Err(other.unexpected(place, what)),
        }
    }

    fn mark(&mut self, mark: char, what: &str) -> Result<(), Fault> {
        match self.take()? {
            (Token::Mark(found), _) if found == mark => Ok(()),
            (other, place) => Err(other.unexpected(place, format!("{mark:?} {what}"))),
        }
    }

    fn statements(&mut self) -> Result<(), Fault> {
        const EXPECTED: &str = "a block, instantiate or topology";
        loop {
            let (token, place) = self.take()?;
            let word = match token {
                Token::End => {
                    self.document.end = place;
                    return Ok(());
                }
                Token::Word(word) => word,
                other => return Err(other.unexpected(place, EXPECTED)),
            };
            match word.as_str() {
                "topology" => {
                    let (kind, place) = self.word("the type of a component")?;
                    let (name, _) = self.word("the name of a component")?;
                    let node = self.node(kind, name, place, 0)?;
                    if self.document.topology.replace(node).is_some() {
                        return Err(Fault::new(place, Kind::Conflict, "a second topology: expected one"));
                    }
                }
                "instantiate" => self.instantiate()?,
                _ => {
                    let (name, _) = self.word(&format!("the name of a block of type {word:?}"))?;
                    let block = self.block(word, name, place, 0)?;
                    self.document.add(block)?;
                }
            }
        }
    }

    fn instantiate(&mut self) -> Result<(), Fault> {
        self.mark('[', "and the names of components")?;
        let mut names = Vec::new();
        for value in self.list(0)? {
            match value.content {
                Content::Text(name) => names.push(name),
                _ => return Err(Fault::new(value.place, Kind::WrongType, "instantiate takes a list of names")),
            }
        }
        match self.word("as and the name of a block")? {
            (word, _) if word == "as" => {}
            (word, place) => return Err(Token::Word(word).unexpected(place, "as and the name of a block")),
        }
        let (of, at) = self.word("the name of a block")?;
        if self.document.block(&of).is_none() {
            let known = self.document.blocks.iter().map(|block| block.name.as_str());
            let what = fault::Fault::unknown_name("instantiate", &of, known);
            return Err(Fault::of(at, what.says(" among the blocks defined above")));
        }
        self.document.instances.push(Instances { names, of });
        Ok(())
    }

    /// Reads a component whose type and name have been read.
    fn node(&mut self, kind: String, name: String, place: Place, depth: usize) -> Result<Node, Fault> {
        check_depth(depth, place)?;
        self.mark('[', "and what is attached to the component")?;
        let mut children = Vec::new();
        for value in self.list(depth + 1)? {
            match value.content {
                Content::Node(child) => children.push(child),
                _ => {
                    let says = "expected a component: its type, name and [ ]";
                    return Err(Fault::new(value.place, Kind::WrongType, says));
                }
            }
        }
        Ok(Node { kind, name, place, children })
    }

    /// Reads a block whose type and name have been read.
    fn block(&mut self, kind: String, name: String, place: Place, depth: usize) -> Result<Block, Fault> {
        check_depth(depth, place)?;
        self.mark('{', "and the parameters of a block")?;
        let mut block = Block { kind, name, place, parameters: Vec::new() };
        if self.takes('}')? {
            return Ok(block);
        }
        loop {
            self.parameter(&mut block, depth)?;
            match self.take()? {
                (Token::Mark('}'), _) => return Ok(block),
                (Token::Mark(','), _) => {}
                (other, place) => {
                    let expected = format!("',' or '}}' in {}", self.describe(&block));
                    return Err(other.unexpected(place, expected));
                }
            }
        }
    }

    /// Describes a block and its start for messages: its missing brace may be noticed in another file.
    fn describe(&self, block: &Block) -> String {
        format!("the {} block that begins at {}:{}", block.kind, self.tokens.file_name(block.place), block.place.line)
    }

    /// Reads `name = value` or `[ names ] = value`.
    fn parameter(&mut self, block: &mut Block, depth: usize) -> Result<(), Fault> {
        let (token, place) = self.take()?;
        let names: Vec<String> = match token {
            Token::Mark('[') => {
                let names = self.list(depth + 1)?.into_iter().map(|value| match value.content {
                    Content::Text(name) => Ok(name),
                    _ => Err(Fault::new(value.place, Kind::WrongType, "expected the names of parameters")),
                });
                let names = names.collect::<Result<_, _>>()?;
                self.mark('=', "and a value")?;
                names
            }
            Token::Word(mut name) => {
                loop {
                    match self.take()? {
                        (Token::Mark('='), _) => break,
                        (Token::Word(word), _) if name.len() < 200 => name = name + " " + &word,
                        (other, place) => {
                            let expected = format!("'=' after {name:?}, a parameter of {}", self.describe(block));
                            return Err(other.unexpected(place, expected));
                        }
                    }
                }
                vec![name]
            }
            other => return Err(other.unexpected(place, format!("a parameter of {}", self.describe(block)))),
        };
        let value = Arc::new(self.value(depth + 1)?);
        for name in names {
            if let Some(first) = block.parameters.iter().find(|known| *known.name == *name) {
                let says = format!(" is given for the second time; the first is in line {}", first.place.line);
                return Err(Fault::of(place, fault::Fault::at(Kind::Conflict, block.path(&name)).says(says)));
            }
            if block.parameters.len() >= MAX_PARAMETERS {
                let says = format!("more than {MAX_PARAMETERS} parameters in a block");
                return Err(Fault::new(place, Kind::OutOfRange, says));
            }
            block.parameters.push(Parameter { name: name.into(), place, value: Arc::clone(&value) });
        }
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        let (token, place) = self.take()?;
        self.value_from(token, place, depth)
    }

    /// Reads a value whose first token has been read.
    fn value_from(&mut self, token: Token, place: Place, depth: usize) -> Result<Value, Fault> {
        check_depth(depth, place)?;
        let word = match token {
            Token::Mark('[') => return Ok(Value { place, content: Content::List(self.list(depth)?) }),
            Token::Word(word) => word,
            other => return Err(other.unexpected(place, "a value")),
        };
        let content = match self.peek()? {
            Token::Mark('{') => Content::Block(self.block(word, String::new(), place, depth)?),
            Token::Word(dots) if dots == ".." => Content::Text(word),
            Token::Word(_) => {
                let (name, at) = self.word("a name")?;
                match self.peek()? {
                    // The name is not used for references here.
                    Token::Mark('{') => Content::Block(self.block(word, name, place, depth)?),
                    Token::Mark('[') => Content::Node(self.node(word, name, place, depth)?),
                    _ => {
                        let expected = format!("one value; {word:?} is one already");
                        return Err(Token::Word(name).unexpected(at, expected));
                    }
                }
            }
            _ => scalar(word, place)?,
        };
        Ok(Value { place, content })
    }

    /// Reads the rest of a list, after its `[`.
    fn list(&mut self, depth: usize) -> Result<Vec<Value>, Fault> {
        let mut items = Vec::new();
        if self.takes(']')? {
            return Ok(items);
        }
        loop {
            let first = self.value(depth + 1)?;
            match self.take()? {
                (Token::Mark(']'), _) => {
                    items.push(first);
                    return Ok(items);
                }
                (Token::Mark(','), _) => items.push(first),
                (Token::Word(dots), place) if dots == ".." => {
                    let (last, _) = self.word("the end of the range")?;
                    items.extend(range(&first, &last, place)?);
                    match self.take()? {
                        (Token::Mark(']'), _) => return Ok(items),
                        (Token::Mark(','), _) => {}
                        (other, place) => return Err(other.unexpected(place, "',' or ']' in the list")),
                    }
                }
                (other, place) => return Err(other.unexpected(place, "',' or ']' in the list")),
            }
        }
    }
}

fn check_depth(depth: usize, place: Place) -> Result<(), Fault> {
    if depth > MAX_DEPTH {
        let says = format!("blocks and lists lie in one another more than {MAX_DEPTH} deep");
        return Err(Fault::new(place, Kind::OutOfRange, says));
    }
    Ok(())
}

/// Returns a number if the word is one, otherwise a text.
pub(super) fn scalar(word: String, place: Place) -> Result<Content, Fault> {
    let digits = word.strip_prefix('-').unwrap_or(&word);
    let out_of_range = || Fault::new(place, Kind::OutOfRange, format!("{word:?} is too large a number"));
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.parse().map(Content::Whole).map_err(|_| out_of_range());
    }
    if let Some(hexadecimal) = digits.strip_prefix("0x").filter(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit())) {
        if !hexadecimal.is_empty() {
            let size = i64::from_str_radix(hexadecimal, 16).map_err(|_| out_of_range())?;
            return Ok(Content::Whole(if word.starts_with('-') { -size } else { size }));
        }
    }
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match word.parse::<f64>() {
        Ok(number) if numeric && number.is_finite() => Ok(Content::Real(number)),
        Ok(_) if numeric => Err(out_of_range()),
        _ => Ok(Content::Text(word)),
    }
}

/// Returns the names from `first` to `last`, which differ in their final number.
fn range(first: &Value, last: &str, place: Place) -> Result<Vec<Value>, Fault> {
    let split = |text: &str| {
        let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
        text[stem.len()..].parse::<i64>().ok().map(|number| (stem.to_owned(), number))
    };
    let ends = match &first.content {
        Content::Text(first) => split(first).zip(split(last)),
        _ => None,
    };
    match ends {
        Some(((stem, from), (other, to))) if stem == other && from <= to && to - from < MAX_RANGE => {
            Ok((from..=to).map(|i| Value { place, content: Content::Text(format!("{stem}{i}")) }).collect())
        }
        _ => Err(Fault::new(place, Kind::Syntax, "no range of names: expected, for example, disk0 .. disk3")),
    }
}
