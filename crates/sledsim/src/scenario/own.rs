//! Policies of one's own in a document: how somebody may write them, and where they are opened.

use std::path::Path;

use serde_json::{Map, Value};

use super::document::catalog::is_file;
use super::specs::system::SystemSpec;
use crate::fault::Fault;
use crate::own::{Door, Role, DOORS, FOLLOWING, KEYS};

/// What is decided by the policies that keys of components name, and that may be one's own.
const ROLES: [Role; 4] = [Role::Scheduler, Role::Replacement, Role::Mirror, Role::SpinDown];

/// Whether a key of a component names a policy that may be one's own.
pub(super) fn is_own_key(key: &str) -> bool {
    ROLES.iter().any(|role| role.key() == key)
}

/// Gives every policy of one's own of a component its form among the others; a word, in a table or not, stays one.
pub(super) fn normalise_all(component: &mut Map<String, Value>, door: Option<&dyn Door>) {
    ROLES.into_iter().for_each(|role| normalise(component.get_mut(role.key()), role, door));
    word(component.get_mut(Role::Mirror.key()));
}

/// Gives a policy of one's own, as somebody writes it, the form that it has among the others: its name, and its parameters
/// in a table of their own. What stands for a name with a colon in it is a class; one that `door` knows is what it brings in.
pub(super) fn normalise(policy: Option<&mut Value>, role: Role, door: Option<&dyn Door>) {
    let Some(policy) = policy else { return };
    let brings = |name: &str| door.is_some_and(|door| door.names(role).contains(&name));
    if policy.as_str().is_some_and(|name| name.contains(':') || brings(name)) {
        *policy = serde_json::json!({ "name": policy });
    }
    let Some(table) = policy.as_object_mut() else { return };
    let is_own = match table.get("name") {
        None => DOORS.iter().any(|door| table.contains_key(*door)),
        Some(Value::String(class)) if class.contains(':') => {
            let class = class.clone();
            table.insert("python".into(), class.into());
            true
        }
        Some(Value::String(name)) if brings(name) => {
            let name = name.clone();
            table.insert("rust".into(), name.into());
            true
        }
        Some(name) => name == "own",
    };
    if !is_own {
        return;
    }
    table.insert("name".into(), "own".into());
    set_apart(table, &KEYS);
}

/// Gives a device whose mechanism is one's own, as somebody writes it, the form that it has among the others; says whether it is
/// one. What stands for a name with a colon in it is a class; one that `door` knows is what it brings in.
pub(super) fn normalise_device(device: &mut Map<String, Value>, door: Option<&dyn Door>) -> bool {
    if device.get("mechanism").is_some_and(|mechanism| mechanism != "own") {
        return false;
    }
    let named = device.get("name").and_then(Value::as_str).map(str::to_owned);
    let at = DOORS.into_iter().find(|door| device.contains_key(*door));
    let at = at.or_else(|| match &named {
        Some(class) if class.contains(':') && !is_file(class) => Some("python"),
        Some(name) if door.is_some_and(|door| door.names(Role::Device).contains(&name.as_str())) => Some("rust"),
        _ => None,
    });
    let Some(at) = at else { return device.contains_key("mechanism") };
    if let Some(name) = named.as_ref().filter(|_| !device.contains_key(at)) {
        device.insert(at.into(), name.as_str().into());
    }
    if named.is_none() {
        let title = [at, "symbol"].into_iter().filter_map(|key| device.get(key)?.as_str()).next_back();
        let title = title.unwrap_or("compiled").to_owned();
        device.insert("name".into(), title.into());
    }
    device.insert("mechanism".into(), "own".into());
    let keys: Vec<&str> = KEYS.into_iter().chain(["mechanism", "power"]).collect();
    set_apart(device, &keys);
    true
}

/// Puts what stands beside some keys of a table into a table of its own.
fn set_apart(table: &mut Map<String, Value>, keys: &[&str]) {
    let beside: Vec<String> = table.keys().filter(|key| !keys.contains(&key.as_str())).cloned().collect();
    if beside.is_empty() {
        return;
    }
    let mut parameters = match table.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        None | Some(Value::Null) => Map::new(),
        Some(other) => {
            // The check says what is wrong with it.
            table.insert("parameters".into(), other);
            return;
        }
    };
    for key in beside {
        let value = table.remove(&key).unwrap_or_default();
        parameters.insert(key, value);
    }
    table.insert("parameters".into(), parameters.into());
}

/// Makes a word of a table that has a name alone, of those that are words where they are not one's own.
fn word(policy: Option<&mut Value>) {
    let Some(policy) = policy else { return };
    let alone = policy.as_object().filter(|table| table.len() == 1).and_then(|table| table.get("name"));
    if let Some(name) = alone.filter(|name| name.is_string()).cloned() {
        *policy = name;
    }
}

/// Makes room in a table for another policy of one's own than it names so far: what is set on top of it is a parameter.
pub(super) fn make_room(table: &mut Map<String, Value>, key: &str) {
    if DOORS.contains(&key) {
        FOLLOWING.iter().chain(&DOORS).for_each(|other| drop(table.shift_remove(*other)));
    }
}

/// Opens every policy of one's own of a system. Paths of what is wrong lead to where it was written: parameters stand beside
/// the other keys.
pub(super) fn open(system: &mut SystemSpec, door: Option<&dyn Door>, base: &Path) -> Vec<Fault> {
    let mut found = Vec::new();
    system.visit_mut(&"system".into(), &mut |component, path| {
        for (own, role) in component.own_mut() {
            let faults = own.open(role, door, base).err().into_iter().flatten();
            found.extend(faults.map(|fault| fault.of_key(path.step(role.key()))));
        }
    });
    found
}
