//! The map between LBNs and sectors.
//!
//! LBNs run through the zones in order. Within a zone they run along a track, then over the tracks of a cylinder in the order of the
//! mapping, then over the cylinders. With a seek-first mapping they run over the cylinders of a group on each surface in turn. Cylinders
//! between zones may be unused.

use std::sync::Arc;

use super::divisor::Divisor;
use super::sparing::Slots;
use super::{DiskParameters, Mapping, Zone};
use crate::convert::{to_u32, to_usize};
use crate::fault::{Fault, Range};

/// Maximum number of cylinders for which the zone of each is tabulated.
const TABLE_CYLINDERS: u32 = 1 << 20;

/// Maximum number of entries in the table that gives the zone at which the search for an LBN begins.
const FIRST_ZONES: u64 = 1 << 12;

/// Entry of the table of cylinders for one between zones.
const NO_ZONE: u16 = u16::MAX;

/// A sector of the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Cylinder; 0 is the outermost.
    pub cylinder: u32,
    /// Head of an arm, which is the surface.
    pub head: u32,
    /// Sector on the track.
    pub sector: u32,
}

/// A range of LBNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// First block.
    pub first: u64,
    /// End (exclusive).
    pub end: u64,
}

impl BlockRange {
    /// Returns the number of blocks.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.end - self.first
    }
}

/// LBNs in consecutive sectors of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Place of the first.
    pub place: Place,
    /// Number of LBNs.
    pub blocks: u64,
    /// Index of the zone.
    pub zone: u32,
}

/// A zone of the layout.
#[derive(Clone, Debug)]
struct ZoneLayout {
    first_lbn: u64,
    first_cylinder: u32,
    last_cylinder: u32,
    sectors_per_track: Divisor,
    slots: Slots,
}

/// The map between LBNs and sectors.
#[derive(Clone, Debug)]
pub struct Layout {
    zones: Vec<ZoneLayout>,
    /// End (exclusive) of each zone, in LBNs.
    end_lbns: Vec<u64>,
    /// Bits of an LBN below its index in `first_zones`.
    first_zone_shift: u32,
    /// Zone of the lowest LBN of each index; shared by all copies of a drive.
    first_zones: Arc<[u32]>,
    /// Zone of each cylinder; empty if there are too many of either.
    zone_of: Arc<[u16]>,
    mapping: Mapping,
    /// Number of cylinders of a group, for a seek-first mapping.
    group_cylinders: u64,
    surfaces: Divisor,
    cylinders: u32,
    capacity_blocks: u64,
}

impl Layout {
    /// Returns the layout of a drive.
    ///
    /// # Errors
    /// Zones overlap or exceed the cylinders of the drive, spares or defects lie outside their zone, or the capacity exceeds that of
    /// the zones.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        let p = parameters;
        if p.mapping_group_cylinders == 0 {
            return Err(Fault::out_of_range("mapping_group_cylinders", 0, Range::at_least(1.0)));
        }
        if p.mapping != Mapping::SeekFirstSerpentine && p.mapping_group_cylinders > 1 {
            return Err(Fault::conflict("mapping_group_cylinders", p.mapping_group_cylinders)
                .says(" has no effect with this mapping: leave it out, or write ")
                .set("mapping", "seek-first-serpentine"));
        }
        if p.surfaces == 0 || p.cylinders == 0 || p.sparing_range_cylinders == 0 {
            return Err(Fault::conflict("surfaces", p.surfaces)
                .says(", ")
                .key_is("cylinders", p.cylinders)
                .says(", ")
                .key_is("sparing_range_cylinders", p.sparing_range_cylinders)
                .says(": at least 1 each"));
        }
        let mut zones: Vec<ZoneLayout> = Vec::with_capacity(p.zones.len());
        let mut next_lbn = 0;
        for (index, zone) in p.zones.iter().enumerate() {
            check_cylinders(p, zone, zones.last().map(|zone| zone.last_cylinder))
                .and_then(|()| Slots::new(p.sparing, zone, u64::from(p.surfaces), u64::from(p.sparing_range_cylinders)))
                .map(|slots| {
                    let first_lbn = next_lbn;
                    next_lbn += slots.blocks();
                    zones.push(ZoneLayout {
                        first_lbn,
                        first_cylinder: zone.first_cylinder,
                        last_cylinder: zone.last_cylinder,
                        sectors_per_track: Divisor::new(zone.sectors_per_track.into()),
                        slots,
                    });
                })
                .map_err(|fault| fault.within(format!("zones.{index}")))?;
        }
        if zones.is_empty() {
            return Err(Fault::missing("zones.0").says(": there is no zone"));
        }
        let capacity_blocks = p.capacity_blocks.unwrap_or(next_lbn);
        if capacity_blocks > next_lbn || capacity_blocks == 0 {
            let says = format!(", of {next_lbn} that the zones hold");
            return Err(Fault::misfit("capacity_blocks", capacity_blocks).says(says));
        }
        let end_lbns: Vec<u64> = zones.iter().map(|zone| zone.first_lbn + zone.slots.blocks()).collect();
        // The end of the last zone is above 0.
        let first_zone_shift = (u64::BITS - (next_lbn - 1).leading_zeros()).saturating_sub(FIRST_ZONES.ilog2());
        let first_zone = |index: u64| to_u32(end_lbns.partition_point(|end| *end <= index << first_zone_shift));
        Ok(Self {
            first_zones: (0..=(next_lbn - 1) >> first_zone_shift).map(first_zone).collect(),
            first_zone_shift,
            end_lbns,
            zone_of: zone_table(&zones, p.cylinders).into(),
            zones,
            mapping: p.mapping,
            group_cylinders: u64::from(p.mapping_group_cylinders),
            surfaces: Divisor::new(p.surfaces.into()),
            cylinders: p.cylinders,
            capacity_blocks,
        })
    }

    /// Returns the number of blocks that the drive offers.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    /// Returns the number of blocks that the zones hold, at least as many as the drive offers.
    #[must_use]
    pub fn mapped_blocks(&self) -> u64 {
        self.end_lbns.last().copied().unwrap_or(0)
    }

    /// Returns the number of cylinders, including those between zones.
    #[must_use]
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Returns the number of data surfaces.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the divisor was made of 32 bits")]
    pub fn surfaces(&self) -> u32 {
        self.surfaces.value() as u32
    }

    /// Returns the index of the zone of a cylinder; `None` between zones.
    #[inline]
    #[must_use]
    pub fn zone_of(&self, cylinder: u32) -> Option<usize> {
        if let Some(zone) = self.zone_of.get(cylinder as usize) {
            return (*zone != NO_ZONE).then_some(usize::from(*zone));
        }
        let zone = self.zones.partition_point(|zone| zone.last_cylinder < cylinder);
        (self.zones.get(zone)?.first_cylinder <= cylinder).then_some(zone)
    }

    /// Returns the number of sectors on a track of a zone.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the divisor was made of 32 bits")]
    pub fn sectors_per_track(&self, zone: usize) -> u32 {
        self.zones[zone].sectors_per_track.value() as u32
    }

    /// Returns the first LBN of a zone.
    #[must_use]
    pub fn first_lbn(&self, zone: usize) -> u64 {
        self.zones[zone].first_lbn
    }

    /// Returns the first cylinder of a zone.
    #[inline]
    #[must_use]
    pub fn first_cylinder(&self, zone: usize) -> u32 {
        self.zones[zone].first_cylinder
    }

    /// Returns the index of a surface in the order in which LBNs visit the tracks of its cylinder. It is its own inverse: of an index
    /// it returns the surface.
    #[inline]
    #[must_use]
    pub fn track_index(&self, zone: usize, cylinder: u32, head: u32) -> u32 {
        let is_reversed = match self.mapping {
            // With a seek-first mapping LBNs do not visit all tracks of a cylinder in turn.
            Mapping::Cylinder | Mapping::SeekFirstSerpentine => false,
            Mapping::SerpentineByZone => (cylinder - self.zones[zone].first_cylinder) % 2 == 1,
            Mapping::Serpentine => cylinder % 2 == 1,
        };
        if is_reversed {
            self.surfaces() - 1 - head
        } else {
            head
        }
    }

    /// Returns the position of a track in a group of cylinders, for a seek-first mapping; otherwise `None`.
    #[inline]
    #[must_use]
    pub fn group_track(&self, zone: usize, place: Place) -> Option<GroupTrack> {
        (self.mapping == Mapping::SeekFirstSerpentine).then(|| {
            let z = &self.zones[zone];
            let cylinder = u64::from(place.cylinder - z.first_cylinder);
            let group = cylinder / self.group_cylinders;
            let width = z.group_width(group, self.group_cylinders);
            let within = cylinder - group * self.group_cylinders;
            let surface = u64::from(place.head);
            let step = if surface % 2 == 0 { within } else { width - 1 - within };
            let tracks_before = group * self.group_cylinders * self.surfaces.value();
            GroupTrack {
                index: tracks_before + surface * width + step,
                surface_changes: group * self.surfaces.value() + surface,
            }
        })
    }

    /// Returns the cylinder within the zone, and the head, of a track that is counted in its zone in the order of LBNs.
    #[inline]
    fn seek_first_track(&self, zone: usize, track: u64) -> (u64, u64) {
        let group = track / (self.group_cylinders * self.surfaces.value());
        let width = self.zones[zone].group_width(group, self.group_cylinders);
        let within = track - group * self.group_cylinders * self.surfaces.value();
        let (surface, step) = (within / width, within % width);
        let step = if surface % 2 == 0 { step } else { width - 1 - step };
        (group * self.group_cylinders + step, surface)
    }

    /// Returns the zone of an LBN.
    #[inline]
    fn zone_of_lbn(&self, lbn: u64) -> usize {
        debug_assert!(lbn < self.mapped_blocks(), "LBN {lbn} of {}", self.mapped_blocks());
        let mut zone = self.first_zones[to_usize(lbn >> self.first_zone_shift)] as usize;
        while self.end_lbns[zone] <= lbn {
            zone += 1;
        }
        zone
    }

    /// Returns the place of a sector that is counted in its zone in the order of LBNs.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each is below a count of 32 bits; on the path of each request"
    )]
    fn place_of(&self, zone: usize, sector: u64) -> Place {
        let z = &self.zones[zone];
        let (track, sector) = z.sectors_per_track.div_rem(sector);
        let (cylinder, head) = match self.mapping {
            Mapping::SeekFirstSerpentine => self.seek_first_track(zone, track),
            _ => self.surfaces.div_rem(track),
        };
        let cylinder = z.first_cylinder + cylinder as u32;
        Place { cylinder, head: self.track_index(zone, cylinder, head as u32), sector: sector as u32 }
    }

    /// Returns the sector at a place, counted in its zone in the order of LBNs.
    #[inline]
    fn sector_of(&self, zone: usize, place: Place) -> u64 {
        let z = &self.zones[zone];
        let cylinder = u64::from(place.cylinder - z.first_cylinder);
        let track = match self.group_track(zone, place) {
            Some(track) => track.index,
            None => cylinder * self.surfaces.value() + u64::from(self.track_index(zone, place.cylinder, place.head)),
        };
        track * z.sectors_per_track.value() + u64::from(place.sector)
    }

    /// Returns the place of an LBN, which lies inside the drive.
    #[inline]
    #[must_use]
    pub fn place(&self, lbn: u64) -> Place {
        self.run(lbn).place
    }

    /// Returns the LBNs from `lbn` on, which lies inside the drive, that lie in consecutive sectors of its track.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer zones than cylinders, which have 32 bits")]
    pub fn run(&self, lbn: u64) -> Run {
        let zone = self.zone_of_lbn(lbn);
        let z = &self.zones[zone];
        let run = z.slots.sectors(lbn - z.first_lbn);
        let place = self.place_of(zone, run.first);
        Run { place, blocks: run.count.min(z.sectors_per_track.value() - u64::from(place.sector)), zone: zone as u32 }
    }

    /// Returns the LBN in a sector; `None` in a spare, a defect and outside the zones.
    #[must_use]
    pub fn lbn(&self, place: Place) -> Option<u64> {
        let zone = self.zone_of(place.cylinder)?;
        let z = &self.zones[zone];
        if place.head >= self.surfaces() || u64::from(place.sector) >= z.sectors_per_track.value() {
            return None;
        }
        z.slots.block(self.sector_of(zone, place)).map(|block| z.first_lbn + block)
    }

    /// Returns the LBNs of the track that an LBN lies on, without regard to remaps: a remapped LBN counts on its original track.
    #[must_use]
    pub fn track_of(&self, lbn: u64) -> BlockRange {
        let z = &self.zones[self.zone_of_lbn(lbn)];
        z.unit_of(lbn, z.sectors_per_track)
    }

    /// Returns the LBNs of the cylinder that an LBN lies on, without regard to remaps. With a seek-first mapping: of as many consecutive
    /// tracks as there are surfaces.
    #[must_use]
    pub fn cylinder_of(&self, lbn: u64) -> BlockRange {
        let z = &self.zones[self.zone_of_lbn(lbn)];
        z.unit_of(lbn, Divisor::new(z.sectors_per_track.value() * self.surfaces.value()))
    }
}

/// A track of a seek-first mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTrack {
    /// Number of tracks of the zone before it, in the order of LBNs.
    pub index: u64,
    /// Number of changes of surface between the first track of the zone and this one, those from group to group included.
    pub surface_changes: u64,
}

impl ZoneLayout {
    /// Returns the number of cylinders of a group; the last group may have fewer than the others.
    #[inline]
    fn group_width(&self, group: u64, group_cylinders: u64) -> u64 {
        let cylinders = u64::from(self.last_cylinder - self.first_cylinder) + 1;
        group_cylinders.min(cylinders - group * group_cylinders)
    }

    /// Returns the LBNs of the unit of `sectors` sectors that an LBN lies in.
    fn unit_of(&self, lbn: u64, sectors: Divisor) -> BlockRange {
        let run = self.slots.regular(lbn - self.first_lbn);
        let passed = sectors.div_rem(run.first).1;
        let left = sectors.value() - passed;
        let lbn_at = |sector| self.first_lbn + self.slots.blocks_before(sector);
        // Without spares and slips in between, LBNs are as far apart as sectors.
        BlockRange {
            first: if passed <= run.before { lbn - passed } else { lbn_at(run.first - passed) },
            end: if left <= run.count { lbn + left } else { lbn_at(run.first + left) },
        }
    }
}

/// Checks the cylinders and sectors of a zone; `before` is the last cylinder of the zone before it.
fn check_cylinders(p: &DiskParameters, zone: &Zone, before: Option<u32>) -> Result<(), Fault> {
    if zone.sectors_per_track == 0 {
        return Err(Fault::out_of_range("sectors_per_track", 0, Range::at_least(1.0)));
    }
    if zone.last_cylinder < zone.first_cylinder {
        return Err(Fault::conflict("last_cylinder", zone.last_cylinder)
            .says(" comes before ")
            .key_is("first_cylinder", zone.first_cylinder));
    }
    if zone.last_cylinder >= p.cylinders {
        let says = format!(" is beyond the drive's {} cylinders", p.cylinders);
        return Err(Fault::misfit("last_cylinder", zone.last_cylinder).says(says));
    }
    match before {
        Some(last) if zone.first_cylinder <= last => Err(Fault::conflict("first_cylinder", zone.first_cylinder).says(
            format!(": the zone before ends at cylinder {last}; zones may not overlap, and go from the outermost in"),
        )),
        _ => Ok(()),
    }
}

/// Returns the zone of each cylinder; empty if there are too many zones or cylinders.
fn zone_table(zones: &[ZoneLayout], cylinders: u32) -> Vec<u16> {
    if cylinders > TABLE_CYLINDERS || zones.len() >= usize::from(NO_ZONE) {
        return Vec::new();
    }
    let mut table = vec![NO_ZONE; cylinders as usize];
    for (index, zone) in (0u16..).zip(zones) {
        table[zone.first_cylinder as usize..=zone.last_cylinder as usize].fill(index);
    }
    table
}
