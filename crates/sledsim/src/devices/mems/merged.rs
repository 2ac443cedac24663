//! Requests that were merged: the order of passes in which they cost least.
//!
//! A few orders are tried: that of the LBNs where the requests lie one behind the other, so that a large merge streams as one
//! large request does; sweeps up and down the rows, cylinder by cylinder, from either end; and always the nearest position
//! next. In each order the directions of the passes are those of the least seek time in all, once for either direction of the
//! last one: what comes after may favour one or the other.

use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::approach::{Approach, Sled};
use crate::devices::mems::batch::{extents, for_each_row, Joint, Visit, Wanted};
use crate::devices::mems::energy::Books;
use crate::devices::{are_contiguous, as_one, Trial};
use crate::request::Request;
use crate::service::Service;
use crate::time::Time;

/// More positions than this are not tried nearest first, which takes time by their square.
const MOST_NEAREST: usize = 32;

/// A direction of a pass: upward or, where the sled can do that, downward.
const DIRECTIONS: usize = 2;

/// The passes in an order, their directions chosen for the least seek time.
struct Tour {
    /// For each pass and direction: the way there from the pass before it, whose direction is `before`; none where the sled
    /// can't go in that direction.
    steps: Vec<[Option<Step>; DIRECTIONS]>,
}

#[derive(Clone, Copy)]
struct Step {
    approach: Approach,
    before: usize,
    /// Seek time from the start until this pass.
    seek_ns: u64,
}

impl Tour {
    fn of(device: &MemsDevice, sled: Sled, wanted: &Wanted, order: &[Visit]) -> Self {
        let mut steps: Vec<[Option<Step>; DIRECTIONS]> = Vec::with_capacity(order.len());
        let mut cylinder = sled.cylinder;
        for visit in order {
            let stop = &wanted.stops[visit.stop];
            let (positioning, last) = (device.positioning(), steps.last());
            // However the sled passes, it goes the same way along X.
            let x_ns = positioning.x_ns(cylinder, stop.cylinder);
            cylinder = stop.cylinder;
            let entries =
                [Some(positioning.upward(stop.row)), device.bidirectional.then(|| positioning.downward(stop.row))];
            let step = entries.map(|entry| {
                let entry = entry?;
                let reached = |before: usize, sled: &Sled, spent_ns: u64| {
                    let approach = device.approach_by(x_ns, sled, cylinder, entry);
                    Step { approach, before, seek_ns: spent_ns + approach.seek_ns }
                };
                let Some(last) = last else { return Some(reached(0, &sled, 0)) };
                let ways = last.iter().enumerate().filter_map(|(before, step)| {
                    step.as_ref().map(|step| reached(before, &step.approach.done(), step.seek_ns))
                });
                ways.min_by_key(|step| step.seek_ns)
            });
            steps.push(step);
        }
        Self { steps }
    }

    /// The last passes, one for each direction.
    fn ends(&self) -> impl Iterator<Item = (usize, &Step)> + '_ {
        let last = self.steps.last().into_iter().flatten();
        last.enumerate().filter_map(|(direction, step)| Some((direction, step.as_ref()?)))
    }

    /// The ways to the passes, in their order, if the last is in `direction`.
    fn approaches(&self, mut direction: usize) -> Vec<Approach> {
        let mut approaches: Vec<Approach> = Vec::with_capacity(self.steps.len());
        for step in self.steps.iter().rev() {
            if let Some(step) = &step[direction] {
                approaches.push(step.approach);
                direction = step.before;
            }
        }
        approaches.reverse();
        approaches
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
        add(by_lbn(device, wanted, &as_one(requests)));
    }
    let cylinders = [wanted.stops.first(), wanted.stops.last()].map(|stop| stop.map(|stop| stop.cylinder));
    for (outward, upward) in [(true, true), (true, false), (false, true), (false, false)] {
        if outward || cylinders[0] != cylinders[1] {
            add(sweeps(wanted, outward, upward));
        }
    }
    if wanted.stops.len() <= MOST_NEAREST {
        add(wanted.nearest_first(device, sled));
    }
    orders
}

/// The passes of `one` request over what is wanted of it, in LBN order.
fn by_lbn(device: &MemsDevice, wanted: &Wanted, one: &Request) -> Vec<Visit> {
    let mut order: Vec<Visit> = Vec::new();
    for_each_row(&device.geometry, &device.extent(one), |cylinder, row, tips| {
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

/// See [`crate::devices::Device::try_merged`].
pub(super) fn try_merged(device: &MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Trial>) {
    let sled = device.sled_at(now).0;
    let extents = extents(device, requests);
    let wanted = Wanted::by(&device.geometry, &extents);
    for order in orders(device, sled, &wanted, requests) {
        let tip_passes = order.iter().map(|visit| u64::from(visit.to - visit.from)).sum();
        let passes = order.len() as u64;
        for (_, end) in Tour::of(device, sled, &wanted, &order).ends() {
            let books = Books { seek_ns: end.seek_ns, passes, tip_passes, ..Books::default() };
            let servicing_j = books.service_energy(&device.power).servicing_j();
            out.extend(end.approach.done().stance().map(|to| Trial { to, servicing_j }));
        }
    }
}

/// Serves requests in the way of that number among those that [`try_merged`] gives, in the first if there is none.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], way: usize, out: &mut Vec<Service>) {
    let sled = device.sled_at(now).0;
    let extents = extents(device, requests);
    let wanted = Wanted::by(&device.geometry, &extents);
    let orders = orders(device, sled, &wanted, requests);
    let ends = if device.bidirectional { DIRECTIONS } else { 1 };
    let order = orders.get(way / ends).unwrap_or(&orders[0]);
    let tour = Tour::of(device, sled, &wanted, order);
    let mut joint = Joint::begin(device, now, requests, &wanted);
    for (&visit, approach) in order.iter().zip(tour.approaches(way % ends)) {
        joint.pass(visit, &approach);
    }
    joint.finish(&extents, out);
}
