//! What matters of a component, in a few words: where writes wait, what a power cut takes, how many failures it bears.

use crate::devices::disk::FastWrite;
use crate::hierarchy::array::{JournalHolds, JournalSpec, RebuildSpec};
use crate::hierarchy::cache::ram::{RamCacheSpec, WritePolicy};
use crate::hierarchy::{McdSpec, MoveSpec, TiersSpec, VolumesSpec};
use crate::scenario::specs::scenario::DeviceSpec;
use crate::scenario::specs::system::{MemberSpec, SystemSpec};
use crate::units::{plural, shown_bytes};

/// Nothing that such a component has acknowledged is lost with power, as far as what is below it keeps its word.
const SAFE: &str = "a power cut takes nothing that was acknowledged";

/// Notes on a component.
pub(in crate::scenario) fn notes(spec: &SystemSpec) -> Vec<String> {
    match spec {
        SystemSpec::Drive(drive) => vec![of_device(&drive.device)],
        SystemSpec::Partition(_) => Vec::new(),
        SystemSpec::Volumes(node) => of_volumes(&node.spec),
        SystemSpec::Concat(_) => vec!["a member that fails takes what it holds with it".into()],
        SystemSpec::Stripe(_) => vec!["a member that fails takes a part of everything with it".into()],
        SystemSpec::Mirror(node) => {
            let copies = count(&node.members);
            let mut notes = vec![format!("writes wait for {}", plural(copies, "member"))];
            notes.extend(of_redundancy(copies.saturating_sub(1), node.spec.spares, &node.spec.rebuild));
            notes.push(of_journal(node.spec.journal.as_ref(), "copies that differ"));
            notes
        }
        SystemSpec::Raid4(node) | SystemSpec::Raid5(node) | SystemSpec::Raid6(node) => {
            let parities = if matches!(spec, SystemSpec::Raid6(_)) { 2 } else { 1 };
            let mut notes = vec![format!(
                "writes of less than a row first read what parity needs, then wait for their members and {} of parity",
                parities
            )];
            notes.extend(of_redundancy(parities, node.spec.spares, &node.spec.rebuild));
            notes.push(of_journal(node.spec.journal.as_ref(), "rows whose parity does not fit"));
            notes
        }
        SystemSpec::RamCache(node) => vec![of_cache(&node.spec)],
        SystemSpec::Mwb(_) => vec![format!("writes are acknowledged when the log on mems has them: {SAFE}")],
        SystemSpec::Mcd(node) => of_caching_disk(&node.spec),
        SystemSpec::Tiers(node) => of_tiers(&node.spec),
    }
}

fn of_device(device: &DeviceSpec) -> String {
    match device {
        DeviceSpec::Disk(disk) if disk.fast_write != FastWrite::None => {
            let blocks = u64::from(disk.buffer_segments) * u64::from(disk.segment_blocks);
            let bytes = shown_bytes(blocks * u64::from(disk.block_bytes));
            format!("writes are acknowledged from a volatile buffer: a power cut takes up to {bytes} of them")
        }
        _ => "writes wait for the medium here".into(),
    }
}

fn of_cache(cache: &RamCacheSpec) -> String {
    match (cache.write, cache.volatile) {
        (WritePolicy::Through, _) => "writes wait for what is below".into(),
        (WritePolicy::Back, false) => format!("writes are acknowledged from non-volatile memory: {SAFE}"),
        (WritePolicy::Back, true) => format!(
            "writes are acknowledged from volatile memory: a power cut takes up to {} of them",
            shown_bytes(cache.bytes / cache.line_bytes.max(1) * cache.line_bytes)
        ),
    }
}

fn of_caching_disk(cache: &McdSpec) -> Vec<String> {
    let by = match cache.shortcut {
        true => format!("mems or {} of non-volatile buffer have them", shown_bytes(cache.buffer_bytes)),
        false => "mems has them".into(),
    };
    let mut notes = vec![format!("writes are acknowledged when {by}: {SAFE}")];
    if !cache.immediate_report {
        notes.push("a changed segment has to reach the disk before another takes its place".into());
    }
    if !cache.partial_write {
        notes.push("writes of a part of a segment wait until the disk has been read".into());
    }
    notes
}

fn of_redundancy(failures: u64, spares: u32, rebuild: &RebuildSpec) -> Vec<String> {
    let mut notes = vec![format!("bears the failure of {}", plural(failures, "member"))];
    if spares > 0 {
        let rate = rebuild.mb_per_s.map_or("as fast as it can".into(), |rate| format!("at {rate} MB/s at most"));
        notes.push(format!("rebuilds on {} {rate}", plural(u64::from(spares), "spare")));
    }
    notes
}

fn of_journal(journal: Option<&JournalSpec>, hole: &str) -> String {
    let Some(journal) = journal else { return format!("without a journal a power cut may leave {hole}") };
    let until = match journal.holds {
        JournalHolds::Data => "",
        JournalHolds::Intents => ", as long as no member has failed",
    };
    let size = shown_bytes(journal.size_bytes);
    format!("writes are entered in {size} of non-volatile journal first: no power cut leaves {hole}{until}")
}

fn of_tiers(spec: &TiersSpec) -> Vec<String> {
    let size = shown_bytes(spec.extent_bytes);
    let moves = match spec.migration.mb_per_s {
        rate if rate > 0.0 => format!("extents of {size} move by use, at {rate} MB/s at most"),
        _ => format!("extents of {size} stay where they were first put"),
    };
    vec![moves, "either child that fails takes what it holds with it".into()]
}

fn of_volumes(spec: &VolumesSpec) -> Vec<String> {
    let note = |each: &MoveSpec| {
        let volume = spec.volumes.iter().find(|volume| volume.name == each.volume);
        let takes = match (volume, each.mb_per_s) {
            (Some(volume), Some(rate)) => format!(", for at least {:.3} s", volume.bytes as f64 / (rate * 1e6)),
            _ => String::new(),
        };
        format!("moves {} to members[{}] from {} s on{takes}", each.volume, each.to, each.at_s)
    };
    spec.moves.iter().map(note).collect()
}

/// How many members there are in all.
fn count(members: &[MemberSpec]) -> u64 {
    members.iter().map(|member| u64::from(member.count)).sum()
}
