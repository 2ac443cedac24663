//! The parameters of volumes, and the places that follow from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::convert::to_u32;
use crate::fault::{Fault, Kind, Path};
use crate::hierarchy::partition::whole_blocks;
use crate::units::shown_bytes;

/// Logical volumes on several components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VolumesSpec {
    /// The volumes in the order of their addresses; if absent, each member is a volume.
    pub volumes: Vec<VolumeSpec>,
    /// If true, a request addresses blocks of the volume of its origin (a trace's device number); otherwise all volumes form one
    /// address space, one after the other.
    pub by_origin: bool,
    /// Volumes that were moved before the run, by name: the number of the member of each. A volume takes the first free range there,
    /// and its old range is free.
    pub moved: BTreeMap<String, u32>,
    /// Moves of volumes during the run, one after the other in this order.
    pub moves: Vec<MoveSpec>,
}

/// A logical volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeSpec {
    /// Its name.
    pub name: String,
    /// Its size; a multiple of the block size.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub bytes: u64,
    /// Number of its member, from 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub member: u32,
    /// Its first block on the member; by default the block after the volume before it there.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub first_block: Option<u64>,
    /// Origin of its requests; by default its number, from 0. Only with `by_origin`.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub origin: Option<u32>,
}

/// A move of a volume to another place while requests continue. It is copied in chunks. Until all chunks are copied, reads are
/// served from the old place, and writes of copied blocks are made at both places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveSpec {
    /// Name of the volume.
    pub volume: String,
    /// Number of the target member, from 0. The volume takes the first free range there.
    #[schemars(range(min = 0))]
    pub to: u32,
    /// Earliest time at which it begins; it waits for the end of the move before it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub at_s: f64,
    /// Size of a chunk, a multiple of the block size. Writes of a chunk wait while it is copied.
    #[serde(default = "mebibyte")]
    #[schemars(range(min = 1, max = 1073741824), extend("x-unit" = "B"))]
    pub chunk_bytes: u64,
    /// Bandwidth limit of the copy, by chunk; no limit if absent.
    #[serde(default)]
    #[schemars(range(min = 0.000001, max = 1000000.0), extend("x-unit" = "MB/s"))]
    pub mb_per_s: Option<f64>,
}

const fn mebibyte() -> u64 {
    1 << 20
}

/// The place of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) member: usize,
    pub(super) first_block: u64,
    pub(super) blocks: u64,
    pub(super) origin: u32,
}

impl Extent {
    fn end(&self) -> u64 {
        self.first_block + self.blocks
    }
}

/// First block of the first free range of `blocks` blocks on a member of `capacity` blocks. The extent `leaving` counts as free.
///
/// # Errors
/// The length of the longest free range, if it is shorter.
pub(super) fn first_free(
    extents: &[Extent],
    leaving: Option<usize>,
    member: usize,
    capacity: u64,
    blocks: u64,
) -> Result<u64, u64> {
    let others =
        extents.iter().enumerate().filter(|&(other, extent)| Some(other) != leaving && extent.member == member);
    let mut taken: Vec<(u64, u64)> = others.map(|(_, other)| (other.first_block, other.end())).collect();
    taken.push((capacity, capacity));
    taken.sort_unstable();
    let (mut free_from, mut longest) = (0, 0);
    for (first, end) in taken {
        let free = first.saturating_sub(free_from);
        if free >= blocks {
            return Ok(free_from);
        }
        longest = longest.max(free);
        free_from = free_from.max(end);
    }
    Err(longest)
}

impl VolumesSpec {
    /// Names of the volumes on `members` members.
    #[must_use]
    pub fn names(&self, members: usize) -> Vec<String> {
        match self.volumes.as_slice() {
            [] => (0..members).map(|member| format!("member {member}")).collect(),
            volumes => volumes.iter().map(|volume| volume.name.clone()).collect(),
        }
    }

    /// The place of each volume on members of these capacities, in blocks.
    pub(super) fn place(&self, capacities: &[u64], block_bytes: u32) -> Result<Vec<Extent>, Fault> {
        self.check_names()?;
        let mut extents: Vec<Extent> = Vec::new();
        if self.volumes.is_empty() {
            let whole =
                |(member, &blocks): (usize, &u64)| Extent { member, first_block: 0, blocks, origin: to_u32(member) };
            return Ok(capacities.iter().enumerate().map(whole).collect());
        }
        for (number, volume) in self.volumes.iter().enumerate() {
            let (key, member) = (Path::from("volumes").step(number), volume.member as usize);
            let capacity = capacity_of(&key.step("member"), member, capacities)?;
            let blocks = whole_blocks(key.step("bytes"), volume.bytes, block_bytes)?;
            let placed = extents.iter().filter(|other| other.member == member);
            let next = placed.clone().map(Extent::end).max().unwrap_or(0);
            let first_block = volume.first_block.unwrap_or(next);
            let end = first_block.checked_add(blocks).filter(|&end| end <= capacity).ok_or_else(|| {
                let left = capacity.saturating_sub(first_block) * u64::from(block_bytes);
                Fault::misfit(key.step("bytes"), volume.bytes)
                    .says(": ")
                    .key(member_path(member))
                    .says(format!(" has {} from block {first_block} on", shown_bytes(left)))
            })?;
            if let Some(other) = extents
                .iter()
                .position(|other| other.member == member && other.first_block < end && first_block < other.end())
            {
                return Err(Fault::at(Kind::Conflict, key)
                    .says(" and ")
                    .key(Path::from("volumes").step(other))
                    .says(" overlap on ")
                    .key(member_path(member)));
            }
            extents.push(Extent { member, first_block, blocks, origin: volume.origin.unwrap_or(to_u32(number)) });
        }
        for (number, volume) in self.volumes.iter().enumerate() {
            if let Some(&member) = self.moved.get(&volume.name) {
                let key = Path::from("moved").step(&volume.name);
                let leaving = Some(number);
                relocate(&mut extents, number, leaving, member as usize, capacities, block_bytes, &key)?;
            }
        }
        Ok(extents)
    }

    /// The volume of each move. Checks that each finds a place if no move fails.
    pub(super) fn check_moves(
        &self,
        extents: &[Extent],
        capacities: &[u64],
        block_bytes: u32,
    ) -> Result<Vec<usize>, Fault> {
        let names = self.names(capacities.len());
        let mut extents = extents.to_vec();
        let mut volumes = Vec::new();
        for (entry, MoveSpec { volume, to, chunk_bytes, .. }) in self.moves.iter().enumerate() {
            let key = Path::from("moves").step(entry);
            let number = names
                .iter()
                .position(|name| name == volume)
                .ok_or_else(|| Fault::unknown_name(key.step("volume"), volume, names.iter().map(String::as_str)))?;
            whole_blocks(key.step("chunk_bytes"), *chunk_bytes, block_bytes)?;
            // The old place is free only after the move.
            relocate(&mut extents, number, None, *to as usize, capacities, block_bytes, &key.step("to"))?;
            volumes.push(number);
        }
        Ok(volumes)
    }

    fn check_names(&self) -> Result<(), Fault> {
        for (number, volume) in self.volumes.iter().enumerate() {
            let key = Path::from("volumes").step(number);
            if let Some(other) = self.volumes[..number].iter().position(|other| other.name == volume.name) {
                return Err(Fault::conflict(key.step("name"), volume.name.as_str())
                    .says(" is the name of ")
                    .key(Path::from("volumes").step(other))
                    .says(" too"));
            }
            if let (Some(origin), false) = (volume.origin, self.by_origin) {
                return Err(Fault::conflict(key.step("origin"), origin)
                    .says(" has no effect without ")
                    .key_is("by_origin", true));
            }
        }
        let known: Vec<&str> = self.volumes.iter().map(|volume| volume.name.as_str()).collect();
        match self.moved.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(Fault::unknown_key(Path::from("moved").step(name), known)),
            None => Ok(()),
        }
    }
}

/// The key of a member.
fn member_path(member: usize) -> Path {
    Path::from("members").step(member)
}

fn capacity_of(key: &Path, member: usize, capacities: &[u64]) -> Result<u64, Fault> {
    let found = capacities.get(member).copied();
    found.ok_or_else(|| {
        let says = format!(" has {} in all, from 0 on", capacities.len());
        Fault::misfit(key, member).says(": ").key("members").says(says)
    })
}

/// Moves a volume to the first free range of a member, as `key` demands.
fn relocate(
    extents: &mut [Extent],
    volume: usize,
    leaving: Option<usize>,
    member: usize,
    capacities: &[u64],
    block_bytes: u32,
    key: &Path,
) -> Result<(), Fault> {
    let capacity = capacity_of(key, member, capacities)?;
    let blocks = extents[volume].blocks;
    let first_block = first_free(extents, leaving, member, capacity, blocks).map_err(|longest| {
        Fault::misfit(key, member)
            .says(format!(": the volume has {}, ", shown_bytes(blocks * u64::from(block_bytes))))
            .key(member_path(member))
            .says(format!(" at most {} free in one piece", shown_bytes(longest * u64::from(block_bytes))))
    })?;
    (extents[volume].member, extents[volume].first_block) = (member, first_block);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ComponentId;
    use crate::hierarchy::{Child, Volumes};

    fn volume(name: &str, blocks: u64, member: u32) -> VolumeSpec {
        VolumeSpec { name: name.into(), bytes: blocks * 512, member, first_block: None, origin: None }
    }

    fn spec() -> VolumesSpec {
        let volumes = vec![volume("a", 40, 0), volume("b", 60, 0), volume("c", 30, 1)];
        VolumesSpec { volumes, ..VolumesSpec::default() }
    }

    fn extent(member: usize, first_block: u64, blocks: u64, origin: u32) -> Extent {
        Extent { member, first_block, blocks, origin }
    }

    #[test]
    fn volumes_follow_each_other_on_their_members_unless_moved() {
        let placed = spec().place(&[100, 80], 512);
        assert_eq!(placed, Ok(vec![extent(0, 0, 40, 0), extent(0, 40, 60, 1), extent(1, 0, 30, 2)]));
        // Volume c takes the space that a leaves.
        let mut moved = spec();
        moved.moved = [("a".to_owned(), 1), ("c".to_owned(), 0)].into();
        assert_eq!(
            moved.place(&[100, 80], 512),
            Ok(vec![extent(1, 30, 40, 0), extent(0, 40, 60, 1), extent(0, 0, 30, 2)])
        );
        let whole = VolumesSpec::default().place(&[5, 6], 512);
        assert_eq!(whole, Ok(vec![extent(0, 0, 5, 0), extent(1, 0, 6, 1)]));
    }

    #[test]
    fn volumes_that_do_not_fit_are_rejected_with_both_keys() {
        let rejected = |change: &dyn Fn(&mut VolumesSpec), problem: &str| {
            let mut spec = spec();
            change(&mut spec);
            let member = |id, capacity_blocks| Child { id: ComponentId(id), capacity_blocks, block_bytes: 512 };
            let made = Volumes::new(&spec, &[member(0, 100), member(1, 80)]);
            let error = made.map(|_| ()).expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        };
        rejected(
            &|spec| spec.volumes[1].bytes += 512,
            "volumes.1.bytes = 31232: members.0 has 30 KiB from block 40 on",
        );
        rejected(&|spec| spec.volumes[1].first_block = Some(39), "volumes.1 and volumes.0 overlap on members.0");
        rejected(&|spec| spec.volumes[2].member = 2, "volumes.2.member = 2: members has 2 in all");
        rejected(&|spec| spec.volumes[2].bytes = 700, "volumes.2.bytes = 700 is no multiple of the 512 B blocks");
        rejected(&|spec| spec.volumes[2].name = "a".into(), "volumes.2.name = \"a\" is the name of volumes.0 too");
        rejected(&|spec| spec.volumes[2].origin = Some(4), "volumes.2.origin = 4 has no effect without by_origin");
        rejected(&|spec| spec.moved = [("x".into(), 1)].into(), "unknown key moved.x (known: a, b, c)");
        rejected(&|spec| spec.moved = [("a".into(), 9)].into(), "moved.a = 9: members has 2 in all");
        rejected(
            &|spec| spec.moved = [("b".into(), 1)].into(),
            "moved.b = 1: the volume has 30 KiB, members.1 at most 25 KiB free in one piece",
        );
        let step = |volume: &str, to, chunk_bytes| {
            let (volume, mb_per_s) = (volume.to_owned(), None);
            vec![MoveSpec { volume, to, at_s: 0.0, chunk_bytes, mb_per_s }]
        };
        rejected(&|spec| spec.moves = step("x", 1, 512), "moves.0.volume = \"x\" is not known (known: a, b, c)");
        rejected(&|spec| spec.moves = step("a", 2, 512), "moves.0.to = 2: members has 2 in all");
        rejected(
            &|spec| spec.moves = step("a", 1, 700),
            "moves.0.chunk_bytes = 700 is no multiple of the 512 B blocks",
        );
        rejected(
            &|spec| spec.moves = step("b", 1, 512),
            "moves.0.to = 1: the volume has 30 KiB, members.1 at most 25 KiB free in one piece",
        );
        // Its old place is not free during the move.
        rejected(&|spec| spec.moves = step("b", 0, 512), "members.0 at most 0 B free in one piece");
        let same = |spec: &mut VolumesSpec| (spec.by_origin, spec.volumes[2].origin) = (true, Some(1));
        rejected(&same, "volumes.1 and volumes.2 have the same origin, 1");
    }
}
