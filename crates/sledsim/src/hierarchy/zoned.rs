//! Zones that are written in order, as drives with shingled magnetic recording have them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::{part_of_request, BlockRange, Child, Lock, LockQueue, Outstanding, SplitRequest};
use super::kind::{ComponentKind, ComponentParameters, ComponentSpec, ONE_CHILD};
use super::partition::whole_blocks;
use crate::convert::to_u32;
use crate::engine::details::{Count, Details};
use crate::engine::{Completion, Component, ComponentId, Context, Descendants, Instrumentation, Payload, PowerLoss};
use crate::fault::Faults;
use crate::request::{Op, Padding, Request};
use crate::time::Time;

/// Treatment of a write that does not begin at the write pointer of its zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfOrder {
    /// It is refused, as by a host-managed drive. A write at the first block of a zone resets the zone.
    #[default]
    Refuse,
    /// The drive rewrites the zone, as a drive-managed drive without a cache for such writes does: it reads the blocks from the end of the
    /// write up to the write pointer, and writes them again together with the new data.
    Rewrite,
}

/// Zones that are written in order (shingled magnetic recording). Each zone has a write pointer, up to which it has been written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZonedSpec {
    /// Size of a zone: a multiple of the block size. The last zone may be smaller.
    #[serde(default = "zone_bytes")]
    #[schemars(range(min = 1, max = 4294967295_u64), extend("x-unit" = "B"))]
    pub zone_bytes: u64,
    /// Number of conventional zones, which are the first and may be written in any order.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000000))]
    pub conventional_zones: u64,
    /// Treatment of a write that does not begin at the write pointer.
    #[serde(default)]
    pub out_of_order: OutOfOrder,
    /// True if all zones are full at the start; otherwise they are empty.
    #[serde(default)]
    pub full: bool,
}

const fn zone_bytes() -> u64 {
    256 << 20
}

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "zoned",
    description: "Zones that are written in order (shingled magnetic recording).",
    children: ONE_CHILD,
    parameters: ComponentParameters::of::<ZonedSpec>(),
};

impl ComponentSpec for ZonedSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        let child = children[0];
        let zone_blocks = whole_blocks("zone_bytes", self.zone_bytes, child.block_bytes)?;
        Ok(Box::new(Zoned::new(self, child, zone_blocks)))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        vec![match self.out_of_order {
            OutOfOrder::Refuse => "host-managed zones: a write at the first block of a zone resets it; other writes that do not begin at the \
                                   write pointer are refused"
                .into(),
            OutOfOrder::Rewrite => "drive-managed zones, assumed without a cache: a write below the write pointer rewrites the zone from there \
                                    up to the pointer"
                .into(),
        }]
    }

    fn refuses_writes(&self) -> bool {
        self.out_of_order == OutOfOrder::Refuse
    }

    fn largest_copy(&self) -> Option<(&'static str, u64)> {
        (self.out_of_order == OutOfOrder::Rewrite).then_some(("zone_bytes", self.zone_bytes))
    }
}

/// The part of a request in one zone.
#[derive(Clone, Debug)]
struct Part {
    /// The id of the request.
    request: u64,
    /// First block in the request.
    first: u64,
    blocks: BlockRange,
    /// End of the blocks that have to be written, which is beyond the part if the zone is rewritten.
    write_to: u64,
    /// The data of a write.
    payload: Payload,
    stage: Stage,
    lock: Option<Lock>,
}

/// The access of a part that is next or under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The access that was requested.
    Requested,
    /// Reading the rest of the zone.
    ReadingRest,
    /// Writing the part with the rest of the zone.
    Rewriting,
}

/// An action that waits for locks on zones.
#[derive(Clone, Debug)]
enum Action {
    /// Start a write.
    Write(Part),
    /// Complete a reset of the locked zones.
    CompleteReset(Request, BlockRange),
}

/// Numbers of events over the measurement window.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    resets: u64,
    refused: u64,
    rewrites: u64,
    rewritten_blocks: u64,
}

/// Passes requests on to its child, and keeps the order of writes in each zone.
#[derive(Clone)]
pub struct Zoned {
    child: ComponentId,
    capacity_blocks: u64,
    block_bytes: u32,
    zone_blocks: u64,
    /// First block that is written in order.
    first_sequential: u64,
    out_of_order: OutOfOrder,
    full: bool,
    /// Write pointers by zone, of zones that have been written.
    pointers: BTreeMap<u64, u64>,
    requests: Outstanding<SplitRequest>,
    /// Accesses under way.
    parts: Outstanding<Part>,
    /// Locks on zones: writes of a zone wait while it is rewritten, and a reset of drive-managed zones waits for their writes.
    locks: LockQueue<Action>,
    counters: Counters,
}

impl Zoned {
    /// Zones of `zone_blocks` blocks over a child.
    #[must_use]
    pub fn new(spec: &ZonedSpec, child: Child, zone_blocks: u64) -> Self {
        Self {
            child: child.id,
            capacity_blocks: child.capacity_blocks,
            block_bytes: child.block_bytes,
            zone_blocks,
            first_sequential: spec.conventional_zones.saturating_mul(zone_blocks).min(child.capacity_blocks),
            out_of_order: spec.out_of_order,
            full: spec.full,
            pointers: BTreeMap::new(),
            requests: Outstanding::default(),
            parts: Outstanding::default(),
            locks: LockQueue::default(),
            counters: Counters::default(),
        }
    }

    /// The zone of a block.
    fn zone(&self, lbn: u64) -> BlockRange {
        let from = lbn - lbn % self.zone_blocks;
        BlockRange::new(from, (from + self.zone_blocks).min(self.capacity_blocks))
    }

    /// The sequential zones that lie entirely in the blocks of a request; `None` without any.
    fn sequential_zones_in(&self, request: &Request) -> Option<BlockRange> {
        let [first, last] = [request.lbn, request.end_lbn() - 1].map(|lbn| self.zone(lbn));
        let from = if first.from == request.lbn { first.from } else { first.to };
        let to = if last.to == request.end_lbn() { last.to } else { last.from };
        let from = from.max(self.first_sequential);
        (from < to).then_some(BlockRange::new(from, to))
    }

    fn pointer(&self, zone: BlockRange) -> u64 {
        let at_start = if self.full { zone.to } else { zone.from };
        self.pointers.get(&zone.from).copied().unwrap_or(at_start)
    }

    /// Returns true if a host-managed drive accepts a write, and moves the write pointer.
    fn accept(&mut self, request: &Request) -> bool {
        if request.end_lbn() <= self.first_sequential {
            return true;
        }
        let zone = self.zone(request.lbn);
        let pointer = self.pointer(zone);
        let is_reset = request.lbn == zone.from && pointer > zone.from;
        let is_in_order = request.lbn >= self.first_sequential
            && request.end_lbn() <= zone.to
            && (request.lbn == pointer || is_reset);
        if is_in_order {
            self.pointers.insert(zone.from, request.end_lbn());
            self.counters.resets += u64::from(is_reset);
        }
        is_in_order
    }

    /// Empties the sequential zones in the blocks of a reset. A host-managed drive refuses other blocks; a drive-managed one ignores them,
    /// and completes the reset after the outstanding writes of these zones.
    fn reset(&mut self, request: Request, context: &mut Context<'_>) {
        let zones = self.sequential_zones_in(&request);
        let served = Completion::at_once(&request, context.now());
        if self.out_of_order == OutOfOrder::Refuse && zones != Some(BlockRange::new(request.lbn, request.end_lbn())) {
            context.complete(&Completion::refused(&request, context.now()));
            return;
        }
        let Some(zones) = zones else {
            context.complete(&served);
            return;
        };
        let mut next = zones.from;
        while next < zones.to {
            let zone = self.zone(next);
            self.counters.resets += u64::from(self.pointer(zone) > zone.from);
            self.pointers.insert(zone.from, zone.from);
            next = zone.to;
        }
        match self.out_of_order {
            OutOfOrder::Refuse => context.complete(&served),
            OutOfOrder::Rewrite => {
                self.locks.lock(Action::CompleteReset(request, zones), zones, true);
                self.start_granted(context);
            }
        }
    }

    /// The parts of a request: one for each zone in which it may rewrite, otherwise one.
    fn split(&self, request: &Request) -> Vec<BlockRange> {
        let whole = BlockRange::new(request.lbn, request.end_lbn());
        if request.op != Op::Write || self.out_of_order == OutOfOrder::Refuse || whole.to <= self.first_sequential {
            return vec![whole];
        }
        let mut parts = Vec::new();
        let mut from = whole.from;
        while from < whole.to {
            let end = if from < self.first_sequential { self.first_sequential } else { self.zone(from).to };
            parts.push(BlockRange::new(from, end.min(whole.to)));
            from = end;
        }
        parts
    }

    /// Locks the blocks that a write of a sequential zone changes, moves the write pointer, and starts the write once it has the lock.
    fn begin_write(&mut self, mut part: Part, context: &mut Context<'_>) {
        let zone = self.zone(part.blocks.from);
        let pointer = self.pointer(zone);
        self.pointers.insert(zone.from, pointer.max(part.blocks.to));
        let is_rewrite = part.blocks.from < pointer;
        if is_rewrite {
            part.write_to = pointer.max(part.blocks.to);
            if part.write_to > part.blocks.to {
                part.stage = Stage::ReadingRest;
                self.counters.rewrites += 1;
                self.counters.rewritten_blocks += part.write_to - part.blocks.to;
            }
        }
        self.locks.lock(Action::Write(part), zone, is_rewrite);
        self.start_granted(context);
    }

    /// Starts the writes and completes the resets whose locks are granted.
    fn start_granted(&mut self, context: &mut Context<'_>) {
        while let Some((id, action)) = self.locks.next_granted() {
            match action {
                Action::Write(mut part) => {
                    part.lock = Some(Lock { id, range: self.zone(part.blocks.from) });
                    self.start(part, context);
                }
                Action::CompleteReset(request, range) => {
                    self.locks.release(Lock { id, range });
                    context.complete(&Completion::at_once(&request, context.now()));
                }
            }
        }
    }

    /// Sends the next access of a part to the child.
    fn start(&mut self, part: Part, context: &mut Context<'_>) {
        let request = self.requests[part.request].request;
        let BlockRange { from, to } = part.blocks;
        let whole = BlockRange::new(part.first, part.first + part.blocks.blocks());
        let requested = part_of_request(&request, whole.from, whole.blocks(), from, self.block_bytes);
        let internal = |range: BlockRange| Request {
            blocks: to_u32(range.blocks()),
            lbn: range.from,
            padding: Padding::NONE,
            ..request
        };
        let (access, payload) = match part.stage {
            Stage::Requested => (requested, part.payload.clone()),
            Stage::ReadingRest => {
                (Request { op: Op::Read, ..internal(BlockRange::new(to, part.write_to)) }, Payload::NONE)
            }
            Stage::Rewriting => (internal(BlockRange::new(from, part.write_to)), part.payload.clone()),
        };
        let id = self.parts.insert(part);
        context.submit_with(self.child, Request { id, arrival: context.now(), ..access }, payload);
    }
}

impl Component for Zoned {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        if request.op == Op::Reset {
            self.reset(request, context);
            return;
        }
        if request.op == Op::Write && self.out_of_order == OutOfOrder::Refuse && !self.accept(&request) {
            self.counters.refused += 1;
            context.complete(&Completion::refused(&request, context.now()));
            return;
        }
        let ranges = self.split(&request);
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(ranges.len()));
        let id = self.requests.insert(split);
        for blocks in ranges {
            let first = blocks.from - request.lbn;
            let payload = match request.op {
                Op::Write => payload.slice(first, blocks.blocks(), self.block_bytes),
                Op::Read | Op::Flush | Op::Reset => Payload::NONE,
            };
            let (stage, lock) = (Stage::Requested, None);
            let part = Part { request: id, first, blocks, write_to: blocks.to, payload, stage, lock };
            let is_ordered = self.out_of_order == OutOfOrder::Rewrite && blocks.from >= self.first_sequential;
            if request.op == Op::Write && is_ordered {
                self.begin_write(part, context);
            } else {
                self.start(part, context);
            }
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let mut part = self.parts.take(completion.request.id);
        if part.stage == Stage::ReadingRest {
            if completion.is_served() {
                part.payload = Payload::join(&[part.payload, answer]);
                part.stage = Stage::Rewriting;
            } else {
                // What cannot be read is not written again.
                part.stage = Stage::Requested;
            }
            self.start(part, context);
            return;
        }
        if let Some(lock) = part.lock {
            self.locks.release(lock);
        }
        let split = &mut self.requests[part.request];
        if answer.is_some() {
            split.store_read(part.first, &answer, self.block_bytes);
        }
        if split.complete_part(completion) {
            let (completion, payload) = self.requests.take(part.request).finish(context.now());
            context.complete_with(&completion, payload);
        }
        self.start_granted(context);
    }

    fn resets_zones(&self) -> bool {
        true
    }

    fn part_blocks(&self) -> Option<u64> {
        (self.out_of_order == OutOfOrder::Rewrite).then_some(self.zone_blocks)
    }

    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        below.reach_ns(self.child, now, request)
    }
}

impl PowerLoss for Zoned {
    /// Write pointers are kept, also those of writes that were under way.
    fn power_cut(&mut self, _now: Time) {
        self.requests.clear();
        self.parts.clear();
        self.locks.clear();
    }
}

impl Instrumentation for Zoned {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        if at_rest && !(self.requests.is_empty() && self.parts.is_empty() && self.locks.is_empty()) {
            return Err(format!("at rest with {} requests in {} parts", self.requests.len(), self.parts.len()));
        }
        let outside = |(&from, &pointer): &(&u64, &u64)| !(from..=self.zone(from).to).contains(&pointer);
        match self.pointers.iter().find(outside) {
            Some((from, pointer)) => Err(format!("the write pointer of the zone at {from} is {pointer}")),
            None => Ok(()),
        }
    }

    fn start_measuring(&mut self, _now: Time) {
        self.counters = Counters::default();
    }

    fn details(&self, _now: Time) -> Option<Details> {
        let Counters { resets, refused, rewrites, rewritten_blocks } = self.counters;
        let counts = match self.out_of_order {
            OutOfOrder::Refuse => vec![Count::of("zone_resets", resets), Count::of("out_of_order_writes", refused)],
            OutOfOrder::Rewrite => {
                vec![
                    Count::of("zone_resets", resets),
                    Count::of("zone_rewrites", rewrites),
                    Count::of("rewritten_blocks", rewritten_blocks),
                ]
            }
        };
        Some(Details { kind: "zoned", counts, paths: Vec::new() })
    }
}
