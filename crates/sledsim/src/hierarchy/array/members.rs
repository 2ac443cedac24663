//! The members of an array: which of them have failed, who stands in for them, and what of them can be read and written.

use super::layout::Layout;
use crate::hierarchy::common::BlockSet;

/// One of the members that the columns go round.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The child that serves for it.
    child: usize,
    /// Which spare column of each row serves for it, if it has failed and spares are distributed.
    spare_column: Option<usize>,
    /// Whether it has failed and nobody stands in for it.
    lost: bool,
    /// Descendants this LBN it can be read: all of it, or as far as it has been rebuilt.
    readable_to: u64,
    /// Descendants this LBN it is written: as far as it can be read, and where it is being rebuilt.
    writable_to: u64,
}

/// The members, and the spares that are left.
#[derive(Clone, Debug)]
pub(super) struct Members {
    layout: Layout,
    members: Vec<Member>,
    /// The children that are spare, or the numbers of spare columns, the next one last.
    spares: Vec<usize>,
    distributed: bool,
    /// What of each member could not be rebuilt.
    unreadable: Vec<BlockSet>,
}

impl Members {
    /// All members are whole; `spares` of them more behind them, or columns.
    pub(super) fn new(layout: Layout, spares: usize, distributed: bool) -> Self {
        let whole =
            |child| Member { child, spare_column: None, lost: false, readable_to: u64::MAX, writable_to: u64::MAX };
        let first = if distributed { layout.columns() } else { layout.width() };
        Self {
            layout,
            members: (0..layout.width()).map(whole).collect(),
            spares: (first..first + spares).rev().collect(),
            distributed,
            unreadable: vec![BlockSet::default(); layout.width()],
        }
    }

    /// The child that holds a column of a row, and below which LBNs it can be read and written.
    fn holder(&self, row: u64, column: usize) -> (usize, u64, u64) {
        let member = &self.members[self.layout.member(row, column)];
        match member.spare_column {
            None => (member.child, member.readable_to, member.writable_to),
            Some(spare) => {
                let spare = &self.members[self.layout.member(row, spare)];
                // Spare units of a member that has failed are lost with it.
                let most = if spare.spare_column.is_some() { 0 } else { spare.readable_to };
                (spare.child, member.readable_to.min(most), member.writable_to.min(most))
            }
        }
    }

    /// Columns of a row that hold something.
    pub(super) fn columns(&self) -> usize {
        self.layout.columns()
    }

    /// The child that holds a column of a row.
    pub(super) fn child(&self, row: u64, column: usize) -> usize {
        self.holder(row, column).0
    }

    /// Whether whoever holds LBNs of a column of a row has not failed, and has them if they could be rebuilt.
    pub(super) fn is_there(&self, row: u64, column: usize, (_, to): (u64, u64)) -> bool {
        to <= self.holder(row, column).1
    }

    /// Whether LBNs of a column of a row can be read.
    pub(super) fn readable(&self, row: u64, column: usize, range @ (from, to): (u64, u64)) -> bool {
        self.is_there(row, column, range) && !self.unreadable[self.layout.member(row, column)].touches(from, to)
    }

    /// Descendants which LBN nothing of a member, from those of `row` on, which begin with `range`, can be rebuilt as long as no other
    /// member is: too few others are there, or could be rebuilt themselves. None if that of `row` can. Units that it keeps
    /// as spares have nothing to be rebuilt.
    pub(super) fn lost_to(&self, member: usize, row: u64, (from, to): (u64, u64)) -> Option<u64> {
        let columns = self.layout.columns();
        // Where there are no spare columns every member holds one of each row. What is not there of a member is not there
        // further on either.
        let kinds = if self.distributed { self.layout.width() as u64 } else { 1 };
        let mut lost_to = u64::MAX;
        for (row, further) in (row..row + kinds).zip(0..) {
            let column = self.layout.column(row, member);
            let range = (from + further * (to - from), to + further * (to - from));
            let can_tell = |&other: &usize| {
                let unreadable_to = self.unreadable[self.layout.member(row, other)].range_to(range.0);
                let is_lost = unreadable_to >= range.1;
                if is_lost {
                    lost_to = lost_to.min(unreadable_to);
                }
                !is_lost
            };
            let others = (0..columns).filter(|&other| other != column && self.is_there(row, other, range));
            if column < columns && others.filter(can_tell).count() >= self.layout.data() {
                return None;
            }
        }
        Some(lost_to)
    }

    /// Whether LBNs of a column of a row from `from` on are to be written.
    pub(super) fn writable(&self, row: u64, column: usize, from: u64) -> bool {
        from < self.holder(row, column).2
    }

    /// Whether every member is there, itself or rebuilt.
    pub(super) fn whole(&self) -> bool {
        self.members.iter().all(|member| member.readable_to == u64::MAX)
    }

    /// Whether one has ever failed.
    pub(super) fn have_failed(&self) -> bool {
        let has_failed =
            |(index, member): (usize, &Member)| member.lost || member.child != index || member.spare_column.is_some();
        self.members.iter().enumerate().any(has_failed)
    }

    /// The children that hold something of the array.
    pub(super) fn in_service(&self) -> Vec<usize> {
        let serves = |member: &&Member| !member.lost && member.spare_column.is_none();
        self.members.iter().filter(serves).map(|member| member.child).collect()
    }

    /// Whether what members hold is all that was written, with what can be computed from them.
    pub(super) fn hold_all(&self) -> bool {
        let missing = self.members.iter().filter(|member| member.readable_to < u64::MAX).count();
        missing <= self.layout.columns() - self.layout.data()
    }

    /// Hears that a child has failed. Says which members have failed by it, and whether a spare stands in for each.
    pub(super) fn fail(&mut self, child: usize) -> Vec<(usize, bool)> {
        let mut failed = Vec::new();
        for (index, member) in self.members.iter_mut().enumerate() {
            if member.child != child || member.spare_column.is_some() || member.lost {
                continue;
            }
            (member.readable_to, member.writable_to) = (0, 0);
            let spare = self.spares.pop();
            member.lost = spare.is_none();
            match spare {
                Some(column) if self.distributed => member.spare_column = Some(column),
                Some(spare) => member.child = spare,
                None => {}
            }
            self.unreadable[index] = BlockSet::default();
            failed.push((index, spare.is_some()));
        }
        failed
    }

    /// A member is written up to an LBN from now on, for it is being rebuilt there.
    pub(super) fn rebuilding(&mut self, member: usize, to: u64) {
        self.members[member].writable_to = to;
    }

    /// A member has been rebuilt up to an LBN.
    pub(super) fn rebuilt(&mut self, member: usize, to: u64) {
        self.members[member].readable_to = to;
    }

    /// Where a member was being rebuilt when power failed it has to be rebuilt again.
    pub(super) fn power_cut(&mut self) {
        self.members.iter_mut().for_each(|member| member.writable_to = member.readable_to);
    }

    /// LBNs of a member could not be rebuilt.
    pub(super) fn lose(&mut self, member: usize, (from, to): (u64, u64)) {
        self.unreadable[member].insert(from, to);
    }

    /// LBNs of a member have been written.
    pub(super) fn written(&mut self, member: usize, (from, to): (u64, u64)) {
        if !self.unreadable[member].is_empty() {
            self.unreadable[member].remove(from, to);
        }
    }
}
