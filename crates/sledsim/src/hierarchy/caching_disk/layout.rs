//! Addresses of segments and headers on the disk and on MEMS, and runs of blocks of a segment.

use crate::convert::to_u32;
use crate::hierarchy::common::BlockRange;

/// Sizes that determine where segments and headers lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub block_bytes: u32,
    /// Capacity of the disk, blocks.
    pub capacity_blocks: u64,
    /// Size of a segment, blocks.
    pub segment_blocks: u32,
}

impl Layout {
    /// Number of blocks of a segment. The last segment of the disk may be short.
    #[inline]
    pub fn blocks(&self, segment: u64) -> u32 {
        to_u32((self.capacity_blocks - self.disk_lbn(segment)).min(u64::from(self.segment_blocks)))
    }

    /// Address of the header in a frame of MEMS.
    #[inline]
    pub fn header_lbn(&self, frame: u32) -> u64 {
        u64::from(frame) * (u64::from(self.segment_blocks) + 1)
    }

    /// The segment that contains a block of the disk.
    #[inline]
    pub fn segment(&self, lbn: u64) -> u64 {
        lbn / u64::from(self.segment_blocks)
    }

    /// The segments that contain blocks of a range of the disk.
    pub fn segments(&self, range: BlockRange) -> impl Iterator<Item = u64> {
        let size = u64::from(self.segment_blocks);
        range.from / size..range.to.div_ceil(size)
    }

    /// Address of the first block of a segment on the disk.
    #[inline]
    pub fn disk_lbn(&self, segment: u64) -> u64 {
        segment * u64::from(self.segment_blocks)
    }

    /// The range of the disk with a run of blocks of a segment.
    pub fn disk_range(&self, segment: u64, run: Run) -> BlockRange {
        run.at(self.disk_lbn(segment))
    }

    /// The range of the disk with all blocks of a segment.
    pub fn segment_range(&self, segment: u64) -> BlockRange {
        self.disk_range(segment, Run::new(0, self.blocks(segment)))
    }
}

/// Consecutive blocks of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Index of the first block in the segment.
    pub first: u32,
    /// Number of blocks.
    pub blocks: u32,
}

impl Run {
    /// `blocks` blocks from block `first` on.
    pub const fn new(first: u32, blocks: u32) -> Self {
        Self { first, blocks }
    }

    /// The blocks from `first` up to but not including `end`.
    pub const fn between(first: u32, end: u32) -> Self {
        Self { first, blocks: end - first }
    }

    /// From the first block of the first run to the last block of the last, for runs in increasing order. Empty without runs.
    pub fn spanning(runs: &[Self]) -> Self {
        match (runs.first(), runs.last()) {
            (Some(first), Some(last)) => Self::between(first.first, last.end()),
            _ => Self::new(0, 0),
        }
    }

    /// The block after the last.
    pub const fn end(self) -> u32 {
        self.first + self.blocks
    }

    /// Returns true if all blocks of `other` are in this run.
    pub const fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.end() <= self.end()
    }

    /// The range of addresses of these blocks if the segment begins at `lbn`.
    pub fn at(self, lbn: u64) -> BlockRange {
        BlockRange::new(lbn + u64::from(self.first), lbn + u64::from(self.end()))
    }
}
