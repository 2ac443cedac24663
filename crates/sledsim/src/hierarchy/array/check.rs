//! Whether members, sizes and numbers of an array fit each other.

use super::journal::Journal;
use super::layout::{Layout, Level};
use super::spec::{ArraySpec, JournalHolds, Sparing};

/// Blocks of a stripe unit over members of so many blocks of so many bytes.
///
/// # Errors
/// What does not fit: names both sides.
pub(super) fn unit_blocks(level: Level, sizes: &[(u64, u32)], spec: &ArraySpec) -> Result<u64, String> {
    let (count, spares, fewest) = (sizes.len(), spec.spares as usize, level.fewest_members());
    let name = level.name();
    if count.saturating_sub(spares) < fewest {
        let left = count.saturating_sub(spares);
        return Err(match spares {
            0 => format!("members are {count} in all: {name} needs at least {fewest}"),
            _ => format!("spares = {spares}: of {count} members {left} are left, {name} needs at least {fewest}"),
        });
    }
    if count - spares > level.most_members() {
        return Err(format!("members are {} in all: {name} takes at most {}", count - spares, level.most_members()));
    }
    if spec.sparing == Sparing::Distributed && !matches!(level, Level::Raid5 | Level::Raid6) {
        return Err(format!("sparing is distributed: {name} has no units that go round, only raid5 and raid6 have"));
    }
    let block_bytes = equal_blocks(sizes)?;
    match level {
        // Only the steps of a rebuild depend on it.
        Level::Mirror => Ok((spec.unit_bytes() / u64::from(block_bytes)).max(1)),
        _ => unit(spec.unit_bytes(), block_bytes, sizes),
    }
}

/// Size of the blocks of members.
///
/// # Errors
/// If they differ: names two members.
pub(in crate::hierarchy) fn equal_blocks(sizes: &[(u64, u32)]) -> Result<u32, String> {
    let first = sizes.first().ok_or("members are 0 in all: an array needs at least 1")?.1;
    match sizes.iter().enumerate().find(|(_, &(_, bytes))| bytes != first) {
        Some((i, (_, bytes))) => Err(format!(
            "members[{i}] has blocks of {bytes} B, members[0] of {first} B: members of one array need equal blocks"
        )),
        None => Ok(first),
    }
}

/// Blocks of a stripe unit of so many bytes.
///
/// # Errors
/// If it is no whole number of blocks, or larger than a member.
pub(in crate::hierarchy) fn unit(unit_bytes: u64, block_bytes: u32, sizes: &[(u64, u32)]) -> Result<u64, String> {
    let block = u64::from(block_bytes);
    if unit_bytes == 0 || !unit_bytes.is_multiple_of(block) {
        return Err(format!("unit_bytes = {unit_bytes} is no multiple of the {block} B blocks of members[0]"));
    }
    let unit_blocks = unit_bytes / block;
    match sizes.iter().enumerate().find(|(_, &(blocks, _))| blocks < unit_blocks) {
        Some((i, (blocks, _))) => {
            Err(format!("unit_bytes = {unit_bytes} exceeds the {} B of members[{i}]", blocks * block))
        }
        None => Ok(unit_blocks),
    }
}

/// The layout, with requests cut so that the journal has room for each span.
///
/// # Errors
/// If it has none for a row, or for a block of a mirror: names both sizes.
pub(super) fn journaled(layout: Layout, block_bytes: u32, spec: &ArraySpec) -> Result<Layout, String> {
    let Some(journal) = spec.journal else { return Ok(layout) };
    let block_bytes = u64::from(block_bytes);
    if layout.level() == Level::Mirror && journal.holds == JournalHolds::Data {
        let room_bytes = journal.size_bytes.saturating_sub(Journal::entry_bytes(journal.holds, 0));
        let most_blocks = room_bytes / (block_bytes * layout.columns() as u64);
        return match most_blocks {
            0 => Err(format!(
                "journal.size_bytes = {} is too small for {} copies of a block of {block_bytes} B",
                journal.size_bytes,
                layout.columns()
            )),
            _ => Ok(layout.cut_at(most_blocks)),
        };
    }
    let row_bytes = layout.columns() as u64 * layout.unit_blocks() * block_bytes;
    let entry_bytes = Journal::entry_bytes(journal.holds, row_bytes);
    if entry_bytes > journal.size_bytes {
        return Err(format!(
            "journal.size_bytes = {} is too small for a row of {} units of {} B, which takes {entry_bytes} B",
            journal.size_bytes,
            layout.columns(),
            spec.unit_bytes(),
        ));
    }
    Ok(layout)
}
