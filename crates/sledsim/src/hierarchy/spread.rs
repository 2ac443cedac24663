//! One LBN space over several children in parallel: the sleds of a device, and arrays without redundancy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::array;
use super::common::{Child, Outstanding, SplitRequest};
use super::kind::{ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
use crate::convert::{to_u32, to_usize};
use crate::engine::details::{Details, ServicePath};
use crate::engine::{Completion, Component, ComponentId, Context, Instrumentation, Payload, PowerLoss};
use crate::fault::{Fault, Faults, Kind};
use crate::request::{Op, Request};
use crate::time::Time;

/// Concatenation.
pub const CONCAT: ComponentKind = ComponentKind {
    name: "concat",
    description: "Members one after the other in one address space.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::of::<ConcatSpec>(),
};

/// Striping.
pub const STRIPE: ComponentKind = ComponentKind {
    name: "stripe",
    description: "Stripe units that are dealt to the members in turn.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::of::<StripeSpec>(),
};

/// Members one after the other. It has no parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConcatSpec {}

/// Stripe units that are dealt to the members in turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StripeSpec {
    /// Size of a stripe unit: a multiple of the block size.
    #[serde(default = "unit_bytes")]
    #[schemars(range(min = 512, max = 1073741824), extend("x-unit" = "B"))]
    pub unit_bytes: u64,
}

impl ComponentSpec for ConcatSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(Spread::concat(ids_of(children), &sizes_of(children))?))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        vec!["the failure of a member loses its data".into()]
    }
}

impl ComponentSpec for StripeSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(Spread::stripe(ids_of(children), &sizes_of(children), self.unit_bytes)?))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        vec!["the failure of a member loses a part of all data".into()]
    }
}

fn ids_of(children: &[Child]) -> Vec<ComponentId> {
    children.iter().map(|child| child.id).collect()
}

/// Number of blocks and block size of each child.
fn sizes_of(children: &[Child]) -> Vec<(u64, u32)> {
    children.iter().map(|child| (child.capacity_blocks, child.block_bytes)).collect()
}

const fn unit_bytes() -> u64 {
    1 << 16
}

/// The layout of one LBN space over several children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpreadLayout {
    /// Each child holds a contiguous share.
    Split,
    /// Stripe units are dealt to the children in turn.
    Striped,
}

/// Paths of requests through an array.
const PATHS: [ServicePath; 2] = [ServicePath::new("read"), ServicePath::new("write")];

/// Spreads one LBN space over children. The parts of a request are served concurrently, and it completes with the last part. Each
/// part has its share of the needed bytes.
#[derive(Clone)]
pub struct Spread {
    children: Vec<ComponentId>,
    layout: SpreadLayout,
    unit_blocks: u64,
    /// The end of each child's share of the LBN space, as if it were not striped.
    ends: Vec<u64>,
    block_bytes: u32,
    /// The counters of an array; `None` for the sleds of a device.
    counts: Option<PathCounts>,
    /// True if parts without needed bytes are not sent.
    needed_only: bool,
    /// Requests under way.
    split_requests: Outstanding<SplitRequest>,
    /// Accesses of children under way.
    parts: Outstanding<PartUnderWay>,
}

/// The response times of an array.
#[derive(Clone, Copy)]
struct PathCounts {
    kind: &'static str,
    paths: [ServicePath; 2],
}

/// A part of the request `request` that is under way.
#[derive(Clone)]
struct PartUnderWay {
    request: u64,
    pieces: Vec<Piece>,
}

/// Consecutive blocks of a request that are consecutive on a child, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// First block in the request.
    first: u64,
    blocks: u64,
}

/// A block of a child and the number of blocks from it on that are consecutive in the LBN space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChildRun {
    child: usize,
    lbn: u64,
    blocks: u64,
}

/// The part of a request on one child.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    child: usize,
    lbn: u64,
    blocks: u32,
    pieces: Vec<Piece>,
    /// Its first needed byte; 0 if none is needed.
    first_needed: u64,
    needed_bytes: u64,
}

impl Spread {
    /// Spreads over `children` of `child_blocks` blocks each, in stripe units of `unit_blocks` blocks (ignored if split).
    ///
    /// # Panics
    /// There are no children, or the stripe unit is 0.
    #[must_use]
    pub fn new(
        children: Vec<ComponentId>,
        layout: SpreadLayout,
        unit_blocks: u64,
        child_blocks: u64,
        block_bytes: u32,
    ) -> Self {
        assert!(!children.is_empty() && unit_blocks > 0);
        // Blocks behind the last whole stripe unit of a child are unused.
        let child_blocks = match layout {
            SpreadLayout::Split => child_blocks,
            SpreadLayout::Striped => child_blocks / unit_blocks * unit_blocks,
        };
        Self {
            ends: (1..=children.len() as u64).map(|count| count * child_blocks).collect(),
            children,
            layout,
            unit_blocks,
            block_bytes,
            counts: None,
            needed_only: false,
            split_requests: Outstanding::default(),
            parts: Outstanding::default(),
        }
    }

    /// Members one after the other. `sizes` are their numbers of blocks and block sizes.
    ///
    /// # Errors
    /// The block sizes differ.
    pub fn concat(children: Vec<ComponentId>, sizes: &[(u64, u32)]) -> Result<Self, Fault> {
        let block_bytes = array::equal_blocks(sizes)?;
        let add = |end: &mut u64, &(blocks, _): &(u64, u32)| {
            *end += blocks;
            Some(*end)
        };
        let ends = sizes.iter().scan(0, add).collect();
        let counts = Some(PathCounts { kind: "concat", paths: PATHS });
        Ok(Self { ends, counts, ..Self::new(children, SpreadLayout::Split, 1, 1, block_bytes) })
    }

    /// Stripe units of `unit_bytes` bytes over members, which are used up to the size of the smallest. `sizes` are their numbers of
    /// blocks and block sizes.
    ///
    /// # Errors
    /// The block sizes differ, there are fewer than two members, or the stripe unit does not fit.
    pub fn stripe(children: Vec<ComponentId>, sizes: &[(u64, u32)], unit_bytes: u64) -> Result<Self, Fault> {
        let block_bytes = array::equal_blocks(sizes)?;
        if sizes.len() < 2 {
            let says = format!(" are {} in all: stripe needs at least 2", sizes.len());
            return Err(Fault::at(Kind::Misfit, "members").says(says));
        }
        let unit_blocks = array::unit(unit_bytes, block_bytes, sizes)?;
        let child_blocks = sizes.iter().map(|&(blocks, _)| blocks).min().unwrap_or(0);
        let counts = Some(PathCounts { kind: "stripe", paths: PATHS });
        Ok(Self { counts, ..Self::new(children, SpreadLayout::Striped, unit_blocks, child_blocks, block_bytes) })
    }

    /// Does not send parts without needed bytes, for children that access only needed bytes.
    #[must_use]
    pub fn needed_only(self) -> Self {
        Self { needed_only: true, ..self }
    }

    /// The place of a block of the LBN space.
    fn map(&self, lbn: u64) -> ChildRun {
        match self.layout {
            SpreadLayout::Split => {
                let child = self.ends.partition_point(|&end| end <= lbn);
                let start = child.checked_sub(1).map_or(0, |before| self.ends[before]);
                ChildRun { child, lbn: lbn - start, blocks: self.ends[child] - lbn }
            }
            SpreadLayout::Striped => {
                let unit = lbn / self.unit_blocks;
                let inside = lbn % self.unit_blocks;
                let count = self.children.len() as u64;
                let lbn = unit / count * self.unit_blocks + inside;
                ChildRun { child: to_usize(unit % count), lbn, blocks: self.unit_blocks - inside }
            }
        }
    }

    /// The parts of a request. Runs that are consecutive on a child are joined.
    fn split(&self, request: &Request) -> Vec<Part> {
        let block_bytes = u64::from(self.block_bytes);
        let needed = request.needed(self.block_bytes);
        let first_needed = (needed.lbn - request.lbn) * block_bytes + u64::from(needed.front_bytes);
        let end_needed = first_needed + needed.bytes(self.block_bytes);
        let mut parts: Vec<Part> = Vec::new();
        let mut lbn = request.lbn;
        while lbn < request.end_lbn() {
            let ChildRun { child, lbn: inside, blocks } = self.map(lbn);
            let blocks = blocks.min(request.end_lbn() - lbn);
            let first = lbn - request.lbn;
            let start = first * block_bytes;
            let from = first_needed.max(start);
            let needed_bytes = end_needed.min(start + blocks * block_bytes).saturating_sub(from);
            lbn += blocks;
            let joined =
                parts.iter_mut().find(|part| part.child == child && part.lbn + u64::from(part.blocks) == inside);
            let part = match joined {
                Some(part) => part,
                None => {
                    parts.push(Part {
                        child,
                        lbn: inside,
                        blocks: 0,
                        pieces: Vec::new(),
                        first_needed: 0,
                        needed_bytes: 0,
                    });
                    let last = parts.len() - 1;
                    &mut parts[last]
                }
            };
            // The needed bytes of a part are consecutive, like those of the request.
            if part.needed_bytes == 0 && needed_bytes > 0 {
                part.first_needed = u64::from(part.blocks) * block_bytes + from - start;
            }
            part.pieces.push(Piece { first, blocks });
            part.needed_bytes += needed_bytes;
            part.blocks += to_u32(blocks);
        }
        if self.needed_only {
            parts.retain(|part| part.needed_bytes > 0);
        }
        parts
    }
}

impl Component for Spread {
    fn capacity_blocks(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        if request.is_flush() {
            let mut split = SplitRequest::new(request);
            split.add_parts(to_u32(self.children.len()));
            let request_id = self.split_requests.insert(split);
            for &child in &self.children {
                let id = self.parts.insert(PartUnderWay { request: request_id, pieces: Vec::new() });
                context.submit(child, Request { id, arrival: now, ..request });
            }
            return;
        }
        let (parts, payload) = (self.split(&request), context.payload(&request));
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(parts.len()));
        let request_id = self.split_requests.insert(split);
        for part in parts {
            let pieces =
                part.pieces.iter().map(|&Piece { first, blocks }| payload.slice(first, blocks, self.block_bytes));
            let data = if request.op == Op::Write { Payload::join(&pieces.collect::<Vec<_>>()) } else { Payload::NONE };
            let id = self.parts.insert(PartUnderWay { request: request_id, pieces: part.pieces });
            let request = Request { id, lbn: part.lbn, blocks: part.blocks, arrival: now, ..request };
            let needing = request.with_needed_bytes(part.first_needed, part.needed_bytes, self.block_bytes);
            context.submit_with(self.children[part.child], needing, data);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let PartUnderWay { request, pieces } = self.parts.take(completion.request.id);
        let split = &mut self.split_requests[request];
        if answer.is_some() {
            let mut done = 0;
            for Piece { first, blocks } in pieces {
                split.store_read(first, &answer.slice(done, blocks, self.block_bytes), self.block_bytes);
                done += blocks;
            }
        }
        if split.complete_part(completion) {
            let (completion, payload) = self.split_requests.take(request).finish(context.now());
            if let Some(PathCounts { paths, .. }) = self.counts.as_mut().filter(|_| !completion.request.is_flush()) {
                let path = &mut paths[usize::from(completion.request.op == Op::Write)];
                path.record(context.now() - completion.request.arrival);
            }
            context.complete_with(&completion, payload);
        }
    }

    fn part_blocks(&self) -> Option<u64> {
        (self.layout == SpreadLayout::Striped).then_some(self.unit_blocks)
    }
}

impl PowerLoss for Spread {
    fn power_cut(&mut self, _now: Time) {
        self.split_requests.clear();
        self.parts.clear();
    }
}

impl Instrumentation for Spread {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (requests, parts) = (self.split_requests.len(), self.parts.len());
        if at_rest && requests + parts > 0 || requests > parts {
            return Err(format!("{requests} requests under way in {parts} parts, at rest: {at_rest}"));
        }
        Ok(())
    }

    fn start_measuring(&mut self, _now: Time) {
        self.counts.iter_mut().for_each(|counts| counts.paths = PATHS);
    }

    fn details(&self, _now: Time) -> Option<Details> {
        self.counts.map(|PathCounts { kind, paths }| Details { kind, counts: Vec::new(), paths: paths.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(lbn: u64, blocks: u32) -> Request {
        Request::read(lbn, blocks)
    }

    fn piece((first, blocks): (u64, u64)) -> Piece {
        Piece { first, blocks }
    }

    fn spread(layout: SpreadLayout) -> Spread {
        Spread::new((0..3).map(ComponentId).collect(), layout, 8, 100, 512)
    }

    /// Parts, by child, LBN and number of blocks, all of whose bytes are needed.
    fn needed_parts(parts: &[(usize, u64, u32)]) -> Vec<Part> {
        let needed_bytes = |blocks: u32| u64::from(blocks) * 512;
        let mut first = 0;
        let mut part = |&(child, lbn, blocks)| {
            let pieces = vec![Piece { first, blocks: u64::from(blocks) }];
            first += u64::from(blocks);
            Part { child, lbn, blocks, pieces, first_needed: 0, needed_bytes: needed_bytes(blocks) }
        };
        parts.iter().map(&mut part).collect()
    }

    #[test]
    fn requests_are_split_at_the_end_of_a_sled() {
        assert_eq!(spread(SpreadLayout::Split).split(&request(95, 10)), needed_parts(&[(0, 95, 5), (1, 0, 5)]));
        assert_eq!(spread(SpreadLayout::Split).capacity_blocks(), 300);
    }

    #[test]
    fn stripe_units_are_joined_on_a_sled() {
        let striped = spread(SpreadLayout::Striped);
        assert_eq!(striped.capacity_blocks(), 3 * 96);
        // The first sled's blocks are the first four and the last four.
        let mut parts = needed_parts(&[(0, 4, 8), (1, 0, 8), (2, 0, 8)]);
        for (part, pieces) in parts.iter_mut().zip([vec![(0, 4), (20, 4)], vec![(4, 8)], vec![(12, 8)]]) {
            part.pieces = pieces.into_iter().map(piece).collect();
        }
        assert_eq!(striped.split(&request(4, 24)), parts);
        assert_eq!(striped.map(24), ChildRun { child: 0, lbn: 8, blocks: 8 });
    }

    #[test]
    fn parts_have_their_share_of_the_needed_bytes() {
        // 512-byte blocks 95 to 104, of which 95 to 99 lie on the first sled; needed are bytes 1000 to 3999.
        let across = request(95, 10).with_needed_bytes(1000, 3000, 512);
        let part = |child: usize, lbn, first_needed, needed_bytes| {
            let pieces = vec![piece((5 * child as u64, 5))];
            Part { child, lbn, blocks: 5, pieces, first_needed, needed_bytes }
        };
        let parts = spread(SpreadLayout::Split).split(&across);
        assert_eq!(parts, [part(0, 95, 1000, 1560), part(1, 0, 0, 1440)]);
        assert_eq!(spread(SpreadLayout::Split).needed_only().split(&across), parts);

        // Two blocks of the second sled, none of the first.
        let beyond = request(95, 10).with_needed_bytes(6 * 512, 1024, 512);
        assert_eq!(spread(SpreadLayout::Split).split(&beyond), [part(0, 95, 0, 0), part(1, 0, 512, 1024)]);
        assert_eq!(spread(SpreadLayout::Split).needed_only().split(&beyond), [part(1, 0, 512, 1024)]);
    }

    #[test]
    fn needed_bytes_of_joined_stripe_units_are_consecutive() {
        // Units of 8 blocks: the first sled has blocks 4 to 7 and 24 to 31 of 4 to 35, joined.
        let part = |child: usize, lbn, blocks: u32, first_needed, needed_bytes| {
            let pieces = match (child, blocks) {
                (0, _) => vec![(0, 4), (20, 8)],
                (1, 12) => vec![(4, 8), (28, 4)],
                _ => vec![(12, 8)],
            };
            let pieces = pieces.into_iter().map(piece).collect();
            Part { child, lbn, blocks, pieces, first_needed, needed_bytes }
        };
        let late = request(4, 32).with_needed_bytes(5 * 512, 16 * 512, 512);
        let parts = [part(0, 4, 12, 4 * 512, 512), part(1, 0, 12, 512, 7 * 512), part(2, 0, 8, 0, 8 * 512)];
        assert_eq!(spread(SpreadLayout::Striped).split(&late), parts);
        let early = request(4, 32).with_needed_bytes(0, 100, 512);
        let parts = [part(0, 4, 12, 0, 100)];
        assert_eq!(spread(SpreadLayout::Striped).needed_only().split(&early), parts);
    }

    #[test]
    fn every_needed_byte_is_needed_in_exactly_one_part() {
        for layout in [SpreadLayout::Split, SpreadLayout::Striped] {
            let spread = Spread::new((0..3).map(ComponentId).collect(), layout, 3, 9, 4);
            for (lbn, blocks) in [(0, 27), (5, 7), (8, 10), (2, 1), (13, 14)] {
                let bytes = u64::from(blocks) * 4;
                for (first, end) in (0..bytes).flat_map(|first| (first + 1..=bytes).map(move |end| (first, end))) {
                    let request = request(lbn, blocks).with_needed_bytes(first, end - first, 4);
                    let mut expected: Vec<(usize, u64)> = (first..end)
                        .map(|byte| {
                            let ChildRun { child, lbn, .. } = spread.map(lbn + byte / 4);
                            (child, lbn * 4 + byte % 4)
                        })
                        .collect();
                    let mut actual: Vec<(usize, u64)> = spread
                        .split(&request)
                        .iter()
                        .flat_map(|part| {
                            let from = part.lbn * 4 + part.first_needed;
                            (from..from + part.needed_bytes).map(|byte| (part.child, byte))
                        })
                        .collect();
                    expected.sort_unstable();
                    actual.sort_unstable();
                    assert_eq!(actual, expected, "{request:?}");
                }
            }
        }
    }

    #[test]
    fn a_request_without_parts_is_reported() {
        let mut spread = spread(SpreadLayout::Split);
        assert_eq!(spread.check_invariants(true), Ok(()));
        spread.split_requests.insert(SplitRequest::new(request(0, 1)));
        let error = spread.check_invariants(false).expect_err("a request without parts");
        assert!(error.contains("1 requests under way in 0 parts"), "{error}");
    }
}
