//! A policy in a scenario: built in, or custom.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::PluginSpec;
use crate::fault::Faults;

/// The built-in policies of a registry.
pub trait BuiltIn {
    /// Returns its name in scenarios.
    fn policy_name(&self) -> &'static str;

    /// Checks the parameters against their ranges.
    ///
    /// # Errors
    /// Every parameter outside its range.
    fn check(&self) -> Result<(), Faults>;
}

/// A built-in or custom policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Choice<L> {
    /// A custom policy.
    Custom(Box<PluginSpec>),
    /// A built-in policy.
    BuiltIn(L),
}

impl<L: Default> Default for Choice<L> {
    fn default() -> Self {
        Self::BuiltIn(L::default())
    }
}

impl<L> From<L> for Choice<L> {
    fn from(built_in: L) -> Self {
        Self::BuiltIn(built_in)
    }
}

impl<L: JsonSchema> JsonSchema for Choice<L> {
    /// In the schema, the choice replaces its built-in policies.
    fn schema_name() -> Cow<'static, str> {
        L::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("sledsim::plugin::Choice<{}>", L::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_custom(L::json_schema(generator), PluginSpec::json_schema(generator))
    }
}

/// Adds the custom policy to the options of the built-in ones.
fn with_custom(mut built_in: Schema, mut custom: Schema) -> Schema {
    // The name distinguishes it from the others.
    custom.insert("required".into(), serde_json::json!(["name"]));
    if let Some(options) = built_in.get_mut("oneOf").and_then(Value::as_array_mut) {
        options.push(custom.to_value());
    }
    built_in
}

impl<L: BuiltIn> Choice<L> {
    /// Returns its name for reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Custom(custom) => custom.title(),
            Self::BuiltIn(built_in) => built_in.policy_name(),
        }
    }

    /// Checks the parameters of a built-in policy; those of a custom one are checked when it is loaded.
    ///
    /// # Errors
    /// Every parameter outside its range.
    pub fn validate(&self) -> Result<(), Faults> {
        match self {
            Self::Custom(_) => Ok(()),
            Self::BuiltIn(built_in) => built_in.check(),
        }
    }
}

impl<L> Choice<L> {
    /// Returns the built-in policy, if it is one.
    #[must_use]
    pub fn built_in(&self) -> Option<&L> {
        match self {
            Self::Custom(_) => None,
            Self::BuiltIn(built_in) => Some(built_in),
        }
    }

    /// Returns [`Choice::custom`], to be changed.
    pub fn custom_mut(&mut self) -> Option<&mut PluginSpec> {
        match self {
            Self::Custom(custom) => Some(custom),
            Self::BuiltIn(_) => None,
        }
    }

    /// Returns the custom policy, if it is one.
    #[must_use]
    pub fn custom(&self) -> Option<&PluginSpec> {
        match self {
            Self::Custom(custom) => Some(custom),
            Self::BuiltIn(_) => None,
        }
    }
}
