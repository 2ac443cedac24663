//! Blocks checked against what DiskSim defines, and their parameters by name.

use super::fault::{Fault, Place};
use super::grammar::{block_type, BlockType, ParameterType, Takes, BLOCK_TYPES, UNSUPPORTED};
use super::syntax::{Block, Content, Parameter, Value};
use crate::scenario::error::did_you_mean;

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

/// Checks a block and those in it: that DiskSim knows them and their parameters, that none is missing, and the values.
pub(super) fn check(block: &Block) -> Result<(), Fault> {
    let known = known_type(&block.kind, block.place)?;
    for parameter in &block.parameters {
        let Some(found) = known.parameters.iter().find(|known| *known.name == *parameter.name) else {
            let names = known.parameters.iter().map(|known| known.name);
            let hint = did_you_mean(&parameter.name, names);
            let message = format!("{} has no parameter {:?}: {hint}", block.kind, parameter.name);
            return Err(Fault::new(parameter.place, message));
        };
        check_value(parameter, found)?;
    }
    for missing in known.parameters.iter().filter(|known| known.required) {
        if block.get(missing.name).is_none() {
            let message =
                format!("the {} block has no {:?}: expected {}", block.kind, missing.name, allowed(missing.takes));
            return Err(Fault::new(block.place, message));
        }
    }
    Ok(())
}

fn known_type(kind: &str, place: Place) -> Result<&'static BlockType, Fault> {
    if let Some(known) = block_type(kind) {
        return Ok(known);
    }
    if let Some((_, what)) = UNSUPPORTED.iter().find(|(name, _)| *name == kind) {
        return Err(Fault::new(place, format!("{kind} can't be imported: it describes {what}")));
    }
    let hint = did_you_mean(kind, BLOCK_TYPES.iter().map(|known| known.name));
    Err(Fault::new(place, format!("unknown type of block {kind:?}: {hint}")))
}

fn check_value(parameter: &Parameter, known: &ParameterType) -> Result<(), Fault> {
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
            items.iter().try_for_each(|item| match &item.content {
                Content::Block(block) => check(block),
                _ => Ok(()),
            })?;
            true
        }
        (Takes::Block(kinds), Content::Block(block)) => {
            known_type(&block.kind, block.place)?;
            let fits = kinds.contains(&block.kind.as_str());
            if fits {
                check(block)?;
            }
            fits
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let message = format!("{:?} = {}: expected {}", known.name, shown(value), allowed(known.takes));
    Err(Fault::new(parameter.place, message))
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
