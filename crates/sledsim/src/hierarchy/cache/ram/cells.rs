//! What is true of each block of a line: a bit for each property.

use crate::convert::to_usize;
use crate::hierarchy::cache::replacement::Slot;
use crate::hierarchy::common::SameCapacity;

/// Properties of 64 blocks of a line, a bit for each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// The cache has it.
    pub valid: u64,
    /// The cache has something newer than the child; not true of what is only being written.
    pub dirty: u64,
    /// It is being written to the child.
    pub cleaning: u64,
    /// It is being read from the child.
    pub filling: u64,
    /// It was read ahead, and nobody has asked for it so far.
    pub ahead: u64,
}

/// The cells of every line, by slot.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    cells: SameCapacity<Vec<Cell>>,
    /// Cells of a line.
    width: usize,
}

/// Cells that blocks `from` to `to` of a line touch, and which bits of them.
fn masks(from: u64, to: u64) -> impl DoubleEndedIterator<Item = (usize, u64)> {
    let first = (from / 64) as usize;
    let end = to_usize(to.div_ceil(64));
    (first..end).map(move |cell| {
        let start = cell as u64 * 64;
        let (low, high) = (from.max(start) - start, to.min(start + 64) - start);
        (cell, (u64::MAX >> (64 - (high - low))) << low)
    })
}

impl Cells {
    /// No lines yet, of `line_blocks` blocks each.
    pub fn new(line_blocks: u64) -> Self {
        Self { cells: SameCapacity::default(), width: to_usize(line_blocks.div_ceil(64)) }
    }

    /// Makes them reach to `slot`; they double in number but never outgrow `capacity` slots.
    pub fn reach(&mut self, slot: Slot, capacity: u32) {
        let lines = self.cells.len() / self.width;
        if slot as usize >= lines {
            let wanted = (2 * lines).max(16).min(capacity as usize).max(slot as usize + 1);
            let more = wanted * self.width - self.cells.len();
            self.cells.reserve_exact(more);
            self.cells.resize(wanted * self.width, Cell::default());
        }
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
    }

    /// Changes blocks `from` to `to` of a line: `act` gets the cell and its bits.
    pub fn change(&mut self, slot: Slot, from: u64, to: u64, mut act: impl FnMut(&mut Cell, u64)) {
        let line = slot as usize * self.width;
        masks(from, to).for_each(|(cell, mask)| act(&mut self.cells[line + cell], mask));
    }

    /// How many of blocks `from` to `to` have the property.
    pub fn count(&self, slot: Slot, from: u64, to: u64, has: impl Fn(&Cell) -> u64) -> u64 {
        let line = slot as usize * self.width;
        masks(from, to).map(|(cell, mask)| u64::from((has(&self.cells[line + cell]) & mask).count_ones())).sum()
    }

    /// The first of blocks `from` to `to` that has the property.
    pub fn first(&self, slot: Slot, from: u64, to: u64, has: impl Fn(&Cell) -> u64) -> Option<u64> {
        let line = slot as usize * self.width;
        masks(from, to).find_map(|(cell, mask)| {
            let bits = has(&self.cells[line + cell]) & mask;
            (bits != 0).then(|| cell as u64 * 64 + u64::from(bits.trailing_zeros()))
        })
    }

    /// From the first to behind the last of blocks `from` to `to` that has the property.
    pub fn span(&self, slot: Slot, from: u64, to: u64, has: impl Fn(&Cell) -> u64) -> Option<(u64, u64)> {
        let first = self.first(slot, from, to, &has)?;
        let line = slot as usize * self.width;
        let end = masks(first, to).rev().find_map(|(cell, mask)| {
            let bits = has(&self.cells[line + cell]) & mask;
            (bits != 0).then(|| (cell as u64 + 1) * 64 - u64::from(bits.leading_zeros()))
        });
        end.map(|end| (first, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_blocks_agree_with_blocks_one_by_one() {
        // Lines of 150 blocks take three cells; every range of a line is tried.
        let line_blocks = 150;
        for slot in [0, 2] {
            for from in 0..line_blocks {
                for to in from + 1..=line_blocks {
                    let mut cells = Cells::new(line_blocks);
                    cells.reach(2, 3);
                    cells.change(slot, from, to, |cell, mask| cell.dirty |= mask);
                    let has = |cell: &Cell| cell.dirty;
                    assert_eq!(cells.count(slot, 0, line_blocks, has), to - from);
                    assert_eq!(cells.span(slot, 0, line_blocks, has), Some((from, to)));
                    assert_eq!(
                        cells.first(slot, from, line_blocks, |cell| !cell.dirty),
                        (to < line_blocks).then_some(to)
                    );
                    assert_eq!(cells.count(1, 0, line_blocks, has), 0);
                    assert_eq!(cells.span(slot, to - 1, to, |cell| !cell.dirty), None);
                }
            }
        }
    }
}
