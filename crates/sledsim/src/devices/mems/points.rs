//! Blocks at points: each is under all of its tips at one position of the sled, which can continue from there along either axis
//! (Schlosser & Ganger 2004, section 7).
//!
//! A *line* is consecutive points along X or along Y. The sled passes them at access speed, and rests, settled, on the other axis: off
//! the line is off the track. So the approach to a line takes as long as to pass its first point at access speed, or as long as to come
//! to rest on it and settle, whichever is longer. By time reversal, coming to rest takes as long as the opposite start.
//!
//! LBNs are consecutive along Y. A request of several blocks is served in their order. A single block is accessed along the axis and in
//! the direction that takes less time; if it is right beside the previous block, along the axis on which both lie. In a batch each block
//! belongs to the larger of two groups of near blocks, one along each axis; near means that passing the points in between takes no longer
//! than settling. A group is accessed from one end to the other, the nearest group next; more groups than [`BATCH_POSITIONS`] by cylinder.

use std::ops::Range;

use crate::convert::to_u32;
use crate::devices::mems::batch::{finish_together, is_nearer_to_last, MemberProgress};
use crate::devices::mems::device::MemsDevice;
use crate::devices::mems::geometry::{Place, TrackRun};
use crate::devices::mems::motion::{x_move_s, y_seek, Axis};
use crate::devices::mems::parameters::{Idle, MemsParameters};
use crate::devices::mems::passes::PassLoad;
use crate::devices::mems::positioning::{Approach, AxisState, Positioning, SledState, YState, YTime};
use crate::devices::mems::subsector::BlockCounts;
use crate::devices::Location;
use crate::fault::Fault;
use crate::limits::BATCH_POSITIONS;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::{s_to_ns, Time};

/// Checks parameters with `transfer = "points"`.
///
/// # Errors
/// The sled can't reach the access speed along X, or sweeps while idle, which it can do along Y only.
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
            .says(" an idle sled holds its position: write ")
            .set("idle", "hold"));
    }
    Ok(())
}

/// Consecutive points along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    along_x: bool,
    /// Cylinder of the first point.
    cylinder: u32,
    /// Row of the first point.
    row: u32,
    points: u32,
}

/// Direction of access to a location.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// A single block, along either axis.
    Any = 0,
    Upward = 1,
    Downward = 2,
}

/// [`Location::slot`] is the row times this plus the [`Direction`]. Rows are below 2^30.
const DIRECTIONS: u32 = 3;

/// Returns the row of a location.
pub(super) fn row_of(location: Location) -> u32 {
    location.slot / DIRECTIONS
}

/// See [`crate::devices::Mechanism::locate`].
pub(super) fn locate(device: &MemsDevice, request: &Request) -> Location {
    let place = device.geometry.place(request.lbn);
    let TrackRun { blocks, is_reversed } = device.geometry.run_in_track(&place, request.blocks);
    let downward = is_reversed && device.positioning().directions().len() > 1;
    let (row, direction) = match (request.blocks, downward) {
        (1, _) => (place.row, Direction::Any),
        (_, true) => (place.row, Direction::Downward),
        (_, false) => (if is_reversed { place.row + 1 - blocks } else { place.row }, Direction::Upward),
    };
    Location { cylinder: place.cylinder, slot: DIRECTIONS * row + direction as u32 }
}

/// Axis and direction of a move to a point beside the last one.
#[derive(Clone, Copy)]
struct Continuation {
    along_x: bool,
    backward: bool,
}

impl Positioning {
    /// Returns position and speed along X.
    pub(super) fn x_state(&self, sled: &SledState) -> AxisState {
        match sled.leftward {
            None => self.x_rest(sled.cylinder),
            Some(true) => AxisState { position_m: self.geometry().x_m(sled.cylinder), speed_m_s: -self.speed_m_s() },
            Some(false) => {
                AxisState { position_m: self.geometry().x_m(sled.cylinder + 1), speed_m_s: self.speed_m_s() }
            }
        }
    }

    fn x_rest(&self, cylinder: u32) -> AxisState {
        AxisState { position_m: self.geometry().x_m(cylinder), speed_m_s: 0.0 }
    }

    /// Returns the time along an axis between two states, each at rest or at access speed.
    fn axis_ns(&self, axis: &Axis, from: AxisState, to: AxisState) -> u64 {
        let (AxisState { position_m: y0_m, speed_m_s: v0_m_s }, AxisState { position_m: y1_m, speed_m_s: v1_m_s }) =
            (from, to);
        if from == to {
            return 0;
        }
        let (model, speed_m_s) = (self.model(), self.speed_m_s());
        s_to_ns(match (v0_m_s == 0.0, v1_m_s == 0.0) {
            (true, true) => x_move_s(model, axis, y0_m, y1_m),
            (_, false) => y_seek(model, axis, speed_m_s, y0_m, v0_m_s, y1_m, v1_m_s).time_s,
            // Reversed in time: from rest to the opposite speed.
            (false, true) => y_seek(model, axis, speed_m_s, y1_m, 0.0, y0_m, -v0_m_s).time_s,
        })
    }

    /// Returns the time until the sled rests on a cylinder, settled.
    fn x_rest_ns(&self, sled: &SledState, cylinder: u32) -> u64 {
        if sled.leftward.is_none() {
            return self.x_ns(sled.cylinder, cylinder);
        }
        self.axis_ns(self.x_axis(), self.x_state(sled), self.x_rest(cylinder)) + self.settle_ns()
    }

    /// Returns the time until the sled rests on a row, settled.
    fn y_rest_ns(&self, y: &YState, row: u32) -> u64 {
        let [from, to] = [*y, YState::Held(row)].map(|state| self.y_state(&state));
        if from == to {
            return 0;
        }
        self.axis_ns(self.y_axis(), from, to) + self.settle_ns()
    }

    /// Returns the approach to a line, from its first point or `backward` from its last.
    fn approach_line(&self, sled: &SledState, line: Line, backward: bool) -> Approach {
        let Line { along_x, cylinder, row, points } = line;
        if !along_x {
            let x_ns = self.x_rest_ns(sled, cylinder);
            return self.approach_by(x_ns, sled, cylinder, self.ends_of_rows(row..row + points, backward));
        }
        let end = cylinder + points;
        let (from, last) = if backward { (end, cylinder) } else { (cylinder, end - 1) };
        let speed_m_s = if backward { -self.speed_m_s() } else { self.speed_m_s() };
        let to = AxisState { position_m: self.geometry().x_m(from), speed_m_s };
        let x_ns = self.axis_ns(self.x_axis(), self.x_state(sled), to);
        let y = YTime { ns: self.y_rest_ns(&sled.y, row), turnaround_ns: 0 };
        let done = SledState { cylinder: last, y: YState::Held(row), leftward: Some(backward) };
        // Settling is part of the time along Y here.
        Approach { done, x_ns, y, seek_ns: x_ns.max(y.ns), settles: false }
    }

    /// Returns the quickest approach to an end of one of `lines`; the last one of equals.
    fn quickest(&self, sled: &SledState, lines: &[Line]) -> Approach {
        let approaches = lines
            .iter()
            .flat_map(|&line| self.directions().iter().map(move |&backward| self.approach_line(sled, line, backward)));
        approaches
            .reduce(|best, approach| if approach.seek_ns <= best.seek_ns { approach } else { best })
            .expect("a line has an end")
    }

    /// Returns the approach to a single point: along the axis on which it is beside the last one, otherwise the quickest.
    fn approach_point(&self, sled: &SledState, cylinder: u32, row: u32) -> Approach {
        let line = |along_x| Line { along_x, cylinder, row, points: 1 };
        match self.continuation(sled, cylinder, row) {
            Some(Continuation { along_x, backward }) => self.approach_line(sled, line(along_x), backward),
            None => self.quickest(sled, &[line(true), line(false)]),
        }
    }

    /// Returns how the sled continues to a point that is right beside the last one, across its line; `None` for other points.
    fn continuation(&self, sled: &SledState, cylinder: u32, row: u32) -> Option<Continuation> {
        let found = match (sled.leftward, sled.y) {
            (Some(_), YState::Held(last)) => (cylinder == sled.cylinder && row.abs_diff(last) == 1)
                .then_some(Continuation { along_x: false, backward: row < last }),
            (None, YState::Boundary(boundary)) => {
                let is_beside = self.row_before(boundary) == Some(row) && cylinder.abs_diff(sled.cylinder) == 1;
                is_beside.then_some(Continuation { along_x: true, backward: cylinder < sled.cylinder })
            }
            _ => None,
        };
        found.filter(|found| self.directions().contains(&found.backward))
    }

    /// Returns the approach to the rows of a request in one track; `alone` if they are a single block and the whole request.
    pub(super) fn approach_rows(
        &self,
        sled: &SledState,
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

    /// Returns the approach to a location.
    pub(super) fn approach_location(&self, sled: &SledState, location: Location) -> Approach {
        let (row, direction) = (row_of(location), location.slot % DIRECTIONS);
        let alone = direction == Direction::Any as u32;
        self.approach_rows(sled, location.cylinder, row..row + 1, direction == Direction::Downward as u32, alone)
    }

    /// Returns a lower bound on the time of an approach to a cylinder, which never falls as its distance grows: a move at full force, helped
    /// by the springs, to its nearer edge.
    pub(super) fn point_bound_ns(&self, sled: &SledState, cylinder: u32) -> u64 {
        let AxisState { position_m: at_m, speed_m_s } = self.x_state(sled);
        let distance_m = [cylinder, cylinder + 1].map(|edge| (self.geometry().x_m(edge) - at_m).abs());
        let distance_m = distance_m[0].min(distance_m[1]);
        let axis = self.x_axis();
        let accel_m_s2 = axis.accel_m_s2 * (1.0 + axis.spring);
        let v = speed_m_s.abs();
        let reached = v + (v * v + 2.0 * accel_m_s2 * distance_m).sqrt();
        // The move may take exactly this time, rounded down.
        if distance_m == 0.0 {
            return 0;
        }
        s_to_ns(2.0 * distance_m / reached).saturating_sub(1)
    }
}

/// Returns the maximum distance of near points: as many points as pass while the sled settles.
fn reach(device: &MemsDevice) -> u64 {
    device.positioning().settle_ns() / device.pass_time.ns().max(1) + 1
}

/// See [`crate::devices::BatchAccess::for_each_companion`]: blocks near to `request` along Y, and those near to a single block along X.
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

/// A block that requests of a batch access.
struct RequestedBlock {
    track: u32,
    row: u32,
    cylinder: u32,
    /// Its range in [`Blocks::members`].
    members: Range<usize>,
}

/// The blocks of a batch.
struct Blocks {
    /// Sorted by track, row and cylinder.
    blocks: Vec<RequestedBlock>,
    /// Indices of the requests of each block.
    members: Vec<usize>,
    /// Maximum distance of near points.
    reach: u32,
}

/// A line and its blocks, from its first point.
struct BlockLine {
    line: Line,
    blocks: Vec<usize>,
}

/// Lines on a straight line.
struct Group {
    lines: Vec<BlockLine>,
    /// True for a single block, which can be accessed along either axis.
    alone: bool,
}

/// The approach to a group.
struct GroupApproach {
    approach: Approach,
    /// True if the group is accessed from its last point.
    backward: bool,
}

impl Group {
    /// Returns the quickest approach to one of its ends.
    fn approach(&self, positioning: &Positioning, sled: &SledState) -> GroupApproach {
        let (first, last) = (self.lines[0].line, self.lines[self.lines.len() - 1].line);
        if self.alone {
            let approach = positioning.approach_point(sled, first.cylinder, first.row);
            return GroupApproach { approach, backward: false };
        }
        let approaches = positioning.directions().iter().map(|&backward| {
            let approach = positioning.approach_line(sled, if backward { last } else { first }, backward);
            GroupApproach { approach, backward }
        });
        approaches
            .reduce(|best, other| if other.approach.seek_ns <= best.approach.seek_ns { other } else { best })
            .expect("a sled has at least one direction")
    }
}

impl Blocks {
    /// Returns the blocks of `requests`.
    fn of(device: &MemsDevice, requests: &[Request]) -> Self {
        let mut accesses = Vec::with_capacity(requests.len());
        for (member, request) in requests.iter().enumerate() {
            accesses.extend((request.lbn..request.end_lbn()).map(|lbn| {
                let place = device.geometry.place(lbn);
                ([place.track, place.row, place.cylinder], member)
            }));
        }
        accesses.sort_unstable();
        let mut blocks = Vec::with_capacity(accesses.len());
        let mut first = 0;
        for same in accesses.chunk_by(|one, other| one.0 == other.0) {
            let [track, row, cylinder] = same[0].0;
            blocks.push(RequestedBlock { track, row, cylinder, members: first..first + same.len() });
            first += same.len();
        }
        let reach = u32::try_from(reach(device)).unwrap_or(u32::MAX);
        Self { blocks, members: accesses.into_iter().map(|(_, member)| member).collect(), reach }
    }

    /// Returns the indices of the requests of a block.
    fn members_of(&self, block: usize) -> &[usize] {
        &self.members[self.blocks[block].members.clone()]
    }

    /// Returns the distance from block `one` to a later block along an axis; `None` if they are not on one line.
    fn distance(&self, one: usize, other: usize, along_x: bool) -> Option<u32> {
        let (one, other) = (&self.blocks[one], &self.blocks[other]);
        let (x, y) = (other.cylinder.checked_sub(one.cylinder)?, other.row.checked_sub(one.row)?);
        let (along, across) = if along_x { (x, y) } else { (y, x) };
        (one.track == other.track && across == 0).then_some(along)
    }

    /// Returns groups that together contain each block once.
    fn groups(&self) -> Vec<Group> {
        let by_rows: Vec<usize> = (0..self.blocks.len()).collect();
        let mut by_columns = by_rows.clone();
        by_columns.sort_unstable_by_key(|&index| {
            let RequestedBlock { track, row, cylinder, .. } = self.blocks[index];
            (track, cylinder, row)
        });
        let axes = [(false, &by_columns), (true, &by_rows)];
        let near = |one, other, along_x| self.distance(one, other, along_x).is_some_and(|points| points <= self.reach);
        let mut sizes = [vec![0; by_rows.len()], vec![0; by_rows.len()]];
        for (along_x, order) in axes {
            for group in order.chunk_by(|&one, &other| near(one, other, along_x)) {
                group.iter().for_each(|&index| sizes[usize::from(along_x)][index] = group.len());
            }
        }
        let goes_along_x = |index: usize| sizes[1][index] > sizes[0][index];
        let mut groups = Vec::new();
        for (along_x, order) in axes {
            let blocks: Vec<usize> = order.iter().copied().filter(|&index| goes_along_x(index) == along_x).collect();
            for group in blocks.chunk_by(|&one, &other| near(one, other, along_x)) {
                let follows = |&one: &usize, &other: &usize| self.distance(one, other, along_x) == Some(1);
                let lines = group.chunk_by(follows).map(|blocks| {
                    let RequestedBlock { row, cylinder, .. } = self.blocks[blocks[0]];
                    let line = Line { along_x, cylinder, row, points: to_u32(blocks.len()) };
                    BlockLine { line, blocks: blocks.to_vec() }
                });
                let alone = sizes.iter().all(|sizes| sizes[group[0]] == 1);
                groups.push(Group { lines: lines.collect(), alone });
            }
        }
        groups
    }

    /// Returns true if a request accesses a block with an operation.
    fn has_access(&self, block: usize, op: Op, requests: &[Request]) -> bool {
        self.members_of(block).iter().any(|&member| requests[member].op == op)
    }
}

/// Serves `requests` together from `now` on: the nearest group next, or many groups by cylinder from the nearer end. Appends one [`Service`]
/// for each to `out`. Blocks complete with their line.
pub(super) fn serve(device: &mut MemsDevice, now: Time, requests: &[Request], out: &mut Vec<Service>) {
    let requested = Blocks::of(device, requests);
    let mut left = requested.groups();
    let position = |group: &Group| (group.lines[0].line.cylinder, group.lines[0].line.row);
    let mut run = device.begin(now);
    // The next group by cylinder is at the end.
    let are_sorted = left.len() as u64 > BATCH_POSITIONS.most;
    if are_sorted {
        left.sort_by_key(position);
        if !is_nearer_to_last(&left, device.sled.cylinder, |group| position(group).0) {
            left.reverse();
        }
    }
    let mut members = vec![MemberProgress { passes: 0, bus_done: now }; requests.len()];
    let approach_to = |device: &MemsDevice, group: &Group| group.approach(device.positioning(), &device.sled);
    let nearest = |device: &MemsDevice, left: &[Group]| match are_sorted {
        true => left.len().checked_sub(1),
        false => (0..left.len()).min_by_key(|&group| approach_to(device, &left[group]).approach.seek_ns),
    };
    while let Some(next) = nearest(device, &left) {
        let mut group = left.remove(next);
        let GroupApproach { mut approach, backward } = approach_to(device, &group);
        if backward {
            group.lines.reverse();
        }
        for (index, BlockLine { line, blocks }) in group.lines.iter().enumerate() {
            if index > 0 {
                approach = device.positioning().approach_line(&device.sled, *line, backward);
            }
            let count = |op| to_u32(blocks.iter().filter(|&&block| requested.has_access(block, op, requests)).count());
            let counts = BlockCounts { reads: count(Op::Read), writes: count(Op::Write) };
            let tips = device.geometry.tips_per_block;
            device.pass(&mut run, &approach, PassLoad { rows: line.points, tips, blocks: counts });
            for &member in blocks.iter().flat_map(|&block| requested.members_of(block)) {
                members[member].passes += 1;
                members[member].bus_done = if requests[member].op == Op::Read { run.bus_done } else { run.at };
            }
        }
    }
    let shares: Vec<u64> = requests.iter().map(|request| u64::from(request.blocks)).collect();
    finish_together(device, &mut run, &shares, &members, out);
}
