//! Policies of one's own in a document: how somebody may write them, and where they are opened.

use std::path::Path;

use serde_json::{Map, Value};

use super::specs::system::SystemSpec;
use crate::fault::{self, Fault};
use crate::own::{Door, Role, DOORS, FOLLOWING, KEYS};

/// The keys of components that name policies which may be one's own.
pub(super) const OWN_KEYS: [&str; 4] = ["scheduler", "policy", "read", "spin_down"];

/// What is decided by the policy that a key names, if it may be one's own.
const ROLES: [Role; 4] = [Role::Scheduler, Role::Replacement, Role::Mirror, Role::SpinDown];

/// Gives every policy of one's own of a component its form among the others.
pub(super) fn normalise_all(component: &mut Map<String, Value>, door: Option<&dyn Door>) {
    ROLES.into_iter().for_each(|role| normalise(component.get_mut(role.key()), role, door));
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
    let beside: Vec<String> = table.keys().filter(|key| !KEYS.contains(&key.as_str())).cloned().collect();
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
pub(super) fn word(policy: Option<&mut Value>) {
    let Some(policy) = policy else { return };
    if let Some(Value::String(name)) =
        policy.as_object().filter(|table| table.len() == 1).and_then(|table| table.get("name"))
    {
        *policy = name.clone().into();
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
    system.each_mut(&"system".into(), &mut |component, path| {
        for (own, role) in component.own_mut() {
            let faults = own.open(role, door, base).err().into_iter().flatten();
            found.extend(faults.map(|fault| within(fault, &path.step(role.key()))));
        }
    });
    found
}

/// A fault by its path from further up; one without a path is of the place itself.
pub(super) fn within(fault: Fault, place: &fault::Path) -> Fault {
    if fault.path.is_empty() {
        let mut fault = fault;
        fault.path = place.clone();
        return fault;
    }
    fault.within(place)
}
