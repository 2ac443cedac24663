//! SPTF: shortest positioning time first.

use super::arrival_list::Key;
use super::cylinder_index::{ByCylinder, CylinderIndex, CylinderPolicy, Span};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;
use crate::time::Time;

/// SPTF in the list of policies.
pub const POLICY: Policy = Policy {
    name: "sptf",
    title: "SPTF",
    description: "Shortest positioning time first, computed by the device.",
    source: "Seltzer, Chen and Ousterhout, Disk scheduling revisited, USENIX Winter 1990; \
             Jacobson and Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7, 1991",
    default: SchedulerSpec::Sptf(Spec {}),
};

no_parameters! {
    /// Shortest positioning time first.
    PolicySpec: fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByCylinder::new(Sptf { all: Span::all(device) }, device))
    }
}

/// Shortest positioning time first: serves the request with the shortest [`Mechanism::positioning_ns`]; ties go by arrival.
///
/// It picks the same request as an exhaustive search, but computes few positioning times: it goes outwards from the mechanism's cylinder,
/// skips requests that pass under a head too late, and stops when [`Mechanism::cylinder_bound_ns`] exceeds the best time.
#[derive(Clone)]
struct Sptf {
    all: Span,
}

impl CylinderPolicy for Sptf {
    fn pick(&mut self, pending: &CylinderIndex, now: Time, device: &dyn Mechanism) -> Option<Key> {
        pending.nearest(self.all, now, device)
    }
}
