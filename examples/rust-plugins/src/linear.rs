//! A device whose positioning time is linear in the distance from the block after the last one served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::plugin::{CustomMechanism, Factory, Parameters, Role, RustPlugin};
use sledsim::request::Request;
use sledsim::time::Time;

/// Simpledisk-linear in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Mechanism,
    name: "mine-linear",
    title: "Simpledisk-linear",
    description: "Positioning linear in the distance from the block after the last one served; transfer takes no time.",
    source: "Schlosser and Ganger, MEMS-based storage devices and standard disk interfaces, FAST 2004, section 5.3",
    text: include_str!("linear.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Blocks the device offers.
    #[schemars(range(min = 2, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Time of a request that continues the previous one.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub nearest_ms: f64,
    /// Time of a request as far from the previous one as the device is large.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub farthest_ms: f64,
}

impl Factory for Spec {
    fn mechanism(&self) -> Result<Box<dyn CustomMechanism>, Fault> {
        if self.farthest_ms < self.nearest_ms {
            return Err(Fault::conflict("farthest_ms", self.farthest_ms)
                .says(" is below ")
                .key_is("nearest_ms", self.nearest_ms));
        }
        Ok(Box::new(Linear { spec: *self, next_lbn: 0 }))
    }
}

#[derive(Clone)]
struct Linear {
    spec: Spec,
    /// The block after the last one served.
    next_lbn: u64,
}

impl CustomMechanism for Linear {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    fn capacity_blocks(&self) -> u64 {
        self.spec.capacity_blocks
    }

    fn positioning_ns(&mut self, _now: Time, lbn: u64, _read: bool) -> Result<u64, Stop> {
        let Spec { capacity_blocks, nearest_ms, farthest_ms } = self.spec;
        let ns_per_block = (farthest_ms - nearest_ms) * 1e6 / capacity_blocks as f64;
        let beyond_ns = (ns_per_block * lbn.abs_diff(self.next_lbn) as f64 + 0.5) as u64;
        Ok((nearest_ms * 1e6).round() as u64 + beyond_ns)
    }

    fn serve(&mut self, _now: Time, request: &Request) -> Result<u64, Stop> {
        self.next_lbn = request.end_lbn();
        Ok(0)
    }
}
