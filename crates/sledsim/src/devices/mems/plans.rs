//! Requests that are merged: the orders of passes in which they may be served, and what each takes.
//!
//! A few orders are tried: that of the LBNs where the requests lie one behind the other, so that a large merge streams as one
//! large request does; sweeps up and down the rows, cylinder by cylinder, from either end; and always the nearest position
//! next. In each order the directions of the passes are those of the least seek time in all, once for either direction of the
//! last one: what comes after may favour one or the other.

use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::approach::Sled;
use crate::devices::mems::batch::{extents, for_each_row, Joint, Visit, Wanted};
use crate::devices::mems::energy::ServiceWork;
use crate::devices::{are_contiguous, merged_request, Estimate, Plan, PlannedPass};
use crate::request::Request;
use crate::service::Service;
use crate::time::Time;

/// More positions than this are not tried nearest first, which takes time by their square.
const MOST_NEAREST: usize = 32;

/// Where the sled is after some passes, and the seek time until then.
#[derive(Clone, Copy)]
struct Reached {
    sled: Sled,
    seek_ns: u64,
}

/// The passes in an order, their directions chosen for the least seek time. Of two directions the second is downward.
struct Tour {
    /// For each pass and direction, whether the one before it goes downward.
    after_downward: Vec<[bool; 2]>,
    /// The outcome by the direction of the last pass; none where the sled can't go in that direction.
    ends: [Option<Reached>; 2],
}

impl Tour {
    fn of(device: &MemsDevice, sled: Sled, wanted: &Wanted, order: &[Visit]) -> Self {
        let positioning = device.positioning();
        let mut after_downward = Vec::with_capacity(order.len());
        let mut ends = [Some(Reached { sled, seek_ns: 0 }), None];
        let mut cylinder = sled.cylinder;
        for visit in order {
            let stop = &wanted.stops[visit.stop];
            // However the sled passes, it goes the same way along X.
            let x_ns = positioning.x_ns(cylinder, stop.cylinder);
            cylinder = stop.cylinder;
            let (mut reached, mut after) = ([None; 2], [false; 2]);
            for &downward in positioning.directions() {
                let entry = positioning.entry(stop.row, downward);
                let ways = ends.iter().zip([false, true]).filter_map(|(end, after_downward)| {
                    let end: &Reached = end.as_ref()?;
                    let approach = positioning.approach_by(x_ns, &end.sled, cylinder, entry);
                    let reached = Reached { sled: approach.done, seek_ns: end.seek_ns + approach.seek_ns };
                    Some((reached, after_downward))
                });
                if let Some((least, after_downward)) = ways.min_by_key(|(reached, _)| reached.seek_ns) {
                    reached[usize::from(downward)] = Some(least);
                    after[usize::from(downward)] = after_downward;
                }
            }
            ends = reached;
            after_downward.push(after);
        }
        Self { after_downward, ends }
    }

    /// The passes of `order`, each in its direction, if the last goes `downward`.
    fn passes(&self, order: &[Visit], mut downward: bool) -> Vec<PlannedPass> {
        let mut passes = Vec::with_capacity(order.len());
        for (&Visit { stop, from, to }, after_downward) in order.iter().zip(&self.after_downward).rev() {
            passes.push(PlannedPass { stop, from, to, downward });
            downward = after_downward[usize::from(downward)];
        }
        passes.reverse();
        passes
    }
}

/// The orders to try; none twice.
fn orders(device: &MemsDevice, sled: Sled, wanted: &Wanted, requests: &[Request]) -> Vec<Vec<Visit>> {
    let mut orders = Vec::new();
    let mut add = |order: Vec<Visit>| {
        if !orders.contains(&order) {
            orders.push(order);
        }
    };
    if are_contiguous(requests) {
        add(by_lbn(device, wanted, &merged_request(requests)));
    }
    let cylinders = [wanted.stops.first(), wanted.stops.last()].map(|stop| stop.map(|stop| stop.cylinder));
    for (outward, upward) in [(true, true), (true, false), (false, true), (false, false)] {
        if outward || cylinders[0] != cylinders[1] {
            add(sweeps(wanted, outward, upward));
        }
    }
    if wanted.stops.len() <= MOST_NEAREST {
        add(wanted.nearest_first(device.positioning(), sled));
    }
    orders
}

/// The passes of `one` request over what is wanted of it, in LBN order.
fn by_lbn(device: &MemsDevice, wanted: &Wanted, one: &Request) -> Vec<Visit> {
    let mut order: Vec<Visit> = Vec::new();
    for_each_row(&device.geometry, &device.extent(one), |cylinder, row, tips| {
        // A row of which each request needs nothing, though the whole would.
        let Some(stop) = wanted.stop_at(cylinder, row) else { return };
        let (mut from, to) = (wanted.rank(stop, tips.start), wanted.rank(stop, tips.end));
        // Where a track ends and the next begins at one row, other tips go on in the same pass.
        if let Some(last) = order.last_mut().filter(|last| last.stop == stop && last.to == from) {
            last.to = wanted.cut(stop, last.from, to);
            from = last.to;
        }
        while from < to {
            let until = wanted.cut(stop, from, to);
            order.push(Visit { stop, from, to: until });
            from = until;
        }
    });
    order
}

/// Sweeps over the rows of one cylinder after the other, each over those that still want a pass: cylinders from the lowest
/// `outward` or back from the highest, the first sweep upward or downward, then to and fro.
fn sweeps(wanted: &Wanted, outward: bool, mut upward: bool) -> Vec<Visit> {
    let mut order = Vec::new();
    let indices: Vec<usize> = (0..wanted.stops.len()).collect();
    let mut cylinders: Vec<&[usize]> =
        indices.chunk_by(|&a, &b| wanted.stops[a].cylinder == wanted.stops[b].cylinder).collect();
    if !outward {
        cylinders.reverse();
    }
    for rows in cylinders {
        let most = rows.iter().map(|&stop| wanted.visits(stop).len()).max().unwrap_or(0);
        for sweep in 0..most {
            let first = order.len();
            order.extend(rows.iter().filter_map(|&stop| wanted.visits(stop).get(sweep)));
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
    let sled = device.sled_at(now).0;
    let wanted = Wanted::by(&device.geometry, &extents(device, requests));
    let mut plans: Vec<Plan> = Vec::new();
    for order in orders(device, sled, &wanted, requests) {
        let tips_on = |visit: &Visit| {
            let [reads, _] = wanted.blocks(*visit, requests, &mut Vec::new());
            u64::from(device.tips.on(visit.to - visit.from, reads))
        };
        let tip_passes = match device.tips.check {
            0 => order.iter().map(|visit| u64::from(visit.to - visit.from)).sum(),
            _ => order.iter().map(tips_on).sum(),
        };
        let passes = order.len() as u64;
        let tour = Tour::of(device, sled, &wanted, &order);
        for (end, downward) in tour.ends.iter().zip([false, true]) {
            let Some(Reached { sled, seek_ns }) = *end else { continue };
            let work = ServiceWork { seek_ns, passes, tip_passes, ..ServiceWork::default() };
            let servicing_j = work.energy(&device.power, device.pass_time).servicing_j();
            let estimate = Estimate { to: sled.state(), servicing_j };
            let leads_there = |plan: &Plan| plan.estimate.to == estimate.to;
            // Of those as good the first stays.
            if plans.iter().all(|plan| !leads_there(plan) || plan.estimate.servicing_j > estimate.servicing_j) {
                plans.retain(|plan| !leads_there(plan));
                plans.push(Plan { estimate, passes: tour.passes(&order, downward) });
            }
        }
    }
    plans
}

/// Serves requests by a plan that [`plans`] made for them, and for now.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], plan: &Plan, out: &mut Vec<Service>) {
    let extents = extents(device, requests);
    let wanted = Wanted::by(&device.geometry, &extents);
    let mut joint = Joint::begin(device, now, requests, &wanted);
    for &PlannedPass { stop, from, to, downward } in &plan.passes {
        let (cylinder, row) = wanted.stops[stop].place();
        let approach = joint.device.positioning().approach_in(&joint.device.sled, cylinder, row..row + 1, downward);
        joint.pass(Visit { stop, from, to }, &approach);
    }
    debug_assert!(
        joint.device.tips.misread() || joint.device.sled.state() == plan.estimate.to,
        "a plan is served where and when it was made"
    );
    joint.finish(&extents, out);
}
