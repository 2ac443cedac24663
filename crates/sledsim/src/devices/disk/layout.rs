//! Where LBNs lie on the platters.
//!
//! Zones follow each other in the order of LBNs; within one, LBNs run along a track, then over the tracks of a cylinder in
//! the order that the mapping says, then over the cylinders. Cylinders between zones may be left out.

use std::sync::Arc;

use super::divisor::Divisor;
use super::sparing::Slots;
use super::{DiskParameters, Mapping, Zone};
use crate::convert::{to_u32, to_usize};
use crate::fault::{Fault, Range};

/// Most cylinders for which the zone of each is kept in a table.
const TABLE_CYLINDERS: u32 = 1 << 20;

/// Most places in the order of LBNs at which the search for a zone begins.
const GUESSES: u64 = 1 << 12;

/// Entry of that table for a cylinder between zones.
const NO_ZONE: u16 = u16::MAX;

/// A sector of the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Cylinder, from the outermost in.
    pub cylinder: u32,
    /// Head of an arm: a surface.
    pub head: u32,
    /// Sector on the track, from its first.
    pub sector: u32,
}

/// LBNs in consecutive sectors of one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where the first lies.
    pub place: Place,
    /// How many there are.
    pub blocks: u64,
    /// Index of the zone.
    pub zone: u32,
}

/// A zone as the layout sees it.
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
    /// Ends of the zones: the first LBNs behind them.
    end_lbns: Vec<u64>,
    /// LBNs are looked up by what is left of them without so many bits: the zone of the first that shares the rest.
    guess_bits: u32,
    /// One table for all copies of a drive.
    guesses: Arc<[u32]>,
    /// Zone of each cylinder, where there are few enough of both.
    zone_of: Arc<[u16]>,
    mapping: Mapping,
    surfaces: Divisor,
    cylinders: u32,
    capacity_blocks: u64,
}

impl Layout {
    /// The layout of a drive.
    ///
    /// # Errors
    /// Zones that overlap or leave the drive, spares or defects that leave their zone, a capacity beyond what the zones
    /// hold: says which zone and which value.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        let p = parameters;
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
        // As many guesses as there are at most; the end of the last zone is above 0.
        let guess_bits = (u64::BITS - (next_lbn - 1).leading_zeros()).saturating_sub(GUESSES.ilog2());
        let guess = |part: u64| to_u32(end_lbns.partition_point(|end| *end <= part << guess_bits));
        Ok(Self {
            guesses: (0..=(next_lbn - 1) >> guess_bits).map(guess).collect(),
            guess_bits,
            end_lbns,
            zone_of: zone_table(&zones, p.cylinders).into(),
            zones,
            mapping: p.mapping,
            surfaces: Divisor::new(p.surfaces.into()),
            cylinders: p.cylinders,
            capacity_blocks,
        })
    }

    /// Blocks that the drive offers.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    /// Blocks that the zones hold: at least as many as the drive offers.
    #[must_use]
    pub fn mapped_blocks(&self) -> u64 {
        self.end_lbns.last().copied().unwrap_or(0)
    }

    /// Cylinders, those of no zone included.
    #[must_use]
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Data surfaces.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the divisor was made of 32 bits")]
    pub fn surfaces(&self) -> u32 {
        self.surfaces.value() as u32
    }

    /// Index of the zone of a cylinder, unless it lies between zones.
    #[inline]
    #[must_use]
    pub fn zone_of(&self, cylinder: u32) -> Option<usize> {
        if let Some(zone) = self.zone_of.get(cylinder as usize) {
            return (*zone != NO_ZONE).then_some(usize::from(*zone));
        }
        let zone = self.zones.partition_point(|zone| zone.last_cylinder < cylinder);
        (self.zones.get(zone)?.first_cylinder <= cylinder).then_some(zone)
    }

    /// Sectors on a track of a zone.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the divisor was made of 32 bits")]
    pub fn sectors_per_track(&self, zone: usize) -> u32 {
        self.zones[zone].sectors_per_track.value() as u32
    }

    /// First LBN of a zone.
    #[must_use]
    pub fn first_lbn(&self, zone: usize) -> u64 {
        self.zones[zone].first_lbn
    }

    /// First cylinder of a zone.
    #[inline]
    #[must_use]
    pub fn first_cylinder(&self, zone: usize) -> u32 {
        self.zones[zone].first_cylinder
    }

    /// Number of a surface in the order in which LBNs visit the tracks of its cylinder; and the surface of such a number.
    #[inline]
    #[must_use]
    pub fn turn(&self, zone: usize, cylinder: u32, head: u32) -> u32 {
        let backwards = match self.mapping {
            Mapping::Cylinder => false,
            Mapping::SerpentineByZone => (cylinder - self.zones[zone].first_cylinder) % 2 == 1,
            Mapping::Serpentine => cylinder % 2 == 1,
        };
        if backwards {
            self.surfaces() - 1 - head
        } else {
            head
        }
    }

    /// Zone of an LBN.
    #[inline]
    fn zone_of_lbn(&self, lbn: u64) -> usize {
        debug_assert!(lbn < self.mapped_blocks(), "LBN {lbn} of {}", self.mapped_blocks());
        let mut zone = self.guesses[to_usize(lbn >> self.guess_bits)] as usize;
        while self.end_lbns[zone] <= lbn {
            zone += 1;
        }
        zone
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each is below a count of 32 bits; on the path of each request"
    )]
    fn place_of(&self, zone: usize, sector: u64) -> Place {
        let z = &self.zones[zone];
        let (track, sector) = z.sectors_per_track.divide(sector);
        let (cylinder, head) = self.surfaces.divide(track);
        let cylinder = z.first_cylinder + cylinder as u32;
        Place { cylinder, head: self.turn(zone, cylinder, head as u32), sector: sector as u32 }
    }

    /// Sector of a place, counted in its zone in the order of LBNs.
    #[inline]
    fn sector_of(&self, zone: usize, place: Place) -> u64 {
        let z = &self.zones[zone];
        let cylinder = u64::from(place.cylinder - z.first_cylinder);
        let track = cylinder * self.surfaces.value() + u64::from(self.turn(zone, place.cylinder, place.head));
        track * z.sectors_per_track.value() + u64::from(place.sector)
    }

    /// Place of an LBN, which lies inside the drive.
    #[inline]
    #[must_use]
    pub fn place(&self, lbn: u64) -> Place {
        self.run(lbn).place
    }

    /// Place of an LBN, which lies inside the drive, and how many LBNs from it on lie in consecutive sectors of its track.
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer zones than cylinders, which have 32 bits")]
    pub fn run(&self, lbn: u64) -> Run {
        let zone = self.zone_of_lbn(lbn);
        let z = &self.zones[zone];
        let (sector, blocks) = z.slots.sector(lbn - z.first_lbn);
        let place = self.place_of(zone, sector);
        Run { place, blocks: blocks.min(z.sectors_per_track.value() - u64::from(place.sector)), zone: zone as u32 }
    }

    /// LBN in a sector, unless it is a spare, a defect or outside the zones.
    #[must_use]
    pub fn lbn(&self, place: Place) -> Option<u64> {
        let zone = self.zone_of(place.cylinder)?;
        let z = &self.zones[zone];
        if place.head >= self.surfaces() || u64::from(place.sector) >= z.sectors_per_track.value() {
            return None;
        }
        z.slots.block(self.sector_of(zone, place)).map(|block| z.first_lbn + block)
    }

    /// First and last LBN of the track that an LBN lies on. Remaps are not looked at: a remapped LBN counts where it would
    /// lie without.
    #[must_use]
    pub fn track_of(&self, lbn: u64) -> (u64, u64) {
        let z = &self.zones[self.zone_of_lbn(lbn)];
        let sector = z.slots.regular_sector(lbn - z.first_lbn);
        let sectors = z.sectors_per_track.value();
        let first = sector - sector % sectors;
        (z.first_lbn + z.slots.blocks_before(first), z.first_lbn + z.slots.blocks_before(first + sectors) - 1)
    }

    /// First and last LBN of the cylinder that an LBN lies on, likewise.
    #[must_use]
    pub fn cylinder_of(&self, lbn: u64) -> (u64, u64) {
        let z = &self.zones[self.zone_of_lbn(lbn)];
        let sector = z.slots.regular_sector(lbn - z.first_lbn);
        let sectors = z.sectors_per_track.value() * self.surfaces.value();
        let first = sector - sector % sectors;
        (z.first_lbn + z.slots.blocks_before(first), z.first_lbn + z.slots.blocks_before(first + sectors) - 1)
    }
}

/// Checks where a zone lies, behind one that ends at `before`.
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

/// Zone of every cylinder, or nothing where that is too much to keep.
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
