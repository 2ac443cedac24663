//! The energy of serving requests together, compared with serving all pending requests in order of arrival.

use super::super::pending::{InOrderCost, PendingRequests};
use crate::devices::{BatchAccess, Estimate, MechanismState};
use crate::request::Request;
use crate::time::Time;

/// Number of requests after the last merged one that a comparison follows until the mechanism is in the same state in both orders.
const MAX_FOLLOWED: usize = 32;

/// The state of the device at a dispatch.
#[derive(Clone, Copy)]
pub(super) struct DispatchState<'a> {
    pub(super) now: Time,
    pub(super) planner: &'a dyn BatchAccess,
    /// The cost of the picked request alone.
    pub(super) alone: Estimate,
    /// See [`BatchAccess::max_turnaround_j`].
    pub(super) max_turnaround_j: f64,
}

impl DispatchState<'_> {
    /// The cost of a request, with the mechanism in state `from` before it.
    fn estimate(&self, from: MechanismState, request: &Request) -> Estimate {
        self.planner.estimate(self.now, Some(from), request)
    }

    /// Additional energy in joules of serving requests together, compared with serving them one by one, the picked one first and
    /// the others in order of arrival. Includes the move to the state in which that would end.
    pub(super) fn excess_alone_j(&self, merged: &Estimate, joined: &[Request]) -> f64 {
        let mut others = joined[1..].to_vec();
        others.sort_unstable_by_key(|request| request.id);
        let mut excess_j = merged.servicing_j - self.alone.servicing_j;
        let mut state = self.alone.to;
        for request in &others {
            let estimate = self.estimate(state, request);
            excess_j -= estimate.servicing_j;
            state = estimate.to;
        }
        excess_j + self.planner.move_j(merged.to, state)
    }
}

/// The costs of the pending requests in order of arrival are kept between dispatches, as most of them stay valid.
impl PendingRequests {
    /// The cost of a slot's request, with the mechanism in state `from` before it. The costs of all slots before must be known.
    fn cost(&mut self, index: usize, from: MechanismState, dispatch: &DispatchState<'_>) -> Estimate {
        let slot = self.slot_mut(index);
        match slot.cost {
            Some(cost) if cost.from == from => cost.estimate,
            _ => {
                let estimate = dispatch.estimate(from, &slot.request);
                slot.cost = Some(InOrderCost { from, estimate });
                estimate
            }
        }
    }

    /// Updates the known costs from a slot on, with the mechanism in state `state` before it.
    pub(super) fn update_costs(&mut self, index: usize, mut state: MechanismState, dispatch: &DispatchState<'_>) {
        for index in index..self.slots().len() {
            let slot = &self.slots()[index];
            match slot.cost {
                _ if slot.is_removed => {}
                Some(cost) if cost.from != state => state = self.cost(index, state, dispatch).to,
                // From here on costs are unknown or unchanged.
                _ => return,
            }
        }
    }

    /// The state of the mechanism before a slot; `first` before all of them.
    fn state_before(&self, index: usize, first: MechanismState) -> MechanismState {
        let (before, _) = self.neighbour(index, false).unzip();
        before.and_then(|before| self.slots()[before].cost).map_or(first, |cost| cost.estimate.to)
    }

    /// Computes the costs up to a slot.
    fn compute_costs_to(&mut self, index: usize, dispatch: &DispatchState<'_>) {
        // Known costs come first, and removed slots keep theirs.
        let mut known = self.slots().partition_point(|slot| slot.cost.is_some());
        let mut state = self.state_before(known, dispatch.alone.to);
        while known <= index && known < self.slots().len() {
            if self.slots()[known].is_removed {
                let estimate = Estimate { to: state, servicing_j: 0.0 };
                self.slot_mut(known).cost = Some(InOrderCost { from: state, estimate });
            } else {
                state = self.cost(known, state, dispatch).to;
            }
            known += 1;
        }
    }

    /// Additional energy in joules (positioning, servo and data) of serving the requests `ids`, in rising order, together with the
    /// picked one at the cost `merged`, and the rest in order of arrival, compared with serving all in order of arrival.
    ///
    /// Both orders are followed until the mechanism is in the same state in both, as they are equal from there on. If this does not
    /// happen soon, the energy of a move from one state to the other and of a turnaround is added: a mechanism that takes the
    /// nearest way may serve everything in the opposite direction for a while.
    pub(super) fn excess_j(&mut self, dispatch: &DispatchState<'_>, merged: &Estimate, ids: &[u64]) -> f64 {
        let mut excess_j = merged.servicing_j - dispatch.alone.servicing_j;
        let (mut merged, mut in_order) = (merged.to, dispatch.alone.to);
        let (mut index, mut next, mut followed) = (0, 0, 0);
        while index < self.slots().len() && followed < MAX_FOLLOWED {
            if merged == in_order {
                // Both orders are equal up to the next merged request.
                let Some(&id) = ids.get(next) else { return excess_j };
                let ahead = self.index_from(id).max(index);
                self.compute_costs_to(ahead, dispatch);
                in_order = self.state_before(ahead, dispatch.alone.to);
                (index, merged) = (ahead, in_order);
            }
            let slot = &self.slots()[index];
            let (is_removed, request) = (slot.is_removed, slot.request);
            index += 1;
            if is_removed {
                continue;
            }
            self.compute_costs_to(index - 1, dispatch);
            let cost = self.cost(index - 1, in_order, dispatch);
            if ids.get(next) == Some(&request.id) {
                excess_j -= cost.servicing_j;
                next += 1;
            } else {
                let estimate = dispatch.estimate(merged, &request);
                excess_j += estimate.servicing_j - cost.servicing_j;
                merged = estimate.to;
            }
            in_order = cost.to;
            followed += usize::from(next == ids.len());
        }
        if merged == in_order {
            return excess_j;
        }
        excess_j + dispatch.planner.move_j(merged, in_order) + dispatch.max_turnaround_j
    }

    /// Removes requests that are served early (`ids` in rising order), which leaves the mechanism in the state `to`.
    pub(super) fn remove_early(&mut self, dispatch: &DispatchState<'_>, to: MechanismState, ids: &[u64]) {
        for &id in ids {
            self.remove(id);
        }
        self.update_costs(0, to, dispatch);
        for &id in ids {
            let index = self.index_from(id);
            self.update_costs(index, self.state_before(index, to), dispatch);
        }
    }
}
