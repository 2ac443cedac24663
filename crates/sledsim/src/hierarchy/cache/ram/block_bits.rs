//! The properties of the blocks of lines: a bit for each block and property.

use crate::convert::to_usize;
use crate::hierarchy::cache::replacement::Slot;
use crate::hierarchy::common::{BlockRange, SameCapacity};

/// Properties of 64 blocks of a line, with a bit for each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    /// The cache has the block.
    pub valid: u64,
    /// The cache has newer data than the child. Not set for blocks that are being written and have not changed since.
    pub dirty: u64,
    /// The block is being written to the child.
    pub cleaning: u64,
    /// The block is being read from the child.
    pub filling: u64,
    /// The block was read ahead, and no request has used it yet.
    pub ahead: u64,
}

/// The block bits of all lines, by slot.
#[derive(Clone, Debug)]
pub(super) struct BlockBits {
    words: SameCapacity<Vec<Bits>>,
    /// Number of [`Bits`] of a line.
    width: usize,
}

/// Index and mask of each word of a line that has blocks from `from` up to but not including `to`.
fn masks(from: u64, to: u64) -> impl DoubleEndedIterator<Item = (usize, u64)> {
    let first = (from / 64) as usize;
    let end = to_usize(to.div_ceil(64));
    (first..end).map(move |word| {
        let start = word as u64 * 64;
        let (low, high) = (from.max(start) - start, to.min(start + 64) - start);
        (word, (u64::MAX >> (64 - (high - low))) << low)
    })
}

impl BlockBits {
    /// No lines, of `line_blocks` blocks each.
    pub fn new(line_blocks: u64) -> Self {
        Self { words: SameCapacity::default(), width: to_usize(line_blocks.div_ceil(64)) }
    }

    /// Allocates the bits of all slots up to `slot`, doubling the allocation up to `capacity` slots.
    pub fn grow_to(&mut self, slot: Slot, capacity: u32) {
        let lines = self.words.len() / self.width;
        if slot as usize >= lines {
            let wanted = (2 * lines).max(16).min(capacity as usize).max(slot as usize + 1);
            let more = wanted * self.width - self.words.len();
            self.words.reserve_exact(more);
            self.words.resize(wanted * self.width, Bits::default());
        }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<Bits>()
    }

    /// Calls `act` with each word and the mask of the blocks from `from` up to but not including `to` of a line.
    pub fn change(&mut self, slot: Slot, from: u64, to: u64, mut act: impl FnMut(&mut Bits, u64)) {
        let line = slot as usize * self.width;
        masks(from, to).for_each(|(word, mask)| act(&mut self.words[line + word], mask));
    }

    /// Number of blocks from `from` up to but not including `to` that have a property.
    pub fn count(&self, slot: Slot, from: u64, to: u64, has: impl Fn(&Bits) -> u64) -> u64 {
        let line = slot as usize * self.width;
        masks(from, to).map(|(word, mask)| u64::from((has(&self.words[line + word]) & mask).count_ones())).sum()
    }

    /// The first block from `from` up to but not including `to` that has a property.
    pub fn first(&self, slot: Slot, from: u64, to: u64, has: impl Fn(&Bits) -> u64) -> Option<u64> {
        let line = slot as usize * self.width;
        masks(from, to).find_map(|(word, mask)| {
            let bits = has(&self.words[line + word]) & mask;
            (bits != 0).then(|| word as u64 * 64 + u64::from(bits.trailing_zeros()))
        })
    }

    /// From the first to the last block from `from` up to but not including `to` that has a property.
    pub fn span(&self, slot: Slot, from: u64, to: u64, has: impl Fn(&Bits) -> u64) -> Option<BlockRange> {
        let first = self.first(slot, from, to, &has)?;
        let line = slot as usize * self.width;
        let end = masks(first, to).rev().find_map(|(word, mask)| {
            let bits = has(&self.words[line + word]) & mask;
            (bits != 0).then(|| (word as u64 + 1) * 64 - u64::from(bits.leading_zeros()))
        });
        end.map(|end| BlockRange::new(first, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_on_ranges_agree_with_operations_on_blocks() {
        // A line of 150 blocks takes three words.
        let line_blocks = 150;
        for slot in [0, 2] {
            for from in 0..line_blocks {
                for to in from + 1..=line_blocks {
                    let mut bits = BlockBits::new(line_blocks);
                    bits.grow_to(2, 3);
                    bits.change(slot, from, to, |word, mask| word.dirty |= mask);
                    let has = |word: &Bits| word.dirty;
                    assert_eq!(bits.count(slot, 0, line_blocks, has), to - from);
                    assert_eq!(bits.span(slot, 0, line_blocks, has), Some(BlockRange::new(from, to)));
                    assert_eq!(
                        bits.first(slot, from, line_blocks, |word| !word.dirty),
                        (to < line_blocks).then_some(to)
                    );
                    assert_eq!(bits.count(1, 0, line_blocks, has), 0);
                    assert_eq!(bits.span(slot, to - 1, to, |word| !word.dirty), None);
                }
            }
        }
    }
}
