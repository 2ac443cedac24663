//! Sets of blocks, kept as ranges.

use std::collections::BTreeMap;

/// A set of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSet {
    /// The end of each range, by its first block. Ranges do not overlap.
    ranges: BTreeMap<u64, u64>,
}

impl BlockSet {
    /// Returns true if the set has no blocks.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds the blocks from `from` up to but not including `to`. Returns how many were not in the set.
    pub fn insert(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let present = self.remove(from, to);
        self.ranges.insert(from, to);
        to - from - present
    }

    /// Removes the blocks from `from` up to but not including `to`. Returns how many were in the set.
    pub fn remove(&mut self, from: u64, to: u64) -> u64 {
        let touched: Vec<(u64, u64)> =
            self.ranges.range(..to).rev().map(|(&f, &t)| (f, t)).take_while(|&(_, end)| end > from).collect();
        let mut removed = 0;
        for (begin, end) in touched {
            removed += end.min(to) - begin.max(from);
            self.ranges.remove(&begin);
            if begin < from {
                self.ranges.insert(begin, from);
            }
            if end > to {
                self.ranges.insert(to, end);
            }
        }
        removed
    }

    /// Returns true if any block from `from` up to but not including `to` is in the set.
    #[must_use]
    pub fn touches(&self, from: u64, to: u64) -> bool {
        self.ranges.range(..to).next_back().is_some_and(|(_, &end)| end > from)
    }

    /// The end of the range that contains `block`, or `block` if it is not in the set.
    #[must_use]
    pub fn range_to(&self, block: u64) -> u64 {
        self.ranges.range(..=block).next_back().map_or(block, |(_, &end)| end.max(block))
    }

    /// The ranges in increasing order: first block and end of each.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|(&from, &to)| (from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_and_remove_split_ranges() {
        let mut set = BlockSet::default();
        assert_eq!([(10, 20), (30, 31), (40, 40), (9, 11)].map(|(from, to)| set.insert(from, to)), [10, 1, 0, 1]);
        assert_eq!([(12, 15), (9, 10)].map(|(from, to)| set.remove(from, to)), [3, 1]);
        assert_eq!(set.ranges().collect::<Vec<_>>(), [(10, 11), (11, 12), (15, 20), (30, 31)]);
        assert_eq!(
            [(0, 10), (11, 12), (12, 15), (14, 16), (31, 99)].map(|(a, b)| set.touches(a, b)),
            [false, true, false, true, false]
        );
        assert_eq!([9, 10, 15, 19, 20, 99].map(|block| set.range_to(block)), [9, 11, 20, 20, 20, 99]);
        set.remove(0, 16);
        set.remove(19, 40);
        assert_eq!(set.ranges().collect::<Vec<_>>(), [(16, 19)]);
        set.insert(18, 25);
        assert_eq!(set.ranges().collect::<Vec<_>>(), [(16, 18), (18, 25)]);
    }
}
