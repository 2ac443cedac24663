//! Devices without a mechanism: service times that are constant, or linear in the distance between requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::devices::{Device, EnergyLedger, Location, Service};
use crate::request::Request;
use crate::time::Time;

/// A device whose every request takes the same time: Simpledisk-constant (schlosser2004, section 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Size of a logical block.
    #[serde(default = "sector")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Blocks the device offers.
    #[schemars(range(min = 1, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Time of every request.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub access_ms: f64,
}

/// A device whose time is linear in the LBN distance from the block after the previous request: Simpledisk-linear
/// (schlosser2004, section 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Size of a logical block.
    #[serde(default = "sector")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Blocks the device offers.
    #[schemars(range(min = 2, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Time of a request next to the previous one.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub nearest_ms: f64,
    /// Time of a request at the other end of the device.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub farthest_ms: f64,
}

/// A device without a mechanism.
pub struct SimpleDevice {}

impl SimpleDevice {
    /// Every request takes the same time.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn constant(_parameters: &ConstantParameters) -> Result<Self, String> {
        Err("skeleton".into())
    }

    /// The time is linear in the distance.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn linear(_parameters: &LinearParameters) -> Result<Self, String> {
        Err("skeleton".into())
    }
}

impl Device for SimpleDevice {
    fn capacity_blocks(&self) -> u64 {
        unimplemented!()
    }
    fn block_bytes(&self) -> u32 {
        unimplemented!()
    }
    fn command_overhead_ns(&self) -> u64 {
        0
    }
    fn cylinders(&self) -> u32 {
        unimplemented!()
    }
    fn locate(&self, _request: &Request) -> Location {
        unimplemented!()
    }
    fn coordinates_m(&self, _location: Location) -> (f64, f64) {
        unimplemented!()
    }
    fn position_m(&self, _now: Time) -> (f64, f64) {
        unimplemented!()
    }
    fn cylinder(&self, _now: Time) -> u32 {
        unimplemented!()
    }
    fn cylinder_bound_ns(&self, _now: Time, _cylinder: u32) -> u64 {
        unimplemented!()
    }
    fn positioning_ns(&self, _now: Time, _location: Location) -> u64 {
        unimplemented!()
    }
    fn serve(&mut self, _now: Time, _request: &Request) -> Service {
        unimplemented!()
    }
    fn ledger(&self, _now: Time) -> EnergyLedger {
        unimplemented!()
    }
}

const fn sector() -> u32 {
    512
}
