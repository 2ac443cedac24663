//! Which sectors of a zone hold LBNs, and in which order.
//!
//! A zone's sectors are counted in the order in which LBNs visit them: its *items*. (Where whole tracks are spare, an item
//! is a track.) Items divide into units that have spares of their own: the zone, a range of cylinders, a cylinder or a
//! track. *Slots* are the items that are left for LBNs, counted in the same order. The schemes are those of DiskSim 4.0's
//! layout_g1, but for its lapses: LBNs never share a sector here.

use super::divisor::Divisor;
use super::{Sparing, Zone};
use crate::convert::to_usize;
use crate::fault::{Fault, Kind};

/// What a slip does to the LBNs behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slipping {
    /// All slots behind it in the zone move.
    Zone,
    /// Slots of its own unit move, and spares of the unit take up the slack.
    Unit,
}

/// Order of the slots of a zone.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// Sectors in an item.
    item_sectors: u64,
    /// Items of a unit, spares included.
    unit: u64,
    /// Items of a unit that hold slots while nothing slips.
    data: u64,
    /// The same, to divide by.
    per_data: Divisor,
    /// Units of that size; what is left of the zone is one more without spares.
    units: u64,
    /// Items of the zone.
    items: u64,
    /// Whether spares come before the data of their unit.
    spares_first: bool,
    slipping: Slipping,
    /// Items that hold no slot though they are not spare: slipped ones, and the spares in use by remapped ones. Counted
    /// without spares where slips move the whole zone. Sorted, each once.
    removed: Vec<u64>,
    /// `removed[i] - i`: the slots before it.
    slots_before: Vec<u64>,
    /// Slot numbers that are skipped since their unit has more slips than spares.
    holes: Vec<u64>,
    /// `holes[i] - i`.
    holes_before: Vec<u64>,
    /// Slots of the zone.
    slots: u64,
    /// Slots at the front that hold no LBNs, in sectors.
    empty_sectors: u64,
    /// Remapped items and their spares, by item.
    remaps: Vec<(u64, u64)>,
    /// The same by spare: spare, item.
    spares_in_use: Vec<(u64, u64)>,
}

/// How a scheme cuts up a zone.
struct Cut {
    item_sectors: u64,
    unit: u64,
    spares_first: bool,
    slipping: Slipping,
}

impl Cut {
    fn new(scheme: Sparing, items: u64, track: u64, surfaces: u64, range_cylinders: u64) -> Self {
        use Sparing as S;
        let cylinder = track * surfaces;
        let unit = match scheme {
            S::None | S::SectorsPerZone | S::SectorsPerZoneSlipToEnd | S::SectorsAtDiskEnd => items,
            S::TracksPerZone => items / track,
            S::SectorsPerTrack => track,
            S::SectorsPerCylinder
            | S::SectorsPerCylinderSlipToEnd
            | S::SectorsAtCylinderFront
            | S::SectorsAtCylinderFrontSlipToEnd => cylinder,
            S::SectorsPerRange => cylinder * range_cylinders,
        };
        let slipping = match scheme {
            S::SectorsPerTrack | S::SectorsPerCylinder | S::SectorsAtCylinderFront | S::SectorsPerRange => {
                Slipping::Unit
            }
            _ => Slipping::Zone,
        };
        Self {
            item_sectors: if scheme == S::TracksPerZone { track } else { 1 },
            unit,
            spares_first: matches!(scheme, S::SectorsAtCylinderFront | S::SectorsAtCylinderFrontSlipToEnd),
            slipping,
        }
    }
}

/// Whether slips take the spares of their zone, so that those shrink it no further.
fn slips_use_spares(scheme: Sparing) -> bool {
    matches!(scheme, Sparing::SectorsPerZone | Sparing::TracksPerZone)
}

/// How many of the sorted `values` are at most `value`.
#[inline]
fn up_to(values: &[u64], value: u64) -> u64 {
    values.partition_point(|v| *v <= value) as u64
}

/// How many of the sorted `values` are below `value`.
#[inline]
fn below(values: &[u64], value: u64) -> u64 {
    values.partition_point(|v| *v < value) as u64
}

fn less_index(values: &[u64]) -> Vec<u64> {
    values.iter().zip(0..).map(|(value, index)| value - index).collect()
}

fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values.dedup();
    values
}

impl Slots {
    /// Slots of a zone of so many sectors.
    ///
    /// # Errors
    /// Spares that leave nothing, defects outside the zone: says which value.
    pub(super) fn new(scheme: Sparing, zone: &Zone, surfaces: u64, range_cylinders: u64) -> Result<Self, Fault> {
        let track = u64::from(zone.sectors_per_track);
        let sectors = track * surfaces * (u64::from(zone.last_cylinder) - u64::from(zone.first_cylinder) + 1);
        let cut = Cut::new(scheme, sectors, track, surfaces, range_cylinders);
        let items = sectors / cut.item_sectors;
        let spares = u64::from(zone.spares);
        if spares >= cut.unit || (spares > 0 && scheme == Sparing::None) {
            let of = if scheme == Sparing::None { 0 } else { cut.unit };
            let says = format!(", of {of} sectors or tracks that there are to spare from");
            return Err(Fault::misfit("spares", spares).says(says));
        }
        let (remaps, spares_in_use) = remaps(zone, items)?;
        if let Some(entry) = zone.slips.iter().position(|slip| *slip >= items) {
            let says = format!(" is beyond the zone, which ends at {items}");
            return Err(Fault::misfit(format!("slips.{entry}"), zone.slips[entry]).says(says));
        }
        // In the zone-wide schemes with spares that slips use, the spares are whatever is left at the end.
        let unit_data = if slips_use_spares(scheme) { cut.unit } else { cut.unit - spares };
        let mut slots = Self {
            item_sectors: cut.item_sectors,
            unit: cut.unit,
            data: unit_data,
            per_data: Divisor::new(unit_data),
            units: items / cut.unit,
            items,
            spares_first: cut.spares_first,
            slipping: cut.slipping,
            removed: sorted(zone.slips.iter().copied().chain(spares_in_use.iter().map(|(spare, _)| *spare)).collect()),
            slots_before: Vec::new(),
            holes: Vec::new(),
            holes_before: Vec::new(),
            slots: 0,
            empty_sectors: u64::from(zone.empty_sectors),
            remaps,
            spares_in_use,
        };
        match slots.slipping {
            Slipping::Zone => slots.close_zone(if slips_use_spares(scheme) { spares } else { 0 }),
            Slipping::Unit => slots.close_units(),
        }
        if slots.slots * slots.item_sectors <= slots.empty_sectors {
            let says = format!(": the zone has {} without its spares and slips", slots.slots * slots.item_sectors);
            return Err(Fault::misfit("empty_sectors", slots.empty_sectors).says(says));
        }
        Ok(slots)
    }

    /// Counts the slots where slips move the whole zone.
    fn close_zone(&mut self, spares_at_end: u64) {
        let data = std::mem::take(&mut self.removed);
        self.removed = data.into_iter().filter_map(|item| self.data_index(item)).collect();
        self.slots_before = less_index(&self.removed);
        let items = self.units * self.data;
        self.slots = (items - self.removed.len() as u64).min(items - spares_at_end);
    }

    /// Counts the slots where slips move their unit.
    fn close_units(&mut self) {
        let mut holes = Vec::new();
        let mut at = 0;
        while let Some(item) = self.removed.get(at) {
            let unit = item / self.unit;
            let end = to_usize(below(&self.removed, (unit + 1) * self.unit));
            let kept = self.unit_items(unit) - (end - at) as u64;
            let slots = self.unit_slots(unit);
            holes.extend((kept.min(slots)..slots).map(|slot| unit * self.data + slot));
            at = end;
        }
        self.slots = self.units * self.data + self.items % self.unit - holes.len() as u64;
        self.holes_before = less_index(&holes);
        self.holes = holes;
    }

    /// Items of a unit: the last may be short.
    #[inline]
    fn unit_items(&self, unit: u64) -> u64 {
        if unit < self.units {
            self.unit
        } else {
            self.items - self.units * self.unit
        }
    }

    /// Slots of a unit while it has no more slips than spares.
    #[inline]
    fn unit_slots(&self, unit: u64) -> u64 {
        if unit < self.units {
            self.data
        } else {
            self.unit_items(unit)
        }
    }

    /// Index of an item among those that are not spare, if it is one.
    fn data_index(&self, item: u64) -> Option<u64> {
        if self.data == self.unit {
            return Some(item);
        }
        let (unit, offset) = (item / self.unit, item % self.unit);
        let offset = if self.spares_first { offset.checked_sub(self.unit - self.data)? } else { offset };
        (offset < self.data).then_some(unit * self.data + offset)
    }

    /// LBNs of the zone.
    pub(super) fn blocks(&self) -> u64 {
        self.slots * self.item_sectors - self.empty_sectors
    }

    /// Sector of the zone's `block`th LBN, remaps not looked at, and how many LBNs from it on lie in consecutive sectors:
    /// up to the next spare or slip, or farther than a track reaches.
    #[inline]
    fn regular(&self, block: u64) -> (u64, u64) {
        let at = block + self.empty_sectors;
        let left = self.slots * self.item_sectors - at;
        if self.item_sectors == 1 {
            let (item, run) = self.item(at);
            (item, run.min(left))
        } else {
            let (slot, sector) = (at / self.item_sectors, at % self.item_sectors);
            let (item, _) = self.item(slot);
            (item * self.item_sectors + sector, (self.item_sectors - sector).min(left))
        }
    }

    /// Item of a slot, and how many slots from it on lie in consecutive items.
    #[inline]
    fn item(&self, slot: u64) -> (u64, u64) {
        match self.slipping {
            Slipping::Zone => {
                let slips = up_to(&self.slots_before, slot);
                let run = self.slots_before.get(to_usize(slips)).map_or(u64::MAX, |next| next - slot);
                let index = slot + slips;
                if self.data == self.unit {
                    return (index, run);
                }
                let (unit, offset) = self.per_data.divide(index);
                let first = if self.spares_first { self.unit - self.data } else { 0 };
                (unit * self.unit + first + offset, run.min(self.data - offset))
            }
            Slipping::Unit => self.item_in_unit(slot),
        }
    }

    fn item_in_unit(&self, slot: u64) -> (u64, u64) {
        let slot = slot + up_to(&self.holes_before, slot);
        let unit = self.per_data.divide(slot).0.min(self.units);
        let offset = slot - unit * self.data;
        let left = self.unit_slots(unit) - offset;
        let removed = self.removed_in(unit);
        let place = offset + self.skipped(unit, removed.len() as u64);
        // As many slips lie before the `place`th of the items that are left as have no more than that before them.
        let base = unit * self.unit;
        let (mut low, mut high) = (0, removed.len());
        while low < high {
            let middle = (low + high) / 2;
            if removed[middle] - base - middle as u64 <= place {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let run = removed.get(low).map_or(u64::MAX, |next| next - base - low as u64 - place);
        (base + place + low as u64, run.min(left))
    }

    /// Removed items of a unit.
    #[inline]
    fn removed_in(&self, unit: u64) -> &[u64] {
        if self.removed.is_empty() {
            return &[];
        }
        let base = unit * self.unit;
        let first = to_usize(below(&self.removed, base));
        let end = to_usize(below(&self.removed, base + self.unit_items(unit)));
        &self.removed[first..end]
    }

    /// Items at the front of a unit, removed ones not counted, that are spare.
    #[inline]
    fn skipped(&self, unit: u64, removed: u64) -> u64 {
        if self.spares_first {
            (self.unit_items(unit) - removed).saturating_sub(self.unit_slots(unit))
        } else {
            0
        }
    }

    /// Slots that lie before an item, and whether the item holds one.
    fn slot(&self, item: u64) -> (u64, bool) {
        match self.slipping {
            Slipping::Zone => {
                let (index, data) = if self.data == self.unit {
                    (item, true)
                } else {
                    let (unit, offset) = (item / self.unit, item % self.unit);
                    let first = if self.spares_first { self.unit - self.data } else { 0 };
                    let data = offset >= first && offset < first + self.data;
                    (unit * self.data + offset.saturating_sub(first).min(self.data), data)
                };
                let removed = below(&self.removed, index);
                let gone = self.removed.get(to_usize(removed)) == Some(&index);
                let slot = index - removed;
                (slot.min(self.slots), data && !gone && slot < self.slots)
            }
            Slipping::Unit => {
                let (unit, offset) = (item / self.unit, item % self.unit);
                let removed = self.removed_in(unit);
                let before = below(removed, item);
                let gone = removed.get(to_usize(before)) == Some(&item);
                let (place, first) = (offset - before, self.skipped(unit, removed.len() as u64));
                let slots = self.unit_slots(unit);
                let data = !gone && place >= first && place < first + slots;
                let slot = unit * self.data + place.saturating_sub(first).min(slots);
                (slot - below(&self.holes, slot), data)
            }
        }
    }

    /// Sector of the zone's `block`th LBN, and how many LBNs from it on lie in consecutive sectors (of its track, if it
    /// matters: nothing here stops at a track's end).
    #[inline]
    pub(super) fn sector(&self, block: u64) -> (u64, u64) {
        let (sector, run) = self.regular(block);
        if self.remaps.is_empty() {
            return (sector, run);
        }
        let (item, within) = (sector / self.item_sectors, sector % self.item_sectors);
        let next = self.remaps.partition_point(|(remapped, _)| *remapped < item);
        match self.remaps.get(next) {
            Some((remapped, spare)) if *remapped == item => {
                (spare * self.item_sectors + within, run.min(self.item_sectors - within))
            }
            Some((remapped, _)) => (sector, run.min(remapped * self.item_sectors - sector)),
            None => (sector, run),
        }
    }

    /// Sector where the zone's `block`th LBN would lie if nothing were remapped.
    pub(super) fn regular_sector(&self, block: u64) -> u64 {
        self.regular(block).0
    }

    /// LBN in a sector, counted from the zone's first.
    pub(super) fn block(&self, sector: u64) -> Option<u64> {
        let (item, within) = (sector / self.item_sectors, sector % self.item_sectors);
        let home = self.spares_in_use.binary_search_by_key(&item, |(spare, _)| *spare);
        let item = match home {
            Ok(index) => self.spares_in_use[index].1,
            Err(_) if self.remaps.binary_search_by_key(&item, |(remapped, _)| *remapped).is_ok() => return None,
            Err(_) => item,
        };
        let (slot, data) = self.slot(item);
        if !data {
            return None;
        }
        (slot * self.item_sectors + within).checked_sub(self.empty_sectors)
    }

    /// LBNs of the zone that lie before a sector, if nothing were remapped.
    pub(super) fn blocks_before(&self, sector: u64) -> u64 {
        if sector >= self.items * self.item_sectors {
            return self.blocks();
        }
        let (item, within) = (sector / self.item_sectors, sector % self.item_sectors);
        let (slot, data) = self.slot(item);
        let sectors = slot * self.item_sectors + if data { within } else { 0 };
        sectors.saturating_sub(self.empty_sectors)
    }
}

/// Pairs of two items.
type Pairs = Vec<(u64, u64)>;

/// The remaps of a zone, by item and by spare.
fn remaps(zone: &Zone, items: u64) -> Result<(Pairs, Pairs), Fault> {
    let mut remaps: Pairs = zone.remaps.iter().filter(|[item, spare]| item != spare).map(|[a, b]| (*a, *b)).collect();
    if let Some((item, spare)) = remaps.iter().find(|(item, spare)| *item.max(spare) >= items) {
        let says = format!(": [{item}, {spare}] is beyond the zone, which ends at {items}");
        return Err(Fault::at(Kind::Misfit, "remaps").says(says));
    }
    remaps.sort_unstable();
    remaps.dedup();
    let mut spares: Pairs = remaps.iter().map(|(item, spare)| (*spare, *item)).collect();
    spares.sort_unstable();
    if let Some(twice) = remaps.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let says = format!(": {} has two spares, {} and {}", twice[0].0, twice[0].1, twice[1].1);
        return Err(Fault::at(Kind::Conflict, "remaps").says(says));
    }
    if let Some(twice) = spares.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let says = format!(": {} is the spare of both {} and {}", twice[0].0, twice[0].1, twice[1].1);
        return Err(Fault::at(Kind::Conflict, "remaps").says(says));
    }
    Ok((remaps, spares))
}
