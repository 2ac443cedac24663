//! Registries: one policy, one file, one line in its room's list.

use schemars::{schema_for, JsonSchema};
use serde::Serialize;
use serde_json::Value;

/// Declares the choice among the policies of a room from a list of their names and modules. A line of the list is all that
/// the room says of a policy; all else is in the module, which has
///
/// - `Spec`, its parameters as a scenario states them, with units, ranges, defaults and meaning, which implements the room's
///   trait: what is made of them;
/// - where the room lists its policies, `POLICY`: name, title, description, source and default parameters.
///
/// The key in scenarios follows from the name by the enum's `rename_all`, or is given with `#[serde(rename = "…")]`.
macro_rules! registry {
    (
        $(#[$about:meta])*
        pub enum $spec:ident: $trait:ident {
            $($(#[$attribute:meta])* $variant:ident => $module:ident,)+
        }
        $($(#[$list_about:meta])* pub const $list:ident: [$policy:ty];)?
    ) => {
        $(pub mod $module;)+

        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        $(#[$about])*
        #[allow(missing_docs)] // The parameters' own documentation is that of the variant.
        pub enum $spec { $($(#[$attribute])* $variant($module::Spec),)+ }

        impl $spec {
            /// The parameters, whichever policy they are of.
            fn parameters(&self) -> &dyn $trait {
                match self { $(Self::$variant(spec) => spec,)+ }
            }
        }

        $crate::registry::listed! { [$($(#[$list_about])* $list: $policy)?] $spec: $($variant => $module,)+ }
    };
}

/// What [`registry`] adds for a room that lists its policies.
macro_rules! listed {
    ([] $spec:ident: $($variant:ident => $module:ident,)+) => {};
    ([$(#[$about:meta])* $list:ident: $policy:ty] $spec:ident: $($variant:ident => $module:ident,)+) => {
        $(#[$about])*
        pub const $list: &[$policy] = &[$($module::POLICY,)+];

        impl $spec {
            /// The policy's line in the list.
            const fn policy(&self) -> &'static $policy {
                match self { $(Self::$variant(_) => &$module::POLICY,)+ }
            }

            /// The policy's name: its key in scenarios.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                self.policy().name
            }

            /// Checks the parameters against the ranges that they are declared with.
            ///
            /// # Errors
            /// The first parameter outside its range.
            pub fn validate(&self) -> Result<(), $crate::registry::SpecError> {
                match self { $(Self::$variant(spec) => $crate::registry::check_ranges(<$policy>::KIND, self.name(), spec),)+ }
            }
        }

        impl Default for $spec {
            /// The first of the list, with its default parameters.
            fn default() -> Self {
                $list[0].default.clone()
            }
        }
    };
}

pub(crate) use {listed, registry};

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind} {name}: {parameter} is {value}, but must be {allowed}")]
pub struct SpecError {
    /// Of what kind the policy is.
    pub kind: &'static str,
    /// The policy's name.
    pub name: &'static str,
    /// The parameter's name.
    pub parameter: String,
    /// What was given; not a number where it is not finite.
    pub value: f64,
    /// What is allowed.
    pub allowed: String,
}

/// Checks the numbers among the parameters of the policy `name` against the ranges in their declarations.
pub(crate) fn check_ranges<S: Serialize + JsonSchema>(
    kind: &'static str,
    name: &'static str,
    spec: &S,
) -> Result<(), SpecError> {
    let schema = schema_for!(S).to_value();
    let values = serde_json::to_value(spec).unwrap_or_default();
    for (parameter, declared) in schema["properties"].as_object().into_iter().flatten() {
        let is_optional = declared["type"].is_array();
        // Serde has no numbers that are not finite: they come as null, too.
        let value = match &values[parameter] {
            Value::Null if is_optional => continue,
            value => value.as_f64().unwrap_or(f64::NAN),
        };
        let allowed = match (declared["minimum"].as_f64(), declared["maximum"].as_f64()) {
            (Some(min), Some(max)) if !(min..=max).contains(&value) => format!("from {min} to {max}"),
            (Some(min), None) if value.is_nan() || value < min => {
                let finite = if declared["type"] == "number" { " and finite" } else { "" };
                format!("at least {min}{finite}")
            }
            _ => continue,
        };
        return Err(SpecError { kind, name, parameter: parameter.clone(), value, allowed });
    }
    Ok(())
}
