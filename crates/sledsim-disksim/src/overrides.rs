//! Values that take the place of those in the files, as DiskSim takes them from its command line.

use std::sync::Arc;

use sledsim::fault::{self, printable, Kind};

use super::fault::Fault;
use super::syntax::{scalar, Block, Content, Document, Parameter, Value};

/// A value for a parameter of components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The components by name: one (`disk0`), all whose names begin alike (`disk*`), or some in a row (`disk0 .. disk3`).
    pub component: String,
    /// The parameter; one of a block within a block as `Scheduler:Scheduling policy`.
    pub parameter: String,
    /// The value, a number or a word.
    pub value: String,
}

impl Override {
    fn means(&self, component: &str) -> bool {
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
    /// Lets a value take the place of what the files say.
    pub(super) fn take_instead(&mut self, instead: &Override) -> Result<(), Fault> {
        let components = || self.instances.iter().flat_map(|made| made.names.iter().map(move |name| (name, &made.of)));
        let mut blocks: Vec<String> =
            components().filter(|(name, _)| instead.means(name)).map(|(_, of)| of.clone()).collect();
        blocks.dedup();
        if blocks.is_empty() {
            let known = components().map(|(name, _)| name.as_str());
            let what = fault::Fault::unknown_name("component", &instead.component, known);
            return Err(Fault::of(self.end, what.says(" among the components that are instantiated")));
        }
        for name in blocks {
            if let Some(block) = self.block_mut(&name) {
                put(block, &instead.parameter, &instead.value)?;
            }
        }
        Ok(())
    }
}

/// Puts a value into a block, or into one within it.
fn put(block: &mut Block, path: &str, value: &str) -> Result<(), Fault> {
    let (name, rest) = path.split_once(':').map_or((path, None), |(name, rest)| (name.trim(), Some(rest)));
    let place = block.place;
    let found = block.parameters.iter_mut().find(|parameter| *parameter.name == *name);
    match (found, rest) {
        (Some(parameter), Some(rest)) => match &mut Arc::make_mut(&mut parameter.value).content {
            Content::Block(inner) => put(inner, rest.trim(), value),
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
