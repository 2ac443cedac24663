//! LOOK: the elevator.

use super::lbn_order::{Direction, LbnOrder};
use super::{keeps_pending, Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;
use crate::request::Request;
use crate::time::Time;

/// LOOK in the list of policies.
pub const POLICY: Policy = Policy {
    name: "look",
    title: "LOOK",
    description: "Elevator: sweeps the LBNs up and down in turn, turning round at the last request ahead.",
    source: "Merten, Some quantitative techniques for file organization, University of Wisconsin 1970; \
             Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    default: SchedulerSpec::Look(Spec {}),
};

no_parameters! {
    /// Elevator over LBNs.
    PolicySpec: fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(Look::new())
    }
}

/// The elevator: serves the nearest request ahead, and turns round when there is none.
///
/// Starts at LBN 0, ascending. The sweep is measured from the block after the last request dispatched; a request that
/// starts right there is ahead in either direction. Requests with equal first LBNs go by arrival.
#[derive(Clone)]
pub struct Look {
    pending: LbnOrder,
    direction: Direction,
}

impl Look {
    /// Nothing pending, the head at LBN 0.
    const fn new() -> Self {
        Self { pending: LbnOrder::new(), direction: Direction::Ascending }
    }
}

impl Scheduler for Look {
    keeps_pending!(by_lbn);

    fn pop(&mut self, _now: Time, _device: &dyn Mechanism) -> Option<Request> {
        let next = self
            .pending
            .ahead(self.direction)
            .or_else(|| self.pending.behind(self.direction).inspect(|_| self.direction = self.direction.reversed()))?;
        Some(self.pending.dispatch(next))
    }
}
