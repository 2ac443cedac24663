//! VSCAN(R): the continuum from SSTF to LOOK.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lbn_order::{ByLbn, Candidate, Direction, LbnOrder, LbnPolicy};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;

/// VSCAN(R) in the list of policies.
pub const POLICY: Policy = Policy {
    name: "vscan",
    title: "VSCAN(R)",
    description: "Shortest LBN distance first, with a penalty for a reversal: r = 0 is SSTF, r = 1 is LOOK.",
    source: "Geist and Daniel, A continuum of disk scheduling algorithms, ACM TOCS 5(1), 1987",
    default: SchedulerSpec::Vscan(Spec { r: default_r() }),
};

/// Returns the default of `r`: 0.2, between the bias for throughput (0) and the bias for fairness (1); an assumption.
#[must_use]
pub const fn default_r() -> f64 {
    0.2
}

/// VSCAN(R): shortest LBN distance, with a penalty for a reversal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Penalty for a reversal, as a fraction of the device's capacity: 0 is SSTF, 1 is LOOK.
    #[serde(default = "default_r")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub r: f64,
}

impl PolicySpec for Spec {
    fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler> {
        let reversal_penalty = self.r * device.dimensions().capacity_blocks as f64;
        Box::new(ByLbn::new(Vscan { direction: Direction::Ascending, reversal_penalty }))
    }
}

/// V(R) over LBNs: serves the request with the shortest effective distance.
///
/// | here | Geist and Daniel |
/// |---|---|
/// | `r`, 0 to 1 | R |
/// | capacity of the device in blocks | total number of cylinders |
/// | LBN distance from the block after the last dispatched request | distance in cylinders from the head |
///
/// The effective distance of a request ahead, in the direction of the sweep, is its distance. That of a request behind is its distance
/// plus R times the range; serving one reverses the sweep. Starts at LBN 0, ascending. A request exactly at the head is ahead. Equal
/// effective distances go by arrival.
#[derive(Clone)]
struct Vscan {
    direction: Direction,
    /// `r` times the capacity, in blocks.
    reversal_penalty: f64,
}

impl Vscan {
    /// Returns true if `ahead` has a shorter effective distance than `behind`.
    fn prefers_ahead(&self, pending: &LbnOrder, ahead: Candidate, behind: Candidate) -> bool {
        let ahead_blocks = pending.distance(ahead) as f64;
        let behind_blocks = pending.distance(behind) as f64 + self.reversal_penalty;
        ahead_blocks < behind_blocks || (ahead_blocks == behind_blocks && ahead.seq < behind.seq)
    }
}

impl LbnPolicy for Vscan {
    fn pick(&mut self, pending: &LbnOrder) -> Option<Candidate> {
        match (pending.ahead(self.direction), pending.behind(self.direction)) {
            (Some(ahead), Some(behind)) if self.prefers_ahead(pending, ahead, behind) => Some(ahead),
            (Some(ahead), None) => Some(ahead),
            (_, Some(behind)) => {
                self.direction = self.direction.reversed();
                Some(behind)
            }
            (None, None) => None,
        }
    }
}
