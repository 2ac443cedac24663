//! Where blocks lie on a device of which nothing else is known: the LBNs are cut into equal shares, laid out evenly along one metre.

use super::Location;
use crate::convert::to_u32;

/// Shares that the LBNs are cut into, unless a share would then hold more blocks than a [`Location`] can tell apart.
const MOST: u64 = 4096;

/// The shares, which schedulers take for cylinders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    capacity_blocks: u64,
    blocks_each: u64,
}

impl Shares {
    /// Those of a device that has some blocks; a location tells at least so many of a share apart.
    pub(super) fn new(capacity_blocks: u64, told_apart: u64) -> Self {
        Self { capacity_blocks, blocks_each: capacity_blocks.div_ceil(MOST).min(told_apart) }
    }

    #[inline]
    pub(super) const fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    /// Where a block is.
    #[inline]
    pub(super) fn location(&self, lbn: u64) -> Location {
        let (cylinder, slot) = (lbn / self.blocks_each, lbn % self.blocks_each);
        Location { cylinder: to_u32(cylinder), slot: to_u32(slot) }
    }

    /// The block at a location.
    #[inline]
    pub(super) fn lbn(&self, location: Location) -> u64 {
        u64::from(location.cylinder) * self.blocks_each + u64::from(location.slot)
    }

    /// The first block of a share, and the last that it has room for.
    #[inline]
    pub(super) fn blocks(&self, cylinder: u32) -> (u64, u64) {
        let first_lbn = u64::from(cylinder) * self.blocks_each;
        (first_lbn, first_lbn + (self.blocks_each - 1))
    }

    /// The share in which a device stands whose next block would be that one: after its last block it stands beyond its last share.
    #[inline]
    pub(super) fn standing(&self, next_lbn: u64) -> u32 {
        self.location(next_lbn).cylinder.min(self.last())
    }

    #[inline]
    pub(super) fn last(&self) -> u32 {
        self.location(self.capacity_blocks - 1).cylinder
    }

    /// See [`super::Mechanism::coordinates_m`].
    pub(super) fn coordinates_m(&self, location: Location) -> (f64, f64) {
        (f64::from(location.cylinder) / f64::from(self.last() + 1), 0.0)
    }
}

/// What a device says of places that has [`Shares`], and knows its `next_lbn`, the block after the last one served.
macro_rules! has_shares {
    () => {
        fn capacity_blocks(&self) -> u64 {
            self.shares.capacity_blocks()
        }

        fn cylinders(&self) -> u32 {
            self.shares.last() + 1
        }

        fn coordinates_m(&self, location: Location) -> (f64, f64) {
            self.shares.coordinates_m(location)
        }

        fn position_m(&self, now: Time) -> (f64, f64) {
            self.coordinates_m(Location { cylinder: self.cylinder(now), slot: 0 })
        }

        #[inline]
        fn cylinder(&self, _now: Time) -> u32 {
            self.shares.standing(self.next_lbn)
        }
    };
}
pub(super) use has_shares;
