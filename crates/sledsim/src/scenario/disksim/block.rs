//! Blocks checked against what DiskSim defines, and their parameters by name.

use serde_json::Value as Json;

use super::fault::{Fault, Place};
use super::grammar::{block_type, BlockType, ParameterType, Takes, BLOCK_TYPES, UNSUPPORTED};
use super::sources::printable;
use super::syntax::{Block, Content, Parameter, Value};
use crate::fault::{self, Allowed, Kind};

impl Block {
    /// The parameter called `name`.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| *parameter.name == *name)
    }

    /// The parameter called `name`, which the block must have.
    pub fn need(&self, name: &str) -> Result<&Parameter, Fault> {
        self.get(name).ok_or_else(|| Fault::new(self.place, format!("the {} block has no {name:?}", self.kind)))
    }

    /// A number.
    pub fn real(&self, name: &str) -> Result<f64, Fault> {
        let parameter = self.need(name)?;
        number(&parameter.value).ok_or_else(|| Fault::new(parameter.place, format!("{name:?} is no number")))
    }

    /// A whole number.
    pub fn whole(&self, name: &str) -> Result<i64, Fault> {
        let parameter = self.need(name)?;
        match parameter.value.content {
            Content::Whole(whole) => Ok(whole),
            _ => Err(Fault::new(parameter.place, format!("{name:?} is no whole number"))),
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<String, Fault> {
        Ok(shown(&self.need(name)?.value))
    }

    /// A list.
    pub fn list(&self, name: &str) -> Result<&[Value], Fault> {
        let parameter = self.need(name)?;
        match &parameter.value.content {
            Content::List(items) => Ok(items),
            _ => Err(Fault::new(parameter.place, format!("{name:?} is no list"))),
        }
    }

    /// A block.
    pub fn block(&self, name: &str) -> Result<&Block, Fault> {
        let parameter = self.need(name)?;
        match &parameter.value.content {
            Content::Block(block) => Ok(block),
            _ => Err(Fault::new(parameter.place, format!("{name:?} is no block"))),
        }
    }

    /// What DiskSim knows of the block.
    pub fn known(&self) -> Option<&'static BlockType> {
        block_type(&self.kind)
    }
}

/// The number that a value is.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value.content {
        Content::Whole(whole) => Some(whole as f64),
        Content::Real(real) => Some(real),
        _ => None,
    }
}

/// A value as a message shows it.
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

/// What is wrong with a block and those in it: what DiskSim does not know, parameters that are missing, and values.
pub(super) fn faults(block: &Block) -> Vec<Fault> {
    let known = match known_type(&block.kind, block.place) {
        Ok(known) => known,
        Err(fault) => return vec![fault],
    };
    let mut found = Vec::new();
    for parameter in &block.parameters {
        match known.parameters.iter().find(|known| *known.name == *parameter.name) {
            Some(known) => found.extend(faults_of_value(parameter, known)),
            None => {
                let names = known.parameters.iter().map(|known| known.name);
                let mut what = fault::Fault::new(Kind::UnknownKey).one_of(&parameter.name, names);
                what.field = Some(parameter.name.to_string());
                found.push(Fault::of(parameter.place, what.says(format!(" in a block of {}", block.kind))));
            }
        }
    }
    for missing in known.parameters.iter().filter(|known| known.required && block.get(known.name).is_none()) {
        let mut what = fault::Fault::new(Kind::Missing).says(format!(
            " in the {} block: expected {}",
            block.kind,
            allowed(missing.takes)
        ));
        what.field = Some(missing.name.to_owned());
        found.push(Fault::of(block.place, what));
    }
    found
}

fn known_type(kind: &str, place: Place) -> Result<&'static BlockType, Fault> {
    if let Some(known) = block_type(kind) {
        return Ok(known);
    }
    if let Some((_, what)) = UNSUPPORTED.iter().find(|(name, _)| *name == kind) {
        let says = format!("{kind} can't be imported: it describes {what}");
        return Err(Fault::of(place, fault::Fault::new(Kind::Unsupported).says(says)));
    }
    let mut what = fault::Fault::new(Kind::UnknownName).one_of(kind, BLOCK_TYPES.iter().map(|known| known.name));
    (what.field, what.value) = (Some("type of block".into()), Some(kind.into()));
    Err(Fault::of(place, what))
}

fn faults_of_value(parameter: &Parameter, known: &ParameterType) -> Vec<Fault> {
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
        (Takes::Block(kinds), Content::Block(block)) => match known_type(&block.kind, block.place) {
            Err(fault) => return vec![fault],
            Ok(_) if kinds.contains(&block.kind.as_str()) => return faults(block),
            Ok(_) => false,
        },
        _ => false,
    };
    if fits {
        return Vec::new();
    }
    let kind = if number(value).is_some() { Kind::OutOfRange } else { Kind::WrongType };
    let mut what = fault::Fault::new(kind);
    (what.field, what.value) = (Some(known.name.to_owned()), Some(json(value)));
    what.allowed = Some(Allowed::Type(allowed(known.takes)));
    vec![Fault::of(parameter.place, what)]
}

/// A value as a fault holds it: a number, or a text that shows it.
fn json(value: &Value) -> Json {
    match value.content {
        Content::Whole(whole) => whole.into(),
        Content::Real(real) => real.into(),
        _ => printable(&shown(value)).into(),
    }
}

/// What a parameter takes, in words.
pub(super) fn allowed(takes: Takes) -> String {
    match takes {
        Takes::Flag => "0 or 1".into(),
        Takes::Whole(least, most) => format!("a whole number{}", bounds(least as f64, most as f64)),
        Takes::Real(least, most) => format!("a number{}", bounds(least, most)),
        Takes::Choice(words) => format!("one of {}", words.join(", ")),
        Takes::Text => "a text".into(),
        Takes::List => "a list".into(),
        Takes::Block(kinds) => format!("a block of {}", kinds.join(" or ")),
    }
}

fn bounds(least: f64, most: f64) -> String {
    // Bounds far out are none that a reader would want to know.
    match (least > -1e17, most < 1e17) {
        (true, true) => format!(" from {least} to {most}"),
        (true, false) => format!(" of at least {least}"),
        (false, true) => format!(" of at most {most}"),
        (false, false) => String::new(),
    }
}
