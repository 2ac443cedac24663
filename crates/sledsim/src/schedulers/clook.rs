//! C-LOOK: the one-way elevator.

use super::lbn_order::{ByLbn, Candidate, Direction, LbnOrder, LbnPolicy};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;

/// C-LOOK in the list of policies.
pub const POLICY: Policy = Policy {
    name: "clook",
    title: "C-LOOK",
    description: "Cyclical LOOK: ascending LBNs, then again from the lowest.",
    source: "Merten, Some quantitative techniques for file organization, University of Wisconsin 1970; \
             Griffin et al., Modeling and scheduling of MEMS-based storage devices, CMU-CS-00-100, 1999, section 5.1",
    default: SchedulerSpec::Clook(Spec {}),
};

no_parameters! {
    /// Cyclical LOOK: ascending LBNs, then again from the lowest.
    PolicySpec: fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByLbn::new(Clook))
    }
}

/// The one-way elevator: serves the next higher LBN, or else the lowest.
///
/// Starts at LBN 0. The sweep continues from the block after the last dispatched request. Requests with equal first LBNs go by
/// arrival.
#[derive(Clone)]
struct Clook;

impl LbnPolicy for Clook {
    fn pick(&mut self, pending: &LbnOrder) -> Option<Candidate> {
        pending.ahead(Direction::Ascending).or_else(|| pending.lowest())
    }
}
