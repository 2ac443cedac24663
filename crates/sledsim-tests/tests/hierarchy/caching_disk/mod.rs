//! The caching disk with all combinations of its techniques: times, data integrity, and power cuts.

mod bounds;
mod bypass;
mod closed_forms;
mod contents;
mod cuts;
mod failures;
mod flush;
mod units;

use sledsim::devices::simple::ConstantParameters;
use sledsim::engine::{ComponentId, Details, System};
use sledsim::hierarchy::cache::replacement::ReplacementSpec;
use sledsim::hierarchy::{CachingDisk, CachingDiskSpec, CachingDiskUnitsSpec, Child, Drive};
use sledsim::scenario::{self, DeviceSpec};
use sledsim::schedulers::{build, fcfs, SchedulerSpec};
use sledsim_testing::scenarios;

/// Time of a MEMS access, ns.
pub const MEMS_NS: u64 = 100_000;
/// Time of a disk access, ns.
pub const DISK_NS: u64 = 700_000;
/// Size of a segment, blocks of 512 bytes.
pub const SEGMENT: u64 = 8;
/// Size of a segment whose header is read alone after a power cut.
pub const LARGE_SEGMENT: u64 = 128;

/// The techniques of combination 0 to 7: shortcut, immediate report, partial write.
pub fn techniques(combination: u32) -> CachingDiskSpec {
    let has = |bit: u32| combination >> bit & 1 == 1;
    CachingDiskSpec {
        segment_bytes: SEGMENT * 512,
        buffer_bytes: 5 * SEGMENT * 512,
        shortcut: has(0),
        immediate_report: has(1),
        partial_write: has(2),
        ..CachingDiskSpec::default()
    }
}

/// The same with units of a block and more, in regions of four segments.
pub fn units(spec: &CachingDiskSpec) -> CachingDiskSpec {
    let units = Some(CachingDiskUnitsSpec { least_bytes: 512, region_bytes: 4 * SEGMENT * 512 });
    CachingDiskSpec { units, ..spec.clone() }
}

/// A device with a constant access time.
pub fn add_constant(
    system: &mut System,
    capacity_blocks: u64,
    access_ns: u64,
    scheduler: &SchedulerSpec,
) -> ComponentId {
    let access_ms = access_ns as f64 / 1e6;
    let name = String::from("constant");
    let parameters = ConstantParameters { name, block_bytes: 512, capacity_blocks, access_ms, power: None };
    let device = scenario::device(&DeviceSpec::SimplediskConstant(parameters)).expect("a device");
    let scheduler = build(scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
}

/// A device of the catalogue.
pub fn add_drive(system: &mut System, name: &str, scheduler: &SchedulerSpec) -> ComponentId {
    let device = scenario::device(&scenarios::device_spec(name)).expect("a device");
    let scheduler = build(scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
}

/// A caching disk over two components.
pub fn add_caching_disk(system: &mut System, spec: &CachingDiskSpec, mems: ComponentId, disk: ComponentId) {
    let cache = CachingDisk::new(spec, Child::of(system, mems), Child::of(system, disk)).expect("a caching disk");
    system.add(Box::new(cache), &[mems, disk]);
}

/// A caching disk of `slots` segments over constant devices, with a disk whose last segment is short.
pub fn constant(spec: &CachingDiskSpec, slots: u64, segments: u64) -> System {
    let mut system = System::default();
    let mems = add_constant(&mut system, slots * (SEGMENT + 1), MEMS_NS, &fcfs::POLICY.default);
    let disk = add_constant(&mut system, segments * SEGMENT - 3, DISK_NS, &fcfs::POLICY.default);
    add_caching_disk(&mut system, spec, mems, disk);
    system
}

/// The counters and paths of the caching disk.
pub fn details(system: &System) -> Details {
    system.component(system.root()).details(system.now()).expect("it counts")
}

/// A counter of the caching disk.
pub fn count(system: &System, name: &str) -> f64 {
    let details = details(system);
    details.counts.iter().find(|count| count.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Every policy with its parameters.
pub fn policies() -> impl Iterator<Item = ReplacementSpec> {
    sledsim::hierarchy::cache::replacement::POLICIES.iter().map(|policy| policy.default)
}
