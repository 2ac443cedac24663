//! Batches: blocks of several requests accessed together by different tips.
//!
//! Blocks at one sled position (cylinder and row) under different tips pass at the same time (Schlosser & Ganger 2004,
//! section 6.1). A batch is served position by position, the nearest first, each in as few passes as the number of tips
//! that can work at once allows. For requests that were merged see [`merged`](super::merged).

use std::ops::Range;

use crate::devices::mems::access::{Approach, MemsDevice, Passes, Sled};
use crate::devices::mems::geometry::Geometry;
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
    /// Number of tips wanted.
    pub(super) tips: u32,
    wants: Range<usize>,
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
    /// Most tips of a pass.
    pub(super) most_tips: u32,
}

/// Calls `visit` with cylinder, row, and the tips from the first to before the last for each row that a request covers, in LBN
/// order.
pub(super) fn for_each_row(geometry: &Geometry, request: &Request, mut visit: impl FnMut(u32, u32, Range<u32>)) {
    let mut place = geometry.place(request.lbn);
    let mut left = request.blocks;
    loop {
        let blocks = left.min(geometry.blocks_per_row - place.slot);
        let group = geometry.group(&place);
        let tips = group * geometry.tips_per_block..(group + blocks) * geometry.tips_per_block;
        visit(place.cylinder, place.row, tips);
        left -= blocks;
        if left == 0 {
            return;
        }
        place = geometry.next_row(&place);
    }
}

impl Wanted {
    /// What `requests` want.
    pub(super) fn by(geometry: &Geometry, requests: &[Request]) -> Self {
        let mut wants = Vec::with_capacity(requests.len());
        for (member, request) in requests.iter().enumerate() {
            for_each_row(geometry, request, |cylinder, row, tips| {
                wants.push(Want { cylinder, row, first_tip: tips.start, end_tip: tips.end, member, rank: 0 });
            });
        }
        wants.sort_unstable();
        let mut stops: Vec<Stop> = Vec::new();
        let mut end_tip = 0_u32;
        for (index, want) in wants.iter_mut().enumerate() {
            let (cylinder, row) = (want.cylinder, want.row);
            if stops.last().is_none_or(|stop| (stop.cylinder, stop.row) != (cylinder, row)) {
                stops.push(Stop { cylinder, row, tips: 0, wants: index..index });
                end_tip = 0;
            }
            if let Some(stop) = stops.last_mut() {
                // Tips that an earlier one wants too are ranked already.
                want.rank = stop.tips - end_tip.saturating_sub(want.first_tip);
                stop.tips += want.end_tip.saturating_sub(end_tip.max(want.first_tip));
                end_tip = end_tip.max(want.end_tip);
                stop.wants.end = index + 1;
            }
        }
        Self { wants, stops, most_tips: geometry.blocks_per_row * geometry.tips_per_block }
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

    /// The passes over all that is wanted at a position.
    pub(super) fn visits(&self, stop: usize) -> impl Iterator<Item = Visit> + '_ {
        let tips = self.stops[stop].tips;
        let from = (0..tips).step_by(self.most_tips as usize);
        from.map(move |from| Visit { stop, from, to: tips.min(from + self.most_tips) })
    }

    /// Passes over all positions from `sled` on, always over the nearest next.
    pub(super) fn nearest_first(&self, device: &MemsDevice, mut sled: Sled) -> Vec<Visit> {
        let mut left: Vec<usize> = (0..self.stops.len()).collect();
        let mut order = Vec::with_capacity(left.len());
        let approach =
            |sled: &Sled, stop: usize| device.approach(sled, self.stops[stop].cylinder, self.stops[stop].row);
        while let Some(nearest) = (0..left.len()).min_by_key(|&i| approach(&sled, left[i]).seek_ns) {
            for visit in self.visits(left.remove(nearest)) {
                sled = approach(&sled, visit.stop).done();
                order.push(visit);
            }
        }
        order
    }
}

/// Serves `requests` together from `now` on; one [`Service`] each, in their order, goes to `out`.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let wanted = Wanted::by(&device.geometry, requests);
    let mut joint = Joint::begin(device, now, requests, &wanted);
    for visit in wanted.nearest_first(joint.device, joint.device.sled) {
        let Stop { cylinder, row, .. } = wanted.stops[visit.stop];
        let approach = joint.device.approach(&joint.device.sled, cylinder, row);
        joint.pass(visit, &approach);
    }
    joint.finish(out);
}

/// What a request of the batch has got so far.
#[derive(Clone, Copy)]
struct Member {
    passes: u64,
    bus_done: Time,
}

/// Several requests under service together.
///
/// Each completes when its own blocks are done. Its seek is the first of all; time spent on others' passes counts as
/// repositioning. Energy is shared by blocks.
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
    pub(super) fn begin(
        device: &'a mut MemsDevice,
        now: Time,
        requests: &'a [Request],
        wanted: &'a Wanted,
    ) -> Self {
        let run = device.begin(now);
        let members = vec![Member { passes: 0, bus_done: now }; requests.len()];
        Self { device, requests, wanted, run, members, served: Vec::new() }
    }

    /// Passes over a position the way that `approach` leads.
    pub(super) fn pass(&mut self, visit: Visit, approach: &Approach) {
        let tips_per_block = self.device.geometry.tips_per_block;
        // Number of blocks that are read and that are written, and the block behind the last one counted.
        let (mut blocks, mut counted) = ([0, 0], [0, 0]);
        self.served.clear();
        for want in &self.wanted.wants[self.wanted.stops[visit.stop].wants.clone()] {
            let (from, to) = (visit.from.max(want.rank), visit.to.min(want.rank + want.end_tip - want.first_tip));
            if from >= to {
                continue;
            }
            self.served.push(want.member);
            let op = usize::from(self.requests[want.member].op == Op::Write);
            let (first_tip, end_tip) = (want.first_tip + from - want.rank, want.first_tip + to - want.rank);
            let end = end_tip.div_ceil(tips_per_block);
            blocks[op] += end.saturating_sub(counted[op].max(first_tip / tips_per_block));
            counted[op] = counted[op].max(end);
        }
        self.device.pass(&mut self.run, approach, visit.to - visit.from, blocks[0], blocks[1]);
        self.served.sort_unstable();
        self.served.dedup();
        for &index in &self.served {
            let is_read = self.requests[index].op == Op::Read;
            self.members[index].passes += 1;
            self.members[index].bus_done = if is_read { self.run.bus_done } else { self.run.at };
        }
    }

    pub(super) fn finish(mut self, out: &mut Vec<Service>) {
        let (servo_ns, transfer_ns) = self.device.pass_ns();
        let first = self.run.phases;
        let whole = self.device.finish(&mut self.run);
        let blocks: u64 = self.requests.iter().map(|request| u64::from(request.blocks)).sum();
        for (request, member) in self.requests.iter().zip(&self.members) {
            let mut phases = first;
            phases.servo_ns = servo_ns * member.passes;
            phases.transfer_ns = transfer_ns * member.passes;
            phases.bus_ns = 0;
            phases.turnaround_ns = 0;
            phases.turnaround_ns = (member.bus_done - whole.start) - phases.service_ns();
            let energy = whole.energy.share(f64::from(request.blocks) / blocks as f64);
            out.push(Service { end: member.bus_done, phases, energy, ..whole });
        }
    }
}
