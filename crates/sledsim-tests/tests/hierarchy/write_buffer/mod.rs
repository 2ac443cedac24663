//! The MEMS write buffer: times of requests, data integrity through cleaning and power cuts, and detection of planted
//! bugs.

mod closed_forms;
mod content;
mod failures;
mod power_cuts;

use sledsim::devices::simple::{ConstantParameters, SimpleDevice};
use sledsim::engine::{ComponentId, Details, System};
use sledsim::hierarchy::{Child, Drive, WriteBuffer, WriteBufferCleanSpec, WriteBufferSpec};
use sledsim::scenario;
use sledsim::schedulers::{build, fcfs, SchedulerSpec};
use sledsim_testing::scenarios;

/// Access time of the MEMS device in these tests, ns.
const MEMS_NS: u64 = 100_000;
/// Access time of the disk in these tests, ns.
const DISK_NS: u64 = 1_000_000;
/// Blocks of the MEMS device and of the disk.
const MEMS_BLOCKS: u64 = 4096;
const DISK_BLOCKS: u64 = 100_000;

/// A drive with a constant access time.
fn constant(system: &mut System, access_ns: u64, capacity_blocks: u64) -> ComponentId {
    let access_ms = access_ns as f64 * 1e-6;
    let parameters =
        ConstantParameters { name: String::new(), block_bytes: 512, capacity_blocks, access_ms, power: None };
    let device = SimpleDevice::constant(&parameters).expect("a device");
    let scheduler = build(&fcfs::POLICY.default, &device);
    system.add(Box::new(Drive::new(Box::new(device), scheduler, 1)), &[])
}

/// A drive of the catalogue.
fn drive(system: &mut System, name: &str, scheduler: SchedulerSpec) -> ComponentId {
    let device = scenario::device(&scenarios::device_spec(name)).expect("a device");
    let scheduler = build(&scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
}

/// A write buffer over two components.
fn buffer(system: &mut System, spec: &WriteBufferSpec, mems: ComponentId, disk: ComponentId) -> ComponentId {
    let buffer = WriteBuffer::new(spec, Child::of(system, mems), Child::of(system, disk))
        .unwrap_or_else(|error| panic!("{error}"));
    system.add(Box::new(buffer), &[mems, disk])
}

/// A write buffer over devices with constant access times.
fn over_constant(spec: &WriteBufferSpec) -> System {
    let mut system = System::default();
    let mems = constant(&mut system, MEMS_NS, MEMS_BLOCKS);
    let disk = constant(&mut system, DISK_NS, DISK_BLOCKS);
    buffer(&mut system, spec, mems, disk);
    system
}

/// `logs` logs of `log_blocks` blocks, of which `together` are cleaned in one pass.
fn spec(logs: u64, log_blocks: u64, together: u64) -> WriteBufferSpec {
    WriteBufferSpec {
        mems_bytes: Some(logs * log_blocks * 512),
        log_bytes: log_blocks * 512,
        buffer_bytes: together * log_blocks * 512,
        clean: WriteBufferCleanSpec::default(),
    }
}

fn details(system: &System) -> Details {
    system.component(system.root()).details(system.now()).expect("a write buffer has details")
}

fn count(system: &System, name: &str) -> f64 {
    let counts = details(system).counts;
    counts.iter().find(|count| count.name == name).unwrap_or_else(|| panic!("{name}: {counts:?}")).value
}
