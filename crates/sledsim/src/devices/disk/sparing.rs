//! Spare sectors and defects of a zone: the map between its LBNs and sectors.
//!
//! The sectors of a zone in the order in which LBNs visit them are its *items*. (If whole tracks are spare, an item is a track.) Items
//! are divided into *units*, each with its spares: the zone, a range of cylinders, a cylinder or a track. *Slots* are the items that hold
//! LBNs, in the same order. The schemes are those of DiskSim 4.0's layout_g1, without its errors: LBNs never share a sector here.

use super::divisor::Divisor;
use super::{Sparing, Zone};
use crate::convert::to_usize;
use crate::fault::{Fault, Kind};

/// The slots that a slip moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slipping {
    /// All following slots of the zone.
    Zone,
    /// The following slots of the unit, whose spares take the last of them.
    Unit,
}

/// A remapped item and its spare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Remap {
    item: u64,
    spare: u64,
}

/// A sector of a zone, and those around it that hold consecutive LBNs.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectorRun {
    /// The sector.
    pub first: u64,
    /// Number of sectors from it on; may exceed the track.
    pub count: u64,
    /// Number of sectors before it; may exceed the track, and may be less than there are.
    pub before: u64,
}

/// An item, and those around it that hold consecutive slots.
struct ItemRun {
    item: u64,
    /// Number of items from it on.
    count: u64,
    /// Number of items before it; may be less than there are.
    before: u64,
}

/// An item in the order of the slots.
struct SlotPosition {
    /// Number of slots before the item.
    slots_before: u64,
    /// True if the item holds a slot.
    holds_slot: bool,
}

/// The slots of a zone.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// Sectors of an item.
    item_sectors: u64,
    /// Items of a unit, including spares.
    unit: u64,
    /// Items of a unit without spares.
    data: u64,
    /// `data` as a divisor.
    data_divisor: Divisor,
    /// Number of whole units; the remainder of the zone is a shorter unit without spares.
    units: u64,
    /// Items of the zone.
    items: u64,
    /// True if spares come before the data of their unit.
    spares_first: bool,
    slipping: Slipping,
    /// Items without a slot, apart from unused spares: slipped items, and spares of remapped items. If slips move the whole zone, they
    /// are numbered without spares. Sorted, without duplicates.
    removed: Vec<u64>,
    /// `removed[i] - i`: the number of slots before it.
    slots_before: Vec<u64>,
    /// Slots that do not exist because their unit has more slips than spares. Sorted.
    holes: Vec<u64>,
    /// `holes[i] - i`.
    holes_before: Vec<u64>,
    /// Number of slots of the zone.
    slots: u64,
    /// Sectors of slots at the front that hold no LBNs.
    empty_sectors: u64,
    /// Remaps, sorted by item.
    remaps: Vec<Remap>,
    /// Remaps, sorted by spare.
    remaps_by_spare: Vec<Remap>,
}

/// The units of a zone.
struct Units {
    item_sectors: u64,
    unit: u64,
    spares_first: bool,
    slipping: Slipping,
}

impl Units {
    /// Returns the units of a scheme in a zone of `items` sectors, with the sectors of a track.
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

/// Returns true if slips use the spares of the zone, so that they reduce the capacity only beyond those.
fn slips_use_spares(scheme: Sparing) -> bool {
    matches!(scheme, Sparing::SectorsPerZone | Sparing::TracksPerZone)
}

/// Returns how many of the sorted `values` are at most `value`.
#[inline]
fn count_up_to(values: &[u64], value: u64) -> u64 {
    values.partition_point(|v| *v <= value) as u64
}

/// Returns how many of the sorted `values` are below `value`.
#[inline]
fn count_below(values: &[u64], value: u64) -> u64 {
    values.partition_point(|v| *v < value) as u64
}

/// Returns each value less its index.
fn minus_index(values: &[u64]) -> Vec<u64> {
    values.iter().zip(0..).map(|(value, index)| value - index).collect()
}

fn sorted_unique(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    values.dedup();
    values
}

impl Slots {
    /// Returns the slots of a zone.
    ///
    /// # Errors
    /// The spares or empty sectors leave no LBN, or a defect lies outside the zone.
    pub(super) fn new(scheme: Sparing, zone: &Zone, surfaces: u64, range_cylinders: u64) -> Result<Self, Fault> {
        let track = u64::from(zone.sectors_per_track);
        let sectors = track * surfaces * (u64::from(zone.last_cylinder) - u64::from(zone.first_cylinder) + 1);
        let units = Units::new(scheme, sectors, track, surfaces, range_cylinders);
        let items = sectors / units.item_sectors;
        let spares = u64::from(zone.spares);
        if spares >= units.unit || (spares > 0 && scheme == Sparing::None) {
            let of = if scheme == Sparing::None { 0 } else { units.unit };
            let says = format!(", of {of} sectors or tracks that there are to spare from");
            return Err(Fault::misfit("spares", spares).says(says));
        }
        let remaps = remaps(zone, items)?;
        let mut remaps_by_spare = remaps.clone();
        remaps_by_spare.sort_unstable_by_key(|remap| (remap.spare, remap.item));
        check_spares(&remaps_by_spare)?;
        if let Some(entry) = zone.slips.iter().position(|slip| *slip >= items) {
            let says = format!(" is beyond the zone, which ends at {items}");
            return Err(Fault::misfit(format!("slips.{entry}"), zone.slips[entry]).says(says));
        }
        // If slips use the spares of the zone, the spares are the items that remain at the end.
        let data = if slips_use_spares(scheme) { units.unit } else { units.unit - spares };
        let mut slots = Self {
            item_sectors: units.item_sectors,
            unit: units.unit,
            data,
            data_divisor: Divisor::new(data),
            units: items / units.unit,
            items,
            spares_first: units.spares_first,
            slipping: units.slipping,
            removed: sorted_unique(zone.slips.iter().copied().chain(remaps.iter().map(|remap| remap.spare)).collect()),
            slots_before: Vec::new(),
            holes: Vec::new(),
            holes_before: Vec::new(),
            slots: 0,
            empty_sectors: u64::from(zone.empty_sectors),
            remaps,
            remaps_by_spare,
        };
        match slots.slipping {
            Slipping::Zone => slots.count_zone_slots(if slips_use_spares(scheme) { spares } else { 0 }),
            Slipping::Unit => slots.count_unit_slots(),
        }
        if slots.slots * slots.item_sectors <= slots.empty_sectors {
            let says = format!(": the zone has {} without its spares and slips", slots.slots * slots.item_sectors);
            return Err(Fault::misfit("empty_sectors", slots.empty_sectors).says(says));
        }
        Ok(slots)
    }

    /// Counts the slots if slips move the whole zone.
    fn count_zone_slots(&mut self, spares_at_end: u64) {
        let data = std::mem::take(&mut self.removed);
        self.removed = data.into_iter().filter_map(|item| self.data_index(item)).collect();
        self.slots_before = minus_index(&self.removed);
        let items = self.units * self.data;
        self.slots = (items - self.removed.len() as u64).min(items - spares_at_end);
    }

    /// Counts the slots if slips move their unit.
    fn count_unit_slots(&mut self) {
        let mut holes = Vec::new();
        let mut at = 0;
        while let Some(item) = self.removed.get(at) {
            let unit = item / self.unit;
            let end = to_usize(count_below(&self.removed, (unit + 1) * self.unit));
            let kept = self.unit_items(unit) - (end - at) as u64;
            let slots = self.unit_slots(unit);
            holes.extend((kept.min(slots)..slots).map(|slot| unit * self.data + slot));
            at = end;
        }
        self.slots = self.units * self.data + self.items % self.unit - holes.len() as u64;
        self.holes_before = minus_index(&holes);
        self.holes = holes;
    }

    /// Returns the number of items of a unit; the last one may be short.
    #[inline]
    fn unit_items(&self, unit: u64) -> u64 {
        if unit < self.units {
            self.unit
        } else {
            self.items - self.units * self.unit
        }
    }

    /// Returns the number of slots of a unit that has no more slips than spares.
    #[inline]
    fn unit_slots(&self, unit: u64) -> u64 {
        if unit < self.units {
            self.data
        } else {
            self.unit_items(unit)
        }
    }

    /// Returns the index of an item among those that are not spares; `None` for a spare.
    fn data_index(&self, item: u64) -> Option<u64> {
        if self.data == self.unit {
            return Some(item);
        }
        let (unit, offset) = (item / self.unit, item % self.unit);
        let offset = if self.spares_first { offset.checked_sub(self.unit - self.data)? } else { offset };
        (offset < self.data).then_some(unit * self.data + offset)
    }

    /// Returns the number of LBNs of the zone.
    pub(super) fn blocks(&self) -> u64 {
        self.slots * self.item_sectors - self.empty_sectors
    }

    /// Returns the sector of the zone's `block`th LBN, and those around it up to spares and slips, without regard to remaps.
    #[inline(always)]
    pub(super) fn regular(&self, block: u64) -> SectorRun {
        let at = block + self.empty_sectors;
        let left = self.slots * self.item_sectors - at;
        if self.item_sectors == 1 {
            let run = self.items_of(at);
            SectorRun { first: run.item, count: run.count.min(left), before: run.before.min(block) }
        } else {
            let (slot, sector) = (at / self.item_sectors, at % self.item_sectors);
            let first = self.items_of(slot).item * self.item_sectors + sector;
            SectorRun { first, count: (self.item_sectors - sector).min(left), before: sector.min(block) }
        }
    }

    /// Returns the item of `slot`, and those around it.
    #[inline(always)]
    fn items_of(&self, slot: u64) -> ItemRun {
        match self.slipping {
            Slipping::Zone => {
                let slips = count_up_to(&self.slots_before, slot);
                let run = self.slots_before.get(to_usize(slips)).map_or(u64::MAX, |next| next - slot);
                let before = if slips == 0 { slot } else { slot - self.slots_before[to_usize(slips) - 1] };
                let index = slot + slips;
                if self.data == self.unit {
                    return ItemRun { item: index, count: run, before };
                }
                let (unit, offset) = self.data_divisor.div_rem(index);
                let first = if self.spares_first { self.unit - self.data } else { 0 };
                let item = unit * self.unit + first + offset;
                ItemRun { item, count: run.min(self.data - offset), before: before.min(offset) }
            }
            Slipping::Unit => self.items_in_unit(slot),
        }
    }

    /// See [`Slots::items_of`], if slips move their unit.
    fn items_in_unit(&self, slot: u64) -> ItemRun {
        let slot = slot + count_up_to(&self.holes_before, slot);
        let unit = self.data_divisor.div_rem(slot).0.min(self.units);
        let offset = slot - unit * self.data;
        let left = self.unit_slots(unit) - offset;
        let removed = self.removed_in(unit);
        let index = offset + self.spares_in_front(unit, removed.len() as u64);
        // The number of removed items before the remaining item of that index: those with at most `index` remaining items before them.
        let base = unit * self.unit;
        let (mut low, mut high) = (0, removed.len());
        while low < high {
            let middle = (low + high) / 2;
            if removed[middle] - base - middle as u64 <= index {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let run = removed.get(low).map_or(u64::MAX, |next| next - base - low as u64 - index);
        let before = if removed.is_empty() { offset } else { 0 };
        ItemRun { item: base + index + low as u64, count: run.min(left), before }
    }

    /// Returns the removed items of a unit.
    #[inline]
    fn removed_in(&self, unit: u64) -> &[u64] {
        if self.removed.is_empty() {
            return &[];
        }
        let base = unit * self.unit;
        let first = to_usize(count_below(&self.removed, base));
        let end = to_usize(count_below(&self.removed, base + self.unit_items(unit)));
        &self.removed[first..end]
    }

    /// Returns the number of unused spares at the front of a unit with `removed` removed items.
    #[inline]
    fn spares_in_front(&self, unit: u64, removed: u64) -> u64 {
        if self.spares_first {
            (self.unit_items(unit) - removed).saturating_sub(self.unit_slots(unit))
        } else {
            0
        }
    }

    /// Returns the position of an item in the order of the slots.
    fn slot_position(&self, item: u64) -> SlotPosition {
        match self.slipping {
            Slipping::Zone => {
                let (index, is_data) = if self.data == self.unit {
                    (item, true)
                } else {
                    let (unit, offset) = (item / self.unit, item % self.unit);
                    let first = if self.spares_first { self.unit - self.data } else { 0 };
                    let is_data = offset >= first && offset < first + self.data;
                    (unit * self.data + offset.saturating_sub(first).min(self.data), is_data)
                };
                let removed = count_below(&self.removed, index);
                let is_removed = self.removed.get(to_usize(removed)) == Some(&index);
                let slot = index - removed;
                let holds_slot = is_data && !is_removed && slot < self.slots;
                SlotPosition { slots_before: slot.min(self.slots), holds_slot }
            }
            Slipping::Unit => {
                let (unit, offset) = (item / self.unit, item % self.unit);
                let removed = self.removed_in(unit);
                let before = count_below(removed, item);
                let is_removed = removed.get(to_usize(before)) == Some(&item);
                let (index, first) = (offset - before, self.spares_in_front(unit, removed.len() as u64));
                let slots = self.unit_slots(unit);
                let holds_slot = !is_removed && index >= first && index < first + slots;
                let slot = unit * self.data + index.saturating_sub(first).min(slots);
                let slots_before = slot - count_below(&self.holes, slot);
                SlotPosition { slots_before, holds_slot }
            }
        }
    }

    /// Returns the sector of the zone's `block`th LBN, and those from it on up to the next spare or defect.
    #[inline]
    pub(super) fn sectors(&self, block: u64) -> SectorRun {
        let run = self.regular(block);
        if self.remaps.is_empty() {
            return run;
        }
        let (item, offset) = (run.first / self.item_sectors, run.first % self.item_sectors);
        let next = self.remaps.partition_point(|remap| remap.item < item);
        match self.remaps.get(next) {
            Some(remap) if remap.item == item => SectorRun {
                first: remap.spare * self.item_sectors + offset,
                count: run.count.min(self.item_sectors - offset),
                before: 0,
            },
            Some(remap) => SectorRun { count: run.count.min(remap.item * self.item_sectors - run.first), ..run },
            None => run,
        }
    }

    /// Returns the LBN in a sector, counted from the zone's first; `None` in a spare or a defect.
    pub(super) fn block(&self, sector: u64) -> Option<u64> {
        let (item, offset) = (sector / self.item_sectors, sector % self.item_sectors);
        let item = match self.remaps_by_spare.binary_search_by_key(&item, |remap| remap.spare) {
            Ok(index) => self.remaps_by_spare[index].item,
            Err(_) if self.remaps.binary_search_by_key(&item, |remap| remap.item).is_ok() => return None,
            Err(_) => item,
        };
        let position = self.slot_position(item);
        if !position.holds_slot {
            return None;
        }
        (position.slots_before * self.item_sectors + offset).checked_sub(self.empty_sectors)
    }

    /// Returns the number of LBNs of the zone that lie before a sector, without regard to remaps.
    pub(super) fn blocks_before(&self, sector: u64) -> u64 {
        if sector >= self.items * self.item_sectors {
            return self.blocks();
        }
        let (item, offset) = (sector / self.item_sectors, sector % self.item_sectors);
        let position = self.slot_position(item);
        let sectors = position.slots_before * self.item_sectors + if position.holds_slot { offset } else { 0 };
        sectors.saturating_sub(self.empty_sectors)
    }
}

/// Returns the remaps of a zone of `items` items, sorted by item.
fn remaps(zone: &Zone, items: u64) -> Result<Vec<Remap>, Fault> {
    let mut remaps: Vec<Remap> =
        zone.remaps.iter().filter(|[item, spare]| item != spare).map(|&[item, spare]| Remap { item, spare }).collect();
    if let Some(Remap { item, spare }) = remaps.iter().find(|remap| remap.item.max(remap.spare) >= items) {
        let says = format!(": [{item}, {spare}] is beyond the zone, which ends at {items}");
        return Err(Fault::at(Kind::Misfit, "remaps").says(says));
    }
    remaps.sort_unstable();
    remaps.dedup();
    match remaps.windows(2).find(|pair| pair[0].item == pair[1].item) {
        Some(pair) => {
            let says = format!(": {} has two spares, {} and {}", pair[0].item, pair[0].spare, pair[1].spare);
            Err(Fault::at(Kind::Conflict, "remaps").says(says))
        }
        None => Ok(remaps),
    }
}

/// Checks that each spare, by which `remaps` are sorted, has one item.
fn check_spares(remaps: &[Remap]) -> Result<(), Fault> {
    match remaps.windows(2).find(|pair| pair[0].spare == pair[1].spare) {
        Some(pair) => {
            let says = format!(": {} is the spare of both {} and {}", pair[0].spare, pair[0].item, pair[1].item);
            Err(Fault::at(Kind::Conflict, "remaps").says(says))
        }
        None => Ok(()),
    }
}
