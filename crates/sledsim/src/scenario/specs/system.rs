//! The system of a scenario: a tree of components that ends in drives.

use std::borrow::Cow;
use std::path;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{json, Map, Value};

use super::scenario::DriveSpec;
use crate::fault::{Fault, Path};
use crate::hierarchy::{ChildKeys, ComponentKind, ComponentSpec, KINDS};
use crate::plugin::{Choice, PluginLoader, PluginSpec, Role};

/// The name of a drive's kind.
pub(in crate::scenario) const DRIVE: &str = "drive";

/// The key that holds the list of members.
pub(in crate::scenario) const MEMBERS: &str = "members";

/// A component with its children: the system under test.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemSpec {
    /// The name in reports.
    pub name: Option<String>,
    /// The kind of component, with its parameters.
    pub kind: SystemKind,
    /// The components below it, in the order of the keys of its kind, or of `members`.
    pub children: Vec<MemberSpec>,
}

/// A kind of component, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemKind {
    /// One device and its scheduler.
    Drive(Box<DriveSpec>),
    /// A component that has children.
    Composite(CompositeSpec),
}

/// The kind and parameters of a component that has children.
#[derive(Clone, Debug)]
pub struct CompositeSpec {
    /// The kind.
    pub kind: &'static ComponentKind,
    /// Its parameters.
    pub spec: Box<dyn ComponentSpec>,
}

impl PartialEq for CompositeSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.spec.equals(other.spec.as_ref())
    }
}

/// Identical members. A component in place of this table is one member; its keys may also stand beside `count`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberSpec {
    /// Number of members.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub count: u32,
    /// The component that each of them is.
    pub system: SystemSpec,
}

const fn one() -> u32 {
    1
}

impl SystemSpec {
    /// Reads a component from a table that has been checked; its kind is one of the simulator's or of `more`.
    ///
    /// # Errors
    /// The table does not match the schema.
    pub fn read(table: Value, more: &'static [ComponentKind]) -> Result<Self, serde_json::Error> {
        let Value::Object(mut table) = table else { return Err(Error::custom("a component is a table")) };
        let kind = table.remove("kind").unwrap_or_default();
        let name = table.remove("name").map(serde_json::from_value).transpose()?.flatten();
        if kind == DRIVE {
            let drive = serde_json::from_value(Value::Object(table))?;
            return Ok(Self::of_drive(name, drive));
        }
        let known = kind.as_str().and_then(|kind| known_kind(kind, more));
        let kind = known.ok_or_else(|| Error::custom(format!("{kind} is no kind of component")))?;
        let children = match kind.children {
            ChildKeys::Keyed(keys) => {
                let child = |key: &str| {
                    let child = table.remove(key).ok_or_else(|| Error::custom(format!("{key} is missing")))?;
                    Ok(MemberSpec { count: 1, system: Self::read(child, more)? })
                };
                keys.iter().map(|key| key.name).map(child).collect::<Result<_, serde_json::Error>>()?
            }
            ChildKeys::Members => {
                let Some(Value::Array(members)) = table.remove(MEMBERS) else {
                    return Err(Error::custom("members are missing"));
                };
                members.into_iter().map(|member| MemberSpec::read(member, more)).collect::<Result<_, _>>()?
            }
        };
        let spec = kind.parameters.read(table)?;
        Ok(Self::of_composite(name, kind, spec, children))
    }

    /// A drive.
    #[must_use]
    pub fn of_drive(name: Option<String>, drive: DriveSpec) -> Self {
        Self { name, kind: SystemKind::Drive(Box::new(drive)), children: Vec::new() }
    }

    /// A component that has children.
    #[must_use]
    pub fn of_composite(
        name: Option<String>,
        kind: &'static ComponentKind,
        spec: Box<dyn ComponentSpec>,
        children: Vec<MemberSpec>,
    ) -> Self {
        Self { name, kind: SystemKind::Composite(CompositeSpec { kind, spec }), children }
    }

    /// Returns the drive, if the system is one.
    #[must_use]
    pub fn drive(&self) -> Option<&DriveSpec> {
        match &self.kind {
            SystemKind::Drive(drive) => Some(drive),
            SystemKind::Composite(_) => None,
        }
    }

    /// Returns the drive, if the system is one.
    #[must_use]
    pub fn into_drive(self) -> Option<DriveSpec> {
        match self.kind {
            SystemKind::Drive(drive) => Some(*drive),
            SystemKind::Composite(_) => None,
        }
    }

    /// Returns the parameters of a component that has children.
    #[must_use]
    pub fn composite(&self) -> Option<&dyn ComponentSpec> {
        match &self.kind {
            SystemKind::Drive(_) => None,
            SystemKind::Composite(composite) => Some(composite.spec.as_ref()),
        }
    }

    /// Returns the name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.kind {
            SystemKind::Drive(_) => DRIVE,
            SystemKind::Composite(composite) => composite.kind.name,
        }
    }

    /// Returns the keys of its children; for a drive those of an empty list.
    pub(in crate::scenario) fn child_keys(&self) -> ChildKeys {
        match &self.kind {
            SystemKind::Drive(_) => ChildKeys::Members,
            SystemKind::Composite(composite) => composite.kind.children,
        }
    }

    /// Returns the number of spares: members beside those stated, identical to the first.
    pub(in crate::scenario) fn spares(&self) -> u32 {
        self.composite().map_or(0, ComponentSpec::spares)
    }

    /// Calls `visit` with this component and all components below, each with its path below `path`. Identical members are visited
    /// once.
    pub(in crate::scenario) fn visit(&self, path: &Path, visit: &mut dyn FnMut(&Self, &Path)) {
        visit(self, path);
        for (index, child) in self.children.iter().enumerate() {
            child.system.visit(&child_path(self.child_keys(), path, index), visit);
        }
    }

    /// Calls `visit` as [`Self::visit`] does, with mutable components.
    pub(in crate::scenario) fn visit_mut(&mut self, path: &Path, visit: &mut dyn FnMut(&mut Self, &Path)) {
        visit(self, path);
        let keys = self.child_keys();
        for (index, child) in self.children.iter_mut().enumerate() {
            child.system.visit_mut(&child_path(keys, path, index), visit);
        }
    }

    /// Loads every plugin of the system. Faults have the paths of the plugins' keys: parameters are given beside the other keys.
    pub(in crate::scenario) fn load_plugins(
        &mut self,
        loader: Option<&dyn PluginLoader>,
        base: &path::Path,
    ) -> Vec<Fault> {
        let mut found = Vec::new();
        self.visit_mut(&"system".into(), &mut |component, path| {
            for (plugin, role) in component.plugins_mut() {
                let faults = plugin.load(role, loader, base).err().into_iter().flatten();
                found.extend(faults.map(|fault| fault.of_key(path.step(role.key()))));
            }
        });
        found
    }

    /// Returns the plugins of this component with their roles.
    fn plugins_mut(&mut self) -> Vec<(&mut PluginSpec, Role)> {
        let drive = match &mut self.kind {
            SystemKind::Composite(composite) => return composite.spec.custom_mut().into_iter().collect(),
            SystemKind::Drive(drive) => drive,
        };
        let plugins = [
            (drive.device.custom_mut(), Role::Mechanism),
            (drive.scheduler.custom_mut(), Role::Scheduler),
            (drive.spin_down.as_mut().and_then(Choice::custom_mut), Role::SpinDown),
        ];
        plugins.into_iter().filter_map(|(plugin, role)| Some((plugin?, role))).collect()
    }

    /// Returns true if this component or one below has a plugin.
    pub(in crate::scenario) fn has_plugins(&self) -> bool {
        let has_plugin = match &self.kind {
            SystemKind::Composite(composite) => composite.spec.custom().is_some(),
            SystemKind::Drive(drive) => {
                let spin_down = drive.spin_down.as_ref().and_then(Choice::custom);
                drive.device.custom().or(drive.scheduler.custom()).or(spin_down).is_some()
            }
        };
        has_plugin || self.children.iter().any(|child| child.system.has_plugins())
    }

    /// Returns all drives, identical members once.
    #[must_use]
    pub fn drives(&self) -> Vec<&DriveSpec> {
        match &self.kind {
            SystemKind::Drive(drive) => vec![drive],
            SystemKind::Composite(_) => self.children.iter().flat_map(|child| child.system.drives()).collect(),
        }
    }

    /// Returns its title in headings: the device of a drive, else its name, or its kind and children.
    #[must_use]
    pub fn title(&self) -> String {
        let name = match &self.kind {
            SystemKind::Drive(drive) => return drive.device.name().to_owned(),
            SystemKind::Composite(composite) => composite.kind.name,
        };
        if let Some(name) = &self.name {
            return name.clone();
        }
        let mut parts: Vec<(u32, String)> = Vec::new();
        for child in &self.children {
            let title = child.system.title();
            match parts.iter_mut().find(|(_, known)| *known == title) {
                Some((known, _)) => *known += child.count,
                None => parts.push((child.count, title)),
            }
        }
        let shown = parts.iter().map(|(count, title)| match count {
            1 => title.clone(),
            _ => format!("{count} {title}"),
        });
        format!("{name} of {}", shown.collect::<Vec<_>>().join(" and "))
    }

    /// Returns the name of the scheduler of all drives, or `several`.
    #[must_use]
    pub fn scheduler(&self) -> &str {
        let names: Vec<&str> = self.drives().iter().map(|drive| drive.scheduler.name()).collect();
        match names.first() {
            Some(first) if names.iter().all(|name| name == first) => first,
            _ => "several",
        }
    }

    /// Returns true if the power of all drives is known.
    #[must_use]
    pub fn has_powers(&self) -> bool {
        self.drives().iter().all(|drive| drive.device.has_powers())
    }

    /// Returns its own parameters as in a scenario, without its children; of a drive's device only the name.
    pub(in crate::scenario) fn own_keys(&self) -> Value {
        match &self.kind {
            SystemKind::Composite(composite) => composite.spec.keys(),
            SystemKind::Drive(drive) => {
                let mut keys = serde_json::to_value(drive).unwrap_or_default();
                keys["device"] = drive.device.name().into();
                keys
            }
        }
    }

    /// Returns all keys as in a scenario.
    fn to_table(&self) -> Value {
        let mut table = Map::from_iter([("kind".to_owned(), Value::from(self.kind()))]);
        if let Some(name) = &self.name {
            table.insert("name".into(), name.as_str().into());
        }
        let keys = match &self.kind {
            SystemKind::Drive(drive) => serde_json::to_value(drive).unwrap_or_default(),
            SystemKind::Composite(composite) => {
                match composite.kind.children {
                    ChildKeys::Keyed(keys) => {
                        let children = keys.iter().zip(&self.children);
                        table.extend(children.map(|(key, child)| (key.name.to_owned(), child.system.to_table())));
                    }
                    ChildKeys::Members => {
                        let member = |each: &MemberSpec| json!({"count": each.count, "system": each.system.to_table()});
                        table.insert(MEMBERS.into(), self.children.iter().map(member).collect());
                    }
                }
                composite.spec.keys()
            }
        };
        if let Value::Object(keys) = keys {
            table.extend(keys);
        }
        Value::Object(table)
    }
}

impl MemberSpec {
    fn read(table: Value, more: &'static [ComponentKind]) -> Result<Self, serde_json::Error> {
        let Value::Object(mut table) = table else { return Err(Error::custom("a member is a table")) };
        let count = table.remove("count").map_or(Ok(1), serde_json::from_value)?;
        let system = SystemSpec::read(table.remove("system").unwrap_or_default(), more)?;
        Ok(Self { count, system })
    }
}

/// Returns the path of a child of the component at `path`.
pub(in crate::scenario) fn child_path(keys: ChildKeys, path: &Path, index: usize) -> Path {
    match keys {
        ChildKeys::Keyed(keys) => path.step(keys[index].name),
        ChildKeys::Members => path.step(MEMBERS).step(index).step("system"),
    }
}

/// Returns true if a kind of component has a child at this key.
pub(in crate::scenario) fn is_child_key(key: &str) -> bool {
    child_keys().any(|known| known == key)
}

/// Returns the keys of children of all kinds, in the order of kinds and keys.
pub(in crate::scenario) fn child_keys() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| match kind.children {
        ChildKeys::Keyed(keys) => keys.iter().map(|known| known.name).collect(),
        ChildKeys::Members => Vec::new(),
    })
}

impl Serialize for SystemSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_table().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SystemSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?, &[]).map_err(Error::custom)
    }
}

impl JsonSchema for SystemSpec {
    fn schema_name() -> Cow<'static, str> {
        "SystemSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut drive = DriveSpec::json_schema(generator).to_value();
        let about = drive["description"].take();
        let named = Map::from_iter([name_schema("Name in reports; the name of its device when absent.")]);
        let drive = component_schema(DRIVE, about, named, drive);
        let composites = KINDS.iter().map(|kind| component_schema_of(kind, generator));
        let options: Vec<Value> = std::iter::once(drive).chain(composites.collect::<Vec<_>>()).collect();
        json_schema!({
            "description": "The system under test: a component, and those that it is made of. A device's name alone is a drive, and \
                a name of\n`[components]` that component.",
            "oneOf": options,
        })
    }
}

/// Returns the schema of a kind of component that has children.
pub(in crate::scenario) fn component_schema_of(kind: &ComponentKind, generator: &mut SchemaGenerator) -> Value {
    let mut stated = Map::from_iter([name_schema("Name in reports.")]);
    match kind.children {
        ChildKeys::Keyed(keys) => stated.extend(keys.iter().map(|key| {
            let mut child = generator.subschema_for::<SystemSpec>().to_value();
            child["description"] = key.description.into();
            (key.name.to_owned(), child)
        })),
        ChildKeys::Members => {
            let members = generator.subschema_for::<MemberSpec>().to_value();
            let about = "The components below it, in their order.";
            stated.insert(
                MEMBERS.into(),
                json!({"description": about, "type": "array", "items": members, "minItems": 1}),
            );
        }
    }
    let parameters = kind.parameters.schema(generator).to_value();
    component_schema(kind.name, kind.description.into(), stated, parameters)
}

/// Returns the schema of the key `name` of a component.
fn name_schema(about: &str) -> (String, Value) {
    ("name".to_owned(), json!({"description": about, "type": ["string", "null"]}))
}

/// Returns the kind with a name, among those of the simulator and `more`.
pub(in crate::scenario) fn known_kind(name: &str, more: &'static [ComponentKind]) -> Option<&'static ComponentKind> {
    KINDS.iter().chain(more).find(|kind| kind.name == name)
}

/// Returns the schema of a kind: `kind`, the keys `stated` of every component, and its parameters.
fn component_schema(kind: &str, about: Value, stated: Map<String, Value>, mut parameters: Value) -> Value {
    let mut required = vec![Value::from("kind")];
    required.extend(stated.keys().filter(|key| *key != "name").map(|key| Value::from(key.as_str())));
    required.extend(parameters["required"].as_array().into_iter().flatten().cloned());
    let mut properties = Map::from_iter([("kind".to_owned(), json!({"type": "string", "const": kind}))]);
    properties.extend(stated);
    if let Some(own) = parameters["properties"].as_object_mut() {
        properties.append(own);
    }
    json!({
        "description": about, "type": "object", "properties": properties, "additionalProperties": false, "required": required,
    })
}
