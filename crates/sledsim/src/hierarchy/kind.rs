//! Kinds of components that are built over others: the parameters that a scenario states, and how to build the component.

use std::any::Any;
use std::fmt;

use dyn_clone::DynClone;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{Map, Value};

use super::common::Child;
use super::faulty::MemberFaultSpec;
use crate::engine::Component;
use crate::fault::Faults;
use crate::plugin::{PluginSpec, Role};

/// The note of a component whose acknowledged writes survive a power cut.
pub(super) const SURVIVES_POWER_CUT: &str = "a power cut takes nothing that was acknowledged";

/// The children of components that have one.
pub(super) const ONE_CHILD: ChildKeys =
    ChildKeys::Keyed(&[ChildKey { name: "child", description: "The component below it." }]);

/// The children of components that have a MEMS device work for a disk.
pub(super) const MEMS_AND_DISK: ChildKeys = ChildKeys::Keyed(&[
    ChildKey { name: "mems", description: "The MEMS device, or what takes its place." },
    ChildKey { name: "disk", description: "The disk, or what takes its place: all data end there." },
]);

/// A kind of component, as the list of kinds has it.
#[derive(Clone, Copy, Debug)]
pub struct ComponentKind {
    /// The value of `kind` in scenarios.
    pub name: &'static str,
    /// What such a component does, in a sentence.
    pub description: &'static str,
    /// Where a scenario states the components below it.
    pub children: ChildKeys,
    /// The type of its parameters.
    pub parameters: ComponentParameters,
}

/// Where a scenario states the children of a component.
#[derive(Clone, Copy, Debug)]
pub enum ChildKeys {
    /// One at each of these keys.
    Keyed(&'static [ChildKey]),
    /// Any number of them, in the list `members`.
    Members,
}

/// A key that holds a component.
#[derive(Clone, Copy, Debug)]
pub struct ChildKey {
    /// The key.
    pub name: &'static str,
    /// What the component is for.
    pub description: &'static str,
}

/// The parameters of a kind of component: their schema, and how to read them.
#[derive(Clone, Copy)]
pub struct ComponentParameters {
    schema: fn(&mut SchemaGenerator) -> Schema,
    read: fn(Value) -> Result<Box<dyn ComponentSpec>, serde_json::Error>,
}

impl fmt::Debug for ComponentParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentParameters").finish_non_exhaustive()
    }
}

impl ComponentParameters {
    /// The parameters that `S` declares.
    #[must_use]
    pub const fn of<S: ComponentSpec + DeserializeOwned + JsonSchema>() -> Self {
        Self { schema: S::json_schema, read: |table| Ok(Box::new(serde_json::from_value::<S>(table)?)) }
    }

    /// The parameters that `S` declares, completed by `complete` with what the kind itself decides.
    #[must_use]
    pub(super) const fn with<S: JsonSchema>(
        complete: fn(Value) -> Result<Box<dyn ComponentSpec>, serde_json::Error>,
    ) -> Self {
        Self { schema: S::json_schema, read: complete }
    }

    /// Their JSON Schema; definitions that it refers to are added to `generator`.
    #[must_use]
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }

    /// Reads them from a table without `kind`, `name` and children.
    ///
    /// # Errors
    /// The table does not match the schema.
    pub fn read(&self, table: Map<String, Value>) -> Result<Box<dyn ComponentSpec>, serde_json::Error> {
        (self.read)(Value::Object(table))
    }
}

/// The parameters of a component with others below it, of whichever kind.
pub trait ComponentSpec: SpecValue + Send + Sync {
    /// Builds the component over its children, in the order in which the scenario states them, spares last.
    ///
    /// # Errors
    /// Parameters that do not fit each other or the children: names both sides.
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults>;

    /// What a reader of the scenario should know: where writes wait, what a power cut takes, how many failures it bears.
    /// `members` are its children without spares.
    fn notes(&self, members: u64) -> Vec<String> {
        let _ = members;
        Vec::new()
    }

    /// Number of spares: children beside those of the scenario, built like the first of them.
    fn spares(&self) -> u32 {
        0
    }

    /// Failures and latent errors of its children.
    fn member_faults(&self) -> &[MemberFaultSpec] {
        &[]
    }

    /// Names of the paths that requests take through it over so many children, where the scenario names them.
    fn path_names(&self, children: usize) -> Vec<String> {
        let _ = children;
        Vec::new()
    }

    /// The key and the size, in bytes, of the largest copy that it makes on its own account between its children.
    fn largest_copy(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// The custom policy that it asks, and for what.
    fn custom(&self) -> Option<(&PluginSpec, Role)> {
        None
    }

    /// The same, to be changed.
    fn custom_mut(&mut self) -> Option<(&mut PluginSpec, Role)> {
        None
    }
}

dyn_clone::clone_trait_object!(ComponentSpec);

/// What every type of parameters can do with its value; implemented for all that can be written and compared.
pub trait SpecValue: DynClone + fmt::Debug + Any {
    /// The keys and values, as a scenario states them.
    fn keys(&self) -> Value;

    /// Returns true if `other` is of the same type and equal.
    fn equals(&self, other: &dyn ComponentSpec) -> bool;
}

impl<S: ComponentSpec + Clone + fmt::Debug + PartialEq + Serialize> SpecValue for S {
    fn keys(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn equals(&self, other: &dyn ComponentSpec) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>() == Some(self)
    }
}
