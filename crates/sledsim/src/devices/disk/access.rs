//! A disk drive as a device.

use super::DiskParameters;
use crate::devices::{Device, EnergyLedger, Location, Service};
use crate::request::Request;
use crate::time::Time;

/// A disk drive.
pub struct DiskDevice {}

impl DiskDevice {
    /// A drive of those parameters.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn new(_parameters: &DiskParameters) -> Result<Self, String> {
        Err("skeleton".into())
    }
}

impl Device for DiskDevice {
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
