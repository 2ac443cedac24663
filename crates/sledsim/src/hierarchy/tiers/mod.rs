//! A fast and a slow component as one, with data placed by kind and moved by use (schlosser2004, section 5.1).
//!
//! The volume is divided into extents. Each extent is on one of the children. It is placed at its first use, and can be moved
//! later. The places of extents are kept in non-volatile memory, their numbers of uses are not.

mod map;
mod migration;
mod spec;

pub use spec::{BlockRangeSpec, TierMigrationSpec, TierPlacementSpec, TiersSpec, KIND};

use map::{Map, Place, FAST, SLOW};
use migration::Migration;
use spec::TierSizes;

use super::common::{part_of_request, BlockRange, Child, Lock, Outstanding, SplitRequest};
use crate::convert::to_u32;
use crate::engine::{
    Completion, Component, ComponentId, Context, Count, Descendants, Details, Instrumentation, Payload, PowerLoss,
    ServicePath,
};
use crate::fault::Fault;
use crate::request::{Op, Request};
use crate::time::Time;

/// Paths of requests: all blocks on the fast child, all on the slow child, some on both.
const PATHS: [ServicePath; 3] = [ServicePath::new("fast"), ServicePath::new("slow"), ServicePath::new("both")];

/// The purpose of an access of a child.
#[derive(Clone)]
enum Part {
    /// Part of a read, from its block `first` on, and its address.
    Read { request: u64, first: u64, tier: usize, lbn: u64, blocks: u64 },
    /// Part of a write or flush.
    Write { request: u64 },
    /// Access of the current move.
    Move,
}

/// A request under way.
#[derive(Clone)]
struct Pending {
    split: SplitRequest,
    /// Its index in [`PATHS`].
    path: usize,
    /// The lock of a write.
    lock: Option<Lock>,
}

/// Consecutive blocks of a request on a child.
struct Run {
    tier: usize,
    lbn: u64,
    /// First block in the request.
    first: u64,
    blocks: u64,
}

/// Passes requests to the children of their extents.
#[derive(Clone)]
pub struct Tiers {
    children: [ComponentId; 2],
    /// Number of extents that fit on each child.
    slots: [u64; 2],
    extent_blocks: u64,
    block_bytes: u32,
    placement: TierPlacementSpec,
    map: Map,
    migration: Migration,
    requests: Outstanding<Pending>,
    parts: Outstanding<Part>,
    paths: [ServicePath; 3],
}

impl Tiers {
    /// Tiers of a fast and a slow child.
    ///
    /// # Errors
    /// Extents that do not fit on the children, or pinned ranges that do not fit on the fast one.
    pub fn new(spec: &TiersSpec, fast: Child, slow: Child) -> Result<Self, Fault> {
        let TierSizes { extent_blocks, slots } = spec.sizes(fast, slow)?;
        let mut map = Map::new(slots, spec.migration.half_life_s);
        let pinned = spec.placement.pinned(fast.block_bytes, extent_blocks, map.extents(), slots[FAST])?;
        pinned.into_iter().for_each(|extent| map.pin(extent));
        Ok(Self {
            children: [fast.id, slow.id],
            slots,
            extent_blocks,
            block_bytes: fast.block_bytes,
            placement: spec.placement.clone(),
            map,
            migration: Migration::new(&spec.migration, spec.extent_bytes),
            requests: Outstanding::default(),
            parts: Outstanding::default(),
            paths: PATHS,
        })
    }

    fn extent_bytes(&self) -> u64 {
        self.extent_blocks * u64::from(self.block_bytes)
    }

    /// The range of extents of a request.
    fn extents_of(&self, request: &Request) -> BlockRange {
        BlockRange::new(request.lbn / self.extent_blocks, request.end_lbn().div_ceil(self.extent_blocks))
    }

    /// The places of the blocks of a request. Extents without a place get one.
    fn runs(&mut self, request: &Request, now: Time) -> Vec<Run> {
        let fast = self.placement.is_fast(request, self.block_bytes);
        let mut runs: Vec<Run> = Vec::new();
        let mut first = 0;
        let extents = self.extents_of(request);
        for extent in extents.from..extents.to {
            let Place { tier, slot } = self.map.record_use(extent, fast, now);
            let inside = (request.lbn + first) % self.extent_blocks;
            let blocks = (self.extent_blocks - inside).min(u64::from(request.blocks) - first);
            let lbn = slot * self.extent_blocks + inside;
            match runs.last_mut() {
                Some(last) if last.tier == tier && last.lbn + last.blocks == lbn => last.blocks += blocks,
                _ => runs.push(Run { tier, lbn, first, blocks }),
            }
            first += blocks;
        }
        runs
    }

    /// Sends the parts of a request to the children of their extents.
    fn begin(&mut self, request: Request, payload: &Payload, lock: Option<u64>, context: &mut Context<'_>) {
        let now = context.now();
        let runs = self.runs(&request, now);
        let path = if runs.iter().all(|run| run.tier == runs[0].tier) { runs[0].tier } else { 2 };
        let lock = lock.map(|id| Lock { id, range: self.extents_of(&request) });
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(runs.len()));
        let request_id = self.requests.insert(Pending { split, path, lock });
        for Run { tier, lbn, first, blocks } in runs {
            let part = part_of_request(&request, first, blocks, lbn, self.block_bytes);
            let (kind, data) = match request.op {
                Op::Read => (Part::Read { request: request_id, first, tier, lbn, blocks }, Payload::NONE),
                _ => (Part::Write { request: request_id }, payload.slice(first, blocks, self.block_bytes)),
            };
            let id = self.parts.insert(kind);
            context.submit_with(self.children[tier], Request { id, arrival: now, ..part }, data);
        }
    }

    /// Sends a flush to both children.
    fn flush(&mut self, request: Request, context: &mut Context<'_>) {
        let mut split = SplitRequest::new(request);
        split.add_parts(2);
        let request_id = self.requests.insert(Pending { split, path: 2, lock: None });
        for child in self.children {
            let id = self.parts.insert(Part::Write { request: request_id });
            context.submit(child, Request { id, arrival: context.now(), ..request });
        }
    }

    /// Completes a part of a request, and the request with its last part.
    fn complete_part(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        if !self.requests[id].split.complete_part(completion) {
            return;
        }
        let Pending { split, path, lock } = self.requests.take(id);
        let now = context.now();
        if !split.request.is_flush() {
            self.paths[path].record(now - split.request.arrival);
        }
        let (completion, payload) = split.finish(now);
        context.complete_with(&completion, payload);
        if let Some(lock) = lock {
            self.migration.release(lock);
        }
    }
}

impl Component for Tiers {
    fn capacity_blocks(&self) -> u64 {
        self.map.extents() * self.extent_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        if request.is_flush() {
            return self.flush(request, context);
        }
        if self.migration.is_enabled() {
            self.migration.record_use(context);
            if request.op == Op::Write {
                self.migration.lock_write(request, payload, self.extents_of(&request));
                return self.grant(context);
            }
        }
        self.begin(request, &payload, None, context);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let part = self.parts.take(completion.request.id);
        match part {
            Part::Read { request, first, .. } => {
                self.read_completed(&part);
                self.requests[request].split.store_read(first, &answer, self.block_bytes);
                self.complete_part(request, completion, context);
            }
            Part::Write { request } => self.complete_part(request, completion, context),
            Part::Move => self.move_access_completed(completion, answer, context),
        }
        if self.migration.is_enabled() {
            self.continue_moves(context);
        }
    }

    fn timer(&mut self, _tag: u64, context: &mut Context<'_>) {
        self.continue_moves(context);
    }

    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        let (extent, inside) = (request.lbn / self.extent_blocks, request.lbn % self.extent_blocks);
        let first = || self.map.first_place(extent, self.placement.is_fast(request, self.block_bytes));
        let Place { tier, slot } = self.map.place(extent).unwrap_or_else(first);
        let request = Request { lbn: slot * self.extent_blocks + inside, ..*request };
        below.reach_ns(self.children[tier], now, &request)
    }

    fn part_blocks(&self) -> Option<u64> {
        Some(self.extent_blocks)
    }
}

impl PowerLoss for Tiers {
    fn power_cut(&mut self, _now: Time) {
        self.requests.clear();
        self.parts.clear();
        self.map.power_cut();
        self.migration.power_cut();
    }

    fn pause_background_work(&mut self) {
        self.migration.pause();
    }
}

impl Instrumentation for Tiers {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (requests, parts) = (self.requests.len(), self.parts.len());
        if at_rest && (requests + parts > 0 || !self.migration.is_at_rest()) || requests > parts {
            return Err(format!("{requests} requests in {parts} accesses of children, at rest: {at_rest}"));
        }
        if !self.map.is_consistent(self.slots) {
            return Err("inconsistent: the map of extents or its counts".to_owned());
        }
        Ok(())
    }

    fn details(&self, _now: Time) -> Option<Details> {
        let all: u64 = self.paths.iter().map(|path| path.count).sum();
        let mut counts = vec![
            Count::of("fast_extents", self.map.extents_on[FAST]),
            Count::of("slow_extents", self.map.extents_on[SLOW]),
            Count::share("fast_hits", self.paths[FAST].count, all),
        ];
        counts.extend(self.migration.details(self.extent_bytes()));
        Some(Details { kind: "tiers", counts, paths: self.paths.to_vec() })
    }

    fn start_measuring(&mut self, _now: Time) {
        self.paths = PATHS;
        self.migration.start_measuring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inconsistent_parts_are_named() {
        type Damage = fn(&mut Tiers);
        let cases: [(&str, Damage); 3] = [
            ("0 requests in 1 accesses of children", |tiers| _ = tiers.parts.insert(Part::Move)),
            ("the map of extents", |tiers| tiers.map.extents_on[SLOW] = 3),
            ("the map of extents", |tiers| tiers.map.spare = Some(Place { tier: FAST, slot: 1 })),
        ];
        for (expected, damage) in cases {
            let child = |id| Child { id: ComponentId(id), capacity_blocks: 100, block_bytes: 512 };
            let spec = TiersSpec { extent_bytes: 5120, ..TiersSpec::default() };
            let mut tiers = Tiers::new(&spec, child(0), child(1)).expect("the default fits");
            tiers.map.record_use(4, true, Time::ZERO);
            assert_eq!(tiers.check_invariants(true), Ok(()));
            damage(&mut tiers);
            let error = tiers.check_invariants(true).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
