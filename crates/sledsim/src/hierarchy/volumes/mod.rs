//! Logical volumes, each a range of blocks somewhere on one of several components (schlosser2004, section 5.3).

mod migration;
mod spec;

pub use spec::{MoveSpec, VolumeSpec, VolumesSpec};

use migration::{LockAction, Migration};
use spec::Extent;

use super::common::{part_of_request, BlockRange, Child, Lock, Outstanding, SplitRequest};
use super::kind::{ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
use crate::convert::to_u32;
use crate::engine::{
    Completion, Component, ComponentId, Context, Count, Descendants, Details, Instrumentation, Payload, PowerLoss,
    ServicePath, Status,
};
use crate::fault::{self, Fault, Faults, Kind};
use crate::request::{Flags, Op, Request};
use crate::time::Time;

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "volumes",
    description: "Logical volumes, each a range of blocks on one of several components.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::of::<VolumesSpec>(),
};

impl ComponentSpec for VolumesSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(Volumes::new(self, children)?))
    }

    fn issues_own_writes(&self) -> bool {
        !self.moves.is_empty()
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        let note = |each: &MoveSpec| {
            let volume = self.volumes.iter().find(|volume| volume.name == each.volume);
            let takes = match (volume, each.mb_per_s) {
                (Some(volume), Some(rate)) => format!(", for at least {:.3} s", volume.bytes as f64 / (rate * 1e6)),
                _ => String::new(),
            };
            format!("moves {} to members[{}] from {} s on{takes}", each.volume, each.to, each.at_s)
        };
        self.moves.iter().map(note).collect()
    }

    fn path_names(&self, children: usize) -> Vec<String> {
        self.names(children)
    }
}

/// The purpose of an access of a member.
#[derive(Clone)]
enum Part {
    /// Part of a write or flush.
    Write { request: u64 },
    /// Part of a read, from its block `first` on. It began after `switches` switches of the volume.
    Read { request: u64, first: u64, volume: usize, switches: u32 },
    /// Part of a write, at the place that the volume moves to.
    SecondWrite { request: u64 },
    /// Access of the current move.
    Chunk,
}

/// A request under way.
#[derive(Clone)]
struct Pending {
    split: SplitRequest,
    /// The volume in which it begins.
    volume: usize,
    /// The lock of a write.
    lock: Option<Lock>,
}

/// A block of a volume.
#[derive(Clone, Copy, Debug)]
struct Position {
    volume: usize,
    /// Index of the block in the volume.
    block: u64,
}

/// The volume of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OriginVolume {
    origin: u32,
    volume: usize,
}

/// Passes requests to the members of their volumes.
#[derive(Clone)]
pub struct Volumes {
    members: Vec<ComponentId>,
    /// Capacity of each member, blocks.
    capacities: Vec<u64>,
    extents: Vec<Extent>,
    /// First block of each volume in the concatenation of all volumes.
    starts: Vec<u64>,
    /// The volumes by increasing origin, if requests address the volume of their origin.
    origins: Option<Vec<OriginVolume>>,
    capacity_blocks: u64,
    block_bytes: u32,
    requests: Outstanding<Pending>,
    parts: Outstanding<Part>,
    paths: Vec<ServicePath>,
    /// Number of requests with blocks of several volumes.
    split_count: u64,
    migration: Migration,
    /// Number of times that each volume has switched its place.
    switches: Vec<u32>,
    /// Reads under way at the current place of each volume.
    reads: Vec<u64>,
}

impl Volumes {
    /// Volumes on `members`.
    ///
    /// # Errors
    /// Volumes that do not fit on their members or contradict each other.
    pub fn new(spec: &VolumesSpec, members: &[Child]) -> Result<Self, Fault> {
        let block_bytes = members.first().ok_or_else(|| Fault::missing("members.0"))?.block_bytes;
        if let Some(other) = members.iter().position(|member| member.block_bytes != block_bytes) {
            return Err(Fault::at(Kind::Misfit, fault::Path::from("members").step(other))
                .says(format!(" has blocks of {} B, ", members[other].block_bytes))
                .key("members.0")
                .says(format!(" of {block_bytes} B: they must be equal")));
        }
        let capacities: Vec<u64> = members.iter().map(|member| member.capacity_blocks).collect();
        let extents = spec.place(&capacities, block_bytes)?;
        let moves = spec.check_moves(&extents, &capacities, block_bytes)?;
        let mut starts = Vec::with_capacity(extents.len());
        let mut total: u64 = 0;
        for extent in &extents {
            starts.push(total);
            total = total
                .checked_add(extent.blocks)
                .ok_or_else(|| Fault::at(Kind::OutOfRange, "volumes").says(": more than 2^64 blocks"))?;
        }
        let origins = spec.by_origin.then(|| origins(&extents)).transpose()?;
        let largest = extents.iter().map(|extent| extent.blocks).max().unwrap_or(0);
        Ok(Self {
            members: members.iter().map(|member| member.id).collect(),
            capacities,
            starts,
            capacity_blocks: if origins.is_some() { largest } else { total },
            origins,
            block_bytes,
            requests: Outstanding::default(),
            parts: Outstanding::default(),
            paths: vec![ServicePath::new("volume"); extents.len()],
            split_count: 0,
            migration: Migration::new(&spec.moves, &moves, block_bytes),
            switches: vec![0; extents.len()],
            reads: vec![0; extents.len()],
            extents,
        })
    }

    /// The position at which a request begins; `None` if its volume is unknown or too small.
    fn find(&self, request: &Request) -> Option<Position> {
        match &self.origins {
            Some(origins) => {
                let found = origins.binary_search_by_key(&request.origin, |entry| entry.origin).ok()?;
                let volume = origins[found].volume;
                request.fits(self.extents[volume].blocks).then_some(Position { volume, block: request.lbn })
            }
            None => {
                let volume = self.starts.partition_point(|&start| start <= request.lbn) - 1;
                Some(Position { volume, block: request.lbn - self.starts[volume] })
            }
        }
    }

    /// The number of a block in the concatenation of all volumes.
    fn absolute(&self, position: Position) -> u64 {
        self.starts[position.volume] + position.block
    }

    /// The range of `blocks` blocks from a position on, in the concatenation of all volumes.
    fn range_of(&self, position: Position, blocks: u32) -> BlockRange {
        let from = self.absolute(position);
        BlockRange::new(from, from + u64::from(blocks))
    }

    /// Sends the parts of a request to the members of their volumes.
    fn begin(
        &mut self,
        request: Request,
        payload: &Payload,
        position: Position,
        lock: Option<u64>,
        context: &mut Context<'_>,
    ) {
        let range = self.range_of(position, request.blocks);
        let lock = lock.map(|id| Lock { id, range });
        let Position { volume, block: mut inside } = position;
        let id = self.requests.insert(Pending { split: SplitRequest::new(request), volume, lock });
        let (mut first, mut parts) = (0, 0);
        for volume in volume..self.extents.len() {
            let extent = &self.extents[volume];
            let blocks = (extent.blocks - inside).min(u64::from(request.blocks) - first);
            let (member, lbn) = (self.members[extent.member], extent.first_block + inside);
            let part = part_of_request(&request, first, blocks, lbn, self.block_bytes);
            let part = Request { arrival: context.now(), ..part };
            if request.op == Op::Read {
                self.reads[volume] += 1;
                let switches = self.switches[volume];
                let part_id = self.parts.insert(Part::Read { request: id, first, volume, switches });
                context.submit(member, Request { id: part_id, ..part });
            } else {
                let data = payload.slice(first, blocks, self.block_bytes);
                let part_id = self.parts.insert(Part::Write { request: id });
                context.submit_with(member, Request { id: part_id, ..part }, data.clone());
                if let Some(second) = self.migration.second_place(volume, inside) {
                    let part_id = self.parts.insert(Part::SecondWrite { request: id });
                    let (lbn, flags) = (second.lbn, request.flags.with(Flags::DURABLE));
                    let member = self.members[second.member];
                    context.submit_with(member, Request { id: part_id, lbn, flags, ..part }, data);
                    parts += 1;
                }
            }
            (first, inside, parts) = (first + blocks, 0, parts + 1);
            if first == u64::from(request.blocks) {
                self.split_count += u64::from(blocks < u64::from(request.blocks));
                break;
            }
        }
        self.requests[id].split.add_parts(parts);
    }

    /// Sends a flush to every member.
    fn flush(&mut self, request: Request, context: &mut Context<'_>) {
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(self.members.len()));
        let request_id = self.requests.insert(Pending { split, volume: 0, lock: None });
        for &member in &self.members {
            let id = self.parts.insert(Part::Write { request: request_id });
            context.submit(member, Request { id, arrival: context.now(), ..request });
        }
    }

    /// Completes a part of a request, and the request with its last part.
    fn complete_part(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        if !self.requests[id].split.complete_part(completion) {
            return;
        }
        let Pending { split, volume, lock } = self.requests.take(id);
        let now = context.now();
        if !split.request.is_flush() {
            self.paths[volume].record(now - split.request.arrival);
        }
        let (completion, payload) = split.finish(now);
        context.complete_with(&completion, payload);
        if let Some(lock) = lock {
            self.migration.release(lock);
        }
    }
}

/// The volumes by increasing origin.
fn origins(extents: &[Extent]) -> Result<Vec<OriginVolume>, Fault> {
    let volumes = extents.iter().enumerate().map(|(volume, extent)| OriginVolume { origin: extent.origin, volume });
    let mut origins: Vec<OriginVolume> = volumes.collect();
    origins.sort_unstable();
    match origins.windows(2).find(|pair| pair[0].origin == pair[1].origin) {
        Some(pair) => Err(Fault::at(Kind::Conflict, format!("volumes.{}", pair[0].volume))
            .says(" and ")
            .key(format!("volumes.{}", pair[1].volume))
            .says(format!(" have the same origin, {}", pair[0].origin))),
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
        let payload = context.payload(&request);
        if request.is_flush() {
            return self.flush(request, context);
        }
        let Some(position) = self.find(&request) else {
            context.complete(&Completion::refused(&request, context.now()));
            return;
        };
        self.start_moves(context);
        if self.migration.is_pending() {
            self.migration.count_request();
            if request.op == Op::Write {
                let range = self.range_of(position, request.blocks);
                self.migration.lock(LockAction::Write(request, payload, position), range);
                self.grant(context);
                return;
            }
        }
        self.begin(request, &payload, position, None, context);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        match self.parts.take(completion.request.id) {
            Part::Write { request } => self.complete_part(request, completion, context),
            Part::Read { request, first, volume, switches } => {
                self.read_completed(volume, switches);
                self.requests[request].split.store_read(first, &answer, self.block_bytes);
                self.complete_part(request, completion, context);
            }
            Part::SecondWrite { request } => {
                self.second_write_completed(completion);
                // The status of the request is that of the old place.
                self.complete_part(request, &Completion { status: Status::Served, ..*completion }, context);
            }
            Part::Chunk => self.chunk_completed(completion, answer, context),
        }
        self.continue_moves(context);
        debug_assert!(self.is_consistent(), "volumes do not overlap");
    }

    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        let Position { volume, block } = self.find(request)?;
        let extent = &self.extents[volume];
        let request = Request { lbn: extent.first_block + block, ..*request };
        below.reach_ns(self.members[extent.member], now, &request)
    }

    fn timer(&mut self, _tag: u64, context: &mut Context<'_>) {
        self.continue_moves(context);
    }
}

impl PowerLoss for Volumes {
    fn absolute_lbn(&self, request: &Request) -> u64 {
        self.find(request).map_or(request.lbn, |position| self.absolute(position))
    }

    fn power_cut(&mut self, _now: Time) {
        self.requests.clear();
        self.parts.clear();
        self.reads.fill(0);
        self.migration.power_cut();
    }

    fn restart(&mut self, context: &mut Context<'_>) {
        self.start_moves(context);
    }
}

impl Instrumentation for Volumes {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (requests, parts) = (self.requests.len(), self.parts.len());
        let reads: u64 = self.reads.iter().sum();
        if at_rest && (requests + parts > 0 || reads > 0) || requests > parts {
            return Err(format!("{requests} requests in {parts} parts, {reads} of them reads, at rest: {at_rest}"));
        }
        if !self.is_consistent() {
            return Err("inconsistent: two volumes overlap, or one exceeds its member".to_owned());
        }
        Ok(())
    }

    /// The paths are the volumes, in their order.
    fn details(&self, _now: Time) -> Option<Details> {
        let moves = self.migration.details(self.block_bytes);
        let counts = [Count::of("split_requests", self.split_count)].into_iter().chain(moves).collect();
        Some(Details { kind: "volumes", counts, paths: self.paths.clone() })
    }

    fn start_measuring(&mut self, _now: Time) {
        self.split_count = 0;
        self.paths.fill(ServicePath::new("volume"));
        self.migration.start_measuring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistent_parts_are_named() {
        type Damage = fn(&mut Volumes);
        let cases: [(&str, Damage); 3] = [
            ("two volumes overlap", |volumes| volumes.extents[1].first_block = 3),
            ("two volumes overlap", |volumes| volumes.extents[1].first_block = 99),
            ("1 of them reads", |volumes| volumes.reads[0] = 1),
        ];
        let volume = |name: &str| serde_json::json!({ "name": name, "bytes": 5120 });
        let spec = serde_json::json!({ "volumes": [volume("a"), volume("b")] });
        let spec: VolumesSpec = serde_json::from_value(spec).expect("a spec");
        for (expected, damage) in cases {
            let member = Child { id: ComponentId(0), capacity_blocks: 100, block_bytes: 512 };
            let mut volumes = Volumes::new(&spec, &[member]).expect("they fit");
            assert_eq!(volumes.check_invariants(true), Ok(()));
            damage(&mut volumes);
            let error = volumes.check_invariants(true).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
