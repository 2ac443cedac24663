//! Plans of merged requests: orders of passes, with the energy and final state of each; and estimates of single requests.
//!
//! The orders are: by LBN, if the requests are contiguous, so that a large merge streams like one large request; sweeps up and down the
//! rows of each cylinder, from either end; and the nearest position next. In each order the directions of the passes minimise the total
//! seek time, for either direction of the last pass: which of them is better depends on the next request.

use crate::devices::mems::batch::{
    extents, for_each_row, BatchService, PositionPass, RequestedPositions, SledPosition,
};
use crate::devices::mems::device::MemsDevice;
use crate::devices::mems::energy::ServiceWork;
use crate::devices::mems::positioning::SledState;
use crate::devices::mems::positioning::YState;
use crate::devices::mems::subsector::{BlockCounts, RowPasses};
use crate::devices::{are_contiguous, merged_request, Estimate, MechanismState, Plan, PlannedPass};
use crate::request::Request;
use crate::service::Service;
use crate::time::Time;

/// Maximum number of positions for the order of nearest position next, whose time grows with their square.
const NEAREST_POSITIONS: usize = 32;

/// State of the sled after some passes, and their total seek time.
#[derive(Clone, Copy)]
struct Outcome {
    sled: SledState,
    seek_ns: u64,
}

/// The directions of passes in an order with the shortest total seek time. Arrays are indexed by direction: upward, downward.
struct DirectedOrder {
    /// For each pass and direction of it, true if the pass before it is downward.
    after_downward: Vec<[bool; 2]>,
    /// The outcome for each direction of the last pass; `None` if the sled can't access data in that direction.
    ends: [Option<Outcome>; 2],
}

impl DirectedOrder {
    fn of(device: &MemsDevice, sled: SledState, requested: &RequestedPositions, order: &[PositionPass]) -> Self {
        let positioning = device.positioning();
        let mut after_downward = Vec::with_capacity(order.len());
        let mut ends = [Some(Outcome { sled, seek_ns: 0 }), None];
        let mut cylinder = sled.cylinder;
        for pass in order {
            let position = &requested.positions[pass.position];
            // The move along X does not depend on the directions.
            let x_ns = positioning.x_ns(cylinder, position.cylinder);
            cylinder = position.cylinder;
            let (mut reached, mut after) = ([None; 2], [false; 2]);
            for &downward in positioning.directions() {
                let pass_ends = positioning.ends_of_row(position.row, downward);
                let outcomes = ends.iter().zip([false, true]).filter_map(|(end, after_downward)| {
                    let end: &Outcome = end.as_ref()?;
                    let approach = positioning.approach_by(x_ns, &end.sled, cylinder, pass_ends);
                    let reached = Outcome { sled: approach.done, seek_ns: end.seek_ns + approach.seek_ns };
                    Some((reached, after_downward))
                });
                if let Some((least, after_downward)) = outcomes.min_by_key(|(reached, _)| reached.seek_ns) {
                    reached[usize::from(downward)] = Some(least);
                    after[usize::from(downward)] = after_downward;
                }
            }
            ends = reached;
            after_downward.push(after);
        }
        Self { after_downward, ends }
    }

    /// Returns the passes of `order` with their directions, given that of the last.
    fn passes(&self, order: &[PositionPass], mut downward: bool) -> Vec<PlannedPass> {
        let mut passes = Vec::with_capacity(order.len());
        for (&PositionPass { position, from, to }, after_downward) in order.iter().zip(&self.after_downward).rev() {
            passes.push(PlannedPass { position, from, to, downward });
            downward = after_downward[usize::from(downward)];
        }
        passes.reverse();
        passes
    }
}

/// Returns the orders of passes to consider, without duplicates.
fn orders(
    device: &MemsDevice,
    sled: SledState,
    requested: &RequestedPositions,
    requests: &[Request],
) -> Vec<Vec<PositionPass>> {
    let mut orders = Vec::new();
    let mut add = |order: Vec<PositionPass>| {
        if !orders.contains(&order) {
            orders.push(order);
        }
    };
    if are_contiguous(requests) {
        add(by_lbn(device, requested, &merged_request(requests)));
    }
    let cylinders = [requested.positions.first(), requested.positions.last()]
        .map(|position| position.map(|position| position.cylinder));
    for (outward, upward) in [(true, true), (true, false), (false, true), (false, false)] {
        if outward || cylinders[0] != cylinders[1] {
            add(sweeps(requested, outward, upward));
        }
    }
    if requested.positions.len() <= NEAREST_POSITIONS {
        add(requested.nearest_first(device.positioning(), sled));
    }
    orders
}

/// Returns the passes over the requested tips of `one` request, in LBN order.
fn by_lbn(device: &MemsDevice, requested: &RequestedPositions, one: &Request) -> Vec<PositionPass> {
    let mut order: Vec<PositionPass> = Vec::new();
    for_each_row(&device.geometry, &device.extent(one), |cylinder, row, tips| {
        // The merged requests may need no bytes of a row that the whole request covers.
        let Some(position) = requested.position_at(cylinder, row) else { return };
        let (mut from, to) = (requested.rank(position, tips.start), requested.rank(position, tips.end));
        // If the next track begins at the row where this one ends, other tips continue in the same pass.
        if let Some(last) = order.last_mut().filter(|last| last.position == position && last.to == from) {
            last.to = requested.pass_end(position, last.from, to);
            from = last.to;
        }
        while from < to {
            let until = requested.pass_end(position, from, to);
            order.push(PositionPass { position, from, to: until });
            from = until;
        }
    });
    order
}

/// Returns sweeps over the rows of each cylinder that still need a pass, in alternating directions. Cylinders go from the lowest if
/// `outward`, otherwise from the highest; the first sweep is upward or downward.
fn sweeps(requested: &RequestedPositions, outward: bool, mut upward: bool) -> Vec<PositionPass> {
    let mut order = Vec::new();
    let indices: Vec<usize> = (0..requested.positions.len()).collect();
    let mut cylinders: Vec<&[usize]> =
        indices.chunk_by(|&a, &b| requested.positions[a].cylinder == requested.positions[b].cylinder).collect();
    if !outward {
        cylinders.reverse();
    }
    for rows in cylinders {
        let most = rows.iter().map(|&position| requested.passes_over(position).len()).max().unwrap_or(0);
        for sweep in 0..most {
            let first = order.len();
            order.extend(rows.iter().filter_map(|&position| requested.passes_over(position).get(sweep)));
            if !upward {
                order[first..].reverse();
            }
            upward = !upward;
        }
    }
    order
}

/// See [`crate::devices::BatchAccess::plans`].
pub(super) fn plans(device: &MemsDevice, now: Time, requests: &[Request]) -> Vec<Plan> {
    let sled = device.sled_at(now).sled;
    let requested = RequestedPositions::new(&device.geometry, &extents(device, requests));
    let mut plans: Vec<Plan> = Vec::new();
    for order in orders(device, sled, &requested, requests) {
        let active_tips = |pass: &PositionPass| {
            let BlockCounts { reads, .. } = requested.blocks(*pass, requests, &mut Vec::new());
            u64::from(device.tips.active(pass.to - pass.from, reads))
        };
        let tip_passes = match device.tips.check {
            0 => order.iter().map(|pass| u64::from(pass.to - pass.from)).sum(),
            _ => order.iter().map(active_tips).sum(),
        };
        let passes = order.len() as u64;
        let tour = DirectedOrder::of(device, sled, &requested, &order);
        for (end, downward) in tour.ends.iter().zip([false, true]) {
            let Some(Outcome { sled, seek_ns }) = *end else { continue };
            let work = ServiceWork { seek_ns, passes, tip_passes, ..ServiceWork::default() };
            let servicing_j = work.energy(&device.power, device.pass_time).servicing_j();
            let estimate = Estimate { to: sled.state(), servicing_j };
            let has_same_end = |plan: &Plan| plan.estimate.to == estimate.to;
            // Of equal plans the first is kept.
            if plans.iter().all(|plan| !has_same_end(plan) || plan.estimate.servicing_j > estimate.servicing_j) {
                plans.retain(|plan| !has_same_end(plan));
                plans.push(Plan { estimate, passes: tour.passes(&order, downward) });
            }
        }
    }
    plans
}

/// Serves requests by a plan that [`plans`] made for them and for `now`.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], plan: &Plan, out: &mut Vec<Service>) {
    let extents = extents(device, requests);
    let requested = RequestedPositions::new(&device.geometry, &extents);
    let mut service = BatchService::begin(device, now, requests, &requested);
    for &PlannedPass { position, from, to, downward } in &plan.passes {
        let SledPosition { cylinder, row, .. } = requested.positions[position];
        let approach = service.device.positioning().approach_in(&service.device.sled, cylinder, row..row + 1, downward);
        service.pass(PositionPass { position, from, to }, &approach);
    }
    debug_assert!(
        service.device.tips.has_read_errors() || service.device.sled.state() == plan.estimate.to,
        "a plan is served from the state that it was made for"
    );
    service.finish(&extents, out);
}

/// See [`crate::devices::BatchAccess::estimate`].
pub(super) fn estimate(device: &MemsDevice, now: Time, from: Option<MechanismState>, request: &Request) -> Estimate {
    let mut sled = from.map_or_else(|| device.sled_at(now).sled, SledState::from_state);
    let mut work = ServiceWork::default();
    let mut passes = RowPasses::new(&device.geometry, device.extent(request));
    while !passes.is_done() {
        let pass = passes.next_pass(&device.geometry, u32::MAX);
        let approach = device.positioning().approach(&sled, pass.cylinder, pass.row);
        work.seek_ns += approach.seek_ns;
        work.passes += 1;
        work.tip_passes += u64::from(device.tips.active(pass.tips, BlockCounts::of(request.op, pass.blocks).reads));
        sled = approach.done;
    }
    Estimate { to: sled.state(), servicing_j: work.energy(&device.power, device.pass_time).servicing_j() }
}

/// See [`crate::devices::BatchAccess::move_j`].
pub(super) fn move_j(device: &MemsDevice, from: MechanismState, to: MechanismState) -> f64 {
    let [from, to] = [from, to].map(SledState::from_state);
    seek_j(device, device.positioning().move_ns(&from, &to))
}

/// Returns the energy of a seek, in joules.
fn seek_j(device: &MemsDevice, seek_ns: u64) -> f64 {
    ServiceWork { seek_ns, ..ServiceWork::default() }.energy(&device.power, device.pass_time).servicing_j()
}

/// See [`crate::devices::BatchAccess::max_turnaround_j`]: the energy from the end of an upward pass to the end of a downward pass over the
/// same row, or the reverse.
pub(super) fn max_turnaround_j(device: &MemsDevice) -> f64 {
    let positioning = device.positioning();
    if positioning.directions().len() == 1 {
        return 0.0;
    }
    let either_way = (0..device.geometry.rows).flat_map(|row| {
        let [up, down] = [false, true].map(|downward| positioning.ends_of_row(row, downward).to);
        [(up, down), (down, up)]
    });
    let longest = either_way.map(|(from, to)| positioning.y_ns(&YState::Boundary(from), to).ns).max();
    seek_j(device, longest.unwrap_or(0))
}
