//! Which of the requests that wait at a drive join the one that the scheduler picked.

use std::collections::BTreeSet;
use std::ops::Range;

use super::merge::MergeSpec;
use super::outlook::Dispatch;
use super::waiting::{conflict, Waiting};
use crate::devices::{Device, Trial};
use crate::request::{Op, Request};
use crate::schedulers::Scheduler;
use crate::time::Time;

/// Merges that are tried at a dispatch before what has been found is taken.
const MOST_TRIES: usize = 16;

/// What joins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Whatever shares a row with the picked request, so many in all.
    Batch(usize),
    /// What the rule of merging says.
    Merge(MergeSpec),
}

/// The requests that wait at a drive, and which of them join another.
pub(super) struct Company {
    pub(super) rule: Rule,
    waiting: Waiting,
    /// Whether requests are served in order of arrival but for those that join.
    in_order: bool,
    ways: Vec<Trial>,
    about_face_j: Option<f64>,
}

impl Company {
    pub(super) fn new(rule: Rule, in_order: bool) -> Self {
        let by_place = match rule {
            Rule::Batch(_) => true,
            Rule::Merge(spec) => spec.anywhere,
        };
        Self { rule, waiting: Waiting::new(by_place), in_order, ways: Vec::new(), about_face_j: None }
    }

    /// Hears of a request that went to the scheduler.
    #[inline]
    pub(super) fn arrived(&mut self, request: Request) {
        self.waiting.push(request);
    }

    /// Puts the request that the scheduler picked into `members`, and behind it what joins it, which the scheduler gives up.
    /// Returns the way in which the device is to serve them if they are merged.
    #[inline]
    pub(super) fn gather(
        &mut self,
        now: Time,
        picked: Request,
        scheduler: &mut dyn Scheduler,
        device: &dyn Device,
        members: &mut Vec<Request>,
    ) -> usize {
        members.clear();
        members.push(picked);
        self.waiting.remove(picked.id);
        if self.waiting.len() == 0 {
            return 0;
        }
        self.waiting.index();
        let way = match self.rule {
            Rule::Batch(most) => {
                Gathering::new(&self.waiting, device, members, &BTreeSet::new()).batch(most, members);
                members[1..].iter().for_each(|member| self.waiting.remove(member.id));
                0
            }
            Rule::Merge(spec) if picked.op == Op::Write && !spec.writes => 0,
            Rule::Merge(spec) => self.merge(now, spec, device, members),
        };
        for member in &members[1..] {
            scheduler.take(member, device);
        }
        way
    }

    /// Merges what may be merged, as far as it saves energy.
    fn merge(&mut self, now: Time, spec: MergeSpec, device: &dyn Device, members: &mut Vec<Request>) -> usize {
        let mut refused = BTreeSet::new();
        let mut taken: Option<(usize, Trial)> = None;
        let mut tries = 0;
        let mut dispatch = None;
        'gather: while members.len() < spec.requests as usize {
            let mut joined = members.clone();
            Gathering::new(&self.waiting, device, members, &refused).merge(&spec, &mut joined);
            if joined.len() == members.len() {
                break;
            }
            // All that were found, or else half of them, and so on; one alone that costs energy stays out.
            while joined.len() > members.len() {
                if tries == MOST_TRIES {
                    break 'gather;
                }
                tries += 1;
                self.ways.clear();
                device.try_merged(now, &joined, &mut self.ways);
                if self.ways.is_empty() {
                    // A device that can't tell: what is contiguous is one larger request to it.
                    *members = joined;
                    break 'gather;
                }
                if dispatch.is_none() {
                    let alone = device.try_serve(now, None, &members[0]);
                    dispatch =
                        alone.map(|alone| Dispatch { now, device, alone, about_face_j: self.about_face_j(device) });
                    if let Some(dispatch) = dispatch.as_ref().filter(|_| self.in_order) {
                        self.waiting.mend_turns(0, dispatch.alone.to, dispatch);
                    }
                }
                let Some(dispatch) = &dispatch else { break 'gather };
                if let Some(way) = self.best_way(dispatch, &joined) {
                    taken = Some((way, self.ways[way]));
                    *members = joined;
                    continue 'gather;
                }
                let found = joined.len() - members.len();
                if found == 1 {
                    refused.extend(joined.last().map(|request| request.id));
                }
                joined.truncate(members.len() + found / 2);
            }
        }
        self.forget(members, dispatch.as_ref(), taken.map(|(_, trial)| trial));
        taken.map_or(0, |(way, _)| way)
    }

    fn about_face_j(&mut self, device: &dyn Device) -> f64 {
        *self.about_face_j.get_or_insert_with(|| device.about_face_j())
    }

    /// The way of least energy to serve requests together, the picked one first, if that takes no more than without.
    fn best_way(&mut self, dispatch: &Dispatch<'_>, joined: &[Request]) -> Option<usize> {
        let ids = ids_of(&joined[1..]);
        let mut best: Option<(usize, f64)> = None;
        for way in 0..self.ways.len() {
            let trial = self.ways[way];
            let has_rival = |(other, rival): (usize, &Trial)| {
                rival.to == trial.to
                    && (rival.servicing_j < trial.servicing_j || rival.servicing_j == trial.servicing_j && other < way)
            };
            if self.ways.iter().enumerate().any(has_rival) {
                continue;
            }
            let excess_j = if self.in_order {
                self.waiting.excess_j(dispatch, &trial, &ids)
            } else {
                alone_excess_j(dispatch, &trial, joined)
            };
            if excess_j <= 0.0 && best.is_none_or(|(_, least_j)| excess_j < least_j) {
                best = Some((way, excess_j));
            }
        }
        best.map(|(way, _)| way)
    }

    /// Takes members out of what waits.
    fn forget(&mut self, members: &[Request], dispatch: Option<&Dispatch<'_>>, way: Option<Trial>) {
        let ids = ids_of(&members[1..]);
        match (dispatch, way) {
            (Some(dispatch), Some(way)) if self.in_order => self.waiting.served_early(dispatch, way.to, &ids),
            _ => ids.iter().for_each(|&id| self.waiting.remove(id)),
        }
    }
}

fn ids_of(requests: &[Request]) -> Vec<u64> {
    let mut ids: Vec<u64> = requests.iter().map(|request| request.id).collect();
    ids.sort_unstable();
    ids
}

/// What serving requests together takes in joules beyond serving them one by one, the picked one first and the others in
/// order of arrival, and going to where that would have ended.
fn alone_excess_j(dispatch: &Dispatch<'_>, way: &Trial, joined: &[Request]) -> f64 {
    let mut others = joined[1..].to_vec();
    others.sort_unstable_by_key(|request| request.id);
    let mut excess_j = way.servicing_j - dispatch.alone.servicing_j;
    let mut stance = dispatch.alone.to;
    for request in &others {
        let Some(trial) = dispatch.device.try_serve(dispatch.now, Some(stance), request) else { break };
        excess_j -= trial.servicing_j;
        stance = trial.to;
    }
    excess_j + dispatch.device.way_j(way.to, stance)
}

/// Requests that join one another, as they are found.
struct Gathering<'a> {
    waiting: &'a Waiting,
    device: &'a dyn Device,
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
    fn new(waiting: &'a Waiting, device: &'a dyn Device, members: &[Request], refused: &'a BTreeSet<u64>) -> Self {
        let picked = &members[0];
        let index = waiting.index_from(picked.id);
        let mut gathering = Self {
            waiting,
            device,
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
        if let Some(index) = self.waiting.position(request.id) {
            self.row_of_slots = self.row_of_slots.start.min(index)..self.row_of_slots.end.max(index + 1);
        }
    }

    /// Whether a request may join the others.
    fn may_join(&self, request: &Request, others: &[Request]) -> bool {
        !self.joined.contains(&request.id)
            && !self.refused.contains(&request.id)
            && self.blocks + u64::from(request.blocks) <= u64::from(u32::MAX)
            && !others.iter().any(|other| conflict(other, request))
            && !self.waiting.holds_back(request)
    }

    /// The oldest of `ids` that may join.
    fn first_of(&self, ids: impl IntoIterator<Item = u64>, others: &[Request]) -> Option<Request> {
        let requests = ids.into_iter().filter_map(|id| self.waiting.slots().get(self.waiting.position(id)?));
        requests.map(|slot| slot.request).find(|request| self.may_join(request, others))
    }

    /// Lets requests that share a row with the picked one join, oldest first, until there are `most`.
    fn batch(mut self, most: usize, members: &mut Vec<Request>) {
        let picked = members[0];
        for op in [Op::Read, Op::Write] {
            self.device.for_each_companion(&picked, &mut |range| self.waiting.overlapping(op, &range, &mut self.mates));
        }
        while members.len() < most {
            let Some(id) = self.mates.pop_first() else { return };
            if let Some(request) = self.first_of([id], members) {
                self.join(&request);
                members.push(request);
            }
        }
    }

    /// Lets requests join as the rule says.
    fn merge(mut self, spec: &MergeSpec, members: &mut Vec<Request>) {
        while members.len() < spec.requests as usize {
            let next = if spec.anywhere { self.anywhere(spec, members) } else { self.adjacent(spec, members) };
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
            spec.rows && members.iter().rev().any(|member| self.device.shares_pass(member, request))
        };
        let neighbour = |index, is_later| self.waiting.neighbour(index, is_later).map(|(_, request)| *request);
        let fits = |request: &Request| request.op == members[0].op && self.may_join(request, members);
        neighbour(later, true)
            .filter(|request| (continues(request) || shares(request)) && fits(request))
            .or_else(|| neighbour(earlier, false).filter(|it| (continued(it) || shares(it)) && fits(it)))
    }

    /// A request that lies behind the blocks or before them, or shares a row with one that joined.
    fn anywhere(&mut self, spec: &MergeSpec, members: &[Request]) -> Option<Request> {
        let op = members[0].op;
        let (mut behind, mut before) = (Vec::new(), Vec::new());
        self.waiting.beginning_at(op, self.run.end, &mut behind);
        self.waiting.ending_at(op, self.run.start, &mut before);
        let next = self.first_of(behind, members).or_else(|| self.first_of(before, members));
        if next.is_some() || !spec.rows {
            return next;
        }
        for member in &members[self.looked..] {
            self.device.for_each_companion(member, &mut |range| self.waiting.overlapping(op, &range, &mut self.mates));
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
