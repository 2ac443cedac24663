//! Registries of policies: a policy is one file and one line in the list of its module.

use schemars::{schema_for, JsonSchema};
use serde::Serialize;

use crate::fault::{Fault, Faults, Range};

/// Declares the enum of a module's policies from a list of their names and modules. A policy's module has
///
/// - `Spec`: the parameters in a scenario, with units, ranges, defaults and documentation. It implements the trait that builds the
///   policy;
/// - `POLICY`, if the module has a list of policies: name, title, description, source and default parameters.
///
/// The key in scenarios follows from the name by the enum's `rename_all`, or is set with `#[serde(rename = "…")]`.
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
        #[allow(missing_docs)] // The documentation of `Spec` is that of the variant.
        pub enum $spec { $($(#[$attribute])* $variant($module::Spec),)+ }

        impl $spec {
            /// Returns the parameters.
            fn parameters(&self) -> &dyn $trait {
                match self { $(Self::$variant(spec) => spec,)+ }
            }
        }

        $crate::registry::listed! { [$($(#[$list_about])* $list: $policy)?] $spec: $($variant => $module,)+ }
    };
}

/// Adds the list of policies to a [`registry`].
macro_rules! listed {
    ([] $spec:ident: $($variant:ident => $module:ident,)+) => {};
    ([$(#[$about:meta])* $list:ident: $policy:ty] $spec:ident: $($variant:ident => $module:ident,)+) => {
        $(#[$about])*
        pub const $list: &[$policy] = &[$($module::POLICY,)+];

        impl $spec {
            /// Returns the policy's entry in the list.
            const fn policy(&self) -> &'static $policy {
                match self { $(Self::$variant(_) => &$module::POLICY,)+ }
            }

            /// Returns the policy's name, which is its key in scenarios.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                self.policy().name
            }

            /// Checks the parameters against their declared ranges.
            ///
            /// # Errors
            /// All parameters outside their ranges.
            pub fn validate(&self) -> Result<(), $crate::fault::Faults> {
                match self { $(Self::$variant(spec) => $crate::registry::check_ranges(spec),)+ }
            }
        }

        impl Default for $spec {
            /// Returns the first policy of the list, with default parameters.
            fn default() -> Self {
                $list[0].default.clone()
            }
        }
    };
}

/// Declares the `Spec` of a policy without parameters, and its implementation of a trait.
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

/// Checks numeric parameters against their declared ranges.
pub(crate) fn check_ranges<S: Serialize + JsonSchema>(spec: &S) -> Result<(), Faults> {
    let mut found = Vec::new();
    let schema = schema_for!(S).to_value();
    // Unlike JSON, TOML has non-finite numbers, and omits absent values.
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
            // The value of a fault is JSON, which has no such number.
            fault.value = None;
            fault = fault.says(format!(", not {number}"));
        }
        found.push(fault);
    }
    Faults::none_of(found)
}
