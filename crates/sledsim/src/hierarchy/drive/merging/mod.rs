//! Batching and merging: selects pending requests that are served together with the one that the scheduler picked.

mod energy;
mod group;
mod spec;

pub use spec::MergeSpec;

use std::collections::BTreeSet;

use super::pending::PendingRequests;
use energy::DispatchState;
use group::GroupBuilder;

use crate::devices::{BatchAccess, Mechanism, MechanismChecker, Plan, Together};
use crate::request::Request;
use crate::schedulers::Scheduler;
use crate::service::Service;
use crate::time::Time;

/// Number of groups that are tried at a dispatch.
const MAX_TRIES: usize = 16;

/// The rule that selects requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum GroupRule {
    /// Requests that share a row with the picked one, at most so many in all.
    Batch(usize),
    /// Requests that can be merged.
    Merge(MergeSpec),
}

/// The pending requests of a drive, and the latest group.
#[derive(Clone)]
pub(super) struct Merging {
    rule: GroupRule,
    /// True if requests are served in order of arrival, except those that join others.
    in_order: bool,
    pending: PendingRequests,
    /// The latest group, the picked request first.
    members: Vec<Request>,
    /// The service of each member.
    services: Vec<Service>,
    max_turnaround_j: Option<f64>,
}

impl Merging {
    pub(super) fn new(rule: GroupRule, in_order: bool) -> Self {
        let is_indexed = match rule {
            GroupRule::Batch(_) => true,
            GroupRule::Merge(spec) => spec.anywhere,
        };
        Self {
            rule,
            in_order,
            pending: PendingRequests::new(is_indexed),
            members: Vec::new(),
            services: Vec::new(),
            max_turnaround_j: None,
        }
    }

    /// Allows the scheduler to serve requests in another order than they arrive.
    pub(super) fn allow_reordering(&mut self) {
        self.in_order = false;
    }

    /// Removes all pending requests.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.rule, self.in_order);
    }

    /// Checks that as many requests are pending here as in the scheduler.
    ///
    /// # Errors
    /// The numbers differ.
    pub(super) fn check(&self, in_scheduler: usize) -> Result<(), String> {
        let pending = self.pending.len();
        if pending == in_scheduler {
            return Ok(());
        }
        Err(format!("{pending} requests are pending for merging, and {in_scheduler} in the scheduler"))
    }

    /// Adds a request that is given to the scheduler.
    #[inline]
    pub(super) fn arrived(&mut self, request: Request) {
        self.pending.push(request);
    }

    /// Serves the picked request together with others, which are removed from the scheduler. Returns false if none joins it; then
    /// it is not served.
    #[inline]
    pub(super) fn serve(
        &mut self,
        now: Time,
        picked: Request,
        scheduler: &mut dyn Scheduler,
        device: &mut dyn Mechanism,
        checker: Option<&mut MechanismChecker>,
    ) -> bool {
        self.pending.remove(picked.id);
        debug_assert_eq!(self.pending.len(), scheduler.len(), "pending here and in the scheduler");
        if self.pending.len() == 0 {
            return false;
        }
        self.members.clear();
        self.members.push(picked);
        let plan = self.build_group(now, device);
        if self.members.len() == 1 {
            return false;
        }
        for member in &self.members[1..] {
            let was_there = scheduler.take(member, device);
            debug_assert!(was_there, "{member:?} is pending here but not in the scheduler");
        }
        self.services.clear();
        let how = match self.rule {
            GroupRule::Batch(_) => Together::Batch,
            GroupRule::Merge(_) => Together::Merged(plan.as_ref()),
        };
        match checker {
            None => device.serve_together(now, &self.members, how, &mut self.services),
            Some(checker) => {
                checker.before(device, now, &self.members);
                device.serve_together(now, &self.members, how, &mut self.services);
                checker.after(now, &self.members, &self.services);
            }
        }
        debug_assert_eq!(self.members.len(), self.services.len(), "each member is served once");
        true
    }

    /// The latest group, the picked request first, with its services.
    #[inline]
    pub(super) fn served(&self) -> impl Iterator<Item = (&Request, &Service)> {
        self.members.iter().zip(&self.services)
    }

    /// Adds the requests that join the picked one to the members. Returns the plan for them if the device makes plans.
    fn build_group(&mut self, now: Time, device: &dyn Mechanism) -> Option<Plan> {
        self.pending.index();
        let is_batch = matches!(self.rule, GroupRule::Batch(_));
        let planner = device.batch_access().filter(|planner| planner.plans_merges() || is_batch);
        match (self.rule, planner) {
            (GroupRule::Merge(spec), _) if spec.joins(self.members[0].op).is_empty() => None,
            (GroupRule::Merge(spec), Some(planner)) => self.merge_by_plan(now, &spec, planner),
            (rule, planner) => {
                let refused = BTreeSet::new();
                let group = GroupBuilder::new(&self.pending, planner, &refused, &self.members);
                match rule {
                    GroupRule::Batch(max) => group.batch(max, &mut self.members),
                    // For a device without plans contiguous requests are one larger request.
                    GroupRule::Merge(spec) => group.merge(&MergeSpec { mixed: false, ..spec }, &mut self.members),
                }
                self.members[1..].iter().for_each(|member| self.pending.remove(member.id));
                None
            }
        }
    }

    /// Merges requests as long as that does not increase the energy.
    fn merge_by_plan(&mut self, now: Time, spec: &MergeSpec, planner: &dyn BatchAccess) -> Option<Plan> {
        let mut refused = BTreeSet::new();
        let mut best: Option<Plan> = None;
        let mut tries = 0;
        let mut state = None;
        'group: while self.members.len() < spec.requests as usize {
            let known = self.members.len();
            let mut joined = self.members.clone();
            GroupBuilder::new(&self.pending, Some(planner), &refused, &joined).merge(spec, &mut joined);
            if joined.len() == known {
                break;
            }
            let dispatch = *state.get_or_insert_with(|| self.dispatch_state(now, planner));
            // Try all that were found, then half of them, and so on. A single request that increases the energy is refused.
            while joined.len() > known {
                if tries == MAX_TRIES {
                    break 'group;
                }
                tries += 1;
                if let Some(plan) = self.best_plan(&dispatch, &joined) {
                    best = Some(plan);
                    self.members = joined;
                    continue 'group;
                }
                let found = joined.len() - known;
                if found == 1 {
                    refused.extend(joined.last().map(|request| request.id));
                }
                joined.truncate(known + found / 2);
            }
        }
        if let (Some(dispatch), Some(plan)) = (state, &best) {
            let ids = ids_of(&self.members[1..]);
            if self.in_order {
                self.pending.remove_early(&dispatch, plan.estimate.to, &ids);
            } else {
                ids.iter().for_each(|&id| self.pending.remove(id));
            }
        }
        best
    }

    /// The state of the device before the picked request is served.
    fn dispatch_state<'a>(&mut self, now: Time, planner: &'a dyn BatchAccess) -> DispatchState<'a> {
        let alone = planner.estimate(now, None, &self.members[0]);
        let max_turnaround_j = *self.max_turnaround_j.get_or_insert_with(|| planner.max_turnaround_j());
        let dispatch = DispatchState { now, planner, alone, max_turnaround_j };
        if self.in_order {
            self.pending.update_costs(0, alone.to, &dispatch);
        }
        dispatch
    }

    /// The plan of least energy for a group, or `None` if serving the requests one by one takes less.
    fn best_plan(&mut self, dispatch: &DispatchState<'_>, joined: &[Request]) -> Option<Plan> {
        let ids = ids_of(&joined[1..]);
        let mut best: Option<(Plan, f64)> = None;
        for plan in dispatch.planner.plans(dispatch.now, joined) {
            let excess_j = if self.in_order {
                self.pending.excess_j(dispatch, &plan.estimate, &ids)
            } else {
                dispatch.excess_alone_j(&plan.estimate, joined)
            };
            if excess_j <= 0.0 && best.as_ref().is_none_or(|&(_, least_j)| excess_j < least_j) {
                best = Some((plan, excess_j));
            }
        }
        best.map(|(plan, _)| plan)
    }
}

fn ids_of(requests: &[Request]) -> Vec<u64> {
    let mut ids: Vec<u64> = requests.iter().map(|request| request.id).collect();
    ids.sort_unstable();
    ids
}
