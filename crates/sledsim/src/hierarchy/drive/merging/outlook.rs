//! What the requests that wait will take, one after the other; and what becomes of that when some are served before their turn.

use super::super::waiting::Waiting;
use crate::devices::{BatchAccess, Estimate, MechanismState};
use crate::request::Request;
use crate::time::Time;

/// Turns beyond the last one that is missing which are looked at for the mechanism to stand where it would have stood.
const MOST_BEYOND: usize = 32;

/// A dispatch at which requests may be served before their turn.
#[derive(Clone, Copy)]
pub(super) struct Dispatch<'a> {
    pub(super) now: Time,
    pub(super) planner: &'a dyn BatchAccess,
    /// What serving the picked request alone would take.
    pub(super) alone: Estimate,
    /// See [`BatchAccess::max_turnaround_j`].
    pub(super) about_face_j: f64,
}

impl Dispatch<'_> {
    /// What serving `request` would take from a place on.
    fn try_from(&self, stance: MechanismState, request: &Request) -> Estimate {
        self.planner.estimate(self.now, Some(stance), request)
    }

    /// What serving requests together takes in joules beyond serving them one by one, the picked one first and the others in
    /// order of arrival, and going to where that would have ended.
    pub(super) fn alone_excess_j(&self, way: &Estimate, joined: &[Request]) -> f64 {
        let mut others = joined[1..].to_vec();
        others.sort_unstable_by_key(|request| request.id);
        let mut excess_j = way.servicing_j - self.alone.servicing_j;
        let mut stance = self.alone.to;
        for request in &others {
            let trial = self.try_from(stance, request);
            excess_j -= trial.servicing_j;
            stance = trial.to;
        }
        excess_j + self.planner.move_j(way.to, stance)
    }
}

impl Waiting {
    /// What the turn of a slot takes when the mechanism stands at `stance` before it. All turns before it are known.
    fn turn(&mut self, index: usize, stance: MechanismState, dispatch: &Dispatch<'_>) -> Estimate {
        let slot = self.slot_mut(index);
        match slot.turn {
            Some((from, trial)) if from == stance => trial,
            _ => {
                let trial = dispatch.try_from(stance, &slot.request);
                slot.turn = Some((stance, trial));
                trial
            }
        }
    }

    /// Sees to it that what is known of the turns from a slot on fits a mechanism that stands at `stance` before them.
    pub(super) fn mend_turns(&mut self, index: usize, mut stance: MechanismState, dispatch: &Dispatch<'_>) {
        for index in index..self.slots().len() {
            let slot = &self.slots()[index];
            match slot.turn {
                _ if slot.gone => {}
                Some((from, _)) if from != stance => stance = self.turn(index, stance, dispatch).to,
                // From here on nothing is known, or nothing changes.
                _ => return,
            }
        }
    }

    /// Where the mechanism stands before the turn of a slot; `first` before all of them.
    fn stance_before(&self, index: usize, first: MechanismState) -> MechanismState {
        let (before, _) = self.neighbour(index, false).unzip();
        before.and_then(|before| self.slots()[before].turn).map_or(first, |(_, trial)| trial.to)
    }

    /// Makes the turns up to a slot known.
    fn look_ahead(&mut self, index: usize, dispatch: &Dispatch<'_>) {
        // Those that are known come first, and a slot that is gone keeps what was known of it.
        let mut known = self.slots().partition_point(|slot| slot.turn.is_some());
        let mut stance = self.stance_before(known, dispatch.alone.to);
        while known <= index && known < self.slots().len() {
            if self.slots()[known].gone {
                self.slot_mut(known).turn = Some((stance, Estimate { to: stance, servicing_j: 0.0 }));
            } else {
                stance = self.turn(known, stance, dispatch).to;
            }
            known += 1;
        }
    }

    /// Joules for positioning, servo and data that it takes in all, beyond serving everything in turn, to serve now in the
    /// `way` given, together with the picked request, those of `ids` (rising), and the rest in turn.
    ///
    /// Both courses are followed until the mechanism stands at the same place in both, from where on they are the same. If that
    /// does not come about soon, the way from the one place to the other is added, and an about-face: a mechanism that always
    /// goes the nearest way may for a while pass everything the other way round.
    pub(super) fn excess_j(&mut self, dispatch: &Dispatch<'_>, way: &Estimate, ids: &[u64]) -> f64 {
        let mut excess_j = way.servicing_j - dispatch.alone.servicing_j;
        let (mut merged, mut in_turn) = (way.to, dispatch.alone.to);
        let (mut index, mut next, mut beyond) = (0, 0, 0);
        while index < self.slots().len() && beyond < MOST_BEYOND {
            if merged == in_turn {
                // All have been served in both courses, which are the same from here on.
                let Some(&id) = ids.get(next) else { return excess_j };
                let ahead = self.index_from(id).max(index);
                self.look_ahead(ahead, dispatch);
                in_turn = self.stance_before(ahead, dispatch.alone.to);
                (index, merged) = (ahead, in_turn);
            }
            let slot = &self.slots()[index];
            let (gone, request) = (slot.gone, slot.request);
            index += 1;
            if gone {
                continue;
            }
            self.look_ahead(index - 1, dispatch);
            let turn = self.turn(index - 1, in_turn, dispatch);
            if ids.get(next) == Some(&request.id) {
                excess_j -= turn.servicing_j;
                next += 1;
            } else {
                let trial = dispatch.try_from(merged, &request);
                excess_j += trial.servicing_j - turn.servicing_j;
                merged = trial.to;
            }
            in_turn = turn.to;
            beyond += usize::from(next == ids.len());
        }
        if merged == in_turn {
            return excess_j;
        }
        excess_j + dispatch.planner.move_j(merged, in_turn) + dispatch.about_face_j
    }

    /// Forgets requests that are served before their turn (`ids` rising), in a way that leaves the mechanism at `to`.
    pub(super) fn served_early(&mut self, dispatch: &Dispatch<'_>, to: MechanismState, ids: &[u64]) {
        for &id in ids {
            self.remove(id);
        }
        self.mend_turns(0, to, dispatch);
        for &id in ids {
            let index = self.index_from(id);
            self.mend_turns(index, self.stance_before(index, to), dispatch);
        }
    }
}
