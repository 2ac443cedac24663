//! From a parameter file to a device.

use std::path::Path;

use serde_json::Value as Json;

use super::block;
use super::disk;
use super::draft::{refused, table, Drafts, Origin};
use super::fault::{Fault, ImportError, Place};
use super::sources::Sources;
use super::syntax::{self, Block, Document};
use super::system::Way;
use crate::scenario::check::check;
use crate::scenario::spec::DeviceSpec;

/// A device read from a parameter file.
#[derive(Clone, Debug)]
pub struct Import {
    /// The device's name in the files.
    pub name: String,
    /// The device.
    pub device: DeviceSpec,
    /// Its values, in the order of finding, each with its place.
    pub entries: Vec<Entry>,
    /// What is not carried over, in the order of the files.
    pub notes: Vec<Note>,
}

/// A value of a device and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The value, in the key's unit.
    pub value: Json,
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
}

/// Reads the device that the parameter file at `path` describes: a `.parv`, `.diskspecs` or other file with a block of
/// a device in it or in the files that it includes.
///
/// # Errors
/// A file that is missing or is not as DiskSim defines it, or a device that can't be carried over: file, line, what is
/// wrong and what is expected.
pub fn read_device(path: &Path) -> Result<Import, ImportError> {
    let mut sources = Sources::default();
    read(path, &mut sources).map_err(|fault| sources.error(fault))
}

fn read(path: &Path, sources: &mut Sources) -> Result<Import, Fault> {
    let document = syntax::read(sources, path)?;
    document.blocks.iter().try_for_each(block::check)?;
    let way = Way::find(&document, None)?;
    let mut drafts = Drafts::default();
    let mechanism = match way.device.kind.as_str() {
        "disksim_disk" => {
            disk::carry(way.device, &way, sources, &mut drafts)?;
            "disk"
        }
        other => return Err(Fault::new(way.device.place, format!("{other} can't be imported yet"))),
    };
    way.remark(&document, &mut drafts);
    remark_rest(&document, &way, &mut drafts);
    let device = device(mechanism, &way, &drafts)?;
    Ok(finish(&way, device, drafts, sources))
}

/// Remarks on the blocks that are neither the device nor on the way to it.
fn remark_rest(document: &Document, way: &Way, drafts: &mut Drafts) {
    let is_used = |block: &Block| {
        std::ptr::eq(block, way.device) || way.between.iter().any(|between| std::ptr::eq(*between, block))
    };
    for block in document.blocks.iter().filter(|block| !is_used(block)) {
        match block.kind.as_str() {
            "disksim_iodriver" | "disksim_synthio" | "disksim_global" | "disksim_iosim" => {
                drafts.remark_all(block, "belongs to a scenario, not to a device", false);
            }
            "disksim_stats" | "disksim_pf" | "disksim_logorg" | "disksim_syncset" => {
                drafts.remark_all(block, "has no bearing on a device", false);
            }
            _ => drafts.block(block, "is not on the way to the device", false),
        }
    }
}

/// The device that the values make, checked as one that a user writes.
fn device(mechanism: &str, way: &Way, drafts: &Drafts) -> Result<DeviceSpec, Fault> {
    let mut values = table(&drafts.values);
    values.insert("name".into(), way.device.name.clone().into());
    values.insert("mechanism".into(), mechanism.into());
    let mut document = Json::Object(values);
    let schema = serde_json::to_value(schemars::schema_for!(DeviceSpec)).unwrap_or_default();
    let fault = |message: String| refused(&drafts.values, message, way.device.place);
    check(&mut document, &schema).map_err(fault)?;
    serde_json::from_value(document).map_err(|error| fault(error.to_string()))
}

fn finish(way: &Way, device: DeviceSpec, mut drafts: Drafts, sources: &Sources) -> Import {
    drafts.remarks.sort_by_key(|remark| remark.place);
    let source =
        |(place, parameter): (Place, String)| Source { file: sources.name(place.file), line: place.line, parameter };
    let entries = drafts.values.into_iter().map(|draft| Entry {
        key: draft.key.to_owned(),
        value: draft.value,
        from: draft.from.into_iter().map(source).collect(),
        origin: draft.origin,
        note: draft.note,
    });
    let notes = drafts.remarks.into_iter().map(|remark| Note {
        file: sources.name(remark.place.file),
        line: remark.place.line,
        name: remark.name,
        value: remark.value,
        reason: remark.reason,
        changes_results: remark.changes_results,
    });
    Import { name: way.device.name.clone(), device, entries: entries.collect(), notes: notes.collect() }
}
