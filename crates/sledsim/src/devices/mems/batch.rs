//! Batches: non-contiguous blocks accessed together by different tips.
//!
//! Blocks at one sled position (cylinder and row) under different tips pass at the same time (Schlosser & Ganger 2004,
//! section 6.1). A batch is served position by position, the nearest first, each in passes of as many blocks as the number
//! of tips that can work at once allows: in the fewest where every block takes as many tips. No block is divided between
//! passes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::devices::mems::access::{MemsDevice, Passes};
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::subsector::Extent;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

/// The requests that want a tip group, each with the tips it wants of it.
type Wanting = Vec<(usize, Range<u32>)>;

/// A sled position and the tip groups wanted there.
struct Stop {
    cylinder: u32,
    row: u32,
    groups: BTreeMap<u32, Wanting>,
}

/// What a request of the batch has got so far.
#[derive(Clone, Copy)]
struct Member {
    passes: u64,
    bus_done: Time,
}

/// Calls `visit` for each row that `extent` covers with cylinder, row, first tip group, which of its blocks lies there (from 0
/// on), and number of blocks.
fn for_each_row(geometry: &Geometry, extent: &Extent, mut visit: impl FnMut(u32, u32, u32, u32, u32)) {
    let mut place = geometry.place(extent.lbn);
    let mut first = 0;
    loop {
        let blocks = (extent.blocks - first).min(geometry.blocks_per_row - place.slot);
        visit(place.cylinder, place.row, geometry.group(&place), first, blocks);
        first += blocks;
        if first == extent.blocks {
            return;
        }
        place = geometry.next_row(&place);
    }
}

fn stops(geometry: &Geometry, extents: &[Extent]) -> Vec<Stop> {
    let mut stops: BTreeMap<(u32, u32), BTreeMap<u32, Wanting>> = BTreeMap::new();
    for (index, extent) in extents.iter().enumerate() {
        for_each_row(geometry, extent, |cylinder, row, group, first, blocks| {
            let groups = stops.entry((cylinder, row)).or_default();
            for block in 0..blocks {
                groups.entry(group + block).or_default().push((index, extent.tips_of_block(first + block)));
            }
        });
    }
    stops.into_iter().map(|((cylinder, row), groups)| Stop { cylinder, row, groups }).collect()
}

/// Whether what two requests access has a sled position in common.
pub(super) fn share_position(geometry: &Geometry, first: &Extent, other: &Extent) -> bool {
    let mut positions = Vec::new();
    for_each_row(geometry, first, |cylinder, row, _, _, _| positions.push((cylinder, row)));
    let mut shared = false;
    for_each_row(geometry, other, |cylinder, row, _, _, _| shared |= positions.contains(&(cylinder, row)));
    shared
}

/// Tips of a group that anybody wants.
fn tips_on(wanting: &Wanting) -> u32 {
    let mut ranges: Vec<&Range<u32>> = wanting.iter().map(|(_, tips)| tips).collect();
    ranges.sort_unstable_by_key(|tips| tips.start);
    let (mut on, mut end) = (0, 0);
    for tips in ranges {
        on += tips.end.saturating_sub(end.max(tips.start));
        end = end.max(tips.end);
    }
    on
}

/// The tip groups of a stop in passes, each with the number of tips on in it: as many groups in each as `active_tips` allow.
fn passes(stop: &Stop, active_tips: u32) -> Vec<(Vec<&Wanting>, u32)> {
    let mut passes: Vec<(Vec<&Wanting>, u32)> = Vec::new();
    for wanting in stop.groups.values() {
        let tips = tips_on(wanting);
        match passes.last_mut() {
            Some((together, on)) if *on + tips <= active_tips => {
                together.push(wanting);
                *on += tips;
            }
            _ => passes.push((vec![wanting], tips)),
        }
    }
    passes
}

/// Serves `requests` together from `now` on; one [`Service`] each, in their order, goes to `out`.
///
/// Each member completes when its own blocks are done. Its seek is the batch's first; time spent on other members'
/// passes counts as repositioning. Energy is shared by the tip sectors that each needs.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let extents: Vec<Extent> = requests.iter().map(|request| device.extent(request)).collect();
    let mut stops = stops(&device.geometry, &extents);
    let mut run = device.begin(now);
    let mut members = vec![Member { passes: 0, bus_done: now }; requests.len()];
    while let Some(nearest) = (0..stops.len()).min_by_key(|&i| device.seek_ns(stops[i].cylinder, stops[i].row)) {
        let stop = stops.remove(nearest);
        for (together, tips) in passes(&stop, device.geometry.active_tips) {
            pass(device, &mut run, &stop, &together, tips, requests, &mut members);
        }
    }
    let (servo_ns, transfer_ns) = device.pass_ns();
    let first = run.phases;
    let whole = device.finish(&mut run);
    let sectors: u64 = extents.iter().map(Extent::tip_sectors).sum();
    for (extent, member) in extents.iter().zip(&members) {
        let mut phases = first;
        phases.servo_ns = servo_ns * member.passes;
        phases.transfer_ns = transfer_ns * member.passes;
        phases.bus_ns = 0;
        phases.turnaround_ns = 0;
        phases.turnaround_ns = (member.bus_done - now) - phases.service_ns();
        let energy = whole.energy.share(extent.tip_sectors() as f64 / sectors as f64);
        out.push(Service { start: now, end: member.bus_done, free: whole.free, phases, energy });
    }
}

/// One pass at `stop` over the tip groups `together`, with `tips` on.
fn pass(
    device: &mut MemsDevice,
    run: &mut Passes,
    stop: &Stop,
    together: &[&Wanting],
    tips: u32,
    requests: &[Request],
    members: &mut [Member],
) {
    let wanted_for =
        |op: Op| together.iter().filter(|wanting| wanting.iter().any(|(i, _)| requests[*i].op == op)).count() as u32;
    let (reads, writes) = (wanted_for(Op::Read), wanted_for(Op::Write));
    device.pass(run, stop.cylinder, stop.row, tips, reads, writes);
    let mut served: Vec<usize> = together.iter().flat_map(|wanting| wanting.iter().map(|(i, _)| *i)).collect();
    served.sort_unstable();
    served.dedup();
    for index in served {
        members[index].passes += 1;
        members[index].bus_done = if requests[index].op == Op::Read { run.bus_done } else { run.at };
    }
}
