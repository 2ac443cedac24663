//! Describes a system without a run: its components as a tree.

use serde::Serialize;
use serde_json::Value;

use crate::devices::disk::FastWrite;
use crate::engine::System;
use crate::fault::Faults;
use crate::hierarchy::ChildKeys;
use crate::scenario::assemble;
use crate::scenario::specs::scenario::DeviceSpec;
use crate::scenario::specs::system::{SystemKind, SystemSpec};
use crate::units::shown_bytes;

/// A component of a scenario with its descendants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Its key in the parent, such as `disk` or `members[0..4]`; `system` for the whole system.
    pub role: String,
    /// Its path, such as `system.members[2]`; for identical members, that of the first.
    pub path: String,
    /// Number of identical components.
    pub count: u32,
    /// Its kind.
    pub kind: String,
    /// Its name in the scenario.
    pub name: Option<String>,
    /// Number of its blocks.
    pub capacity_blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
    /// Its keys with their values; for a drive's device, its name.
    pub parameters: Value,
    /// Notes: where writes wait, how much data a power cut loses, how many failures it survives.
    pub notes: Vec<String>,
    /// Its children, in the order of the scenario.
    pub children: Vec<Explained>,
}

/// Returns the components of a system as a tree.
///
/// # Errors
/// Parameters contradict each other; the fault names both.
pub fn explain(system: &SystemSpec) -> Result<Explained, Faults> {
    let assembly = assemble::system(System::default(), system, 0)?;
    let sizes: Vec<(&str, u64, u32)> = assembly
        .components
        .iter()
        .map(|each| {
            let component = assembly.system.component(each.id());
            (each.path.as_str(), component.capacity_blocks(), component.block_bytes())
        })
        .collect();
    Ok(of(system, "system", "system".to_owned(), 1, &sizes))
}

fn of(spec: &SystemSpec, role: &str, path: String, count: u32, sizes: &[(&str, u64, u32)]) -> Explained {
    let mut children = Vec::new();
    match spec.child_keys() {
        ChildKeys::Keyed(keys) => children.extend(
            keys.iter()
                .zip(&spec.children)
                .map(|(key, child)| of(&child.system, key.name, format!("{path}.{}", key.name), 1, sizes)),
        ),
        ChildKeys::Members => {
            let mut from = 0;
            for member in &spec.children {
                let role = range("members", from, member.count);
                children.push(of(&member.system, &role, format!("{path}.members[{from}]"), member.count, sizes));
                from += member.count;
            }
        }
    }
    let spares = spec.spares();
    if let Some(first) = spec.children.first().filter(|_| spares > 0) {
        children.push(of(&first.system, &range("spares", 0, spares), format!("{path}.spares[0]"), spares, sizes));
    }
    let size = sizes.iter().find(|(known, ..)| *known == path);
    let notes = match &spec.kind {
        SystemKind::Drive(drive) => {
            [Some(write_note(&drive.device)), actuator_note(&drive.device)].into_iter().flatten().collect()
        }
        SystemKind::Composite(composite) => {
            composite.spec.notes(spec.children.iter().map(|child| u64::from(child.count)).sum())
        }
    };
    Explained {
        role: role.to_owned(),
        count,
        kind: spec.kind().to_owned(),
        name: spec.name.clone(),
        capacity_blocks: size.map_or(0, |&(_, blocks, _)| blocks),
        block_bytes: size.map_or(0, |&(.., bytes)| bytes),
        parameters: spec.own_keys(),
        notes,
        children,
        path,
    }
}

/// Returns the notation of list entries: `members[2]`, or `members[0..4]` for several.
fn range(list: &str, from: u32, count: u32) -> String {
    match count {
        1 => format!("{list}[{from}]"),
        _ => format!("{list}[{from}..{}]", from + count - 1),
    }
}

/// Returns what several actuators do not share.
fn actuator_note(device: &DeviceSpec) -> Option<String> {
    match device {
        DeviceSpec::Disk(disk) if disk.actuator_ranges > 1 => {
            Some(format!("each of {} actuators has its own queue, buffer and write cache", disk.actuator_ranges))
        }
        _ => None,
    }
}

/// Returns where writes to a device wait, and how many of them a power cut loses.
fn write_note(device: &DeviceSpec) -> String {
    let DeviceSpec::Disk(disk) = device else { return "writes wait for the medium here".into() };
    let blocks = match (&disk.write_cache, disk.fast_write) {
        (Some(cache), _) if cache.blocks > 0 => cache.blocks,
        (_, FastWrite::None) => return "writes wait for the medium here".into(),
        _ => u64::from(disk.buffer_segments) * u64::from(disk.segment_blocks),
    };
    let bytes = shown_bytes(u64::from(disk.actuator_ranges) * blocks * u64::from(disk.block_bytes));
    format!("writes are acknowledged from a volatile buffer: a power cut loses up to {bytes} of them")
}
