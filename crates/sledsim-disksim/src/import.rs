//! Imports a device, or a scenario, from a parameter file.

use std::path::Path;

use serde_json::Value as Json;
use sledsim::devices::disk::Layout;
use sledsim::devices::Dimensions;
use sledsim::fault::{self, Faults};
use sledsim::scenario::{self, resolve, Catalog, DeviceSpec, Notation};

use super::block;
use super::disk;
use super::draft::{fault_at_source, table, Draft, Drafts, Origin};
use super::fault::{Fault, Place, Refusal};
use super::mems;
use super::overrides::Override;
use super::sources::Sources;
use super::syntax::{self, Block, Document};
use super::system::Route;
use super::workload::{self, DeviceSize};

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions<'a> {
    /// Name of the component or block of the device; required if there are several.
    pub device: Option<&'a str>,
    /// If true, the workload, the scheduler and the length of the run are imported, too.
    pub scenario: bool,
    /// If true, requests come from a session, and the workload of the files is ignored.
    pub driven: bool,
    /// Values that replace those in the files.
    pub overrides: &'a [Override],
}

/// A device read from a parameter file, and the scenario around it.
#[derive(Clone, Debug)]
pub struct Import {
    /// The device's name in the files.
    pub name: String,
    /// Name of the main file.
    pub file: String,
    /// The device.
    pub device: DeviceSpec,
    /// Its values, in the order in which they were found.
    pub entries: Vec<Entry>,
    /// Values of the scenario, if one was requested.
    pub settings: Vec<Entry>,
    /// Parameters that are not carried over, in the order of the files.
    pub notes: Vec<Note>,
    /// Number of components that are instances of the device's block.
    pub alike: usize,
}

/// A value of a device with its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value, in the key's unit.
    pub value: Json,
    /// The key's unit; empty if it has none.
    pub unit: String,
    /// The parameters that it comes from; empty if it is assumed.
    pub from: Vec<Source>,
    /// Kind of the source.
    pub origin: Origin,
    /// A remark.
    pub note: Option<String>,
}

/// A parameter in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the file.
    pub file: String,
    /// Line in it, from 1.
    pub line: u32,
    /// The parameter.
    pub parameter: String,
}

/// A parameter that is not carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Name of the file.
    pub file: String,
    /// Line in it, from 1.
    pub line: u32,
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Reason why it is not carried over.
    pub reason: String,
    /// True if it would change results.
    pub changes_results: bool,
    /// True if it decides the results of a scenario: a run has to accept that it is missing.
    pub decides: bool,
}

/// Imports the device of the parameter file at `path`, and the scenario around it if requested: a `.parv`, `.diskspecs` or other file that
/// contains a device, or includes a file that does.
///
/// # Errors
/// A file is missing or violates DiskSim's definitions, the device can't be carried over, or a scenario has no workload.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Import, Faults> {
    let mut sources = Sources::default();
    read(path, options, &mut sources).map_err(|refusal| sources.faults(refusal))
}

fn read(path: &Path, options: &ImportOptions, sources: &mut Sources) -> Result<Import, Refusal> {
    let mut document = syntax::read(sources, path)?;
    for value in options.overrides {
        document.apply(value)?;
    }
    let found: Vec<Fault> = document.blocks.iter().flat_map(block::faults).collect();
    if !found.is_empty() {
        return Err(Refusal(found));
    }
    let route = Route::find(&document, options.device)?;
    let mut drafts = Drafts::default();
    let mechanism = match route.device.kind.as_str() {
        "memsmodel_mems" => {
            mems::carry(route.device, &mut drafts)?;
            "mems"
        }
        "disksim_simpledisk" => {
            mems::carry_simple(route.device, &mut drafts)?;
            "simpledisk-constant"
        }
        "dm_disk" => {
            disk::carry_mechanics(route.device, sources, &mut drafts)?;
            "disk"
        }
        _ => {
            disk::carry(route.device, &route, sources, &mut drafts)?;
            "disk"
        }
    };
    route.remark(&document, &mut drafts);
    let device = device(mechanism, &route, &mut drafts)?;
    let mut settings = Vec::new();
    if options.scenario {
        let size = size(&device).map_err(|fault| Fault::of(route.device.place, fault))?;
        let values = std::mem::take(&mut drafts.values);
        if options.driven {
            workload::carry_driven(&document, &route, &mut drafts)?;
        } else {
            workload::carry(&document, &route, size, &mut drafts)?;
        }
        settings = std::mem::replace(&mut drafts.values, values);
    } else if route.device.get("Scheduler").is_some() {
        drafts.remark_all(route.device.block("Scheduler")?, "a scenario's scheduler takes its place", false);
    }
    remark_rest(&document, &route, options, &mut drafts);
    let mut import = finish(&route, device, drafts, &settings, sources);
    import.alike = document.made_of_block(&route.device.name).max(1);
    check_scenario(&import, &settings, options.driven, document.end)?;
    Ok(import)
}

/// Returns the size of a device.
fn size(device: &DeviceSpec) -> Result<DeviceSize, fault::Fault> {
    let mechanism = scenario::device(device)?;
    let Dimensions { capacity_blocks, block_bytes, .. } = mechanism.dimensions();
    Ok(DeviceSize { capacity_blocks: capacity_blocks * u64::from(device.mechanisms()), block_bytes })
}

/// Adds remarks on the blocks that are neither the device nor on the route to it.
fn remark_rest(document: &Document, route: &Route, options: &ImportOptions, drafts: &mut Drafts) {
    let ImportOptions { scenario, driven, .. } = *options;
    let is_used = |block: &Block| {
        let mut used = route.between.iter().copied().chain([route.device]);
        used.any(|used| std::ptr::eq(used, block))
    };
    let first = |kind: &str| document.blocks.iter().find(|block| block.kind == kind);
    for block in document.blocks.iter().filter(|block| !is_used(block)) {
        let is_carried = match block.kind.as_str() {
            "disksim_synthio" | "disksim_pf" if driven => false,
            "disksim_synthio" | "disksim_global" | "disksim_pf" => {
                scenario && first(&block.kind).is_some_and(|first| std::ptr::eq(first, block))
            }
            "disksim_iodriver" => scenario && route.driver.is_some_and(|driver| std::ptr::eq(driver, block)),
            _ => false,
        };
        match block.kind.as_str() {
            _ if is_carried => {}
            "disksim_synthio" | "disksim_pf" if driven => {
                drafts.remark_all(block, "requests come from outside", false);
            }
            "disksim_iodriver" | "disksim_synthio" | "disksim_global" | "disksim_pf" | "disksim_iosim" if !scenario => {
                drafts.remark_all(block, "belongs to a scenario, not to a device", false);
            }
            "disksim_logorg" => remark_organisation(block, drafts),
            "disksim_stats" | "disksim_syncset" | "disksim_iosim" => drafts.remark_unused_deep(block),
            _ => drafts.block(block, "is not on the way to the device", false),
        }
    }
}

/// Adds remarks on the organisation of data over several devices.
fn remark_organisation(organisation: &Block, drafts: &mut Drafts) {
    drafts.remark_unused(organisation, 1);
    for (name, neutral) in [("Distribution scheme", "Asis"), ("Redundancy scheme", "Noredun")] {
        let Some(parameter) = organisation.get(name) else { continue };
        if organisation.text(name).is_ok_and(|word| word == neutral) {
            drafts.idle(parameter, "one device is simulated, as it is");
        } else {
            drafts.lost(parameter, "one device is simulated");
        }
    }
}

/// Returns the device of the values, with the checks of a device in a scenario.
fn device(mechanism: &str, route: &Route, drafts: &mut Drafts) -> Result<DeviceSpec, Refusal> {
    let place = route.device.place;
    let mut device = specified(mechanism, route, drafts)?;
    if let DeviceSpec::Disk(parameters) = &mut device {
        let offered = parameters.capacity_blocks.take();
        let layout = Layout::new(parameters).map_err(|fault| fault_at_source(&drafts.values, fault, place))?;
        let held = layout.capacity_blocks();
        // DiskSim uses the capacity of the zones; a drive may offer less, not more.
        parameters.capacity_blocks = offered.filter(|offered| *offered <= held);
        if offered.is_some_and(|offered| offered > held) {
            drafts.withdraw("capacity_blocks", &format!("the zones hold {held} blocks, which DiskSim uses, too"));
        }
    }
    scenario::device(&device).map_err(|fault| fault_at_source(&drafts.values, fault, place))?;
    Ok(device)
}

fn specified(mechanism: &str, route: &Route, drafts: &Drafts) -> Result<DeviceSpec, Refusal> {
    let mut values = table(&drafts.values);
    values.insert("name".into(), route.device.name.clone().into());
    values.insert("mechanism".into(), mechanism.into());
    let refusal = |fault: fault::Fault| fault_at_source(&drafts.values, fault, route.device.place);
    DeviceSpec::of(Json::Object(values)).map_err(|faults| Refusal(faults.into_iter().map(refusal).collect()))
}

/// Checks that the scenario can be run.
fn check_scenario(import: &Import, settings: &[Draft], driven: bool, end: Place) -> Result<(), Refusal> {
    let Some(text) = import.scenario_toml() else { return Ok(()) };
    let mut accepted = vec!["accept_missing=true".to_owned()];
    if driven {
        accepted.push("workload={kind=\"session\"}".to_owned());
    }
    let resolved = resolve(&text, Notation::Toml, "scenario", &accepted, &Catalog::default(), Path::new(""));
    let placed = |fault: fault::Fault| {
        let draft = settings.iter().find(|draft| fault.location.path.steps().iter().any(|step| step == draft.key));
        let place = draft.and_then(|draft| draft.from.first()).map_or(end, |(place, _)| *place);
        Fault::of(place, fault)
    };
    resolved.map(|_| ()).map_err(|faults| Refusal(faults.into_iter().map(placed).collect()))
}

fn finish(route: &Route, device: DeviceSpec, mut drafts: Drafts, settings: &[Draft], sources: &Sources) -> Import {
    drafts.remarks.sort_by_key(|remark| remark.place);
    let mut import = Import {
        name: route.device.name.clone(),
        file: sources.name(0),
        device,
        entries: Vec::new(),
        settings: Vec::new(),
        notes: Vec::new(),
        alike: 1,
    };
    let entry = |draft: &Draft, unit: &str| Entry {
        key: draft.key.to_owned(),
        value: draft.value.clone(),
        unit: unit.to_owned(),
        from: draft.from.iter().map(|(place, parameter)| source(*place, parameter, sources)).collect(),
        origin: draft.origin,
        note: draft.note.clone(),
    };
    let unit = |key: &str| import.device.unit(key).unwrap_or_default();
    import.entries = drafts.values.iter().map(|draft| entry(draft, unit(draft.key))).collect();
    import.settings = settings.iter().map(|draft| entry(draft, "")).collect();
    let notes = drafts.remarks.into_iter().map(|remark| Note {
        decides: remark.changes_results && workload::decides(&remark.name),
        file: sources.name(remark.place.file),
        line: remark.place.line,
        name: remark.name,
        value: remark.value,
        reason: remark.reason,
        changes_results: remark.changes_results,
    });
    import.notes = notes.collect();
    import
}

fn source(place: Place, parameter: &str, sources: &Sources) -> Source {
    Source { file: sources.name(place.file), line: place.line, parameter: parameter.to_owned() }
}
