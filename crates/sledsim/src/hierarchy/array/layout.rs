//! Where data, parity and spare units of an array lie.
//!
//! Every member is cut into stripe units; units with the same number make a row. A unit of a row holds a *column*: columns 0 to
//! n - 1 are data, the next m are parity (of a mirror: the other copies), the rest spare. Which member holds which column
//! depends on the row. All of a row lies at the same LBNs of the members.

use std::ops::Range;

use super::galois;
use crate::convert::to_usize;

/// Kinds of redundancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every member holds everything.
    Mirror,
    /// Parity on the last member.
    Raid4,
    /// Parity goes round the members (left-symmetric).
    Raid5,
    /// Two independent parities go round the members.
    Raid6,
}

impl Level {
    /// Its name, as in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Raid4 => "raid4",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
        }
    }

    /// Fewest members.
    #[must_use]
    pub const fn fewest_members(self) -> usize {
        match self {
            Self::Mirror => 2,
            Self::Raid4 | Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    /// Most members: RAID-6 has 255 different data columns.
    #[must_use]
    pub const fn most_members(self) -> usize {
        match self {
            Self::Raid6 => 257,
            _ => 1024,
        }
    }
}

/// Where data, parity and spare units lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    level: Level,
    /// Columns of data and parity.
    columns: usize,
    /// Spare columns.
    spares: usize,
    unit_blocks: u64,
    rows: u64,
    /// Longest span.
    most_blocks: u64,
}

/// Blocks of a request that lie in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The row.
    pub row: u64,
    /// The first of them, counted through the data columns of the row.
    pub begin: u64,
    /// The one after the last.
    pub end: u64,
    /// Which block of the request the first is.
    pub first: u64,
}

/// Blocks of a request in one column of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The data column.
    pub column: usize,
    /// The first of them in the unit.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
    /// Which block of the request the first is.
    pub first: u64,
}

impl Layout {
    /// A layout over `columns` members and as many more as there are spare columns, `rows` units on each. A mirror has one row of
    /// all their blocks, and no spare columns.
    #[must_use]
    pub fn new(level: Level, columns: usize, spares: usize, unit_blocks: u64, rows: u64) -> Self {
        let (spares, unit_blocks, rows) = match level {
            Level::Mirror => (0, unit_blocks * rows, 1),
            _ => (spares, unit_blocks, rows),
        };
        Self { level, columns, spares, unit_blocks, rows, most_blocks: u64::MAX }
    }

    /// The same layout that cuts requests into spans of at most so many blocks.
    #[must_use]
    pub fn cut_at(self, most_blocks: u64) -> Self {
        Self { most_blocks, ..self }
    }

    /// The kind of redundancy.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Data columns, n.
    #[must_use]
    pub fn data(&self) -> usize {
        match self.level {
            Level::Mirror => 1,
            Level::Raid4 | Level::Raid5 => self.columns - 1,
            Level::Raid6 => self.columns - 2,
        }
    }

    /// Columns of data and parity, n + m.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Members that the columns go round.
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns + self.spares
    }

    /// Blocks of a stripe unit.
    #[must_use]
    pub fn unit_blocks(&self) -> u64 {
        self.unit_blocks
    }

    /// Blocks of the smallest parts that requests are cut into as a rule.
    #[must_use]
    pub fn part_blocks(&self) -> u64 {
        self.unit_blocks.min(self.most_blocks)
    }

    /// Blocks in use on a member.
    #[must_use]
    pub fn member_blocks(&self) -> u64 {
        self.rows * self.unit_blocks
    }

    /// Blocks of data.
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
        // From the first parity on: parities, data, spares.
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

    /// In how many of these rows a member holds a column of data or parity.
    #[must_use]
    pub fn rows_held(&self, member: usize, rows: Range<u64>) -> u64 {
        let (count, width) = (rows.end - rows.start, self.width() as u64);
        let rest = rows.end - count % width..rows.end;
        let held = rest.filter(|&row| self.column(row, member) < self.columns).count();
        // Columns go round with the rows.
        count / width * self.columns as u64 + held as u64
    }

    /// What a column is of the data columns: the factor of each.
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

    /// The blocks from `lbn` on, row by row. Where they touch two columns of a row that have no offset in common nor meet, they
    /// are two spans: their parities are independent of each other.
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

    /// The blocks of a span, column by column.
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

    /// Offsets in a unit that a span touches: within one column or, as [`Layout::spans`] cuts them, all.
    #[must_use]
    pub fn hull(&self, span: Span) -> (u64, u64) {
        let unit = self.unit_blocks;
        if span.begin / unit == (span.end - 1) / unit {
            (span.begin % unit, (span.end - 1) % unit + 1)
        } else {
            (0, unit)
        }
    }
}
