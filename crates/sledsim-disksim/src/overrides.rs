//! Values that replace those in the files, as on DiskSim's command line.

use std::sync::Arc;

use sledsim::fault::{self, printable, Kind};

use super::fault::Fault;
use super::syntax::{scalar, Block, Content, Document, Parameter, Value};

/// A value for a parameter of components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The components: one name (`disk0`), a prefix (`disk*`), or a range (`disk0 .. disk3`).
    pub component: String,
    /// The parameter; `Scheduler:Scheduling policy` for one of an inner block.
    pub parameter: String,
    /// The value, a number or a word.
    pub value: String,
}

impl Override {
    /// Returns true if the value is for a component.
    fn applies_to(&self, component: &str) -> bool {
        let number = |name: &str| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            name[stem.len()..].parse::<u64>().ok().map(|number| (stem.to_owned(), number))
        };
        if let Some((first, last)) = self.component.split_once("..") {
            let ends = number(first.trim()).zip(number(last.trim())).zip(number(component));
            return ends.is_some_and(|(((stem, from), (_, to)), (own, at))| own == stem && (from..=to).contains(&at));
        }
        match self.component.strip_suffix('*') {
            Some(stem) => component.starts_with(stem),
            None => component == self.component,
        }
    }
}

impl Document {
    /// Replaces a value of the files.
    pub(super) fn apply(&mut self, value: &Override) -> Result<(), Fault> {
        let components = || self.instances.iter().flat_map(|made| made.names.iter().map(move |name| (name, &made.of)));
        let mut blocks: Vec<String> =
            components().filter(|(name, _)| value.applies_to(name)).map(|(_, of)| of.clone()).collect();
        blocks.dedup();
        if blocks.is_empty() {
            let known = components().map(|(name, _)| name.as_str());
            let what = fault::Fault::unknown_name("component", &value.component, known);
            return Err(Fault::of(self.end, what.says(" among the components that are instantiated")));
        }
        for name in blocks {
            if let Some(block) = self.block_mut(&name) {
                set(block, &value.parameter, &value.value)?;
            }
        }
        Ok(())
    }
}

/// Sets a parameter of a block or of its inner block.
fn set(block: &mut Block, path: &str, value: &str) -> Result<(), Fault> {
    let (name, rest) = path.split_once(':').map_or((path, None), |(name, rest)| (name.trim(), Some(rest)));
    let place = block.place;
    let found = block.parameters.iter_mut().find(|parameter| *parameter.name == *name);
    match (found, rest) {
        (Some(parameter), Some(rest)) => match &mut Arc::make_mut(&mut parameter.value).content {
            Content::Block(inner) => set(inner, rest.trim(), value),
            _ => Err(block.fault(name).expects("a block")),
        },
        (None, Some(_)) => {
            let path = fault::Path::default().step(printable(&block.label())).step(printable(name));
            Err(Fault::of(place, fault::Fault::at(Kind::Missing, path).says(": expected a block")))
        }
        (Some(parameter), None) => {
            parameter.value = Arc::new(Value { place: parameter.place, content: scalar(value.to_owned(), place)? });
            Ok(())
        }
        (None, None) => {
            let value = Arc::new(Value { place, content: scalar(value.to_owned(), place)? });
            block.parameters.push(Parameter { name: name.into(), place, value });
            Ok(())
        }
    }
}
