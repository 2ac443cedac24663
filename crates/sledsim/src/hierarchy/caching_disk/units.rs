//! How much of a segment comes from the disk at once: a unit, whose size each region of the disk has by itself.
//!
//! Slots and headers stay those of whole segments: a unit is a power of two of the least one, up to the segment, and the bits of
//! valid blocks say which units are there. Nothing depends on a region's size having been another before. The sizes outlive power
//! cuts, what was asked for does not.
//!
//! A region's size follows from votes. A fill whose neighbour, the other half of a unit twice as large, was asked for in the
//! time in which the segment has been there votes for more: twice as much would have brought it. When a segment leaves, each
//! unit that was brought of which one half was never asked for votes for less. Four votes more for one than for the other
//! double or halve the unit.

use super::spec::CachingDiskUnitsSpec;
use crate::convert::{to_u32, to_usize};
use crate::fault::Fault;

/// Votes that change the size of a unit.
const VOTES: i8 = 4;
/// Most of the least units in a segment: their bits fit a word.
const MOST_UNITS: u64 = 64;

/// A region of the disk.
#[derive(Clone, Copy, Debug)]
struct Region {
    /// The unit has 2^`step` of the least ones.
    step: u8,
    /// For a larger unit less those for a smaller one.
    votes: i8,
}

/// What is known of the least units of a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Those that a fill brought.
    brought: u64,
    /// Those that requests asked for.
    asked: u64,
}

/// The units of all regions.
#[derive(Clone, Debug)]
pub(super) struct Units {
    least_blocks: u32,
    /// The step of a whole segment.
    most: u8,
    region_segments: u64,
    regions: Vec<Region>,
    /// By slot.
    uses: Vec<Use>,
    /// How often a region has changed its unit.
    pub changes: u64,
}

/// Bits `from` to `to`, which are not 0 and 64 or less.
const fn bits(from: u32, to: u32) -> u64 {
    (u64::MAX >> (64 - (to - from))) << from
}

impl Units {
    /// For `slots` segments of `segment_bytes` out of `capacity_bytes`.
    ///
    /// # Errors
    /// Names the key that does not fit, and what would.
    pub fn new(
        spec: &CachingDiskUnitsSpec,
        block_bytes: u32,
        segment_bytes: u64,
        (slots, capacity_bytes): (u32, u64),
    ) -> Result<Self, Fault> {
        let CachingDiskUnitsSpec { least_bytes, region_bytes } = *spec;
        let count = segment_bytes.checked_div(least_bytes).unwrap_or(0);
        let fits = least_bytes.is_multiple_of(u64::from(block_bytes)) && count * least_bytes == segment_bytes;
        if !fits || !count.is_power_of_two() || !(2..=MOST_UNITS).contains(&count) {
            return Err(Fault::misfit("units.least_bytes", least_bytes)
                .says(format!(" must be a half, a quarter and so on to a {MOST_UNITS}th of "))
                .key_is("segment_bytes", segment_bytes)
                .says(format!(", in whole blocks of {block_bytes} B")));
        }
        if region_bytes == 0 || !region_bytes.is_multiple_of(segment_bytes) {
            return Err(Fault::misfit("units.region_bytes", region_bytes)
                .says(" must be a multiple of ")
                .key_is("segment_bytes", segment_bytes));
        }
        let most = u8::try_from(count.trailing_zeros()).expect("a number has at most 64 bits");
        Ok(Self {
            least_blocks: to_u32(least_bytes / u64::from(block_bytes)),
            most,
            region_segments: region_bytes / segment_bytes,
            regions: vec![Region { step: most, votes: 0 }; to_usize(capacity_bytes.div_ceil(region_bytes))],
            uses: vec![Use::default(); slots as usize],
            changes: 0,
        })
    }

    /// Bytes allocated.
    pub fn memory_bytes(&self) -> usize {
        self.regions.capacity() * size_of::<Region>() + self.uses.capacity() * size_of::<Use>()
    }

    /// Nothing is in any slot any more.
    pub fn forget(&mut self) {
        self.uses.fill(Use::default());
    }

    fn region(&mut self, segment: u64) -> &mut Region {
        &mut self.regions[to_usize(segment / self.region_segments)]
    }

    /// Whether less than a segment comes at once.
    pub fn is_part(&self, segment: u64) -> bool {
        self.regions[to_usize(segment / self.region_segments)].step < self.most
    }

    /// The blocks of a segment that come with blocks `from` to `to` of it.
    pub fn window(&mut self, segment: u64, (from, to): (u32, u32)) -> (u32, u32) {
        let unit = self.least_blocks << self.region(segment).step;
        (from / unit * unit, to.div_ceil(unit) * unit)
    }

    /// The least units that have blocks `from` to `to`.
    fn units(&self, from: u32, to: u32) -> u64 {
        bits(from / self.least_blocks, to.div_ceil(self.least_blocks))
    }

    /// Requests ask for blocks of a slot.
    #[inline]
    pub fn ask(&mut self, slot: u32, from: u32, blocks: u32) {
        let asked = self.units(from, from + blocks);
        self.uses[slot as usize].asked |= asked;
    }

    /// A fill brings blocks `from` to `to` of a segment, which are not those that it asks for alone, to a slot.
    pub fn bring(&mut self, slot: u32, segment: u64, (from, to): (u32, u32)) {
        let brought = self.units(from, to);
        let Use { asked, .. } = self.uses[slot as usize];
        self.uses[slot as usize].brought |= brought;
        let (step, most) = (self.region(segment).step, self.most);
        if step < most {
            let (unit, twice) = (self.least_blocks << step, self.least_blocks << (step + 1));
            let around = self.units(from / twice * twice, to.div_ceil(twice) * twice);
            let neighbours = around & !self.units(from / unit * unit, to.div_ceil(unit) * unit);
            if asked & neighbours != 0 {
                self.vote(segment, 1);
            }
        }
    }

    /// A segment leaves its slot.
    pub fn leave(&mut self, slot: u32, segment: u64) {
        let Use { brought, asked } = std::mem::take(&mut self.uses[slot as usize]);
        let step = self.region(segment).step;
        if step == 0 {
            return;
        }
        let (unit, half) = (1 << step, 1 << (step - 1));
        for first in (0..1 << self.most).step_by(unit) {
            let halves = [bits(first, first + half), bits(first + half, first + 2 * half)];
            let is_brought = brought & (halves[0] | halves[1]) == halves[0] | halves[1];
            if is_brought && halves.iter().any(|half| asked & half == 0) {
                self.vote(segment, -1);
            }
        }
    }

    fn vote(&mut self, segment: u64, vote: i8) {
        let most = self.most;
        let region = self.region(segment);
        region.votes += vote;
        let step = match region.votes {
            VOTES.. => (region.step + 1).min(most),
            votes if votes <= -VOTES => region.step.saturating_sub(1),
            _ => return,
        };
        let has_changed = step != region.step;
        *region = Region { step, votes: 0 };
        self.changes += u64::from(has_changed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 8 least units of 2 blocks, two to a region.
    fn units() -> Units {
        let spec = CachingDiskUnitsSpec { least_bytes: 1024, region_bytes: 16_384 };
        Units::new(&spec, 512, 8192, (4, 100_000)).expect("it fits")
    }

    #[test]
    fn what_is_brought_in_vain_halves_the_unit_of_its_region_alone() {
        let mut units = units();
        assert_eq!((units.window(0, (5, 6)), units.is_part(0)), ((0, 16), false));
        for _ in 0..4 {
            units.bring(1, 0, (0, 16));
            units.ask(1, 3, 1);
            units.leave(1, 0);
        }
        assert_eq!([0, 1, 2].map(|segment| units.window(segment, (5, 6))), [(0, 8), (0, 8), (0, 16)]);
        // Both halves of what comes are asked for: it stays so.
        for _ in 0..100 {
            units.bring(1, 0, (0, 8));
            units.ask(1, 3, 2);
            units.leave(1, 0);
        }
        assert_eq!((units.window(0, (5, 12)), units.changes), ((0, 16), 1));
        // What was asked for before a power cut does not count after it.
        for _ in 0..4 {
            units.ask(1, 3, 2);
            units.forget();
            units.bring(1, 0, (0, 8));
            units.leave(1, 0);
        }
        assert_eq!(units.window(0, (5, 6)), (4, 8));
    }

    #[test]
    fn neighbours_that_are_asked_for_double_the_unit() {
        let mut units = units();
        // Four votes, then two by two.
        for _ in 0..6 {
            units.bring(0, 0, (0, 16));
            units.leave(0, 0);
        }
        assert_eq!(units.window(0, (5, 6)), (4, 8));
        for fill in 0..4 {
            assert_eq!(units.window(0, (9, 10)), (8, 12), "{fill}");
            units.ask(0, 9, 1);
            units.bring(0, 0, (8, 12));
            // Its neighbour is 12 to 16; what is beyond does not count.
            units.ask(0, 4, 1);
            units.bring(0, 0, (4, 8));
            units.ask(0, 12, 1);
            units.bring(0, 0, (12, 16));
            units.leave(0, 1 << 1);
        }
        assert_eq!(units.window(0, (5, 6)), (0, 8));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let new = |least_bytes, region_bytes| {
            let spec = CachingDiskUnitsSpec { least_bytes, region_bytes };
            Units::new(&spec, 512, 65_536, (4, 1 << 30)).err()
        };
        assert_eq!(new(4096, 1 << 24), None);
        for least_bytes in [0, 65_536, 512, 24_576, 1000, 1 << 20] {
            let error = new(least_bytes, 1 << 24).expect("it does not fit").to_string();
            assert!(error.contains("units.least_bytes") && error.contains("65536"), "{error}");
        }
        assert!(new(4096, 0).is_some());
        assert!(new(4096, 100_000).is_some_and(|error| error.to_string().contains("units.region_bytes = 100000 ")));
    }
}
