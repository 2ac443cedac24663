//! Requests served together: which of those that wait at a drive join the one that the scheduler picked, and in what way.

mod gathering;
mod outlook;
mod spec;

pub use spec::MergeSpec;

use std::collections::BTreeSet;

use super::waiting::Waiting;
use gathering::Gathering;
use outlook::Dispatch;

use crate::devices::{BatchAccess, Mechanism, MechanismChecker, Plan, Together};
use crate::request::Request;
use crate::schedulers::Scheduler;
use crate::service::Service;
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

/// The requests that wait at a drive, and those that were served together last.
#[derive(Clone)]
pub(super) struct Merging {
    rule: Rule,
    /// Whether requests are served in order of arrival but for those that join.
    in_order: bool,
    waiting: Waiting,
    members: Vec<Request>,
    /// What became of each member.
    services: Vec<Service>,
    about_face_j: Option<f64>,
}

impl Merging {
    pub(super) fn new(rule: Rule, in_order: bool) -> Self {
        let by_place = match rule {
            Rule::Batch(_) => true,
            Rule::Merge(spec) => spec.anywhere,
        };
        Self {
            rule,
            in_order,
            waiting: Waiting::new(by_place),
            members: Vec::new(),
            services: Vec::new(),
            about_face_j: None,
        }
    }

    /// From now on requests may be served in another order than they come in.
    pub(super) fn reorders(&mut self) {
        self.in_order = false;
    }

    /// Nobody waits any more.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.rule, self.in_order);
    }

    /// Whether those that wait here are as many as wait in the scheduler.
    ///
    /// # Errors
    /// They are not.
    pub(super) fn check(&self, pending: usize) -> Result<(), String> {
        let waiting = self.waiting.len();
        if waiting == pending {
            return Ok(());
        }
        Err(format!("{waiting} requests wait to be joined by others, and {pending} are pending"))
    }

    /// Hears of a request that went to the scheduler.
    #[inline]
    pub(super) fn arrived(&mut self, request: Request) {
        self.waiting.push(request);
    }

    /// Serves the request that the scheduler picked together with what joins it, which the scheduler gives up; `false` where
    /// nobody does, and nothing is served.
    #[inline]
    pub(super) fn serve(
        &mut self,
        now: Time,
        picked: Request,
        scheduler: &mut dyn Scheduler,
        device: &mut dyn Mechanism,
        checker: Option<&mut MechanismChecker>,
    ) -> bool {
        self.waiting.remove(picked.id);
        debug_assert_eq!(self.waiting.len(), scheduler.len(), "who waits here waits in the scheduler");
        if self.waiting.len() == 0 {
            return false;
        }
        self.members.clear();
        self.members.push(picked);
        let plan = self.gather(now, device);
        if self.members.len() == 1 {
            return false;
        }
        for member in &self.members[1..] {
            let was_there = scheduler.take(member, device);
            debug_assert!(was_there, "{member:?} waits here and not in the scheduler");
        }
        self.services.clear();
        let how = match self.rule {
            Rule::Batch(_) => Together::Batch,
            Rule::Merge(_) => Together::Merged(plan.as_ref()),
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

    /// The requests that were served together last, the picked one first.
    #[inline]
    pub(super) fn served(&self) -> impl Iterator<Item = (&Request, &Service)> {
        self.members.iter().zip(&self.services)
    }

    /// Puts what joins the picked request behind it among the members; the way to serve them, if they are merged on a device
    /// that has a choice.
    fn gather(&mut self, now: Time, device: &dyn Mechanism) -> Option<Plan> {
        self.waiting.index();
        let planner = device.batch_access();
        match (self.rule, planner.filter(|planner| planner.plans_merges() || matches!(self.rule, Rule::Batch(_)))) {
            (Rule::Merge(spec), _) if spec.joins(self.members[0].op).is_empty() => None,
            (Rule::Merge(spec), Some(planner)) => self.merge_by_plan(now, &spec, planner),
            (rule, planner) => {
                let nobody = BTreeSet::new();
                let gathering = Gathering::new(&self.waiting, planner, &nobody, &self.members);
                match rule {
                    Rule::Batch(most) => gathering.batch(most, &mut self.members),
                    // A device that can't tell: what is contiguous is one larger request to it.
                    Rule::Merge(spec) => gathering.merge(&MergeSpec { mixed: false, ..spec }, &mut self.members),
                }
                self.members[1..].iter().for_each(|member| self.waiting.remove(member.id));
                None
            }
        }
    }

    /// Merges what may be merged, as far as it takes no more energy.
    fn merge_by_plan(&mut self, now: Time, spec: &MergeSpec, planner: &dyn BatchAccess) -> Option<Plan> {
        let mut refused = BTreeSet::new();
        let mut taken: Option<Plan> = None;
        let mut tries = 0;
        let mut first_try = None;
        'gather: while self.members.len() < spec.requests as usize {
            let known = self.members.len();
            let mut joined = self.members.clone();
            Gathering::new(&self.waiting, Some(planner), &refused, &joined).merge(spec, &mut joined);
            if joined.len() == known {
                break;
            }
            let dispatch = *first_try.get_or_insert_with(|| self.dispatch(now, planner));
            // All that were found, or else half of them, and so on; one alone that costs energy stays out.
            while joined.len() > known {
                if tries == MOST_TRIES {
                    break 'gather;
                }
                tries += 1;
                if let Some(plan) = self.best_plan(&dispatch, &joined) {
                    taken = Some(plan);
                    self.members = joined;
                    continue 'gather;
                }
                let found = joined.len() - known;
                if found == 1 {
                    refused.extend(joined.last().map(|request| request.id));
                }
                joined.truncate(known + found / 2);
            }
        }
        if let (Some(dispatch), Some(plan)) = (first_try, &taken) {
            let ids = ids_of(&self.members[1..]);
            if self.in_order {
                self.waiting.served_early(&dispatch, plan.estimate.to, &ids);
            } else {
                ids.iter().for_each(|&id| self.waiting.remove(id));
            }
        }
        taken
    }

    /// What is known when something may join the picked request: what serving it alone would take, and those that wait in turn.
    fn dispatch<'a>(&mut self, now: Time, planner: &'a dyn BatchAccess) -> Dispatch<'a> {
        let alone = planner.estimate(now, None, &self.members[0]);
        let about_face_j = *self.about_face_j.get_or_insert_with(|| planner.max_turnaround_j());
        let dispatch = Dispatch { now, planner, alone, about_face_j };
        if self.in_order {
            self.waiting.mend_turns(0, alone.to, &dispatch);
        }
        dispatch
    }

    /// The plan of least energy to serve requests together, the picked one first, if that takes no more than without.
    fn best_plan(&mut self, dispatch: &Dispatch<'_>, joined: &[Request]) -> Option<Plan> {
        let ids = ids_of(&joined[1..]);
        let mut best: Option<(Plan, f64)> = None;
        for plan in dispatch.planner.plans(dispatch.now, joined) {
            let excess_j = if self.in_order {
                self.waiting.excess_j(dispatch, &plan.estimate, &ids)
            } else {
                dispatch.alone_excess_j(&plan.estimate, joined)
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
