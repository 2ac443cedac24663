//! Documents: read, laid over each other, checked and completed; faults with their place.

pub(super) mod based;
pub(super) mod canonical;
pub(super) mod catalog;
pub(super) mod check;
pub(super) mod commented;
pub(super) mod draft;
pub(super) mod entry;
pub(super) mod named_device;
pub(super) mod place;
pub(super) mod quantity;
pub(super) mod resolve;
pub(super) mod strict;
pub(super) mod text;
pub(super) mod tree;
pub(super) mod written_schema;
