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
pub(super) const SURVIVES_POWER_CUT: &str = "a power cut loses no acknowledged write";

/// The children of components that have one.
pub(super) const ONE_CHILD: ChildKeys =
    ChildKeys::Keyed(&[ChildKey { name: "child", description: "The component below it." }]);

/// The children of components in which a MEMS device works for a disk.
pub(super) const MEMS_AND_DISK: ChildKeys = ChildKeys::Keyed(&[
    ChildKey { name: "mems", description: "The MEMS device, or another component in its place." },
    ChildKey {
        name: "disk",
        description: "The disk, or another component in its place, where all data are stored in the end.",
    },
]);

/// An entry of the list of component kinds.
#[derive(Clone, Copy, Debug)]
pub struct ComponentKind {
    /// The value of `kind` in scenarios.
    pub name: &'static str,
    /// A one-sentence description.
    pub description: &'static str,
    /// The keys of its children in a scenario.
    pub children: ChildKeys,
    /// The type of its parameters.
    pub parameters: ComponentParameters,
}

/// The keys of the children of a component in a scenario.
#[derive(Clone, Copy, Debug)]
pub enum ChildKeys {
    /// One child at each of these keys.
    Keyed(&'static [ChildKey]),
    /// Any number of children, in the list `members`.
    Members,
}

/// A key that holds a component.
#[derive(Clone, Copy, Debug)]
pub struct ChildKey {
    /// The key.
    pub name: &'static str,
    /// A description of the child.
    pub description: &'static str,
}

/// The schema and the reader of the parameters of a kind of component.
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

    /// The parameters that `S` declares. `complete` reads them and adds the parameters that follow from the kind.
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

/// The parameters of a component over others, of any kind.
pub trait ComponentSpec: SpecValue + Send + Sync {
    /// Builds the component over its children, which are in the order of the scenario, spares last.
    ///
    /// # Errors
    /// Parameters that contradict each other or the children.
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults>;

    /// Notes for a reader of the scenario, such as the effects of power cuts and failures. `members` is the number of children
    /// without spares.
    fn notes(&self, members: u64) -> Vec<String> {
        let _ = members;
        Vec::new()
    }

    /// Number of spares: further children, built like the first.
    fn spares(&self) -> u32 {
        0
    }

    /// Failures and latent errors of its children.
    fn member_faults(&self) -> &[MemberFaultSpec] {
        &[]
    }

    /// Names of the paths of requests through it over `children` children, if the scenario names them.
    fn path_names(&self, children: usize) -> Vec<String> {
        let _ = children;
        Vec::new()
    }

    /// The key and the size, in bytes, of its largest copy between its children.
    fn largest_copy(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Returns true if it issues its own writes to its children, so that no request reports a write that a child refuses.
    fn issues_own_writes(&self) -> bool {
        false
    }

    /// Returns true if it refuses writes out of order.
    fn refuses_writes(&self) -> bool {
        false
    }

    /// Its custom policy and the role of that.
    fn custom(&self) -> Option<(&PluginSpec, Role)> {
        None
    }

    /// Its custom policy and the role of that.
    fn custom_mut(&mut self) -> Option<(&mut PluginSpec, Role)> {
        None
    }
}

dyn_clone::clone_trait_object!(ComponentSpec);

/// Operations on parameters of unknown type, implemented for every serializable and comparable type.
pub trait SpecValue: DynClone + fmt::Debug + Any {
    /// The keys and values as in a scenario.
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
