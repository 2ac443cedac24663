//! From a parameter file to a device, and to a scenario.

use std::path::Path;

use serde_json::Value as Json;
use sledsim::devices::disk::Layout;
use sledsim::fault::{self, Faults};
use sledsim::scenario::{self, resolve, Catalog, DeviceSpec, Notation};

use super::block;
use super::disk;
use super::draft::{refused, table, Draft, Drafts, Origin};
use super::fault::{Fault, Place, Refusal};
use super::mems;
use super::overrides::Override;
use super::sources::Sources;
use super::syntax::{self, Block, Document};
use super::system::Way;
use super::workload;

/// What to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions<'a> {
    /// Name of the device, as a component or as a block, where there are several.
    pub device: Option<&'a str>,
    /// Whether to read the workload, the scheduler and the length of the run too.
    pub scenario: bool,
    /// Whether that scenario has its requests from outside: its workload is not looked at then, and need not be there.
    pub driven: bool,
    /// Values that take the place of those in the files.
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
    /// Its values, in the order of finding, each with its place.
    pub entries: Vec<Entry>,
    /// Values of the scenario, if one was asked for.
    pub settings: Vec<Entry>,
    /// What is not carried over, in the order of the files.
    pub notes: Vec<Note>,
    /// How many components are made of the device's block: they are alike.
    pub alike: usize,
}

/// A value of a device and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value, in the key's unit.
    pub value: Json,
    /// The key's unit; empty where it has none.
    pub unit: String,
    /// The parameters that give it; none where it is assumed.
    pub from: Vec<Source>,
    /// How sure the value is.
    pub origin: Origin,
    /// What else there is to say.
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
    /// Why it is not carried over.
    pub reason: String,
    /// Whether results would be different with it.
    pub changes_results: bool,
    /// Whether they would be so of a scenario as a whole: a run has to accept that it is missing.
    pub decides: bool,
}

/// Reads the device that the parameter file at `path` describes, or that with the scenario around it: a `.parv`, `.diskspecs` or
/// other file with a block of a device in it or in the files that it includes.
///
/// # Errors
/// A file that is missing or is not as DiskSim defines it, or a device that can't be carried over: file, line, what is
/// wrong and what is expected; for a scenario also files without a workload.
pub fn import(path: &Path, options: &ImportOptions) -> Result<Import, Faults> {
    let mut sources = Sources::default();
    read(path, options, &mut sources).map_err(|refusal| sources.faults(refusal))
}

fn read(path: &Path, options: &ImportOptions, sources: &mut Sources) -> Result<Import, Refusal> {
    let mut document = syntax::read(sources, path)?;
    for instead in options.overrides {
        document.take_instead(instead)?;
    }
    let found: Vec<Fault> = document.blocks.iter().flat_map(block::faults).collect();
    if !found.is_empty() {
        return Err(Refusal(found));
    }
    let way = Way::find(&document, options.device)?;
    let mut drafts = Drafts::default();
    let mechanism = match way.device.kind.as_str() {
        "memsmodel_mems" => {
            mems::carry(way.device, &mut drafts)?;
            "mems"
        }
        "disksim_simpledisk" => {
            mems::carry_simple(way.device, &mut drafts)?;
            "simpledisk-constant"
        }
        "dm_disk" => {
            disk::carry_mechanics(way.device, sources, &mut drafts)?;
            "disk"
        }
        _ => {
            disk::carry(way.device, &way, sources, &mut drafts)?;
            "disk"
        }
    };
    way.remark(&document, &mut drafts);
    let device = device(mechanism, &way, &mut drafts)?;
    let mut settings = Vec::new();
    if options.scenario {
        let size = size(&device).map_err(|fault| Fault::of(way.device.place, fault))?;
        let values = std::mem::take(&mut drafts.values);
        if options.driven {
            workload::carry_driven(&document, &way, &mut drafts)?;
        } else {
            workload::carry(&document, &way, size, &mut drafts)?;
        }
        settings = std::mem::replace(&mut drafts.values, values);
    } else if way.device.get("Scheduler").is_some() {
        drafts.remark_all(way.device.block("Scheduler")?, "a scenario's scheduler takes its place", false);
    }
    remark_rest(&document, &way, options, &mut drafts);
    let mut import = finish(&way, device, drafts, &settings, sources);
    import.alike = document.made_of_block(&way.device.name).max(1);
    check_scenario(&import, &settings, options.driven, document.end)?;
    Ok(import)
}

/// Blocks that the device offers, and their size.
fn size(device: &DeviceSpec) -> Result<(u64, u32), fault::Fault> {
    let mechanism = scenario::device(device)?;
    Ok((mechanism.dimensions().capacity_blocks * u64::from(device.mechanisms()), mechanism.dimensions().block_bytes))
}

/// Remarks on the blocks that are neither the device nor on the way to it.
fn remark_rest(document: &Document, way: &Way, options: &ImportOptions, drafts: &mut Drafts) {
    let ImportOptions { scenario, driven, .. } = *options;
    let is_used = |block: &Block| {
        let mut used = way.between.iter().copied().chain([way.device]);
        used.any(|used| std::ptr::eq(used, block))
    };
    let first = |kind: &str| document.blocks.iter().find(|block| block.kind == kind);
    for block in document.blocks.iter().filter(|block| !is_used(block)) {
        let is_carried = match block.kind.as_str() {
            "disksim_synthio" | "disksim_pf" if driven => false,
            "disksim_synthio" | "disksim_global" | "disksim_pf" => {
                scenario && first(&block.kind).is_some_and(|first| std::ptr::eq(first, block))
            }
            "disksim_iodriver" => scenario && way.driver.is_some_and(|driver| std::ptr::eq(driver, block)),
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
            "disksim_stats" | "disksim_syncset" | "disksim_iosim" => drafts.remark_deep(block),
            _ => drafts.block(block, "is not on the way to the device", false),
        }
    }
}

/// Remarks on how data lie over devices: as they are, or in a way that one device can't have.
fn remark_organisation(organisation: &Block, drafts: &mut Drafts) {
    drafts.remark_fates(organisation, 1);
    for (name, neutral) in [("Distribution scheme", "Asis"), ("Redundancy scheme", "Noredun")] {
        let Some(parameter) = organisation.get(name) else { continue };
        if organisation.text(name).is_ok_and(|word| word == neutral) {
            drafts.idle(parameter, "one device is simulated, as it is");
        } else {
            drafts.lost(parameter, "one device is simulated");
        }
    }
}

/// The device that the values make, checked as one that a user writes.
fn device(mechanism: &str, way: &Way, drafts: &mut Drafts) -> Result<DeviceSpec, Refusal> {
    let place = way.device.place;
    let mut device = specified(mechanism, way, drafts)?;
    if let DeviceSpec::Disk(parameters) = &mut device {
        let offered = parameters.capacity_blocks.take();
        let layout = Layout::new(parameters).map_err(|fault| refused(&drafts.values, fault, place))?;
        let held = layout.capacity_blocks();
        // DiskSim goes by what the zones hold; a drive that says it has less hides the rest.
        parameters.capacity_blocks = offered.filter(|offered| *offered <= held);
        if offered.is_some_and(|offered| offered > held) {
            drafts.withdraw("capacity_blocks", &format!("the zones hold {held} blocks, by which DiskSim goes too"));
        }
    }
    scenario::device(&device).map_err(|fault| refused(&drafts.values, fault, place))?;
    Ok(device)
}

fn specified(mechanism: &str, way: &Way, drafts: &Drafts) -> Result<DeviceSpec, Refusal> {
    let mut values = table(&drafts.values);
    values.insert("name".into(), way.device.name.clone().into());
    values.insert("mechanism".into(), mechanism.into());
    let refusal = |fault: fault::Fault| refused(&drafts.values, fault, way.device.place);
    DeviceSpec::of(Json::Object(values)).map_err(|faults| Refusal(faults.into_iter().map(refusal).collect()))
}

/// Checks that the scenario can be run as it is written.
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

fn finish(way: &Way, device: DeviceSpec, mut drafts: Drafts, settings: &[Draft], sources: &Sources) -> Import {
    drafts.remarks.sort_by_key(|remark| remark.place);
    let mut import = Import {
        name: way.device.name.clone(),
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
