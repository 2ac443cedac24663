//! The one-way elevator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::plugin::{CustomScheduler, Factory, Parameters, Pending, Role, RustPlugin};
use sledsim::time::Time;

/// C-LOOK in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Scheduler,
    name: "mine-clook",
    title: "C-LOOK",
    description: "Ascending LBNs from the block after the last dispatch on, then again from the lowest.",
    source: "Merten, Some quantitative techniques for file organization, University of Wisconsin 1970",
    text: include_str!("clook.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// It has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

impl Factory for Spec {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Ok(Box::new(Clook { head_lbn: 0 }))
    }
}

#[derive(Clone)]
struct Clook {
    /// The block after the last request dispatched.
    head_lbn: u64,
}

impl CustomScheduler for Clook {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    fn uses_positioning(&self) -> bool {
        false
    }

    fn pick(&mut self, _now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        // Whoever lies behind comes after all others; of several at one place the oldest is first.
        let rows = pending.lbn.iter().map(|&lbn| (lbn < self.head_lbn, lbn)).enumerate();
        let row = rows.min_by_key(|&(_, key)| key).map_or(0, |(row, _)| row);
        self.head_lbn = pending.lbn[row] + u64::from(pending.blocks[row]);
        Ok(row)
    }
}
