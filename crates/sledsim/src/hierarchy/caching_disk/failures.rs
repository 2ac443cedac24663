//! Unreadable blocks of MEMS, and the failure of the whole MEMS device.
//!
//! Blocks that the disk has, too, are read there. Blocks that only MEMS had are lost. They stay lost through power cuts, and reads
//! of them fail until they are written again. Segments with lost blocks are not admitted to MEMS.

use super::buffer::Buffer;
use super::layout::{Layout, Run};
use crate::hierarchy::common::{BlockRange, BlockSet};

/// Failures of MEMS and the blocks lost by them. Power cuts do not change them.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    layout: Layout,
    pub mems_failed: bool,
    /// Blocks of the disk whose newest content is lost.
    lost: BlockSet,
    /// Number of blocks lost in the measurement window.
    pub lost_blocks: u64,
}

impl Failures {
    pub fn new(layout: Layout) -> Self {
        Self { layout, mems_failed: false, lost: BlockSet::default(), lost_blocks: 0 }
    }

    /// Returns true if any block of a range of the disk is lost.
    pub fn any_lost(&self, range: BlockRange) -> bool {
        self.lost.touches(range.from, range.to)
    }

    /// Returns true if a segment must not be admitted to MEMS.
    pub fn forbid_caching(&self, segment: u64) -> bool {
        self.mems_failed || (!self.lost.is_empty() && self.any_lost(self.layout.segment_range(segment)))
    }

    /// Marks blocks of a segment as lost, and counts them.
    pub fn lose(&mut self, segment: u64, run: Run) {
        let BlockRange { from, to } = self.layout.disk_range(segment, run);
        self.lost_blocks += self.lost.insert(from, to);
    }

    /// Marks blocks of the disk as not lost.
    pub fn restore(&mut self, range: BlockRange) {
        self.lost.remove(range.from, range.to);
    }

    /// Marks all blocks of the disk as lost, without counting them, except the dirty blocks in the buffer. This is the state
    /// when it is unknown which segments MEMS held.
    pub fn lose_all(&mut self, buffer: &Buffer) {
        self.lost.insert(0, self.layout.capacity_blocks);
        for entry in buffer.in_use() {
            for &run in &entry.dirty {
                self.restore(self.layout.disk_range(entry.segment, run));
            }
        }
    }
}
