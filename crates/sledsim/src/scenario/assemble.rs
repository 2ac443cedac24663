//! From a scenario to its running parts.

use std::collections::BTreeMap;
use std::path::Path;

use super::spec::{DeviceSpec, DriveSpec, Scenario, SystemSpec, TraceSpec, WorkloadSpec};
use crate::devices::disk::DiskDevice;
use crate::devices::mems::{ladder as mems_ladder, MemsDevice, MemsParameters, SledLayout};
use crate::devices::simple::SimpleDevice;
use crate::devices::Device;
use crate::engine::{Completion, ComponentId, Limits, Next, System, Workload, WorkloadError};
use crate::hierarchy::{Drive, Spread, SpreadLayout};
use crate::power::SpinDownSpec;
use crate::request::Request;
use crate::schedulers;
use crate::service::Service;
use crate::time::{s_to_ns, Time};
use crate::traces::{ColumnMap, ColumnRef, LengthUnit, TimeUnit, TraceFormat, TraceOptions};
use crate::workloads::{Mix, Replay, ReplayOptions, Synthetic};

/// A system put together, with what the report needs to know of it.
pub(super) struct Assembly {
    pub system: System,
    pub components: Vec<ComponentId>,
    pub overhead_ns: u64,
    pub capacity_blocks: u64,
    pub block_bytes: u32,
}

/// Builds the system of a scenario.
pub(super) fn system(spec: &SystemSpec) -> Result<Assembly, String> {
    let SystemSpec::Drive(drive) = spec;
    check_delay(drive)?;
    let mut system = System::default();
    let mut mechanisms = Vec::new();
    let mut overhead_ns = 0;
    for _ in 0..drive.device.mechanisms() {
        let mut device = device_with(&drive.device, drive.spin_down.as_ref())?;
        set_access(drive, device.as_mut())?;
        overhead_ns = device.command_overhead_ns();
        let scheduler = schedulers::build(&drive.scheduler, device.as_ref());
        let mut mechanism = Drive::new(device, scheduler, drive.batch_max as usize);
        if let Some(merge) = drive.merge {
            mechanism = mechanism.merging(merge);
        }
        if let Some(delay) = &drive.delayed_startup {
            mechanism = mechanism.with_delayed_startup(delay);
        }
        mechanisms.push(system.add(Box::new(mechanism), &[]));
    }
    let mut components = mechanisms.clone();
    if let (DeviceSpec::Mems(parameters), true) = (&drive.device, mechanisms.len() > 1) {
        let spread = spread(&system, &mechanisms, parameters);
        let spread = if drive.subsector { spread.needed_only() } else { spread };
        components.push(system.add(Box::new(spread), &mechanisms));
    }
    let root = system.component(system.root());
    let (capacity_blocks, block_bytes) = (root.capacity_blocks(), root.block_bytes());
    Ok(Assembly { system, components, overhead_ns, capacity_blocks, block_bytes })
}

/// Builds one mechanism of a device.
///
/// # Errors
/// Parameters that contradict each other: says which.
pub fn device(spec: &DeviceSpec) -> Result<Box<dyn Device>, String> {
    device_with(spec, None)
}

/// Checks that a spin-down policy has idle modes to choose from, and something to save.
///
/// # Errors
/// It has none: the powers of the device are not known, or a stopped sled takes more than one that moves.
pub(super) fn check_policy(spec: &DeviceSpec, spin_down: Option<&SpinDownSpec>) -> Result<(), String> {
    match (spin_down, spec) {
        (Some(policy), _) if !spec.has_powers() => Err(format!(
            "system.spin_down = {:?}: {} has no idle modes whose powers are known: leave out spin_down, give the device's \
             power, or take a device that has it (every MEMS device does)",
            policy.name(),
            spec.name()
        )),
        (Some(_), DeviceSpec::Mems(parameters)) => match mems_ladder(parameters, 0) {
            Ok(_) => Ok(()),
            Err(reason) => Err(format!("system.device.{reason}, or leave out system.spin_down")),
        },
        _ => Ok(()),
    }
}

/// Checks that a device whose start-up is to be delayed ever stops.
///
/// # Errors
/// It does not: the powers of the device are not known.
pub(super) fn check_delay(drive: &DriveSpec) -> Result<(), String> {
    if drive.delayed_startup.is_some() && !drive.device.has_powers() {
        return Err(format!(
            "system.delayed_startup: {} never stops, having no idle modes whose powers are known: leave out delayed_startup, \
             or take a device that has them (every MEMS device does)",
            drive.device.name()
        ));
    }
    Ok(())
}

/// Builds one mechanism of a device that stops when `spin_down` says; when its own times say without one.
///
/// # Errors
/// Parameters that contradict each other: says which. A policy for a device that has no idle modes.
pub fn device_with(spec: &DeviceSpec, spin_down: Option<&SpinDownSpec>) -> Result<Box<dyn Device>, String> {
    check_policy(spec, spin_down)?;
    Ok(match spec {
        DeviceSpec::Mems(parameters) => Box::new(MemsDevice::with_spin_down(parameters, spin_down)?),
        DeviceSpec::Disk(parameters) => Box::new(DiskDevice::new(parameters)?.with_spin_down(spin_down)),
        DeviceSpec::SimplediskConstant(parameters) => {
            Box::new(SimpleDevice::constant(parameters)?.with_spin_down(spin_down))
        }
        DeviceSpec::SimplediskLinear(parameters) => {
            Box::new(SimpleDevice::linear(parameters)?.with_spin_down(spin_down))
        }
    })
}

/// Lets `device` access less than a block if the drive is to.
///
/// # Errors
/// It can't.
pub(super) fn set_access(drive: &DriveSpec, device: &mut dyn Device) -> Result<(), String> {
    if drive.subsector && !device.access_subsectors() {
        return Err(format!(
            "system.subsector = true: {} can't access less than a block: leave out subsector, or take a MEMS device",
            drive.device.name()
        ));
    }
    Ok(())
}

fn spread(system: &System, sleds: &[ComponentId], parameters: &MemsParameters) -> Spread {
    let layout = match parameters.sled_layout {
        SledLayout::Split => SpreadLayout::Split,
        SledLayout::Striped => SpreadLayout::Striped,
    };
    let sled = system.component(sleds[0]);
    let unit_blocks = u64::from(parameters.stripe_blocks);
    Spread::new(sleds.to_vec(), layout, unit_blocks, sled.capacity_blocks(), sled.block_bytes())
}

/// The workload of a scenario.
pub(super) enum AnyWorkload {
    Synthetic(Box<Synthetic>),
    Mix(Box<Mix>),
    Replay(Box<Replay>),
}

impl AnyWorkload {
    /// Bad trace records skipped.
    pub fn skipped(&self) -> u64 {
        match self {
            Self::Synthetic(_) | Self::Mix(_) => 0,
            Self::Replay(replay) => replay.skipped(),
        }
    }
}

impl Workload for AnyWorkload {
    #[inline]
    fn peek(&mut self) -> Result<Next, WorkloadError> {
        match self {
            Self::Synthetic(workload) => workload.peek(),
            Self::Mix(workload) => workload.peek(),
            Self::Replay(workload) => workload.peek(),
        }
    }

    #[inline]
    fn take(&mut self) -> Request {
        match self {
            Self::Synthetic(workload) => workload.take(),
            Self::Mix(workload) => workload.take(),
            Self::Replay(workload) => workload.take(),
        }
    }

    fn fraction_taken(&self) -> Option<f64> {
        match self {
            Self::Synthetic(workload) => workload.fraction_taken(),
            Self::Mix(workload) => workload.fraction_taken(),
            Self::Replay(workload) => workload.fraction_taken(),
        }
    }

    fn is_open(&self) -> bool {
        match self {
            Self::Synthetic(workload) => workload.is_open(),
            Self::Mix(workload) => workload.is_open(),
            Self::Replay(workload) => workload.is_open(),
        }
    }

    #[inline]
    fn completed(&mut self, request: &Request, service: &Service) {
        match self {
            Self::Synthetic(workload) => workload.completed(request, service),
            Self::Mix(workload) => workload.completed(request, service),
            Self::Replay(workload) => workload.completed(request, service),
        }
    }
}

/// Builds the workload of a scenario for a system of that size.
pub(super) fn workload(scenario: &Scenario, assembly: &Assembly) -> Result<AnyWorkload, WorkloadError> {
    let (capacity, block_bytes) = (assembly.capacity_blocks, assembly.block_bytes);
    match &scenario.workload {
        WorkloadSpec::Synthetic(spec) => {
            Ok(AnyWorkload::Synthetic(Box::new(Synthetic::new(spec, scenario.seed, capacity, block_bytes)?)))
        }
        WorkloadSpec::Mix(spec) => {
            Ok(AnyWorkload::Mix(Box::new(Mix::new(spec, scenario.seed, capacity, block_bytes)?)))
        }
        WorkloadSpec::Trace(spec) => {
            let trace_options = trace_options(spec).map_err(|error| WorkloadError(format!("workload.{error}")))?;
            let options = ReplayOptions {
                mode: spec.mode,
                time_scale: spec.time_scale,
                outstanding: spec.outstanding,
                rebase: spec.rebase,
                start_ns: s_to_ns(spec.start_s),
                end_ns: spec.end_s.map(s_to_ns),
                first_record: spec.first_record,
                records: spec.records,
                devices: spec.devices.clone(),
                fit: spec.fit,
                repeat: spec.repeat,
                last_block: spec.last_block,
                metadata: spec.metadata,
                seed: scenario.seed,
            };
            let replay = Replay::new(Path::new(&spec.path), trace_options, options, capacity, block_bytes)?;
            Ok(AnyWorkload::Replay(Box::new(replay)))
        }
    }
}

/// Limits of a scenario's run.
pub(super) fn limits(scenario: &Scenario) -> Limits {
    Limits {
        requests: scenario.run.requests,
        until: scenario.run.time_s.map(|time_s| Time::from_ns(s_to_ns(time_s))),
        warmup_requests: scenario.run.warmup_requests,
        warmup: Time::from_ns(s_to_ns(scenario.run.warmup_s)),
    }
}

/// How to read the trace that `spec` names.
///
/// # Errors
/// An unknown format, or columns that make no sense.
pub fn trace_options(spec: &TraceSpec) -> Result<TraceOptions, String> {
    let format = match spec.format.as_str() {
        "auto" => None,
        name => Some(name.parse::<TraceFormat>().map_err(|error| format!("format: {error}"))?),
    };
    let columns = spec.columns.as_ref().map(column_map).transpose().map_err(|error| format!("columns: {error}"))?;
    Ok(TraceOptions {
        format,
        skip_bad: spec.skip_bad,
        columns,
        sector_bytes: spec.sector_bytes,
        ..TraceOptions::default()
    })
}

/// Columns of a CSV trace from names: `time`, `device`, `offset`, `bytes`, `op`, and the unit of time.
fn column_map(columns: &BTreeMap<String, String>) -> Result<ColumnMap, String> {
    const KNOWN: [&str; 7] = ["time", "time_unit", "device", "offset", "bytes", "op", "length_unit"];
    if let Some(unknown) = columns.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("unknown key {unknown:?}: {}", super::did_you_mean(unknown, KNOWN)));
    }
    let column = |key: &str, default: &str| {
        let name = columns.get(key).map_or(default, String::as_str);
        name.parse().map_or_else(|_| ColumnRef::Name(name.to_owned()), ColumnRef::Index)
    };
    let time_unit = match columns.get("time_unit").map(String::as_str) {
        None | Some("ns") => TimeUnit::Ns,
        Some("us") => TimeUnit::Us,
        Some("ms") => TimeUnit::Ms,
        Some("s") => TimeUnit::S,
        Some(other) => return Err(format!("time_unit = {other:?}: expected s, ms, us or ns")),
    };
    let length_unit = match columns.get("length_unit").map(String::as_str) {
        None | Some("bytes") => LengthUnit::Bytes,
        Some("sectors") => LengthUnit::Sectors,
        Some(other) => return Err(format!("length_unit = {other:?}: expected bytes or sectors")),
    };
    Ok(ColumnMap {
        time: column("time", "t_ns"),
        time_unit,
        device: columns.contains_key("device").then(|| column("device", "device")),
        offset: column("offset", "offset_bytes"),
        offset_unit: length_unit,
        length: column("bytes", "bytes"),
        length_unit,
        op: column("op", "op"),
        op_values: None,
    })
}

/// A completion is as large as it looks: it is copied on its way up.
const _: () = assert!(std::mem::size_of::<Completion>() <= 256);
