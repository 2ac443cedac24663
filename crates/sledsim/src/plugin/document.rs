//! The short forms in which a document may give a plugin, and their full form.

use serde_json::{Map, Value};

use super::{PluginLoader, Role, DERIVED_KEYS, KEYS, LOCATION_KEYS};
use crate::scenario::is_file;

/// The value of `name` or `mechanism` that marks a plugin in its full form.
const CUSTOM: &str = "custom";

/// The roles of policies; a mechanism has a form of its own.
const POLICIES: [Role; 4] = [Role::Scheduler, Role::Replacement, Role::Mirror, Role::SpinDown];

/// Returns true if a key of a component holds a policy that may be custom.
pub(crate) fn is_policy_key(key: &str) -> bool {
    POLICIES.iter().any(|role| role.key() == key)
}

/// Brings the custom policies of a component into their full form.
pub(crate) fn expand_policies(component: &mut Map<String, Value>, loader: Option<&dyn PluginLoader>) {
    POLICIES.into_iter().for_each(|role| expand_policy(component.get_mut(role.key()), role, loader));
    name_as_word(component.get_mut(Role::Mirror.key()));
}

/// Brings a custom policy into its full form: `name = "custom"`, with its parameters in a table. A name with a colon is a Python
/// class; a name that `loader` knows is a plugin in Rust. Other policies stay as they are.
pub(crate) fn expand_policy(policy: Option<&mut Value>, role: Role, loader: Option<&dyn PluginLoader>) {
    let Some(policy) = policy else { return };
    let is_known = |name: &str| loader.is_some_and(|loader| loader.names(role).contains(&name));
    if policy.as_str().is_some_and(|name| name.contains(':') || is_known(name)) {
        *policy = serde_json::json!({ "name": policy });
    }
    let Some(table) = policy.as_object_mut() else { return };
    let is_custom = match table.get("name") {
        None => LOCATION_KEYS.iter().any(|key| table.contains_key(*key)),
        Some(Value::String(class)) if class.contains(':') => {
            let class = class.clone();
            table.insert("python".into(), class.into());
            true
        }
        Some(Value::String(name)) if is_known(name) => {
            let name = name.clone();
            table.insert("rust".into(), name.into());
            true
        }
        Some(name) => name == CUSTOM,
    };
    if is_custom {
        table.insert("name".into(), CUSTOM.into());
        collect_parameters(table, &KEYS);
    }
}

/// Brings a device with a custom mechanism into its full form, and returns true if it has one. A name with a colon is a Python
/// class; a name that `loader` knows is a plugin in Rust.
pub(crate) fn expand_device(device: &mut Map<String, Value>, loader: Option<&dyn PluginLoader>) -> bool {
    if device.get("mechanism").is_some_and(|mechanism| mechanism != CUSTOM) {
        return false;
    }
    let name = device.get("name").and_then(Value::as_str).map(str::to_owned);
    let location = LOCATION_KEYS.into_iter().find(|key| device.contains_key(*key));
    let location = location.or_else(|| match &name {
        Some(class) if class.contains(':') && !is_file(class) => Some("python"),
        Some(name) if loader.is_some_and(|loader| loader.names(Role::Mechanism).contains(&name.as_str())) => {
            Some("rust")
        }
        _ => None,
    });
    let Some(location) = location else { return device.contains_key("mechanism") };
    if let Some(name) = name.as_ref().filter(|_| !device.contains_key(location)) {
        device.insert(location.into(), name.as_str().into());
    }
    if name.is_none() {
        let title = [location, "symbol"].into_iter().filter_map(|key| device.get(key)?.as_str()).next_back();
        let title = title.unwrap_or("compiled").to_owned();
        device.insert("name".into(), title.into());
    }
    device.insert("mechanism".into(), CUSTOM.into());
    let keys: Vec<&str> = KEYS.into_iter().chain(["mechanism", "power"]).collect();
    collect_parameters(device, &keys);
    true
}

/// Moves all keys of a table but `keys` into its table `parameters`.
fn collect_parameters(table: &mut Map<String, Value>, keys: &[&str]) {
    let others: Vec<String> = table.keys().filter(|key| !keys.contains(&key.as_str())).cloned().collect();
    if others.is_empty() {
        return;
    }
    let mut parameters = match table.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        None | Some(Value::Null) => Map::new(),
        Some(other) => {
            // The schema check reports its type.
            table.insert("parameters".into(), other);
            return;
        }
    };
    for key in others {
        let value = table.remove(&key).unwrap_or_default();
        parameters.insert(key, value);
    }
    table.insert("parameters".into(), parameters.into());
}

/// Replaces a table that only has a name by the name, as built-in policies without parameters are given.
fn name_as_word(policy: Option<&mut Value>) {
    let Some(policy) = policy else { return };
    let alone = policy.as_object().filter(|table| table.len() == 1).and_then(|table| table.get("name"));
    if let Some(name) = alone.filter(|name| name.is_string()).cloned() {
        *policy = name;
    }
}

/// Removes the location of a plugin and all that follows from it, if `key` is about to set another location.
pub(crate) fn clear_location(table: &mut Map<String, Value>, key: &str) {
    if LOCATION_KEYS.contains(&key) {
        DERIVED_KEYS.iter().chain(&LOCATION_KEYS).for_each(|other| drop(table.shift_remove(*other)));
    }
}
