//! Shared code of tests and benchmarks: random designs and loads, a test bed with faulty components, the catalogue, and the reference
//! data.

pub mod buggy_component;
pub mod disk_designs;
pub mod host;
pub mod kinds;
pub mod mems_designs;
pub mod merging;
pub mod options;
pub mod powers;
pub mod replacement;
pub mod scenario_runs;
pub mod scenarios;
pub mod sled;
pub mod test_bed;
pub mod tiers;

use std::path::{Path, PathBuf};

/// Returns the path of reference data: below `SLEDSIM_REFERENCE`, or else below `shared` beside the repository; `None` if there are none, and
/// the test is skipped.
///
/// # Panics
/// The data are missing, and `CI` is `true`.
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
