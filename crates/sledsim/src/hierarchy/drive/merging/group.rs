//! Selection of pending requests that join a group, by the rules of batching and merging.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::pending::{conflict, PendingRequests};
use super::spec::MergeSpec;
use crate::devices::BatchAccess;
use crate::limits::BATCH_BLOCKS;
use crate::request::{Op, Request};

/// A group of requests that grows.
pub(super) struct GroupBuilder<'a> {
    pending: &'a PendingRequests,
    /// `None` on a device on which no two requests share a row.
    planner: Option<&'a dyn BatchAccess>,
    /// Ids of requests that would increase the energy.
    refused: &'a BTreeSet<u64>,
    /// Ids of the members, except the picked request.
    joined: BTreeSet<u64>,
    blocks: u64,
    /// The contiguous blocks around the picked request.
    run: Range<u64>,
    /// The slots around the picked request whose requests have all joined.
    joined_slots: Range<usize>,
    /// Number of members whose companions in the same row have been searched.
    searched: usize,
    /// Ids of the companions found.
    companions: BTreeSet<u64>,
}

impl<'a> GroupBuilder<'a> {
    /// A group of `members`, the first of which was picked.
    pub(super) fn new(
        pending: &'a PendingRequests,
        planner: Option<&'a dyn BatchAccess>,
        refused: &'a BTreeSet<u64>,
        members: &[Request],
    ) -> Self {
        let picked = &members[0];
        let index = pending.index_from(picked.id);
        let mut group = Self {
            pending,
            planner,
            refused,
            joined: BTreeSet::new(),
            blocks: u64::from(picked.blocks),
            run: picked.lbn..picked.end_lbn(),
            joined_slots: index..index,
            searched: 0,
            companions: BTreeSet::new(),
        };
        members[1..].iter().for_each(|member| group.join(member));
        group
    }

    fn join(&mut self, request: &Request) {
        self.joined.insert(request.id);
        self.blocks += u64::from(request.blocks);
        if request.lbn == self.run.end {
            self.run.end = request.end_lbn();
        } else if request.end_lbn() == self.run.start {
            self.run.start = request.lbn;
        }
        debug_assert!(self.pending.get(request.id).is_some(), "members stay pending until the group is complete");
        let index = self.pending.index_from(request.id);
        self.joined_slots = self.joined_slots.start.min(index)..self.joined_slots.end.max(index + 1);
    }

    /// Returns true if a request may join the group.
    fn may_join(&self, request: &Request, others: &[Request]) -> bool {
        !self.joined.contains(&request.id)
            && !self.refused.contains(&request.id)
            && self.blocks + u64::from(request.blocks) <= BATCH_BLOCKS.most
            && !others.iter().any(|other| conflict(other, request))
            && !self.pending.has_older_conflict(request)
    }

    /// The first of `ids` that may join.
    fn first_of(&self, ids: impl IntoIterator<Item = u64>, others: &[Request]) -> Option<Request> {
        ids.into_iter().filter_map(|id| self.pending.get(id)).find(|request| self.may_join(request, others)).copied()
    }

    /// Finds the pending requests of a kind that share a row with `request`.
    fn find_companions(&mut self, op: Op, request: &Request) {
        if let Some(planner) = self.planner {
            planner
                .for_each_companion(request, &mut |range| self.pending.overlapping(op, &range, &mut self.companions));
        }
    }

    /// Adds requests that share a row with the picked one, oldest first, up to `max` members.
    pub(super) fn batch(mut self, max: usize, members: &mut Vec<Request>) {
        let picked = members[0];
        for op in [Op::Read, Op::Write] {
            self.find_companions(op, &picked);
        }
        while members.len() < max {
            let Some(id) = self.companions.pop_first() else { return };
            if let Some(request) = self.first_of([id], members) {
                self.join(&request);
                members.push(request);
            }
        }
    }

    /// Adds requests by the rule of merging.
    pub(super) fn merge(mut self, spec: &MergeSpec, members: &mut Vec<Request>) {
        while members.len() < spec.requests as usize {
            let next = if spec.anywhere { self.anywhere(spec, members) } else { self.adjacent(spec, members) };
            let Some(request) = next else { return };
            self.join(&request);
            members.push(request);
        }
    }

    /// A neighbour in the queue that is contiguous with the group, or shares a row with it.
    fn adjacent(&self, spec: &MergeSpec, members: &[Request]) -> Option<Request> {
        let (earlier, later) = (self.joined_slots.start, self.joined_slots.end);
        let continued = |request: &Request| request.end_lbn() == self.run.start;
        let continues = |request: &Request| request.lbn == self.run.end;
        let shares = |request: &Request| {
            let shares_one =
                |planner: &dyn BatchAccess| members.iter().rev().any(|it| planner.shares_pass(it, request));
            spec.rows && self.planner.is_some_and(shares_one)
        };
        let neighbour = |index, is_later| self.pending.neighbour(index, is_later).map(|(_, request)| *request);
        let joining = spec.joins(members[0].op);
        let fits = |request: &Request| joining.contains(&request.op) && self.may_join(request, members);
        neighbour(later, true)
            .filter(|request| (continues(request) || shares(request)) && fits(request))
            .or_else(|| neighbour(earlier, false).filter(|it| (continued(it) || shares(it)) && fits(it)))
    }

    /// Any request that is contiguous with the group, or shares a row with a member.
    fn anywhere(&mut self, spec: &MergeSpec, members: &[Request]) -> Option<Request> {
        let joining = spec.joins(members[0].op);
        let (mut behind, mut before) = (Vec::new(), Vec::new());
        for &op in joining {
            self.pending.beginning_at(op, self.run.end, &mut behind);
            self.pending.ending_at(op, self.run.start, &mut before);
        }
        if joining.len() > 1 {
            behind.sort_unstable();
            before.sort_unstable();
        }
        let next = self.first_of(behind, members).or_else(|| self.first_of(before, members));
        if next.is_some() || !spec.rows {
            return next;
        }
        for member in &members[self.searched..] {
            for &op in joining {
                self.find_companions(op, member);
            }
        }
        self.searched = members.len();
        while let Some(id) = self.companions.pop_first() {
            let companion = self.first_of([id], members);
            if companion.is_some() {
                return companion;
            }
        }
        None
    }
}
