//! Documents: reading, bases, settings, expansion and checks. Faults have their location.

pub(super) mod canonical;
pub(super) mod catalog;
pub(super) mod check;
pub(super) mod commented;
#[expect(clippy::module_inception, reason = "it holds the type Document")]
pub(super) mod document;
pub(super) mod draft;
pub(super) mod entry;
pub(super) mod entry_cache;
pub(super) mod expand;
pub(super) mod node;
pub(super) mod notation;
pub(super) mod quantity;
pub(super) mod resolve;
pub(super) mod settings;
pub(super) mod text;
pub(super) mod written_schema;
