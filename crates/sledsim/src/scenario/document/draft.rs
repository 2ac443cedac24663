//! A scenario or a device before it is expanded and checked.

use std::path::Path;

use serde_json::Value;

use super::document::Document;
use super::expand::COMPONENTS;
use super::node::{Node, Origin, Source, SourceKind};
use super::notation::Notation;
use super::resolve::{keys_of, keys_of_system, schema};
use super::settings::{apply, apply_value, Keys, Setting};
use crate::fault::{Collector, Fault};

/// A scenario or a device before it is expanded and checked.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(in crate::scenario) root: Node,
    /// Faults of its settings.
    wrong_settings: Vec<Fault>,
}

impl Draft {
    /// Returns a draft with these values. Messages call it `source`.
    pub fn new(document: Value, source: impl AsRef<str>) -> Self {
        let origin = Origin::line_of(&Source::new(source.as_ref(), SourceKind::Document), 0);
        Self { root: Node::of_value(document, &origin), wrong_settings: Vec::new() }
    }

    /// Reads a scenario and its bases, relative to `folder`.
    ///
    /// # Errors
    /// A syntax error, with line and column; a base that cannot be read.
    pub fn read(text: &str, notation: Notation, source: &str, folder: &Path) -> Result<Self, Fault> {
        Ok(Self::of(Document::read(text, notation, source, folder)?))
    }

    /// Returns the draft of a document.
    #[must_use]
    pub fn of(document: Document) -> Self {
        Self { root: document.root, wrong_settings: Vec::new() }
    }

    /// Returns its name in messages.
    #[must_use]
    pub fn source(&self) -> &str {
        self.root.origin.source.as_ref().map_or("", |source| &source.name)
    }

    /// Returns a draft whose system is one device, given by its name or a table.
    pub fn of_device(device: Value, source: impl AsRef<str>) -> Self {
        Self::new(serde_json::json!({ "system": { "device": device } }), source)
    }

    /// Applies settings. Their faults are reported when the draft is resolved.
    #[must_use]
    pub fn set(mut self, settings: impl IntoIterator<Item = impl Into<Setting>>) -> Self {
        let top: Vec<&str> = keys_of(schema()).into_iter().chain([COMPONENTS]).collect();
        for setting in settings {
            let of_system = keys_of_system(&self.root);
            let keys = Keys { top: &top, of_system: Some(&of_system) };
            let applied = match setting.into() {
                Setting::Text(text) => apply(&mut self.root, &text, &text, &keys),
                Setting::Value(path, value) => apply_value(&mut self.root, &path, &value, &keys),
            };
            self.wrong_settings.extend(applied.err());
        }
        self
    }

    /// Returns the document, and the faults of its settings.
    pub(super) fn into_parts(self) -> (Node, Collector) {
        let mut found = Collector::default();
        found.extend(self.wrong_settings);
        (self.root, found)
    }
}
