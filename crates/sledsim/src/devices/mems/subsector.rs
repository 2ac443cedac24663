//! What of a request is accessed: whole blocks, or the tip sectors that hold what it needs (Lin et al. 2002, section 5.3).
//!
//! A block is striped over `tips_per_block` tips in the order of its bytes, so that those that hold a range of them follow each
//! other. A tip sector is accessed whole.

use std::ops::Range;

use crate::devices::mems::geometry::{Geometry, Place};
use crate::request::{Op, Padding, Request};

/// The tip sectors of a run of blocks, but for some of the first block and some of the last.
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
    /// What `request` asks for: the tip sectors with needed bytes in `subsector` accesses, otherwise its blocks.
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

    /// Tips on in the `count` blocks (at least 1) from its block `first` on (0 is `lbn`).
    #[inline]
    pub(super) fn tips(&self, first: u32, count: u32) -> u32 {
        let front = if first == 0 { self.front_tips } else { 0 };
        let back = if first + count == self.blocks { self.back_tips } else { 0 };
        count * self.tips_per_block - front - back
    }

    /// Most blocks from its block `first` on, which is one of them, that go into one pass: a row's, and one more if that is the
    /// last and the tips suffice. One more before the last would save no pass.
    #[inline]
    pub(super) fn in_one_pass(&self, first: u32, geometry: &Geometry) -> u32 {
        let (left, row) = (self.blocks - first, geometry.blocks_per_row);
        if left == row + 1 && self.tips(first, left) <= geometry.active_tips {
            left
        } else {
            left.min(row)
        }
    }

    /// Tip sectors in all its blocks.
    pub(super) fn tip_sectors(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.tips_per_block) - u64::from(self.front_tips) - u64::from(self.back_tips)
    }

    /// The tips on in its block `index` (0 is `lbn`), counted from the first tip of that block on.
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
    pub(super) blocks: u32,
    /// Tips on in them.
    pub(super) tips: u32,
}

impl RowPass {
    /// Its blocks that are read, and that are written, by a request of a kind.
    #[inline]
    pub(super) fn by_op(&self, op: Op) -> [u32; 2] {
        if op == Op::Read {
            [self.blocks, 0]
        } else {
            [0, self.blocks]
        }
    }
}

/// The passes over what is accessed for a request, in LBN order.
pub(super) struct PassesOf {
    extent: Extent,
    place: Place,
    done: u32,
}

impl PassesOf {
    #[inline]
    pub(super) fn new(geometry: &Geometry, extent: Extent) -> Self {
        Self { extent, place: geometry.place(extent.lbn), done: 0 }
    }

    /// Whether there is none any more.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.done == self.extent.blocks
    }

    /// The next, which there is.
    #[inline]
    pub(super) fn next(&mut self, geometry: &Geometry) -> RowPass {
        let (cylinder, row, first) = (self.place.cylinder, self.place.row, self.done);
        let most = self.extent.in_one_pass(first, geometry);
        let mut blocks = 0;
        // Where a track ends and the next begins at one row, other tips read on in the same pass.
        while blocks < most && (self.place.cylinder, self.place.row) == (cylinder, row) {
            let taken = (most - blocks).min(geometry.blocks_per_row - self.place.slot);
            blocks += taken;
            if first + blocks < self.extent.blocks {
                self.place = geometry.after(&self.place, taken);
            }
        }
        self.done += blocks;
        RowPass { cylinder, row, blocks, tips: self.extent.tips(first, blocks) }
    }
}
