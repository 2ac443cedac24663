//! A drive: one device and its scheduler, with a component for each sled and one above them.

use crate::devices::disk::DiskDevice;
use crate::devices::mems::{ladder as mems_ladder, MemsDevice, MemsParameters, SledLayout};
use crate::devices::simple::SimpleDevice;
use crate::devices::Device;
use crate::engine::{ComponentId, System};
use crate::hierarchy::{Drive, Spread, SpreadLayout};
use crate::power::SpinDownSpec;
use crate::scenario::spec::{DeviceSpec, DriveSpec};
use crate::schedulers;

/// A drive put together.
pub(super) struct Built {
    /// Its mechanisms, and what is above them if they are several.
    pub ids: Vec<ComponentId>,
    /// Command processing before a request may be scheduled.
    pub overhead_ns: u64,
}

/// Adds a drive to a system.
///
/// # Errors
/// Parameters that contradict each other: says which, as if the drive were the whole `system`.
pub(super) fn add(system: &mut System, drive: &DriveSpec) -> Result<Built, String> {
    check_delay(drive)?;
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
        if system.checks_rules() {
            mechanism = mechanism.checked();
        }
        mechanisms.push(system.add(Box::new(mechanism), &[]));
    }
    let mut ids = mechanisms.clone();
    if let (DeviceSpec::Mems(parameters), true) = (&drive.device, mechanisms.len() > 1) {
        let spread = spread(system, &mechanisms, parameters);
        let spread = if drive.subsector { spread.needed_only() } else { spread };
        ids.push(system.add(Box::new(spread), &mechanisms));
    }
    Ok(Built { ids, overhead_ns })
}

/// Checks what takes more than one key of a drive to see.
///
/// # Errors
/// The first thing wrong, as if the drive were the whole `system`.
pub(super) fn check(drive: &DriveSpec) -> Result<(), String> {
    let mut device = device(&drive.device).map_err(|error| format!("system.device: {error}"))?;
    set_access(drive, device.as_mut())?;
    if let DeviceSpec::Mems(parameters) = &drive.device {
        let (unit, sled) = (parameters.stripe_blocks, device.capacity_blocks());
        if parameters.sleds > 1 && parameters.sled_layout == SledLayout::Striped && u64::from(unit) > sled {
            return Err(format!("system.device: stripe_blocks = {unit} exceeds the {sled} blocks of a sled"));
        }
    }
    check_policy(&drive.device, drive.spin_down.as_ref())?;
    check_delay(drive)?;
    if drive.merge.is_some() && drive.batch_max > 1 {
        return Err(format!(
            "system.batch_max = {} and system.merge exclude each other: leave one out; merge with rows = true, anywhere = true \
             and requests = {0} lets the same requests join",
            drive.batch_max
        ));
    }
    drive.scheduler.validate().map_err(|error| format!("system.scheduler: {error}"))
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
fn check_policy(spec: &DeviceSpec, spin_down: Option<&SpinDownSpec>) -> Result<(), String> {
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
fn check_delay(drive: &DriveSpec) -> Result<(), String> {
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
fn set_access(drive: &DriveSpec, device: &mut dyn Device) -> Result<(), String> {
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
