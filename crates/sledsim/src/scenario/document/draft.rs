//! A scenario, or a device, as written, before it is completed.

use std::path::Path;

use serde_json::Value;

use super::document::Document;
use super::expand::COMPONENTS;
use super::node::{Node, Origin, Source, SourceKind};
use super::notation::Notation;
use super::resolve::{keys_of, keys_of_system, schema};
use super::settings::{apply, Keys};
use crate::fault::{Collector, Fault};

/// A scenario as written, or a device, before it is completed.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(in crate::scenario) root: Node,
    /// Faults of its settings.
    wrong_settings: Vec<Fault>,
}

impl Draft {
    /// A draft with these values, which messages call `source`.
    pub fn new(document: Value, source: impl AsRef<str>) -> Self {
        let origin = Origin::line_of(&Source::new(source.as_ref(), SourceKind::Document), 0);
        Self { root: Node::of_value(document, &origin), wrong_settings: Vec::new() }
    }

    /// Reads a scenario, and what it is based on, named from `folder` on.
    ///
    /// # Errors
    /// Text that is not of this notation: says line and column. A base that can't be read.
    pub fn read(text: &str, notation: Notation, source: &str, folder: &Path) -> Result<Self, Fault> {
        Ok(Self::of(Document::read(text, notation, source, folder)?))
    }

    /// The scenario that a document is.
    #[must_use]
    pub fn of(document: Document) -> Self {
        Self { root: document.root, wrong_settings: Vec::new() }
    }

    /// Its name in messages.
    #[must_use]
    pub fn source(&self) -> &str {
        self.root.origin.source.as_ref().map_or("", |source| &source.name)
    }

    /// The system that is one device, given by its name or by a table.
    pub fn of_device(device: Value, source: impl AsRef<str>) -> Self {
        Self::new(serde_json::json!({ "system": { "device": device } }), source)
    }

    /// Applies settings (`path=value`); what is wrong with them is reported when the draft is resolved.
    #[must_use]
    pub fn set(mut self, settings: &[String]) -> Self {
        let top: Vec<&str> = keys_of(schema()).into_iter().chain([COMPONENTS]).collect();
        for setting in settings {
            let of_system = keys_of_system(&self.root);
            let keys = Keys { top: &top, of_system: Some(&of_system) };
            self.wrong_settings.extend(apply(&mut self.root, setting, setting, &keys).err());
        }
        self
    }

    /// The document, and what is wrong with its settings.
    pub(super) fn into_parts(self) -> (Node, Collector) {
        let mut found = Collector::default();
        found.extend(self.wrong_settings);
        (self.root, found)
    }
}
