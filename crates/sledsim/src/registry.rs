//! Registries: one policy, one file, one line in its room's list.

use schemars::{schema_for, JsonSchema};
use serde::Serialize;

use crate::fault::{Fault, Faults, Range};

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
            /// Every parameter outside its range.
            pub fn validate(&self) -> Result<(), $crate::fault::Faults> {
                match self { $(Self::$variant(spec) => $crate::registry::check_ranges(spec),)+ }
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

/// Declares the `Spec` of a policy without parameters, with its meaning and what its room's trait makes of it.
macro_rules! no_parameters {
    ($(#[$about:meta])* $trait:ident: $($making:tt)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(inline)]
        pub struct Spec {}

        impl $trait for Spec { $($making)+ }
    };
}

pub(crate) use {listed, no_parameters, registry};

/// Checks the numbers among parameters against the ranges in their declarations.
pub(crate) fn check_ranges<S: Serialize + JsonSchema>(spec: &S) -> Result<(), Faults> {
    let mut found = Vec::new();
    let schema = schema_for!(S).to_value();
    // Unlike JSON, TOML has numbers that are not finite, and leaves out what is absent.
    let values = toml::Table::try_from(spec).expect("parameters are a table");
    for (parameter, declared) in schema["properties"].as_object().into_iter().flatten() {
        let bound = |key: &str| declared[key].as_f64();
        let (above, below) = (bound("exclusiveMinimum"), bound("exclusiveMaximum"));
        let range = Range { least: bound("minimum"), above, most: bound("maximum"), below, ..Range::default() };
        let number = match values.get(parameter) {
            Some(toml::Value::Integer(whole)) => *whole as f64,
            Some(toml::Value::Float(number)) => *number,
            _ => continue,
        };
        if range == Range::default() || (number.is_finite() && range.holds(number)) {
            continue;
        }
        let range = Range { whole: declared["type"] == "integer" || declared["type"][0] == "integer", ..range };
        let mut fault = Fault::out_of_range(parameter.as_str(), number, range);
        if !number.is_finite() {
            // JSON, in which a fault keeps its value, has no such number.
            fault.value = None;
            fault = fault.says(format!(", not {number}"));
        }
        found.push(fault);
    }
    Faults::none_of(found)
}
