//! Ranges of blocks.

/// The blocks from `from` up to but not including `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// First block.
    pub from: u64,
    /// The block after the last.
    pub to: u64,
}

impl BlockRange {
    /// The blocks from `from` up to but not including `to`.
    #[must_use]
    pub const fn new(from: u64, to: u64) -> Self {
        Self { from, to }
    }

    /// Number of blocks.
    #[must_use]
    pub const fn blocks(self) -> u64 {
        self.to - self.from
    }
}
