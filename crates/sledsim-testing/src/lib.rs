//! What several test programs and benchmarks share: random designs and loads, a test ground with planted bugs, the catalogue, and
//! the reference data.

pub mod disk_designs;
pub mod ground;
pub mod kinds;
pub mod mems_designs;
pub mod merging;
pub mod options;
pub mod planted;
pub mod powers;
pub mod replacement;
pub mod scenario_runs;
pub mod scenarios;
pub mod sled;
pub mod tiers;

use std::path::{Path, PathBuf};

/// The reference data at `rel`: below `SLEDSIM_REFERENCE`, or else below `shared` beside the repository.
///
/// Where there is none the caller skips; with `CI=true` its absence is a failure.
pub fn reference(rel: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SLEDSIM_REFERENCE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = root.join(rel);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing; set SLEDSIM_REFERENCE", path.display());
    println!("skipped: {} is missing; set SLEDSIM_REFERENCE to the reference data", path.display());
    None
}

/// Has a device within another say where things are, how far apart, and what was spent.
#[macro_export]
macro_rules! places_as {
    ($inner:ident) => {
        fn capacity_blocks(&self) -> u64 {
            self.$inner.capacity_blocks()
        }
        fn block_bytes(&self) -> u32 {
            self.$inner.block_bytes()
        }
        fn command_overhead_ns(&self) -> u64 {
            self.$inner.command_overhead_ns()
        }
        fn cylinders(&self) -> u32 {
            self.$inner.cylinders()
        }
        fn locate(&self, request: &::sledsim::request::Request) -> ::sledsim::devices::Location {
            self.$inner.locate(request)
        }
        fn coordinates_m(&self, location: ::sledsim::devices::Location) -> (f64, f64) {
            self.$inner.coordinates_m(location)
        }
        fn position_m(&self, now: ::sledsim::time::Time) -> (f64, f64) {
            self.$inner.position_m(now)
        }
        fn cylinder(&self, now: ::sledsim::time::Time) -> u32 {
            self.$inner.cylinder(now)
        }
        fn cylinder_bound_ns(&self, now: ::sledsim::time::Time, cylinder: u32) -> u64 {
            self.$inner.cylinder_bound_ns(now, cylinder)
        }
        fn angle(&self, location: ::sledsim::devices::Location) -> u64 {
            self.$inner.angle(location)
        }
        fn ledger(&self, now: ::sledsim::time::Time) -> ::sledsim::devices::EnergyLedger {
            self.$inner.ledger(now)
        }
    };
}
