//! Which of the requests that wait join others, by the rules of batches and of merging.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::waiting::{conflict, Waiting};
use super::spec::MergeSpec;
use crate::devices::BatchAccess;
use crate::limits::BATCH_BLOCKS;
use crate::request::{Op, Request};

/// Requests that join one another, as they are found.
pub(super) struct Gathering<'a> {
    waiting: &'a Waiting,
    /// None on a device on which no two requests share a row.
    planner: Option<&'a dyn BatchAccess>,
    /// Those that cost more than they save.
    refused: &'a BTreeSet<u64>,
    joined: BTreeSet<u64>,
    blocks: u64,
    /// Blocks around the picked request that lie one behind the other.
    run: Range<u64>,
    /// The slots around the picked request whose requests have all joined.
    row_of_slots: Range<usize>,
    /// Of so many that joined, those that share rows with them have been looked for.
    looked: usize,
    /// What was found.
    mates: BTreeSet<u64>,
}

impl<'a> Gathering<'a> {
    /// Begins with the `members` there are, of which the first was picked.
    pub(super) fn new(
        waiting: &'a Waiting,
        planner: Option<&'a dyn BatchAccess>,
        refused: &'a BTreeSet<u64>,
        members: &[Request],
    ) -> Self {
        let picked = &members[0];
        let index = waiting.index_from(picked.id);
        let mut gathering = Self {
            waiting,
            planner,
            refused,
            joined: BTreeSet::new(),
            blocks: u64::from(picked.blocks),
            run: picked.lbn..picked.end_lbn(),
            row_of_slots: index..index,
            looked: 0,
            mates: BTreeSet::new(),
        };
        members[1..].iter().for_each(|member| gathering.join(member));
        gathering
    }

    fn join(&mut self, request: &Request) {
        self.joined.insert(request.id);
        self.blocks += u64::from(request.blocks);
        if request.lbn == self.run.end {
            self.run.end = request.end_lbn();
        } else if request.end_lbn() == self.run.start {
            self.run.start = request.lbn;
        }
        debug_assert!(self.waiting.get(request.id).is_some(), "whoever joins waits until all are found");
        let index = self.waiting.index_from(request.id);
        self.row_of_slots = self.row_of_slots.start.min(index)..self.row_of_slots.end.max(index + 1);
    }

    /// Whether a request may join the others.
    fn may_join(&self, request: &Request, others: &[Request]) -> bool {
        !self.joined.contains(&request.id)
            && !self.refused.contains(&request.id)
            && self.blocks + u64::from(request.blocks) <= BATCH_BLOCKS.most
            && !others.iter().any(|other| conflict(other, request))
            && !self.waiting.holds_back(request)
    }

    /// The oldest of `ids` that may join.
    fn first_of(&self, ids: impl IntoIterator<Item = u64>, others: &[Request]) -> Option<Request> {
        ids.into_iter().filter_map(|id| self.waiting.get(id)).find(|request| self.may_join(request, others)).copied()
    }

    /// Finds those that share a row with `request`.
    fn look_for_mates(&mut self, op: Op, request: &Request) {
        if let Some(planner) = self.planner {
            planner.for_each_companion(request, &mut |range| self.waiting.overlapping(op, &range, &mut self.mates));
        }
    }

    /// Lets requests that share a row with the picked one join, oldest first, until there are `most`.
    pub(super) fn batch(mut self, most: usize, members: &mut Vec<Request>) {
        let picked = members[0];
        for op in [Op::Read, Op::Write] {
            self.look_for_mates(op, &picked);
        }
        while members.len() < most {
            // Nobody is left.
            let Some(id) = self.mates.pop_first() else { return };
            if let Some(request) = self.first_of([id], members) {
                self.join(&request);
                members.push(request);
            }
        }
    }

    /// Lets requests join as the rule says.
    pub(super) fn merge(mut self, spec: &MergeSpec, members: &mut Vec<Request>) {
        while members.len() < spec.requests as usize {
            let next = if spec.anywhere { self.anywhere(spec, members) } else { self.adjacent(spec, members) };
            // Nobody else fits.
            let Some(request) = next else { return };
            self.join(&request);
            members.push(request);
        }
    }

    /// A neighbour in the queue that continues the blocks, or that they continue.
    fn adjacent(&self, spec: &MergeSpec, members: &[Request]) -> Option<Request> {
        let (earlier, later) = (self.row_of_slots.start, self.row_of_slots.end);
        let continued = |request: &Request| request.end_lbn() == self.run.start;
        let continues = |request: &Request| request.lbn == self.run.end;
        let shares = |request: &Request| {
            let shares_one =
                |planner: &dyn BatchAccess| members.iter().rev().any(|it| planner.shares_pass(it, request));
            spec.rows && self.planner.is_some_and(shares_one)
        };
        let neighbour = |index, is_later| self.waiting.neighbour(index, is_later).map(|(_, request)| *request);
        let joining = spec.joins(members[0].op);
        let fits = |request: &Request| joining.contains(&request.op) && self.may_join(request, members);
        neighbour(later, true)
            .filter(|request| (continues(request) || shares(request)) && fits(request))
            .or_else(|| neighbour(earlier, false).filter(|it| (continued(it) || shares(it)) && fits(it)))
    }

    /// A request that lies behind the blocks or before them, or shares a row with one that joined.
    fn anywhere(&mut self, spec: &MergeSpec, members: &[Request]) -> Option<Request> {
        let joining = spec.joins(members[0].op);
        let (mut behind, mut before) = (Vec::new(), Vec::new());
        for &op in joining {
            self.waiting.beginning_at(op, self.run.end, &mut behind);
            self.waiting.ending_at(op, self.run.start, &mut before);
        }
        if joining.len() > 1 {
            behind.sort_unstable();
            before.sort_unstable();
        }
        let next = self.first_of(behind, members).or_else(|| self.first_of(before, members));
        if next.is_some() || !spec.rows {
            return next;
        }
        for member in &members[self.looked..] {
            for &op in joining {
                self.look_for_mates(op, member);
            }
        }
        self.looked = members.len();
        while let Some(id) = self.mates.pop_first() {
            let mate = self.first_of([id], members);
            if mate.is_some() {
                return mate;
            }
        }
        None
    }
}
