//! Logical volumes, each a range of blocks somewhere on one of several components (schlosser2004, section 5.3).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::child::Child;
use super::gather::Gather;
use super::partition::whole_blocks;
use super::tickets::Tickets;
use crate::engine::component::Measured;
use crate::engine::{Completion, Component, ComponentId, Context, Count, Details, Path};
use crate::request::{Op, Request};
use crate::time::Time;
use crate::units::shown_bytes;

/// Logical volumes on several components.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumesSpec {
    /// The volumes in the order of their addresses; each whole member is one where there are none.
    #[serde(default)]
    pub volumes: Vec<VolumeSpec>,
    /// Whether a request addresses the volume of its origin (a trace's device number), from block 0 of it; otherwise volumes
    /// follow each other in one space of blocks.
    #[serde(default)]
    pub by_origin: bool,
    /// Volumes that have been moved before the run: the number of the member that each is on, by its name. It takes the first
    /// free range there, and leaves its own free.
    #[serde(default)]
    pub moved: BTreeMap<String, u32>,
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
    /// Number of the member that it is on, from 0.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub member: u32,
    /// Block of the member with which it begins; the one after the volume before it there when absent.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub first_block: Option<u64>,
    /// Origin of its requests; its number, from 0, when absent. Only with `by_origin`.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub origin: Option<u32>,
}

/// Where a volume lies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Extent {
    member: usize,
    first_block: u64,
    blocks: u64,
    origin: u32,
}

impl Extent {
    fn end(&self) -> u64 {
        self.first_block + self.blocks
    }
}

impl VolumesSpec {
    /// Names of the volumes on so many members.
    #[must_use]
    pub fn names(&self, members: usize) -> Vec<String> {
        match self.volumes.as_slice() {
            [] => (0..members).map(|member| format!("member {member}")).collect(),
            volumes => volumes.iter().map(|volume| volume.name.clone()).collect(),
        }
    }

    /// Where each volume lies on members of these capacities.
    fn place(&self, capacities: &[u64], block_bytes: u32) -> Result<Vec<Extent>, String> {
        self.check_names()?;
        let mut extents: Vec<Extent> = Vec::new();
        if self.volumes.is_empty() {
            let whole =
                |(member, &blocks): (usize, &u64)| Extent { member, first_block: 0, blocks, origin: member as u32 };
            return Ok(capacities.iter().enumerate().map(whole).collect());
        }
        for (number, volume) in self.volumes.iter().enumerate() {
            let (key, member) = (format!("volumes[{number}]"), volume.member as usize);
            let capacity = *capacities.get(member).ok_or_else(|| {
                format!("{key}.member = {member}: members has {} in all, from 0 on", capacities.len())
            })?;
            let blocks = whole_blocks(&format!("{key}.bytes"), volume.bytes, block_bytes)?;
            let placed = extents.iter().filter(|other| other.member == member);
            let next = placed.clone().map(Extent::end).max().unwrap_or(0);
            let first_block = volume.first_block.unwrap_or(next);
            let end = first_block.checked_add(blocks).filter(|&end| end <= capacity).ok_or_else(|| {
                let left = capacity.saturating_sub(first_block) * u64::from(block_bytes);
                format!(
                    "{key}.bytes = {}: members[{member}] has {} from block {first_block} on",
                    shown_bytes(volume.bytes),
                    shown_bytes(left)
                )
            })?;
            if let Some(other) = extents
                .iter()
                .position(|other| other.member == member && other.first_block < end && first_block < other.end())
            {
                return Err(format!("{key} and volumes[{other}] overlap on members[{member}]"));
            }
            extents.push(Extent { member, first_block, blocks, origin: volume.origin.unwrap_or(number as u32) });
        }
        self.move_volumes(&mut extents, capacities, block_bytes)?;
        Ok(extents)
    }

    fn check_names(&self) -> Result<(), String> {
        for (number, volume) in self.volumes.iter().enumerate() {
            if let Some(other) = self.volumes[..number].iter().position(|other| other.name == volume.name) {
                return Err(format!("volumes[{number}].name = {:?} is the name of volumes[{other}] too", volume.name));
            }
            if let (Some(origin), false) = (volume.origin, self.by_origin) {
                return Err(format!("volumes[{number}].origin = {origin} says nothing without by_origin = true"));
            }
        }
        let known: Vec<&str> = self.volumes.iter().map(|volume| volume.name.as_str()).collect();
        match self.moved.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                Err(format!("moved.{name}: there is no such volume in volumes (known: {})", known.join(", ")))
            }
            None => Ok(()),
        }
    }

    /// Moves what is to be moved, in the order of the volumes.
    fn move_volumes(&self, extents: &mut [Extent], capacities: &[u64], block_bytes: u32) -> Result<(), String> {
        for (number, volume) in self.volumes.iter().enumerate() {
            let Some(member) = self.moved.get(&volume.name).map(|&member| member as usize) else { continue };
            let name = &volume.name;
            let capacity = *capacities.get(member).ok_or_else(|| {
                format!("moved.{name} = {member}: members has {} in all, from 0 on", capacities.len())
            })?;
            let others =
                extents.iter().enumerate().filter(|&(other, extent)| other != number && extent.member == member);
            let mut taken: Vec<(u64, u64)> = others.map(|(_, other)| (other.first_block, other.end())).collect();
            taken.push((capacity, capacity));
            taken.sort_unstable();
            let (mut free_from, mut longest) = (0, 0);
            let mut found = None;
            for (first, end) in taken {
                longest = longest.max(first.saturating_sub(free_from));
                if found.is_none() && first.saturating_sub(free_from) >= extents[number].blocks {
                    found = Some(free_from);
                }
                free_from = free_from.max(end);
            }
            let first_block = found.ok_or_else(|| {
                format!(
                    "moved.{name} = {member}: the volume has {}, members[{member}] at most {} free in one piece",
                    shown_bytes(volume.bytes),
                    shown_bytes(longest * u64::from(block_bytes))
                )
            })?;
            (extents[number].member, extents[number].first_block) = (member, first_block);
        }
        Ok(())
    }
}

/// A part of a request: of which one, and with which block of it it begins.
struct Part {
    whole: u64,
    first: u64,
}

/// A request under way, and the volume in which it begins.
struct Pending {
    gather: Gather,
    volume: usize,
    submitted: Time,
}

/// Serves each volume by the member that it is on.
pub struct Volumes {
    members: Vec<ComponentId>,
    extents: Vec<Extent>,
    /// With which block of the one space each volume begins.
    starts: Vec<u64>,
    /// Origins in order, with the volume of each; `None` where volumes follow each other.
    origins: Option<Vec<(u32, usize)>>,
    capacity_blocks: u64,
    block_bytes: u32,
    requests: Tickets<Pending>,
    parts: Tickets<Part>,
    paths: Vec<Path>,
    split: u64,
}

impl Volumes {
    /// Volumes on `members`, which have blocks of one size.
    ///
    /// # Errors
    /// Volumes that do not fit their members, or contradict each other: names both.
    pub fn new(spec: &VolumesSpec, members: &[Child]) -> Result<Self, String> {
        let block_bytes = members.first().ok_or("members is empty: it needs at least one entry")?.block_bytes;
        let capacities: Vec<u64> = members.iter().map(|member| member.capacity_blocks).collect();
        let extents = spec.place(&capacities, block_bytes)?;
        let mut starts = Vec::with_capacity(extents.len());
        let mut total: u64 = 0;
        for extent in &extents {
            starts.push(total);
            total = total.checked_add(extent.blocks).ok_or("volumes: more blocks than can be counted")?;
        }
        let origins = spec.by_origin.then(|| origins(&extents)).transpose()?;
        let largest = extents.iter().map(|extent| extent.blocks).max().unwrap_or(0);
        let capacity_blocks = if origins.is_some() { largest } else { total };
        let paths = vec![Path::new("volume"); extents.len()];
        let members = members.iter().map(|member| member.id).collect();
        let (requests, parts) = (Tickets::default(), Tickets::default());
        Ok(Self { members, extents, starts, origins, capacity_blocks, block_bytes, requests, parts, paths, split: 0 })
    }

    /// The volume in which a request begins, and where in it; `None` where it has no place.
    fn find(&self, request: &Request) -> Option<(usize, u64)> {
        let end = request.lbn.checked_add(u64::from(request.blocks)).filter(|_| request.blocks > 0)?;
        match &self.origins {
            Some(origins) => {
                let found = origins.binary_search_by_key(&request.origin, |&(origin, _)| origin).ok()?;
                let volume = origins[found].1;
                (end <= self.extents[volume].blocks).then_some((volume, request.lbn))
            }
            None if end > self.capacity_blocks => None,
            None => {
                let volume = self.starts.partition_point(|&start| start <= request.lbn) - 1;
                Some((volume, request.lbn - self.starts[volume]))
            }
        }
    }
}

/// Origins in order, with the volume of each.
fn origins(extents: &[Extent]) -> Result<Vec<(u32, usize)>, String> {
    let mut origins: Vec<(u32, usize)> = extents.iter().map(|extent| extent.origin).zip(0..).collect();
    origins.sort_unstable();
    match origins.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            Err(format!("volumes[{}] and volumes[{}] have the same origin, {}", pair[0].1, pair[1].1, pair[0].0))
        }
        None => Ok(origins),
    }
}

impl Component for Volumes {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        let payload = context.payload(&request);
        let Some((volume, mut inside)) = self.find(&request) else {
            context.complete(&Completion::refused(&request, now));
            return;
        };
        let whole = self.requests.issue(Pending { gather: Gather::new(request), volume, submitted: now });
        let block_bytes = u64::from(self.block_bytes);
        let needed = request.needed(self.block_bytes);
        let needed_from = (needed.lbn - request.lbn) * block_bytes + u64::from(needed.front_bytes);
        let needed_to = needed_from + needed.bytes(self.block_bytes);
        let (mut first, mut parts) = (0, 0);
        for extent in &self.extents[volume..] {
            let blocks = (extent.blocks - inside).min(u64::from(request.blocks) - first);
            let (from, to) = (first * block_bytes, (first + blocks) * block_bytes);
            let part_from = needed_from.max(from);
            let part_bytes = needed_to.min(to).saturating_sub(part_from);
            let data =
                if request.op == Op::Write { payload.slice(first, blocks, self.block_bytes) } else { payload.clone() };
            let id = self.parts.issue(Part { whole, first });
            let part = Request { id, lbn: extent.first_block + inside, blocks: blocks as u32, arrival: now, ..request };
            let first_needed = if part_bytes == 0 { 0 } else { part_from - from };
            context.submit_with(
                self.members[extent.member],
                part.needing(first_needed, part_bytes, self.block_bytes),
                data,
            );
            (first, inside, parts) = (first + blocks, 0, parts + 1);
            if first == u64::from(request.blocks) {
                break;
            }
        }
        self.split += u64::from(parts > 1);
        if let Some(pending) = self.requests.get_mut(whole) {
            pending.gather.expect(parts);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.answer(child, completion);
        let Some(Part { whole, first }) = self.parts.settle(completion.request.id) else { return };
        let Some(pending) = self.requests.get_mut(whole) else { return };
        pending.gather.bring(first, &answer, self.block_bytes);
        if !pending.gather.part(completion) {
            return;
        }
        if let Some(Pending { gather, volume, submitted }) = self.requests.settle(whole) {
            let now = context.now();
            self.paths[volume].record(now - submitted);
            let (completion, payload) = gather.finish(now);
            context.complete_with(&completion, payload);
        }
    }

    fn power_cut(&mut self, _now: Time) {
        self.requests.clear();
        self.parts.clear();
    }

    fn timer(&mut self, _tag: u64, _context: &mut Context<'_>) {
        // Sets none.
    }

    /// A path for each volume, in their order.
    fn details(&self, _now: Time) -> Option<Details> {
        let counts = vec![Count::of("split_requests", self.split)];
        Some(Details { kind: "volumes", counts, paths: self.paths.clone() })
    }

    fn start_measuring(&mut self, _now: Time) {
        self.split = 0;
        self.paths.fill(Path::new("volume"));
    }

    fn measured(&self, _now: Time) -> Measured {
        // Its members report for themselves.
        Measured::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // c takes the room that a leaves, if a leaves first.
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
    fn what_does_not_fit_is_refused_with_both_sides() {
        let refused = |change: &dyn Fn(&mut VolumesSpec), problem: &str| {
            let mut spec = spec();
            change(&mut spec);
            let member = |id, capacity_blocks| Child { id: ComponentId(id), capacity_blocks, block_bytes: 512 };
            let made = Volumes::new(&spec, &[member(0, 100), member(1, 80)]);
            let error = made.map(|_| ()).expect_err(problem);
            assert!(error.contains(problem), "{error}");
        };
        refused(
            &|spec| spec.volumes[1].bytes += 512,
            "volumes[1].bytes = 31232 B: members[0] has 30 KiB from block 40 on",
        );
        refused(&|spec| spec.volumes[1].first_block = Some(39), "volumes[1] and volumes[0] overlap on members[0]");
        refused(&|spec| spec.volumes[2].member = 2, "volumes[2].member = 2: members has 2 in all");
        refused(&|spec| spec.volumes[2].bytes = 700, "volumes[2].bytes = 700 is no multiple of the 512 B blocks");
        refused(&|spec| spec.volumes[2].name = "a".into(), "volumes[2].name = \"a\" is the name of volumes[0] too");
        refused(&|spec| spec.volumes[2].origin = Some(4), "volumes[2].origin = 4 says nothing without by_origin");
        refused(
            &|spec| spec.moved = [("x".into(), 1)].into(),
            "moved.x: there is no such volume in volumes (known: a, b, c)",
        );
        refused(&|spec| spec.moved = [("a".into(), 9)].into(), "moved.a = 9: members has 2 in all");
        refused(
            &|spec| spec.moved = [("b".into(), 1)].into(),
            "moved.b = 1: the volume has 30 KiB, members[1] at most 25 KiB free in one piece",
        );
        let same = |spec: &mut VolumesSpec| (spec.by_origin, spec.volumes[2].origin) = (true, Some(1));
        refused(&same, "volumes[1] and volumes[2] have the same origin, 1");
    }
}
