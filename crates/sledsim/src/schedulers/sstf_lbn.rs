//! SSTF_LBN: shortest seek time first, by LBN distance.

use super::lbn_order::{ByLbn, Candidate, Direction, LbnOrder, LbnPolicy};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;

/// SSTF_LBN in the list of policies.
pub const POLICY: Policy = Policy {
    name: "sstf_lbn",
    title: "SSTF_LBN",
    description: "Shortest seek time first, with the LBN distance from the last request as the seek time.",
    source: "Denning, Effects of scheduling on file memory operations, AFIPS Spring Joint Computer Conference 1967; \
             Griffin et al., Modeling and scheduling of MEMS-based storage devices, CMU-CS-00-100, 1999, section 5.1",
    default: SchedulerSpec::SstfLbn(Spec {}),
};

no_parameters! {
    /// Shortest seek time first, by LBN distance.
    PolicySpec: fn build(&self, _device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByLbn::new(SstfLbn))
    }
}

/// Shortest seek time first, with the LBN distance as the seek time.
///
/// The distance is from the block after the last dispatched request (at first 0) to the first block of a request; equal distances go
/// by arrival.
#[derive(Clone)]
struct SstfLbn;

impl LbnPolicy for SstfLbn {
    fn pick(&mut self, pending: &LbnOrder) -> Option<Candidate> {
        let above = pending.ahead(Direction::Ascending);
        let below = pending.behind(Direction::Ascending);
        above.into_iter().chain(below).min_by_key(|&it| (pending.distance(it), it.seq))
    }
}
