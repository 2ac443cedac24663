//! The way to a pass over a row.

use std::ops::Range;

use crate::devices::mems::positioning::{Entry, Positioning, YState, YTime};
use crate::devices::MechanismState;

/// Where the sled is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sled {
    pub(super) cylinder: u32,
    pub(super) y: YState,
    /// Whether it has passed the cylinder moving along X, and to the left; `None` where it rests there.
    pub(super) leftward: Option<bool>,
}

/// The way to a pass over a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    /// The sled after the pass.
    pub(super) done: Sled,
    pub(super) x_ns: u64,
    pub(super) y: YTime,
    pub(super) seek_ns: u64,
    /// Whether the sled settles after its move along X.
    pub(super) settles: bool,
}

impl Sled {
    /// At rest along X.
    #[inline]
    pub(super) fn on(cylinder: u32, y: YState) -> Self {
        Self { cylinder, y, leftward: None }
    }

    /// Where it stands; it is not one that only sweeps past.
    pub(super) fn state(&self) -> MechanismState {
        MechanismState { cylinder: self.cylinder, slot: self.y.number() }
    }

    pub(super) fn at(state: MechanismState) -> Self {
        Self::on(state.cylinder, YState::numbered(state.slot))
    }
}

impl Approach {
    /// The way to another pass over the row, from where the sled is after the last.
    pub(super) fn again(&self, positioning: &Positioning, sled: &Sled) -> Self {
        positioning.approach(sled, self.done.cylinder, positioning.row_passed(&self.done.y))
    }
}

impl Positioning {
    /// The way from `sled` to a pass over a row of a cylinder, where the move along X takes `x_ns`.
    #[inline]
    pub(super) fn approach_by(&self, x_ns: u64, sled: &Sled, cylinder: u32, entry: Entry) -> Approach {
        let y = self.y_ns(&sled.y, entry.from);
        let done = Sled::on(cylinder, YState::Gate(entry.to));
        Approach { done, x_ns, y, seek_ns: y.ns.max(x_ns), settles: x_ns > 0 }
    }

    /// The quickest way from `sled` to a row; where both directions are as quick, downward (DiskSim's choice).
    #[inline]
    pub(super) fn approach(&self, sled: &Sled, cylinder: u32, row: u32) -> Approach {
        self.approach_to(sled, cylinder, row..row + 1)
    }

    /// The same to rows that follow each other, from the end where the sled is sooner.
    #[inline]
    pub(super) fn approach_to(&self, sled: &Sled, cylinder: u32, rows: Range<u32>) -> Approach {
        let x_ns = self.x_ns(sled.cylinder, cylinder);
        let up = self.approach_by(x_ns, sled, cylinder, self.entry_of(rows.clone(), false));
        if self.directions().len() == 1 {
            return up;
        }
        let down = self.approach_by(x_ns, sled, cylinder, self.entry_of(rows, true));
        if down.seek_ns <= up.seek_ns {
            down
        } else {
            up
        }
    }

    /// The way from `sled` to a pass over rows that follow each other, in a direction.
    pub(super) fn approach_in(&self, sled: &Sled, cylinder: u32, rows: Range<u32>, downward: bool) -> Approach {
        self.approach_by(self.x_ns(sled.cylinder, cylinder), sled, cylinder, self.entry_of(rows, downward))
    }
}
