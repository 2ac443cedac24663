//! First come, first served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::plugin::{CustomScheduler, Factory, Parameters, Pending, Role, RustPlugin};
use sledsim::time::Time;

/// FCFS in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Scheduler,
    name: "mine-fcfs",
    title: "FCFS",
    description: "First come, first served.",
    source: "folklore",
    text: include_str!("fcfs.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

impl Factory for Spec {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Ok(Box::new(Fcfs))
    }
}

#[derive(Clone)]
struct Fcfs;

impl CustomScheduler for Fcfs {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    fn uses_positioning(&self) -> bool {
        false
    }

    fn pick(&mut self, _now: Time, _pending: &mut Pending) -> Result<usize, Stop> {
        Ok(0)
    }
}
