//! A device under construction: values with their source, and remarks on parameters that are not carried over.

use serde_json::{Map, Value as Json};
use sledsim::fault;

use super::block::{number, shown};
use super::fault::{Fault, Place};
use super::grammar::{Takes, Treatment};
use super::syntax::{Block, Content, Parameter};

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is in the file.
    Published,
    /// It is computed from values in the file.
    Derived,
    /// It is not in the file: DiskSim's behaviour, or a default.
    Assumed,
}

/// A value for a key.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub key: &'static str,
    pub value: Json,
    /// The parameters that it comes from, with their places.
    pub from: Vec<(Place, String)>,
    pub origin: Origin,
    pub note: Option<String>,
}

/// A parameter that does not become a value.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub place: Place,
    pub name: String,
    pub value: String,
    pub reason: String,
    pub changes_results: bool,
}

/// Values and remarks, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub values: Vec<Draft>,
    pub remarks: Vec<Remark>,
}

impl Drafts {
    /// Carries over each parameter of `block` that becomes a key without change.
    pub fn carry(&mut self, block: &Block) {
        for PlainKey { key, value, parameter } in plain_keys(block) {
            self.put(key, value, parameter, Origin::Published);
        }
    }

    /// Adds a value that comes from `parameter`.
    pub fn put(&mut self, key: &'static str, value: impl Into<Json>, parameter: &Parameter, origin: Origin) {
        let from = vec![(parameter.place, parameter.name.to_string())];
        self.values.push(Draft { key, value: value.into(), from, origin, note: None });
    }

    /// Adds another source to the last value.
    pub fn also(&mut self, parameter: &Parameter) {
        if let Some(last) = self.values.last_mut() {
            last.from.push((parameter.place, parameter.name.to_string()));
        }
    }

    /// Adds a block as a source to the last value.
    pub fn also_block(&mut self, block: &Block) {
        if let Some(last) = self.values.last_mut() {
            last.from.push((block.place, block.kind.clone()));
        }
    }

    /// Adds a value without a source.
    pub fn assume(&mut self, key: &'static str, value: impl Into<Json>, note: &str) {
        let (value, note) = (value.into(), Some(note.to_owned()));
        self.values.push(Draft { key, value, from: Vec::new(), origin: Origin::Assumed, note });
    }

    /// Adds a note to the last value.
    pub fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.values.last_mut() {
            last.note = Some(note.into());
        }
    }

    /// Adds a note to the value of a key.
    pub fn note_on(&mut self, key: &str, note: &str) {
        if let Some(draft) = self.values.iter_mut().find(|draft| draft.key == key) {
            draft.note = Some(note.to_owned());
        }
    }

    /// Remarks that `parameter` has no effect.
    pub fn idle(&mut self, parameter: &Parameter, reason: impl Into<String>) {
        self.remark(parameter, reason, false);
    }

    /// Remarks that `parameter` would change results and is not carried over.
    pub fn lost(&mut self, parameter: &Parameter, reason: impl Into<String>) {
        self.remark(parameter, reason, true);
    }

    fn remark(&mut self, parameter: &Parameter, reason: impl Into<String>, changes_results: bool) {
        let (place, name, value) = (parameter.place, parameter.name.to_string(), shown(&parameter.value));
        self.remarks.push(Remark { place, name, value, reason: reason.into(), changes_results });
    }

    /// Adds a remark on a whole block.
    pub fn block(&mut self, block: &Block, reason: impl Into<String>, changes_results: bool) {
        self.line(block.place, &block.label(), reason, changes_results);
    }

    /// Adds a remark on something other than a parameter.
    pub fn line(&mut self, place: Place, name: &str, reason: impl Into<String>, changes_results: bool) {
        let (name, value, reason) = (name.to_owned(), String::new(), reason.into());
        self.remarks.push(Remark { place, name, value, reason, changes_results });
    }

    /// Adds a remark on each parameter of `block` that does not become a value; `queue` is the maximum number of requests in the device.
    pub fn remark_unused(&mut self, block: &Block, queue: i64) {
        for parameter in &block.parameters {
            match treatment(block, parameter) {
                Some(Treatment::Idle(reason)) => self.idle(parameter, reason),
                Some(Treatment::Only(neutral, reason)) if number(&parameter.value) == Some(neutral) => {
                    self.idle(parameter, format!("with this value; {reason}"));
                }
                Some(Treatment::Only(_, reason) | Treatment::Lost(reason)) => self.lost(parameter, reason),
                Some(Treatment::Queue(reason)) => self.queue(parameter, reason, queue),
                _ => {}
            }
        }
    }

    /// Adds a remark on a parameter of the drive's queue.
    fn queue(&mut self, parameter: &Parameter, reason: &str, queue: i64) {
        match &parameter.value.content {
            _ if queue <= 1 => self.idle(parameter, "counts only with several requests in the device at a time"),
            Content::Whole(0) => self.idle(parameter, format!("with this value; {reason}")),
            _ => self.lost(parameter, reason),
        }
    }

    /// Removes a value, with a remark why it has no effect.
    pub fn withdraw(&mut self, key: &str, reason: &str) {
        let Some(index) = self.values.iter().position(|draft| draft.key == key) else { return };
        let draft = self.values.remove(index);
        for (place, name) in draft.from {
            let (value, reason) = (draft.value.to_string(), reason.to_owned());
            self.remarks.push(Remark { place, name, value, reason, changes_results: false });
        }
    }

    /// Adds a remark on each parameter of `block` and of its inner blocks that does not become a value.
    pub fn remark_unused_deep(&mut self, block: &Block) {
        self.remark_unused(block, 1);
        for parameter in &block.parameters {
            if let Content::Block(inner) = &parameter.value.content {
                self.remark_unused_deep(inner);
            }
        }
    }

    /// Adds a remark with one reason on each parameter of `block` and of its inner blocks.
    pub fn remark_all(&mut self, block: &Block, reason: &str, changes_results: bool) {
        for parameter in &block.parameters {
            match &parameter.value.content {
                Content::Block(inner) => self.remark_all(inner, reason, changes_results),
                Content::List(items) if items.iter().any(|item| matches!(item.content, Content::Block(_))) => {
                    for item in items {
                        if let Content::Block(inner) = &item.content {
                            self.remark_all(inner, reason, changes_results);
                        }
                    }
                }
                _ => self.remark(parameter, reason, changes_results),
            }
        }
    }
}

/// Returns the treatment of a parameter.
pub(super) fn treatment(block: &Block, parameter: &Parameter) -> Option<Treatment> {
    let known = block.known()?.parameters.iter().find(|known| *known.name == *parameter.name)?;
    Some(known.treatment)
}

/// A key with the value of a parameter.
pub(super) struct PlainKey<'a> {
    pub key: &'static str,
    pub value: Json,
    pub parameter: &'a Parameter,
}

/// Returns the parameters that become keys without change.
pub(super) fn plain_keys(block: &Block) -> Vec<PlainKey<'_>> {
    let Some(known) = block.known() else { return Vec::new() };
    let carried = known.parameters.iter().filter_map(|known| match known.treatment {
        Treatment::Key(key) => {
            let parameter = block.get(known.name)?;
            Some(PlainKey { key, value: json(known.takes, parameter)?, parameter })
        }
        _ => None,
    });
    carried.collect()
}

fn json(takes: Takes, parameter: &Parameter) -> Option<Json> {
    match (takes, &parameter.value.content) {
        (Takes::Flag, Content::Whole(flag)) => Some((*flag != 0).into()),
        (Takes::Whole(..), Content::Whole(whole)) => Some((*whole).into()),
        (Takes::Real(..), _) => number(&parameter.value).map(Json::from),
        _ => None,
    }
}

/// Returns the values as one table.
pub(super) fn table(values: &[Draft]) -> Map<String, Json> {
    values.iter().map(|draft| (draft.key.to_owned(), draft.value.clone())).collect()
}

/// Returns a fault of the scenario's keys at the parameter that the key comes from.
pub(super) fn fault_at_source(values: &[Draft], fault: fault::Fault, otherwise: Place) -> Fault {
    let mut steps = fault.location.path.steps().iter();
    let key = steps.next();
    // The sources of the zones are the list, then each zone.
    let index = steps.next().and_then(|entry| entry.parse::<usize>().ok()).map_or(0, |index| index + 1);
    let from = values.iter().find(|draft| key.is_some_and(|key| key == draft.key)).map(|draft| &draft.from);
    let place = from.and_then(|from| from.get(index).or(from.first())).map_or(otherwise, |(place, _)| *place);
    Fault::of(place, fault)
}
