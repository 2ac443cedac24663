//! Batches: blocks of several requests accessed together by different tips.
//!
//! Blocks at one sled position (cylinder and row) under different tips are accessed at the same time (Schlosser & Ganger 2004, section
//! 6.1). A batch is served by position, the nearest next, each in passes of as many blocks as the active tips allow. That is the minimum
//! number of passes if every block takes the same number of tips. A block is not divided between passes. For merged requests see
//! [`plans`](super::plans).

use std::ops::Range;

use crate::devices::mems::device::MemsDevice;
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::passes::ServiceBuilder;
use crate::devices::mems::positioning::Positioning;
use crate::devices::mems::positioning::{Approach, SledState};
use crate::devices::mems::subsector::BlockCounts;
use crate::devices::mems::subsector::Extent;
use crate::limits::BATCH_POSITIONS;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

/// Consecutive tips that a request needs at a sled position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RequestedTips {
    cylinder: u32,
    row: u32,
    first_tip: u32,
    end_tip: u32,
    /// Index of the request.
    member: usize,
    /// Number of requested tips at the position before `first_tip`.
    rank: u32,
}

/// A sled position with requested tips. The ranges are indices in [`RequestedPositions`].
#[derive(Clone, Debug)]
pub(super) struct SledPosition {
    pub(super) cylinder: u32,
    pub(super) row: u32,
    requests: Range<usize>,
    block_ends: Range<usize>,
    passes: Range<usize>,
}

/// A pass over a position with some of the requested tips: those with ranks in `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PositionPass {
    pub(super) position: usize,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// The requested tips by position.
pub(super) struct RequestedPositions {
    requests: Vec<RequestedTips>,
    /// Sorted by cylinder, then by row.
    pub(super) positions: Vec<SledPosition>,
    /// For each requested block of a position, the number of requested tips up to its end.
    block_ends: Vec<u32>,
    /// Passes over each position that access all of its requested tips.
    passes: Vec<PositionPass>,
    active_tips: u32,
    tips_per_block: u32,
}

/// Calls `visit` with cylinder, row and tips for each row that `extent` covers, in LBN order.
pub(super) fn for_each_row(geometry: &Geometry, extent: &Extent, mut visit: impl FnMut(u32, u32, Range<u32>)) {
    let mut place = geometry.place(extent.lbn);
    let mut first = 0;
    loop {
        let blocks = (extent.blocks - first).min(geometry.blocks_per_row - place.slot);
        let tip = geometry.group(&place) * geometry.tips_per_block + extent.tips_of_block(first).start;
        visit(place.cylinder, place.row, tip..tip + extent.tips(first, blocks));
        first += blocks;
        if first == extent.blocks {
            return;
        }
        place = geometry.next_row(&place);
    }
}

impl RequestedPositions {
    /// Returns the requested tips of `extents`.
    pub(super) fn new(geometry: &Geometry, extents: &[Extent]) -> Self {
        let mut requests = Vec::with_capacity(extents.len());
        for (member, extent) in extents.iter().enumerate() {
            for_each_row(geometry, extent, |cylinder, row, tips| {
                requests.push(RequestedTips {
                    cylinder,
                    row,
                    first_tip: tips.start,
                    end_tip: tips.end,
                    member,
                    rank: 0,
                });
            });
        }
        requests.sort_unstable();
        let mut requested = Self {
            requests: Vec::new(),
            positions: Vec::new(),
            block_ends: Vec::new(),
            passes: Vec::new(),
            active_tips: geometry.active_tips,
            tips_per_block: geometry.tips_per_block,
        };
        let mut first = 0;
        for group in requests.chunk_by_mut(|one, other| (one.cylinder, one.row) == (other.cylinder, other.row)) {
            requested.add_position(geometry, first, group);
            first += group.len();
        }
        requested.requests = requests;
        requested
    }

    /// Adds a position with `requests`, whose first has the index `first`.
    fn add_position(&mut self, geometry: &Geometry, first: usize, requests: &mut [RequestedTips]) {
        let (index, first_block, first_pass) = (self.positions.len(), self.block_ends.len(), self.passes.len());
        let (mut tips, mut end_tip, mut last_block) = (0_u32, 0_u32, None);
        for request in &mut *requests {
            // Tips of earlier requests have their rank already.
            request.rank = tips - end_tip.saturating_sub(request.first_tip);
            let mut tip = request.first_tip.max(end_tip);
            while tip < request.end_tip {
                let block = tip / geometry.tips_per_block;
                let end = request.end_tip.min((block + 1) * geometry.tips_per_block);
                if last_block.replace(block) == Some(block) {
                    // More tips of the same block.
                    self.block_ends.pop();
                }
                tips += end - tip;
                self.block_ends.push(tips);
                (tip, end_tip) = (end, end);
            }
        }
        let RequestedTips { cylinder, row, .. } = requests[0];
        let (requests, block_ends) = (first..first + requests.len(), first_block..self.block_ends.len());
        self.positions.push(SledPosition { cylinder, row, requests, block_ends, passes: first_pass..first_pass });
        let mut from = 0;
        while from < tips {
            let to = self.pass_end(index, from, tips);
            self.passes.push(PositionPass { position: index, from, to });
            from = to;
        }
        self.positions[index].passes.end = self.passes.len();
    }

    /// Returns the end (exclusive) of a pass over whole blocks from the tip of rank `from` on, at most `to`.
    pub(super) fn pass_end(&self, position: usize, from: u32, to: u32) -> u32 {
        let block_ends = &self.block_ends[self.positions[position].block_ends.clone()];
        let within = block_ends.partition_point(|&end| end <= to.min(from + self.active_tips));
        block_ends[..within].last().copied().filter(|&end| end > from).unwrap_or(to)
    }

    /// Returns the index of a position; `None` if no tips are requested there.
    pub(super) fn position_at(&self, cylinder: u32, row: u32) -> Option<usize> {
        self.positions.binary_search_by_key(&(cylinder, row), |position| (position.cylinder, position.row)).ok()
    }

    fn requests_at(&self, position: usize) -> &[RequestedTips] {
        &self.requests[self.positions[position].requests.clone()]
    }

    /// Returns the number of requested tips at a position before `tip`.
    pub(super) fn rank(&self, position: usize, tip: u32) -> u32 {
        let before = self.requests_at(position).iter().take_while(|tips| tips.first_tip < tip);
        before.map(|tips| tips.rank + tip.min(tips.end_tip) - tips.first_tip).max().unwrap_or(0)
    }

    /// Returns the numbers of blocks that are read and written in a pass for `requests`, and appends the indices of those requests to
    /// `served`.
    pub(super) fn blocks(&self, pass: PositionPass, requests: &[Request], served: &mut Vec<usize>) -> BlockCounts {
        // Number of blocks by operation, and the block after the last one counted.
        let (mut blocks, mut counted) = ([0, 0], [0, 0]);
        for tips in self.requests_at(pass.position) {
            let (from, to) = (pass.from.max(tips.rank), pass.to.min(tips.rank + tips.end_tip - tips.first_tip));
            if from >= to {
                continue;
            }
            served.push(tips.member);
            let op = usize::from(requests[tips.member].op == Op::Write);
            let (first_tip, end_tip) = (tips.first_tip + from - tips.rank, tips.first_tip + to - tips.rank);
            let end = end_tip.div_ceil(self.tips_per_block);
            blocks[op] += end.saturating_sub(counted[op].max(first_tip / self.tips_per_block));
            counted[op] = counted[op].max(end);
        }
        let [reads, writes] = blocks;
        BlockCounts { reads, writes }
    }

    /// Returns the passes over all requested tips of a position.
    pub(super) fn passes_over(&self, position: usize) -> &[PositionPass] {
        &self.passes[self.positions[position].passes.clone()]
    }

    /// Returns the passes over all positions from `sled` on, the nearest position next; if there are more than [`BATCH_POSITIONS`], by
    /// cylinder from the nearer end.
    pub(super) fn nearest_first(&self, positioning: &Positioning, mut sled: SledState) -> Vec<PositionPass> {
        let mut left: Vec<usize> = (0..self.positions.len()).collect();
        let mut order = Vec::with_capacity(self.passes.len());
        let approach = |sled: &SledState, position: usize| {
            let SledPosition { cylinder, row, .. } = self.positions[position];
            positioning.approach(sled, cylinder, row)
        };
        if left.len() as u64 > BATCH_POSITIONS.most {
            if is_nearer_to_last(&left, sled.cylinder, |&position| self.positions[position].cylinder) {
                left.reverse();
            }
            return left.into_iter().flat_map(|position| self.passes_over(position)).copied().collect();
        }
        while let Some(nearest) = (0..left.len()).min_by_key(|&i| approach(&sled, left[i]).seek_ns) {
            for &pass in self.passes_over(left.remove(nearest)) {
                sled = approach(&sled, pass.position).done;
                order.push(pass);
            }
        }
        order
    }
}

/// Returns true if the last of `positions`, which are sorted by cylinder, is nearer to a cylinder than the first.
pub(super) fn is_nearer_to_last<P>(positions: &[P], cylinder: u32, cylinder_of: impl Fn(&P) -> u32) -> bool {
    let distance = |position: Option<&P>| position.map(|position| cylinder_of(position).abs_diff(cylinder));
    distance(positions.last()) < distance(positions.first())
}

/// Serves `requests` together from `now` on; appends one [`Service`] for each to `out`.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let extents = extents(device, requests);
    let requested = RequestedPositions::new(&device.geometry, &extents);
    let mut service = BatchService::begin(device, now, requests, &requested);
    for pass in requested.nearest_first(service.device.positioning(), service.device.sled) {
        let SledPosition { cylinder, row, .. } = requested.positions[pass.position];
        let approach = service.device.positioning().approach(&service.device.sled, cylinder, row);
        service.pass(pass, &approach);
    }
    service.finish(&extents, out);
}

/// Returns the tip sectors that each of `requests` accesses.
pub(super) fn extents(device: &MemsDevice, requests: &[Request]) -> Vec<Extent> {
    requests.iter().map(|request| device.extent(request)).collect()
}

/// Progress of a request of a batch.
#[derive(Clone, Copy)]
pub(super) struct MemberProgress {
    /// Number of passes over its blocks.
    pub(super) passes: u64,
    /// End of the bus transfer of its blocks.
    pub(super) bus_done: Time,
}

/// Ends a service of several requests; appends one [`Service`] for each to `out`, with its share of the energy.
pub(super) fn finish_together(
    device: &mut MemsDevice,
    run: &mut ServiceBuilder,
    shares: &[u64],
    members: &[MemberProgress],
    out: &mut Vec<Service>,
) {
    let pass_time = device.pass_time;
    let first = run.phases;
    let whole = device.finish(run);
    let all: u64 = shares.iter().sum();
    for (&share, member) in shares.iter().zip(members) {
        let mut phases = first;
        phases.servo_ns = pass_time.servo_ns * member.passes;
        phases.transfer_ns = pass_time.data_ns * member.passes;
        phases.bus_ns = 0;
        phases.turnaround_ns = 0;
        phases.turnaround_ns = (member.bus_done - whole.start) - phases.service_ns();
        let energy = whole.energy.share(share as f64 / all as f64);
        out.push(Service { end: member.bus_done, phases, energy, ..whole });
    }
}

/// A service of several requests together.
///
/// Each request completes when its blocks are done. Its seek is that of the whole service; the time of passes for other requests counts as
/// turnaround. Energy is shared in proportion to the tip sectors of the requests.
pub(super) struct BatchService<'a> {
    pub(super) device: &'a mut MemsDevice,
    requests: &'a [Request],
    requested: &'a RequestedPositions,
    run: ServiceBuilder,
    members: Vec<MemberProgress>,
    /// Requests of the current pass.
    served: Vec<usize>,
}

impl<'a> BatchService<'a> {
    /// Begins a service at `now`.
    pub(super) fn begin(
        device: &'a mut MemsDevice,
        now: Time,
        requests: &'a [Request],
        requested: &'a RequestedPositions,
    ) -> Self {
        let run = device.begin(now);
        let members = vec![MemberProgress { passes: 0, bus_done: now }; requests.len()];
        Self { device, requests, requested, run, members, served: Vec::new() }
    }

    /// Adds a pass over a position.
    pub(super) fn pass(&mut self, pass: PositionPass, approach: &Approach) {
        self.served.clear();
        let blocks = self.requested.blocks(pass, self.requests, &mut self.served);
        let passes = self.device.pass_until_read(&mut self.run, approach, pass.to - pass.from, blocks);
        self.served.sort_unstable();
        self.served.dedup();
        for &index in &self.served {
            let is_read = self.requests[index].op == Op::Read;
            self.members[index].passes += passes;
            self.members[index].bus_done = if is_read { self.run.bus_done } else { self.run.at };
        }
    }

    /// Ends the service; appends one [`Service`] for each request to `out`.
    pub(super) fn finish(mut self, extents: &[Extent], out: &mut Vec<Service>) {
        let shares: Vec<u64> = extents.iter().map(Extent::tip_sectors).collect();
        finish_together(self.device, &mut self.run, &shares, &self.members, out);
    }
}
