//! Batches: non-contiguous blocks accessed together by different tips.
//!
//! Blocks at one sled position (cylinder and row) under different tips pass at the same time (Schlosser & Ganger 2004,
//! section 6.1). A batch is served position by position, the nearest first, each in as few passes as the number of tips
//! that can work at once allows.

use std::collections::BTreeMap;

use crate::devices::mems::access::{MemsDevice, Passes};
use crate::devices::mems::geometry::Geometry;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

/// A sled position and the tip groups wanted there, with the requests that want each.
struct Stop {
    cylinder: u32,
    row: u32,
    groups: BTreeMap<u32, Vec<usize>>,
}

/// What a request of the batch has got so far.
#[derive(Clone, Copy)]
struct Member {
    passes: u64,
    bus_done: Time,
}

/// Calls `visit` with cylinder, row, first tip group and number of blocks for each row that a request covers.
fn for_each_row(geometry: &Geometry, request: &Request, mut visit: impl FnMut(u32, u32, u32, u32)) {
    let mut place = geometry.place(request.lbn);
    let mut left = request.blocks;
    loop {
        let blocks = left.min(geometry.blocks_per_row - place.slot);
        visit(place.cylinder, place.row, geometry.group(&place), blocks);
        left -= blocks;
        if left == 0 {
            return;
        }
        place = geometry.next_row(&place);
    }
}

fn stops(geometry: &Geometry, requests: &[Request]) -> Vec<Stop> {
    let mut stops: BTreeMap<(u32, u32), BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (index, request) in requests.iter().enumerate() {
        for_each_row(geometry, request, |cylinder, row, group, blocks| {
            let groups = stops.entry((cylinder, row)).or_default();
            for group in group..group + blocks {
                groups.entry(group).or_default().push(index);
            }
        });
    }
    stops.into_iter().map(|((cylinder, row), groups)| Stop { cylinder, row, groups }).collect()
}

/// Whether two requests have a sled position in common.
pub(super) fn share_position(geometry: &Geometry, first: &Request, other: &Request) -> bool {
    let mut positions = Vec::new();
    for_each_row(geometry, first, |cylinder, row, _, _| positions.push((cylinder, row)));
    let mut shared = false;
    for_each_row(geometry, other, |cylinder, row, _, _| shared |= positions.contains(&(cylinder, row)));
    shared
}

/// Serves `requests` together from `now` on; one [`Service`] each, in their order, goes to `out`.
///
/// Each member completes when its own blocks are done. Its seek is the batch's first; time spent on other members'
/// passes counts as repositioning. Energy is shared by blocks.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let mut stops = stops(&device.geometry, requests);
    let mut run = device.begin(now);
    let mut members = vec![Member { passes: 0, bus_done: now }; requests.len()];
    while let Some(nearest) = (0..stops.len()).min_by_key(|&i| device.seek_ns(stops[i].cylinder, stops[i].row)) {
        let stop = stops.remove(nearest);
        let wanted: Vec<&Vec<usize>> = stop.groups.values().collect();
        for together in wanted.chunks(device.geometry.blocks_per_row as usize) {
            pass(device, &mut run, &stop, together, requests, &mut members);
        }
    }
    let (servo_ns, transfer_ns) = device.pass_ns();
    let first = run.phases;
    let whole = device.finish(&mut run);
    let blocks: u64 = requests.iter().map(|request| u64::from(request.blocks)).sum();
    for (request, member) in requests.iter().zip(&members) {
        let mut phases = first;
        phases.servo_ns = servo_ns * member.passes;
        phases.transfer_ns = transfer_ns * member.passes;
        phases.bus_ns = 0;
        phases.turnaround_ns = 0;
        phases.turnaround_ns = (member.bus_done - now) - phases.service_ns();
        let energy = whole.energy.share(f64::from(request.blocks) / blocks as f64);
        out.push(Service { start: now, end: member.bus_done, free: whole.free, phases, energy });
    }
}

/// One pass at `stop` over the tip groups `together`.
fn pass(
    device: &mut MemsDevice,
    run: &mut Passes,
    stop: &Stop,
    together: &[&Vec<usize>],
    requests: &[Request],
    members: &mut [Member],
) {
    let wanted_for =
        |op: Op| together.iter().filter(|wanting| wanting.iter().any(|&i| requests[i].op == op)).count() as u32;
    let (reads, writes) = (wanted_for(Op::Read), wanted_for(Op::Write));
    device.pass(run, stop.cylinder, stop.row, together.len() as u32, reads, writes);
    let mut served: Vec<usize> = together.iter().flat_map(|wanting| wanting.iter().copied()).collect();
    served.sort_unstable();
    served.dedup();
    for index in served {
        members[index].passes += 1;
        members[index].bus_done = if requests[index].op == Op::Read { run.bus_done } else { run.at };
    }
}
