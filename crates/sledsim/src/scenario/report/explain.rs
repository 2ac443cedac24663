//! A system before it runs: its components as a tree.

use serde::Serialize;
use serde_json::Value;

use super::notes::notes;
use crate::engine::System;
use crate::fault::Faults;
use crate::scenario::assemble;
use crate::scenario::specs::system::{Children, SystemSpec};

/// A component of a scenario, and what is below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// What it is to the component above it: a key such as `disk`, or `members[0..4]`; `system` of the whole.
    pub role: String,
    /// Where it is: `system.members[2]`, members counted one by one; of members that are built alike the first.
    pub path: String,
    /// How many of it there are, built alike.
    pub count: u32,
    /// Its kind.
    pub kind: String,
    /// Its name in the scenario.
    pub name: Option<String>,
    /// Number of its blocks.
    pub capacity_blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
    /// Its keys with their values; of a drive's device its name.
    pub parameters: Value,
    /// What matters of it: where writes wait, what a power cut takes, how many failures it bears.
    pub notes: Vec<String>,
    /// What is below it, in the order of the scenario.
    pub children: Vec<Explained>,
}

/// The components of a system as a tree.
///
/// # Errors
/// What does not fit together: names both sides.
pub fn explain(system: &SystemSpec) -> Result<Explained, Faults> {
    let assembly = assemble::system(System::default(), system, 0)?;
    let sizes: Vec<(&str, u64, u32)> = assembly
        .nodes
        .iter()
        .map(|node| {
            let component = assembly.system.component(node.id());
            (node.path.as_str(), component.capacity_blocks(), component.block_bytes())
        })
        .collect();
    Ok(of(system, "system", "system".to_owned(), 1, &sizes))
}

fn of(spec: &SystemSpec, role: &str, path: String, count: u32, sizes: &[(&str, u64, u32)]) -> Explained {
    let children = match spec.children() {
        Children::None => Vec::new(),
        Children::Keyed(children) => {
            children.into_iter().map(|(key, child)| of(child, key, format!("{path}.{key}"), 1, sizes)).collect()
        }
        Children::Members(members, spares) => {
            let mut first = 0;
            let mut next = |count: u32| {
                first += count;
                (first - count, first - 1)
            };
            let shown = members.iter().map(|member| {
                let (from, to) = next(member.count);
                let role = if from == to { format!("members[{from}]") } else { format!("members[{from}..{to}]") };
                of(&member.system, &role, format!("{path}.members[{from}]"), member.count, sizes)
            });
            let spare = members.first().filter(|_| spares > 0).map(|first| {
                let role = if spares == 1 { "spares[0]".to_owned() } else { format!("spares[0..{}]", spares - 1) };
                of(&first.system, &role, format!("{path}.spares[0]"), spares, sizes)
            });
            shown.chain(spare).collect()
        }
    };
    let size = sizes.iter().find(|(known, ..)| *known == path);
    Explained {
        role: role.to_owned(),
        count,
        kind: spec.kind().to_owned(),
        name: spec.name().map(str::to_owned),
        capacity_blocks: size.map_or(0, |&(_, blocks, _)| blocks),
        block_bytes: size.map_or(0, |&(.., bytes)| bytes),
        parameters: spec.own_keys(),
        notes: notes(spec),
        children,
        path,
    }
}
