//! The read buffer of a sled: whole rows of blocks, the least recently used replaced first.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Rows of blocks that reads have left in the buffer. A lookup takes time linear in the number of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct RowBuffer {
    capacity_rows: usize,
    /// Numbers of rows in LBN order, the most recently used last.
    rows: VecDeque<u64>,
}

impl RowBuffer {
    /// Returns an empty buffer of `capacity_rows` rows.
    pub(super) fn new(capacity_rows: u32) -> Self {
        Self { capacity_rows: capacity_rows as usize, rows: VecDeque::new() }
    }

    /// Returns true if the device has a buffer.
    #[inline]
    pub(super) fn exists(&self) -> bool {
        self.capacity_rows > 0
    }

    /// Empties the buffer.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Returns true if the buffer holds all of `rows`.
    pub(super) fn holds(&self, rows: RangeInclusive<u64>) -> bool {
        rows.clone().count() <= self.rows.len() && rows.into_iter().all(|row| self.rows.contains(&row))
    }

    /// Makes `rows` the most recently used, in their order; adds those that are missing.
    pub(super) fn touch(&mut self, rows: RangeInclusive<u64>) {
        // Of more rows than fit, only the last remain.
        let first = (*rows.end() + 1).saturating_sub(self.capacity_rows as u64).max(*rows.start());
        for row in first..=*rows.end() {
            if let Some(index) = self.rows.iter().position(|&held| held == row) {
                self.rows.remove(index);
            } else if self.rows.len() == self.capacity_rows {
                self.rows.pop_front();
            }
            self.rows.push_back(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RowBuffer;

    #[test]
    fn least_recently_used_row_is_replaced() {
        let mut buffer = RowBuffer::new(2);
        buffer.touch(1..=2);
        buffer.touch(1..=1);
        buffer.touch(3..=3);
        assert!(buffer.holds(1..=1) && buffer.holds(3..=3) && !buffer.holds(2..=2));
        assert!(!buffer.holds(1..=3));
    }

    #[test]
    fn last_rows_of_a_long_read_remain() {
        let mut buffer = RowBuffer::new(3);
        buffer.touch(10..=19);
        assert!(buffer.holds(17..=19) && !buffer.holds(16..=16));
    }
}
