//! Seek times between the places a sled can be at, in nanoseconds.
//!
//! Along Y a sled that has served something stands at one of few places: the ends of rows, moving up or down. Seek
//! times between those are computed once each and kept.

use std::cell::Cell;
use std::ops::Range;

use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::motion::{
    exact_turnaround_s, moves_exactly, settle_s, x_move_bound_s, x_move_s, y_seek, Axis, RestToRest, SeekModel, YSeek,
};
use crate::devices::mems::parameters::MemsParameters;
use crate::time::s_to_ns;
use crate::units::{M_PER_NM, M_PER_UM};

/// Where the sled is along Y, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum YState {
    /// At the end of a row, moving at access speed: a gate.
    Gate(Gate),
    /// At the centre of travel, at rest.
    Rest,
    /// At rest at a row, while the sled moves along X.
    Held(u32),
    /// Anywhere, at `speed_m_s` (signed), after finishing a reversal that takes another `delay_ns`.
    Free {
        /// Metres from the centre.
        y_m: f64,
        /// Signed speed.
        speed_m_s: f64,
        /// Nanoseconds until it is there.
        delay_ns: u64,
    },
}

/// A servo burst passed in a direction: where a pass over a row begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate(u32);

/// Number of the place in which a sled rests; gates have theirs from 0 on.
const REST: u32 = u32::MAX;

impl YState {
    /// A number for the places at which services end, and rest.
    ///
    /// # Panics
    /// Where the sled only sweeps past: no service ends there.
    #[must_use]
    pub fn number(&self) -> u32 {
        match *self {
            Self::Gate(Gate(number)) => number,
            Self::Rest => REST,
            Self::Held(_) | Self::Free { .. } => unreachable!("a service of rows ends at a gate"),
        }
    }

    /// The place of a number.
    #[must_use]
    pub fn numbered(number: u32) -> Self {
        if number == REST {
            Self::Rest
        } else {
            Self::Gate(Gate(number))
        }
    }
}

/// A seek along Y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct YTime {
    /// Whole time.
    pub ns: u64,
    /// The reversals in it, where the model tells them apart.
    pub turnaround_ns: u64,
}

/// A pass over a row in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it begins.
    pub from: Gate,
    /// Where it ends.
    pub to: Gate,
}

/// Seek table entries are 32-bit; this one is not filled in yet.
const UNKNOWN: u32 = u32::MAX;

/// More gates than this are not tabulated: the table would cost more than it saves.
const MOST_GATES: usize = 1024;

/// Seek times of one sled.
#[derive(Clone)]
pub struct Positioning {
    geometry: Geometry,
    x_axis: Axis,
    /// Moves along X, where they are exact.
    x_moves: Option<RestToRest>,
    y_axis: Axis,
    model: SeekModel,
    speed_m_s: f64,
    settle_ns: u64,
    bidirectional: bool,
    gates: u32,
    /// (time, turnaround) from each gate, and from rest, to each gate.
    table: Box<[Cell<(u32, u32)>]>,
}

impl Positioning {
    /// From parameters and the geometry derived from them.
    #[must_use]
    pub fn new(parameters: &MemsParameters, geometry: &Geometry) -> Self {
        let p = parameters;
        // The first-order model knows no springs (Griffin et al. 1999, equations 2 and 4).
        let spring = if p.seek_model == SeekModel::FirstOrder { 0.0 } else { p.spring_factor };
        let axis = |accel_m_s2: f64, range_um: f64| Axis { accel_m_s2, spring, range_m: range_um * M_PER_UM };
        let gates = 2 * (geometry.rows + 1);
        let entries = (gates as usize + 1) * gates as usize;
        let table = vec![Cell::new((UNKNOWN, 0)); if gates as usize <= MOST_GATES { entries } else { 0 }];
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
            gates,
            table: table.into_boxed_slice(),
        }
    }

    /// The geometry.
    #[inline]
    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The row passed last on the way to a gate; none at the edge it came from.
    pub(super) fn row_before(&self, Gate(number): Gate) -> Option<u32> {
        let half = self.gates / 2;
        if number < half {
            number.checked_sub(1)
        } else {
            Some(number - half).filter(|&row| row < self.geometry.rows)
        }
    }

    /// Settling time after a move along X.
    #[must_use]
    pub fn settle_ns(&self) -> u64 {
        self.settle_ns
    }

    /// Access speed.
    #[must_use]
    pub fn speed_m_s(&self) -> f64 {
        self.speed_m_s
    }

    /// Time to move from one cylinder to another and settle; 0 where they are the same.
    #[inline]
    #[must_use]
    pub fn x_ns(&self, from: u32, to: u32) -> u64 {
        if from == to {
            return 0;
        }
        let (x0, x1) = (self.geometry.x_m(from), self.geometry.x_m(to));
        let move_s = match &self.x_moves {
            Some(moves) => moves.time_s(x0, x1),
            None => x_move_s(self.model, &self.x_axis, x0, x1),
        };
        s_to_ns(move_s) + self.settle_ns
    }

    /// A lower bound on [`Positioning::x_ns`] that never falls as `to` goes further from `from`, on either side.
    #[inline]
    #[must_use]
    pub fn x_bound_ns(&self, from: u32, to: u32) -> u64 {
        if from == to {
            return 0;
        }
        let (x0, x1) = (self.geometry.x_m(from), self.geometry.x_m(to));
        s_to_ns(x_move_bound_s(self.model, &self.x_axis, x0, x1)) + self.settle_ns
    }

    /// The X axis as the seek model sees it.
    #[must_use]
    pub fn x_axis(&self) -> &Axis {
        &self.x_axis
    }

    /// The Y axis as the seek model sees it.
    #[must_use]
    pub fn y_axis(&self) -> &Axis {
        &self.y_axis
    }

    /// The seek model.
    #[must_use]
    pub fn model(&self) -> SeekModel {
        self.model
    }

    /// Whether the sled can start from rest at the centre and reach the access speed wherever a pass may begin.
    #[must_use]
    pub fn starts(&self) -> bool {
        self.y_axis.starts_to(self.speed_m_s)
    }

    /// Whether it can reach the access speed along X as well.
    #[must_use]
    pub fn starts_along_x(&self) -> bool {
        self.x_axis.starts_to(self.speed_m_s)
    }

    /// Whether a pass may go downward: no, and yes where the sled can do that.
    #[inline]
    #[must_use]
    pub fn directions(&self) -> &'static [bool] {
        if self.bidirectional {
            &[false, true]
        } else {
            &[false]
        }
    }

    /// The pass over a row, upward or downward.
    #[inline]
    #[must_use]
    pub fn entry(&self, row: u32, downward: bool) -> Entry {
        self.entry_of(row..row + 1, downward)
    }

    /// The pass over rows that follow each other, upward or downward.
    #[inline]
    #[must_use]
    pub fn entry_of(&self, rows: Range<u32>, downward: bool) -> Entry {
        if downward {
            let half = self.gates / 2;
            Entry { from: Gate(half + rows.end), to: Gate(half + rows.start) }
        } else {
            Entry { from: Gate(rows.start), to: Gate(rows.end) }
        }
    }

    /// The row of a pass over one that ends there.
    #[must_use]
    pub fn row_passed(&self, end: &YState) -> u32 {
        let half = self.gates / 2;
        match *end {
            YState::Gate(Gate(to)) if to >= half => to - half,
            YState::Gate(Gate(to)) => to.saturating_sub(1),
            _ => 0,
        }
    }

    /// Time from a place to another, in which the sled passes it as it would have come to be there.
    #[must_use]
    pub fn way_ns(&self, from: (u32, &YState), to: (u32, &YState)) -> u64 {
        let y_ns = match *to.1 {
            YState::Gate(gate) => self.y_ns(from.1, gate).ns,
            YState::Rest | YState::Held(_) | YState::Free { .. } => 0,
        };
        y_ns.max(self.x_ns(from.0, to.0))
    }

    /// Y and signed speed of a gate.
    #[must_use]
    pub fn gate(&self, gate: Gate) -> (f64, f64) {
        let half = self.gates / 2;
        if gate.0 < half {
            (self.geometry.y_m(self.geometry.upward_bit(gate.0)), self.speed_m_s)
        } else {
            (self.geometry.y_m(self.geometry.downward_bit(gate.0 - half)), -self.speed_m_s)
        }
    }

    /// Y and signed speed of a state.
    #[must_use]
    pub fn position(&self, state: &YState) -> (f64, f64) {
        match *state {
            YState::Gate(gate) => self.gate(gate),
            YState::Rest => (0.0, 0.0),
            YState::Held(row) => (self.geometry.y_m(self.geometry.upward_bit(row)), 0.0),
            YState::Free { y_m, speed_m_s, .. } => (y_m, speed_m_s),
        }
    }

    /// Time from a state until the sled passes a gate.
    #[inline]
    #[must_use]
    pub fn y_ns(&self, from: &YState, to: Gate) -> YTime {
        let row = match *from {
            YState::Gate(gate) => gate.0,
            YState::Rest => self.gates,
            YState::Held(_) => return self.compute(from, to),
            YState::Free { delay_ns, .. } => {
                let time = self.compute(from, to);
                return YTime { ns: time.ns + delay_ns, ..time };
            }
        };
        let Some(cell) = self.table.get(row as usize * self.gates as usize + to.0 as usize) else {
            return self.compute(from, to);
        };
        let (ns, turnaround_ns) = cell.get();
        if ns != UNKNOWN {
            return YTime { ns: u64::from(ns), turnaround_ns: u64::from(turnaround_ns) };
        }
        let time = self.compute(from, to);
        // A turnaround is a part of the time.
        if let (Ok(ns), Ok(turnaround_ns)) = (u32::try_from(time.ns), u32::try_from(time.turnaround_ns)) {
            cell.set((ns, turnaround_ns));
        }
        time
    }

    #[cold]
    fn compute(&self, from: &YState, to: Gate) -> YTime {
        let (y0, v0) = self.position(from);
        let (y1, v1) = self.gate(to);
        let YSeek { time_s, turnaround_s, .. } = y_seek(self.model, &self.y_axis, self.speed_m_s, y0, v0, y1, v1);
        YTime { ns: s_to_ns(time_s), turnaround_ns: s_to_ns(turnaround_s) }
    }

    /// Where a sled that sweeps its column is `idle_ns` after it was at `from`.
    ///
    /// It goes at access speed between the first servo burst and the last and reverses beyond them; a reversal once
    /// begun is finished.
    #[must_use]
    pub fn swept(&self, from: &YState, idle_ns: u64) -> YState {
        let g = &self.geometry;
        let (bottom, top) = (g.y_m(g.upward_bit(0)), g.y_m(g.downward_bit(g.rows)));
        let (y, v) = self.position(from);
        let up = v >= 0.0;
        let speed = self.speed_m_s;
        let crossing_s = (top - bottom) / speed;
        let reversal_s =
            [exact_turnaround_s(&self.y_axis, bottom, -speed), exact_turnaround_s(&self.y_axis, top, speed)];
        let delay_s = if let YState::Free { delay_ns, .. } = from { *delay_ns as f64 * 1e-9 } else { 0.0 };
        // Time since the sled set out from the border behind it, counting a reversal still to be finished as negative.
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
}
