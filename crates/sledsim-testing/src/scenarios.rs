//! The catalogue, and scenarios from documents.

use std::path::{Path, PathBuf};

use serde_json::{json, Value};
use sledsim::devices::disk::DiskParameters;
use sledsim::devices::mems::{MemsParameters, Transfer};
use sledsim::hierarchy::cache::ram::RamCacheSpec;
use sledsim::scenario::{self, Catalog, DeviceSpec, Notation, Resolved, RunOutput, Scenario};
use sledsim::workloads::{ArrivalSpec, SyntheticSpec};

/// Returns the folder of the catalogue.
pub fn catalog_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sledsim/catalog")
}

/// Returns the catalogue.
pub fn catalog() -> Catalog {
    Catalog::new(vec![catalog_folder()])
}

/// Returns the names of the devices in the catalogue.
pub fn device_names() -> Vec<String> {
    let files = std::fs::read_dir(catalog_folder().join("devices")).expect("the catalogue has devices");
    let paths = files.map(|file| file.expect("a readable folder").path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// Resolves a document.
pub fn resolve(document: &Value) -> Result<Scenario, String> {
    resolve_in(document, Path::new("."))
}

/// Resolves a document whose files are relative to `base`.
pub fn resolve_in(document: &Value, base: &Path) -> Result<Scenario, String> {
    scenario::resolve(&document.to_string(), Notation::Json, "test", &[], &catalog(), base)
        .map(Resolved::into_scenario)
        .map_err(|error| error.to_string())
}

/// Resolves a valid document.
pub fn resolved(document: &Value) -> Scenario {
    resolve(document).unwrap_or_else(|error| panic!("{error}\n{document:#}"))
}

/// Returns a device of the catalogue.
pub fn device_spec(name: &str) -> DeviceSpec {
    let scenario = resolved(&json!({"workload": poisson(1.0), "system": {"device": name}}));
    scenario.system.into_drive().expect("a drive alone").device
}

/// Returns the parameters of a MEMS device of the catalogue.
pub fn mems_parameters(name: &str) -> MemsParameters {
    match device_spec(name) {
        DeviceSpec::Mems(parameters) => *parameters,
        other => panic!("{name} is no MEMS device: {other:?}"),
    }
}

/// Returns names and parameters of the MEMS devices in the catalogue with data in rows.
pub fn mems_devices() -> Vec<(String, MemsParameters)> {
    let devices = device_names().into_iter().filter_map(|name| match device_spec(&name) {
        DeviceSpec::Mems(parameters) if parameters.transfer == Transfer::Rows => Some((name, *parameters)),
        _ => None,
    });
    devices.collect()
}

/// Returns names and parameters of the disks in the catalogue; of a disk with several actuators, those of one of them.
pub fn disk_devices() -> Vec<(String, DiskParameters)> {
    let devices = device_names().into_iter().filter_map(|name| match device_spec(&name) {
        DeviceSpec::Disk(parameters) => {
            let actuator = parameters.of_one_actuator().unwrap_or_else(|fault| panic!("{name}: {fault}"));
            Some((name, actuator.into_owned()))
        }
        _ => None,
    });
    devices.collect()
}

/// Returns a workload of random 4 KB requests, two thirds of them reads.
pub fn poisson(rate_per_s: f64) -> Value {
    json!({"arrival": {"kind": "poisson", "rate_per_s": rate_per_s}, "read_fraction": 0.67})
}

/// Runs a scenario with a log of its requests.
pub fn run(scenario: &Scenario) -> RunOutput {
    try_run(scenario).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario with a log of its requests; its error as text.
pub fn try_run(scenario: &Scenario) -> Result<RunOutput, String> {
    scenario::run(scenario, Vec::new(), true, &mut |_| true).map_err(|error| error.to_string())
}

/// Returns a cache of a size, with defaults otherwise.
pub fn ram_cache(bytes: u64) -> RamCacheSpec {
    serde_json::from_value(json!({"bytes": bytes})).expect("a cache")
}

/// Returns a workload with an arrival process, with defaults otherwise.
pub fn arriving(arrival: &ArrivalSpec) -> SyntheticSpec {
    serde_json::from_value(json!({"arrival": arrival})).expect("a workload")
}
