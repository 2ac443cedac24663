//! The short forms in which a document may give a plugin, and their full form.

use super::{PluginLoader, Role, DERIVED_KEYS, KEYS, LOCATION_KEYS};
use crate::scenario::{is_file, Content, Node, Table};

/// The value of `name` or `mechanism` that marks a plugin in its full form.
const CUSTOM: &str = "custom";

/// The roles of policies; a mechanism has a different form.
const POLICIES: [Role; 4] = [Role::Scheduler, Role::Replacement, Role::Mirror, Role::SpinDown];

/// Returns true if a key of a component holds a policy that may be custom.
pub(crate) fn is_policy_key(key: &str) -> bool {
    POLICIES.iter().any(|role| role.key() == key)
}

/// Brings the custom policies of a component into their full form.
pub(crate) fn expand_policies(component: &mut Table, loader: Option<&dyn PluginLoader>) {
    for role in POLICIES {
        if let Some(policy) = component.get_mut(role.key()) {
            expand_policy(policy, role, loader);
        }
    }
    if let Some(policy) = component.get_mut(Role::Mirror.key()) {
        name_as_word(policy);
    }
}

/// Brings a custom policy into its full form: `name = "custom"`, with its parameters in a table. A name with a colon is a Python
/// class; a name that `loader` knows is a plugin in Rust. Other policies stay as they are.
pub(crate) fn expand_policy(policy: &mut Node, role: Role, loader: Option<&dyn PluginLoader>) {
    let is_known = |name: &str| loader.is_some_and(|loader| loader.names(role).contains(&name));
    if policy.as_text().is_some_and(|name| name.contains(':') || is_known(name)) {
        *policy = std::mem::take(policy).wrap("name");
    }
    let Some(table) = policy.as_table_mut() else { return };
    let location = match table.get("name").map(Node::as_text) {
        None if LOCATION_KEYS.iter().any(|key| table.contains_key(*key)) => None,
        Some(Some(class)) if class.contains(':') => Some("python"),
        Some(Some(name)) if is_known(name) => Some("rust"),
        Some(Some(CUSTOM)) => None,
        _ => return,
    };
    let name = table.get("name").cloned();
    let origin = name.as_ref().map(|name| name.origin.clone()).unwrap_or_default();
    if let (Some(location), Some(name)) = (location, name) {
        table.insert(location.into(), name);
    }
    table.insert("name".into(), Node::text(CUSTOM, origin));
    collect_parameters(table, &KEYS);
}

/// Brings a device with a custom mechanism into its full form, and returns true if it has one. A name with a colon is a Python
/// class; a name that `loader` knows is a plugin in Rust.
pub(crate) fn expand_device(device: &mut Table, loader: Option<&dyn PluginLoader>) -> bool {
    if device.get("mechanism").is_some_and(|mechanism| mechanism.as_text() != Some(CUSTOM)) {
        return false;
    }
    let name = device.get("name").filter(|name| name.as_text().is_some()).cloned();
    let location = LOCATION_KEYS.into_iter().find(|key| device.contains_key(*key));
    let location = location.or_else(|| match name.as_ref().and_then(Node::as_text) {
        Some(class) if class.contains(':') && !is_file(class) => Some("python"),
        Some(name) if loader.is_some_and(|loader| loader.names(Role::Mechanism).contains(&name)) => Some("rust"),
        _ => None,
    });
    let Some(location) = location else { return device.contains_key("mechanism") };
    match name {
        Some(name) => _ = device.entry(location.into()).or_insert(name),
        None => {
            let title = [location, "symbol"].into_iter().filter_map(|key| device.get(key)?.as_text()).next_back();
            let title = title.unwrap_or("compiled").to_owned();
            device.insert("name".into(), Node::text(title, device[location].origin.inner()));
        }
    }
    device.insert("mechanism".into(), Node::text(CUSTOM, device[location].origin.inner()));
    let keys: Vec<&str> = KEYS.into_iter().chain(["mechanism", "power"]).collect();
    collect_parameters(device, &keys);
    true
}

/// Moves all keys of a table but `keys` into its table `parameters`.
fn collect_parameters(table: &mut Table, keys: &[&str]) {
    let others: Vec<String> = table.keys().filter(|key| !keys.contains(&key.as_str())).cloned().collect();
    if others.is_empty() {
        return;
    }
    let mut parameters = match table.shift_remove("parameters") {
        Some(parameters) if parameters.as_table().is_some() => parameters,
        None | Some(Node { content: Content::Null, .. }) => Node::table(table[&others[0]].origin.inner()),
        Some(other) => {
            // The schema check reports its type.
            table.insert("parameters".into(), other);
            return;
        }
    };
    if let Some(parameters) = parameters.as_table_mut() {
        parameters.extend(others.into_iter().filter_map(|key| table.shift_remove_entry(&key)));
    }
    table.insert("parameters".into(), parameters);
}

/// Replaces a table that only has a name by the name, as built-in policies without parameters are given.
fn name_as_word(policy: &mut Node) {
    let alone = policy.as_table_mut().filter(|table| table.len() == 1).and_then(|table| table.get_mut("name"));
    if let Some(Content::Text(name)) = alone.map(|name| &mut name.content) {
        policy.content = Content::Text(std::mem::take(name));
    }
}

/// Removes the location of a plugin and all that follows from it, if `key` is about to set another location.
pub(crate) fn clear_location(table: &mut Table, key: &str) {
    if LOCATION_KEYS.contains(&key) {
        DERIVED_KEYS.iter().chain(&LOCATION_KEYS).for_each(|other| drop(table.shift_remove(*other)));
    }
}
