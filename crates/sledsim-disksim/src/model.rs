//! Mechanics and layout of a drive: `dm_disk`, `dm_layout_g1` with its zones, `dm_mech_g1`.

use serde_json::{json, Map, Value as Json};
use sledsim::fault::{Allowed, Kind, Range};

use super::block::number;
use super::disk::word;
use super::draft::{plain_keys, Drafts, Origin};
use super::fault::Fault;
use super::grammar::Takes;
use super::seek;
use super::sources::Sources;
use super::syntax::{Block, Content};

const MAPPINGS: [&str; 3] = ["cylinder", "serpentine-by-zone", "serpentine"];
/// Values of `sparing` in the order of DiskSim's numbers.
pub(super) const SPARINGS: [&str; 11] = [
    "none",
    "tracks-per-zone",
    "sectors-per-cylinder",
    "sectors-per-track",
    "sectors-per-cylinder-slip-to-end",
    "sectors-at-cylinder-front",
    "sectors-at-cylinder-front-slip-to-end",
    "sectors-at-disk-end",
    "sectors-per-range",
    "sectors-per-zone",
    "sectors-per-zone-slip-to-end",
];
/// The type of block of a zone.
const ZONE: &str = "dm_layout_g1_zone";
/// Number of the sparing scheme whose slips, defects and spares are tracks.
const WHOLE_TRACKS: i64 = 1;

/// Carries over mechanics and layout.
pub(super) fn carry(model: &Block, sources: &mut Sources, drafts: &mut Drafts) -> Result<(), Fault> {
    drafts.carry(model);
    carry_cylinders(model, drafts)?;
    let count = model.need("Block count")?;
    if model.whole("Block count")? > 0 {
        drafts.put("capacity_blocks", model.whole("Block count")?, count, Origin::Published);
    } else {
        drafts.idle(count, "0 stands for what the zones hold");
    }
    carry_layout(model, drafts)?;
    carry_mechanics(model.block("Mechanical Model")?, sources, drafts)
}

/// Carries over the number of cylinders; one more if the last zone ends at that number, which DiskSim accepts.
fn carry_cylinders(model: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    const NAME: &str = "Number of cylinders";
    let count = model.whole(NAME)?;
    let beyond =
        zones(model.block("Layout Model")?).last().map_or(Ok(-1), |zone| zone.whole("Last cylinder number"))?;
    if beyond == count {
        drafts.put("cylinders", count + 1, model.need(NAME)?, Origin::Derived);
        drafts.note(format!("{count} in the file, and one more that the last zone has"));
    } else {
        drafts.put("cylinders", count, model.need(NAME)?, Origin::Published);
    }
    Ok(())
}

fn zones(layout: &Block) -> impl Iterator<Item = &Block> {
    let items = layout.list("Zones").unwrap_or(&[]).iter();
    items.filter_map(|item| match &item.content {
        Content::Block(zone) => Some(zone),
        _ => None,
    })
}

fn carry_layout(model: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    let layout = model.block("Layout Model")?;
    drafts.carry(layout);
    let (mapping, sparing) = (layout.whole("LBN-to-PBN mapping scheme")?, layout.whole("Sparing scheme used")?);
    drafts.put("mapping", word(&MAPPINGS, mapping), layout.need("LBN-to-PBN mapping scheme")?, Origin::Published);
    drafts.put("sparing", word(&SPARINGS, sparing), layout.need("Sparing scheme used")?, Origin::Published);
    let extent = Extent {
        surfaces: model.whole("Number of data surfaces")? as u64,
        cylinders: model.whole("Number of cylinders")?,
        whole_tracks: sparing == WHOLE_TRACKS,
        units: layout.get("Skew units").map(|_| layout.text("Skew units")).transpose()?,
    };
    let mut tables = Vec::new();
    let mut end = 0;
    for (index, item) in layout.list("Zones")?.iter().enumerate() {
        match &item.content {
            Content::Block(zone) if zone.kind == ZONE => tables.push(extent.zone(zone, &mut end)?),
            _ => return Err(not_a_zone(layout, index)),
        }
    }
    if tables.is_empty() {
        return Err(not_a_zone(layout, 0));
    }
    let parameter = layout.need("Zones")?;
    drafts.put("zones", tables, parameter, Origin::Published);
    zones(layout).for_each(|zone| drafts.also_block(zone));
    Ok(())
}

fn not_a_zone(layout: &Block, index: usize) -> Fault {
    layout.fault_of("Zones", index).expects(Takes::Block(&[ZONE]))
}

/// Limits of the zones.
struct Extent {
    surfaces: u64,
    cylinders: i64,
    whole_tracks: bool,
    units: Option<String>,
}

impl Extent {
    /// Returns the table of a zone, whose first cylinder is at least `end`; updates `end`.
    fn zone(&self, zone: &Block, end: &mut i64) -> Result<Json, Fault> {
        let (first, last) = (zone.whole("First cylinder number")?, zone.whole("Last cylinder number")?);
        if first < *end {
            let allowed = Range { whole: true, ..Range::at_least(*end as f64) };
            let says = " (the zone overlaps the one before)";
            return Err(zone.fault("First cylinder number").expects(allowed).says(says));
        }
        if last < first || last > self.cylinders {
            let allowed = Range { whole: true, ..Range::from_to(first as f64, (self.cylinders - 1) as f64) };
            return Err(zone.fault("Last cylinder number").expects(allowed));
        }
        *end = last + 1;
        let sectors = zone.whole("Blocks per track")?;
        let mut table: Map<String, Json> =
            plain_keys(zone).into_iter().map(|plain| (plain.key.to_owned(), plain.value)).collect();
        let own = zone.get("Skew units").map(|_| zone.text("Skew units")).transpose()?;
        let revolutions = own.as_deref().or(self.units.as_deref()) == Some("revolutions");
        let scale = if revolutions { sectors as f64 } else { 1.0 };
        for (name, key) in [
            ("Offset of first block", "first_sector_offset"),
            ("Skew for track switch", "track_skew_sectors"),
            ("Skew for cylinder switch", "cylinder_skew_sectors"),
        ] {
            let angle = if zone.get(name).is_some() { zone.real(name)? } else { 0.0 };
            table.insert(key.into(), (angle * scale).into());
        }
        let tracks = (last - first + 1) as u64 * self.surfaces;
        let places = if self.whole_tracks { tracks } else { tracks.saturating_mul(sectors as u64) };
        let slips = numbers(zone, "slips", places)?;
        let defects = numbers(zone, "defects", places)?;
        if defects.len() % 2 != 0 {
            let says = format!(": {} numbers: expected pairs of a defect and its spare", defects.len());
            return Err(zone.fault("defects").kind(Kind::Misfit).says(says));
        }
        table.insert("slips".into(), slips.into());
        table.insert("remaps".into(), defects.chunks_exact(2).map(|pair| json!(pair)).collect());
        Ok(Json::Object(table))
    }
}

/// Returns a list of sectors or tracks, each below `places`.
fn numbers(zone: &Block, name: &str, places: u64) -> Result<Vec<u64>, Fault> {
    let each = zone.list(name)?.iter().enumerate().map(|(index, item)| match item.content {
        Content::Whole(number) if u64::try_from(number).is_ok_and(|number| number < places) => Ok(number as u64),
        _ => {
            let allowed = Range { whole: true, ..Range::from_to(0.0, (places - 1) as f64) };
            Err(zone.fault_of(name, index).expects(allowed))
        }
    });
    each.collect()
}

fn carry_mechanics(mechanics: &Block, sources: &mut Sources, drafts: &mut Drafts) -> Result<(), Fault> {
    drafts.carry(mechanics);
    let kind = mechanics.need("Access time type")?;
    match mechanics.text("Access time type")?.as_str() {
        "constant" => {
            let says = " can't be carried over: expected averageRotation or trackSwitchPlusRotation, or a \
                        disksim_simpledisk instead of the drive";
            return Err(mechanics.fault("Access time type").kind(Kind::Unsupported).says(says));
        }
        "averageRotation" => drafts.put("rotation", "average", kind, Origin::Published),
        _ => drafts.put("rotation", "phase", kind, Origin::Published),
    }
    if mechanics.real("Add. write settling delay")? < 0.0 {
        let note = "negative: seek times are taken as those of writes, and reads take so much less; DiskSim shortens writes instead";
        drafts.note_on("write_settle_ms", note);
    }
    seek::carry(mechanics, sources, drafts)?;
    drafts.remark_unused(mechanics, 1);
    Ok(())
}

/// Returns the `count` numbers of a list.
pub(super) fn times(block: &Block, name: &str, count: usize) -> Result<Vec<f64>, Fault> {
    let items = block.list(name)?;
    if items.len() != count {
        return Err(block.fault(name).expects(Allowed::Type(format!("{count} numbers"))));
    }
    let each = items.iter().enumerate();
    each.map(|(index, item)| number(item).ok_or_else(|| block.fault_of(name, index).expects("a number"))).collect()
}
