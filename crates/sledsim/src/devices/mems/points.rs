//! Blocks at points: each under all of its tips at one place of the sled, which goes on from there along either axis
//! (Schlosser & Ganger 2004, section 7).
//!
//! A *line* is points that follow each other along X or along Y. The sled passes them at access speed and rests across them,
//! settled: off the line is off the track, whichever axis it lies on. So the way to a line takes as long as to pass the line's
//! first point at access speed, or as long as to come to rest on it and settle, whichever is longer. What a sled in motion
//! takes to come to rest is what the opposite takes, seen backwards in time.
//!
//! LBNs follow each other along Y. A request of several blocks goes in their order; one block is accessed along the axis and in
//! the direction that is sooner, but right beside the block before it on along the axis on which both lie. In a batch each
//! block goes with the larger of the two groups, along either axis, of those that are near: to pass what lies between them takes
//! no longer than settling. A group is accessed from one end to the other, the nearest group next; more groups than
//! [`BATCH_POSITIONS`] cylinder by cylinder.

use std::ops::Range;

use crate::convert::to_u32;
use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::approach::{Approach, Sled};
use crate::devices::mems::batch::{finish_together, is_nearer_to_last, Member};
use crate::devices::mems::geometry::Place;
use crate::devices::mems::motion::{x_move_s, y_seek, Axis};
use crate::devices::mems::parameters::{Idle, MemsParameters};
use crate::devices::mems::positioning::{Positioning, YState, YTime};
use crate::devices::Location;
use crate::fault::Fault;
use crate::limits::BATCH_POSITIONS;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::{s_to_ns, Time};

/// What fits no device that goes on along X: said of the parameters that have `transfer = "points"`.
///
/// # Errors
/// An access speed out of reach along X; an idle sled that sweeps, which it does along Y alone.
pub(super) fn check(p: &MemsParameters, positioning: &Positioning) -> Result<(), Fault> {
    if !positioning.starts_along_x() {
        let speed_m_s = positioning.speed_m_s();
        return Err(Fault::conflict("spring_factor", p.spring_factor)
            .says(format!(
                ": a sled at rest does not reach the access speed of {speed_m_s} m/s everywhere along X: lower it or "
            ))
            .option("bit_rate_kbit_s")
            .says(", or raise ")
            .option("acceleration_x_m_s2"));
    }
    if p.idle == Idle::Sweep {
        return Err(Fault::conflict("idle", "sweep")
            .says(": with ")
            .key_is("transfer", "points")
            .says(" an idle sled holds its place: set ")
            .set("idle", "hold"));
    }
    Ok(())
}

/// Points that follow each other along an axis; of one point no axis is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    along_x: bool,
    /// Of the point nearest to the origin.
    cylinder: u32,
    row: u32,
    points: u32,
}

/// How a location says along what its line goes on: a single block has either axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Either = 0,
    Upward = 1,
    Downward = 2,
}

/// [`Location::slot`] has the row, and in its lowest digit the [`Way`]. Rows are below 2^30.
const WAYS: u32 = 3;

/// The row of a location.
pub(super) fn row_of(location: Location) -> u32 {
    location.slot / WAYS
}

/// See [`crate::devices::Mechanism::locate`].
pub(super) fn locate(device: &MemsDevice, request: &Request) -> Location {
    let place = device.geometry.place(request.lbn);
    let (blocks, inverted) = device.geometry.run_in_track(&place, request.blocks);
    let downward = inverted && device.positioning().directions().len() > 1;
    let (row, way) = match (request.blocks, downward) {
        (1, _) => (place.row, Way::Either),
        (_, true) => (place.row, Way::Downward),
        (_, false) => (if inverted { place.row + 1 - blocks } else { place.row }, Way::Upward),
    };
    Location { cylinder: place.cylinder, slot: WAYS * row + way as u32 }
}

impl Positioning {
    /// Place and signed speed along X.
    pub(super) fn x_place(&self, sled: &Sled) -> (f64, f64) {
        match sled.leftward {
            None => (self.geometry().x_m(sled.cylinder), 0.0),
            Some(true) => (self.geometry().x_m(sled.cylinder), -self.speed_m_s()),
            Some(false) => (self.geometry().x_m(sled.cylinder + 1), self.speed_m_s()),
        }
    }

    /// Time along an axis from a place to another, each passed at access speed in the direction of its sign, or rested at.
    fn axis_ns(&self, axis: &Axis, from: (f64, f64), to: (f64, f64)) -> u64 {
        let ((from_m, v0_m_s), (to_m, v1_m_s)) = (from, to);
        if from == to {
            return 0;
        }
        let (model, speed_m_s) = (self.model(), self.speed_m_s());
        s_to_ns(match (v0_m_s == 0.0, v1_m_s == 0.0) {
            (true, true) => x_move_s(model, axis, from_m, to_m),
            (_, false) => y_seek(model, axis, speed_m_s, from_m, v0_m_s, to_m, v1_m_s).time_s,
            // Seen backwards in time: from rest to the speed at which it passes, the other way.
            (false, true) => y_seek(model, axis, speed_m_s, to_m, 0.0, from_m, -v0_m_s).time_s,
        })
    }

    /// Time until it rests on a cylinder, settled; 0 where it does.
    fn x_rest_ns(&self, sled: &Sled, cylinder: u32) -> u64 {
        if sled.leftward.is_none() {
            return self.x_ns(sled.cylinder, cylinder);
        }
        self.axis_ns(self.x_axis(), self.x_place(sled), (self.geometry().x_m(cylinder), 0.0)) + self.settle_ns()
    }

    /// Time until it rests on a row, settled; 0 where it does.
    fn y_rest_ns(&self, y: &YState, row: u32) -> u64 {
        let to = self.position(&YState::Held(row));
        let from = self.position(y);
        if from == to {
            return 0;
        }
        self.axis_ns(self.y_axis(), from, to) + self.settle_ns()
    }

    /// The way to a line, from its start or `backward` from its end.
    fn approach_line(&self, sled: &Sled, line: Line, backward: bool) -> Approach {
        let Line { along_x, cylinder, row, points } = line;
        if !along_x {
            let x_ns = self.x_rest_ns(sled, cylinder);
            return self.approach_by(x_ns, sled, cylinder, self.entry_of(row..row + points, backward));
        }
        let end = cylinder + points;
        let (from, last) = if backward { (end, cylinder) } else { (cylinder, end - 1) };
        let speed_m_s = if backward { -self.speed_m_s() } else { self.speed_m_s() };
        let x_ns = self.axis_ns(self.x_axis(), self.x_place(sled), (self.geometry().x_m(from), speed_m_s));
        let y = YTime { ns: self.y_rest_ns(&sled.y, row), turnaround_ns: 0 };
        let done = Sled { cylinder: last, y: YState::Held(row), leftward: Some(backward) };
        // What settles here is a part of the way along Y, not of that along X.
        Approach { done, x_ns, y, seek_ns: x_ns.max(y.ns), settles: false }
    }

    /// The soonest way to either end of any of `lines`, the last of those that are as soon.
    fn soonest(&self, sled: &Sled, lines: &[Line]) -> Approach {
        let ways = lines
            .iter()
            .flat_map(|&line| self.directions().iter().map(move |&backward| self.approach_line(sled, line, backward)));
        ways.reduce(|best, way| if way.seek_ns <= best.seek_ns { way } else { best })
            .expect("a line has an end to begin at")
    }

    /// The way to a single point: on along the axis on which it lies beside the last one, otherwise the soonest.
    fn approach_point(&self, sled: &Sled, cylinder: u32, row: u32) -> Approach {
        let line = |along_x| Line { along_x, cylinder, row, points: 1 };
        match self.beside(sled, cylinder, row) {
            Some((along_x, backward)) => self.approach_line(sled, line(along_x), backward),
            None => self.soonest(sled, &[line(true), line(false)]),
        }
    }

    /// Whether a point lies right beside the one passed last, across its line: along which axis, and whether backward.
    fn beside(&self, sled: &Sled, cylinder: u32, row: u32) -> Option<(bool, bool)> {
        let found = match (sled.leftward, sled.y) {
            (Some(_), YState::Held(last)) => {
                (cylinder == sled.cylinder && row.abs_diff(last) == 1).then_some((false, row < last))
            }
            (None, YState::Gate(gate)) => {
                let beside = self.row_before(gate) == Some(row) && cylinder.abs_diff(sled.cylinder) == 1;
                beside.then_some((true, cylinder < sled.cylinder))
            }
            _ => None,
        };
        found.filter(|&(_, backward)| self.directions().contains(&backward))
    }

    /// The way to the rows of a request in one track, `alone` if they are a single block and all of it.
    pub(super) fn approach_rows(
        &self,
        sled: &Sled,
        cylinder: u32,
        rows: Range<u32>,
        downward: bool,
        alone: bool,
    ) -> Approach {
        if alone {
            return self.approach_point(sled, cylinder, rows.start);
        }
        let points = rows.end - rows.start;
        self.approach_line(sled, Line { along_x: false, cylinder, row: rows.start, points }, downward)
    }

    /// The way to a location.
    pub(super) fn approach_location(&self, sled: &Sled, location: Location) -> Approach {
        let (row, way) = (row_of(location), location.slot % WAYS);
        let alone = way == Way::Either as u32;
        self.approach_rows(sled, location.cylinder, row..row + 1, way == Way::Downward as u32, alone)
    }

    /// A lower bound on the way to anything in a cylinder, which never falls as it goes further away: at full force, helped by
    /// the springs, all the way to the nearer edge of it.
    pub(super) fn point_bound_ns(&self, sled: &Sled, cylinder: u32) -> u64 {
        let (at_m, speed_m_s) = self.x_place(sled);
        let distance_m = [cylinder, cylinder + 1].map(|edge| (self.geometry().x_m(edge) - at_m).abs());
        let distance_m = distance_m[0].min(distance_m[1]);
        let axis = self.x_axis();
        let accel_m_s2 = axis.accel_m_s2 * (1.0 + axis.spring);
        let v = speed_m_s.abs();
        let reached = v + (v * v + 2.0 * accel_m_s2 * distance_m).sqrt();
        // The way may be this one exactly, and rounded the other way.
        if distance_m == 0.0 {
            return 0;
        }
        s_to_ns(2.0 * distance_m / reached).saturating_sub(1)
    }
}

/// So many points pass while the sled settles: what is no further off is near.
fn reach(device: &MemsDevice) -> u64 {
    device.positioning().settle_ns() / device.pass_time.ns().max(1) + 1
}

/// See [`crate::devices::Planner::for_each_companion`]: blocks near to `request` along Y, and of a single block those near to it
/// along X.
pub(super) fn for_each_companion(device: &MemsDevice, request: &Request, visit: &mut dyn FnMut(Range<u64>)) {
    let geometry = &device.geometry;
    let reach = reach(device);
    visit(request.lbn.saturating_sub(reach)..geometry.capacity_blocks().min(request.end_lbn() + reach));
    if request.blocks > 1 {
        return;
    }
    let place = geometry.place(request.lbn);
    let reach = u32::try_from(reach).unwrap_or(u32::MAX);
    let end = geometry.cylinders.min(place.cylinder.saturating_add(reach).saturating_add(1));
    for cylinder in place.cylinder.saturating_sub(reach)..end {
        let lbn = geometry.lbn(&Place { cylinder, ..place });
        visit(lbn..lbn + 1);
    }
}

/// A block that requests of a batch want.
struct Wanted {
    track: u32,
    row: u32,
    cylinder: u32,
    /// Which of the requests that want anything, block by block.
    by: Range<usize>,
}

/// Blocks of a batch and who wants them; by track, row and cylinder.
struct Blocks {
    blocks: Vec<Wanted>,
    members: Vec<usize>,
    reach: u32,
}

/// Lines on one line, each with its blocks from the start; of a block alone either axis will do.
struct Group {
    lines: Vec<(Line, Vec<usize>)>,
    alone: bool,
}

impl Group {
    /// The soonest way to one of its ends, and whether it is then gone through backward.
    fn approach(&self, positioning: &Positioning, sled: &Sled) -> (Approach, bool) {
        let (first, last) = (self.lines[0].0, self.lines[self.lines.len() - 1].0);
        if self.alone {
            return (positioning.approach_point(sled, first.cylinder, first.row), false);
        }
        let ways = positioning.directions().iter().map(|&backward| {
            (positioning.approach_line(sled, if backward { last } else { first }, backward), backward)
        });
        let sooner =
            |best: (Approach, bool), way: (Approach, bool)| if way.0.seek_ns <= best.0.seek_ns { way } else { best };
        ways.reduce(sooner).expect("a sled goes in one direction at least")
    }
}

impl Blocks {
    fn of(device: &MemsDevice, requests: &[Request]) -> Self {
        let mut wants = Vec::with_capacity(requests.len());
        for (member, request) in requests.iter().enumerate() {
            wants.extend((request.lbn..request.end_lbn()).map(|lbn| {
                let place = device.geometry.place(lbn);
                ([place.track, place.row, place.cylinder], member)
            }));
        }
        wants.sort_unstable();
        let mut blocks = Vec::with_capacity(wants.len());
        let mut first = 0;
        for same in wants.chunk_by(|one, other| one.0 == other.0) {
            let [track, row, cylinder] = same[0].0;
            blocks.push(Wanted { track, row, cylinder, by: first..first + same.len() });
            first += same.len();
        }
        let reach = u32::try_from(reach(device)).unwrap_or(u32::MAX);
        Self { blocks, members: wants.into_iter().map(|(_, member)| member).collect(), reach }
    }

    /// How far a block comes after another along an axis, where both are on one line.
    fn after(&self, one: usize, other: usize, along_x: bool) -> Option<u32> {
        let (one, other) = (&self.blocks[one], &self.blocks[other]);
        let ways = [other.cylinder.checked_sub(one.cylinder)?, other.row.checked_sub(one.row)?];
        let [along, across] = if along_x { ways } else { [ways[1], ways[0]] };
        (one.track == other.track && across == 0).then_some(along)
    }

    /// The groups that together are all blocks.
    fn groups(&self) -> Vec<Group> {
        let by_rows: Vec<usize> = (0..self.blocks.len()).collect();
        let mut by_columns = by_rows.clone();
        by_columns.sort_unstable_by_key(|&index| {
            let Wanted { track, row, cylinder, .. } = self.blocks[index];
            (track, cylinder, row)
        });
        let axes = [(false, &by_columns), (true, &by_rows)];
        let near = |one, other, along_x| self.after(one, other, along_x).is_some_and(|points| points <= self.reach);
        let mut sizes = [vec![0; by_rows.len()], vec![0; by_rows.len()]];
        for (along_x, order) in axes {
            for group in order.chunk_by(|&one, &other| near(one, other, along_x)) {
                group.iter().for_each(|&index| sizes[usize::from(along_x)][index] = group.len());
            }
        }
        let goes_along_x = |index: usize| sizes[1][index] > sizes[0][index];
        let mut groups = Vec::new();
        for (along_x, order) in axes {
            let own: Vec<usize> = order.iter().copied().filter(|&index| goes_along_x(index) == along_x).collect();
            for group in own.chunk_by(|&one, &other| near(one, other, along_x)) {
                let follows = |&one: &usize, &other: &usize| self.after(one, other, along_x) == Some(1);
                let lines = group.chunk_by(follows).map(|blocks| {
                    let Wanted { row, cylinder, .. } = self.blocks[blocks[0]];
                    (Line { along_x, cylinder, row, points: to_u32(blocks.len()) }, blocks.to_vec())
                });
                let alone = sizes.iter().all(|sizes| sizes[group[0]] == 1);
                groups.push(Group { lines: lines.collect(), alone });
            }
        }
        groups
    }

    /// Whether somebody wants a block for an operation.
    fn is_for(&self, block: usize, op: Op, requests: &[Request]) -> bool {
        self.members[self.blocks[block].by.clone()].iter().any(|&member| requests[member].op == op)
    }
}

/// Serves `requests` together from `now` on, group by group, the nearest next, or of many the next from the nearer end on; one
/// [`Service`] each, in their order, goes to `out`. Blocks complete with their line.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let wanted = Blocks::of(device, requests);
    let mut left = wanted.groups();
    let place = |group: &Group| (group.lines[0].0.cylinder, group.lines[0].0.row);
    let mut run = device.begin(now);
    // Of what goes cylinder by cylinder the next stands at the end.
    let are_sorted = left.len() as u64 > BATCH_POSITIONS.most;
    if are_sorted {
        left.sort_by_key(place);
        if !is_nearer_to_last(&left, device.sled.cylinder, |group| place(group).0) {
            left.reverse();
        }
    }
    let mut members = vec![Member { passes: 0, bus_done: now }; requests.len()];
    let way = |device: &MemsDevice, group: &Group| group.approach(device.positioning(), &device.sled);
    let nearest = |device: &MemsDevice, left: &[Group]| match are_sorted {
        true => left.len().checked_sub(1),
        false => (0..left.len()).min_by_key(|&group| way(device, &left[group]).0.seek_ns),
    };
    while let Some(next) = nearest(device, &left) {
        let mut group = left.remove(next);
        let (mut approach, backward) = way(device, &group);
        if backward {
            group.lines.reverse();
        }
        for (index, (line, blocks)) in group.lines.iter().enumerate() {
            if index > 0 {
                approach = device.positioning().approach_line(&device.sled, *line, backward);
            }
            let count = |op| to_u32(blocks.iter().filter(|&&block| wanted.is_for(block, op, requests)).count());
            let (reads, writes) = (count(Op::Read), count(Op::Write));
            device.pass_rows(&mut run, &approach, (device.geometry.tips_per_block, line.points), reads, writes);
            for &member in blocks.iter().flat_map(|&block| &wanted.members[wanted.blocks[block].by.clone()]) {
                members[member].passes += 1;
                members[member].bus_done = if requests[member].op == Op::Read { run.bus_done } else { run.at };
            }
        }
    }
    let shares: Vec<u64> = requests.iter().map(|request| u64::from(request.blocks)).collect();
    finish_together(device, &mut run, &shares, &members, out);
}
