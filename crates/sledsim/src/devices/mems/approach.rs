//! The way to a pass over a row.

use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::positioning::{Entry, YState, YTime};

/// Where the sled is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sled {
    pub(super) cylinder: u32,
    pub(super) y: YState,
}

/// The way to a pass over a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    pub(super) cylinder: u32,
    entry: Entry,
    pub(super) x_ns: u64,
    pub(super) y: YTime,
    pub(super) seek_ns: u64,
}

impl Approach {
    /// The sled after the pass.
    #[inline]
    pub(super) fn done(&self) -> Sled {
        Sled { cylinder: self.cylinder, y: YState::Gate(self.entry.to) }
    }
}

impl MemsDevice {
    /// The way from `sled` to a pass over a row of a cylinder, where the move along X takes `x_ns`.
    #[inline]
    pub(super) fn approach_by(&self, x_ns: u64, sled: &Sled, cylinder: u32, entry: Entry) -> Approach {
        let y = self.positioning().y_ns(&sled.y, entry.from);
        Approach { cylinder, entry, x_ns, y, seek_ns: y.ns.max(x_ns) }
    }

    /// The quickest way from `sled` to a row; where both directions are as quick, downward (DiskSim's choice).
    #[inline]
    pub(super) fn approach(&self, sled: &Sled, cylinder: u32, row: u32) -> Approach {
        let x_ns = self.positioning().x_ns(sled.cylinder, cylinder);
        let up = self.approach_by(x_ns, sled, cylinder, self.positioning().upward(row));
        if !self.bidirectional {
            return up;
        }
        let down = self.approach_by(x_ns, sled, cylinder, self.positioning().downward(row));
        if down.seek_ns <= up.seek_ns {
            down
        } else {
            up
        }
    }
}
