//! What is wrong with a description of an enclosure or of an experiment.

use crate::fault::{Fault, Kind};

/// A value that cannot be used: its field, what is wrong, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ReliabilityError {
    /// The field, as `device.lifetime.shape`.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub message: String,
}

impl From<ReliabilityError> for Fault {
    fn from(error: ReliabilityError) -> Self {
        Self::at(Kind::OutOfRange, error.field).says(format!(": {}", error.message))
    }
}

impl ReliabilityError {
    /// An error of this field.
    pub(super) fn new(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: message.into() }
    }
}

/// Checks that a value lies between two others, both allowed.
pub(super) fn within(field: &str, value: f64, low: f64, high: f64) -> Result<(), ReliabilityError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(ReliabilityError::new(field, format!("{value} is not between {low} and {high}")))
}
