//! Batches: blocks of several requests accessed together by different tips.
//!
//! Blocks at one sled position (cylinder and row) under different tips pass at the same time (Schlosser & Ganger 2004,
//! section 6.1). A batch is served position by position, the nearest first, each in passes of as many blocks as the number
//! of tips that can work at once allows: in the fewest where every block takes as many tips. No block is divided between
//! passes. For requests that were merged see [`plans`](super::plans).

use std::ops::Range;

use crate::devices::mems::access::{MemsDevice, Passes};
use crate::devices::mems::approach::{Approach, Sled};
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::positioning::Positioning;
use crate::devices::mems::subsector::Extent;
use crate::limits::BATCH_POSITIONS;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

/// Tips that a request wants at a sled position, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Want {
    cylinder: u32,
    row: u32,
    first_tip: u32,
    end_tip: u32,
    /// Index of the request.
    member: usize,
    /// Tips wanted at the position before `first_tip`.
    rank: u32,
}

/// A sled position and what is wanted there.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub(super) cylinder: u32,
    pub(super) row: u32,
    wants: Range<usize>,
    /// Which of the borders are its.
    borders: Range<usize>,
    /// Which of the passes are over it.
    passes: Range<usize>,
}

impl Stop {
    /// Its cylinder and row.
    pub(super) fn place(&self) -> (u32, u32) {
        (self.cylinder, self.row)
    }
}

/// A pass over a position by some of the tips wanted there: those from the `from`-th to before the `to`-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    pub(super) stop: usize,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// What requests want, by position.
pub(super) struct Wanted {
    wants: Vec<Want>,
    /// By cylinder, then by row.
    pub(super) stops: Vec<Stop>,
    /// For each block wanted at a position, how many tips are wanted up to its end.
    borders: Vec<u32>,
    /// The passes over each position, if they are all at once.
    passes: Vec<Visit>,
    active_tips: u32,
    tips_per_block: u32,
}

/// Calls `visit` with cylinder, row, and the tips from the first to before the last for each row that `extent` covers, in LBN
/// order.
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

impl Wanted {
    /// What requests for `extents` want.
    pub(super) fn by(geometry: &Geometry, extents: &[Extent]) -> Self {
        let mut wants = Vec::with_capacity(extents.len());
        for (member, extent) in extents.iter().enumerate() {
            for_each_row(geometry, extent, |cylinder, row, tips| {
                wants.push(Want { cylinder, row, first_tip: tips.start, end_tip: tips.end, member, rank: 0 });
            });
        }
        wants.sort_unstable();
        let mut wanted = Self {
            wants: Vec::new(),
            stops: Vec::new(),
            borders: Vec::new(),
            passes: Vec::new(),
            active_tips: geometry.active_tips,
            tips_per_block: geometry.tips_per_block,
        };
        let mut first = 0;
        for stop in wants.chunk_by_mut(|one, other| (one.cylinder, one.row) == (other.cylinder, other.row)) {
            wanted.add_stop(geometry, first, stop);
            first += stop.len();
        }
        wanted.wants = wants;
        wanted
    }

    /// Adds a position with `wants`, of which `before` others come first.
    fn add_stop(&mut self, geometry: &Geometry, before: usize, wants: &mut [Want]) {
        let (index, first_border, first_pass) = (self.stops.len(), self.borders.len(), self.passes.len());
        let (mut tips, mut end_tip, mut last_block) = (0_u32, 0_u32, None);
        for want in &mut *wants {
            // Tips that an earlier one wants too are ranked already.
            want.rank = tips - end_tip.saturating_sub(want.first_tip);
            let mut tip = want.first_tip.max(end_tip);
            while tip < want.end_tip {
                let block = tip / geometry.tips_per_block;
                let border = want.end_tip.min((block + 1) * geometry.tips_per_block);
                if last_block.replace(block) == Some(block) {
                    // More of the same block.
                    self.borders.pop();
                }
                tips += border - tip;
                self.borders.push(tips);
                (tip, end_tip) = (border, border);
            }
        }
        let Want { cylinder, row, .. } = wants[0];
        let (wants, borders) = (before..before + wants.len(), first_border..self.borders.len());
        self.stops.push(Stop { cylinder, row, wants, borders, passes: first_pass..first_pass });
        let mut from = 0;
        while from < tips {
            let to = self.cut(index, from, tips);
            self.passes.push(Visit { stop: index, from, to });
            from = to;
        }
        self.stops[index].passes.end = self.passes.len();
    }

    /// How far a pass from a tip on reaches that goes no further than `to`: whole blocks.
    pub(super) fn cut(&self, stop: usize, from: u32, to: u32) -> u32 {
        let borders = &self.borders[self.stops[stop].borders.clone()];
        let within = borders.partition_point(|&border| border <= to.min(from + self.active_tips));
        borders[..within].last().copied().filter(|&border| border > from).unwrap_or(to)
    }

    /// The index of a position where something is wanted.
    pub(super) fn stop_at(&self, cylinder: u32, row: u32) -> Option<usize> {
        self.stops.binary_search_by_key(&(cylinder, row), |stop| (stop.cylinder, stop.row)).ok()
    }

    /// How many tips are wanted at a position before `tip`.
    pub(super) fn rank(&self, stop: usize, tip: u32) -> u32 {
        let before = self.wants[self.stops[stop].wants.clone()].iter().take_while(|want| want.first_tip < tip);
        before.map(|want| want.rank + tip.min(want.end_tip) - want.first_tip).max().unwrap_or(0)
    }

    /// Blocks that are read and that are written in a pass for `requests`, and who they are: their places go to `served`.
    pub(super) fn blocks(&self, visit: Visit, requests: &[Request], served: &mut Vec<usize>) -> [u32; 2] {
        // Number of blocks by operation, and the block behind the last one counted.
        let (mut blocks, mut counted) = ([0, 0], [0, 0]);
        for want in &self.wants[self.stops[visit.stop].wants.clone()] {
            let (from, to) = (visit.from.max(want.rank), visit.to.min(want.rank + want.end_tip - want.first_tip));
            if from >= to {
                continue;
            }
            served.push(want.member);
            let op = usize::from(requests[want.member].op == Op::Write);
            let (first_tip, end_tip) = (want.first_tip + from - want.rank, want.first_tip + to - want.rank);
            let end = end_tip.div_ceil(self.tips_per_block);
            blocks[op] += end.saturating_sub(counted[op].max(first_tip / self.tips_per_block));
            counted[op] = counted[op].max(end);
        }
        blocks
    }

    /// The passes over all that is wanted at a position.
    pub(super) fn visits(&self, stop: usize) -> &[Visit] {
        &self.passes[self.stops[stop].passes.clone()]
    }

    /// Passes over all positions from `sled` on, always over the nearest next; over more than [`BATCH_POSITIONS`] cylinder by
    /// cylinder, from the nearer end on.
    pub(super) fn nearest_first(&self, positioning: &Positioning, mut sled: Sled) -> Vec<Visit> {
        let mut left: Vec<usize> = (0..self.stops.len()).collect();
        let mut order = Vec::with_capacity(self.passes.len());
        let approach =
            |sled: &Sled, stop: usize| positioning.approach(sled, self.stops[stop].cylinder, self.stops[stop].row);
        if left.len() as u64 > BATCH_POSITIONS.most {
            if is_nearer_to_last(&left, sled.cylinder, |&stop| self.stops[stop].cylinder) {
                left.reverse();
            }
            return left.into_iter().flat_map(|stop| self.visits(stop)).copied().collect();
        }
        while let Some(nearest) = (0..left.len()).min_by_key(|&i| approach(&sled, left[i]).seek_ns) {
            for &visit in self.visits(left.remove(nearest)) {
                sled = approach(&sled, visit.stop).done;
                order.push(visit);
            }
        }
        order
    }
}

/// Of `positions` by cylinder, whether the last is nearer to a cylinder than the first.
pub(super) fn is_nearer_to_last<P>(positions: &[P], cylinder: u32, cylinder_of: impl Fn(&P) -> u32) -> bool {
    let distance = |position: Option<&P>| position.map(|position| cylinder_of(position).abs_diff(cylinder));
    distance(positions.last()) < distance(positions.first())
}

/// Serves `requests` together from `now` on; one [`Service`] each, in their order, goes to `out`.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let extents = extents(device, requests);
    let wanted = Wanted::by(&device.geometry, &extents);
    let mut joint = Joint::begin(device, now, requests, &wanted);
    for visit in wanted.nearest_first(joint.device.positioning(), joint.device.sled) {
        let Stop { cylinder, row, .. } = wanted.stops[visit.stop];
        let approach = joint.device.positioning().approach(&joint.device.sled, cylinder, row);
        joint.pass(visit, &approach);
    }
    joint.finish(&extents, out);
}

/// What is accessed for each of `requests`.
pub(super) fn extents(device: &MemsDevice, requests: &[Request]) -> Vec<Extent> {
    requests.iter().map(|request| device.extent(request)).collect()
}

/// What a request of the batch has got so far.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) passes: u64,
    pub(super) bus_done: Time,
}

/// Ends a service of several requests; one [`Service`] each goes to `out`, with its share of the energy.
pub(super) fn finish_together(
    device: &mut MemsDevice,
    run: &mut Passes,
    shares: &[u64],
    members: &[Member],
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

/// Several requests under service together.
///
/// Each completes when its own blocks are done. Its seek is the first of all; time spent on others' passes counts as
/// repositioning. Energy is shared by the tip sectors that each needs.
pub(super) struct Joint<'a> {
    pub(super) device: &'a mut MemsDevice,
    requests: &'a [Request],
    wanted: &'a Wanted,
    run: Passes,
    members: Vec<Member>,
    /// Requests of the present pass.
    served: Vec<usize>,
}

impl<'a> Joint<'a> {
    pub(super) fn begin(device: &'a mut MemsDevice, now: Time, requests: &'a [Request], wanted: &'a Wanted) -> Self {
        let run = device.begin(now);
        let members = vec![Member { passes: 0, bus_done: now }; requests.len()];
        Self { device, requests, wanted, run, members, served: Vec::new() }
    }

    /// Passes over a position the way that `approach` leads.
    pub(super) fn pass(&mut self, visit: Visit, approach: &Approach) {
        self.served.clear();
        let blocks = self.wanted.blocks(visit, self.requests, &mut self.served);
        let passes = self.device.pass_until_read(&mut self.run, approach, visit.to - visit.from, blocks);
        self.served.sort_unstable();
        self.served.dedup();
        for &index in &self.served {
            let is_read = self.requests[index].op == Op::Read;
            self.members[index].passes += passes;
            self.members[index].bus_done = if is_read { self.run.bus_done } else { self.run.at };
        }
    }

    pub(super) fn finish(mut self, extents: &[Extent], out: &mut Vec<Service>) {
        let shares: Vec<u64> = extents.iter().map(Extent::tip_sectors).collect();
        finish_together(self.device, &mut self.run, &shares, &self.members, out);
    }
}
