//! Shortest positioning time first, less a share of the time waited.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::plugin::{CustomScheduler, Factory, Parameters, Pending, Role, RustPlugin};
use sledsim::time::Time;

/// SPTF in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Scheduler,
    name: "mine-sptf",
    title: "SPTF",
    description: "Shortest positioning time first, less a share of the time waited.",
    source: "Worthington, Ganger and Patt, Scheduling algorithms for modern disk drives, SIGMETRICS 1994",
    text: include_str!("sptf.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Nanoseconds of positioning that a nanosecond of waiting makes up for: 0 is SPTF.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub weight: f64,
}

impl Factory for Spec {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Ok(Box::new(Sptf(*self)))
    }
}

#[derive(Clone)]
struct Sptf(Spec);

impl CustomScheduler for Sptf {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    fn pick(&mut self, _now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        let times = pending.positioning_ns.iter().zip(&pending.age_ns);
        let costs = times.map(|(&positioning_ns, &age_ns)| positioning_ns as f64 - self.0.weight * age_ns as f64);
        // Of equal ones the oldest.
        let least = costs.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other));
        Ok(least.map_or(0, |(row, _)| row))
    }
}
