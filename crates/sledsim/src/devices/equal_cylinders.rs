//! The layout of a device of which only LBNs are known: cylinders are equal ranges of LBNs, evenly spaced along one metre.

use crate::convert::to_u32;

use super::{Coordinates, Dimensions, Location};

/// Greatest number of cylinders, unless a cylinder would then have more slots than a [`Location`] can distinguish.
const MOST_CYLINDERS: u64 = 4096;

/// Equal cylinders, and the position on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EqualCylinders {
    capacity_blocks: u64,
    block_bytes: u32,
    cylinders: u32,
    blocks_per_cylinder: u64,
    /// The block after the last one served, at first 0.
    pub(crate) next_lbn: u64,
}

impl EqualCylinders {
    /// A layout for at least one block, with at most `most_slots` blocks in a cylinder.
    pub(crate) fn new(capacity_blocks: u64, block_bytes: u32, most_slots: u64) -> Self {
        let blocks_per_cylinder = capacity_blocks.div_ceil(MOST_CYLINDERS).min(most_slots);
        let cylinders = to_u32(capacity_blocks.div_ceil(blocks_per_cylinder));
        Self { capacity_blocks, block_bytes, cylinders, blocks_per_cylinder, next_lbn: 0 }
    }

    /// See [`super::Mechanism::dimensions`].
    pub(crate) const fn dimensions(&self) -> Dimensions {
        let &Self { capacity_blocks, block_bytes, cylinders, .. } = self;
        Dimensions { capacity_blocks, block_bytes, cylinders, command_overhead_ns: 0 }
    }

    /// Returns the location of a block.
    #[inline]
    pub(crate) fn location(&self, lbn: u64) -> Location {
        let (cylinder, slot) = (lbn / self.blocks_per_cylinder, lbn % self.blocks_per_cylinder);
        Location { cylinder: to_u32(cylinder), slot: to_u32(slot) }
    }

    /// Returns the block at a location.
    #[inline]
    pub(crate) fn lbn(&self, location: Location) -> u64 {
        u64::from(location.cylinder) * self.blocks_per_cylinder + u64::from(location.slot)
    }

    /// Returns a lower bound on the distance in blocks from [`EqualCylinders::next_lbn`] to a block of `cylinder`.
    #[inline]
    pub(crate) fn least_distance_blocks(&self, cylinder: u32) -> u64 {
        let first_lbn = u64::from(cylinder) * self.blocks_per_cylinder;
        let last_lbn = first_lbn + (self.blocks_per_cylinder - 1);
        first_lbn.saturating_sub(self.next_lbn) + self.next_lbn.saturating_sub(last_lbn)
    }

    /// See [`super::Mechanism::cylinder`].
    #[inline]
    pub(crate) fn cylinder(&self) -> u32 {
        // After the last block of the device the next one lies beyond the last cylinder.
        self.location(self.next_lbn).cylinder.min(self.cylinders - 1)
    }

    /// See [`super::Mechanism::coordinates_m`].
    pub(crate) fn coordinates_m(&self, cylinder: u32) -> Coordinates {
        Coordinates { x_m: f64::from(cylinder) / f64::from(self.cylinders), y_m: 0.0 }
    }

    /// See [`super::Mechanism::position_m`].
    pub(crate) fn position_m(&self) -> Coordinates {
        self.coordinates_m(self.cylinder())
    }
}
