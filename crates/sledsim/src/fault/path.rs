//! The place of a value in a document.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A path of keys and of numbers of list entries, from 0: `system.members.0.device.tips`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Path(Vec<String>);

impl Path {
    /// Returns this path followed by `rest`.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    /// Returns this path followed by one step: a key, which may be any text, or the number of a list entry.
    #[must_use]
    pub fn step(&self, step: impl ToString) -> Self {
        let mut path = self.clone();
        path.0.push(step.to_string());
        path
    }

    /// Returns the path without its last step.
    #[must_use]
    pub fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// Returns the steps.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// Returns the last step.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// Returns true for the path of the document itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the steps after `outer`, if the path begins with it.
    #[must_use]
    pub fn below(&self, outer: &Self) -> Option<&[String]> {
        self.0.strip_prefix(outer.0.as_slice())
    }
}

impl<S: ToString> FromIterator<S> for Path {
    fn from_iter<I: IntoIterator<Item = S>>(steps: I) -> Self {
        Self(steps.into_iter().map(|step| step.to_string()).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl From<&str> for Path {
    /// Splits a path at its dots.
    fn from(dotted: &str) -> Self {
        Self(dotted.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect())
    }
}

impl From<String> for Path {
    fn from(dotted: String) -> Self {
        Self::from(dotted.as_str())
    }
}

impl From<&Path> for Path {
    fn from(path: &Path) -> Self {
        path.clone()
    }
}
