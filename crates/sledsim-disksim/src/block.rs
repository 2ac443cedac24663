//! Checks blocks against DiskSim's definitions, and reads their parameters by name.

use serde_json::Value as Json;
use sledsim::fault::{self, printable, Allowed, Kind, Path, Range};

use super::fault::Fault;
use super::grammar::{block_type, BlockType, ParameterType, Takes, BLOCK_TYPES, UNSUPPORTED};
use super::syntax::{Block, Content, Parameter, Value};

impl Block {
    /// Returns the parameter `name`.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| *parameter.name == *name)
    }

    /// Returns the required parameter `name`.
    pub fn need(&self, name: &str) -> Result<&Parameter, Fault> {
        self.get(name).ok_or_else(|| {
            let known = self.known().and_then(|known| known.parameter(name));
            known.map_or_else(|| self.fault(name), |known| self.fault(name).expects(known.takes))
        })
    }

    /// Returns the value of the parameter `name` that `read` extracts; `expected` describes it for the error.
    fn read<'a, T>(&'a self, name: &str, expected: &str, read: fn(&'a Value) -> Option<T>) -> Result<T, Fault> {
        read(&self.need(name)?.value).ok_or_else(|| self.fault(name).expects(expected))
    }

    /// Returns the number that a parameter has.
    pub fn real(&self, name: &str) -> Result<f64, Fault> {
        self.read(name, "a number", number)
    }

    /// Returns the whole number that a parameter has.
    pub fn whole(&self, name: &str) -> Result<i64, Fault> {
        self.read(name, "a whole number", |value| match value.content {
            Content::Whole(whole) => Some(whole),
            _ => None,
        })
    }

    /// Returns the text that a parameter has.
    pub fn text(&self, name: &str) -> Result<String, Fault> {
        Ok(shown(&self.need(name)?.value))
    }

    /// Returns the list that a parameter has.
    pub fn list(&self, name: &str) -> Result<&[Value], Fault> {
        self.read(name, "a list", |value| match &value.content {
            Content::List(items) => Some(items.as_slice()),
            _ => None,
        })
    }

    /// Returns the block that a parameter has.
    pub fn block(&self, name: &str) -> Result<&Block, Fault> {
        self.read(name, "a block", |value| match &value.content {
            Content::Block(block) => Some(block),
            _ => None,
        })
    }

    /// Returns its type and, if it has one, its name.
    pub fn label(&self) -> String {
        format!("{} {}", self.kind, self.name).trim().to_owned()
    }

    /// Returns the path of the parameter `name` in a fault.
    pub fn path(&self, name: &str) -> Path {
        Path::default().step(printable(&self.label())).step(printable(name))
    }

    /// Returns a fault of the parameter `name`: at its line with its value, or at the block if it is missing.
    pub fn fault(&self, name: &str) -> Fault {
        let parameter = self.get(name);
        let place = parameter.map_or(self.place, |parameter| parameter.place);
        Fault::of(place, of(self.path(name), parameter.map(|parameter| &*parameter.value)))
    }

    /// Returns a fault of an entry of the parameter's list, which may be missing.
    pub fn fault_of(&self, name: &str, index: usize) -> Fault {
        let entry = self.list(name).ok().and_then(|items| items.get(index));
        let place = entry.map_or_else(|| self.fault(name).place, |entry| entry.place);
        Fault::of(place, of(self.path(name).step(index), entry))
    }

    /// Returns DiskSim's definition of the block's type.
    pub fn known(&self) -> Option<&'static BlockType> {
        block_type(&self.kind)
    }
}

/// Returns a value as a number; `None` if it is not one.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value.content {
        Content::Whole(whole) => Some(whole as f64),
        Content::Real(real) => Some(real),
        _ => None,
    }
}

/// Returns the text of a value for messages.
pub(super) fn shown(value: &Value) -> String {
    match &value.content {
        Content::Whole(whole) => whole.to_string(),
        Content::Real(real) => format!("{real:?}"),
        Content::Text(text) => text.clone(),
        Content::List(items) if items.len() <= 6 => {
            format!("[ {} ]", items.iter().map(shown).collect::<Vec<_>>().join(", "))
        }
        Content::List(items) => format!("a list of {}", items.len()),
        Content::Block(block) => format!("a block of {}", block.kind),
        Content::Node(node) => format!("the component {}", node.name),
    }
}

/// Returns a fault of the value at `path`, or of a missing value.
fn of(path: Path, value: Option<&Value>) -> fault::Fault {
    match value {
        Some(value) => fault::Fault::of(Kind::WrongType, path, json(value)),
        None => fault::Fault::missing(path),
    }
}

/// Returns the faults of a block and its inner blocks: unknown types and parameters, missing parameters, and values.
pub(super) fn faults(block: &Block) -> Vec<Fault> {
    let known = match known_type(block) {
        Ok(known) => known,
        Err(fault) => return vec![fault],
    };
    let mut found = Vec::new();
    for parameter in &block.parameters {
        match known.parameter(&parameter.name) {
            Some(known) => found.extend(faults_of_value(block, parameter, known)),
            None => {
                let names = known.parameters.iter().map(|known| known.name);
                let what = fault::Fault::unknown_key(block.path(&parameter.name), names);
                found.push(Fault::of(parameter.place, what));
            }
        }
    }
    let required = known.parameters.iter().filter(|known| known.required);
    found.extend(required.filter_map(|known| block.need(known.name).err()));
    found
}

fn known_type(block: &Block) -> Result<&'static BlockType, Fault> {
    if let Some(known) = block.known() {
        return Ok(known);
    }
    let path = Path::default();
    let what = match UNSUPPORTED.iter().find(|(name, _)| *name == block.kind) {
        Some((_, what)) => fault::Fault::at(Kind::Unsupported, path.step(block.label()))
            .says(format!(" can't be imported: it describes {what}")),
        None => {
            let path = if block.name.is_empty() { path } else { path.step(printable(&block.name)) };
            let known = BLOCK_TYPES.iter().map(|known| known.name);
            fault::Fault::unknown_name(path.step("type of block"), &block.kind, known)
        }
    };
    Err(Fault::of(block.place, what))
}

fn faults_of_value(block: &Block, parameter: &Parameter, known: &ParameterType) -> Vec<Fault> {
    let value = &*parameter.value;
    let fits = match (known.takes, &value.content) {
        (Takes::Flag, Content::Whole(whole)) => (0..=1).contains(whole),
        (Takes::Whole(least, most), Content::Whole(whole)) => (least..=most).contains(whole),
        (Takes::Real(least, most), Content::Whole(_) | Content::Real(_)) => {
            number(value).is_some_and(|number| (least..=most).contains(&number))
        }
        (Takes::Choice(words), Content::Text(word)) => words.contains(&word.as_str()),
        (Takes::Text, Content::Text(_) | Content::Whole(_) | Content::Real(_)) => true,
        (Takes::List, Content::List(items)) => {
            let blocks = items.iter().filter_map(|item| match &item.content {
                Content::Block(block) => Some(block),
                _ => None,
            });
            return blocks.flat_map(faults).collect();
        }
        (Takes::Block(kinds), Content::Block(inner)) => match known_type(inner) {
            Err(fault) => return vec![fault],
            Ok(_) if kinds.contains(&inner.kind.as_str()) => return faults(inner),
            Ok(_) => false,
        },
        _ => false,
    };
    if fits {
        return Vec::new();
    }
    let fault = block.fault(known.name);
    vec![match known.takes {
        Takes::Choice(words) => fault.one_of(&shown(value), words.iter().copied()),
        takes => fault.expects(takes),
    }]
}

/// Returns a value for a fault: a number, or its text.
fn json(value: &Value) -> Json {
    match value.content {
        Content::Whole(whole) => whole.into(),
        Content::Real(real) => real.into(),
        _ => printable(&shown(value)).into(),
    }
}

impl From<Takes> for Allowed {
    fn from(takes: Takes) -> Self {
        // Very large bounds are not shown.
        let near = |bound: f64| Some(bound).filter(|bound| bound.abs() < 1e17);
        let range =
            |least: f64, most: f64, whole| Range { least: near(least), most: near(most), whole, ..Range::default() };
        match takes {
            Takes::Flag => range(0.0, 1.0, true).into(),
            Takes::Whole(least, most) => range(least as f64, most as f64, true).into(),
            Takes::Real(least, most) => range(least, most, false).into(),
            Takes::Choice(words) => Self::Names(words.iter().map(|&word| word.to_owned()).collect()),
            Takes::Text => "a text".into(),
            Takes::List => "a list".into(),
            Takes::Block(kinds) => Self::Type(format!("a block of {}", kinds.join(" or "))),
        }
    }
}
