//! SPTF: shortest positioning time first.

use super::cylinder_index::{CylinderIndex, Span};
use super::{keeps_pending, Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::registry::no_parameters;
use crate::request::Request;
use crate::time::Time;

/// SPTF in the list of policies.
pub const POLICY: Policy = Policy {
    name: "sptf",
    title: "SPTF",
    description: "Shortest positioning time first, as the device itself would reckon it.",
    source: "Seltzer, Chen and Ousterhout, Disk scheduling revisited, USENIX Winter 1990; \
             Jacobson and Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7, 1991",
    default: SchedulerSpec::Sptf(Spec {}),
};

no_parameters! {
    /// Shortest positioning time first.
    PolicySpec: fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(Sptf::new(device.dimensions().cylinders))
    }
}

/// Shortest positioning time first: serves the request of least [`Mechanism::positioning_ns`]; ties go by arrival.
///
/// It decides as an exhaustive search would, but looks at few requests: it goes outwards from the cylinder of the
/// mechanism, leaves out what the platter brings round too late, and stops where [`Mechanism::cylinder_bound_ns`] exceeds
/// the best time found.
#[derive(Clone)]
pub struct Sptf {
    pending: CylinderIndex,
    all: Span,
}

impl Sptf {
    /// Nothing pending on a device of `cylinders`.
    #[must_use]
    pub fn new(cylinders: u32) -> Self {
        Self { pending: CylinderIndex::new(cylinders), all: Span { first: 0, last: cylinders.saturating_sub(1) } }
    }
}

impl Scheduler for Sptf {
    keeps_pending!(by_cylinder);

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        self.pending.take_nearest(self.all, now, device)
    }
}
