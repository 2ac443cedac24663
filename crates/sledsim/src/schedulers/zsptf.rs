//! ZSPTF: zone-based shortest positioning time first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_list::Key;
use super::cylinder_index::{ByCylinder, CylinderIndex, CylinderPolicy, Span};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::convert::to_u32;
use crate::devices::Mechanism;
use crate::time::Time;

/// ZSPTF in the list of policies.
pub const POLICY: Policy = Policy {
    name: "zsptf",
    title: "ZSPTF",
    description: "Zone-based SPTF: zones along X in cyclic order, SPTF within the zone; 1 zone is SPTF.",
    source: "Hong et al., Zone-based shortest positioning time first scheduling for MEMS-based storage devices, \
             MASCOTS 2003",
    default: SchedulerSpec::Zsptf(Spec { zones: default_zones() }),
};

/// Returns the default of `zones`: 25; an assumption.
#[must_use]
pub const fn default_zones() -> u32 {
    25
}

/// Zone-based SPTF: zones in cyclic order, SPTF within the zone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Number of zones along X: 1 is SPTF.
    #[serde(default = "default_zones")]
    #[schemars(range(min = 1))]
    pub zones: u32,
}

impl PolicySpec for Spec {
    fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByCylinder::new(Zsptf::new(self.zones, device.dimensions().cylinders), device))
    }
}

/// Zone-based SPTF: serves the requests of one zone by [SPTF](super::sptf), then those of the next zone.
///
/// The cylinders are divided into `zones` contiguous ranges whose sizes differ by at most one. Starts in the lowest zone. When the
/// current zone has nothing pending, the next higher zone with pending requests becomes current, after the highest the lowest again, as
/// in C-SCAN. A request that arrives in the current zone joins it, so a zone that never runs empty is never left. With more zones than
/// cylinders, each cylinder is a zone.
#[derive(Clone)]
struct Zsptf {
    cylinders: u32,
    zones: u32,
    current: Span,
}

impl Zsptf {
    /// Returns the policy for a device of `cylinders`; `zones` at least 1 (0 is taken as 1).
    fn new(zones: u32, cylinders: u32) -> Self {
        let cylinders = cylinders.max(1);
        let mut policy = Self { cylinders, zones: zones.clamp(1, cylinders), current: Span { first: 0, last: 0 } };
        policy.current = policy.zone_of(0);
        policy
    }

    /// Returns the cylinders of the zone that holds `cylinder`.
    fn zone_of(&self, cylinder: u32) -> Span {
        let (zones, cylinders) = (u64::from(self.zones), u64::from(self.cylinders));
        let zone = u64::from(cylinder) * zones / cylinders;
        // The first cylinder of zone z is the lowest c with floor(c * zones / cylinders) = z.
        let first_of = |zone: u64| to_u32((zone * cylinders).div_ceil(zones));
        Span { first: first_of(zone), last: first_of(zone + 1) - 1 }
    }
}

impl CylinderPolicy for Zsptf {
    fn pick(&mut self, pending: &CylinderIndex, now: Time, device: &dyn Mechanism) -> Option<Key> {
        // The search begins with the current zone.
        let next = pending.occupied_from(self.current.first).or_else(|| pending.occupied_from(0))?;
        self.current = self.zone_of(next);
        pending.nearest(self.current, now, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_partition_the_cylinders() {
        for cylinders in 1..40 {
            for zones in 1..45 {
                let policy = Zsptf::new(zones, cylinders);
                let mut next = 0;
                let mut count = 0;
                while next < cylinders {
                    let zone = policy.zone_of(next);
                    assert_eq!(zone.first, next);
                    assert!((zone.first..=zone.last).all(|it| policy.zone_of(it) == zone));
                    let size = zone.last - zone.first + 1;
                    assert!((cylinders / zones.min(cylinders)..=cylinders.div_ceil(zones)).contains(&size));
                    next = zone.last + 1;
                    count += 1;
                }
                assert_eq!((next, count), (cylinders, zones.min(cylinders)), "{cylinders} cylinders, {zones} zones");
            }
        }
    }
}
