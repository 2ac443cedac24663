//! LOOK: the elevator.

use super::lbn_order::{ByLbn, Candidate, Direction, LbnOrder, LbnPolicy};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;

/// LOOK in the list of policies.
pub const POLICY: Policy = Policy {
    name: "look",
    title: "LOOK",
    description: "Elevator: sweeps up and down the LBNs, and reverses at the last request ahead.",
    source: "Merten, Some quantitative techniques for file organization, University of Wisconsin 1970; \
             Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    default: SchedulerSpec::Look(Spec {}),
};

no_parameters! {
    /// Elevator over LBNs.
    PolicySpec: fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByLbn::new(Look { direction: Direction::Ascending }))
    }
}

/// The elevator: serves the nearest request ahead, and reverses if there is none.
///
/// Starts at LBN 0, ascending. The sweep continues from the block after the last dispatched request; a request that starts there is
/// ahead in either direction. Requests with equal first LBNs go by arrival.
#[derive(Clone)]
struct Look {
    direction: Direction,
}

impl LbnPolicy for Look {
    fn pick(&mut self, pending: &LbnOrder) -> Option<Candidate> {
        pending
            .ahead(self.direction)
            .or_else(|| pending.behind(self.direction).inspect(|_| self.direction = self.direction.reversed()))
    }
}
