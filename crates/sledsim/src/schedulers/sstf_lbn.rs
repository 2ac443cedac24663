//! SSTF_LBN: shortest seek time first, as a host sees it.

use super::lbn_order::{Direction, LbnOrder};
use super::{keeps_pending, Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;
use crate::request::Request;
use crate::time::Time;

/// SSTF_LBN in the list of policies.
pub const POLICY: Policy = Policy {
    name: "sstf_lbn",
    title: "SSTF_LBN",
    description: "Shortest seek time first, the seek taken as the distance in LBNs from the last request.",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS Spring Joint Computer Conference 1967; \
             Griffin et al., Modeling and scheduling of MEMS-based storage devices, CMU-CS-00-100, 1999, section 5.1",
    default: SchedulerSpec::SstfLbn(Spec {}),
};

no_parameters! {
    /// Shortest seek time first, by LBN distance.
    PolicySpec: fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(SstfLbn::new())
    }
}

/// Shortest seek time first with the LBN distance for the seek time.
///
/// The distance is from the block after the last request dispatched (at first 0) to the first block of a request;
/// equal distances go by arrival.
#[derive(Clone)]
pub struct SstfLbn {
    pending: LbnOrder,
}

impl SstfLbn {
    /// Nothing pending, the head at LBN 0.
    const fn new() -> Self {
        Self { pending: LbnOrder::new() }
    }
}

impl Scheduler for SstfLbn {
    keeps_pending!(by_lbn);

    fn pop(&mut self, _now: Time, _device: &dyn Mechanism) -> Option<Request> {
        let above = self.pending.ahead(Direction::Ascending);
        let below = self.pending.behind(Direction::Ascending);
        let next = above.into_iter().chain(below).min_by_key(|&it| (self.pending.distance(it), it.seq))?;
        Some(self.pending.dispatch(next))
    }
}
