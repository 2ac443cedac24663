//! ASPTF: aged shortest positioning time first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_list::Key;
use super::cylinder_index::{Arrival, Best, BoundedCylinder, ByCylinder, CylinderIndex, CylinderPolicy, Group, Span};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::Mechanism;
use crate::time::Time;

/// ASPTF in the list of policies.
pub const POLICY: Policy = Policy {
    name: "asptf",
    title: "ASPTF",
    description:
        "Aged SPTF: positioning time minus weight times waiting time; weight 0 is SPTF, a large weight is FCFS.",
    source: "Jacobson and Wilkes, Disk scheduling algorithms based on rotational position, HPL-CSP-91-7, 1991; \
             Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    default: SchedulerSpec::Asptf(Spec { weight: default_weight() }),
};

/// Returns the default of `weight`: 0.006, so that a second of waiting offsets 6 ms of positioning; an assumption.
#[must_use]
pub const fn default_weight() -> f64 {
    0.006
}

/// Aged SPTF: positioning time minus `weight` times waiting time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Positioning time that is offset by one unit of waiting time: 0 is SPTF, a large weight is FCFS.
    #[serde(default = "default_weight")]
    #[schemars(range(min = 0.0))]
    pub weight: f64,
}

impl PolicySpec for Spec {
    fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByCylinder::new(Asptf { all: Span::all(device), weight: self.weight }, device))
    }
}

/// Aged shortest positioning time first: serves the request with the shortest effective positioning time.
///
/// | here | Worthington, Ganger and Patt |
/// |---|---|
/// | `weight`, at least 0, a pure number | W |
/// | [`Mechanism::positioning_ns`] | T_pos |
/// | time since the request became ready | T_wait |
/// | positioning time minus `weight` times waiting time | T_eff |
///
/// Ties go by arrival. It picks the same request as an exhaustive search. The search alternates between requests by cylinder, outwards,
/// and requests by age, from the oldest. It stops when even a request with the shortest positioning time of the remaining cylinders and
/// the longest wait of the remaining requests would lose.
#[derive(Clone)]
struct Asptf {
    all: Span,
    /// Finite and at least 0.
    weight: f64,
}

impl Asptf {
    /// Returns the effective positioning time in nanoseconds. It never falls as the positioning time or `ready` grows, even after rounding,
    /// so that of a bound is a bound.
    fn effective_ns(&self, positioning_ns: u64, now: Time, ready: Time) -> f64 {
        positioning_ns as f64 - self.weight * now.saturating_since(ready) as f64
    }
}

impl CylinderPolicy for Asptf {
    fn pick(&mut self, pending: &CylinderIndex, now: Time, device: &dyn Mechanism) -> Option<Key> {
        let mut best = Best::default();
        let bound_ns = |_, cylinder| device.cylinder_bound_ns(now, cylinder);
        let cost_ns = |it: &Group| self.effective_ns(device.positioning_ns(now, it.location), now, it.ready);
        let platter = device.rotating().and_then(|rotating| rotating.platter(now));
        let by_cylinder = pending.outward(self.all, device.cylinder(now), bound_ns);
        // There are at least as many requests as occupied cylinders, so the iteration by age never ends first.
        for (BoundedCylinder { cylinder, bound: bound_ns }, Arrival { ready, group: aged }) in
            by_cylinder.zip(pending.arrivals())
        {
            if best.beats(self.effective_ns(bound_ns, now, ready)) {
                break;
            }
            // The bound of this request's cylinder is not known, but the rotation alone may exclude it.
            if !best.beats(self.effective_ns(aged.bound_ns(0, platter.as_ref()), now, aged.ready)) {
                best.offer(cost_ns(aged), aged);
            }
            for group in pending.groups(cylinder) {
                // Most groups are excluded by their bound, which is cheaper than the positioning time.
                let bound_ns = group.bound_ns(bound_ns, platter.as_ref());
                if !best.beats(self.effective_ns(bound_ns, now, group.ready)) {
                    best.offer(cost_ns(group), group);
                }
            }
        }
        best.key()
    }
}
