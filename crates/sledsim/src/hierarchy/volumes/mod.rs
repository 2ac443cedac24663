//! Logical volumes, each a range of blocks somewhere on one of several components (schlosser2004, section 5.3).

mod migration;
mod spec;

pub use spec::{MoveSpec, VolumeSpec, VolumesSpec};

use migration::{LockAction, Migration};
use spec::Extent;

use super::common::{BlockRange, Child, Lock, Outstanding, SplitRequest};
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

/// What an access to a member is.
#[derive(Clone)]
enum Part {
    /// A part of a write or of a flush: of which one.
    Write { whole: u64 },
    /// A part of a read: of which one, with which block of it it begins, from which volume, and which of the places that it
    /// has had.
    Read { whole: u64, first: u64, volume: usize, place: u32 },
    /// A write that is made where the volume moves to.
    Double { whole: u64 },
    /// An access of a move.
    Chunk,
}

/// A request under way, and the volume in which it begins.
#[derive(Clone)]
struct Pending {
    split: SplitRequest,
    volume: usize,
    /// Its lock.
    lock: Option<Lock>,
}

/// A block of a volume.
#[derive(Clone, Copy, Debug)]
struct Position {
    volume: usize,
    /// Index of the block in the volume.
    block: u64,
}

/// Serves each volume by the member that it is on.
#[derive(Clone)]
pub struct Volumes {
    members: Vec<ComponentId>,
    /// Blocks of each member.
    capacities: Vec<u64>,
    extents: Vec<Extent>,
    /// With which block of the one space each volume begins.
    starts: Vec<u64>,
    /// Origins in order, with the volume of each; `None` where volumes follow each other.
    origins: Option<Vec<(u32, usize)>>,
    capacity_blocks: u64,
    block_bytes: u32,
    requests: Outstanding<Pending>,
    parts: Outstanding<Part>,
    paths: Vec<ServicePath>,
    split_count: u64,
    /// Moves during the run.
    migration: Migration,
    /// How often each volume has changed its place, and the reads under way at its present one.
    places: Vec<u32>,
    reads: Vec<u64>,
}

impl Volumes {
    /// Volumes on `members`.
    ///
    /// # Errors
    /// Volumes that do not fit their members, or contradict each other: names both.
    pub fn new(spec: &VolumesSpec, members: &[Child]) -> Result<Self, Fault> {
        let block_bytes = members.first().ok_or_else(|| Fault::missing("members.0"))?.block_bytes;
        if let Some(other) = members.iter().position(|member| member.block_bytes != block_bytes) {
            return Err(Fault::at(Kind::Misfit, fault::Path::from("members").step(other))
                .says(format!(" has blocks of {} B, ", members[other].block_bytes))
                .key("members.0")
                .says(format!(" of {block_bytes} B: what they make up needs equal blocks")));
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
                .ok_or_else(|| Fault::at(Kind::OutOfRange, "volumes").says(": more blocks than can be counted"))?;
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
            places: vec![0; extents.len()],
            reads: vec![0; extents.len()],
            extents,
        })
    }

    /// The position at which a request begins; `None` if it does not fit.
    fn find(&self, request: &Request) -> Option<Position> {
        match &self.origins {
            Some(origins) => {
                let found = origins.binary_search_by_key(&request.origin, |&(origin, _)| origin).ok()?;
                let volume = origins[found].1;
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

    /// Blocks from a position on, in the concatenation of all volumes.
    fn range_of(&self, position: Position, blocks: u32) -> BlockRange {
        let from = self.absolute(position);
        BlockRange::new(from, from + u64::from(blocks))
    }

    /// Sends a request to the members that have its blocks.
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
        let whole = self.requests.insert(Pending { split: SplitRequest::new(request), volume, lock });
        let block_bytes = u64::from(self.block_bytes);
        let needed = request.needed(self.block_bytes);
        let needed_from = (needed.lbn - request.lbn) * block_bytes + u64::from(needed.front_bytes);
        let needed_to = needed_from + needed.bytes(self.block_bytes);
        let (mut first, mut parts) = (0, 0);
        for volume in volume..self.extents.len() {
            let extent = &self.extents[volume];
            let blocks = (extent.blocks - inside).min(u64::from(request.blocks) - first);
            let (from, to) = (first * block_bytes, (first + blocks) * block_bytes);
            let part_from = needed_from.max(from);
            let part_bytes = needed_to.min(to).saturating_sub(part_from);
            let first_needed = if part_bytes == 0 { 0 } else { part_from - from };
            let (member, lbn) = (self.members[extent.member], extent.first_block + inside);
            let part = Request { lbn, blocks: to_u32(blocks), arrival: context.now(), ..request };
            let part = part.with_needed_bytes(first_needed, part_bytes, self.block_bytes);
            if request.op == Op::Read {
                self.reads[volume] += 1;
                let place = self.places[volume];
                let id = self.parts.insert(Part::Read { whole, first, volume, place });
                context.submit(member, Request { id, ..part });
            } else {
                let data = payload.slice(first, blocks, self.block_bytes);
                let id = self.parts.insert(Part::Write { whole });
                context.submit_with(member, Request { id, ..part }, data.clone());
                if let Some((to, lbn)) = self.migration.double(volume, inside) {
                    let id = self.parts.insert(Part::Double { whole });
                    let flags = request.flags.with(Flags::DURABLE);
                    context.submit_with(self.members[to], Request { id, lbn, flags, ..part }, data);
                    parts += 1;
                }
            }
            (first, inside, parts) = (first + blocks, 0, parts + 1);
            if first == u64::from(request.blocks) {
                self.split_count += u64::from(blocks < u64::from(request.blocks));
                break;
            }
        }
        self.pending(whole).split.add_parts(parts);
    }

    /// Sends a flush to every member: volumes may have blocks anywhere, and a move leaves none behind that it has not made last.
    fn flush(&mut self, request: Request, context: &mut Context<'_>) {
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(self.members.len()));
        let whole = self.requests.insert(Pending { split, volume: 0, lock: None });
        for &member in &self.members {
            let id = self.parts.insert(Part::Write { whole });
            context.submit(member, Request { id, arrival: context.now(), ..request });
        }
    }

    fn pending(&mut self, whole: u64) -> &mut Pending {
        self.requests.get_mut(whole).expect("a request is under way as long as one of its parts is")
    }

    /// A part of a request is over; the last one completes it.
    fn part(&mut self, whole: u64, completion: &Completion, context: &mut Context<'_>) {
        if !self.pending(whole).split.complete_part(completion) {
            return;
        }
        let Pending { split, volume, lock } = self.requests.remove(whole).expect("it was there just now");
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

/// Origins in order, with the volume of each.
fn origins(extents: &[Extent]) -> Result<Vec<(u32, usize)>, Fault> {
    let mut origins: Vec<(u32, usize)> = extents.iter().map(|extent| extent.origin).zip(0..).collect();
    origins.sort_unstable();
    match origins.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let (first, second) = (&pair[0], &pair[1]);
            Err(Fault::at(Kind::Conflict, format!("volumes.{}", first.1))
                .says(" and ")
                .key(format!("volumes.{}", second.1))
                .says(format!(" have the same origin, {}", first.0)))
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
        let payload = context.payload(&request);
        if request.is_flush() {
            return self.flush(request, context);
        }
        let Some(position) = self.find(&request) else {
            context.complete(&Completion::refused(&request, context.now()));
            return;
        };
        self.wake(context);
        if self.migration.is_pending() {
            self.migration.note_request();
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
        match self.parts.remove(completion.request.id).expect("what comes back was sent, and comes back once") {
            Part::Write { whole } => self.part(whole, completion, context),
            Part::Read { whole, first, volume, place } => {
                self.read_over(volume, place);
                let block_bytes = self.block_bytes;
                self.pending(whole).split.store_read(first, &answer, block_bytes);
                self.part(whole, completion, context);
            }
            Part::Double { whole } => {
                self.doubled(completion);
                // The old place decides what came of it.
                self.part(whole, &Completion { status: Status::Served, ..*completion }, context);
            }
            Part::Chunk => self.chunk_over(completion, answer, context),
        }
        self.move_on(context);
        debug_assert!(self.is_sound(), "no two volumes share a place");
    }

    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        let Position { volume, block } = self.find(request)?;
        let extent = &self.extents[volume];
        let request = Request { lbn: extent.first_block + block, ..*request };
        below.reach_ns(self.members[extent.member], now, &request)
    }

    fn timer(&mut self, _tag: u64, context: &mut Context<'_>) {
        self.move_on(context);
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
        self.wake(context);
    }
}

impl Instrumentation for Volumes {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (requests, parts) = (self.requests.len(), self.parts.len());
        let reads: u64 = self.reads.iter().sum();
        if at_rest && (requests + parts > 0 || reads > 0) || requests > parts {
            return Err(format!("{requests} requests in {parts} parts, {reads} of them reads, at rest: {at_rest}"));
        }
        if !self.is_sound() {
            return Err("two volumes share a place, or one has none".to_owned());
        }
        Ok(())
    }

    /// A path for each volume, in their order.
    fn details(&self, _now: Time) -> Option<Details> {
        let moves = self.migration.counts(self.block_bytes);
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

    /// Each part that goes wrong, and a word of what is said of it.
    #[test]
    fn whatever_is_not_in_order_is_told() {
        type Act = fn(&mut Volumes);
        let acts: [(&str, Act); 3] = [
            ("share a place", |volumes| volumes.extents[1].first_block = 3),
            ("share a place", |volumes| volumes.extents[1].first_block = 99),
            ("1 of them reads", |volumes| volumes.reads[0] = 1),
        ];
        let volume = |name: &str| serde_json::json!({ "name": name, "bytes": 5120 });
        let spec = serde_json::json!({ "volumes": [volume("a"), volume("b")] });
        let spec: VolumesSpec = serde_json::from_value(spec).expect("a spec");
        for (word, act) in acts {
            let member = Child { id: ComponentId(0), capacity_blocks: 100, block_bytes: 512 };
            let mut volumes = Volumes::new(&spec, &[member]).expect("they fit");
            assert_eq!(volumes.check_invariants(true), Ok(()));
            act(&mut volumes);
            let told = volumes.check_invariants(true).expect_err(word);
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
