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
