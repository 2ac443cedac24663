//! Checks that the members and the parameters of an array fit each other.

use super::journal::Journal;
use super::layout::{Layout, Level};
use super::spec::{ArraySpec, JournalHolds, Sparing};
use crate::fault::{Fault, Kind, Path};

/// A fault of the number of members.
fn members(count: usize) -> Fault {
    Fault::at(Kind::Misfit, "members").says(format!(" are {count} in all"))
}

/// The path of a member.
fn member(number: usize) -> Path {
    Path::from("members").step(number)
}

/// Returns the size of a stripe unit in blocks, given number and size of the blocks of each member.
///
/// # Errors
/// The members or parameters do not fit each other.
pub(super) fn unit_blocks(level: Level, sizes: &[(u64, u32)], spec: &ArraySpec) -> Result<u64, Fault> {
    let (count, spares, fewest) = (sizes.len(), spec.spares as usize, level.fewest_members());
    let name = level.name();
    if count.saturating_sub(spares) < fewest {
        let left = count.saturating_sub(spares);
        return Err(match spares {
            0 => members(count).says(format!(": {name} needs at least {fewest}")),
            _ => Fault::conflict("spares", spares)
                .says(format!(": of {count} members {left} are left, {name} needs at least {fewest}")),
        });
    }
    if count - spares > level.most_members() {
        return Err(members(count - spares).says(format!(": {name} takes at most {}", level.most_members())));
    }
    if spec.sparing == Sparing::Distributed && !matches!(level, Level::Raid5 | Level::Raid6) {
        return Err(Fault::conflict("sparing", "distributed")
            .says(format!(": {name} has no units that go round, only raid5 and raid6 have")));
    }
    let block_bytes = equal_blocks(sizes)?;
    match level {
        // Only the size of rebuild steps depends on it.
        Level::Mirror => Ok((spec.unit_bytes() / u64::from(block_bytes)).max(1)),
        _ => unit(spec.unit_bytes(), block_bytes, sizes),
    }
}

/// Returns the block size of all members.
///
/// # Errors
/// The block sizes of two members differ.
pub(in crate::hierarchy) fn equal_blocks(sizes: &[(u64, u32)]) -> Result<u32, Fault> {
    let first = sizes.first().ok_or_else(|| members(0).says(": an array needs at least 1"))?.1;
    match sizes.iter().enumerate().find(|(_, &(_, bytes))| bytes != first) {
        Some((i, (_, bytes))) => Err(Fault::at(Kind::Misfit, member(i))
            .says(format!(" has blocks of {bytes} B, "))
            .key(member(0))
            .says(format!(" of {first} B: members of one array need equal blocks"))),
        None => Ok(first),
    }
}

/// Converts the size of a stripe unit to blocks.
///
/// # Errors
/// It is not a whole number of blocks, or larger than a member.
pub(in crate::hierarchy) fn unit(unit_bytes: u64, block_bytes: u32, sizes: &[(u64, u32)]) -> Result<u64, Fault> {
    let block = u64::from(block_bytes);
    if unit_bytes == 0 || !unit_bytes.is_multiple_of(block) {
        return Err(Fault::misfit("unit_bytes", unit_bytes)
            .says(format!(" is no multiple of the {block} B blocks of "))
            .key(member(0)));
    }
    let unit_blocks = unit_bytes / block;
    match sizes.iter().enumerate().find(|(_, &(blocks, _))| blocks < unit_blocks) {
        Some((i, (blocks, _))) => {
            let room = format!(" exceeds the {} B of ", blocks * block);
            Err(Fault::misfit("unit_bytes", unit_bytes).says(room).key(member(i)))
        }
        None => Ok(unit_blocks),
    }
}

/// Limits the spans of a layout such that each fits in the journal.
///
/// # Errors
/// The journal is smaller than a row, or than a block of a mirror.
pub(super) fn journaled(layout: Layout, block_bytes: u32, spec: &ArraySpec) -> Result<Layout, Fault> {
    let Some(journal) = spec.journal else { return Ok(layout) };
    let block_bytes = u64::from(block_bytes);
    if layout.level() == Level::Mirror && journal.holds == JournalHolds::Data {
        let room_bytes = journal.size_bytes.saturating_sub(Journal::entry_bytes(journal.holds, 0));
        let most_blocks = room_bytes / (block_bytes * layout.columns() as u64);
        return match most_blocks {
            0 => {
                let needed = format!(" is too small for {} copies of a block of {block_bytes} B", layout.columns());
                Err(Fault::misfit("journal.size_bytes", journal.size_bytes).says(needed))
            }
            _ => Ok(layout.cut_at(most_blocks)),
        };
    }
    let row_bytes = layout.columns() as u64 * layout.unit_blocks() * block_bytes;
    let entry_bytes = Journal::entry_bytes(journal.holds, row_bytes);
    if entry_bytes > journal.size_bytes {
        return Err(Fault::misfit("journal.size_bytes", journal.size_bytes).says(format!(
            " is too small for a row of {} units of {} B, which takes {entry_bytes} B",
            layout.columns(),
            spec.unit_bytes(),
        )));
    }
    Ok(layout)
}
