//! One of a list, or one's own: the choice that a scenario has wherever a policy is named.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::OwnSpec;
use crate::fault::Faults;

/// Policies that a registry lists.
pub trait Listed {
    /// The name of one: its key in scenarios.
    fn listed_name(&self) -> &'static str;

    /// Checks its parameters.
    ///
    /// # Errors
    /// Every parameter outside its range.
    fn check(&self) -> Result<(), Faults>;
}

/// A policy: one of the list, or one's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Choice<L> {
    /// One's own.
    Own(Box<OwnSpec>),
    /// One of the list.
    Listed(L),
}

impl<L: Default> Default for Choice<L> {
    fn default() -> Self {
        Self::Listed(L::default())
    }
}

impl<L> From<L> for Choice<L> {
    fn from(listed: L) -> Self {
        Self::Listed(listed)
    }
}

impl<L: JsonSchema> JsonSchema for Choice<L> {
    /// To whoever reads the schema there is one choice.
    fn schema_name() -> Cow<'static, str> {
        L::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("sledsim::own::Choice<{}>", L::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_own(L::json_schema(generator), OwnSpec::json_schema(generator))
    }
}

/// The choice among listed policies, with one's own besides.
fn with_own(mut listed: Schema, mut own: Schema) -> Schema {
    // Told apart by its name, as the others are.
    own.insert("required".into(), serde_json::json!(["name"]));
    if let Some(options) = listed.get_mut("oneOf").and_then(Value::as_array_mut) {
        options.push(own.to_value());
    }
    listed
}

impl<L: Listed> Choice<L> {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Own(own) => own.title(),
            Self::Listed(listed) => listed.listed_name(),
        }
    }

    /// Checks the parameters of one of the list; those of one's own have been checked when it was opened.
    ///
    /// # Errors
    /// Every parameter outside its range.
    pub fn validate(&self) -> Result<(), Faults> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Listed(listed) => listed.check(),
        }
    }
}

impl<L> Choice<L> {
    /// One's own, to be changed.
    pub fn own_mut(&mut self) -> Option<&mut OwnSpec> {
        match self {
            Self::Own(own) => Some(own),
            Self::Listed(_) => None,
        }
    }

    /// One's own, if it is.
    #[must_use]
    pub fn own(&self) -> Option<&OwnSpec> {
        match self {
            Self::Own(own) => Some(own),
            Self::Listed(_) => None,
        }
    }
}
