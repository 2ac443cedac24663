//! Positioning of the sled: seek times between its states, and the approach to a pass over rows.
//!
//! After a service the sled is in one of few states along Y: at the boundary of a row, moving up or down. Seek times between those are
//! tabulated when they are first needed.

use std::cell::Cell;
use std::ops::Range;

use crate::convert::trunc_to_u32;
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::motion::{
    exact_turnaround_s, moves_exactly, settle_s, x_move_bound_s, x_move_s, x_path, y_path, y_seek, Axis, RestToRest,
    SeekModel, YSeek,
};
use crate::devices::mems::parameters::{MemsParameters, RowDirection};
use crate::devices::{Arc, MechanismState};
use crate::time::s_to_ns;
use crate::units::{M_PER_NM, M_PER_UM};

/// Position and motion of the sled along Y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum YState {
    /// At the boundary of a row, moving at access speed.
    Boundary(RowBoundary),
    /// At the centre of travel, at rest.
    Rest,
    /// At rest at a row, while the sled accesses points along X.
    Held(u32),
    /// At any position, after a reversal that ends in `delay_ns`.
    Free {
        /// Metres from the centre.
        y_m: f64,
        /// Signed speed in m/s.
        speed_m_s: f64,
        /// Time until the sled has this position and speed.
        delay_ns: u64,
    },
}

/// A boundary between rows, passed in one direction: the start or the end of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBoundary(u32);

/// Number of the state at rest; boundaries are numbered from 0.
const REST: u32 = u32::MAX;

impl YState {
    /// Returns the number of a state in which a service of rows ends, or of the state at rest.
    ///
    /// # Panics
    /// The state is another one.
    #[must_use]
    pub fn number(&self) -> u32 {
        match *self {
            Self::Boundary(RowBoundary(number)) => number,
            Self::Rest => REST,
            Self::Held(_) | Self::Free { .. } => unreachable!("a service of rows ends at the boundary of a row"),
        }
    }

    /// Returns the state of a number.
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        if number == REST {
            Self::Rest
        } else {
            Self::Boundary(RowBoundary(number))
        }
    }
}

/// The time of a seek along Y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct YTime {
    /// Total time.
    pub ns: u64,
    /// Part spent in reversals, if the model distinguishes them.
    pub turnaround_ns: u64,
}

/// Start and end of a pass over rows in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassEnds {
    /// Start.
    pub from: RowBoundary,
    /// End.
    pub to: RowBoundary,
}

/// Time of a seek that has not been computed yet.
const UNKNOWN: u32 = u32::MAX;

/// Maximum number of boundaries for which seek times are tabulated.
const TABLE_BOUNDARIES: usize = 1024;

/// Position and signed speed along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisState {
    /// Metres from the centre of travel.
    pub position_m: f64,
    /// Signed speed.
    pub speed_m_s: f64,
}

/// Position and motion of the sled.
#[derive(Clone, Copy, Debug)]
pub(super) struct SledState {
    pub(super) cylinder: u32,
    pub(super) y: YState,
    /// If the sled has passed the cylinder along X, true if it moved to lower cylinders; `None` at rest along X.
    pub(super) leftward: Option<bool>,
}

impl SledState {
    /// Returns the state at rest along X.
    #[inline]
    pub(super) fn on(cylinder: u32, y: YState) -> Self {
        Self { cylinder, y, leftward: None }
    }

    /// Returns the state after a service of rows, or at rest.
    pub(super) fn state(&self) -> MechanismState {
        MechanismState { cylinder: self.cylinder, slot: self.y.number() }
    }

    /// Returns the inverse of [`SledState::state`].
    pub(super) fn from_state(state: MechanismState) -> Self {
        Self::on(state.cylinder, YState::from_number(state.slot))
    }
}

/// The positioning before a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    /// State of the sled after the pass.
    pub(super) done: SledState,
    pub(super) x_ns: u64,
    pub(super) y: YTime,
    pub(super) seek_ns: u64,
    /// True if the sled settles after its move along X.
    pub(super) settles: bool,
}

impl Approach {
    /// Returns the approach to another pass over the row, after the last one.
    pub(super) fn again(&self, positioning: &Positioning, sled: &SledState) -> Self {
        let row = positioning.row_passed(&self.done.y);
        positioning.approach_row(sled, self.done.cylinder, row, positioning.has_passed_downward(&self.done.y))
    }
}

/// The path of an approach.
pub(super) struct ApproachPath {
    /// Along X, without settling.
    pub(super) x: Vec<Arc>,
    /// Along Y.
    pub(super) y: Vec<Arc>,
    /// Position along Y at its start.
    pub(super) from_y_m: f64,
    /// Position along Y at the start of the pass.
    pub(super) first_y_m: f64,
    /// Signed speed along Y at the start of the pass.
    pub(super) speed_m_s: f64,
    /// Position along X in the pass.
    pub(super) x_m: f64,
    pub(super) settle_ns: u64,
    /// Rest of a reversal before the path along Y.
    pub(super) delay_ns: u64,
}

/// A tabulated seek time.
#[derive(Clone, Copy)]
struct TableEntry {
    /// Total time; [`UNKNOWN`] if not computed yet.
    ns: u32,
    turnaround_ns: u32,
}

/// Seek times of one sled.
#[derive(Clone)]
pub struct Positioning {
    geometry: Geometry,
    x_axis: Axis,
    /// Moves along X, if they are exact.
    x_moves: Option<RestToRest>,
    y_axis: Axis,
    model: SeekModel,
    speed_m_s: f64,
    settle_ns: u64,
    bidirectional: bool,
    /// True if the direction of a pass is that of its track.
    directions_are_fixed: bool,
    /// Number of columns that the tips reach without a move of the sled.
    deflection_columns: u32,
    /// Number of boundaries: those passed upward, then those passed downward.
    boundaries: u32,
    /// Seek times from each boundary, and from rest, to each boundary.
    table: Box<[Cell<TableEntry>]>,
}

impl Positioning {
    /// Returns the positioning of a sled, with the geometry of its parameters.
    #[must_use]
    pub fn new(parameters: &MemsParameters, geometry: &Geometry) -> Self {
        let p = parameters;
        // The first-order model has no springs (Griffin et al. 1999, equations 2 and 4).
        let spring = if p.seek_model == SeekModel::FirstOrder { 0.0 } else { p.spring_factor };
        let axis = |accel_m_s2: f64, range_um: f64| Axis { accel_m_s2, spring, range_m: range_um * M_PER_UM };
        let boundaries = 2 * (geometry.rows + 1);
        let entries = (boundaries as usize + 1) * boundaries as usize;
        let unknown = Cell::new(TableEntry { ns: UNKNOWN, turnaround_ns: 0 });
        let table = vec![unknown; if boundaries as usize <= TABLE_BOUNDARIES { entries } else { 0 }];
        let x_axis = axis(p.acceleration_x_m_s2, p.x_range_um);
        Self {
            geometry: geometry.clone(),
            x_axis,
            x_moves: moves_exactly(p.seek_model, &x_axis).then(|| RestToRest::on(&x_axis)),
            y_axis: axis(p.acceleration_y_m_s2, p.y_range_um),
            model: p.seek_model,
            speed_m_s: p.bit_rate_kbit_s * 1e3 * p.bit_nm * M_PER_NM,
            settle_ns: s_to_ns(settle_s(p.settle_constants, p.resonance_hz)),
            bidirectional: p.bidirectional,
            directions_are_fixed: p.row_direction == RowDirection::ByTrack,
            // A millionth of a column compensates rounding errors.
            deflection_columns: trunc_to_u32((p.tip_deflection_nm / p.bit_nm + 1e-6).floor()),
            boundaries,
            table: table.into_boxed_slice(),
        }
    }

    /// Returns the geometry.
    #[inline]
    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the row before a boundary in its direction; `None` at the edge of the media.
    pub(super) fn row_before(&self, RowBoundary(number): RowBoundary) -> Option<u32> {
        let half = self.boundaries / 2;
        if number < half {
            number.checked_sub(1)
        } else {
            Some(number - half).filter(|&row| row < self.geometry.rows)
        }
    }

    /// Returns the settling time after a move along X.
    #[must_use]
    pub fn settle_ns(&self) -> u64 {
        self.settle_ns
    }

    /// Returns the access speed.
    #[must_use]
    pub fn speed_m_s(&self) -> f64 {
        self.speed_m_s
    }

    /// Returns true if the direction of a pass is that of its track.
    #[inline]
    #[must_use]
    pub fn directions_are_fixed(&self) -> bool {
        self.directions_are_fixed
    }

    /// Returns the time to move from one cylinder to another and settle; 0 if the tips reach it without a move.
    #[inline]
    #[must_use]
    pub fn x_ns(&self, from: u32, to: u32) -> u64 {
        if from.abs_diff(to) <= self.deflection_columns {
            return 0;
        }
        let (x0, x1) = (self.geometry.x_m(from), self.geometry.x_m(to));
        let move_s = match &self.x_moves {
            Some(moves) => moves.time_s(x0, x1),
            None => x_move_s(self.model, &self.x_axis, x0, x1),
        };
        s_to_ns(move_s) + self.settle_ns
    }

    /// Returns a lower bound on [`Positioning::x_ns`] that never falls as the distance of `to` from `from` grows, on either side.
    #[inline]
    #[must_use]
    pub fn x_bound_ns(&self, from: u32, to: u32) -> u64 {
        if from.abs_diff(to) <= self.deflection_columns {
            return 0;
        }
        let (x0, x1) = (self.geometry.x_m(from), self.geometry.x_m(to));
        s_to_ns(x_move_bound_s(self.model, &self.x_axis, x0, x1)) + self.settle_ns
    }

    /// Returns the X axis of the seek model.
    #[must_use]
    pub fn x_axis(&self) -> &Axis {
        &self.x_axis
    }

    /// Returns the Y axis of the seek model.
    #[must_use]
    pub fn y_axis(&self) -> &Axis {
        &self.y_axis
    }

    /// Returns the seek model.
    #[must_use]
    pub fn model(&self) -> SeekModel {
        self.model
    }

    /// Returns true if the sled can reach the access speed along Y from rest anywhere.
    #[must_use]
    pub fn starts(&self) -> bool {
        self.y_axis.starts_to(self.speed_m_s)
    }

    /// Returns true if the sled can reach the access speed along X from rest anywhere.
    #[must_use]
    pub fn starts_along_x(&self) -> bool {
        self.x_axis.starts_to(self.speed_m_s)
    }

    /// Returns the possible directions of a pass: upward (`false`), and downward (`true`) if the sled can access data that way.
    #[inline]
    #[must_use]
    pub fn directions(&self) -> &'static [bool] {
        if self.bidirectional {
            &[false, true]
        } else {
            &[false]
        }
    }

    /// Returns the ends of a pass over a row.
    #[inline]
    #[must_use]
    pub fn ends_of_row(&self, row: u32, downward: bool) -> PassEnds {
        self.ends_of_rows(row..row + 1, downward)
    }

    /// Returns the ends of a pass over consecutive rows.
    #[inline]
    #[must_use]
    pub fn ends_of_rows(&self, rows: Range<u32>, downward: bool) -> PassEnds {
        if downward {
            let half = self.boundaries / 2;
            PassEnds { from: RowBoundary(half + rows.end), to: RowBoundary(half + rows.start) }
        } else {
            PassEnds { from: RowBoundary(rows.start), to: RowBoundary(rows.end) }
        }
    }

    /// Returns the row of a pass over one row that ends in the state `end`.
    #[must_use]
    pub fn row_passed(&self, end: &YState) -> u32 {
        let half = self.boundaries / 2;
        match *end {
            YState::Boundary(RowBoundary(to)) if to >= half => to - half,
            YState::Boundary(RowBoundary(to)) => to.saturating_sub(1),
            _ => 0,
        }
    }

    /// Returns true if a pass that ends in the state `end` is downward.
    fn has_passed_downward(&self, end: &YState) -> bool {
        matches!(*end, YState::Boundary(RowBoundary(to)) if to >= self.boundaries / 2)
    }

    /// Returns the time from one state of the sled to another.
    #[must_use]
    pub(super) fn move_ns(&self, from: &SledState, to: &SledState) -> u64 {
        let y_ns = match to.y {
            YState::Boundary(boundary) => self.y_ns(&from.y, boundary).ns,
            YState::Rest | YState::Held(_) | YState::Free { .. } => 0,
        };
        y_ns.max(self.x_ns(from.cylinder, to.cylinder))
    }

    /// Returns position and speed along Y at a boundary.
    #[must_use]
    pub fn boundary_state(&self, boundary: RowBoundary) -> AxisState {
        let half = self.boundaries / 2;
        let (bit, speed_m_s) = if boundary.0 < half {
            (self.geometry.upward_bit(boundary.0), self.speed_m_s)
        } else {
            (self.geometry.downward_bit(boundary.0 - half), -self.speed_m_s)
        };
        AxisState { position_m: self.geometry.y_m(bit), speed_m_s }
    }

    /// Returns position and speed along Y in a state.
    #[must_use]
    pub fn y_state(&self, state: &YState) -> AxisState {
        match *state {
            YState::Boundary(boundary) => self.boundary_state(boundary),
            YState::Rest => AxisState { position_m: 0.0, speed_m_s: 0.0 },
            YState::Held(row) => {
                AxisState { position_m: self.geometry.y_m(self.geometry.upward_bit(row)), speed_m_s: 0.0 }
            }
            YState::Free { y_m, speed_m_s, .. } => AxisState { position_m: y_m, speed_m_s },
        }
    }

    /// Returns the time from a state until the sled passes a boundary.
    #[inline]
    #[must_use]
    pub fn y_ns(&self, from: &YState, to: RowBoundary) -> YTime {
        let row = match *from {
            YState::Boundary(boundary) => boundary.0,
            YState::Rest => self.boundaries,
            YState::Held(_) => return self.compute(from, to),
            YState::Free { delay_ns, .. } => {
                let time = self.compute(from, to);
                return YTime { ns: time.ns + delay_ns, ..time };
            }
        };
        let Some(cell) = self.table.get(row as usize * self.boundaries as usize + to.0 as usize) else {
            return self.compute(from, to);
        };
        let TableEntry { ns, turnaround_ns } = cell.get();
        if ns != UNKNOWN {
            return YTime { ns: u64::from(ns), turnaround_ns: u64::from(turnaround_ns) };
        }
        let time = self.compute(from, to);
        if let (Ok(ns), Ok(turnaround_ns)) = (u32::try_from(time.ns), u32::try_from(time.turnaround_ns)) {
            cell.set(TableEntry { ns, turnaround_ns });
        }
        time
    }

    #[cold]
    fn compute(&self, from: &YState, to: RowBoundary) -> YTime {
        let (from, to) = (self.y_state(from), self.boundary_state(to));
        let [y0, y1] = [from.position_m, to.position_m];
        let (model, axis) = (self.model, &self.y_axis);
        let YSeek { time_s, turnaround_s, .. } =
            y_seek(model, axis, self.speed_m_s, y0, from.speed_m_s, y1, to.speed_m_s);
        YTime { ns: s_to_ns(time_s), turnaround_ns: s_to_ns(turnaround_s) }
    }

    /// Returns the state of a sled that sweeps its cylinder, `idle_ns` after the state `from`.
    ///
    /// It moves at access speed between the first servo burst and the last, and reverses beyond them. A reversal that has begun is
    /// completed.
    #[must_use]
    pub fn after_sweep(&self, from: &YState, idle_ns: u64) -> YState {
        let g = &self.geometry;
        let (bottom, top) = (g.y_m(g.upward_bit(0)), g.y_m(g.downward_bit(g.rows)));
        let AxisState { position_m: y, speed_m_s: v } = self.y_state(from);
        let up = v >= 0.0;
        let speed = self.speed_m_s;
        let crossing_s = (top - bottom) / speed;
        let reversal_s =
            [exact_turnaround_s(&self.y_axis, bottom, -speed), exact_turnaround_s(&self.y_axis, top, speed)];
        let delay_s = if let YState::Free { delay_ns, .. } = from { *delay_ns as f64 * 1e-9 } else { 0.0 };
        // Time since the sled passed the edge behind it; the rest of a reversal counts as negative.
        let y = y.clamp(bottom, top);
        let mut upward = up;
        let travelled = if up { y - bottom } else { top - y } / speed;
        let period_s = 2.0 * crossing_s + reversal_s[0] + reversal_s[1];
        let mut clock = (travelled - delay_s + idle_ns as f64 * 1e-9) % period_s;
        loop {
            if clock <= crossing_s {
                let along = clock.max(0.0) * speed;
                return YState::Free {
                    y_m: if upward { bottom + along } else { top - along },
                    speed_m_s: if upward { speed } else { -speed },
                    delay_ns: s_to_ns((-clock).max(0.0)),
                };
            }
            clock -= crossing_s + reversal_s[usize::from(upward)];
            upward = !upward;
        }
    }

    /// Returns the path of an approach to a pass over `rows` rows.
    pub(super) fn path(&self, sled: &SledState, approach: &Approach, rows: u32) -> ApproachPath {
        let YState::Boundary(RowBoundary(end)) = approach.done.y else {
            unreachable!("a pass over rows ends at the boundary of a row")
        };
        let first = RowBoundary(if end < self.boundaries / 2 { end - rows } else { end + rows });
        let (from, to) = (self.y_state(&sled.y), self.boundary_state(first));
        let [x0, x1] = [sled.cylinder, approach.done.cylinder].map(|cylinder| self.geometry.x_m(cylinder));
        let delay_ns = if let YState::Free { delay_ns, .. } = sled.y { delay_ns } else { 0 };
        ApproachPath {
            x: if approach.settles { x_path(self.model, &self.x_axis, x0, x1) } else { Vec::new() },
            y: y_path(
                self.model,
                &self.y_axis,
                self.speed_m_s,
                from.position_m,
                from.speed_m_s,
                to.position_m,
                to.speed_m_s,
            ),
            from_y_m: from.position_m,
            first_y_m: to.position_m,
            speed_m_s: to.speed_m_s,
            x_m: x1,
            settle_ns: if approach.settles { self.settle_ns } else { 0 },
            delay_ns,
        }
    }

    /// Returns the approach from `sled` to a pass over rows of a cylinder, given the time of the move along X.
    #[inline]
    pub(super) fn approach_by(&self, x_ns: u64, sled: &SledState, cylinder: u32, ends: PassEnds) -> Approach {
        let y = self.y_ns(&sled.y, ends.from);
        let done = SledState::on(cylinder, YState::Boundary(ends.to));
        Approach { done, x_ns, y, seek_ns: y.ns.max(x_ns), settles: x_ns > 0 }
    }

    /// Returns the quickest approach to a row; downward if both directions take as long, as in DiskSim.
    #[inline]
    pub(super) fn approach(&self, sled: &SledState, cylinder: u32, row: u32) -> Approach {
        self.approach_to(sled, cylinder, row..row + 1)
    }

    /// Returns the approach to a row of a track, which has its rows in reverse order if `is_reversed`: the quickest one, or if
    /// directions are fixed, that in the direction of the track.
    #[inline]
    pub(super) fn approach_row(&self, sled: &SledState, cylinder: u32, row: u32, is_reversed: bool) -> Approach {
        if self.directions_are_fixed {
            self.approach_in(sled, cylinder, row..row + 1, is_reversed && self.bidirectional)
        } else {
            self.approach(sled, cylinder, row)
        }
    }

    /// Returns the quickest approach to consecutive rows, from either end; downward if both take as long.
    #[inline]
    pub(super) fn approach_to(&self, sled: &SledState, cylinder: u32, rows: Range<u32>) -> Approach {
        let x_ns = self.x_ns(sled.cylinder, cylinder);
        let up = self.approach_by(x_ns, sled, cylinder, self.ends_of_rows(rows.clone(), false));
        if self.directions().len() == 1 {
            return up;
        }
        let down = self.approach_by(x_ns, sled, cylinder, self.ends_of_rows(rows, true));
        if down.seek_ns <= up.seek_ns {
            down
        } else {
            up
        }
    }

    /// Returns the approach to a pass over consecutive rows in one direction.
    pub(super) fn approach_in(&self, sled: &SledState, cylinder: u32, rows: Range<u32>, downward: bool) -> Approach {
        self.approach_by(self.x_ns(sled.cylinder, cylinder), sled, cylinder, self.ends_of_rows(rows, downward))
    }
}
