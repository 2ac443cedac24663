//! The layout of data, parity and spare units over the members of an array.
//!
//! Every member is divided into stripe units; units with the same number form a row. A unit of a row holds a *column*: columns 0
//! to n - 1 are data, the next m are parity (in a mirror the other copies), and the rest are spare. The row determines which
//! member holds which column. A row has the same LBNs on all members.

use std::ops::Range;

use super::galois;
use crate::convert::to_usize;
use crate::hierarchy::common::BlockRange;

/// Kinds of redundancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every member holds all data.
    Mirror,
    /// Parity on the last member.
    Raid4,
    /// Parity rotates over the members (left-symmetric).
    Raid5,
    /// Two independent parities rotate over the members.
    Raid6,
}

impl Level {
    /// The name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Raid4 => "raid4",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
        }
    }

    /// Smallest number of members.
    #[must_use]
    pub const fn fewest_members(self) -> usize {
        match self {
            Self::Mirror => 2,
            Self::Raid4 | Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    /// Largest number of members: RAID-6 has 255 different data columns.
    #[must_use]
    pub const fn most_members(self) -> usize {
        match self {
            Self::Raid6 => 257,
            _ => 1024,
        }
    }
}

/// The layout of data, parity and spare units.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    level: Level,
    /// Columns of data and parity.
    columns: usize,
    /// Spare columns.
    spares: usize,
    unit_blocks: u64,
    rows: u64,
    /// Length of the longest span.
    most_blocks: u64,
}

/// Blocks of a request that lie in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The row.
    pub row: u64,
    /// First block, counted through the data columns of the row.
    pub begin: u64,
    /// The block after the last.
    pub end: u64,
    /// Index of the first block in the request.
    pub first: u64,
}

/// Blocks of a request in one column of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The data column.
    pub column: usize,
    /// First block in the unit.
    pub from: u64,
    /// The block after the last.
    pub to: u64,
    /// Index of the first block in the request.
    pub first: u64,
}

impl Layout {
    /// A layout over `columns + spares` members with `rows` units each. A mirror has one row of all blocks, and no spare columns.
    #[must_use]
    pub fn new(level: Level, columns: usize, spares: usize, unit_blocks: u64, rows: u64) -> Self {
        let (spares, unit_blocks, rows) = match level {
            Level::Mirror => (0, unit_blocks * rows, 1),
            _ => (spares, unit_blocks, rows),
        };
        Self { level, columns, spares, unit_blocks, rows, most_blocks: u64::MAX }
    }

    /// Limits the length of spans.
    #[must_use]
    pub fn cut_at(self, most_blocks: u64) -> Self {
        Self { most_blocks, ..self }
    }

    /// The kind of redundancy.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Number of data columns, n.
    #[must_use]
    pub fn data(&self) -> usize {
        match self.level {
            Level::Mirror => 1,
            Level::Raid4 | Level::Raid5 => self.columns - 1,
            Level::Raid6 => self.columns - 2,
        }
    }

    /// Number of data and parity columns, n + m.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of members, n + m + spares.
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns + self.spares
    }

    /// Size of a stripe unit in blocks.
    #[must_use]
    pub fn unit_blocks(&self) -> u64 {
        self.unit_blocks
    }

    /// Size in blocks of the parts that requests are cut into.
    #[must_use]
    pub fn part_blocks(&self) -> u64 {
        self.unit_blocks.min(self.most_blocks)
    }

    /// Number of blocks in use on a member.
    #[must_use]
    pub fn member_blocks(&self) -> u64 {
        self.rows * self.unit_blocks
    }

    /// Number of data blocks.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.member_blocks() * self.data() as u64
    }

    /// The member that holds the first parity of a row.
    fn parity_member(&self, row: u64) -> usize {
        match self.level {
            Level::Mirror | Level::Raid4 => self.data(),
            Level::Raid5 | Level::Raid6 => self.width() - 1 - to_usize(row % self.width() as u64),
        }
    }

    /// The member that holds a column of a row.
    #[must_use]
    pub fn member(&self, row: u64, column: usize) -> usize {
        let (data, width) = (self.data(), self.width());
        if self.level == Level::Mirror {
            return column;
        }
        let parities = self.columns - data;
        // Order from the first parity on: parities, data, spares.
        let place = match column {
            column if column < data => parities + column,
            column if column < self.columns => column - data,
            column => column,
        };
        (self.parity_member(row) + place) % width
    }

    /// The column of a row that a member holds.
    #[must_use]
    pub fn column(&self, row: u64, member: usize) -> usize {
        let (data, width) = (self.data(), self.width());
        if self.level == Level::Mirror {
            return member;
        }
        let parities = self.columns - data;
        match (member + width - self.parity_member(row)) % width {
            place if place < parities => data + place,
            place if place < self.columns => place - parities,
            place => place,
        }
    }

    /// Number of these rows in which a member holds a data or parity column.
    #[must_use]
    pub fn rows_held(&self, member: usize, rows: Range<u64>) -> u64 {
        let (count, width) = (rows.end - rows.start, self.width() as u64);
        let rest = rows.end - count % width..rows.end;
        let held = rest.filter(|&row| self.column(row, member) < self.columns).count();
        // Every `width` rows, each member holds each column once.
        count / width * self.columns as u64 + held as u64
    }

    /// The factors of all data columns in a column, which is the sum of their products.
    #[must_use]
    pub fn factors(&self, column: usize) -> Vec<u8> {
        (0..self.data()).map(|data| self.factor(column, data)).collect()
    }

    /// The factor of a data column in a column.
    #[must_use]
    pub fn factor(&self, column: usize, data: usize) -> u8 {
        if column < self.data() {
            u8::from(column == data)
        } else if self.level == Level::Raid6 && column == self.data() + 1 {
            galois::power_of_two(data as u64)
        } else {
            1
        }
    }

    /// Splits a range of blocks into spans, row by row. Blocks in two columns of a row whose offsets neither overlap nor meet are
    /// two spans, as their parities are independent.
    pub fn spans(&self, lbn: u64, blocks: u64) -> impl Iterator<Item = Span> {
        let (unit, row_blocks, most) = (self.unit_blocks, self.unit_blocks * self.data() as u64, self.most_blocks);
        let mut next = lbn;
        std::iter::from_fn(move || {
            let left = lbn + blocks - next;
            if left == 0 {
                return None;
            }
            let (row, begin) = (next / row_blocks, next % row_blocks);
            let mut end = row_blocks.min(begin + left.min(most));
            let border = (begin / unit + 1) * unit;
            if end > border && end < border + unit && end % unit < begin % unit {
                end = border;
            }
            let span = Span { row, begin, end, first: next - lbn };
            next += end - begin;
            Some(span)
        })
    }

    /// Splits a span by columns.
    pub fn pieces(&self, span: Span) -> impl Iterator<Item = Piece> {
        let unit = self.unit_blocks;
        let mut next = span.begin;
        std::iter::from_fn(move || {
            (next < span.end).then(|| {
                let (column, from) = (next / unit, next % unit);
                let to = unit.min(from + span.end - next);
                let piece = Piece { column: to_usize(column), from, to, first: span.first + next - span.begin };
                next += to - from;
                piece
            })
        })
    }

    /// The offsets in a unit that a span covers: those within its only column, or the whole unit.
    #[must_use]
    pub fn hull(&self, span: Span) -> BlockRange {
        let unit = self.unit_blocks;
        if span.begin / unit == (span.end - 1) / unit {
            BlockRange::new(span.begin % unit, (span.end - 1) % unit + 1)
        } else {
            BlockRange::new(0, unit)
        }
    }
}
