//! The state of an array's members: failures, spares in use, and readable and writable blocks.

use super::layout::Layout;
use crate::hierarchy::common::{BlockRange, BlockSet};

/// A member of the layout.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The child that holds it.
    child: usize,
    /// The spare column of each row that replaces it, if it has failed and sparing is distributed.
    spare_column: Option<usize>,
    /// True if it has failed and there was no spare.
    is_lost: bool,
    /// All blocks below this LBN can be read: the whole member, or its rebuilt part.
    readable_to: u64,
    /// Writes go to all blocks below this LBN: those that can be read, and those being rebuilt.
    writable_to: u64,
}

/// The child that holds a column of a row, and the LBNs below which the column can be read and written.
struct Holder {
    child: usize,
    readable_to: u64,
    writable_to: u64,
}

/// A member that has failed.
pub(super) struct Failed {
    pub(super) member: usize,
    pub(super) has_spare: bool,
}

/// The members and the unused spares.
#[derive(Clone, Debug)]
pub(super) struct Members {
    layout: Layout,
    members: Vec<Member>,
    /// Unused spare children, or spare columns, the next one last.
    spares: Vec<usize>,
    is_distributed: bool,
    /// Blocks of each member that could not be rebuilt.
    unreadable: Vec<BlockSet>,
    /// True as long as no member has failed and every block could be rebuilt: then all blocks can be read and written.
    is_untouched: bool,
}

impl Members {
    /// Members without failures, followed by `spares` spare children or columns.
    pub(super) fn new(layout: Layout, spares: usize, is_distributed: bool) -> Self {
        let intact =
            |child| Member { child, spare_column: None, is_lost: false, readable_to: u64::MAX, writable_to: u64::MAX };
        let first = if is_distributed { layout.columns() } else { layout.width() };
        Self {
            layout,
            members: (0..layout.width()).map(intact).collect(),
            spares: (first..first + spares).rev().collect(),
            is_distributed,
            unreadable: vec![BlockSet::default(); layout.width()],
            is_untouched: true,
        }
    }

    fn holder(&self, row: u64, column: usize) -> Holder {
        let member = &self.members[self.layout.member(row, column)];
        match member.spare_column {
            None => Holder { child: member.child, readable_to: member.readable_to, writable_to: member.writable_to },
            Some(spare) => {
                let spare = &self.members[self.layout.member(row, spare)];
                // Spare units of a failed member are lost with it.
                let limit = if spare.spare_column.is_some() { 0 } else { spare.readable_to };
                Holder {
                    child: spare.child,
                    readable_to: member.readable_to.min(limit),
                    writable_to: member.writable_to.min(limit),
                }
            }
        }
    }

    /// Number of data and parity columns of a row.
    pub(super) fn columns(&self) -> usize {
        self.layout.columns()
    }

    /// The child that holds a column of a row.
    pub(super) fn child(&self, row: u64, column: usize) -> usize {
        self.holder(row, column).child
    }

    /// Returns true if no member has ever failed: then all columns of all rows can be read and written.
    #[inline]
    pub(super) fn are_untouched(&self) -> bool {
        self.is_untouched
    }

    /// Returns true if a child holds this range of a column of a row: it has not failed, or the range has been rebuilt.
    pub(super) fn has_range(&self, row: u64, column: usize, range: BlockRange) -> bool {
        range.to <= self.holder(row, column).readable_to
    }

    /// Returns true if this range of a column of a row can be read.
    pub(super) fn is_readable(&self, row: u64, column: usize, range: BlockRange) -> bool {
        if self.is_untouched {
            return true;
        }
        let unreadable = &self.unreadable[self.layout.member(row, column)];
        self.has_range(row, column, range) && !unreadable.touches(range.from, range.to)
    }

    /// Returns the LBN up to which no block of a member can be rebuilt, from `row` on, which begins with `range`,
    /// because too few other members are left. `None` if `row` can be rebuilt. Spare units need no rebuild.
    pub(super) fn lost_to(&self, member: usize, row: u64, range: BlockRange) -> Option<u64> {
        let columns = self.layout.columns();
        // Without spare columns every member holds one column of each row. A failed member stays failed further on, too.
        let kinds = if self.is_distributed { self.layout.width() as u64 } else { 1 };
        let mut lost_to = u64::MAX;
        for (row, offset) in (row..row + kinds).zip((0..).map(|rows| rows * range.blocks())) {
            let column = self.layout.column(row, member);
            let range = BlockRange::new(range.from + offset, range.to + offset);
            let has_data = |&other: &usize| {
                let unreadable_to = self.unreadable[self.layout.member(row, other)].range_to(range.from);
                let is_lost = unreadable_to >= range.to;
                if is_lost {
                    lost_to = lost_to.min(unreadable_to);
                }
                !is_lost
            };
            let others = (0..columns).filter(|&other| other != column && self.has_range(row, other, range));
            if column < columns && others.filter(has_data).count() >= self.layout.data() {
                return None;
            }
        }
        Some(lost_to)
    }

    /// Returns true if the block at `lbn` of a column of a row must be written.
    pub(super) fn is_writable(&self, row: u64, column: usize, lbn: u64) -> bool {
        lbn < self.holder(row, column).writable_to
    }

    /// Returns true if every member is intact or rebuilt.
    pub(super) fn are_intact(&self) -> bool {
        self.members.iter().all(|member| member.readable_to == u64::MAX)
    }

    /// Returns true if any member has ever failed.
    pub(super) fn have_failed(&self) -> bool {
        let has_failed = |(index, member): (usize, &Member)| {
            member.is_lost || member.child != index || member.spare_column.is_some()
        };
        self.members.iter().enumerate().any(has_failed)
    }

    /// The children that hold members.
    pub(super) fn in_service(&self) -> Vec<usize> {
        let serves = |member: &&Member| !member.is_lost && member.spare_column.is_none();
        self.members.iter().filter(serves).map(|member| member.child).collect()
    }

    /// Returns true if all data can be read or computed.
    pub(super) fn hold_all_data(&self) -> bool {
        let missing = self.members.iter().filter(|member| member.readable_to < u64::MAX).count();
        missing <= self.layout.columns() - self.layout.data()
    }

    /// Takes a failed child out of service. Returns the members that failed with it.
    pub(super) fn fail(&mut self, child: usize) -> Vec<Failed> {
        let mut failed = Vec::new();
        for (index, member) in self.members.iter_mut().enumerate() {
            if member.child != child || member.spare_column.is_some() || member.is_lost {
                continue;
            }
            self.is_untouched = false;
            (member.readable_to, member.writable_to) = (0, 0);
            let spare = self.spares.pop();
            member.is_lost = spare.is_none();
            match spare {
                Some(column) if self.is_distributed => member.spare_column = Some(column),
                Some(spare) => member.child = spare,
                None => {}
            }
            self.unreadable[index] = BlockSet::default();
            failed.push(Failed { member: index, has_spare: spare.is_some() });
        }
        failed
    }

    /// Sets the LBN below which a member is written from now on, as its rebuild has come so far.
    pub(super) fn set_writable_to(&mut self, member: usize, to: u64) {
        self.members[member].writable_to = to;
    }

    /// Sets the LBN below which a member has been rebuilt.
    pub(super) fn set_readable_to(&mut self, member: usize, to: u64) {
        self.members[member].readable_to = to;
    }

    /// Forgets outstanding rebuild steps, which are made again.
    pub(super) fn power_cut(&mut self) {
        self.members.iter_mut().for_each(|member| member.writable_to = member.readable_to);
    }

    /// Records that a range of a member could not be rebuilt.
    pub(super) fn mark_unreadable(&mut self, member: usize, range: BlockRange) {
        self.is_untouched = false;
        self.unreadable[member].insert(range.from, range.to);
    }

    /// Records that a range of a member has been written.
    pub(super) fn mark_written(&mut self, member: usize, range: BlockRange) {
        if !self.unreadable[member].is_empty() {
            self.unreadable[member].remove(range.from, range.to);
        }
    }
}
