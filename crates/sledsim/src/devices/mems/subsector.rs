//! The tip sectors that a request accesses: those of whole blocks, or those that hold its needed bytes (Lin et al. 2002, section 5.3).
//!
//! A block is striped over `tips_per_block` tips in the order of its bytes, so a range of bytes is under consecutive tips. A tip sector is
//! always accessed as a whole.

use std::ops::Range;

use crate::devices::mems::geometry::{Geometry, Place};
use crate::request::{Op, Padding, Request};

/// The tip sectors of consecutive blocks, without some of the first and the last block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// First block.
    pub(super) lbn: u64,
    /// Number of blocks, at least 1.
    pub(super) blocks: u32,
    tips_per_block: u32,
    /// Tips of the first block that stay off.
    front_tips: u32,
    /// Tips of the last block that stay off.
    back_tips: u32,
}

impl Extent {
    /// Returns the tip sectors with needed bytes of `request` in `subsector` accesses, otherwise those of its blocks.
    #[inline]
    pub(super) fn new(geometry: &Geometry, request: &Request, subsector: bool) -> Self {
        let tips_per_block = geometry.tips_per_block;
        if !subsector || request.padding == Padding::NONE {
            return Self { lbn: request.lbn, blocks: request.blocks, tips_per_block, front_tips: 0, back_tips: 0 };
        }
        let needed = request.needed(geometry.block_bytes);
        let sector_bytes = geometry.block_bytes / tips_per_block;
        Self {
            lbn: needed.lbn,
            blocks: needed.blocks,
            tips_per_block,
            front_tips: needed.front_bytes / sector_bytes,
            back_tips: needed.back_bytes / sector_bytes,
        }
    }

    /// Returns the number of active tips in `count` blocks (at least 1) from the block of index `first` on.
    #[inline]
    pub(super) fn tips(&self, first: u32, count: u32) -> u32 {
        let front = if first == 0 { self.front_tips } else { 0 };
        let back = if first + count == self.blocks { self.back_tips } else { 0 };
        count * self.tips_per_block - front - back
    }

    /// Returns the maximum number of blocks, from the block of index `first` on, in one pass: those of a row, and one more if that is the
    /// last block and the tips suffice. One more before the last would not save a pass.
    #[inline]
    pub(super) fn in_one_pass(&self, first: u32, geometry: &Geometry) -> u32 {
        let (left, row) = (self.blocks - first, geometry.blocks_per_row);
        if left == row + 1 && self.tips(first, left) <= geometry.active_tips {
            left
        } else {
            left.min(row)
        }
    }

    /// Returns the number of tip sectors.
    pub(super) fn tip_sectors(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.tips_per_block) - u64::from(self.front_tips) - u64::from(self.back_tips)
    }

    /// Returns the active tips of the block of an index, counted from the first tip of that block.
    pub(super) fn tips_of_block(&self, index: u32) -> Range<u32> {
        let from = if index == 0 { self.front_tips } else { 0 };
        from..from + self.tips(index, 1)
    }
}

/// A pass over the blocks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPass {
    pub(super) cylinder: u32,
    pub(super) row: u32,
    /// True if the track of its first block has its rows in reverse order.
    pub(super) is_reversed: bool,
    pub(super) blocks: u32,
    /// Number of active tips.
    pub(super) tips: u32,
}

/// Numbers of blocks by operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockCounts {
    pub reads: u32,
    pub writes: u32,
}

impl BlockCounts {
    /// Returns the counts of `blocks` blocks of one operation.
    #[inline]
    pub(super) fn of(op: Op, blocks: u32) -> Self {
        if op == Op::Read {
            Self { reads: blocks, writes: 0 }
        } else {
            Self { reads: 0, writes: blocks }
        }
    }
}

/// The passes of a request, in LBN order.
pub(super) struct RowPasses {
    extent: Extent,
    place: Place,
    done: u32,
}

impl RowPasses {
    /// Returns the passes over an extent.
    #[inline]
    pub(super) fn new(geometry: &Geometry, extent: Extent) -> Self {
        Self { extent, place: geometry.place(extent.lbn), done: 0 }
    }

    /// Returns true after the last pass.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.done == self.extent.blocks
    }

    /// Returns the number of blocks from the next one to the end of its row in its track.
    #[inline]
    pub(super) fn left_in_row(&self, geometry: &Geometry) -> u32 {
        geometry.blocks_per_row - self.place.slot
    }

    /// Returns the next pass, over at most `limit` blocks; not called after the last.
    #[inline]
    pub(super) fn next_pass(&mut self, geometry: &Geometry, limit: u32) -> RowPass {
        let (cylinder, row, first) = (self.place.cylinder, self.place.row, self.done);
        let is_reversed = geometry.is_reversed(cylinder, self.place.track);
        let most = self.extent.in_one_pass(first, geometry).min(limit);
        let mut blocks = 0;
        // If the next track begins at the row where this one ends, other tips continue in the same pass.
        while blocks < most && (self.place.cylinder, self.place.row) == (cylinder, row) {
            let taken = (most - blocks).min(geometry.blocks_per_row - self.place.slot);
            blocks += taken;
            if first + blocks < self.extent.blocks {
                self.place = geometry.after(&self.place, taken);
            }
        }
        self.done += blocks;
        RowPass { cylinder, row, is_reversed, blocks, tips: self.extent.tips(first, blocks) }
    }
}
