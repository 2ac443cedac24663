//! Assembly of a drive: a component for each sled of its device, and one over them if there are several.

use crate::devices::disk::DiskDevice;
use crate::devices::mems::{ladder as mems_ladder, MemsDevice, MemsParameters, SledLayout};
use crate::devices::simple::SimpleDevice;
use crate::devices::{Dimensions, Mechanism};
use crate::engine::random::Stream;
use crate::engine::{Component, ComponentId, System};
use crate::fault::{Fault, Faults, Kind, Path};
use crate::hierarchy::array::{ArraySpec, Level, RedundantArray};
use crate::hierarchy::faulty::{FaultSpec, Faulty};
use crate::hierarchy::{Child, Drive, Spread, SpreadLayout};
use crate::limits::CYLINDERS;
use crate::plugin::{Choice, CustomDevice, Factory, PluginSpec, SpinDownAdaptor};
use crate::power::SpinDownSpec;
use crate::scenario::specs::scenario::{DeviceSpec, DriveSpec};

/// An assembled drive.
pub(super) struct Built {
    /// The components of its mechanisms, and the component over them if there are several.
    pub ids: Vec<ComponentId>,
    /// Command processing time before a request may be scheduled, ns.
    pub overhead_ns: u64,
}

/// A new mechanism of each drive specification in a system, without a custom spin-down policy. Further equal drives get
/// clones, which share its tables.
#[derive(Default)]
pub(super) struct Mechanisms<'a> {
    /// By drive, and by index of the sled if sleds differ.
    kinds: Vec<(&'a DriveSpec, u32, Box<dyn Mechanism>)>,
    /// For all drives.
    cylinders: u64,
}

impl<'a> Mechanisms<'a> {
    /// Returns a new mechanism of a drive. `sled` is the index of the sled if sleds differ.
    fn another(&mut self, drive: &'a DriveSpec, sled: u32) -> Result<Box<dyn Mechanism>, Fault> {
        let differ = matches!(&drive.device, DeviceSpec::Mems(parameters) if parameters.sleds_differ());
        let sled = if differ { sled } else { 0 };
        let listed = |each: &'a DriveSpec| each.spin_down.as_ref().and_then(Choice::built_in);
        let of = |each: &'a DriveSpec, sled: u32| (&each.device, listed(each), each.subsector, sled);
        if let Some((.., device)) = self.kinds.iter().rev().find(|(spec, known, _)| of(spec, *known) == of(drive, sled))
        {
            return Ok(device.clone());
        }
        let device = mechanism(drive, listed(drive), sled)?;
        self.kinds.push((drive, sled, device.clone()));
        Ok(device)
    }
}

/// Adds a drive to a system. A device of several sleds has a queue for each. `random` returns the random numbers of a sled. Returns `None`
/// for a drive with a custom policy that has not been loaded.
///
/// # Errors
/// Parameters contradict each other.
pub(super) fn add<'a>(
    system: &mut System,
    drive: &'a DriveSpec,
    known: &mut Mechanisms<'a>,
    random: impl Fn(u32) -> Stream,
) -> Result<Option<Built>, Faults> {
    let policy = check_policy(&drive.device, drive.spin_down.as_ref().map(Choice::name));
    let mut first = None;
    Faults::of_all([
        first_sled(drive, policy.is_ok(), known).map(|device| first = device),
        policy,
        check_delay(drive),
        check_actuators(drive),
    ])?;
    if has_unloaded(drive) {
        return Ok(None);
    }
    let mut mechanisms = Vec::new();
    let mut overhead_ns = 0;
    for sled in 0..drive.device.mechanisms() {
        let mut device = first.take().map_or_else(|| known.another(drive, sled), Ok)?;
        device.set_random(random(sled));
        known.cylinders += u64::from(device.dimensions().cylinders);
        check_cylinders(known.cylinders)?;
        if let Some(policy) = drive.spin_down.as_ref().and_then(Choice::custom) {
            device = with_custom_spin_down(drive, device, policy)?;
        }
        overhead_ns = device.dimensions().command_overhead_ns;
        let scheduler = drive.scheduler.build(device.as_ref()).map_err(|fault| fault.of_key("scheduler"))?;
        let mut mechanism = Drive::new(device, scheduler, drive.batch_max as usize);
        if let Some(merge) = drive.merge {
            mechanism = mechanism.merging(merge);
        }
        if let Some(delay) = &drive.delayed_startup {
            mechanism = mechanism.with_delayed_startup(delay);
        }
        if let Some(anticipation) = drive.anticipation {
            mechanism = mechanism.with_anticipation(anticipation);
        }
        let has_custom_spin_down = drive.spin_down.as_ref().is_some_and(|policy| policy.custom().is_some());
        if drive.device.custom().is_some() || drive.scheduler.custom().is_some() || has_custom_spin_down {
            mechanism = mechanism.by_events();
        }
        if system.has_checks() {
            mechanism = mechanism.checked();
        }
        mechanisms.push(system.add(Box::new(mechanism), &[]));
    }
    let mut ids = mechanisms.clone();
    if matches!(drive.device, DeviceSpec::Disk(_)) && mechanisms.len() > 1 {
        system.share_spindle(&mechanisms);
        let actuator = system.component(mechanisms[0]);
        let (blocks, block_bytes) = (actuator.capacity_blocks(), actuator.block_bytes());
        let joined = Spread::new(mechanisms.clone(), SpreadLayout::Split, 1, blocks, block_bytes);
        ids.push(system.add(Box::new(joined), &mechanisms));
    }
    if let DeviceSpec::Mems(parameters) = &drive.device {
        let sleds = fail_sleds(system, &mechanisms, parameters)?;
        ids.extend(sleds.iter().filter(|sled| !mechanisms.contains(sled)));
        if sleds.len() > 1 {
            let joined = join_sleds(system, &sleds, parameters, drive.subsector)?;
            ids.push(system.add(joined, &sleds));
        }
    }
    Ok(Some(Built { ids, overhead_ns }))
}

/// Returns true if a custom policy of a drive has not been loaded.
fn has_unloaded(drive: &DriveSpec) -> bool {
    let spin_down = drive.spin_down.as_ref().and_then(Choice::custom);
    [drive.device.custom(), drive.scheduler.custom(), spin_down].into_iter().flatten().any(|plugin| !plugin.is_loaded())
}

/// Returns the first sled of a drive after checks; `None` for a custom mechanism that has not been loaded.
fn first_sled<'a>(
    drive: &'a DriveSpec,
    has_policy: bool,
    known: &mut Mechanisms<'a>,
) -> Result<Option<Box<dyn Mechanism>>, Fault> {
    if drive.device.custom().is_some_and(|plugin| !plugin.is_loaded()) {
        return Ok(None);
    }
    // A spin-down policy that does not fit the device is reported separately.
    let device = if has_policy { known.another(drive, 0)? } else { mechanism(drive, None, 0)? };
    let Dimensions { cylinders, capacity_blocks, .. } = device.dimensions();
    check_cylinders(u64::from(cylinders) * u64::from(drive.device.mechanisms()))?;
    if let DeviceSpec::Mems(parameters) = &drive.device {
        if let Some(entry) = parameters.failed_sleds.iter().position(|&number| number >= parameters.sleds) {
            return Err(no_sled(parameters, entry));
        }
        let (unit, sled) = (parameters.stripe_blocks, capacity_blocks);
        let (several, layout) = (parameters.sleds > 1, parameters.sled_layout);
        if several && matches!(layout, SledLayout::Striped | SledLayout::Parity) && u64::from(unit) > sled {
            return Err(
                Fault::misfit("device.stripe_blocks", unit).says(format!(" exceeds the {sled} blocks of a sled"))
            );
        }
        if layout == SledLayout::Parity && parameters.sleds < 3 {
            return Err(Fault::misfit("device.sled_layout", "parity")
                .says(" takes three sleds at least: raise ")
                .option("device.sleds")
                .says(", or take ")
                .set("device.sled_layout", "mirrored"));
        }
    }
    Ok(Some(device))
}

/// Checks the number of cylinders before tables are allocated for them.
fn check_cylinders(cylinders: u64) -> Result<(), Fault> {
    if cylinders <= CYLINDERS.most {
        return Ok(());
    }
    let says = format!(": with it, the drives of the system have {cylinders} cylinders, more than {}", CYLINDERS.most);
    Err(Fault::at(Kind::Misfit, "device").says(says))
}

/// Checks that a drive does not have both batches and merging.
///
/// # Errors
/// It has both. Such a drive can be built nevertheless.
pub(super) fn check_merge(drive: &DriveSpec) -> Result<(), Fault> {
    if drive.merge.is_none() || drive.batch_max <= 1 {
        return Ok(());
    }
    Err(Fault::conflict("batch_max", drive.batch_max)
        .says(" and ")
        .key("merge")
        .says(" exclude each other: leave one out; merge with ")
        .key_is("merge.rows", true)
        .says(", ")
        .key_is("merge.anywhere", true)
        .says(" and ")
        .key_is("merge.requests", drive.batch_max)
        .says(" lets the same requests join"))
}

/// Builds one mechanism of a device.
///
/// # Errors
/// Parameters contradict each other.
pub fn device(spec: &DeviceSpec) -> Result<Box<dyn Mechanism>, Fault> {
    build(spec, None, 0)
}

/// Checks that a device with a spin-down policy has idle modes that save power.
///
/// # Errors
/// The powers of the device are unknown, or a stopped sled takes more power than a moving one.
fn check_policy(spec: &DeviceSpec, spin_down: Option<&str>) -> Result<(), Fault> {
    match (spin_down, spec) {
        (Some(policy), _) if !spec.has_powers() => Err(Fault::conflict("spin_down", policy)
            .says(format!(": {} has no idle modes whose powers are known: leave out ", spec.name()))
            .key("spin_down")
            .says(", give ")
            .key("device.power")
            .says(", or take a device that has it (every MEMS device does)")),
        (Some(_), DeviceSpec::Mems(parameters)) => match mems_ladder(parameters, 0) {
            Ok(_) => Ok(()),
            Err(fault) => Err(fault.within("device").says(", or leave out ").key("spin_down")),
        },
        _ => Ok(()),
    }
}

/// Checks that a device with delayed start-up has idle modes.
///
/// # Errors
/// The powers of the device are unknown.
fn check_delay(drive: &DriveSpec) -> Result<(), Fault> {
    if drive.delayed_startup.is_some() && !drive.device.has_powers() {
        let never = format!(
            ": {} never stops, having no idle modes whose powers are known: leave it out, or take a device that has them (every \
             MEMS device does)",
            drive.device.name()
        );
        return Err(Fault::at(Kind::Conflict, "delayed_startup").says(never));
    }
    Ok(())
}

/// Checks that what decides about the start-up of a drive sees all of its actuators.
///
/// # Errors
/// The drive has several actuators, and a custom spin-down policy or a delayed start-up, which see the requests of one.
fn check_actuators(drive: &DriveSpec) -> Result<(), Fault> {
    let count = match &drive.device {
        DeviceSpec::Disk(parameters) if parameters.actuator_ranges > 1 => parameters.actuator_ranges,
        _ => return Ok(()),
    };
    let key = match &drive.spin_down {
        _ if drive.delayed_startup.is_some() => "delayed_startup",
        Some(Choice::Custom(_)) => "spin_down",
        _ => return Ok(()),
    };
    let sees = format!(" decides for one actuator, but the {count} actuators of ");
    Err(Fault::at(Kind::Unsupported, key)
        .says(sees)
        .says(format!("{} start and stop together: leave it out, or take a drive with ", drive.device.name()))
        .key_is("device.actuator_ranges", 1))
}

/// Builds one mechanism of a device with a spin-down policy; without one it uses its own timeouts.
///
/// # Errors
/// Parameters contradict each other, or a device with a policy has no idle modes.
pub fn device_with(spec: &DeviceSpec, spin_down: Option<&SpinDownSpec>) -> Result<Box<dyn Mechanism>, Fault> {
    sled_with(spec, spin_down, 0)
}

/// Builds one mechanism of a drive's device with the drive's spin-down policy. `sled` is the index of the sled if sleds
/// differ.
fn mechanism(drive: &DriveSpec, spin_down: Option<&SpinDownSpec>, sled: u32) -> Result<Box<dyn Mechanism>, Fault> {
    let DeviceSpec::Mems(parameters) = &drive.device else {
        let device = sled_with(&drive.device, spin_down, sled)?;
        return if drive.subsector { Err(no_subsectors(drive)) } else { Ok(device) };
    };
    check_policy(&drive.device, spin_down.map(SpinDownSpec::name))?;
    let mut device = MemsDevice::with_spin_down(parameters, spin_down, sled).map_err(|fault| fault.within("device"))?;
    if drive.subsector && !device.access_subsectors() {
        return Err(no_subsectors(drive));
    }
    Ok(Box::new(device))
}

/// Returns the fault of a drive with `subsector` whose device can only access whole blocks.
fn no_subsectors(drive: &DriveSpec) -> Fault {
    let says = format!(
        ": {} can't access less than a block: leave it out, or take a MEMS device whose data pass in rows, without a code over \
         the tips of a block and without a buffer",
        drive.device.name()
    );
    Fault::conflict("subsector", true).says(says)
}

/// As above, for one sled of the drive.
fn sled_with(spec: &DeviceSpec, spin_down: Option<&SpinDownSpec>, sled: u32) -> Result<Box<dyn Mechanism>, Fault> {
    check_policy(spec, spin_down.map(SpinDownSpec::name))?;
    build(spec, spin_down, sled).map_err(|fault| fault.within("device"))
}

/// Faults have paths of the device's keys.
fn build(spec: &DeviceSpec, spin_down: Option<&SpinDownSpec>, sled: u32) -> Result<Box<dyn Mechanism>, Fault> {
    Ok(match spec {
        DeviceSpec::Mems(parameters) => Box::new(MemsDevice::with_spin_down(parameters, spin_down, sled)?),
        DeviceSpec::Disk(parameters) => Box::new(DiskDevice::new(parameters)?.with_spin_down(spin_down)),
        DeviceSpec::SimplediskConstant(parameters) => {
            Box::new(SimpleDevice::constant(parameters)?.with_spin_down(spin_down))
        }
        DeviceSpec::SimplediskLinear(parameters) => {
            Box::new(SimpleDevice::linear(parameters)?.with_spin_down(spin_down))
        }
        DeviceSpec::Custom(parameters) => {
            // A fault without a path concerns the plugin as a whole.
            let with_key = |fault: Fault| match fault.location.path.is_empty() {
                true => fault.of_key(parameters.plugin.location_key()),
                false => fault,
            };
            let mechanism = parameters.plugin.factory().and_then(Factory::mechanism).map_err(with_key)?;
            let device = CustomDevice::new(mechanism, parameters.power.as_ref()).map_err(with_key)?;
            Box::new(device.with_spin_down(spin_down))
        }
    })
}

/// Puts a custom spin-down policy on a new mechanism of a drive.
///
/// # Errors
/// The policy can't be created, or the device has no idle modes.
fn with_custom_spin_down(
    drive: &DriveSpec,
    device: Box<dyn Mechanism>,
    policy: &PluginSpec,
) -> Result<Box<dyn Mechanism>, Fault> {
    check_policy(&drive.device, Some(policy.title()))?;
    let policy = policy.factory().and_then(|factory| factory.spin_down()).map_err(|fault| fault.of_key("spin_down"))?;
    Ok(Box::new(SpinDownAdaptor::new(device, policy)))
}

/// Returns the fault of an entry of `failed_sleds` that is not a sled of the device.
fn no_sled(parameters: &MemsParameters, entry: usize) -> Fault {
    let key = Path::from("device").step("failed_sleds").step(entry);
    let says = format!(": the device has {} sleds, from 0 on", parameters.sleds);
    Fault::misfit(key, parameters.failed_sleds[entry]).says(says)
}

/// Returns the sleds of a device. Failed sleds are wrapped in a component that fails their requests.
fn fail_sleds(
    system: &mut System,
    mechanisms: &[ComponentId],
    parameters: &MemsParameters,
) -> Result<Vec<ComponentId>, Fault> {
    let mut sleds = mechanisms.to_vec();
    let at_once = FaultSpec { fails_at_s: Some(0.0), ..FaultSpec::default() };
    for (entry, &number) in parameters.failed_sleds.iter().enumerate() {
        let Some(sled) = sleds.get_mut(number as usize) else { return Err(no_sled(parameters, entry)) };
        // Without latent errors, no random numbers are drawn.
        let faulty = Faulty::new(Child::of(system, *sled), &at_once, &mut Stream::new(0, "a sled that has failed"))?;
        *sled = system.add(Box::new(faulty), &[*sled]);
    }
    Ok(sleds)
}

/// Returns the component that combines several sleds into a device.
fn join_sleds(
    system: &System,
    sleds: &[ComponentId],
    parameters: &MemsParameters,
    subsector: bool,
) -> Result<Box<dyn Component>, Fault> {
    let sizes: Vec<(u64, u32)> = sleds
        .iter()
        .map(|&sled| (system.component(sled).capacity_blocks(), system.component(sled).block_bytes()))
        .collect();
    let (capacity_blocks, block_bytes) = sizes[0];
    let unit_blocks = u64::from(parameters.stripe_blocks);
    let spread = |layout| {
        let spread = Spread::new(sleds.to_vec(), layout, unit_blocks, capacity_blocks, block_bytes);
        if subsector {
            spread.needed_only()
        } else {
            spread
        }
    };
    let array = |level, spec| RedundantArray::new(level, sleds.to_vec(), &sizes, &spec);
    let unit_bytes = Some(unit_blocks * u64::from(block_bytes));
    Ok(match parameters.sled_layout {
        SledLayout::Split => Box::new(spread(SpreadLayout::Split)),
        SledLayout::Striped => Box::new(spread(SpreadLayout::Striped)),
        SledLayout::Mirrored => Box::new(array(Level::Mirror, ArraySpec::default())?),
        SledLayout::Parity => Box::new(array(Level::Raid5, ArraySpec { unit_bytes, ..ArraySpec::default() })?),
    })
}
