//! Policies of one's own in a document: how somebody may write them, and where they are opened.

use std::path::Path;

use super::document::catalog::is_file;
use super::document::node::{Content, Node, Table};
use super::specs::system::SystemSpec;
use crate::fault::{Collector, Path as KeyPath};
use crate::own::{Door, Role, DOORS, FOLLOWING, KEYS};

/// What is decided by the policies that keys of components name, and that may be one's own.
const ROLES: [Role; 4] = [Role::Scheduler, Role::Replacement, Role::Mirror, Role::SpinDown];

/// Returns true if a key of a component names a policy that may be one's own.
pub(super) fn is_own_key(key: &str) -> bool {
    ROLES.iter().any(|role| role.key() == key)
}

/// Gives every policy of one's own of a component its form among the others; a word, in a table or not, stays one.
pub(super) fn normalise_all(component: &mut Table, door: Option<&dyn Door>) {
    for role in ROLES {
        if let Some(policy) = component.get_mut(role.key()) {
            normalise(policy, role, door);
        }
    }
    // Reads of a mirror are served by a rule that is a word, where it is not one's own.
    if let Some(policy) = component.get_mut(Role::Mirror.key()) {
        let alone = policy.as_table_mut().filter(|table| table.len() == 1).and_then(|table| table.get_mut("name"));
        if let Some(Content::Text(name)) = alone.map(|name| &mut name.content) {
            policy.content = Content::Text(std::mem::take(name));
        }
    }
}

/// Gives a policy of one's own, as somebody writes it, the form that it has among the others: its name, and its parameters
/// in a table of their own. What stands for a name with a colon in it is a class; one that `door` knows is what it brings in.
pub(super) fn normalise(policy: &mut Node, role: Role, door: Option<&dyn Door>) {
    let brings = |name: &str| door.is_some_and(|door| door.names(role).contains(&name));
    if policy.as_text().is_some_and(|name| name.contains(':') || brings(name)) {
        *policy = std::mem::take(policy).wrap("name");
    }
    let Some(table) = policy.as_table_mut() else { return };
    let named = match table.get("name").map(|name| (name.as_text(), name)) {
        None => DOORS.iter().find(|door| table.contains_key(**door)).map(|_| None),
        Some((Some(class), node)) if class.contains(':') => Some(Some(("python", node.clone()))),
        Some((Some(name), node)) if brings(name) => Some(Some(("rust", node.clone()))),
        Some((name, _)) => (name == Some("own")).then_some(None),
    };
    let Some(named) = named else { return };
    if let Some((door, node)) = named {
        table.insert(door.into(), node);
    }
    let origin = table.get("name").map(|name| name.origin.clone()).unwrap_or_default();
    table.insert("name".into(), Node::text("own", origin));
    set_apart(table, &KEYS);
}

/// Gives a device whose mechanism is one's own, as somebody writes it, the form that it has among the others; returns true if it
/// is one. What stands for a name with a colon in it is a class; one that `door` knows is what it brings in.
pub(super) fn normalise_device(device: &mut Table, door: Option<&dyn Door>) -> bool {
    if device.get("mechanism").is_some_and(|mechanism| mechanism.as_text() != Some("own")) {
        return false;
    }
    let named = device.get("name").filter(|name| name.as_text().is_some()).cloned();
    let at = DOORS.into_iter().find(|door| device.contains_key(*door));
    let at = at.or_else(|| match named.as_ref().and_then(Node::as_text) {
        Some(class) if class.contains(':') && !is_file(class) => Some("python"),
        Some(name) if door.is_some_and(|door| door.names(Role::Device).contains(&name)) => Some("rust"),
        _ => None,
    });
    let Some(at) = at else { return device.contains_key("mechanism") };
    match named {
        Some(name) => _ = device.entry(at.into()).or_insert(name),
        None => {
            let title = [at, "symbol"].into_iter().filter_map(|key| device.get(key)?.as_text()).next_back();
            let title = title.unwrap_or("compiled").to_owned();
            device.insert("name".into(), Node::text(title, device[at].origin.inner()));
        }
    }
    device.insert("mechanism".into(), Node::text("own", device[at].origin.inner()));
    let keys: Vec<&str> = KEYS.into_iter().chain(["mechanism", "power"]).collect();
    set_apart(device, &keys);
    true
}

/// Puts what stands beside some keys of a table into a table of its own.
fn set_apart(table: &mut Table, keys: &[&str]) {
    let beside: Vec<String> = table.keys().filter(|key| !keys.contains(&key.as_str())).cloned().collect();
    if beside.is_empty() {
        return;
    }
    let mut parameters = match table.shift_remove("parameters") {
        Some(parameters) if parameters.as_table().is_some() => parameters,
        None | Some(Node { content: Content::Null, .. }) => Node::table(table[&beside[0]].origin.inner()),
        Some(other) => {
            // The check says what is wrong with it.
            table.insert("parameters".into(), other);
            return;
        }
    };
    if let Some(parameters) = parameters.as_table_mut() {
        parameters.extend(beside.into_iter().filter_map(|key| table.shift_remove_entry(&key)));
    }
    table.insert("parameters".into(), parameters);
}

/// Makes room in a table for another policy of one's own than it names so far: what is set on top of it is a parameter.
pub(super) fn make_room(table: &mut Table, key: &str) {
    if DOORS.contains(&key) {
        FOLLOWING.iter().chain(&DOORS).for_each(|other| drop(table.shift_remove(*other)));
    }
}

/// Opens every policy of one's own of a system. Paths of what is wrong lead to where it was written: parameters stand beside
/// the other keys.
pub(super) fn open(system: &mut SystemSpec, door: Option<&dyn Door>, base: &Path, found: &mut Collector) {
    system.visit_mut(&KeyPath::from("system"), &mut |component, path| {
        for (own, role) in component.own_mut() {
            let faults = own.open(role, door, base).err().into_iter().flatten();
            found.extend(faults.map(|fault| fault.of_key(path.step(role.key()))));
        }
    });
}
