//! A device in the making: values with where they come from, and remarks on what is not carried over.

use serde_json::{Map, Value as Json};
use sledsim::fault;

use super::block::{number, shown};
use super::fault::{Fault, Place};
use super::grammar::{Fate, Takes};
use super::syntax::{Block, Content, Parameter};

/// How sure a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It stands in the file.
    Published,
    /// It follows from what stands in the file.
    Derived,
    /// The file doesn't say; the value is DiskSim's way or a default.
    Assumed,
}

/// A value for a key.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub key: &'static str,
    pub value: Json,
    /// The parameters that give it, and where they are.
    pub from: Vec<(Place, String)>,
    pub origin: Origin,
    pub note: Option<String>,
}

/// What becomes of a parameter that no key takes.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub place: Place,
    pub name: String,
    pub value: String,
    pub reason: String,
    pub changes_results: bool,
}

/// Values and remarks, in the order of finding.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub values: Vec<Draft>,
    pub remarks: Vec<Remark>,
}

impl Drafts {
    /// Carries over every parameter of `block` that becomes a key as it is.
    pub fn carry(&mut self, block: &Block) {
        for (key, value, parameter) in plain_keys(block) {
            self.put(key, value, parameter, Origin::Published);
        }
    }

    /// Adds a value that comes from `parameter`.
    pub fn put(&mut self, key: &'static str, value: impl Into<Json>, parameter: &Parameter, origin: Origin) {
        let from = vec![(parameter.place, parameter.name.to_string())];
        self.values.push(Draft { key, value: value.into(), from, origin, note: None });
    }

    /// Names another parameter that gives the value added last.
    pub fn also(&mut self, parameter: &Parameter) {
        if let Some(last) = self.values.last_mut() {
            last.from.push((parameter.place, parameter.name.to_string()));
        }
    }

    /// Names a block that gives a part of the value added last.
    pub fn also_block(&mut self, block: &Block) {
        if let Some(last) = self.values.last_mut() {
            last.from.push((block.place, block.kind.clone()));
        }
    }

    /// Adds a value that no parameter gives.
    pub fn assume(&mut self, key: &'static str, value: impl Into<Json>, note: &str) {
        let (value, note) = (value.into(), Some(note.to_owned()));
        self.values.push(Draft { key, value, from: Vec::new(), origin: Origin::Assumed, note });
    }

    /// Adds a note to the value added last.
    pub fn note(&mut self, note: impl Into<String>) {
        if let Some(last) = self.values.last_mut() {
            last.note = Some(note.into());
        }
    }

    /// Adds a note to the value of a key that has been added.
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

    /// Remarks that a whole block has no effect, or changes results.
    pub fn block(&mut self, block: &Block, reason: impl Into<String>, changes_results: bool) {
        self.line(block.place, &block.label(), reason, changes_results);
    }

    /// Remarks on something other than a parameter.
    pub fn line(&mut self, place: Place, name: &str, reason: impl Into<String>, changes_results: bool) {
        let (name, value, reason) = (name.to_owned(), String::new(), reason.into());
        self.remarks.push(Remark { place, name, value, reason, changes_results });
    }

    /// Remarks on every parameter of `block` that nothing takes; `queue` requests are in the device at a time.
    pub fn remark_fates(&mut self, block: &Block, queue: i64) {
        for parameter in &block.parameters {
            match fate(block, parameter) {
                Some(Fate::Idle(reason)) => self.idle(parameter, reason),
                Some(Fate::Only(neutral, reason)) if number(&parameter.value) == Some(neutral) => {
                    self.idle(parameter, format!("with this value; {reason}"));
                }
                Some(Fate::Only(_, reason) | Fate::Lost(reason)) => self.lost(parameter, reason),
                Some(Fate::Queue(reason)) => self.queue(parameter, reason, queue),
                _ => {}
            }
        }
    }

    fn queue(&mut self, parameter: &Parameter, reason: &str, queue: i64) {
        match &parameter.value.content {
            _ if queue <= 1 => self.idle(parameter, "counts only with several requests in the device at a time"),
            Content::Whole(0) => self.idle(parameter, format!("with this value; {reason}")),
            _ => self.lost(parameter, reason),
        }
    }

    /// Takes a value back, and remarks why it has no effect.
    pub fn withdraw(&mut self, key: &str, reason: &str) {
        let Some(index) = self.values.iter().position(|draft| draft.key == key) else { return };
        let draft = self.values.remove(index);
        for (place, name) in draft.from {
            let (value, reason) = (draft.value.to_string(), reason.to_owned());
            self.remarks.push(Remark { place, name, value, reason, changes_results: false });
        }
    }

    /// Remarks on every parameter of `block` and of the blocks in it that nothing takes.
    pub fn remark_deep(&mut self, block: &Block) {
        self.remark_fates(block, 1);
        for parameter in &block.parameters {
            if let Content::Block(inner) = &parameter.value.content {
                self.remark_deep(inner);
            }
        }
    }

    /// Remarks on every parameter of `block` and of the blocks in it, for one reason.
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

/// What becomes of a parameter.
pub(super) fn fate(block: &Block, parameter: &Parameter) -> Option<Fate> {
    let known = block.known()?.parameters.iter().find(|known| *known.name == *parameter.name)?;
    Some(known.fate)
}

/// Keys and values of the parameters that become keys as they are.
pub(super) fn plain_keys(block: &Block) -> Vec<(&'static str, Json, &Parameter)> {
    let Some(known) = block.known() else { return Vec::new() };
    let carried = known.parameters.iter().filter_map(|known| match known.fate {
        Fate::Key(key) => {
            let parameter = block.get(known.name)?;
            Some((key, json(known.takes, parameter)?, parameter))
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

/// The values as one table.
pub(super) fn table(values: &[Draft]) -> Map<String, Json> {
    values.iter().map(|draft| (draft.key.to_owned(), draft.value.clone())).collect()
}

/// The fault of a value that the keys' own definitions refuse: at the parameter that gives it.
pub(super) fn refused(values: &[Draft], fault: fault::Fault, otherwise: Place) -> Fault {
    let mut steps = fault.location.path.steps().iter();
    let key = steps.next();
    // Of the zones, the parameter of the list comes first.
    let index = steps.next().and_then(|entry| entry.parse::<usize>().ok()).map_or(0, |index| index + 1);
    let from = values.iter().find(|draft| key.is_some_and(|key| key == draft.key)).map(|draft| &draft.from);
    let place = from.and_then(|from| from.get(index).or(from.first())).map_or(otherwise, |(place, _)| *place);
    Fault::of(place, fault)
}
